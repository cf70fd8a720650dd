//! Conversion between CBOR and the values of documents, which bindings show as values of their language.

use std::convert::Infallible;

use hashmill_doc::{Literal, ScalarValue};
use minicbor::data::{Tag, Type};
use minicbor::decode::Error;
use minicbor::{Decoder, Encoder};

use crate::message::{DecodeError, MAX_DEPTH, byte_string, decode_float, has_more, text};
use crate::presence::PresenceError;

/// Maximum nesting depth of a value: a snapshot puts it below the fields `__presence` and `state`, and the limit of messages
/// holds for the whole.
const MAX_VALUE_DEPTH: usize = MAX_DEPTH - 2;
/// CBOR tag of a number of seconds since 1970.
const EPOCH_SECONDS: Tag = Tag::new(1);
/// The times of JavaScript: milliseconds before and after 1970.
const MAX_MILLIS: f64 = 8.64e15;
/// Integers up to this are exact in the numbers of JavaScript.
const MAX_EXACT: f64 = 9_007_199_254_740_991.0;

/// Is this one whole value that documents can hold? Takes no memory, because a value may be as large as a frame.
pub(super) fn check(bytes: &[u8]) -> Result<(), DecodeError> {
    let mut decoder = Decoder::new(bytes);
    check_value(&mut decoder, MAX_VALUE_DEPTH)?;
    match bytes.len() - decoder.position() {
        0 => Ok(()),
        rest => Err(DecodeError::Rest(rest)),
    }
}

fn check_value(decoder: &mut Decoder<'_>, depth: usize) -> Result<(), DecodeError> {
    let deeper =
        depth.checked_sub(1).ok_or(DecodeError::Limit { what: "nested values", limit: MAX_VALUE_DEPTH })?;
    match decoder.datatype()? {
        Type::Array | Type::ArrayIndef => {
            let mut left = decoder.array()?;
            while has_more(decoder, &mut left)? {
                check_value(decoder, deeper)?;
            }
        }
        Type::Map | Type::MapIndef => {
            let mut left = decoder.map()?;
            while has_more(decoder, &mut left)? {
                check_key(decoder)?;
                check_value(decoder, deeper)?;
            }
        }
        Type::Tag => {
            decoder.tag()?;
            check_value(decoder, deeper)?;
        }
        Type::String | Type::StringIndef => check_text(decoder)?,
        Type::Bytes | Type::BytesIndef => decoder.bytes_iter()?.try_for_each(|part| part.map(drop))?,
        Type::Simple | Type::Break | Type::Unknown(_) => {
            return Err(Error::message("a value that documents cannot hold").into());
        }
        _ => decoder.skip()?,
    }
    Ok(())
}

/// Keys are texts, or integers, which JavaScript programs see as texts.
fn check_key(decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
    match decoder.datatype()? {
        Type::String | Type::StringIndef => check_text(decoder),
        _ => Ok(decoder.int().map(drop)?),
    }
}

/// Are all parts of a text Unicode?
fn check_text(decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
    decoder.str_iter()?.try_for_each(|part| part.map(drop))?;
    Ok(())
}

/// Decodes a value that [`check`] accepts.
pub(super) fn decode(bytes: &[u8]) -> Literal {
    decode_value(&mut Decoder::new(bytes)).expect("a checked value")
}

fn decode_value(decoder: &mut Decoder<'_>) -> Result<Literal, DecodeError> {
    Ok(Literal::Scalar(match decoder.datatype()? {
        Type::Array | Type::ArrayIndef => {
            let (mut left, mut elements) = (decoder.array()?, Vec::new());
            while has_more(decoder, &mut left)? {
                elements.push(decode_value(decoder)?);
            }
            return Ok(Literal::List(elements.into()));
        }
        Type::Map | Type::MapIndef => {
            let (mut left, mut entries) = (decoder.map()?, Vec::new());
            while has_more(decoder, &mut left)? {
                entries.push((decode_key(decoder)?, decode_value(decoder)?));
            }
            // Of several entries with one key, the last one counts.
            return Ok(Literal::Map(entries.into_iter().collect()));
        }
        Type::Tag => {
            let is_time = decoder.tag()? == EPOCH_SECONDS;
            let value = decode_value(decoder)?;
            return Ok(if is_time { time(&value).unwrap_or(value) } else { value });
        }
        Type::String | Type::StringIndef => text(decoder)?.into_owned().into(),
        Type::Bytes | Type::BytesIndef => byte_string(decoder)?.into_owned().into(),
        Type::Bool => decoder.bool()?.into(),
        Type::F16 | Type::F32 | Type::F64 => number(decode_float(decoder)?),
        Type::Null | Type::Undefined => {
            decoder.skip()?;
            ScalarValue::Null
        }
        _ => {
            let number = i128::from(decoder.int()?);
            match (i64::try_from(number), u64::try_from(number)) {
                (Ok(number), _) => ScalarValue::Int(number),
                (_, Ok(number)) => ScalarValue::Uint(number),
                _ => ScalarValue::F64(number as f64),
            }
        }
    }))
}

fn decode_key(decoder: &mut Decoder<'_>) -> Result<String, DecodeError> {
    match decoder.datatype()? {
        Type::String | Type::StringIndef => Ok(text(decoder)?.into_owned()),
        _ => Ok(i128::from(decoder.int()?).to_string()),
    }
}

/// JavaScript programs write large integers as floats.
fn number(number: f64) -> ScalarValue<'static> {
    if is_exact(number) { ScalarValue::Int(number as i64) } else { ScalarValue::F64(number) }
}

/// Is it an integer that is exact in JavaScript? Zero below zero is none.
fn is_exact(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() <= MAX_EXACT && (number != 0.0 || number.is_sign_positive())
}

/// A number of seconds since 1970 as a time, if JavaScript has it.
fn time(seconds: &Literal) -> Option<Literal> {
    let seconds = match seconds {
        Literal::Scalar(ScalarValue::Int(seconds)) => *seconds as f64,
        Literal::Scalar(ScalarValue::F64(seconds)) => *seconds,
        _ => return None,
    };
    millis(seconds).map(|millis| Literal::Scalar(ScalarValue::Timestamp(millis)))
}

/// Seconds in milliseconds. `None` if these, in seconds again, are another time.
fn millis(seconds: f64) -> Option<i64> {
    let millis = (seconds * 1e3).round();
    (millis.abs() <= MAX_MILLIS && (millis / 1e3 * 1e3).round() == millis).then_some(millis as i64)
}

/// Encodes a value in the form of JavaScript programs: integers beyond 32 bits are floats if those are exact.
pub(super) fn encode(value: &Literal) -> Result<Vec<u8>, PresenceError> {
    let mut bytes = Vec::new();
    encode_value(&mut Encoder::new(&mut bytes), value, MAX_VALUE_DEPTH)?;
    Ok(bytes)
}

type Out<'v> = Encoder<&'v mut Vec<u8>>;

fn encode_value(out: &mut Out<'_>, value: &Literal, depth: usize) -> Result<(), PresenceError> {
    let deeper = level_below(depth)?;
    let written = match value {
        Literal::Map(entries) => {
            written(out.map(entries.len() as u64));
            for (key, value) in entries {
                written(out.str(key));
                encode_value(out, value, deeper)?;
            }
            return Ok(());
        }
        Literal::List(elements) => {
            written(out.array(elements.len() as u64));
            return elements.iter().try_for_each(|value| encode_value(out, value, deeper));
        }
        Literal::Text(text) => out.str(text),
        Literal::Scalar(scalar) => match scalar {
            ScalarValue::Null => out.null(),
            ScalarValue::Boolean(truth) => out.bool(*truth),
            ScalarValue::Int(number) | ScalarValue::Counter(number) => return integer(out, *number),
            ScalarValue::Uint(number) => match i64::try_from(*number) {
                Ok(number) => return integer(out, number),
                Err(_) => out.u64(*number),
            },
            ScalarValue::F64(number) if is_exact(*number) => return integer(out, *number as i64),
            ScalarValue::F64(number) => out.f64(*number),
            ScalarValue::Str(text) => out.str(text),
            ScalarValue::Bytes(bytes) => out.bytes(bytes),
            ScalarValue::Timestamp(millis) => {
                // The number below the tag.
                level_below(deeper)?;
                return timestamp(out, *millis);
            }
            ScalarValue::Unknown { .. } => {
                return Err(PresenceError::Unsupported("a value of an unknown type"));
            }
        },
    };
    self::written(written);
    Ok(())
}

fn level_below(depth: usize) -> Result<usize, PresenceError> {
    depth.checked_sub(1).ok_or(PresenceError::Limit { what: "nested values", limit: MAX_VALUE_DEPTH })
}

fn integer(out: &mut Out<'_>, number: i64) -> Result<(), PresenceError> {
    let is_short = number.unsigned_abs() <= u64::from(u32::MAX);
    let is_exact = number.unsigned_abs() <= MAX_EXACT as u64;
    written(if is_exact && !is_short { out.f64(number as f64) } else { out.i64(number) });
    Ok(())
}

fn timestamp(out: &mut Out<'_>, time: i64) -> Result<(), PresenceError> {
    let seconds = time as f64 / 1e3;
    if millis(seconds) != Some(time) {
        return Err(PresenceError::Unsupported("a time so far from 1970"));
    }
    let out = out.tag(EPOCH_SECONDS).expect(INFALLIBLE);
    match u32::try_from(time / 1_000) {
        Ok(seconds) if time % 1_000 == 0 => written(out.u32(seconds)),
        _ => written(out.f64(seconds)),
    }
    Ok(())
}

const INFALLIBLE: &str = "writing to a vector cannot fail";

fn written<T>(result: Result<T, minicbor::encode::Error<Infallible>>) {
    result.map(drop).expect(INFALLIBLE);
}
