//! AVX2: two rows or two columns in eight 256-bit registers at a time.
//!
//! Four words of a row are a vector: a row is A, B, C, D. The same vectors of all eight rows are two columns side by
//! side, each word pair of a column in a half of two vectors. So again nothing moves from rows to columns; rows are
//! turned within vectors, columns by taking halves of two.

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

/// # Safety
/// As [`Compress::compress`]; a block is 32 aligned vectors.
#[inline(never)]
#[target_feature(enable = "avx2")]
unsafe fn compress<const ADD: bool>(
    prev: *const __m256i,
    reference: *const __m256i,
    dst: *mut __m256i,
) -> u64 {
    let mut state = MaybeUninit::<[__m256i; 32]>::uninit();
    let state = state.as_mut_ptr().cast::<__m256i>();
    for rows in 0..4 {
        let mut v = [_mm256_setzero_si256(); 8];
        for (i, v) in v.iter_mut().enumerate() {
            let i = 8 * rows + i;
            // SAFETY: the caller's.
            unsafe {
                *v = _mm256_xor_si256(_mm256_load_si256(prev.add(i)), _mm256_load_si256(reference.add(i)));
                // What the result is added to waits in the destination.
                let rest = if ADD { _mm256_xor_si256(*v, _mm256_load_si256(dst.add(i))) } else { *v };
                _mm256_store_si256(dst.add(i), rest);
            }
        }
        let [a0, b0, c0, d0, a1, b1, c1, d1] = v;
        let mut two = Two { a: [a0, a1], b: [b0, b1], c: [c0, c1], d: [d0, d1] };
        two.mix();
        two.a = two.a.map(|a| _mm256_permute4x64_epi64::<0b10_01_00_11>(a));
        two.d = two.d.map(|d| _mm256_permute4x64_epi64::<0b01_00_11_10>(d));
        two.c = two.c.map(|c| _mm256_permute4x64_epi64::<0b00_11_10_01>(c));
        two.mix();
        two.a = two.a.map(|a| _mm256_permute4x64_epi64::<0b00_11_10_01>(a));
        two.d = two.d.map(|d| _mm256_permute4x64_epi64::<0b01_00_11_10>(d));
        two.c = two.c.map(|c| _mm256_permute4x64_epi64::<0b10_01_00_11>(c));
        let Two { a: [a0, a1], b: [b0, b1], c: [c0, c1], d: [d0, d1] } = two;
        for (i, v) in [a0, b0, c0, d0, a1, b1, c1, d1].into_iter().enumerate() {
            // SAFETY: one of 32 vectors.
            unsafe { state.add(8 * rows + i).write(v) };
        }
    }
    let mut first_word = 0;
    for columns in 0..4 {
        // SAFETY: all 32 vectors were written.
        let row = |row: usize| unsafe { state.add(4 * row + columns).read() };
        let mut two =
            Two { a: [row(0), row(1)], b: [row(2), row(3)], c: [row(4), row(5)], d: [row(6), row(7)] };
        two.mix();
        // The other half of each: of the next vector, or of the one before. Two further on is the other vector.
        two.a = [halves(two.a[1], two.a[0]), halves(two.a[0], two.a[1])];
        two.d = [two.d[1], two.d[0]];
        two.c = [halves(two.c[0], two.c[1]), halves(two.c[1], two.c[0])];
        two.mix();
        two.a = [halves(two.a[0], two.a[1]), halves(two.a[1], two.a[0])];
        two.d = [two.d[1], two.d[0]];
        two.c = [halves(two.c[1], two.c[0]), halves(two.c[0], two.c[1])];
        let Two { a: [r0, r1], b: [r2, r3], c: [r4, r5], d: [r6, r7] } = two;
        for (row, v) in [r0, r1, r2, r3, r4, r5, r6, r7].into_iter().enumerate() {
            // SAFETY: the caller's.
            unsafe {
                let place = dst.add(4 * row + columns);
                let sum = _mm256_xor_si256(v, _mm256_load_si256(place));
                _mm256_store_si256(place, sum);
                if (row, columns) == (0, 0) {
                    first_word = _mm256_extract_epi64::<0>(sum) as u64;
                }
            }
        }
    }
    first_word
}

/// Two rows or two columns.
struct Two {
    a: [__m256i; 2],
    b: [__m256i; 2],
    c: [__m256i; 2],
    d: [__m256i; 2],
}

impl Two {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn mix(&mut self) {
        let Two { a, b, c, d } = self;
        for i in 0..2 {
            a[i] = add(a[i], b[i]);
            d[i] = turn_32(_mm256_xor_si256(d[i], a[i]));
            c[i] = add(c[i], d[i]);
            b[i] = turn_24(_mm256_xor_si256(b[i], c[i]));
            a[i] = add(a[i], b[i]);
            d[i] = turn_16(_mm256_xor_si256(d[i], a[i]));
            c[i] = add(c[i], d[i]);
            b[i] = turn_63(_mm256_xor_si256(b[i], c[i]));
        }
    }
}

/// The second word of each half of `x` beside the first of `y`.
#[inline]
#[target_feature(enable = "avx2")]
fn halves(x: __m256i, y: __m256i) -> __m256i {
    _mm256_castpd_si256(_mm256_shuffle_pd::<0b0101>(_mm256_castsi256_pd(x), _mm256_castsi256_pd(y)))
}

/// `x + y + 2 * low(x) * low(y)`.
#[inline]
#[target_feature(enable = "avx2")]
fn add(x: __m256i, y: __m256i) -> __m256i {
    let product = _mm256_mul_epu32(x, y);
    _mm256_add_epi64(_mm256_add_epi64(x, y), _mm256_add_epi64(product, product))
}

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
