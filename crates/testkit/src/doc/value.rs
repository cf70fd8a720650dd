//! Scalar values: a type and bytes (reference 2.5).

use super::bytes::Input;
use super::{Refused, refuse};
use crate::format::numbers::{put_signed, put_unsigned};

/// A scalar value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are those of the format")]
pub enum Value {
    Null,
    Bool(bool),
    Uint(u64),
    Int(i64),
    /// The bits of a float: what is not a number is equal to itself.
    F64(u64),
    Str(String),
    Bytes(Vec<u8>),
    Counter(i64),
    /// Milliseconds since 1970.
    Timestamp(i64),
    /// One of the types 10 to 15, which are not assigned yet.
    Unknown(u8, Vec<u8>),
}

impl Value {
    pub(super) fn read(code: u8, bytes: &[u8]) -> Result<Self, Refused> {
        let mut input = Input(bytes);
        let value = match code {
            0 => Value::Null,
            1 => Value::Bool(false),
            2 => Value::Bool(true),
            3 => Value::Uint(input.unsigned()?),
            4 => Value::Int(input.signed()?),
            5 => Value::F64(u64::from_le_bytes(input.take(8)?.try_into().expect("8 bytes were taken"))),
            6 => {
                let text = input.take(bytes.len() as u64)?.to_vec();
                Value::Str(String::from_utf8(text).map_err(|error| refuse("utf8", error))?)
            }
            7 => Value::Bytes(input.take(bytes.len() as u64)?.to_vec()),
            8 => Value::Counter(input.signed()?),
            9 => Value::Timestamp(input.signed()?),
            10..=15 => Value::Unknown(code, input.take(bytes.len() as u64)?.to_vec()),
            _ => return Err(refuse("value", format!("type {code}"))),
        };
        if input.0.is_empty() { Ok(value) } else { Err(refuse("value", "bytes are left over")) }
    }

    /// Its type and its bytes.
    pub(super) fn write(&self) -> (u8, Vec<u8>) {
        let mut out = vec![];
        let code = match self {
            Value::Null => 0,
            Value::Bool(false) => 1,
            Value::Bool(true) => 2,
            Value::Uint(value) => {
                put_unsigned(&mut out, *value);
                3
            }
            Value::Int(value) => {
                put_signed(&mut out, *value);
                4
            }
            Value::F64(bits) => {
                out.extend(bits.to_le_bytes());
                5
            }
            Value::Str(text) => {
                out.extend(text.bytes());
                6
            }
            Value::Bytes(bytes) => {
                out.extend(bytes);
                7
            }
            Value::Counter(value) => {
                put_signed(&mut out, *value);
                8
            }
            Value::Timestamp(value) => {
                put_signed(&mut out, *value);
                9
            }
            Value::Unknown(code, bytes) => {
                out.extend(bytes);
                *code
            }
        };
        (code, out)
    }

    /// Amount of an increment by this value, if it is an integer.
    pub(super) fn amount(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            Value::Uint(value) => Some(*value as i64),
            _ => None,
        }
    }
}
