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

use super::super::kernel::Layout;
use super::super::memory::Block;
use super::super::segment::{self, Compress};
use core::arch::x86_64::*;

segment::table!(Avx512, "avx512", [Avx512], #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]);

struct Avx512;

impl Compress for Avx512 {
    const LAYOUT: Layout = Layout::RowPairs;

    #[inline(always)]
    unsafe fn compress<const ADD: bool>(prev: *const Block, reference: *const Block, dst: *mut Block) {
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
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
unsafe fn compress<const ADD: bool>(prev: *const __m512i, reference: *const __m512i, dst: *mut __m512i) {
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
    let [a0, b0, c0, d0, a1, b1, c1, d1, a2, b2, c2, d2, a3, b3, c3, d3] = v;
    let mut rows =
        Quad { a: [a0, a1, a2, a3], b: [b0, b1, b2, b3], c: [c0, c1, c2, c3], d: [d0, d1, d2, d3] };
    rows.mix();
    rows.a = rows.a.map(|a| _mm512_permutex_epi64::<0b10_01_00_11>(a));
    rows.d = rows.d.map(|d| _mm512_permutex_epi64::<0b01_00_11_10>(d));
    rows.c = rows.c.map(|c| _mm512_permutex_epi64::<0b00_11_10_01>(c));
    rows.mix();
    rows.a = rows.a.map(|a| _mm512_permutex_epi64::<0b00_11_10_01>(a));
    rows.d = rows.d.map(|d| _mm512_permutex_epi64::<0b01_00_11_10>(d));
    rows.c = rows.c.map(|c| _mm512_permutex_epi64::<0b10_01_00_11>(c));

    let Quad { a: [a0, a1, a2, a3], b: [b0, b1, b2, b3], c: [c0, c1, c2, c3], d: [d0, d1, d2, d3] } = rows;
    let mut columns =
        Quad { a: [a0, b0, c0, d0], b: [a1, b1, c1, d1], c: [a2, b2, c2, d2], d: [a3, b3, c3, d3] };
    let back = _mm512_set_epi64(6, 3, 4, 1, 2, 7, 0, 5);
    let on = _mm512_set_epi64(2, 7, 0, 5, 6, 3, 4, 1);
    columns.mix();
    columns.a = columns.a.map(|a| _mm512_permutexvar_epi64(back, a));
    columns.d = columns.d.map(|d| _mm512_shuffle_i64x2::<0b01_00_11_10>(d, d));
    columns.c = columns.c.map(|c| _mm512_permutexvar_epi64(on, c));
    columns.mix();
    columns.a = columns.a.map(|a| _mm512_permutexvar_epi64(on, a));
    columns.d = columns.d.map(|d| _mm512_shuffle_i64x2::<0b01_00_11_10>(d, d));
    columns.c = columns.c.map(|c| _mm512_permutexvar_epi64(back, c));

    for (row, quad) in [columns.a, columns.b, columns.c, columns.d].into_iter().enumerate() {
        for (k, v) in quad.into_iter().enumerate() {
            // SAFETY: the caller's.
            unsafe {
                let place = dst.add(4 * row + k);
                _mm512_store_si512(place, _mm512_xor_si512(v, _mm512_load_si512(place)));
            }
        }
    }
}

/// Eight rows or eight columns, in four times four vectors.
#[derive(Clone, Copy)]
struct Quad {
    a: [__m512i; 4],
    b: [__m512i; 4],
    c: [__m512i; 4],
    d: [__m512i; 4],
}

impl Quad {
    /// All four in step, so that four chains of dependent instructions hide each other's latency.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn mix(&mut self) {
        let Quad { a, b, c, d } = self;
        for i in 0..4 {
            a[i] = add(a[i], b[i]);
            d[i] = _mm512_ror_epi64::<32>(_mm512_xor_si512(d[i], a[i]));
        }
        for i in 0..4 {
            c[i] = add(c[i], d[i]);
            b[i] = _mm512_ror_epi64::<24>(_mm512_xor_si512(b[i], c[i]));
        }
        for i in 0..4 {
            a[i] = add(a[i], b[i]);
            d[i] = _mm512_ror_epi64::<16>(_mm512_xor_si512(d[i], a[i]));
        }
        for i in 0..4 {
            c[i] = add(c[i], d[i]);
            b[i] = _mm512_ror_epi64::<63>(_mm512_xor_si512(b[i], c[i]));
        }
    }
}

/// `x + y + 2 * low(x) * low(y)`.
#[inline]
#[target_feature(enable = "avx512f")]
fn add(x: __m512i, y: __m512i) -> __m512i {
    let product = _mm512_mul_epu32(x, y);
    _mm512_add_epi64(_mm512_add_epi64(x, y), _mm512_add_epi64(product, product))
}
