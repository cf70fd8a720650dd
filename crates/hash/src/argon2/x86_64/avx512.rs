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
//! The order of the source is the order of the instructions, more or less, and matters: four quads in step hide each
//! other's latency, and the columns with the first word run two steps ahead of the others, because that word names the
//! block to be fetched next (see `bench/journal`).

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
    let mut v = [_mm512_setzero_si512(); 16];
    for (i, v) in v.iter_mut().enumerate() {
        // SAFETY: the caller's.
        unsafe {
            *v = _mm512_xor_si512(_mm512_load_si512(prev.add(i)), _mm512_load_si512(reference.add(i)));
            // What the result is added to waits in the destination: there are no registers for it.
            let rest = if ADD { _mm512_xor_si512(*v, _mm512_load_si512(dst.add(i))) } else { *v };
            _mm512_store_si512(dst.add(i), rest);
        }
    }
    rows::<0>(&mut v);
    rows::<1>(&mut v);
    rows::<2>(&mut v);
    rows::<3>(&mut v);
    rows::<4>(&mut v);
    rows::<5>(&mut v);
    rows::<6>(&mut v);
    rows::<7>(&mut v);
    column::<0>(&mut v, 0);
    column::<1>(&mut v, 0);
    columns::<2, 0>(&mut v);
    columns::<3, 1>(&mut v);
    columns::<4, 2>(&mut v);
    columns::<5, 3>(&mut v);
    columns::<6, 4>(&mut v);
    columns::<7, 5>(&mut v);
    // SAFETY: the caller's.
    let first_word = unsafe { add_to(dst, &v, 0) };
    other_columns::<6>(&mut v);
    other_columns::<7>(&mut v);
    for k in [3, 2, 1] {
        // SAFETY: the caller's.
        unsafe { add_to(dst, &v, k) };
    }
    first_word
}

/// Adds the vectors of column `k` to those in `dst`. Gives the first word of the sum.
///
/// # Safety
/// `dst` is a block of sixteen aligned vectors.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn add_to(dst: *mut __m512i, v: &[__m512i; 16], k: usize) -> u64 {
    let mut first = _mm512_setzero_si512();
    for i in [12 + k, 8 + k, 4 + k, k] {
        // SAFETY: the caller's.
        unsafe {
            first = _mm512_xor_si512(v[i], _mm512_load_si512(dst.add(i)));
            _mm512_store_si512(dst.add(i), first);
        }
    }
    _mm_cvtsi128_si64(_mm512_castsi512_si128(first)) as u64
}

#[inline]
#[target_feature(enable = "avx512f")]
fn rows<const STEP: usize>(v: &mut [__m512i; 16]) {
    for row in 0..4 {
        step::<true, STEP>(v, [4 * row, 4 * row + 1, 4 * row + 2, 4 * row + 3]);
    }
}

/// Column 0 and, some steps behind, the others.
#[inline]
#[target_feature(enable = "avx512f")]
fn columns<const FIRST: usize, const OTHERS: usize>(v: &mut [__m512i; 16]) {
    column::<FIRST>(v, 0);
    other_columns::<OTHERS>(v);
}

/// In the order in which the rows finish their vectors.
#[inline]
#[target_feature(enable = "avx512f")]
fn other_columns<const STEP: usize>(v: &mut [__m512i; 16]) {
    column::<STEP>(v, 3);
    column::<STEP>(v, 2);
    column::<STEP>(v, 1);
}

#[inline]
#[target_feature(enable = "avx512f")]
fn column<const STEP: usize>(v: &mut [__m512i; 16], k: usize) {
    step::<false, STEP>(v, [k, 4 + k, 8 + k, 12 + k]);
}

/// One of eight steps of two rows or two columns: half of a mix of all four words, and at its end the turns that make
/// columns of diagonals (after the fourth step) or diagonals of columns (after the eighth).
#[inline]
#[target_feature(enable = "avx512f")]
fn step<const ROWS: bool, const STEP: usize>(v: &mut [__m512i; 16], [a, b, c, d]: [usize; 4]) {
    match STEP {
        0 | 4 => {
            v[a] = add(v[a], v[b]);
            v[d] = _mm512_ror_epi64::<32>(_mm512_xor_si512(v[d], v[a]));
        }
        1 | 5 => {
            v[c] = add(v[c], v[d]);
            v[b] = _mm512_ror_epi64::<24>(_mm512_xor_si512(v[b], v[c]));
        }
        2 | 6 => {
            v[a] = add(v[a], v[b]);
            v[d] = _mm512_ror_epi64::<16>(_mm512_xor_si512(v[d], v[a]));
            v[a] = if STEP == 2 { on::<ROWS>(v[a]) } else { back::<ROWS>(v[a]) };
        }
        _ => {
            v[c] = add(v[c], v[d]);
            v[b] = _mm512_ror_epi64::<63>(_mm512_xor_si512(v[b], v[c]));
            v[d] = across::<ROWS>(v[d]);
            v[c] = if STEP == 3 { back::<ROWS>(v[c]) } else { on::<ROWS>(v[c]) };
        }
    }
}

/// Every word goes one place on, the last one to the first place.
#[inline]
#[target_feature(enable = "avx512f")]
fn on<const ROWS: bool>(v: __m512i) -> __m512i {
    if ROWS {
        _mm512_permutex_epi64::<0b10_01_00_11>(v)
    } else {
        _mm512_permutexvar_epi64(_mm512_setr_epi64(5, 0, 7, 2, 1, 4, 3, 6), v)
    }
}

/// Every word goes one place back, the first one to the last place.
#[inline]
#[target_feature(enable = "avx512f")]
fn back<const ROWS: bool>(v: __m512i) -> __m512i {
    if ROWS {
        _mm512_permutex_epi64::<0b00_11_10_01>(v)
    } else {
        _mm512_permutexvar_epi64(_mm512_setr_epi64(1, 4, 3, 6, 5, 0, 7, 2), v)
    }
}

/// Every word goes two places on.
#[inline]
#[target_feature(enable = "avx512f")]
fn across<const ROWS: bool>(v: __m512i) -> __m512i {
    if ROWS { _mm512_permutex_epi64::<0b01_00_11_10>(v) } else { _mm512_shuffle_i64x2::<0b01_00_11_10>(v, v) }
}

/// `x + y + 2 * low(x) * low(y)`.
#[inline]
#[target_feature(enable = "avx512f")]
fn add(x: __m512i, y: __m512i) -> __m512i {
    let product = _mm512_mul_epu32(x, y);
    _mm512_add_epi64(_mm512_add_epi64(x, y), _mm512_add_epi64(product, product))
}

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
