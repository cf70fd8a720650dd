//! AVX2: four words at a time, rows and columns alike.
//!
//! Two neighbouring words are a unit. Two rows and two columns meet in a tile of four units, kept in two vectors:
//!
//! ```text
//!            column 2j   column 2j + 1
//! row 2i         a             b             vector 8i + j = a, d     vector 8i + 4 + j = c, b     (Layout::Tiles)
//! row 2i + 1     c             d
//! ```
//! From rows to columns the halves of the second vector change places, and nothing else moves.
//!
//! The columns with the first word run ahead of the others, because that word names the block to be fetched next: the
//! body is in two parts, and the fetch starts between them. The instructions come from `cargo xtask codegen`.

use super::super::kernel::Layout;
use super::super::memory::Block;
use super::super::segment::{self, Compress};
use crate::blake2b::Lanes;
use core::arch::x86_64::*;
use core::mem::MaybeUninit;

segment::table!(Avx2, "avx2", [Avx2], [Four], (#[target_feature(enable = "avx2")]));

struct Avx2;

impl Compress for Avx2 {
    const LAYOUT: Layout = Layout::Tiles;

    #[inline(always)]
    unsafe fn compress<const ADD: bool>(prev: *const Block, reference: *const Block, dst: *mut Block) -> u64 {
        // SAFETY: the caller's. Without anything to be done in between this is a plain function.
        unsafe {
            compress::<ADD>(prev.cast(), reference.cast(), dst.cast(), |_| ());
            (*dst).0[0]
        }
    }

    #[inline(always)]
    unsafe fn compress_then<const ADD: bool>(
        prev: *const Block,
        reference: *const Block,
        dst: *mut Block,
        known: impl FnOnce(u64),
    ) {
        // SAFETY: the caller's.
        unsafe { compress::<ADD>(prev.cast(), reference.cast(), dst.cast(), known) }
    }

    #[inline(always)]
    unsafe fn carry(carried: *mut Block, reference: *const Block, dst: *mut Block, known: impl FnOnce(u64)) {
        // SAFETY: the caller's.
        unsafe { carry(carried.cast(), reference.cast(), dst.cast(), known) }
    }

    #[inline(always)]
    unsafe fn publish() {
        // SAFETY: SSE is part of x86-64.
        unsafe { _mm_sfence() }
    }

    #[inline(always)]
    fn fetch(block: *const Block) {
        super::fetch(block);
    }

    #[inline(always)]
    fn fetch_far(block: *const Block) {
        super::fetch_far(block);
    }
}

/// What a body keeps outside of registers: the sum of its inputs, and vectors that wait.
type State = [__m256i; 32 + 24];

/// The two parts of a body, with `$known` called in between.
macro_rules! body {
    ($head:literal, $tail:literal, $prev:ident, $reference:ident, $dst:ident, $known:ident) => {{
        let mut state = MaybeUninit::<State>::uninit();
        let state = state.as_mut_ptr();
        let mut y = [MaybeUninit::<__m256i>::uninit(); 16];
        let word: u64;
        core::arch::asm!(
            include_str!($head),
            in("rdi") $prev,
            in("rsi") $reference,
            in("rdx") $dst,
            in("rax") &raw const TURNS,
            in("r8") state,
            out("r9") word,
            out("ymm0") y[0],
            out("ymm1") y[1],
            out("ymm2") y[2],
            out("ymm3") y[3],
            out("ymm4") y[4],
            out("ymm5") y[5],
            out("ymm6") y[6],
            out("ymm7") y[7],
            out("ymm8") y[8],
            out("ymm9") y[9],
            out("ymm10") y[10],
            out("ymm11") y[11],
            out("ymm12") y[12],
            out("ymm13") y[13],
            out("ymm14") y[14],
            out("ymm15") y[15],
            options(raw, nostack, preserves_flags),
        );
        $known(word);
        core::arch::asm!(
            include_str!($tail),
            in("rdi") $prev,
            in("rdx") $dst,
            in("rax") &raw const TURNS,
            in("r8") state,
            inout("ymm0") y[0] => _,
            inout("ymm1") y[1] => _,
            inout("ymm2") y[2] => _,
            inout("ymm3") y[3] => _,
            inout("ymm4") y[4] => _,
            inout("ymm5") y[5] => _,
            inout("ymm6") y[6] => _,
            inout("ymm7") y[7] => _,
            inout("ymm8") y[8] => _,
            inout("ymm9") y[9] => _,
            inout("ymm10") y[10] => _,
            inout("ymm11") y[11] => _,
            inout("ymm12") y[12] => _,
            inout("ymm13") y[13] => _,
            inout("ymm14") y[14] => _,
            inout("ymm15") y[15] => _,
            options(raw, nostack, preserves_flags),
        );
    }};
}

/// # Safety
/// As [`Compress::compress`]; a block is 32 aligned vectors.
#[inline(never)]
#[target_feature(enable = "avx2")]
unsafe fn compress<const ADD: bool>(
    prev: *const __m256i,
    reference: *const __m256i,
    dst: *mut __m256i,
    known: impl FnOnce(u64),
) {
    // SAFETY: the caller's. The body reads `prev` and `reference`, writes `dst` and the registers named and, before it reads
    // it, `state`, and nothing else.
    unsafe {
        if ADD {
            body!("avx2_add_head.s", "avx2_add_tail.s", prev, reference, dst, known);
        } else {
            body!("avx2_head.s", "avx2_tail.s", prev, reference, dst, known);
        }
    }
}

/// # Safety
/// As [`Compress::carry`]; a block is 32 aligned vectors.
#[inline(never)]
#[target_feature(enable = "avx2")]
unsafe fn carry(
    carried: *mut __m256i,
    reference: *const __m256i,
    dst: *mut __m256i,
    known: impl FnOnce(u64),
) {
    // SAFETY: the caller's. The body reads `carried` and `reference`, writes `carried` and `dst` and the registers named and,
    // before it reads it, `state`, and nothing else.
    unsafe { body!("avx2_carry_head.s", "avx2_carry_tail.s", carried, reference, dst, known) }
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
