//! Kernels of x86-64, one file for each instruction set.
#![expect(unsafe_code, reason = "vector loads and stores")]

pub(in crate::argon2) mod avx2;
pub(in crate::argon2) mod avx512;
pub(in crate::argon2) mod ssse3;

use crate::argon2::memory::Block;
use core::arch::x86_64::*;

/// Starts to fetch all sixteen lines of a block.
#[inline(always)]
fn fetch(block: *const Block) {
    for line in 0..16 {
        // SAFETY: SSE is part of x86-64, and a prefetch of any address is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(block.cast::<i8>().wrapping_add(64 * line)) };
    }
}

/// As [`fetch`], only into the second cache.
#[inline(always)]
fn fetch_far(block: *const Block) {
    for line in 0..16 {
        // SAFETY: as above.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(block.cast::<i8>().wrapping_add(64 * line)) };
    }
}
