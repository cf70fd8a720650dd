//! The compression function in plain Rust: the reference for every other kernel.
#![expect(unsafe_code, reason = "blocks by pointer, as for every other kernel")]

use super::segment::{self, Compress};
use super::table::Layout;
use crate::argon2::memory::Block;

segment::table!(Portable, "portable", [], [u64], ());

struct Portable;

impl Compress for Portable {
    const LAYOUT: Layout = Layout::Natural;

    /// The exclusive-or of both blocks, permuted by rows and by columns, plus itself.
    #[inline]
    unsafe fn compress<const ADD: bool>(prev: *const Block, reference: *const Block, dst: *mut Block) -> u64 {
        // SAFETY: the caller's: both were written.
        let (x, y) = unsafe { (&(*prev).0, &(*reference).0) };
        let mut sum = [0; 128];
        for (sum, (x, y)) in sum.iter_mut().zip(x.iter().zip(y)) {
            *sum = x ^ y;
        }
        let mut state = sum;
        for row in 0..8 {
            permute(&mut state, core::array::from_fn(|i| 16 * row + i));
        }
        for column in 0..8 {
            permute(&mut state, core::array::from_fn(|i| 2 * column + i / 2 * 16 + i % 2));
        }
        for (i, (state, sum)) in state.iter().zip(&sum).enumerate() {
            // SAFETY: the caller's: `dst` is a block, and was written before if its old words are read.
            unsafe {
                let word = &raw mut (*dst).0[i];
                word.write(state ^ sum ^ if ADD { word.read() } else { 0 });
            }
        }
        // SAFETY: written just now.
        unsafe { (*dst).0[0] }
    }

    #[inline(always)]
    fn fetch(_: *const Block) {}
}

/// P: a round of BLAKE2b without a message, whose additions also add the product of the low halves.
#[inline(always)]
fn permute(words: &mut [u64; 128], at: [usize; 16]) {
    let mut v = at.map(|index| words[index]);
    mix(&mut v, [0, 4, 8, 12]);
    mix(&mut v, [1, 5, 9, 13]);
    mix(&mut v, [2, 6, 10, 14]);
    mix(&mut v, [3, 7, 11, 15]);
    mix(&mut v, [0, 5, 10, 15]);
    mix(&mut v, [1, 6, 11, 12]);
    mix(&mut v, [2, 7, 8, 13]);
    mix(&mut v, [3, 4, 9, 14]);
    for (index, word) in at.into_iter().zip(v) {
        words[index] = word;
    }
}

#[inline(always)]
fn mix(v: &mut [u64; 16], [a, b, c, d]: [usize; 4]) {
    v[a] = add(v[a], v[b]);
    v[d] = (v[d] ^ v[a]).rotate_right(32);
    v[c] = add(v[c], v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(24);
    v[a] = add(v[a], v[b]);
    v[d] = (v[d] ^ v[a]).rotate_right(16);
    v[c] = add(v[c], v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(63);
}

#[inline(always)]
fn add(x: u64, y: u64) -> u64 {
    let product = (x & 0xffff_ffff).wrapping_mul(y & 0xffff_ffff);
    x.wrapping_add(y).wrapping_add(product << 1)
}
