//! Scalar values as stored in columns: a type code and bytes.

use std::borrow::Cow;

use crate::codec::bytes::leb;
use crate::types::ScalarValue;
use crate::types::error::Rule;

/// Type codes of the value metadata column.
pub(crate) mod code {
    pub(crate) const NULL: u8 = 0;
    pub(crate) const FALSE: u8 = 1;
    pub(crate) const TRUE: u8 = 2;
    pub(crate) const UINT: u8 = 3;
    pub(crate) const INT: u8 = 4;
    pub(crate) const F64: u8 = 5;
    pub(crate) const STR: u8 = 6;
    pub(crate) const BYTES: u8 = 7;
    pub(crate) const COUNTER: u8 = 8;
    pub(crate) const TIMESTAMP: u8 = 9;
    /// Greatest possible code.
    pub(crate) const LAST: u8 = 15;
}

/// Checks that a type code without a meaning in this version is possible; its values are kept unchanged.
fn unknown(type_code: u8) -> Result<(), Rule> {
    if (code::TIMESTAMP + 1..=code::LAST).contains(&type_code) { Ok(()) } else { Err(Rule::Value) }
}

/// Are values of a type integers?
pub(crate) fn is_whole(code: u8) -> bool {
    matches!(code, code::UINT | code::INT | code::COUNTER | code::TIMESTAMP)
}

/// A value as stored in columns. Types above 9 are kept unchanged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RawValue<'a> {
    pub(crate) code: u8,
    pub(crate) bytes: &'a [u8],
}

impl<'a> RawValue<'a> {
    pub(crate) const NULL: RawValue<'static> = RawValue { code: code::NULL, bytes: &[] };

    pub(crate) fn is_null(self) -> bool {
        self.code == code::NULL
    }

    /// Entry of the metadata column.
    pub(crate) fn meta(self) -> u64 {
        (self.bytes.len() as u64) << 4 | u64::from(self.code)
    }

    /// The start value of a counter, or the amount of an increment.
    pub(crate) fn number(self) -> Option<i64> {
        match self.decode().ok()? {
            ScalarValue::Int(v) | ScalarValue::Counter(v) => Some(v),
            ScalarValue::Uint(v) => Some(v as i64),
            _ => None,
        }
    }

    /// The amount of an increment: an integer, never a counter.
    pub(crate) fn increment(self) -> Option<i64> {
        if self.code == code::COUNTER { None } else { self.number() }
    }

    /// Fast path of [`Self::decode`] for signed numbers of one to three bytes, the usual case. Without it, a read of a
    /// key spends as long on passing the result from function to function.
    #[inline]
    pub(crate) fn short_int(code: u8, bytes: &[u8]) -> Option<i64> {
        let groups = match *bytes {
            _ if code != code::INT => return None,
            [a] => i32::from(a) << 25 >> 25,
            [a, b] => (i32::from(a & 0x7f) | i32::from(b) << 7) << 18 >> 18,
            [a, b, c] => (i32::from(a & 0x7f) | i32::from(b & 0x7f) << 7 | i32::from(c) << 14) << 11 >> 11,
            _ => return None,
        };
        Some(groups.into())
    }

    /// Are these valid integers of one or two bytes each, the usual case? All others are left to [`Self::check`].
    pub(crate) fn are_short_numbers(code: u8, len: usize, bytes: &[u8]) -> bool {
        let signed = match code {
            code::UINT => false,
            code::INT | code::COUNTER | code::TIMESTAMP => true,
            _ => return false,
        };
        match len {
            1 => bytes.iter().all(|byte| *byte < 0x80),
            // A last byte of zero bits, or one that only repeats the sign, is redundant.
            2 => bytes.as_chunks::<2>().0.iter().all(|[low, high]| {
                let idle = if signed && low & 0x40 != 0 { 0x7f } else { 0 };
                *low >= 0x80 && *high < 0x80 && *high != idle
            }),
            _ => false,
        }
    }

    /// Checks that the bytes fit the type.
    #[inline]
    pub(crate) fn check(self) -> Result<(), Rule> {
        // Most values are such numbers.
        match *self.bytes {
            [a] if self.code == code::INT && a < 0x80 => Ok(()),
            _ => self.decode().map(drop),
        }
    }

    pub(crate) fn decode(self) -> Result<ScalarValue<'a>, Rule> {
        let whole = |(value, len)| if len == self.bytes.len() { Ok(value) } else { Err(Rule::Value) };
        let signed = || match leb::get_i64(self.bytes)? {
            (value, len) if len == self.bytes.len() => Ok(value),
            _ => Err(Rule::Value),
        };
        let empty = |value| if self.bytes.is_empty() { Ok(value) } else { Err(Rule::Value) };
        match self.code {
            code::NULL => empty(ScalarValue::Null),
            code::FALSE => empty(ScalarValue::Boolean(false)),
            code::TRUE => empty(ScalarValue::Boolean(true)),
            code::UINT => leb::get_u64(self.bytes).and_then(whole).map(ScalarValue::Uint),
            code::INT => signed().map(ScalarValue::Int),
            code::F64 => {
                let bytes = self.bytes.try_into().map_err(|_| Rule::Value)?;
                Ok(ScalarValue::F64(f64::from_le_bytes(bytes)))
            }
            code::STR => std::str::from_utf8(self.bytes)
                .map(|v| ScalarValue::Str(Cow::Borrowed(v)))
                .map_err(|_| Rule::Utf8),
            code::BYTES => Ok(ScalarValue::Bytes(Cow::Borrowed(self.bytes))),
            code::COUNTER => signed().map(ScalarValue::Counter),
            code::TIMESTAMP => signed().map(ScalarValue::Timestamp),
            type_code => Ok(ScalarValue::Unknown { type_code, bytes: Cow::Borrowed(self.bytes) }),
        }
    }

    /// Encodes `value`, with `scratch` for the bytes of numbers. Fails for a type that the format does not have.
    pub(crate) fn encode(value: &'a ScalarValue<'_>, scratch: &'a mut Vec<u8>) -> Result<Self, Rule> {
        scratch.clear();
        let (code, bytes) = match value {
            ScalarValue::Null => (code::NULL, &[][..]),
            ScalarValue::Boolean(false) => (code::FALSE, &[][..]),
            ScalarValue::Boolean(true) => (code::TRUE, &[][..]),
            ScalarValue::Uint(v) => {
                leb::put_u64(scratch, *v);
                (code::UINT, &scratch[..])
            }
            ScalarValue::Int(v) => {
                leb::put_i64(scratch, *v);
                (code::INT, &scratch[..])
            }
            ScalarValue::F64(v) => {
                scratch.extend_from_slice(&v.to_le_bytes());
                (code::F64, &scratch[..])
            }
            ScalarValue::Str(v) => (code::STR, v.as_bytes()),
            ScalarValue::Bytes(v) => (code::BYTES, &v[..]),
            ScalarValue::Counter(v) => {
                leb::put_i64(scratch, *v);
                (code::COUNTER, &scratch[..])
            }
            ScalarValue::Timestamp(v) => {
                leb::put_i64(scratch, *v);
                (code::TIMESTAMP, &scratch[..])
            }
            ScalarValue::Unknown { type_code, bytes } => {
                unknown(*type_code)?;
                (*type_code, &bytes[..])
            }
        };
        Ok(RawValue { code, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_round_trips() {
        let values = [
            ScalarValue::Null,
            true.into(),
            false.into(),
            (-3i64).into(),
            i64::MIN.into(),
            u64::MAX.into(),
            3.5.into(),
            "héllo".into(),
            vec![1u8, 2].into(),
            ScalarValue::Counter(300),
            ScalarValue::Timestamp(-1),
            ScalarValue::Unknown { type_code: 12, bytes: vec![9, 9].into() },
        ];
        let mut scratch = vec![];
        for value in values {
            let raw = RawValue::encode(&value, &mut scratch).unwrap();
            assert_eq!(raw.decode(), Ok(value.clone()));
            assert_eq!(raw.meta() & 15, u64::from(raw.code));
        }
    }

    #[test]
    fn short_numbers_are_checked_like_long_ones() {
        for code in 0..16 {
            for number in 0..=u16::MAX {
                for bytes in [&number.to_le_bytes()[..], &number.to_le_bytes()[..1]] {
                    let sound = is_whole(code) && RawValue { code, bytes }.check().is_ok();
                    assert_eq!(RawValue::are_short_numbers(code, bytes.len(), bytes), sound, "{bytes:?}");
                }
            }
        }
    }

    #[test]
    fn short_numbers_are_decoded_like_long_ones() {
        let mut scratch = vec![];
        for shift in 0..63 {
            for value in [1i64 << shift, (1 << shift) - 1, -1 << shift, (-1 << shift) - 1] {
                let value = ScalarValue::Int(value);
                let raw = RawValue::encode(&value, &mut scratch).unwrap();
                let short = RawValue::short_int(raw.code, raw.bytes);
                assert_eq!(short.is_some(), raw.bytes.len() <= 3);
                assert!(short.is_none_or(|short| ScalarValue::Int(short) == value), "{value:?}");
            }
        }
        assert_eq!(RawValue::short_int(code::UINT, &[1]), None);
    }

    #[test]
    fn refuses_bytes_that_do_not_fit() {
        let check = |code, bytes| RawValue { code, bytes }.check();
        assert_eq!(check(code::NULL, &[0]), Err(Rule::Value));
        assert_eq!(check(code::UINT, &[1, 1]), Err(Rule::Value));
        assert_eq!(check(code::COUNTER, &[0x80, 0]), Err(Rule::LebOverlong));
        assert_eq!(check(code::INT, &[]), Err(Rule::Truncated));
        assert_eq!(check(code::F64, &[0; 7]), Err(Rule::Value));
        assert_eq!(check(code::STR, &[0xff]), Err(Rule::Utf8));
    }
}
