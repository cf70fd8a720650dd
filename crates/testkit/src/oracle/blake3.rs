//! BLAKE3 by its specification: one block at a time, one chunk at a time, a recursive tree.
//!
//! Every output is a [`Node`] that has not yet been compressed for the last time, because only its user knows whether
//! it is the root. Chunk counters may start anywhere, so a test can look at a subtree in the middle of an exabyte.

const CHUNK: usize = 1024;
const BLOCK: usize = 64;

const CHUNK_START: u32 = 1 << 0;
const CHUNK_END: u32 = 1 << 1;
const PARENT: u32 = 1 << 2;
const ROOT: u32 = 1 << 3;
const KEYED_HASH: u32 = 1 << 4;
const DERIVE_KEY_CONTEXT: u32 = 1 << 5;
const DERIVE_KEY_MATERIAL: u32 = 1 << 6;

/// The square roots of the first eight primes, as SHA-256 uses them.
const IV: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// Permutation of the message words between two rounds.
const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];

/// The columns and then the diagonals of the 4×4 state.
const QUARTERS: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];

/// Effect of a mode: the initial key words of every chunk, and a flag on every compression.
#[derive(Clone, Copy, Debug)]
pub struct Oracle {
    key: [u32; 8],
    flag: u32,
}

impl Oracle {
    /// The default mode.
    pub fn hash() -> Self {
        Self { key: IV, flag: 0 }
    }

    /// The keyed mode.
    pub fn keyed(key: &[u8; 32]) -> Self {
        Self { key: words(key), flag: KEYED_HASH }
    }

    /// The derive-key mode for one context string.
    pub fn derive_key(context: &str) -> Self {
        Self::context_key(&Self::hash_context(context))
    }

    /// The derive-key mode from the key that its context string hashes to.
    pub fn context_key(key: &[u8; 32]) -> Self {
        Self { key: words(key), flag: DERIVE_KEY_MATERIAL }
    }

    /// The key that a context string hashes to.
    pub fn hash_context(context: &str) -> [u8; 32] {
        Self { key: IV, flag: DERIVE_KEY_CONTEXT }.digest(context.as_bytes())
    }

    /// The 32-byte digest of `input`.
    pub fn digest(&self, input: &[u8]) -> [u8; 32] {
        self.tree(input, 0).root(0, 32).try_into().expect("32 bytes were asked for")
    }

    /// `len` bytes of the extended output of `input`, from byte `seek` on.
    pub fn xof(&self, input: &[u8], seek: u64, len: usize) -> Vec<u8> {
        self.tree(input, 0).root(seek, len)
    }

    /// The chaining value of `input` as a subtree that is not the root and whose first chunk has number `first_chunk`.
    pub fn subtree(&self, input: &[u8], first_chunk: u64) -> [u8; 32] {
        bytes(self.tree(input, first_chunk).chaining_value())
    }

    /// The node above two subtrees.
    pub fn parent(&self, left: &[u8; 32], right: &[u8; 32]) -> Node {
        let mut block = [0; BLOCK];
        block[..32].copy_from_slice(left);
        block[32..].copy_from_slice(right);
        Node { cv: self.key, block: words(&block), counter: 0, len: BLOCK as u32, flags: self.flag | PARENT }
    }

    /// The top node over `input`: a chunk, or a parent whose left child is the largest whole power of two of chunks
    /// that leaves at least one byte for the right child.
    fn tree(&self, input: &[u8], first_chunk: u64) -> Node {
        if input.len() <= CHUNK {
            return self.chunk(input, first_chunk);
        }
        let mut left = CHUNK;
        while left * 2 < input.len() {
            left *= 2;
        }
        let second_chunk = first_chunk.wrapping_add((left / CHUNK) as u64);
        self.parent(&self.subtree(&input[..left], first_chunk), &self.subtree(&input[left..], second_chunk))
    }

    /// The last block of a chunk, with the earlier ones already compressed into its chaining value.
    fn chunk(&self, input: &[u8], counter: u64) -> Node {
        let blocks = input.len().div_ceil(BLOCK).max(1);
        let mut cv = self.key;
        for index in 0..blocks {
            let part = &input[index * BLOCK..input.len().min((index + 1) * BLOCK)];
            let mut block = [0; BLOCK];
            block[..part.len()].copy_from_slice(part);
            let start = if index == 0 { CHUNK_START } else { 0 };
            let end = if index + 1 == blocks { CHUNK_END } else { 0 };
            let node = Node {
                cv,
                block: words(&block),
                counter,
                len: part.len() as u32,
                flags: self.flag | start | end,
            };
            if end != 0 {
                return node;
            }
            cv = node.chaining_value();
        }
        unreachable!("every chunk has a last block")
    }
}

/// The inputs of a compression that has not happened yet.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    cv: [u32; 8],
    block: [u32; 16],
    counter: u64,
    len: u32,
    flags: u32,
}

impl Node {
    /// This node's value when another node stands above it.
    pub fn non_root(&self) -> [u8; 32] {
        bytes(self.chaining_value())
    }

    /// `len` bytes of the output when this node is the root, from byte `seek` on.
    pub fn root(&self, seek: u64, len: usize) -> Vec<u8> {
        let mut output = Vec::new();
        let skipped = (seek % BLOCK as u64) as usize;
        let mut counter = seek / BLOCK as u64;
        while output.len() < skipped + len {
            let node = Node { counter, flags: self.flags | ROOT, ..*self };
            output.extend(node.compress().iter().flat_map(|word| word.to_le_bytes()));
            counter = counter.wrapping_add(1);
        }
        output[skipped..skipped + len].to_vec()
    }

    fn chaining_value(&self) -> [u32; 8] {
        self.compress()[..8].try_into().expect("half of sixteen words")
    }

    fn compress(&self) -> [u32; 16] {
        let mut v = [0; 16];
        v[..8].copy_from_slice(&self.cv);
        v[8..12].copy_from_slice(&IV[..4]);
        v[12..].copy_from_slice(&[self.counter as u32, (self.counter >> 32) as u32, self.len, self.flags]);
        let mut message = self.block;
        for _ in 0..7 {
            for (i, quarter) in QUARTERS.into_iter().enumerate() {
                mix(&mut v, quarter, message[2 * i], message[2 * i + 1]);
            }
            message = PERMUTATION.map(|from| message[from]);
        }
        for i in 0..8 {
            v[i] ^= v[i + 8];
            v[i + 8] ^= self.cv[i];
        }
        v
    }
}

/// The quarter-round: two message words stirred into four words of the state.
fn mix(v: &mut [u32; 16], [a, b, c, d]: [usize; 4], x: u32, y: u32) {
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(x);
    v[d] = (v[d] ^ v[a]).rotate_right(16);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(12);
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(y);
    v[d] = (v[d] ^ v[a]).rotate_right(8);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(7);
}

fn words<const BYTES: usize, const WORDS: usize>(bytes: &[u8; BYTES]) -> [u32; WORDS] {
    std::array::from_fn(|i| u32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().expect("four bytes")))
}

fn bytes(words: [u32; 8]) -> [u8; 32] {
    std::array::from_fn(|i| words[i / 4].to_le_bytes()[i % 4])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::paint::paint;
    use crate::inputs::vectors;

    #[test]
    fn official_vectors_in_every_mode() {
        let vectors = vectors::blake3();
        for case in &vectors.cases {
            let input = paint(case.input_len);
            let check = |mode: Oracle, expected: &[u8]| {
                assert_eq!(mode.xof(&input, 0, 131), expected, "{} bytes", case.input_len);
                assert_eq!(mode.digest(&input), expected[..32], "{} bytes", case.input_len);
            };
            check(Oracle::hash(), &case.hash);
            check(Oracle::keyed(&vectors.key), &case.keyed_hash);
            check(Oracle::derive_key(&vectors.context), &case.derive_key);
        }
    }

    #[test]
    fn a_seek_equals_the_same_part_of_the_whole() {
        let oracle = Oracle::hash();
        let whole = oracle.xof(b"seek", 0, 500);
        for seek in 0..300 {
            assert_eq!(oracle.xof(b"seek", seek as u64, 200), whole[seek..seek + 200]);
        }
    }

    #[test]
    fn subtrees_merge_into_the_digest() {
        let oracle = Oracle::keyed(&[7; 32]);
        let input = paint(7 * CHUNK + 5);
        let left = oracle.subtree(&input[..4 * CHUNK], 0);
        let right = oracle.subtree(&input[4 * CHUNK..], 4);
        assert_eq!(oracle.parent(&left, &right).root(0, 32), oracle.digest(&input));
    }

    #[test]
    fn both_halves_of_the_counter_count() {
        let oracle = Oracle::hash();
        let at = |first_chunk| oracle.subtree(b"counter", first_chunk);
        let mut values = vec![at(0), at(1), at(1 << 31), at(1 << 32), at((1 << 32) + 1), at(1 << 53)];
        values.sort_unstable();
        values.dedup();
        assert_eq!(values.len(), 6);
    }
}
