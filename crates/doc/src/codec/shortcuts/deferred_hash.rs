//! Changes encoded before the hash of their dependency is known: one thread encodes, another hashes.

use super::block::hash_padded;
use crate::codec::bytes::leb::put_u64;
use crate::codec::chunks::container::ChunkType;
use crate::types::ChangeHash;

/// Changes, each depending only on the one before, as input of SHA-256: with header and padding around each body.
#[derive(Debug, Default)]
pub(crate) struct UnhashedChanges {
    bytes: Vec<u8>,
    /// Position of the dependency's hash, and end of the change.
    places: Vec<(usize, usize)>,
}

impl UnhashedChanges {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    /// Total length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds the body of a change with a placeholder for its dependency.
    pub(crate) fn push(&mut self, body: &[u8]) {
        let start = self.bytes.len();
        self.bytes.push(ChunkType::Change as u8);
        put_u64(&mut self.bytes, body.len() as u64);
        debug_assert_eq!(body[0], 1, "one hash comes first");
        let hash = self.bytes.len() + 1;
        self.bytes.extend_from_slice(body);
        let hashed = self.bytes.len() - start;
        self.bytes.push(0x80);
        self.bytes.resize(start + (hashed + 9).next_multiple_of(64) - 8, 0);
        self.bytes.extend_from_slice(&(8 * hashed as u64).to_be_bytes());
        self.places.push((hash, self.bytes.len()));
    }

    /// Hashes of all changes; `before` is the dependency of the first.
    pub(crate) fn hashes(&mut self, before: ChangeHash) -> impl Iterator<Item = ChangeHash> {
        let Self { bytes, places } = self;
        let (mut start, mut last) = (0, before);
        places.iter().map(move |(hash, end)| {
            bytes[*hash..][..32].copy_from_slice(&last.0);
            last = hash_padded(bytes[std::mem::replace(&mut start, *end)..*end].as_chunks().0);
            last
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::chunks::container::hash_chunk;

    #[test]
    fn hashes_equal_those_of_sequentially_encoded_changes() {
        let mut ahead = UnhashedChanges::default();
        for round in 0..2 {
            ahead.clear();
            let mut bodies: Vec<Vec<u8>> = (0..300).map(|len| vec![len as u8 ^ round; 33 + len]).collect();
            bodies.iter_mut().for_each(|body| body[0] = 1);
            bodies.iter().for_each(|body| ahead.push(body));
            let mut last = ChangeHash([7; 32]);
            let hashes: Vec<ChangeHash> = ahead.hashes(last).collect();
            assert_eq!(hashes.len(), bodies.len());
            for (mut body, hash) in bodies.into_iter().zip(hashes) {
                body[1..33].copy_from_slice(&last.0);
                last = hash_chunk(ChunkType::Change, &body);
                assert_eq!(hash, last);
            }
        }
    }
}
