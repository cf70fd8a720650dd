//! Values of a document.

use std::borrow::Cow;
use std::fmt;

use unicode_segmentation::UnicodeSegmentation;

/// Kinds of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObjType {
    /// Keys with values.
    Map,
    /// A map of rows, written by old libraries; treated as a map.
    Table,
    /// A sequence of values.
    List,
    /// A sequence of characters.
    Text,
}

impl ObjType {
    /// Is it a list or text, addressed by index?
    pub fn is_sequence(self) -> bool {
        matches!(self, ObjType::List | ObjType::Text)
    }

    /// Is it a map or table, addressed by key?
    pub(crate) fn is_map(self) -> bool {
        !self.is_sequence()
    }
}

impl fmt::Display for ObjType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ObjType::Map => "map",
            ObjType::Table => "table",
            ObjType::List => "list",
            ObjType::Text => "text",
        })
    }
}

/// A value that is not an object. Strings and bytes read from a document are borrowed from it.
#[derive(Clone, Debug, PartialEq)]
pub enum ScalarValue<'a> {
    /// No value.
    Null,
    /// True or false.
    Boolean(bool),
    /// A signed number.
    Int(i64),
    /// An unsigned number.
    Uint(u64),
    /// A floating-point number.
    F64(f64),
    /// A string that is replaced as a whole. Collaborative text is an object, [`ObjType::Text`].
    Str(Cow<'a, str>),
    /// Raw bytes.
    Bytes(Cow<'a, [u8]>),
    /// A number that adds up concurrent increments.
    Counter(i64),
    /// Milliseconds since 1970.
    Timestamp(i64),
    /// A type from a later version of the format, kept unchanged.
    Unknown {
        /// Its type code, 10 to 15.
        type_code: u8,
        /// Its bytes.
        bytes: Cow<'a, [u8]>,
    },
}

/// For messages: strings in quotation marks, counters and timestamps with their type.
impl fmt::Display for ScalarValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScalarValue::Null => f.write_str("null"),
            ScalarValue::Boolean(v) => v.fmt(f),
            ScalarValue::Int(v) => v.fmt(f),
            ScalarValue::Uint(v) => v.fmt(f),
            ScalarValue::F64(v) => v.fmt(f),
            ScalarValue::Str(v) => write!(f, "{v:?}"),
            ScalarValue::Bytes(v) => write!(f, "{v:?}"),
            ScalarValue::Counter(v) => write!(f, "counter {v}"),
            ScalarValue::Timestamp(v) => write!(f, "timestamp {v}"),
            ScalarValue::Unknown { type_code, bytes } => write!(f, "type {type_code} {bytes:?}"),
        }
    }
}

/// For messages: a scalar's value, an object's kind.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Object(kind) => kind.fmt(f),
            Value::Scalar(value) => value.fmt(f),
        }
    }
}

impl<'a> ScalarValue<'a> {
    /// A counter that starts at `start`.
    pub fn counter(start: i64) -> Self {
        ScalarValue::Counter(start)
    }

    /// This value with owned bytes.
    pub fn into_owned(self) -> ScalarValue<'static> {
        match self {
            ScalarValue::Null => ScalarValue::Null,
            ScalarValue::Boolean(v) => ScalarValue::Boolean(v),
            ScalarValue::Int(v) => ScalarValue::Int(v),
            ScalarValue::Uint(v) => ScalarValue::Uint(v),
            ScalarValue::F64(v) => ScalarValue::F64(v),
            ScalarValue::Str(v) => ScalarValue::Str(Cow::Owned(v.into_owned())),
            ScalarValue::Bytes(v) => ScalarValue::Bytes(Cow::Owned(v.into_owned())),
            ScalarValue::Counter(v) => ScalarValue::Counter(v),
            ScalarValue::Timestamp(v) => ScalarValue::Timestamp(v),
            ScalarValue::Unknown { type_code, bytes } => {
                ScalarValue::Unknown { type_code, bytes: Cow::Owned(bytes.into_owned()) }
            }
        }
    }
}

/// A value: an object of some kind, or a scalar.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// An object; its id is returned beside the value.
    Object(ObjType),
    /// A scalar.
    Scalar(ScalarValue<'a>),
}

impl<'a> Value<'a> {
    /// This value with owned bytes.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Value::Object(kind) => Value::Object(kind),
            Value::Scalar(scalar) => Value::Scalar(scalar.into_owned()),
        }
    }
}

impl<'a, T: Into<ScalarValue<'a>>> From<T> for Value<'a> {
    fn from(scalar: T) -> Self {
        Value::Scalar(scalar.into())
    }
}

impl From<ObjType> for Value<'_> {
    fn from(kind: ObjType) -> Self {
        Value::Object(kind)
    }
}

impl<'a> From<&'a str> for ScalarValue<'a> {
    fn from(text: &'a str) -> Self {
        ScalarValue::Str(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for ScalarValue<'a> {
    fn from(text: &'a String) -> Self {
        ScalarValue::Str(Cow::Borrowed(text))
    }
}

impl From<String> for ScalarValue<'_> {
    fn from(text: String) -> Self {
        ScalarValue::Str(Cow::Owned(text))
    }
}

impl From<char> for ScalarValue<'_> {
    fn from(c: char) -> Self {
        ScalarValue::Str(Cow::Owned(c.to_string()))
    }
}

impl From<Vec<u8>> for ScalarValue<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        ScalarValue::Bytes(Cow::Owned(bytes))
    }
}

impl<'a> From<&'a [u8]> for ScalarValue<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        ScalarValue::Bytes(Cow::Borrowed(bytes))
    }
}

impl From<i64> for ScalarValue<'_> {
    fn from(v: i64) -> Self {
        ScalarValue::Int(v)
    }
}

impl From<i32> for ScalarValue<'_> {
    fn from(v: i32) -> Self {
        ScalarValue::Int(v.into())
    }
}

impl From<u64> for ScalarValue<'_> {
    fn from(v: u64) -> Self {
        ScalarValue::Uint(v)
    }
}

impl From<u32> for ScalarValue<'_> {
    fn from(v: u32) -> Self {
        ScalarValue::Uint(v.into())
    }
}

impl From<f64> for ScalarValue<'_> {
    fn from(v: f64) -> Self {
        ScalarValue::F64(v)
    }
}

impl From<bool> for ScalarValue<'_> {
    fn from(v: bool) -> Self {
        ScalarValue::Boolean(v)
    }
}

impl From<()> for ScalarValue<'_> {
    fn from((): ()) -> Self {
        ScalarValue::Null
    }
}

/// Unit of text indexes. Fixed for the lifetime of a document in memory; not stored in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TextEncoding {
    /// One unit per Unicode scalar value.
    #[default]
    UnicodeCodePoint,
    /// One unit per byte of UTF-8.
    Utf8CodeUnit,
    /// One unit per 16-bit word of UTF-16, as in JavaScript.
    Utf16CodeUnit,
    /// One unit per grapheme cluster, that is, per user-perceived character.
    GraphemeCluster,
}

/// Size of a text with one element per character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Number of characters.
    pub(crate) len: u32,
    /// Width in units of the encoding.
    pub(crate) width: u32,
}

impl TextEncoding {
    /// The length of `text` in this encoding's units.
    pub fn width(self, text: &str) -> usize {
        match self {
            TextEncoding::UnicodeCodePoint => text.chars().count(),
            TextEncoding::Utf8CodeUnit => text.len(),
            TextEncoding::Utf16CodeUnit => text.chars().map(char::len_utf16).sum(),
            TextEncoding::GraphemeCluster => text.graphemes(true).count(),
        }
    }

    /// Size of a text with one element per character.
    #[inline]
    pub(crate) fn measure(self, text: &str) -> Extent {
        // A character of one byte is ASCII.
        if text.len() == 1 || text.is_ascii() {
            return Extent { len: text.len() as u32, width: text.len() as u32 };
        }
        let len = text.chars().count() as u32;
        let width = match self {
            TextEncoding::Utf8CodeUnit => text.len() as u32,
            TextEncoding::Utf16CodeUnit => text.chars().map(|c| c.len_utf16() as u32).sum(),
            TextEncoding::UnicodeCodePoint | TextEncoding::GraphemeCluster => len,
        };
        Extent { len, width }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_of_a_family() {
        let family = "e\u{301}👨‍👩‍👧";
        let widths = [
            TextEncoding::UnicodeCodePoint,
            TextEncoding::Utf8CodeUnit,
            TextEncoding::Utf16CodeUnit,
            TextEncoding::GraphemeCluster,
        ]
        .map(|encoding| encoding.width(family));
        assert_eq!(widths, [7, 21, 10, 2]);
    }
}
