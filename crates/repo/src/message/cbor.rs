//! CBOR values of every form that peers write: any header width, indefinite lengths, tags before bytes.

use std::borrow::Cow;

use minicbor::Decoder;
use minicbor::data::{Tag, Type};

use super::error::{DecodeError, MAX_SHOWN_CHARS, shorten};

/// Maximum nesting depth of values.
pub(crate) const MAX_DEPTH: usize = 64;
/// CBOR tag that JavaScript programs put before a byte array.
const BYTE_ARRAY: Tag = Tag::new(64);
/// Integers up to this are exact in the numbers of JavaScript.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// The entries of a map, with their encoded values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fields<'b>(Vec<(Cow<'b, str>, &'b [u8])>);

impl<'b> Fields<'b> {
    /// Reads a map with at most `max` entries that is the whole input. Takes no more memory than a small multiple of the
    /// input.
    pub(crate) fn decode(bytes: &'b [u8], max: usize) -> Result<Self, DecodeError> {
        let mut decoder = Decoder::new(bytes);
        let mut left = decoder.map()?;
        let mut fields: Vec<(Cow<'b, str>, &'b [u8])> = Vec::new();
        while has_more(&mut decoder, &mut left)? {
            if fields.len() == max {
                return Err(DecodeError::Limit { what: "fields", limit: max });
            }
            let name = text(&mut decoder)?;
            let start = decoder.position();
            skip_value(&mut decoder, MAX_DEPTH)?;
            if fields.iter().any(|(there, _)| *there == name) {
                return Err(DecodeError::Twice(shorten(&name, MAX_SHOWN_CHARS)));
            }
            fields.push((name, &bytes[start..decoder.position()]));
        }
        match bytes.len() - decoder.position() {
            0 => Ok(Self(fields)),
            rest => Err(DecodeError::Rest(rest)),
        }
    }

    /// All entries, with their encoded values.
    pub(crate) fn into_entries(self) -> impl Iterator<Item = (Cow<'b, str>, &'b [u8])> {
        self.0.into_iter()
    }

    /// The encoded value of a field, unless it is absent. JavaScript programs encode an absent value as null or undefined,
    /// too.
    pub(crate) fn value(&self, name: &str) -> Option<&'b [u8]> {
        self.nullable(name).filter(|value| !is_absent(value))
    }

    /// The encoded value of a field, which may be null or undefined.
    pub(crate) fn nullable(&self, name: &str) -> Option<&'b [u8]> {
        self.0.iter().find(|(there, _)| there == name).map(|(_, value)| *value)
    }

    fn required(&self, name: &'static str) -> Result<Decoder<'b>, DecodeError> {
        self.value(name).map(Decoder::new).ok_or(DecodeError::Missing(name))
    }

    pub(crate) fn text(&self, name: &'static str) -> Result<Cow<'b, str>, DecodeError> {
        text(&mut self.required(name)?)
    }

    pub(crate) fn optional_text(&self, name: &'static str) -> Result<Option<Cow<'b, str>>, DecodeError> {
        self.value(name).map(|value| text(&mut Decoder::new(value))).transpose()
    }

    pub(crate) fn bytes(&self, name: &'static str) -> Result<Cow<'b, [u8]>, DecodeError> {
        byte_string(&mut self.required(name)?)
    }

    pub(crate) fn optional_bool(&self, name: &'static str) -> Result<Option<bool>, DecodeError> {
        Ok(self.value(name).map(|value| Decoder::new(value).bool()).transpose()?)
    }

    /// A whole number, written as an integer or as a float.
    pub(crate) fn number(&self, name: &'static str) -> Result<u64, DecodeError> {
        let mut value = self.required(name)?;
        if let Type::U8 | Type::U16 | Type::U32 | Type::U64 = value.datatype()? {
            let number = value.u64()?;
            return if number <= MAX_EXACT { Ok(number) } else { Err(DecodeError::Number(name)) };
        }
        let float = decode_float(&mut value)?;
        // False for infinity and for what is no number.
        let is_whole = float.fract() == 0.0 && (0.0..=MAX_EXACT as f64).contains(&float);
        if is_whole { Ok(float as u64) } else { Err(DecodeError::Number(name)) }
    }

    /// A list of at most `max` texts, if it is there.
    pub(crate) fn optional_texts(
        &self,
        name: &'static str,
        max: usize,
    ) -> Result<Option<Vec<Cow<'b, str>>>, DecodeError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let mut decoder = Decoder::new(value);
        let mut left = decoder.array()?;
        let mut texts = Vec::new();
        while has_more(&mut decoder, &mut left)? {
            if texts.len() == max {
                return Err(DecodeError::Limit { what: name, limit: max });
            }
            texts.push(text(&mut decoder)?);
        }
        Ok(Some(texts))
    }
}

/// Reads a float of 16, 32 or 64 bits. Canonical encoders write small numbers in 16.
pub(crate) fn decode_float(decoder: &mut Decoder<'_>) -> Result<f64, DecodeError> {
    if decoder.datatype()? != Type::F16 {
        return Ok(decoder.f64()?);
    }
    let rest = &decoder.input()[decoder.position()..];
    let Some(&[_, high, low]) = rest.first_chunk() else {
        return Err(minicbor::decode::Error::end_of_input().into());
    };
    decoder.set_position(decoder.position() + 3);
    Ok(half_float(u16::from_be_bytes([high, low])))
}

/// The value of a float of 16 bits.
fn half_float(bits: u16) -> f64 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let fraction = f64::from(bits & 0x3ff);
    match i32::from(bits >> 10 & 0x1f) {
        0x1f if fraction == 0.0 => sign * f64::INFINITY,
        0x1f => f64::NAN,
        0 => sign * fraction * 2_f64.powi(-24),
        exponent => sign * (1024.0 + fraction) * 2_f64.powi(exponent - 25),
    }
}

/// Is a value null or undefined?
fn is_absent(value: &[u8]) -> bool {
    matches!(value, [0xf6 | 0xf7])
}

/// Reads a text of any form.
pub(crate) fn text<'b>(decoder: &mut Decoder<'b>) -> Result<Cow<'b, str>, DecodeError> {
    if decoder.datatype()? != Type::StringIndef {
        return Ok(Cow::Borrowed(decoder.str()?));
    }
    let mut text = String::new();
    for part in decoder.str_iter()? {
        text.push_str(part?);
    }
    Ok(Cow::Owned(text))
}

/// Reads bytes of any form.
pub(crate) fn byte_string<'b>(decoder: &mut Decoder<'b>) -> Result<Cow<'b, [u8]>, DecodeError> {
    if decoder.datatype()? == Type::Tag && decoder.clone().tag()? == BYTE_ARRAY {
        decoder.tag()?;
    }
    if decoder.datatype()? != Type::BytesIndef {
        return Ok(Cow::Borrowed(decoder.bytes()?));
    }
    let mut bytes = Vec::new();
    for part in decoder.bytes_iter()? {
        bytes.extend_from_slice(part?);
    }
    Ok(Cow::Owned(bytes))
}

/// Does a map or an array have a further item? One of known length counts down, another ends with a break code.
pub(crate) fn has_more(decoder: &mut Decoder<'_>, left: &mut Option<u64>) -> Result<bool, DecodeError> {
    match left {
        Some(0) => Ok(false),
        Some(left) => {
            *left -= 1;
            Ok(true)
        }
        None if decoder.datatype()? == Type::Break => {
            decoder.skip()?;
            Ok(false)
        }
        None => Ok(true),
    }
}

/// Skips a value. The decoder's own `skip` allocates memory for nested values.
fn skip_value(decoder: &mut Decoder<'_>, depth: usize) -> Result<(), DecodeError> {
    let deeper =
        depth.checked_sub(1).ok_or(DecodeError::Limit { what: "nested values", limit: MAX_DEPTH })?;
    match decoder.datatype()? {
        Type::Array | Type::ArrayIndef => {
            let mut left = decoder.array()?;
            while has_more(decoder, &mut left)? {
                skip_value(decoder, deeper)?;
            }
        }
        Type::Map | Type::MapIndef => {
            let mut left = decoder.map()?;
            while has_more(decoder, &mut left)? {
                skip_value(decoder, deeper)?;
                skip_value(decoder, deeper)?;
            }
        }
        Type::Tag => {
            decoder.tag()?;
            skip_value(decoder, deeper)?;
        }
        Type::Break => return Err(minicbor::decode::Error::message("a break code without a start").into()),
        _ => decoder.skip()?,
    }
    Ok(())
}
