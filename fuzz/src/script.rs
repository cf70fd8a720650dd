//! Inputs as scripts: bytes are read from the front, and are zero after the end.
//!
//! Every input is a valid script, and a longer one continues where its prefix ends. Numbers are little-endian.

/// The unread rest of an input.
#[derive(Debug)]
pub struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    /// A whole input.
    pub fn new(input: &'a [u8]) -> Self {
        Self(input)
    }

    /// The next byte, which selects a step; `None` at the end.
    pub fn step(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        self.step().unwrap_or(0)
    }

    /// All unread bytes.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }

    /// The next two bytes as a number.
    pub fn short(&mut self) -> usize {
        usize::from(u16::from_le_bytes([self.byte(), self.byte()]))
    }

    /// A length below 64 KiB, taken from three bytes: each power of two is as likely as any other.
    pub fn length(&mut self) -> usize {
        let shift = self.byte() % 16;
        self.short() >> shift
    }

    /// The next eight bytes as a number.
    pub fn long(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// The next bytes: the first one is their number, unless fewer are left.
    pub fn text(&mut self) -> &'a [u8] {
        let len = usize::from(self.byte()).min(self.0.len());
        let (text, rest) = self.0.split_at(len);
        self.0 = rest;
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_reads_as_zero() {
        let mut script = Script::new(&[1, 2, 3, 2, b'a', b'b', 7]);
        assert_eq!((script.step(), script.short()), (Some(1), 0x0302));
        assert_eq!(script.text(), b"ab");
        assert_eq!((script.long(), script.step(), script.byte()), (7, None, 0));
        assert_eq!(script.text(), b"");
        assert_eq!(Script::new(&[8, 0xff, 0x3f]).length(), 0x3f);
    }
}
