//! Conversion of JSON into values of a document.

use serde_json::{Map, Number, Value as Json};

use super::{ScalarEncoding, TYPE, VALUE};
use crate::types::literal::{Entries, Literal};
use crate::types::{ScalarValue, decode_hex};

/// Reason why JSON is not a value of a document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Not valid JSON, or more than 128 levels deep.
    #[error("not valid JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A number beyond 64-bit integers and the range of floating point.
    #[error("number {0} is too large")]
    Number(Number),
    /// A tagged object whose contents do not fit its tag.
    #[error("{0} is not a valid value of its tagged type")]
    Tag(Json),
}

/// Parses JSON. In [`ScalarEncoding::Plain`] objects are maps with any keys, and strings are scalars; [`ScalarEncoding::Tagged`] is the
/// inverse of writing. Numbers with a point, and integers beyond 64 bits, become floating point with its precision.
pub fn read(json: &[u8], form: ScalarEncoding) -> Result<Literal, ReadError> {
    literal(serde_json::from_slice(json)?, form)
}

/// Recursive: the parser has limited the depth.
pub(super) fn literal(json: Json, form: ScalarEncoding) -> Result<Literal, ReadError> {
    Ok(match json {
        Json::Null => ().into(),
        Json::Bool(value) => value.into(),
        Json::Number(number) => Literal::Scalar(scalar(number)?),
        Json::String(text) => text.into(),
        Json::Array(values) => {
            let values = values.into_iter().map(|value| literal(value, form));
            Literal::List(values.collect::<Result<_, _>>()?)
        }
        Json::Object(entries) if form == ScalarEncoding::Tagged && entries.contains_key(TYPE) => {
            tagged(entries)?
        }
        Json::Object(entries) => Literal::Map(map(entries, form)?),
    })
}

fn map(entries: Map<String, Json>, form: ScalarEncoding) -> Result<Entries, ReadError> {
    entries.into_iter().map(|(key, value)| Ok((key, literal(value, form)?))).collect()
}

fn scalar(number: Number) -> Result<ScalarValue<'static>, ReadError> {
    if let Some(value) = number.as_i64() {
        return Ok(value.into());
    }
    if let Some(value) = number.as_u64() {
        return Ok(value.into());
    }
    match number.as_f64().filter(|value| value.is_finite()) {
        Some(value) => Ok(value.into()),
        None => Err(ReadError::Number(number)),
    }
}

/// A tagged value: two keys, the type and the contents.
fn tagged(mut entries: Map<String, Json>) -> Result<Literal, ReadError> {
    let value = match entries.get(VALUE) {
        Some(Json::Object(inside)) if entries.len() == 2 && entries[TYPE] == "map" => {
            return map(inside.clone(), ScalarEncoding::Tagged).map(Literal::Map);
        }
        Some(value) if entries.len() == 2 => plain(&entries[TYPE], value),
        _ => None,
    };
    value.ok_or_else(|| ReadError::Tag(Json::Object(std::mem::take(&mut entries))))
}

fn plain(kind: &Json, value: &Json) -> Option<Literal> {
    let bytes = || decode_hex(value.as_str()?).ok();
    if let Some(type_code) = kind.as_u64() {
        let type_code = u8::try_from(type_code).ok().filter(|code| (10..16).contains(code))?;
        return Some(Literal::Scalar(ScalarValue::Unknown { type_code, bytes: bytes()?.into() }));
    }
    Some(Literal::Scalar(match kind.as_str()? {
        "text" => return Some(Literal::text(value.as_str()?)),
        "uint" => value.as_u64()?.into(),
        "counter" => ScalarValue::Counter(value.as_i64()?),
        "timestamp" => ScalarValue::Timestamp(value.as_i64()?),
        "bytes" => bytes()?.into(),
        "f64" => match value.as_str()? {
            "NaN" => f64::NAN.into(),
            "inf" => f64::INFINITY.into(),
            "-inf" => f64::NEG_INFINITY.into(),
            _ => return None,
        },
        _ => return None,
    }))
}
