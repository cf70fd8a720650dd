//! Buffer for a small change, laid out as input of SHA-256: no copy, no allocation.

use std::ops::Range;

use sha2::block_api::compress256;

use super::keystroke::{Keystroke, Leb, SingleCharOp};
use crate::codec::bytes::leb::len_u64;
use crate::codec::chunks::container::{ChunkType, START, digest};
use crate::types::ChangeHash;

/// Distance between the two positions of the element in a deletion.
const DELETED: usize = 10;

/// Space before the body for the type and a two-byte length.
const HEAD: usize = 3;

/// Body of a change of at most a few hundred bytes.
#[derive(Debug)]
pub(crate) struct Block {
    bytes: [u8; 512],
    len: usize,
    /// End of the padded SHA-256 input, once the padding is written.
    end: Option<usize>,
    keystroke: Option<Keystroke>,
}

impl Default for Block {
    fn default() -> Self {
        Self { bytes: [0; 512], len: HEAD, end: None, keystroke: None }
    }
}

impl Block {
    /// Space for parts of variable length: hashes, actor ids, messages.
    pub(crate) const FREE: usize = 300;

    pub(crate) fn clear(&mut self) {
        self.len = HEAD;
        self.end = None;
        self.keystroke = None;
    }

    /// Length of the body.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Stores the positions in which the next change of the run will differ. The block ends with the columns of a
    /// keystroke and has one dependency. Numbers are passed with their ends.
    pub(crate) fn remember_keystroke(
        &mut self,
        keystroke: &SingleCharOp<'_>,
        seq: (u32, usize),
        start: (u32, usize),
    ) {
        let SingleCharOp { obj, elem, text } = *keystroke;
        // The element is followed by three columns of two bytes, the character, and one more column of two bytes.
        let text_range = text.map(|text| self.len - 2 - text.len()..self.len - 2);
        let elem_end = text_range.as_ref().map_or(self.len, |text_range| text_range.start - 6);
        self.keystroke = (!elem.is_none()).then(|| Keystroke {
            obj,
            actor: elem.actor,
            text: text_range,
            seq: Leb::ending(seq, 7),
            start: Leb::ending(start, 7),
            elem: Leb::ending((elem.ctr, elem_end), 6),
        });
    }

    /// Clears the stored positions: the next change is not of the same run.
    pub(crate) fn forget_keystroke(&mut self) {
        self.keystroke = None;
    }

    /// Turns the keystroke in the block into the next one of its run, with dependency `dep`, if all numbers keep their
    /// lengths.
    #[inline]
    pub(crate) fn advance_keystroke(
        &mut self,
        next: &SingleCharOp<'_>,
        dep: &ChangeHash,
        seq: u32,
        start: u32,
    ) -> bool {
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
            (Some(range), Some(text)) => self.bytes[range.clone()].copy_from_slice(text),
            // The deleted element is stored twice.
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

    /// Appends the first `len` bytes of an array by copying all of it, which takes one or two instructions.
    #[inline]
    pub(crate) fn part<const N: usize>(&mut self, bytes: &[u8; N], len: usize) {
        self.bytes[self.len..][..N].copy_from_slice(bytes);
        self.len += len;
    }

    #[inline]
    pub(crate) fn prefixed(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        match bytes.try_into() {
            // Random actor ids have this length.
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

    /// Hash of the change: over its type, the length of its body, and the body.
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

/// SHA-256 of padded blocks.
#[inline]
pub(in crate::codec) fn hash_padded(blocks: &[[u8; 64]]) -> ChangeHash {
    let mut state = START;
    compress256(&mut state, blocks);
    digest(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::chunks::container::{frame_with, hash_chunk, hash_of};
    use crate::types::{ActorIdx, OpId};

    #[test]
    fn block_and_chunk_have_equal_hashes() {
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
    fn keystroke_is_turned_into_the_next_one() {
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
            block.remember_keystroke(keystroke, seq, start);
        };
        let numbers = [1, 2, 63, 64, 127, 128, 8191, 8192, 16383, 16384, 1 << 20, u32::MAX];
        let elems = numbers.map(|ctr| OpId::new(ctr, ActorIdx::from_u32(1)));
        let texts: [Option<&[u8]>; 4] = [None, Some(b"x"), Some(b"y"), Some("é".as_bytes())];
        let mut keystrokes = vec![];
        for obj in [OpId::NONE, OpId::new(300, ActorIdx::from_u32(0))] {
            for elem in elems.into_iter().chain([OpId::NONE, OpId::new(5, ActorIdx::from_u32(0))]) {
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
                let fits = block.advance_keystroke(other, &ChangeHash([4; 32]), seq, start);
                write(&mut fresh, other, 4, seq, start);
                if fits {
                    assert_eq!(block.body(), fresh.body(), "{one:?}, {other:?}, {seq}, {start}");
                    assert_eq!(block.hash(), fresh.hash());
                    times += 1;
                }
                block.forget_keystroke();
                assert!(!block.advance_keystroke(other, &ChangeHash([4; 32]), seq, start), "of another run");
            }
        }
        assert!(times > 100, "only {times} fit");
    }

    #[test]
    fn numbers_are_encoded_as_leb128() {
        for value in [0, 1, 63, 64, 127, 128, 1 << 13, (1 << 13) - 1, i64::MAX, -1, -64, -65, i64::MIN] {
            let mut block = Block::default();
            block.signed(value);
            let mut signed = vec![];
            crate::codec::bytes::leb::put_i64(&mut signed, value);
            assert_eq!(block.body(), signed);
            block.clear();
            block.number(value as u64);
            let mut unsigned = vec![];
            crate::codec::bytes::leb::put_u64(&mut unsigned, value as u64);
            assert_eq!(block.body(), unsigned);
        }
    }
}
