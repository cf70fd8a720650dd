//! BLAKE2b (RFC 7693) as far as Argon2 needs it: no key, any length of digest.
//!
//! The crate `blake2` is not used because it fixes the length of a digest at compile time, and because Argon2
//! hashes in chains that gain from vectors only when several are computed together.
#![allow(unsafe_code, reason = "digests side by side in vectors")]

use zeroize::Zeroize;

/// Bytes in the message of one compression.
const BLOCK_LEN: usize = 128;

/// The longest digest in bytes.
pub(crate) const MAX_OUT_LEN: usize = 64;

/// The initial value: that of SHA-512.
const IV: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];

/// Message word at each position of each round; two more rounds repeat the first two.
const SIGMA: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

/// The digest of a message that arrives in pieces. Wiped when dropped.
pub(crate) struct Blake2b {
    state: [u64; 8],
    /// Bytes hashed so far, without the buffer. Argon2's inputs are too short for the upper half of this counter.
    hashed: u64,
    /// The last block is flagged, so a full block waits here until more input follows.
    buffer: [u8; BLOCK_LEN],
    buffered: usize,
    out_len: usize,
}

impl Blake2b {
    /// The hash whose digest has `out_len` bytes: one to [`MAX_OUT_LEN`].
    pub(crate) fn new(out_len: usize) -> Blake2b {
        assert!((1..=MAX_OUT_LEN).contains(&out_len), "1 to 64 bytes");
        Blake2b { state: initial_state(out_len), hashed: 0, buffer: [0; BLOCK_LEN], buffered: 0, out_len }
    }

    /// Adds input.
    pub(crate) fn update(&mut self, mut input: &[u8]) -> &mut Blake2b {
        while !input.is_empty() {
            if self.buffered == BLOCK_LEN {
                self.hashed += BLOCK_LEN as u64;
                compress(&mut self.state, &words(&self.buffer), self.hashed, false);
                self.buffered = 0;
            }
            let (now, rest) = input.split_at(input.len().min(BLOCK_LEN - self.buffered));
            self.buffer[self.buffered..][..now.len()].copy_from_slice(now);
            self.buffered += now.len();
            input = rest;
        }
        self
    }

    /// Writes the digest, whose length must be that given to [`new`](Blake2b::new): it is part of the input.
    ///
    /// Takes a reference, because a move would leave an unwiped copy behind.
    pub(crate) fn finalize(&mut self, out: &mut [u8]) {
        assert_eq!(out.len(), self.out_len, "the length was hashed at the beginning");
        self.buffer[self.buffered..].fill(0);
        self.hashed += self.buffered as u64;
        compress(&mut self.state, &words(&self.buffer), self.hashed, true);
        for (out, word) in out.chunks_mut(8).zip(&self.state) {
            out.copy_from_slice(&word.to_le_bytes()[..out.len()]);
        }
    }
}

impl Drop for Blake2b {
    fn drop(&mut self) {
        self.state.zeroize();
        self.buffer.zeroize();
    }
}

const fn initial_state(out_len: usize) -> [u64; 8] {
    let mut state = IV;
    // The parameter block of sequential hashing without a key.
    state[0] ^= 0x0101_0000 ^ out_len as u64;
    state
}

fn words(block: &[u8; BLOCK_LEN]) -> [u64; 16] {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}

/// One word of each of several messages, and the operations on them in an instruction set.
///
/// # Safety
/// `load` and `store` touch [`COUNT`](Lanes::COUNT) words and no more.
pub(crate) unsafe trait Lanes: Copy {
    /// The number of messages.
    const COUNT: usize;

    /// The same word for each message.
    ///
    /// # Safety
    /// Here and below: the CPU has the instructions.
    unsafe fn splat(word: u64) -> Self;
    /// Loads consecutive words, in any alignment.
    unsafe fn load(words: *const u64) -> Self;
    /// As `load`.
    unsafe fn store(self, words: *mut u64);
    /// The sum.
    unsafe fn plus(self, other: Self) -> Self;
    /// The exclusive-or.
    unsafe fn xor(self, other: Self) -> Self;
    /// `self ^ other`, rotated right by 32 bits. Likewise below.
    unsafe fn xor_rotate_32(self, other: Self) -> Self;
    unsafe fn xor_rotate_24(self, other: Self) -> Self;
    unsafe fn xor_rotate_16(self, other: Self) -> Self;
    unsafe fn xor_rotate_63(self, other: Self) -> Self;
}

// SAFETY: one word.
unsafe impl Lanes for u64 {
    const COUNT: usize = 1;

    #[inline(always)]
    unsafe fn splat(word: u64) -> u64 {
        word
    }

    #[inline(always)]
    unsafe fn load(words: *const u64) -> u64 {
        // SAFETY: the caller's.
        unsafe { words.read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store(self, words: *mut u64) {
        // SAFETY: the caller's.
        unsafe { words.write_unaligned(self) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: u64) -> u64 {
        self.wrapping_add(other)
    }

    #[inline(always)]
    unsafe fn xor(self, other: u64) -> u64 {
        self ^ other
    }

    #[inline(always)]
    unsafe fn xor_rotate_32(self, other: u64) -> u64 {
        (self ^ other).rotate_right(32)
    }

    #[inline(always)]
    unsafe fn xor_rotate_24(self, other: u64) -> u64 {
        (self ^ other).rotate_right(24)
    }

    #[inline(always)]
    unsafe fn xor_rotate_16(self, other: u64) -> u64 {
        (self ^ other).rotate_right(16)
    }

    #[inline(always)]
    unsafe fn xor_rotate_63(self, other: u64) -> u64 {
        (self ^ other).rotate_right(63)
    }
}

/// Adds one block to `state`; `hashed` is the number of bytes up to its end, less than 2^64.
fn compress(state: &mut [u64; 8], message: &[u64; 16], hashed: u64, last: bool) {
    // SAFETY: plain words need no special instructions.
    *state = unsafe { compress_lanes(*state, message, hashed, last) };
}

/// The 64-byte digests of messages of one block each, whose words past the first `WORDS` are zero.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn digests<V: Lanes, const WORDS: usize>(message: &[V; WORDS], len: u64) -> [V; 8] {
    // SAFETY: as for this function.
    unsafe { compress_lanes(initial_state(MAX_OUT_LEN).map(|word| V::splat(word)), message, len, true) }
}

/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn compress_lanes<V: Lanes, const WORDS: usize>(
    state: [V; 8],
    message: &[V; WORDS],
    hashed: u64,
    last: bool,
) -> [V; 8] {
    // SAFETY: as for this function.
    unsafe {
        let mut v = [state[0]; 16];
        v[..8].copy_from_slice(&state);
        for (v, word) in v[8..].iter_mut().zip(IV) {
            *v = V::splat(word);
        }
        v[12] = V::splat(IV[4] ^ hashed);
        if last {
            v[14] = V::splat(!IV[6]);
        }
        round::<V, WORDS, 0>(&mut v, message);
        round::<V, WORDS, 1>(&mut v, message);
        round::<V, WORDS, 2>(&mut v, message);
        round::<V, WORDS, 3>(&mut v, message);
        round::<V, WORDS, 4>(&mut v, message);
        round::<V, WORDS, 5>(&mut v, message);
        round::<V, WORDS, 6>(&mut v, message);
        round::<V, WORDS, 7>(&mut v, message);
        round::<V, WORDS, 8>(&mut v, message);
        round::<V, WORDS, 9>(&mut v, message);
        round::<V, WORDS, 0>(&mut v, message);
        round::<V, WORDS, 1>(&mut v, message);
        let mut out = state;
        for (i, out) in out.iter_mut().enumerate() {
            *out = out.xor(v[i].xor(v[i + 8]));
        }
        out
    }
}

/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn round<V: Lanes, const WORDS: usize, const ROUND: usize>(v: &mut [V; 16], message: &[V; WORDS]) {
    let from = const { SIGMA[ROUND] };
    // SAFETY: as for this function.
    unsafe {
        mix(v, [0, 4, 8, 12], message, from[0], from[1]);
        mix(v, [1, 5, 9, 13], message, from[2], from[3]);
        mix(v, [2, 6, 10, 14], message, from[4], from[5]);
        mix(v, [3, 7, 11, 15], message, from[6], from[7]);
        mix(v, [0, 5, 10, 15], message, from[8], from[9]);
        mix(v, [1, 6, 11, 12], message, from[10], from[11]);
        mix(v, [2, 7, 8, 13], message, from[12], from[13]);
        mix(v, [3, 4, 9, 14], message, from[14], from[15]);
    }
}

/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn mix<V: Lanes, const WORDS: usize>(
    v: &mut [V; 16],
    [a, b, c, d]: [usize; 4],
    message: &[V; WORDS],
    x: usize,
    y: usize,
) {
    // SAFETY: as for this function.
    unsafe {
        v[a] = v[a].plus(v[b]);
        if x < WORDS {
            v[a] = v[a].plus(message[x]);
        }
        v[d] = v[d].xor_rotate_32(v[a]);
        v[c] = v[c].plus(v[d]);
        v[b] = v[b].xor_rotate_24(v[c]);
        v[a] = v[a].plus(v[b]);
        if y < WORDS {
            v[a] = v[a].plus(message[y]);
        }
        v[d] = v[d].xor_rotate_16(v[a]);
        v[c] = v[c].plus(v[d]);
        v[b] = v[b].xor_rotate_63(v[c]);
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    fn digest(out_len: usize, parts: &[&[u8]]) -> Vec<u8> {
        let mut hasher = Blake2b::new(out_len);
        for part in parts {
            hasher.update(part);
        }
        let mut out = vec![0; out_len];
        hasher.finalize(&mut out);
        out
    }

    /// RFC 7693, appendix A.
    #[test]
    fn vector_of_rfc_7693() {
        let expected = "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1\
                        7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923";
        assert_eq!(hashmill_testkit::hex::encode(&digest(64, &[b"abc"])), expected);
    }

    #[test]
    fn output_of_another_length_panics() {
        for len in [0, 31, 33, 64, 65] {
            let refused = std::panic::catch_unwind(|| Blake2b::new(32).finalize(&mut vec![0; len]));
            assert!(refused.is_err(), "{len} bytes");
        }
    }

    #[test]
    fn digest_depends_on_the_length_and_not_on_the_pieces() {
        let message: Vec<u8> = (0..=255).cycle().take(700).map(|byte: u8| byte.wrapping_mul(31)).collect();
        for len in [0, 1, 127, 128, 129, 255, 256, 257, 700] {
            let whole = digest(64, &[&message[..len]]);
            for cut in [0, 1, 64, 127, 128, 129, 256] {
                let cut = cut.min(len);
                assert_eq!(digest(64, &[&message[..cut], &message[cut..len]]), whole, "{len} cut at {cut}");
            }
            assert_ne!(digest(32, &[&message[..len]]), whole[..32]);
        }
    }
}
