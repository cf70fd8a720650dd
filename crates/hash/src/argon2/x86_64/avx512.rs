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
//! The columns with the first word run ahead of the others, because that word names the block to be fetched next: the
//! body is in two parts, and the fetch starts between them. The instructions come from `cargo xtask codegen`.

use super::super::kernel::Layout;
use super::super::memory::Block;
use super::super::segment::{self, Compress};
use crate::blake2b::Lanes;
use core::arch::x86_64::*;
use core::mem::MaybeUninit;

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

/// The two parts of a body, with `$known` called in between. Registers 0 to 15 hold the state, 16 to 19 products, and 29 to
/// 31 the index vectors.
macro_rules! body {
    ($head:literal, $tail:literal, $prev:ident, $reference:ident, $dst:ident, $known:ident) => {{
        let mut z = [MaybeUninit::<__m512i>::uninit(); 23];
        let word: u64;
        core::arch::asm!(
            include_str!($head),
            in("rdi") $prev,
            in("rsi") $reference,
            in("rdx") $dst,
            in("rax") &raw const TURNS,
            out("r8") word,
            out("zmm0") z[0],
            out("zmm1") z[1],
            out("zmm2") z[2],
            out("zmm3") z[3],
            out("zmm4") z[4],
            out("zmm5") z[5],
            out("zmm6") z[6],
            out("zmm7") z[7],
            out("zmm8") z[8],
            out("zmm9") z[9],
            out("zmm10") z[10],
            out("zmm11") z[11],
            out("zmm12") z[12],
            out("zmm13") z[13],
            out("zmm14") z[14],
            out("zmm15") z[15],
            out("zmm16") z[16],
            out("zmm17") z[17],
            out("zmm18") z[18],
            out("zmm19") z[19],
            out("zmm29") z[20],
            out("zmm30") z[21],
            out("zmm31") z[22],
            options(raw, nostack, preserves_flags),
        );
        $known(word);
        core::arch::asm!(
            include_str!($tail),
            in("rdi") $prev,
            in("rsi") $reference,
            in("rdx") $dst,
            inout("zmm0") z[0] => _,
            inout("zmm1") z[1] => _,
            inout("zmm2") z[2] => _,
            inout("zmm3") z[3] => _,
            inout("zmm4") z[4] => _,
            inout("zmm5") z[5] => _,
            inout("zmm6") z[6] => _,
            inout("zmm7") z[7] => _,
            inout("zmm8") z[8] => _,
            inout("zmm9") z[9] => _,
            inout("zmm10") z[10] => _,
            inout("zmm11") z[11] => _,
            inout("zmm12") z[12] => _,
            inout("zmm13") z[13] => _,
            inout("zmm14") z[14] => _,
            inout("zmm15") z[15] => _,
            inout("zmm16") z[16] => _,
            inout("zmm17") z[17] => _,
            inout("zmm18") z[18] => _,
            inout("zmm19") z[19] => _,
            inout("zmm29") z[20] => _,
            inout("zmm30") z[21] => _,
            inout("zmm31") z[22] => _,
            options(raw, nostack, preserves_flags),
        );
    }};
}

/// # Safety
/// As [`Compress::compress`]; a block is sixteen aligned vectors.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
unsafe fn compress<const ADD: bool>(
    prev: *const __m512i,
    reference: *const __m512i,
    dst: *mut __m512i,
    known: impl FnOnce(u64),
) {
    // SAFETY: the caller's. The body reads `prev` and `reference` and writes `dst` and the registers named, nothing else.
    unsafe {
        if ADD {
            body!("avx512_add_head.s", "avx512_add_tail.s", prev, reference, dst, known);
        } else {
            body!("avx512_head.s", "avx512_tail.s", prev, reference, dst, known);
        }
    }
}

/// # Safety
/// As [`Compress::carry`]; a block is sixteen aligned vectors.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
unsafe fn carry(
    carried: *mut __m512i,
    reference: *const __m512i,
    dst: *mut __m512i,
    known: impl FnOnce(u64),
) {
    // SAFETY: the caller's. The body reads `carried` and `reference` and writes `carried` and `dst` and the registers named,
    // nothing else.
    unsafe { body!("avx512_carry_head.s", "avx512_carry_tail.s", carried, reference, dst, known) }
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
