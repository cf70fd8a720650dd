//! SSSE3: two words at a time, with the byte shuffles that SSE2 lacks.

use super::super::kernel::Layout;
use super::super::memory::Block;
use super::super::pair::{self, Pair};
use super::super::segment::{self, Compress};
use core::arch::x86_64::*;

segment::table!(Ssse3, "ssse3", [Ssse3], #[target_feature(enable = "ssse3")]);

struct Ssse3;

impl Compress for Ssse3 {
    const LAYOUT: Layout = Layout::Natural;

    #[inline(always)]
    unsafe fn compress<const ADD: bool>(prev: *const Block, reference: *const Block, dst: *mut Block) {
        // SAFETY: the caller's.
        unsafe { compress::<ADD>(prev, reference, dst) }
    }

    #[inline(always)]
    fn fetch(block: *const Block) {
        super::fetch(block);
    }
}

/// # Safety
/// As [`Compress::compress`].
#[target_feature(enable = "ssse3")]
unsafe fn compress<const ADD: bool>(prev: *const Block, reference: *const Block, dst: *mut Block) {
    // SAFETY: this function has the instructions; the rest is the caller's.
    unsafe { pair::compress::<Words, ADD>(prev, reference, dst) }
}

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Words(__m128i);

// SAFETY: sixteen bytes, aligned to sixteen.
unsafe impl Pair for Words {
    #[inline(always)]
    unsafe fn xor(self, other: Words) -> Words {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { Words(_mm_xor_si128(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Words) -> Words {
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let product = _mm_mul_epu32(self.0, other.0);
            Words(_mm_add_epi64(_mm_add_epi64(self.0, other.0), _mm_add_epi64(product, product)))
        }
    }

    #[inline(always)]
    unsafe fn xor_turn_32(self, other: Words) -> Words {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { Words(_mm_shuffle_epi32::<0b10_11_00_01>(_mm_xor_si128(self.0, other.0))) }
    }

    #[inline(always)]
    unsafe fn xor_turn_24(self, other: Words) -> Words {
        // SAFETY: the caller has SSSE3.
        unsafe {
            let by_24 = _mm_setr_epi8(3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10);
            Words(_mm_shuffle_epi8(_mm_xor_si128(self.0, other.0), by_24))
        }
    }

    #[inline(always)]
    unsafe fn xor_turn_16(self, other: Words) -> Words {
        // SAFETY: the caller has SSSE3.
        unsafe {
            let by_16 = _mm_setr_epi8(2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9);
            Words(_mm_shuffle_epi8(_mm_xor_si128(self.0, other.0), by_16))
        }
    }

    #[inline(always)]
    unsafe fn xor_turn_63(self, other: Words) -> Words {
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let x = _mm_xor_si128(self.0, other.0);
            Words(_mm_or_si128(_mm_add_epi64(x, x), _mm_srli_epi64::<63>(x)))
        }
    }

    #[inline(always)]
    unsafe fn halves(self, next: Words) -> Words {
        // SAFETY: the caller has SSSE3.
        unsafe { Words(_mm_alignr_epi8::<8>(next.0, self.0)) }
    }
}
