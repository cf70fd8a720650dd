//! Vector registers of this processor: their width, and two loops that use the widest ones.
//!
//! Callers measure the machine's limits with the loops. They choose the instruction set at run time, so one
//! program shows the limits of every processor that it runs on.
#![allow(
    unsafe_code,
    reason = "calls of functions for instruction sets that this processor was seen to have"
)]

/// Registers that [`add_xor_rounds`] keeps busy: enough for every port, few enough to need no memory.
pub const REGISTERS: usize = 12;

/// Bytes of the widest vector register.
#[must_use]
pub fn vector_bytes() -> usize {
    isa::WIDEST[isa::level()].bytes
}

/// The wrapping sum of the whole little-endian words of `bytes`, read in order with the widest registers.
#[must_use]
pub fn sum_words(bytes: &[u8]) -> u64 {
    // SAFETY: `level` is at most what this processor has.
    unsafe { (isa::WIDEST[isa::level()].sum)(bytes) }
}

/// Adds and exclusive-ors the two operands `rounds` times to every lane of [`REGISTERS`] vector registers, which begin with their
/// number. Returns one lane of each; the complement of it where the lanes differ.
#[must_use]
pub fn add_xor_rounds(rounds: u64, operands: [u32; 2]) -> [u32; REGISTERS] {
    // SAFETY: `level` is at most what this processor has.
    unsafe { (isa::WIDEST[isa::level()].rounds)(rounds, operands) }
}

/// The loops for one width.
struct Level {
    bytes: usize,
    sum: unsafe fn(&[u8]) -> u64,
    rounds: unsafe fn(u64, [u32; 2]) -> [u32; REGISTERS],
}

/// Inlined into functions for one instruction set each, where the compiler uses that.
#[inline(always)]
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.as_chunks::<8>().0.iter();
    words.fold(0, |sum: u64, word| sum.wrapping_add(u64::from_le_bytes(*word)))
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
/// One [`Level`]: how a register is made of one number, added, exclusive-ored, and read.
macro_rules! level {
    ($name:ident, $features:literal, $register:ty, $splat:expr, $add:expr, $xor:expr, $first:expr, $equal:expr) => {
        mod $name {
            use super::*;

            pub(super) const LEVEL: Level = Level { bytes: size_of::<$register>(), sum, rounds };

            #[target_feature(enable = $features)]
            fn sum(bytes: &[u8]) -> u64 {
                crate::processors::vectors::sum(bytes)
            }

            #[target_feature(enable = $features)]
            fn rounds(rounds: u64, operands: [u32; 2]) -> [u32; REGISTERS] {
                let [addend, mask] = std::hint::black_box(operands).map(u32::cast_signed);
                let (addend, mask) = ($splat(addend), $splat(mask));
                let mut registers = [$splat(0); REGISTERS];
                for (register, number) in registers.iter_mut().zip(0..) {
                    *register = $splat(number);
                }
                for _ in 0..rounds {
                    for register in &mut registers {
                        *register = $xor($add(*register, addend), mask);
                    }
                }
                let mut lanes = [0; REGISTERS];
                for (lane, register) in lanes.iter_mut().zip(registers) {
                    let first: i32 = $first(register);
                    let is_equal: bool = $equal(register, $splat(first));
                    *lane = if is_equal { first.cast_unsigned() } else { !first.cast_unsigned() };
                }
                lanes
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod isa {
    use super::{Level, REGISTERS};
    use std::arch::x86_64::*;

    /// From narrow to wide.
    pub(super) const WIDEST: [Level; 3] = [sse2::LEVEL, avx2::LEVEL, avx512::LEVEL];

    /// The widest level of this processor.
    pub(super) fn level() -> usize {
        // The extensions that x86-64-v4 has: the compiler uses them for sums, too.
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        match () {
            () if avx512 => 2,
            () if is_x86_feature_detected!("avx2") => 1,
            () => 0,
        }
    }

    level!(
        sse2,
        "sse2",
        __m128i,
        _mm_set1_epi32,
        _mm_add_epi32,
        _mm_xor_si128,
        _mm_cvtsi128_si32,
        |one, other| _mm_movemask_epi8(_mm_cmpeq_epi32(one, other)) == 0xFFFF
    );
    level!(
        avx2,
        "avx2",
        __m256i,
        _mm256_set1_epi32,
        _mm256_add_epi32,
        _mm256_xor_si256,
        _mm256_cvtsi256_si32,
        |one, other| _mm256_movemask_epi8(_mm256_cmpeq_epi32(one, other)) == -1
    );
    level!(
        avx512,
        "avx512f,avx512bw,avx512dq,avx512vl",
        __m512i,
        _mm512_set1_epi32,
        _mm512_add_epi32,
        _mm512_xor_si512,
        _mm512_cvtsi512_si32,
        |one, other| _mm512_cmpeq_epi32_mask(one, other) == 0xFFFF
    );
}

#[cfg(target_arch = "aarch64")]
mod isa {
    use super::{Level, REGISTERS};
    use std::arch::aarch64::*;

    pub(super) const WIDEST: [Level; 1] = [neon::LEVEL];

    /// Every processor for 64-bit programs has NEON.
    pub(super) fn level() -> usize {
        0
    }

    level!(neon, "neon", int32x4_t, vdupq_n_s32, vaddq_s32, veorq_s32, vgetq_lane_s32::<0>, |one, other| {
        vminvq_u32(vceqq_s32(one, other)) == u32::MAX
    });
}

/// One lane, as wide as an ordinary register.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod isa {
    use super::{Level, REGISTERS, sum};

    pub(super) const WIDEST: [Level; 1] = [Level { bytes: size_of::<u32>(), sum, rounds }];

    pub(super) fn level() -> usize {
        0
    }

    fn rounds(rounds: u64, operands: [u32; 2]) -> [u32; REGISTERS] {
        let [addend, mask] = std::hint::black_box(operands);
        let mut registers: [u32; REGISTERS] = std::array::from_fn(|i| i as u32);
        for _ in 0..rounds {
            for register in &mut registers {
                *register = std::hint::black_box(register.wrapping_add(addend) ^ mask);
            }
        }
        registers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The levels of this processor.
    fn levels() -> &'static [Level] {
        &isa::WIDEST[..=isa::level()]
    }

    #[test]
    fn every_level_computes_what_scalars_do() {
        const OPERANDS: [u32; 2] = [0x9E37_79B9, 0x5555_5555];
        let bytes: Vec<u8> = (0..1003_u32).map(|i| (i.wrapping_mul(0x9E37_79B9) >> 24) as u8).collect();
        for level in levels() {
            for len in [0, 7, 8, 64, 65, 127, 128, 1000, 1003] {
                let words =
                    bytes[..len].chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8")));
                let expected = words.fold(0, u64::wrapping_add);
                // SAFETY: this processor has the level.
                assert_eq!(unsafe { (level.sum)(&bytes[..len]) }, expected, "{} {len}", level.bytes);
            }
            for rounds in [0, 1, 2, 1000] {
                let expected: [u32; REGISTERS] = std::array::from_fn(|i| {
                    (0..rounds).fold(i as u32, |x, _| x.wrapping_add(OPERANDS[0]) ^ OPERANDS[1])
                });
                // SAFETY: this processor has the level.
                let found = unsafe { (level.rounds)(rounds, OPERANDS) };
                assert_eq!(found, expected, "{} bytes, {rounds} rounds", level.bytes);
            }
        }
    }

    #[test]
    fn the_widest_level_is_the_last() {
        let widths: Vec<usize> = levels().iter().map(|level| level.bytes).collect();
        assert!(widths.is_sorted() && widths.last() == Some(&vector_bytes()), "{widths:?}");
    }
}
