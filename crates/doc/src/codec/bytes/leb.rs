//! LEB128 numbers in their minimal form: seven bits per byte, low bits first.

use crate::types::error::Rule;

/// Appends an unsigned number.
#[inline]
pub(crate) fn put_u64(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number. The last byte's bit 6 is the sign.
#[inline]
pub(crate) fn put_i64(out: &mut Vec<u8>, mut value: i64) {
    while !(-64..64).contains(&value) {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8 & 0x7f);
}

/// Number of bytes that [`put_u64`] appends.
pub(crate) fn len_u64(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Reads an unsigned number; returns it and its length.
#[inline]
pub(crate) fn get_u64(bytes: &[u8]) -> Result<(u64, usize), Rule> {
    match bytes {
        [first, ..] if *first < 0x80 => Ok((u64::from(*first), 1)),
        _ => get_long_u64(bytes),
    }
}

fn get_long_u64(bytes: &[u8]) -> Result<(u64, usize), Rule> {
    let mut value = 0;
    for (i, &byte) in bytes.iter().enumerate() {
        if i == 9 && byte > 1 {
            return Err(Rule::LebRange);
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return if byte == 0 && i > 0 { Err(Rule::LebOverlong) } else { Ok((value, i + 1)) };
        }
    }
    Err(Rule::Truncated)
}

/// Reads a signed number; returns it and its length.
#[inline]
pub(crate) fn get_i64(bytes: &[u8]) -> Result<(i64, usize), Rule> {
    match bytes {
        // Shifting left and back extends the sign from bit 6.
        [first, ..] if *first < 0x80 => Ok((i64::from((first << 1) as i8 >> 1), 1)),
        _ => get_long_i64(bytes),
    }
}

fn get_long_i64(bytes: &[u8]) -> Result<(i64, usize), Rule> {
    let mut value = 0i64;
    let mut sign_before = 0;
    for (i, &byte) in bytes.iter().enumerate() {
        if i == 9 && byte != 0 && byte != 0x7f {
            return Err(Rule::LebRange);
        }
        value |= i64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            // A last byte that only repeats the sign of the one before is redundant.
            if i > 0 && ((byte == 0 && sign_before == 0) || (byte == 0x7f && sign_before != 0)) {
                return Err(Rule::LebOverlong);
            }
            let bits = 7 * (i + 1);
            if byte & 0x40 != 0 && bits < 64 {
                value |= -1 << bits;
            }
            return Ok((value, i + 1));
        }
        sign_before = byte & 0x40;
    }
    Err(Rule::Truncated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_at_every_length() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                let mut out = vec![];
                put_u64(&mut out, value);
                assert_eq!(out.len(), len_u64(value));
                assert_eq!(get_u64(&out), Ok((value, out.len())));
                for signed in [value as i64, (value as i64).wrapping_neg()] {
                    let mut out = vec![];
                    put_i64(&mut out, signed);
                    assert_eq!(get_i64(&out), Ok((signed, out.len())), "{signed}");
                }
            }
        }
    }

    #[test]
    fn refuses_overlong_and_truncated_numbers() {
        assert_eq!(get_u64(&[]), Err(Rule::Truncated));
        assert_eq!(get_u64(&[0x80]), Err(Rule::Truncated));
        assert_eq!(get_u64(&[0x80, 0]), Err(Rule::LebOverlong));
        assert_eq!(get_u64(&[0xff; 10]), Err(Rule::LebRange));
        assert_eq!(get_i64(&[0xff, 0x7f]), Err(Rule::LebOverlong));
        assert_eq!(get_i64(&[0x80, 0]), Err(Rule::LebOverlong));
        assert_eq!(get_i64(&[0xff, 0]), Ok((127, 2)));
        assert_eq!(
            get_i64(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]),
            Err(Rule::LebRange)
        );
        assert_eq!(
            get_i64(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f]),
            Ok((i64::MIN, 10))
        );
    }
}
