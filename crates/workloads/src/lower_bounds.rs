//! Lower bounds of the work of each function, to compare with measured times.
//!
//! Every count omits something that a real program needs (loads, transpositions, calls), so a bound cannot be reached.

use hashmill_lab::model::lower_bound::MinimalWork;

/// Instructions of BLAKE3's compression per 32-bit word, with all words of a vector in use: seven rounds of eight mixings of six
/// additions, four exclusive-ors and four rotations, and eight exclusive-ors at the end.
const COMPRESSION_OPS: u64 = 7 * 8 * (6 + 4 + 4) + 8;
/// Longest dependency chain: two mixings of twelve instructions in each round, one exclusive-or at the end.
const COMPRESSION_CHAIN: u64 = 7 * 2 * 12 + 1;

/// Instructions of `count` compressions; a vector lane has four bytes.
const fn compressions(count: u64) -> u64 {
    count * COMPRESSION_OPS * 4
}

/// One BLAKE3 hash of `len` bytes.
pub(crate) fn blake3(len: u64) -> MinimalWork {
    let chunks = len.div_ceil(1024).max(1);
    let blocks = len.div_ceil(64).max(1);
    let parents = chunks - 1;
    let levels = u64::from(u64::BITS - parents.leading_zeros());
    let first_chunk = blocks.min(16);
    MinimalWork {
        memory_bytes: MinimalWork::from_memory(len),
        vector_bytes: compressions(blocks + parents),
        chain: (first_chunk + levels) * COMPRESSION_CHAIN,
    }
}

/// `count` independent BLAKE3 hashes of `len` bytes.
pub(crate) fn blake3_batch(count: u64, len: u64) -> MinimalWork {
    let one = blake3(len);
    MinimalWork {
        memory_bytes: MinimalWork::from_memory(count.saturating_mul(len)),
        vector_bytes: one.vector_bytes.saturating_mul(count),
        ..one
    }
}

/// `len` bytes of BLAKE3's extended output, from a message of one block.
pub(crate) fn blake3_xof(len: u64) -> MinimalWork {
    let blocks = len.div_ceil(64).max(1);
    MinimalWork {
        memory_bytes: MinimalWork::from_memory(len),
        vector_bytes: compressions(blocks),
        chain: COMPRESSION_CHAIN,
    }
}

/// One Argon2 tag.
///
/// A block is sixteen permutations of eight mixings, twice twelve instructions each on 64-bit words, and three
/// exclusive-ors of blocks. Its chain goes through two permutations: four times two half mixings, in each of which
/// two products (three cycles) with two additions alternate with an exclusive-or and a rotation.
pub(crate) fn argon2(blocks: u64, passes: u64, lanes: u64) -> MinimalWork {
    const BLOCK_BYTES: u64 = 16 * 8 * 24 * 8 + 3 * 1024;
    const BLOCK_CHAIN: u64 = 4 * 2 * 2 * (3 + 2 + 2) + 2;
    let filled = blocks * passes;
    // Each pass writes each block, and every pass except the first reads it back.
    let moved = (blocks * 1024).saturating_mul(2 * passes - 1);
    MinimalWork {
        memory_bytes: if MinimalWork::from_memory(blocks * 1024) == 0 { 0 } else { moved },
        vector_bytes: filled * BLOCK_BYTES,
        chain: filled / lanes * BLOCK_CHAIN,
    }
}

/// `count` independent Argon2 tags of one lane.
pub(crate) fn argon2_batch(count: u64, blocks: u64, passes: u64) -> MinimalWork {
    let one = argon2(blocks, passes, 1);
    MinimalWork {
        memory_bytes: one.memory_bytes.saturating_mul(count),
        vector_bytes: one.vector_bytes.saturating_mul(count),
        ..one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_counted_to_the_compression() {
        let count = |len| blake3(len).vector_bytes / compressions(1);
        assert_eq!([0, 1, 64, 65, 1024].map(count), [1, 1, 1, 2, 16]);
        // Two chunks and their parent; three chunks and two parents.
        assert_eq!([1025, 2048, 3072].map(count), [18, 33, 50]);
        let chain = |len| blake3(len).chain / COMPRESSION_CHAIN;
        assert_eq!([1, 64, 128, 1024, 1025, 4096, 4097].map(chain), [1, 1, 2, 16, 17, 18, 19]);
    }

    #[test]
    fn a_batch_does_more_at_once_but_waits_no_longer() {
        let (one, many) = (blake3(1024), blake3_batch(64, 1024));
        assert_eq!((many.vector_bytes, many.chain), (64 * one.vector_bytes, one.chain));
        assert_eq!(blake3_xof(1 << 20).vector_bytes / compressions(1), 1 << 14);
    }

    #[test]
    fn argon2_moves_its_memory_once_more_for_each_pass() {
        let gigabyte = |passes| argon2(1 << 20, passes, 4).memory_bytes >> 30;
        assert_eq!([1, 2, 3].map(gigabyte), [1, 3, 5]);
        assert_eq!(argon2(64, 3, 4).memory_bytes, 0, "a cache holds it");
        assert_eq!(argon2(64, 3, 4).chain, 64 * 3 / 4 * 114);
    }
}
