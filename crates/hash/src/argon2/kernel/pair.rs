//! The compression function over vectors of two words, written once for every 128-bit instruction set.
//!
//! Two neighbouring words of a row are a vector. A row is eight of them, and so is a column: two for each of A, B, C
//! and D. Rows and columns are the same work on different vectors.
#![expect(unsafe_code, reason = "the compression of all 128-bit kernels")]

use crate::argon2::kernel::blake2b::Lanes;
use crate::argon2::memory::Block;
use core::array;
use core::mem::MaybeUninit;

/// Two words in a vector.
///
/// # Safety
/// A block is 64 of them, in the alignment of a block.
pub(super) unsafe trait Pair: Lanes {
    /// `self + other + 2 * low(self) * low(other)`.
    ///
    /// # Safety
    /// Here and below: the CPU has the instructions.
    unsafe fn add(self, other: Self) -> Self;
    /// The second word of `self` and the first of `next`.
    unsafe fn halves(self, next: Self) -> Self;
}

/// # Safety
/// As [`super::segment::Compress::compress`], with the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn compress<V: Pair, const ADD: bool>(
    prev: *const Block,
    reference: *const Block,
    dst: *mut Block,
) -> u64 {
    let block = dst;
    let (prev, reference, dst) = (prev.cast::<V>(), reference.cast::<V>(), dst.cast::<V>());
    let mut state = MaybeUninit::<[V; 64]>::uninit();
    let state = state.as_mut_ptr().cast::<V>();
    // SAFETY: the caller has the instructions, and three blocks of 64 vectors each. Every vector of `state` is written
    // by the rows and read by the columns.
    unsafe {
        for row in 0..8 {
            let mut v: [V; 8] = array::from_fn(|i| {
                let i = 8 * row + i;
                let sum = prev.add(i).read().xor(reference.add(i).read());
                // The other operand of the final addition is stored in the destination.
                dst.add(i).write(if ADD { sum.xor(dst.add(i).read()) } else { sum });
                sum
            });
            permute(&mut v);
            for (i, v) in v.into_iter().enumerate() {
                state.add(8 * row + i).write(v);
            }
        }
        for column in 0..8 {
            let mut v: [V; 8] = array::from_fn(|row| state.add(8 * row + column).read());
            permute(&mut v);
            for (row, v) in v.into_iter().enumerate() {
                let out = dst.add(8 * row + column);
                out.write(v.xor(out.read()));
            }
        }
        (*block).0[0]
    }
}

/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn permute<V: Pair>(v: &mut [V; 8]) {
    // SAFETY: the caller has the instructions.
    unsafe {
        mix(v);
        // The diagonals. B stays, because it is ready last; a distance of two words is the other vector.
        let [a0, a1, b0, b1, c0, c1, d0, d1] = *v;
        *v = [a1.halves(a0), a0.halves(a1), b0, b1, c0.halves(c1), c1.halves(c0), d1, d0];
        mix(v);
        let [a0, a1, b0, b1, c0, c1, d0, d1] = *v;
        *v = [a0.halves(a1), a1.halves(a0), b0, b1, c1.halves(c0), c0.halves(c1), d1, d0];
    }
}

/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn mix<V: Pair>(v: &mut [V; 8]) {
    for i in 0..2 {
        let [mut a, mut b, mut c, mut d] = [v[i], v[2 + i], v[4 + i], v[6 + i]];
        // SAFETY: the caller has the instructions.
        unsafe {
            a = a.add(b);
            d = d.xor_rotate_32(a);
            c = c.add(d);
            b = b.xor_rotate_24(c);
            a = a.add(b);
            d = d.xor_rotate_16(a);
            c = c.add(d);
            b = b.xor_rotate_63(c);
        }
        [v[i], v[2 + i], v[4 + i], v[6 + i]] = [a, b, c, d];
    }
}
