//! Write buffer of a column: numbers of up to four bytes are written without a branch on their length.

use super::leb::{put_i64, put_u64};
use crate::codec::bytes::byte_rope::{BORROWED_FROM, BorrowedBytes, ByteRope};

/// Minimum growth.
const LEAST: usize = 64;

/// Maximum growth beyond the used length and the request: the new memory must be zeroed.
const MOST: usize = 1 << 12;

/// Grows like a vector, with writable memory behind the used length: a number is one store of four bytes, and the next
/// number starts at its actual end.
#[derive(Debug, Default)]
pub(crate) struct Packer<'a> {
    bytes: Vec<u8>,
    len: usize,
    borrowed: Vec<BorrowedBytes<'a>>,
}

impl<'a> Packer<'a> {
    /// Length without borrowed bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0 && self.borrowed.is_empty()
    }

    pub(crate) fn written(&self) -> ByteRope<'_> {
        ByteRope { own: &self.bytes[..self.len], borrowed: &self.borrowed }
    }

    /// Removes the contents, keeping the memory.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.borrowed.clear();
    }

    /// As [`Self::clear`], for contents of another lifetime.
    pub(crate) fn recycle<'b>(self) -> Packer<'b> {
        Packer { bytes: self.bytes, ..Packer::default() }
    }

    /// Adds bytes; long ones are borrowed, not copied.
    pub(crate) fn push_borrowed(&mut self, bytes: &'a [u8]) {
        match bytes.len() {
            ..BORROWED_FROM => self.extend(bytes),
            _ => self.borrowed.push(BorrowedBytes { at: self.len, bytes }),
        }
    }

    /// Appends an unsigned LEB128 number.
    #[inline]
    pub(crate) fn number(&mut self, value: u64) {
        if value < 1 << 28 {
            self.groups(value as u32, [value >= 1 << 7, value >= 1 << 14, value >= 1 << 21]);
        } else {
            self.long(|out| put_u64(out, value));
        }
    }

    /// Appends a signed LEB128 number.
    #[inline]
    pub(crate) fn signed(&mut self, value: i64) {
        // One bit is the sign.
        let plain = (value ^ value >> 63) as u64;
        if plain < 1 << 27 {
            self.groups(value as u32, [plain >= 1 << 6, plain >= 1 << 13, plain >= 1 << 20]);
        } else {
            self.long(|out| put_i64(out, value));
        }
    }

    /// Appends groups of seven bits; `more` tells for each but the last whether another one follows.
    #[inline]
    fn groups(&mut self, value: u32, more: [bool; 3]) {
        let groups =
            value & 0x7f | (value & 0x7f << 7) << 1 | (value & 0x7f << 14) << 2 | (value & 0x7f << 21) << 3;
        let [second, third, fourth] = more.map(u32::from);
        let marks = second << 7 | third << 15 | fourth << 23;
        let bytes = (groups | marks).to_le_bytes();
        match self.bytes.get_mut(self.len..self.len + 4) {
            Some(room) => room.copy_from_slice(&bytes),
            None => self.grow(4)[..4].copy_from_slice(&bytes),
        }
        self.len += (1 + second + third + fourth) as usize;
    }

    #[cold]
    fn long(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.truncate(self.len);
        put(&mut self.bytes);
        self.len = self.bytes.len();
    }

    /// Appends one byte, the size of a small number.
    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) {
        match self.bytes.get_mut(self.len) {
            Some(room) => *room = byte,
            None => self.grow(1)[0] = byte,
        }
        self.len += 1;
    }

    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        match self.bytes.get_mut(self.len..self.len + bytes.len()) {
            Some(room) => room.copy_from_slice(bytes),
            None => self.grow(bytes.len())[..bytes.len()].copy_from_slice(bytes),
        }
        self.len += bytes.len();
    }

    /// Makes at least `len` bytes writable and returns them.
    #[cold]
    fn grow(&mut self, len: usize) -> &mut [u8] {
        // Memory that is never used need not be zeroed.
        self.bytes.resize(self.len + len + self.len.clamp(LEAST, MOST), 0);
        &mut self.bytes[self.len..]
    }

    /// Replaces the byte at `at` by a number of one byte.
    pub(crate) fn set(&mut self, at: usize, value: i8) {
        self.bytes[at] = value as u8 & 0x7f;
    }

    /// Replaces the byte at `at` by a signed number.
    pub(crate) fn replace(&mut self, at: usize, value: i64) {
        let mut number = Vec::with_capacity(10);
        put_i64(&mut number, value);
        let more = number.len() - 1;
        self.bytes.truncate(self.len);
        self.bytes.splice(at..=at, number);
        self.len = self.bytes.len();
        self.borrowed.iter_mut().filter(|borrowed| borrowed.at > at).for_each(|borrowed| borrowed.at += more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_encoded_as_leb128() {
        let mut packer = Packer::default();
        let mut plain = vec![];
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                packer.number(value);
                put_u64(&mut plain, value);
                for signed in [value as i64, (value as i64).wrapping_neg(), !(value as i64)] {
                    packer.signed(signed);
                    put_i64(&mut plain, signed);
                }
                packer.extend(&plain[..shift]);
                plain.extend_from_within(..shift);
                assert_eq!(*packer.written().into_contiguous(), plain);
            }
        }
    }

    #[test]
    fn byte_is_replaced_by_a_longer_number() {
        for value in [0, 63, -64, -65, 100_000] {
            let mut packer = Packer::default();
            packer.extend(b"ab0cd");
            packer.set(2, -1);
            packer.replace(2, value);
            packer.signed(7);
            let mut plain = b"ab".to_vec();
            put_i64(&mut plain, value);
            plain.extend(b"cd\x07");
            assert_eq!(*packer.written().into_contiguous(), plain);
        }
    }

    #[test]
    fn borrowed_bytes_keep_their_position() {
        for len in [0, 1, BORROWED_FROM - 1, BORROWED_FROM, BORROWED_FROM + 1] {
            let [one, other] = [vec![1; len], vec![2; len]];
            let mut packer = Packer::default();
            assert!(packer.is_empty());
            packer.push_borrowed(&one);
            assert_eq!(packer.is_empty(), len == 0);
            packer.byte(0);
            packer.push_borrowed(&other);
            packer.push_borrowed(&one);
            packer.extend(b"end");
            // The count of a run grows when it ends.
            let at = packer.len() - 3 - if len < BORROWED_FROM { 2 * len } else { 0 } - 1;
            packer.replace(at, 100_000);
            let mut plain = one.clone();
            put_i64(&mut plain, 100_000);
            plain.extend([&other[..], &one, b"end"].concat());
            let spread = packer.written();
            assert_eq!(*spread.into_contiguous(), plain);
            assert_eq!(spread.pieces().collect::<Vec<_>>().concat(), plain);
            assert_eq!((spread.len(), spread.is_empty()), (plain.len(), false));
            let mut again = packer.recycle();
            again.byte(7);
            assert_eq!(*again.written().into_contiguous(), [7]);
        }
    }
}
