//! A small change being written where SHA-256 can read it: no copy, no allocation.

use sha2::block_api::compress256;

use crate::codec::chunk::{ChunkType, START, digest};
use crate::codec::leb::len_u64;
use crate::types::ChangeHash;

/// Room before the body for the type and a length of two bytes.
const HEAD: usize = 3;

/// The body of a change of a few hundred bytes at most.
#[derive(Debug)]
pub(crate) struct Block {
    bytes: [u8; 512],
    len: usize,
}

impl Default for Block {
    fn default() -> Self {
        Self { bytes: [0; 512], len: HEAD }
    }
}

impl Block {
    /// How much a body may hold of what has no fixed length: hashes, names, messages.
    pub(crate) const FREE: usize = 300;

    pub(crate) fn clear(&mut self) {
        self.len = HEAD;
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
