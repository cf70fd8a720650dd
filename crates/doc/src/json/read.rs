//! In: JSON as a value that can be put into a document.

use serde_json::{Map, Number, Value as Json};

use super::{Form, TYPE, VALUE};
use crate::literal::{Entries, Literal};
use crate::types::{ScalarValue, decode_hex};

/// Why a text is no value of a document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is no JSON, or more than 128 levels deep.
    #[error("this is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A number that is no integer of 64 bits, and none in floating point.
    #[error("{0} is too large a number")]
    Number(Number),
    /// An object that says what it is, and is not that.
    #[error("{0} is no value of the type that it says")]
    Tag(Json),
}

/// Reads JSON. In [`Form::Plain`] objects are maps whatever their keys are, and strings are single values;
/// [`Form::Tagged`] is read as it is written. A number with a point, or one that 64 bits do not hold, is floating point and
/// keeps as many digits as that has.
pub fn read(json: &[u8], form: Form) -> Result<Literal, ReadError> {
    literal(serde_json::from_slice(json)?, form)
}

/// The parser has made sure that there are few levels.
pub(super) fn literal(json: Json, form: Form) -> Result<Literal, ReadError> {
    Ok(match json {
        Json::Null => ().into(),
        Json::Bool(value) => value.into(),
        Json::Number(number) => Literal::Scalar(scalar(number)?),
        Json::String(text) => text.into(),
        Json::Array(values) => {
            let values = values.into_iter().map(|value| literal(value, form));
            Literal::List(values.collect::<Result<_, _>>()?)
        }
        Json::Object(entries) if form == Form::Tagged && entries.contains_key(TYPE) => tagged(entries)?,
        Json::Object(entries) => Literal::Map(map(entries, form)?),
    })
}

fn map(entries: Map<String, Json>, form: Form) -> Result<Entries, ReadError> {
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

/// What says what it is: two keys, the type and the value.
fn tagged(mut entries: Map<String, Json>) -> Result<Literal, ReadError> {
    let value = match entries.get(VALUE) {
        Some(Json::Object(inside)) if entries.len() == 2 && entries[TYPE] == "map" => {
            return map(inside.clone(), Form::Tagged).map(Literal::Map);
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
