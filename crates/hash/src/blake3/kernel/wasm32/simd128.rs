//! The kernel for WebAssembly's 128-bit vectors: many messages in columns ([`columns`]), one message in rows.
//!
//! One message has a row of its 4x4 state in each vector, so that one step performs that of four G; between
//! the halves of a round the rows are rotated against each other. WebAssembly has no run-time detection: the
//! kernel exists if the compiler flag is set.

use crate::blake3::kernel::columns::{self, advance, uniform};
use crate::blake3::kernel::table::{Cv, RunFlags, Table, Wide};
use crate::blake3::{BLOCK_LEN, IV};
use crate::isa::{Feature, Features};
use core::arch::wasm32::*;
use core::ops::{Add, BitOr, BitXor};

/// Costs were measured in V8 on Zen 4.
pub(in crate::blake3) static SIMD128: Table = Table {
    name: "simd128",
    needs: Features::from_list(&[Feature::Simd128]),
    run,
    run_cost: 300,
    wide: &[Wide { lanes: 4, cost: 470, advance: advance::<Column, 1>, uniform: uniform::<Column, 1> }],
    xof: columns::xof::<Column, 1>,
};

/// See [`crate::blake3::kernel::table::Run`].
fn run(key: &Cv, input: &[u8], counter: u64, flags: RunFlags, out: &mut Cv) {
    let [a, b, c, d, e, f, g, h] = *key;
    let mut cv = [u32x4(a, b, c, d), u32x4(e, f, g, h)].map(Column);
    // An empty message is still one (empty) block.
    let last = input.len().saturating_sub(1) / BLOCK_LEN;
    for index in 0..=last {
        let rest = &input[index * BLOCK_LEN..];
        let mut padded = [0; BLOCK_LEN];
        let block = rest.first_chunk().unwrap_or_else(|| {
            padded[..rest.len()].copy_from_slice(rest);
            &padded
        });
        let len = rest.len().min(BLOCK_LEN) as u32;
        compress(&mut cv, block, counter, len, flags.at(index == 0, index == last));
    }
    // SAFETY: two rows are a chaining value.
    unsafe {
        columns::Column::store(cv[0], out.as_mut_ptr().cast());
        columns::Column::store(cv[1], out[4..].as_mut_ptr().cast());
    }
}

/// Compresses one block into `cv`.
#[inline(always)]
fn compress(cv: &mut [Column; 2], block: &[u8; BLOCK_LEN], counter: u64, len: u32, flags: u32) {
    let end = u32x4(counter as u32, (counter >> 32) as u32, len, flags);
    let mut v = [cv[0], cv[1], Column(u32x4(IV[0], IV[1], IV[2], IV[3])), Column(end)];
    let m = first_round(block);
    round(&mut v, m);
    // Not a loop: the compiler would keep it, and move the state between registers at its end.
    let m = next_round(m);
    round(&mut v, m);
    let m = next_round(m);
    round(&mut v, m);
    let m = next_round(m);
    round(&mut v, m);
    let m = next_round(m);
    round(&mut v, m);
    let m = next_round(m);
    round(&mut v, m);
    let m = next_round(m);
    round(&mut v, m);
    *cv = [v[0] ^ v[2], v[1] ^ v[3]];
}

#[inline(always)]
fn round(v: &mut [Column; 4], m: [Column; 4]) {
    half_round(v, m[0], m[1]);
    // The diagonals. The second row stays, because it is ready last.
    *v = [turn::<3>(v[0]), v[1], turn::<1>(v[2]), turn::<2>(v[3])];
    half_round(v, m[2], m[3]);
    *v = [turn::<1>(v[0]), v[1], turn::<3>(v[2]), turn::<2>(v[3])];
}

#[inline(always)]
fn half_round([a, b, c, d]: &mut [Column; 4], x: Column, y: Column) {
    use columns::Column as _;
    *a = *a + x + *b;
    *d = (*d ^ *a).rotate::<16>();
    *c = *c + *d;
    *b = (*b ^ *c).rotate::<12>();
    *a = *a + y + *b;
    *d = (*d ^ *a).rotate::<8>();
    *c = *c + *d;
    *b = (*b ^ *c).rotate::<7>();
}

/// The message words of the four steps of a round, each for four G. Those of the diagonals begin with the
/// last G, because the row that takes them is rotated.
#[inline(always)]
fn first_round(block: &[u8; BLOCK_LEN]) -> [Column; 4] {
    use columns::Column as _;
    let quarters = block.as_chunks::<16>().0;
    // SAFETY: a quarter of a block has sixteen bytes.
    let [a, b, c, d] = core::array::from_fn(|i| unsafe { Column::load(quarters[i].as_ptr()).0 });
    [
        u32x4_shuffle::<0, 2, 4, 6>(a, b),
        u32x4_shuffle::<1, 3, 5, 7>(a, b),
        u32x4_shuffle::<6, 0, 2, 4>(c, d),
        u32x4_shuffle::<7, 1, 3, 5>(c, d),
    ]
    .map(Column)
}

/// The message words of the next round, by the permutation of the standard.
#[inline(always)]
fn next_round([Column(a), Column(b), Column(c), Column(d)]: [Column; 4]) -> [Column; 4] {
    let cd = u32x4_shuffle::<2, 7, 2, 7>(c, d);
    let bc = u32x4_shuffle::<0, 7, 0, 7>(b, c);
    let db = u32x4_shuffle::<2, 6, 2, 6>(d, b);
    [
        u32x4_shuffle::<1, 5, 7, 2>(a, b),
        u32x4_shuffle::<3, 4, 0, 5>(a, cd),
        u32x4_shuffle::<0, 4, 5, 1>(d, bc),
        u32x4_shuffle::<1, 4, 5, 0>(c, db),
    ]
    .map(Column)
}

/// A rotated row: its word 0 comes from position `BY`.
#[inline(always)]
fn turn<const BY: usize>(Column(row): Column) -> Column {
    Column(match BY {
        1 => u32x4_shuffle::<1, 2, 3, 0>(row, row),
        2 => u32x4_shuffle::<2, 3, 0, 1>(row, row),
        3 => u32x4_shuffle::<3, 0, 1, 2>(row, row),
        _ => unreachable!(),
    })
}

#[derive(Clone, Copy)]
struct Column(v128);

// SAFETY: sixteen bytes.
unsafe impl columns::Column for Column {
    #[inline(always)]
    fn splat(word: u32) -> Column {
        Column(u32x4_splat(word))
    }

    #[inline(always)]
    unsafe fn load(bytes: *const u8) -> Column {
        // SAFETY: the caller's; any alignment will do.
        Column(unsafe { v128_load(bytes.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, bytes: *mut u8) {
        // SAFETY: the caller's; any alignment will do.
        unsafe { v128_store(bytes.cast(), self.0) };
    }

    /// Two of these rotate by whole bytes. V8 has one instruction for swizzles, but the compiler emits
    /// shuffles instead, which take V8 as long as shifts or longer: `xtask/probes/swizzle.mjs` turns them
    /// back into swizzles in a finished module.
    #[inline(always)]
    fn rotate<const BITS: usize>(self) -> Column {
        let x = self.0;
        Column(match BITS {
            16 => u8x16_shuffle::<2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13>(x, x),
            8 => u8x16_shuffle::<1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12>(x, x),
            _ => v128_or(u32x4_shr(x, BITS as u32), u32x4_shl(x, 32 - BITS as u32)),
        })
    }

    #[inline(always)]
    fn transpose([a, b, c, d]: [Column; 4]) -> [Column; 4] {
        let low_ab = u32x4_shuffle::<0, 4, 1, 5>(a.0, b.0);
        let low_cd = u32x4_shuffle::<0, 4, 1, 5>(c.0, d.0);
        let high_ab = u32x4_shuffle::<2, 6, 3, 7>(a.0, b.0);
        let high_cd = u32x4_shuffle::<2, 6, 3, 7>(c.0, d.0);
        [
            u64x2_shuffle::<0, 2>(low_ab, low_cd),
            u64x2_shuffle::<1, 3>(low_ab, low_cd),
            u64x2_shuffle::<0, 2>(high_ab, high_cd),
            u64x2_shuffle::<1, 3>(high_ab, high_cd),
        ]
        .map(Column)
    }
}

impl Add for Column {
    type Output = Column;

    #[inline(always)]
    fn add(self, other: Column) -> Column {
        Column(u32x4_add(self.0, other.0))
    }
}

impl BitXor for Column {
    type Output = Column;

    #[inline(always)]
    fn bitxor(self, other: Column) -> Column {
        Column(v128_xor(self.0, other.0))
    }
}

impl BitOr for Column {
    type Output = Column;

    #[inline(always)]
    fn bitor(self, other: Column) -> Column {
        Column(v128_or(self.0, other.0))
    }
}
