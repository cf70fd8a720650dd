//! The aarch64 kernels: many messages in vectors of four lanes ([`columns`]), one message in general registers.
//!
//! The four G of half a round, interleaved, fill cores with two vector pipes (a chain of 28 cycles, 32 cycles
//! of work): `neon`. Cores with four pipes have room for a second stream of four lanes, so `neon-twin`
//! alternates between the streams after each half round. The state of two streams takes all 32 registers, so
//! messages come from memory there and a few state words are spilled: 1.1 times as many instructions per
//! lane, which pays only where pipes would be idle.
//!
//! One message does not gain from vectors: with a row of its state per register (four G in one) there is no
//! second stream to hide the two cycles of a vector instruction, so a block takes about 400 cycles. In
//! general registers `add`, `eor` and `ror` take one cycle: 168 cycles where six of them start at once, 261
//! where three do. That is [`portable::run`], and the last odd block of [`columns::xof`].
//!
//! These kernels are unmeasured: `docs/design/blake3.md` has the counts, and what to measure first.

use crate::blake3::kernel::columns::{self, advance, uniform};
use crate::blake3::kernel::portable;
use crate::blake3::kernel::table::{Table, Wide};
use crate::isa::{Feature, Features};
use core::arch::aarch64::*;
use core::ops::{Add, BitOr, BitXor};

/// For cores with two vector pipes; costs are those computed for a Neoverse N1.
pub(in crate::blake3) static NEON: Table = Table {
    name: "neon",
    needs: Features::from_list(&[Feature::Neon]),
    run: portable::run,
    run_cost: 320,
    wide: &[Wide { lanes: 4, cost: 545, advance: advance::<Column, 1>, uniform: uniform::<Column, 1> }],
    xof: columns::xof::<Column, 1>,
};

/// For cores with four; costs are those computed for a Neoverse V1.
pub(in crate::blake3) static NEON_TWIN: Table = Table {
    name: "neon-twin",
    needs: Features::from_list(&[Feature::Neon]),
    run: portable::run,
    run_cost: 200,
    wide: &[
        Wide { lanes: 4, cost: 410, advance: advance::<Column, 1>, uniform: uniform::<Column, 1> },
        Wide { lanes: 8, cost: 570, advance: advance::<Column, 2>, uniform: uniform::<Column, 2> },
    ],
    xof: columns::xof::<Column, 2>,
};

/// The `unsafe` blocks below need NEON, without which this file is not compiled.
#[derive(Clone, Copy)]
struct Column(uint32x4_t);

// SAFETY: sixteen bytes.
unsafe impl columns::Column for Column {
    #[inline(always)]
    fn splat(word: u32) -> Column {
        // SAFETY: NEON.
        Column(unsafe { vdupq_n_u32(word) })
    }

    #[inline(always)]
    unsafe fn load(bytes: *const u8) -> Column {
        // SAFETY: NEON, and the caller's promise.
        Column(unsafe { vreinterpretq_u32_u8(vld1q_u8(bytes)) })
    }

    #[inline(always)]
    unsafe fn store(self, bytes: *mut u8) {
        // SAFETY: NEON, and the caller's promise.
        unsafe { vst1q_u8(bytes, vreinterpretq_u8_u32(self.0)) };
    }

    #[inline(always)]
    fn rotate<const BITS: usize>(self) -> Column {
        const BYTES: [u8; 16] = [1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12];
        let x = self.0;
        // SAFETY: NEON, and sixteen readable bytes.
        Column(unsafe {
            match BITS {
                16 => vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(x))),
                12 => vsliq_n_u32::<20>(vshrq_n_u32::<12>(x), x),
                8 => vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(x), vld1q_u8(BYTES.as_ptr()))),
                7 => vsliq_n_u32::<25>(vshrq_n_u32::<7>(x), x),
                _ => unreachable!(),
            }
        })
    }

    #[inline(always)]
    fn transpose([a, b, c, d]: [Column; 4]) -> [Column; 4] {
        // SAFETY: NEON.
        unsafe {
            let pair = |x| vreinterpretq_u64_u32(x);
            let (even_ab, odd_ab) = (pair(vtrn1q_u32(a.0, b.0)), pair(vtrn2q_u32(a.0, b.0)));
            let (even_cd, odd_cd) = (pair(vtrn1q_u32(c.0, d.0)), pair(vtrn2q_u32(c.0, d.0)));
            [
                vtrn1q_u64(even_ab, even_cd),
                vtrn1q_u64(odd_ab, odd_cd),
                vtrn2q_u64(even_ab, even_cd),
                vtrn2q_u64(odd_ab, odd_cd),
            ]
            .map(|x| Column(vreinterpretq_u32_u64(x)))
        }
    }
}

impl Add for Column {
    type Output = Column;

    #[inline(always)]
    fn add(self, other: Column) -> Column {
        // SAFETY: NEON.
        Column(unsafe { vaddq_u32(self.0, other.0) })
    }
}

impl BitXor for Column {
    type Output = Column;

    #[inline(always)]
    fn bitxor(self, other: Column) -> Column {
        // SAFETY: NEON.
        Column(unsafe { veorq_u32(self.0, other.0) })
    }
}

impl BitOr for Column {
    type Output = Column;

    #[inline(always)]
    fn bitor(self, other: Column) -> Column {
        // SAFETY: NEON.
        Column(unsafe { vorrq_u32(self.0, other.0) })
    }
}
