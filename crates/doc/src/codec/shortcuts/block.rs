//! A small change being written where SHA-256 can read it: no copy, no allocation.

use std::ops::Range;

use sha2::block_api::compress256;

use super::single_char::SingleCharOp;
use crate::codec::chunk::{ChunkType, START, digest};
use crate::codec::leb::len_u64;
use crate::types::{ActorIdx, ChangeHash, OpId};

/// So many bytes of a deletion stand between the two places that name the element.
const DELETED: usize = 10;

/// Room before the body for the type and a length of two bytes.
const HEAD: usize = 3;

/// The body of a change of a few hundred bytes at most.
#[derive(Debug)]
pub(crate) struct Block {
    bytes: [u8; 512],
    len: usize,
    /// Where what SHA-256 reads ends, once its end is there.
    end: Option<usize>,
    keystroke: Option<Keystroke>,
}

/// A change with one keystroke in it as it lies in a block. The next one of the same run mostly differs in these bytes alone.
#[derive(Debug)]
struct Keystroke {
    obj: OpId,
    actor: ActorIdx,
    /// Of the character; none for a deletion.
    text: Option<Range<usize>>,
    seq: Leb,
    start: Leb,
    elem: Leb,
}

/// A number in a block: where its last byte ends, and which numbers take as many bytes.
#[derive(Debug)]
struct Leb {
    end: usize,
    values: Range<u64>,
    width: usize,
}

impl Leb {
    /// One that ends there; its last byte has so many bits of it, the others seven.
    fn ending((value, end): (u32, usize), last: u32) -> Self {
        let value = u64::from(value);
        let bits = 64 - (value | 1).leading_zeros();
        let width = 1 + bits.saturating_sub(last).div_ceil(7);
        let least = if width == 1 { 0 } else { 1 << (last + 7 * (width - 2)) };
        Self { end, values: least..1 << (last + 7 * (width - 1)), width: width as usize }
    }

    /// Puts another number of as many bytes there.
    #[inline]
    fn put(&self, bytes: &mut [u8; 512], mut value: u32, back: usize) {
        let place = &mut bytes[self.end - back - self.width..self.end - back];
        if let [first @ .., last] = place {
            for byte in first {
                *byte = value as u8 | 0x80;
                value >>= 7;
            }
            *last = value as u8;
        }
    }
}

impl Default for Block {
    fn default() -> Self {
        Self { bytes: [0; 512], len: HEAD, end: None, keystroke: None }
    }
}

impl Block {
    /// How much a body may hold of what has no fixed length: hashes, names, messages.
    pub(crate) const FREE: usize = 300;

    pub(crate) fn clear(&mut self) {
        self.len = HEAD;
        self.end = None;
        self.keystroke = None;
    }

    /// How much was written.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Remembers where the next change of the same run will differ from the one that was just written, which ends with the columns
    /// of a keystroke and was made after one other. Numbers are given with where they end.
    pub(crate) fn remember(&mut self, keystroke: &SingleCharOp<'_>, seq: (u32, usize), start: (u32, usize)) {
        let SingleCharOp { obj, elem, text } = *keystroke;
        // Behind the element stand three columns of two bytes, then the character, then one more of two bytes.
        let place = text.map(|text| self.len - 2 - text.len()..self.len - 2);
        let elem_end = place.as_ref().map_or(self.len, |place| place.start - 6);
        self.keystroke = (!elem.is_none()).then(|| Keystroke {
            obj,
            actor: elem.actor,
            text: place,
            seq: Leb::ending(seq, 7),
            start: Leb::ending(start, 7),
            elem: Leb::ending((elem.ctr, elem_end), 6),
        });
    }

    /// The next change is not of the same run.
    pub(crate) fn forget(&mut self) {
        self.keystroke = None;
    }

    /// Makes the keystroke that lies here the next one of the same run, made after `dep`, if it lies in as many bytes.
    #[inline]
    pub(crate) fn again(&mut self, next: &SingleCharOp<'_>, dep: &ChangeHash, seq: u32, start: u32) -> bool {
        let Some(was) = &self.keystroke else { return false };
        let fits = was.obj == next.obj
            && was.actor == next.elem.actor
            && was.text.as_ref().map(Range::len) == next.text.map(<[u8]>::len)
            && was.seq.values.contains(&seq.into())
            && was.start.values.contains(&start.into())
            && was.elem.values.contains(&next.elem.ctr.into())
            && !next.elem.is_none();
        if !fits {
            return false;
        }
        self.bytes[HEAD + 1..HEAD + 33].copy_from_slice(&dep.0);
        was.seq.put(&mut self.bytes, seq, 0);
        was.start.put(&mut self.bytes, start, 0);
        was.elem.put(&mut self.bytes, next.elem.ctr, 0);
        match (&was.text, next.text) {
            (Some(place), Some(text)) => self.bytes[place.clone()].copy_from_slice(text),
            // What is deleted is named twice.
            _ => was.elem.put(&mut self.bytes, next.elem.ctr, was.elem.width + DELETED),
        }
        true
    }

    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    #[inline]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// The first `len` bytes of an array. Copies all of it: that is one or two instructions.
    #[inline]
    pub(crate) fn part<const N: usize>(&mut self, bytes: &[u8; N], len: usize) {
        self.bytes[self.len..][..N].copy_from_slice(bytes);
        self.len += len;
    }

    #[inline]
    pub(crate) fn prefixed(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        match bytes.try_into() {
            // The length of random actor ids.
            Ok(bytes) => self.part::<16>(bytes, 16),
            Err(_) => self.bytes(bytes),
        }
    }

    #[inline]
    pub(crate) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }

    #[inline]
    pub(crate) fn signed(&mut self, mut value: i64) {
        while !(-64..64).contains(&value) {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8 & 0x7f);
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.bytes[HEAD..self.len]
    }

    /// The hash of the change: over its type, the length of its body, and the body.
    #[inline]
    pub(crate) fn hash(&mut self) -> ChangeHash {
        let len = self.len - HEAD;
        let start = HEAD - 1 - len_u64(len as u64);
        if let Some(end) = self.end {
            return hash_padded(self.bytes[start..end].as_chunks().0);
        }
        self.bytes[start] = ChunkType::Change as u8;
        if len < 0x80 {
            self.bytes[start + 1] = len as u8;
        } else {
            self.bytes[start + 1] = len as u8 | 0x80;
            self.bytes[start + 2] = (len >> 7) as u8;
        }
        let hashed = self.len - start;
        let end = start + (hashed + 9).next_multiple_of(64);
        self.bytes[self.len] = 0x80;
        self.bytes[self.len + 1..end - 8].fill(0);
        self.bytes[end - 8..end].copy_from_slice(&(8 * hashed as u64).to_be_bytes());
        self.end = Some(end);
        hash_padded(self.bytes[start..end].as_chunks().0)
    }
}

/// The hash of a message that is padded already.
#[inline]
pub(in crate::codec) fn hash_padded(blocks: &[[u8; 64]]) -> ChangeHash {
    let mut state = START;
    compress256(&mut state, blocks);
    digest(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::chunk::{frame_with, hash_chunk, hash_of};

    #[test]
    fn a_block_hashes_as_its_chunk_does() {
        let mut block = Block::default();
        for len in 0..=400 {
            block.clear();
            let body: Vec<u8> = (0..len).map(|n| n as u8 ^ 0x5a).collect();
            block.bytes(&body);
            let hash = hash_chunk(ChunkType::Change, &body);
            assert_eq!(block.hash(), hash, "{len}");
            assert_eq!(hash_of(&frame_with(ChunkType::Change, &body, &hash)[8..]), hash);
            assert_eq!(block.body(), body);
        }
    }

    #[test]
    fn a_keystroke_becomes_the_next_one() {
        let write = |block: &mut Block, keystroke: &SingleCharOp<'_>, dep: u8, seq: u32, start: u32| {
            block.clear();
            block.number(1);
            block.part(&[dep; 32], 32);
            block.prefixed(&[7; 16]);
            block.number(seq.into());
            let seq = (seq, block.len());
            block.number(start.into());
            let start = (start, block.len());
            block.signed(-5);
            block.prefixed(b"why");
            block.number(0);
            keystroke.write(block);
            block.remember(keystroke, seq, start);
        };
        let numbers = [1, 2, 63, 64, 127, 128, 8191, 8192, 16383, 16384, 1 << 20, u32::MAX];
        let elems = numbers.map(|ctr| OpId::new(ctr, ActorIdx::of(1)));
        let texts: [Option<&[u8]>; 4] = [None, Some(b"x"), Some(b"y"), Some("é".as_bytes())];
        let mut keystrokes = vec![];
        for obj in [OpId::NONE, OpId::new(300, ActorIdx::of(0))] {
            for elem in elems.into_iter().chain([OpId::NONE, OpId::new(5, ActorIdx::of(0))]) {
                let texts = texts.into_iter().filter(|text| text.is_some() || !elem.is_none());
                keystrokes.extend(texts.map(|text| SingleCharOp { obj, elem, text }));
            }
        }
        let (mut block, mut fresh, mut times) = (Block::default(), Block::default(), 0);
        for (n, one) in keystrokes.iter().enumerate() {
            for (m, other) in keystrokes.iter().enumerate() {
                let number = |n: usize| numbers[n % numbers.len()];
                write(&mut block, one, 3, number(n), number(m));
                if n % 2 == 0 {
                    block.hash();
                }
                let (seq, start) = (number(n + m % 2), number(m + n % 3));
                let fits = block.again(other, &ChangeHash([4; 32]), seq, start);
                write(&mut fresh, other, 4, seq, start);
                if fits {
                    assert_eq!(block.body(), fresh.body(), "{one:?}, {other:?}, {seq}, {start}");
                    assert_eq!(block.hash(), fresh.hash());
                    times += 1;
                }
                block.forget();
                assert!(!block.again(other, &ChangeHash([4; 32]), seq, start), "of another run");
            }
        }
        assert!(times > 100, "only {times} fit");
    }

    #[test]
    fn numbers_are_those_of_the_format() {
        for value in [0, 1, 63, 64, 127, 128, 1 << 13, (1 << 13) - 1, i64::MAX, -1, -64, -65, i64::MIN] {
            let mut block = Block::default();
            block.signed(value);
            let mut signed = vec![];
            crate::codec::leb::put_i64(&mut signed, value);
            assert_eq!(block.body(), signed);
            block.clear();
            block.number(value as u64);
            let mut unsigned = vec![];
            crate::codec::leb::put_u64(&mut unsigned, value as u64);
            assert_eq!(block.body(), unsigned);
        }
    }
}
