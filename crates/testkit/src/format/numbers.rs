//! LEB128 numbers and length-prefixed bytes.

/// Appends an unsigned LEB128 number.
pub fn put_unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed LEB128 number.
pub fn put_signed(out: &mut Vec<u8>, mut value: i64) {
    while !(-0x40..0x40).contains(&value) {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8 & 0x7f);
}

/// Appends a length and the bytes.
pub fn put_prefixed(out: &mut Vec<u8>, bytes: &[u8]) {
    put_unsigned(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The bytes of the number at the front: all but the last have the highest bit set. `None` if the input ends before.
pub(crate) fn first_number(bytes: &[u8]) -> Option<&[u8]> {
    let last = bytes.iter().position(|byte| byte & 0x80 == 0)?;
    Some(&bytes[..=last])
}

/// Unread bytes.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// The next bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// The next byte.
    pub fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    /// The next unsigned number, also if it is longer than it needs to be. Bits above the 64th are dropped.
    pub fn unsigned(&mut self) -> Option<u64> {
        let number = self.number()?;
        Some(number.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f)))
    }

    /// The next signed number, likewise.
    pub fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        let sign = if number[number.len() - 1] & 0x40 == 0 { 0 } else { -1 };
        Some(number.iter().rev().fold(sign, |value, byte| value << 7 | i64::from(byte & 0x7f)))
    }

    /// The bytes of a number of at most 64 bits.
    fn number(&mut self) -> Option<&'a [u8]> {
        let number = first_number(self.0).filter(|number| number.len() <= 10)?;
        self.take(number.len())
    }

    /// The next bytes, behind their length.
    pub fn prefixed(&mut self) -> Option<&'a [u8]> {
        let len = self.unsigned()?;
        self.take(usize::try_from(len).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip() {
        for value in [0, 1, 63, 64, 127, 128, 300, i64::MAX, -1, -64, -65, -128, i64::MIN] {
            let mut bytes = vec![];
            put_signed(&mut bytes, value);
            put_unsigned(&mut bytes, value as u64);
            let mut input = Input(&bytes);
            assert_eq!((input.signed(), input.unsigned()), (Some(value), Some(value as u64)));
            assert_eq!(input.byte(), None);
        }
    }

    #[test]
    fn signed_numbers_have_the_published_bytes() {
        for (value, expected) in [(64, &[0xc0, 0][..]), (-64, &[0x40]), (-65, &[0xbf, 0x7f]), (2, &[2])] {
            let mut bytes = vec![];
            put_signed(&mut bytes, value);
            assert_eq!(bytes, expected, "{value}");
        }
    }

    #[test]
    fn overlong_numbers_are_read_and_endless_ones_are_not() {
        assert_eq!(Input(&[0x81, 0x80, 0]).unsigned(), Some(1));
        assert_eq!(Input(&[0xff, 0xff, 0x7f]).signed(), Some(-1));
        assert_eq!(Input(&[0x80; 9]).unsigned(), None);
        assert_eq!(Input(&[&[0x80; 10][..], &[0]].concat()).unsigned(), None);
    }
}
