//! Numbers as the format writes them, and bytes taken from the front.

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
    loop {
        let byte = value as u8 & 0x7f;
        value >>= 7;
        // The bit before the highest is the sign of what follows.
        if (value == 0 && byte & 0x40 == 0) || (value == -1 && byte & 0x40 != 0) {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}

/// Appends a length and the bytes.
pub fn put_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    put_unsigned(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Bytes that are taken from the front.
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

    /// The next unsigned number, overlong or not.
    pub fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// The next signed number, overlong or not.
    pub fn signed(&mut self) -> Option<i64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= i64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                let negative = byte & 0x40 != 0 && shift + 7 < 64;
                return Some(if negative { value | (-1 << (shift + 7)) } else { value });
            }
        }
        None
    }

    /// The next bytes, behind their length.
    pub fn sized(&mut self) -> Option<&'a [u8]> {
        let len = self.unsigned()?;
        self.take(usize::try_from(len).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, 63, 64, 127, 128, 300, i64::MAX, -1, -64, -65, -128, i64::MIN] {
            let mut bytes = vec![];
            put_signed(&mut bytes, value);
            put_unsigned(&mut bytes, value as u64);
            let mut input = Input(&bytes);
            assert_eq!((input.signed(), input.unsigned()), (Some(value), Some(value as u64)));
            assert_eq!(input.byte(), None);
        }
        let mut bytes = vec![];
        put_signed(&mut bytes, 64);
        assert_eq!(bytes, [0xc0, 0]);
    }
}
