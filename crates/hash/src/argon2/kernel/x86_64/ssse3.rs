//! SSSE3: two words at a time, with the byte shuffles that SSE2 lacks.

use crate::argon2::kernel::blake2b::Lanes;
use crate::argon2::kernel::pair::{self, Pair};
use crate::argon2::kernel::segment::{self, Compress};
use crate::argon2::kernel::table::Layout;
use crate::argon2::memory::Block;
use core::arch::x86_64::*;

segment::table!(Ssse3, "ssse3", [Ssse3], [Words], (#[target_feature(enable = "ssse3")]));

struct Ssse3;

impl Compress for Ssse3 {
    const LAYOUT: Layout = Layout::Natural;

    #[inline(always)]
    unsafe fn compress<const ADD: bool>(prev: *const Block, reference: *const Block, dst: *mut Block) -> u64 {
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
unsafe fn compress<const ADD: bool>(prev: *const Block, reference: *const Block, dst: *mut Block) -> u64 {
    // SAFETY: this function has the instructions; the rest is the caller's.
    unsafe { pair::compress::<Words, ADD>(prev, reference, dst) }
}

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Words(__m128i);

// SAFETY: sixteen bytes.
unsafe impl Lanes for Words {
    const COUNT: usize = 2;

    #[inline(always)]
    unsafe fn splat(word: u64) -> Words {
        // SAFETY: SSE2 is part of x86-64, here and below.
        unsafe { Words(_mm_set1_epi64x(word as i64)) }
    }

    #[inline(always)]
    unsafe fn load(words: *const u64) -> Words {
        // SAFETY: the caller's.
        unsafe { Words(_mm_loadu_si128(words.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, words: *mut u64) {
        // SAFETY: the caller's.
        unsafe { _mm_storeu_si128(words.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Words) -> Words {
        // SAFETY: SSE2.
        unsafe { Words(_mm_add_epi64(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Words) -> Words {
        // SAFETY: SSE2.
        unsafe { Words(_mm_xor_si128(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn xor_rotate_32(self, other: Words) -> Words {
        // SAFETY: SSE2.
        unsafe { Words(_mm_shuffle_epi32::<0b10_11_00_01>(_mm_xor_si128(self.0, other.0))) }
    }

    #[inline(always)]
    unsafe fn xor_rotate_24(self, other: Words) -> Words {
        // SAFETY: the caller has SSSE3.
        unsafe {
            let by_24 = _mm_setr_epi8(3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10);
            Words(_mm_shuffle_epi8(_mm_xor_si128(self.0, other.0), by_24))
        }
    }

    #[inline(always)]
    unsafe fn xor_rotate_16(self, other: Words) -> Words {
        // SAFETY: the caller has SSSE3.
        unsafe {
            let by_16 = _mm_setr_epi8(2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9);
            Words(_mm_shuffle_epi8(_mm_xor_si128(self.0, other.0), by_16))
        }
    }

    #[inline(always)]
    unsafe fn xor_rotate_63(self, other: Words) -> Words {
        // SAFETY: SSE2.
        unsafe {
            let x = _mm_xor_si128(self.0, other.0);
            Words(_mm_or_si128(_mm_add_epi64(x, x), _mm_srli_epi64::<63>(x)))
        }
    }
}

// SAFETY: sixteen bytes, aligned to sixteen.
unsafe impl Pair for Words {
    #[inline(always)]
    unsafe fn add(self, other: Words) -> Words {
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let product = _mm_mul_epu32(self.0, other.0);
            Words(_mm_add_epi64(_mm_add_epi64(self.0, other.0), _mm_add_epi64(product, product)))
        }
    }

    #[inline(always)]
    unsafe fn halves(self, next: Words) -> Words {
        // SAFETY: the caller has SSSE3.
        unsafe { Words(_mm_alignr_epi8::<8>(next.0, self.0)) }
    }
}
