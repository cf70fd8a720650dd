//! AVX-512: the whole block in sixteen 512-bit registers, from the first exclusive-or to the last.
//!
//! ```text
//! vector 4*r + k holds words 4k..4k+4 of row 2r and the same words of row 2r+1          (Layout::RowPairs)
//!
//! rows:      A, B, C, D = vectors 4r, 4r+1, 4r+2, 4r+3     two rows, each in its own 256-bit half
//! columns:   A, B, C, D = vectors k, 4+k, 8+k, 12+k        two columns, in words 0 1 4 5 and 2 3 6 7
//! ```
//! So from rows to columns nothing moves at all; only the order in which a vector is turned before and after the
//! diagonal step differs. B is last to be ready in every step and is the one that is never turned.
//!
//! The columns with the first word run two steps ahead of the others, because that word names the block to be fetched
//! next. The instructions come from `cargo xtask codegen`.

use super::super::kernel::Layout;
use super::super::memory::Block;
use super::super::segment::{self, Compress};
use crate::blake2b::Lanes;
use core::arch::x86_64::*;

segment::table!(
    Avx512,
    "avx512",
    [Avx512],
    [Four, Eight],
    (#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")])
);

struct Avx512;

impl Compress for Avx512 {
    const LAYOUT: Layout = Layout::RowPairs;

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

/// # Safety
/// As [`Compress::compress`]; a block is sixteen aligned vectors.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
unsafe fn compress<const ADD: bool>(
    prev: *const __m512i,
    reference: *const __m512i,
    dst: *mut __m512i,
) -> u64 {
    // SAFETY: the caller's. The body reads `prev` and `reference` and writes `dst`; it destroys what the ABI allows and
    // nothing else.
    unsafe {
        if ADD {
            super::block!("avx512_block_add.s", prev, reference, dst, &raw const TURNS);
        } else {
            super::block!("avx512_block.s", prev, reference, dst, &raw const TURNS);
        }
        dst.cast::<u64>().read()
    }
}

/// From which word each word of two columns comes: one place on, one place back, two places on.
#[repr(C, align(64))]
struct Turns([[u64; 8]; 3]);

static TURNS: Turns = Turns([[5, 0, 7, 2, 1, 4, 3, 6], [1, 4, 3, 6, 5, 0, 7, 2], [4, 5, 6, 7, 0, 1, 2, 3]]);

/// Words of four messages.
#[derive(Clone, Copy)]
struct Four(__m256i);

// SAFETY: 32 bytes.
unsafe impl Lanes for Four {
    const COUNT: usize = 4;

    #[inline(always)]
    unsafe fn splat(word: u64) -> Four {
        // SAFETY: the caller has AVX-512, here and below.
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
        // SAFETY: AVX-512.
        unsafe { Four(_mm256_add_epi64(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Four) -> Four {
        // SAFETY: AVX-512.
        unsafe { Four(_mm256_xor_si256(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn xor_turn_32(self, other: Four) -> Four {
        // SAFETY: AVX-512.
        unsafe { Four(_mm256_ror_epi64::<32>(_mm256_xor_si256(self.0, other.0))) }
    }

    #[inline(always)]
    unsafe fn xor_turn_24(self, other: Four) -> Four {
        // SAFETY: AVX-512.
        unsafe { Four(_mm256_ror_epi64::<24>(_mm256_xor_si256(self.0, other.0))) }
    }

    #[inline(always)]
    unsafe fn xor_turn_16(self, other: Four) -> Four {
        // SAFETY: AVX-512.
        unsafe { Four(_mm256_ror_epi64::<16>(_mm256_xor_si256(self.0, other.0))) }
    }

    #[inline(always)]
    unsafe fn xor_turn_63(self, other: Four) -> Four {
        // SAFETY: AVX-512.
        unsafe { Four(_mm256_ror_epi64::<63>(_mm256_xor_si256(self.0, other.0))) }
    }
}

/// Words of eight messages.
#[derive(Clone, Copy)]
struct Eight(__m512i);

// SAFETY: 64 bytes.
unsafe impl Lanes for Eight {
    const COUNT: usize = 8;

    #[inline(always)]
    unsafe fn splat(word: u64) -> Eight {
        // SAFETY: the caller has AVX-512, here and below.
        unsafe { Eight(_mm512_set1_epi64(word as i64)) }
    }

    #[inline(always)]
    unsafe fn load(words: *const u64) -> Eight {
        // SAFETY: the caller's.
        unsafe { Eight(_mm512_loadu_si512(words.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, words: *mut u64) {
        // SAFETY: the caller's.
        unsafe { _mm512_storeu_si512(words.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Eight) -> Eight {
        // SAFETY: AVX-512.
        unsafe { Eight(_mm512_add_epi64(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Eight) -> Eight {
        // SAFETY: AVX-512.
        unsafe { Eight(_mm512_xor_si512(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn xor_turn_32(self, other: Eight) -> Eight {
        // SAFETY: AVX-512.
        unsafe { Eight(_mm512_ror_epi64::<32>(_mm512_xor_si512(self.0, other.0))) }
    }

    #[inline(always)]
    unsafe fn xor_turn_24(self, other: Eight) -> Eight {
        // SAFETY: AVX-512.
        unsafe { Eight(_mm512_ror_epi64::<24>(_mm512_xor_si512(self.0, other.0))) }
    }

    #[inline(always)]
    unsafe fn xor_turn_16(self, other: Eight) -> Eight {
        // SAFETY: AVX-512.
        unsafe { Eight(_mm512_ror_epi64::<16>(_mm512_xor_si512(self.0, other.0))) }
    }

    #[inline(always)]
    unsafe fn xor_turn_63(self, other: Eight) -> Eight {
        // SAFETY: AVX-512.
        unsafe { Eight(_mm512_ror_epi64::<63>(_mm512_xor_si512(self.0, other.0))) }
    }
}
