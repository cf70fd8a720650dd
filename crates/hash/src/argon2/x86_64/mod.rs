//! Kernels of x86-64, one file for each instruction set.
#![expect(unsafe_code, reason = "vector loads and stores")]

pub(super) mod avx2;
pub(super) mod avx512;
pub(super) mod ssse3;

use super::memory::Block;
use core::arch::x86_64::*;

/// Starts to fetch all sixteen lines of a block.
#[inline(always)]
fn fetch(block: *const Block) {
    for line in 0..16 {
        // SAFETY: SSE is part of x86-64, and a prefetch of any address is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(block.cast::<i8>().wrapping_add(64 * line)) };
    }
}

/// The same, only into the second cache.
#[inline(always)]
fn fetch_far(block: *const Block) {
    for line in 0..16 {
        // SAFETY: as above.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(block.cast::<i8>().wrapping_add(64 * line)) };
    }
}

/// Fills blocks with zeroes past the caches.
///
/// # Safety
/// `len` blocks from `first` on, which nobody else uses meanwhile.
pub(super) unsafe fn wipe_past(first: *mut Block, len: usize) {
    // SAFETY: the caller's, and SSE2 is part of x86-64. The fence orders these writes before what this thread writes later.
    unsafe {
        for vector in 0..len * (size_of::<Block>() / 16) {
            _mm_stream_si128(first.cast::<__m128i>().add(vector), _mm_setzero_si128());
        }
        _mm_sfence();
    }
}
