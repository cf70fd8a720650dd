//! Serde implementations for decoded changes, in the form of the official crate.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ElementId, Key, MarkData, ObjectId, Op, OpId, OpType};
use crate::types::{ActorId, ChangeHash, ObjType, ScalarValue};

fn parse<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(deserializer: D) -> Result<T, D::Error> {
    let text = Cow::<'_, str>::deserialize(deserializer)?;
    text.parse().map_err(|error| D::Error::custom(format_args!("{text:?}: {error}")))
}

macro_rules! as_text {
    ($($type:ty),*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                parse(deserializer)
            }
        }
    )*};
}

as_text!(ActorId, ChangeHash, OpId);

macro_rules! as_text_or {
    ($type:ident, $word:literal, $alone:ident) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    Self::Id(id) => id.serialize(serializer),
                    Self::$alone => serializer.serialize_str($word),
                }
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<'_, str>::deserialize(deserializer)?;
                if text == $word {
                    return Ok(Self::$alone);
                }
                text.parse()
                    .map(Self::Id)
                    .map_err(|error| D::Error::custom(format_args!("{text:?}: {error}")))
            }
        }
    };
}

as_text_or!(ObjectId, "_root", Root);
as_text_or!(ElementId, "_head", Head);

/// Hexadecimal bytes.
pub(super) mod author {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        author: &Option<Vec<u8>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match author {
            Some(author) => serializer.serialize_str(&crate::types::encode_hex(author)),
            None => serializer.serialize_none(),
        }
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<u8>>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| crate::types::decode_hex(&text)).transpose().map_err(D::Error::custom)
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Word {
    MakeMap,
    MakeTable,
    MakeList,
    MakeText,
    Del,
    Inc,
    Set,
    MarkBegin,
    MarkEnd,
}

/// Type of a number, which the number alone does not tell.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DataType {
    Counter,
    Timestamp,
    Uint,
    Int,
    Float64,
}

impl DataType {
    fn from_scalar(value: &ScalarValue<'_>) -> Option<Self> {
        match value {
            ScalarValue::Counter(_) => Some(Self::Counter),
            ScalarValue::Timestamp(_) => Some(Self::Timestamp),
            ScalarValue::Uint(_) => Some(Self::Uint),
            ScalarValue::Int(_) => Some(Self::Int),
            ScalarValue::F64(_) => Some(Self::Float64),
            ScalarValue::Null
            | ScalarValue::Boolean(_)
            | ScalarValue::Str(_)
            | ScalarValue::Bytes(_)
            | ScalarValue::Unknown { .. } => None,
        }
    }

    /// Converts a number to its type.
    fn read(self, plain: &Plain<'_>) -> Option<ScalarValue<'static>> {
        let signed = || match *plain {
            Plain::Int(value) => Some(value),
            Plain::Uint(value) => i64::try_from(value).ok(),
            _ => None,
        };
        match self {
            Self::Counter => signed().map(ScalarValue::Counter),
            Self::Timestamp => signed().map(ScalarValue::Timestamp),
            Self::Int => signed().map(ScalarValue::Int),
            Self::Uint => match *plain {
                Plain::Uint(value) => Some(ScalarValue::Uint(value)),
                _ => None,
            },
            Self::Float64 => match *plain {
                Plain::F64(value) => Some(ScalarValue::F64(value)),
                Plain::Uint(value) => Some(ScalarValue::F64(value as f64)),
                Plain::Int(value) => Some(ScalarValue::F64(value as f64)),
                _ => None,
            },
        }
    }
}

/// A value without its type.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Plain<'a> {
    Null,
    Boolean(bool),
    Uint(u64),
    Int(i64),
    F64(f64),
    Str(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
    Unknown { type_code: u8, bytes: Cow<'a, [u8]> },
}

impl<'a> From<&'a ScalarValue<'static>> for Plain<'a> {
    fn from(value: &'a ScalarValue<'static>) -> Self {
        match value {
            ScalarValue::Null => Self::Null,
            ScalarValue::Boolean(value) => Self::Boolean(*value),
            ScalarValue::Uint(value) => Self::Uint(*value),
            ScalarValue::Int(value) | ScalarValue::Counter(value) | ScalarValue::Timestamp(value) => {
                Self::Int(*value)
            }
            ScalarValue::F64(value) => Self::F64(*value),
            ScalarValue::Str(value) => Self::Str(Cow::Borrowed(value)),
            ScalarValue::Bytes(value) => Self::Bytes(Cow::Borrowed(value)),
            ScalarValue::Unknown { type_code, bytes } => {
                Self::Unknown { type_code: *type_code, bytes: Cow::Borrowed(bytes) }
            }
        }
    }
}

impl From<Plain<'_>> for ScalarValue<'static> {
    fn from(plain: Plain<'_>) -> Self {
        match plain {
            Plain::Null => ScalarValue::Null,
            Plain::Boolean(value) => ScalarValue::Boolean(value),
            Plain::Uint(value) => ScalarValue::Uint(value),
            Plain::Int(value) => ScalarValue::Int(value),
            Plain::F64(value) => ScalarValue::F64(value),
            Plain::Str(value) => ScalarValue::Str(Cow::Owned(value.into_owned())),
            Plain::Bytes(value) => ScalarValue::Bytes(Cow::Owned(value.into_owned())),
            Plain::Unknown { type_code, bytes } => {
                ScalarValue::Unknown { type_code, bytes: Cow::Owned(bytes.into_owned()) }
            }
        }
    }
}

/// A present value, including null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Plain<'static>>, D::Error> {
    Plain::deserialize(deserializer).map(Some)
}

/// Serialized form of an operation.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, bound(deserialize = ""))]
struct Written<'a> {
    action: Word,
    obj: Cow<'a, ObjectId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elem_id: Option<Cow<'a, ElementId>>,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    insert: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    datatype: Option<DataType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present", default)]
    value: Option<Plain<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expand: Option<bool>,
    pred: Cow<'a, [OpId]>,
}

impl Serialize for Op {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (key, elem_id) = match &self.key {
            Key::Map(key) => (Some(Cow::Borrowed(key.as_str())), None),
            Key::Seq(elem) => (None, Some(Cow::Borrowed(elem))),
        };
        let mut written = Written {
            action: Word::Del,
            obj: Cow::Borrowed(&self.obj),
            key,
            elem_id,
            insert: self.insert,
            datatype: None,
            name: None,
            value: None,
            expand: None,
            pred: Cow::Borrowed(&self.pred),
        };
        match &self.action {
            OpType::Make(ObjType::Map) => written.action = Word::MakeMap,
            OpType::Make(ObjType::Table) => written.action = Word::MakeTable,
            OpType::Make(ObjType::List) => written.action = Word::MakeList,
            OpType::Make(ObjType::Text) => written.action = Word::MakeText,
            OpType::Delete => {}
            OpType::Increment(by) => {
                (written.action, written.value) = (Word::Inc, Some(Plain::Int(*by)));
            }
            OpType::Put(value) => {
                written.action = Word::Set;
                (written.datatype, written.value) = (DataType::from_scalar(value), Some(value.into()));
            }
            OpType::MarkBegin(MarkData { name, value, expand }) => {
                written.action = Word::MarkBegin;
                // The official crate reads this, too, but does not write it, so its numbers come back with other types.
                written.datatype = DataType::from_scalar(value);
                (written.name, written.value) = (Some(Cow::Borrowed(name.as_str())), Some(value.into()));
                written.expand = Some(*expand);
            }
            OpType::MarkEnd(expand) => (written.action, written.expand) = (Word::MarkEnd, Some(*expand)),
        }
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Op {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Written::deserialize(deserializer)?;
        let key = match (written.key, written.elem_id) {
            (Some(key), None) => Key::Map(key.into_owned()),
            (None, Some(elem)) => Key::Seq(elem.into_owned()),
            (Some(_), Some(_)) => return Err(D::Error::custom("an operation has a key and an element")),
            (None, None) => return Err(D::Error::missing_field("key")),
        };
        let value = |value: Option<Plain<'_>>| {
            let plain = value.ok_or_else(|| D::Error::missing_field("value"))?;
            match written.datatype {
                Some(datatype) => {
                    datatype.read(&plain).ok_or_else(|| D::Error::custom("a value is not of its datatype"))
                }
                None => Ok(plain.into()),
            }
        };
        let action = match written.action {
            Word::MakeMap => OpType::Make(ObjType::Map),
            Word::MakeTable => OpType::Make(ObjType::Table),
            Word::MakeList => OpType::Make(ObjType::List),
            Word::MakeText => OpType::Make(ObjType::Text),
            Word::Del => OpType::Delete,
            Word::Inc => match written.value {
                Some(Plain::Int(by)) => OpType::Increment(by),
                Some(Plain::Uint(by)) if i64::try_from(by).is_ok() => OpType::Increment(by as i64),
                _ => return Err(D::Error::custom("an increment is not by a number")),
            },
            Word::Set => OpType::Put(value(written.value)?),
            Word::MarkBegin => {
                let name = written.name.ok_or_else(|| D::Error::missing_field("name"))?.into_owned();
                OpType::MarkBegin(MarkData {
                    name,
                    value: value(written.value)?,
                    expand: written.expand.unwrap_or(false),
                })
            }
            Word::MarkEnd => OpType::MarkEnd(written.expand.unwrap_or(false)),
        };
        let mut pred = written.pred.into_owned();
        pred.sort_unstable();
        Ok(Self { action, obj: written.obj.into_owned(), key, pred, insert: written.insert })
    }
}
