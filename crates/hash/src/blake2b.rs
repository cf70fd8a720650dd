//! BLAKE2b (RFC 7693), as much of it as Argon2 needs: no key, any length of digest.
//!
//! Our own, because the crate `blake2` fixes the length of a digest at compile time, and because Argon2 hashes in
//! chains that only gain from vectors when several are computed together.

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

/// Which message word goes where in each round; two more rounds repeat the first two.
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
    /// Bytes hashed so far, without the buffer.
    hashed: u128,
    /// The last block is marked, so a full one waits here until more follows.
    buffer: [u8; BLOCK_LEN],
    buffered: usize,
}

impl Blake2b {
    /// The hash whose digest has `out_len` bytes: one to [`MAX_OUT_LEN`].
    pub(crate) fn new(out_len: usize) -> Blake2b {
        assert!((1..=MAX_OUT_LEN).contains(&out_len), "1 to 64 bytes");
        Blake2b { state: initial_state(out_len), hashed: 0, buffer: [0; BLOCK_LEN], buffered: 0 }
    }

    /// Goes on with `input`.
    pub(crate) fn update(&mut self, mut input: &[u8]) -> &mut Blake2b {
        while !input.is_empty() {
            if self.buffered == BLOCK_LEN {
                self.hashed += BLOCK_LEN as u128;
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

    /// Writes the digest, which must be as long as [`new`](Blake2b::new) was told.
    pub(crate) fn finalize(&mut self, out: &mut [u8]) {
        self.buffer[self.buffered..].fill(0);
        self.hashed += self.buffered as u128;
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

/// Adds one block to `state`; `hashed` counts the bytes up to its end.
fn compress(state: &mut [u64; 8], message: &[u64; 16], hashed: u128, last: bool) {
    let mut v = [0; 16];
    v[..8].copy_from_slice(state);
    v[8..].copy_from_slice(&IV);
    v[12] ^= hashed as u64;
    v[13] ^= (hashed >> 64) as u64;
    if last {
        v[14] = !v[14];
    }
    for round in 0..12 {
        let m = SIGMA[round % 10].map(|from| message[from]);
        mix(&mut v, [0, 4, 8, 12], m[0], m[1]);
        mix(&mut v, [1, 5, 9, 13], m[2], m[3]);
        mix(&mut v, [2, 6, 10, 14], m[4], m[5]);
        mix(&mut v, [3, 7, 11, 15], m[6], m[7]);
        mix(&mut v, [0, 5, 10, 15], m[8], m[9]);
        mix(&mut v, [1, 6, 11, 12], m[10], m[11]);
        mix(&mut v, [2, 7, 8, 13], m[12], m[13]);
        mix(&mut v, [3, 4, 9, 14], m[14], m[15]);
    }
    for (i, word) in state.iter_mut().enumerate() {
        *word ^= v[i] ^ v[i + 8];
    }
}

#[inline(always)]
fn mix(v: &mut [u64; 16], [a, b, c, d]: [usize; 4], x: u64, y: u64) {
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(x);
    v[d] = (v[d] ^ v[a]).rotate_right(32);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(24);
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(y);
    v[d] = (v[d] ^ v[a]).rotate_right(16);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(63);
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
    fn vector_of_the_rfc() {
        let expected = "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1\
                        7d87c5392aab792dc252d5de4533cc9518d38aa8dbc4925ab92386edd4009923";
        let hex: String = digest(64, &[b"abc"]).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected);
    }

    #[test]
    fn pieces_do_not_matter_and_lengths_do() {
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
