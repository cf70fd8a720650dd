//! AVX2: four rows, or two pairs of columns, at a time.
//!
//! Four words of a row are a vector: a row is A, B, C, D. The same vectors of all eight rows are two columns side by
//! side, each word pair of a column in a half of two vectors. So nothing moves from rows to columns; rows are
//! turned within vectors, columns by taking halves of two. The instructions come from `cargo xtask codegen`.

use super::super::kernel::Layout;
use super::super::memory::Block;
use super::super::segment::{self, Compress};
use crate::blake2b::Lanes;
use core::arch::x86_64::*;
use core::mem::MaybeUninit;

segment::table!(Avx2, "avx2", [Avx2], [Four], (#[target_feature(enable = "avx2")]));

struct Avx2;

impl Compress for Avx2 {
    const LAYOUT: Layout = Layout::Natural;

    #[inline(always)]
    unsafe fn compress<const ADD: bool>(prev: *const Block, reference: *const Block, dst: *mut Block) -> u64 {
        // SAFETY: the caller's.
        unsafe { compress::<ADD>(prev.cast(), reference.cast(), dst.cast()) }
    }

    #[inline(always)]
    fn fetch(block: *const Block) {
        super::fetch(block);
    }
}

/// One copy of [`body`] for all loops. rustc leaves `inline(never)` out where a function has target features, and LLVM takes no
/// such function into one that lacks them: this one stands between.
///
/// # Safety
/// As [`Compress::compress`]; a block is 32 aligned vectors.
#[inline(never)]
unsafe fn compress<const ADD: bool>(
    prev: *const __m256i,
    reference: *const __m256i,
    dst: *mut __m256i,
) -> u64 {
    // SAFETY: the caller's.
    unsafe { body::<ADD>(prev, reference, dst) }
}

/// # Safety
/// As [`compress`].
#[target_feature(enable = "avx2")]
unsafe fn body<const ADD: bool>(prev: *const __m256i, reference: *const __m256i, dst: *mut __m256i) -> u64 {
    let mut state = MaybeUninit::<[__m256i; 32]>::uninit();
    let state = state.as_mut_ptr();
    // SAFETY: the caller's. The body reads `prev` and `reference`, writes `dst` and, before it reads it, `state`; it
    // destroys what the ABI allows and nothing else.
    unsafe {
        if ADD {
            super::block!("avx2_block_add.s", prev, reference, dst, &raw const TURNS, in("r8") state);
        } else {
            super::block!("avx2_block.s", prev, reference, dst, &raw const TURNS, in("r8") state);
        }
        dst.cast::<u64>().read()
    }
}

/// Which bytes of a half stand where, in words that are turned right by 24 bits and by 16.
#[repr(C, align(64))]
struct Turns([[u8; 16]; 4]);

static TURNS: Turns = {
    let by_24 = [3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10];
    let by_16 = [2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9];
    Turns([by_24, by_24, by_16, by_16])
};

#[inline]
#[target_feature(enable = "avx2")]
fn turn_32(x: __m256i) -> __m256i {
    _mm256_shuffle_epi32::<0b10_11_00_01>(x)
}

#[inline]
#[target_feature(enable = "avx2")]
fn turn_24(x: __m256i) -> __m256i {
    let bytes = _mm_setr_epi8(3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10);
    _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(bytes))
}

#[inline]
#[target_feature(enable = "avx2")]
fn turn_16(x: __m256i) -> __m256i {
    let bytes = _mm_setr_epi8(2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9);
    _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(bytes))
}

#[inline]
#[target_feature(enable = "avx2")]
fn turn_63(x: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_add_epi64(x, x), _mm256_srli_epi64::<63>(x))
}

/// Words of four messages.
#[derive(Clone, Copy)]
struct Four(__m256i);

// SAFETY: 32 bytes.
unsafe impl Lanes for Four {
    const COUNT: usize = 4;

    #[inline(always)]
    unsafe fn splat(word: u64) -> Four {
        // SAFETY: the caller has AVX2, here and below.
        unsafe { Four(_mm256_set1_epi64x(word as i64)) }
    }

    #[inline(always)]
    unsafe fn load(words: *const u64) -> Four {
        // SAFETY: the caller's.
        unsafe { Four(_mm256_loadu_si256(words.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, words: *mut u64) {
        // SAFETY: the caller's.
        unsafe { _mm256_storeu_si256(words.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Four) -> Four {
        // SAFETY: AVX2.
        unsafe { Four(_mm256_add_epi64(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Four) -> Four {
        // SAFETY: AVX2.
        unsafe { Four(_mm256_xor_si256(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn xor_turn_32(self, other: Four) -> Four {
        // SAFETY: AVX2.
        unsafe { Four(turn_32(_mm256_xor_si256(self.0, other.0))) }
    }

    #[inline(always)]
    unsafe fn xor_turn_24(self, other: Four) -> Four {
        // SAFETY: AVX2.
        unsafe { Four(turn_24(_mm256_xor_si256(self.0, other.0))) }
    }

    #[inline(always)]
    unsafe fn xor_turn_16(self, other: Four) -> Four {
        // SAFETY: AVX2.
        unsafe { Four(turn_16(_mm256_xor_si256(self.0, other.0))) }
    }

    #[inline(always)]
    unsafe fn xor_turn_63(self, other: Four) -> Four {
        // SAFETY: AVX2.
        unsafe { Four(turn_63(_mm256_xor_si256(self.0, other.0))) }
    }
}
