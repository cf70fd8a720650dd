//! Kernels for AVX-512: one to sixteen lanes, in two variants.
//!
//! `avx512` is for processors with one-cycle rotates and full-width 512-bit units (Intel, Zen 5). `avx512-ymm` is for
//! Zen 4, where a rotate takes two cycles and a 512-bit operation holds its pipe for two: rotates are fused off the
//! latency chain, and sixteen lanes go as two streams of eight.

use super::{CONSTANTS, advance, run, xof};
use crate::blake3::BLOCK_LEN;
use crate::blake3::kernel::{Cv, Lanes, RunFlags, Table, Uniform, Wide, XofJob};
use crate::isa::{Feature, Features};

const NEEDS: Features = Features::of(&[Feature::Avx512, Feature::Bmi2]);

pub(in crate::blake3) static AVX512: Table = Table {
    name: "avx512",
    needs: NEEDS,
    run,
    wide: &[
        Wide { lanes: 2, advance: lanes2::advance, uniform: lanes2::uniform },
        Wide { lanes: 4, advance: lanes4::advance, uniform: lanes4::uniform },
        Wide { lanes: 8, advance: lanes8::advance, uniform: lanes8::uniform },
        Wide { lanes: 16, advance: lanes16::advance, uniform: lanes16::uniform },
    ],
    xof,
};

pub(in crate::blake3) static AVX512_YMM: Table = Table {
    name: "avx512-ymm",
    needs: NEEDS,
    run: run_fused,
    wide: &[
        Wide { lanes: 2, advance: lanes2_fused::advance, uniform: lanes2_fused::uniform },
        Wide { lanes: 4, advance: lanes4_fused::advance, uniform: lanes4_fused::uniform },
        Wide { lanes: 8, advance: lanes8::advance, uniform: lanes8::uniform },
        Wide { lanes: 16, advance: lanes2x8::advance, uniform: lanes2x8::uniform },
    ],
    xof,
};

/// See [`crate::blake3::kernel::Run`].
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
fn run(key: &Cv, input: &[u8], counter: u64, flags: RunFlags, out: &mut Cv) {
    run!("avx512_run.s", false, key, input, counter, flags, out);
}

/// See [`crate::blake3::kernel::Run`].
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
fn run_fused(key: &Cv, input: &[u8], counter: u64, flags: RunFlags, out: &mut Cv) {
    run!("avx512_run_fused.s", false, key, input, counter, flags, out);
}

/// The last rows of the lanes, for the first, every other and the last block, as the row bodies expect them.
#[repr(C, align(64))]
struct RowsD([[[u32; 4]; 4]; 3]);

impl RowsD {
    #[inline(always)]
    fn of(lanes: &Lanes, count: usize, blocks: usize) -> RowsD {
        let mut d = RowsD([[[0; 4]; 4]; 3]);
        for lane in 0..count {
            let row = |len, flags| [lanes.counter_low[lane], lanes.counter_high[lane], len, flags];
            let only = if blocks == 1 { lanes.first[lane] } else { 0 };
            d.0[0][lane] = row(BLOCK_LEN as u32, lanes.first[lane]);
            d.0[1][lane] = row(BLOCK_LEN as u32, lanes.middle[lane]);
            d.0[2][lane] = row(lanes.last_len[lane], only | lanes.last[lane]);
        }
        d
    }
}

/// A row body for two or four messages.
macro_rules! rows {
    ($file:literal, $count:literal, $lanes:ident, $blocks:ident) => {{
        let d = RowsD::of($lanes, $count, $blocks);
        // SAFETY: the caller's lanes are readable and writable as `Wide::advance` demands; the body destroys what the
        // ABI allows and nothing else.
        unsafe {
            core::arch::asm!(
                include_str!($file),
                inout("rdi") &raw mut *$lanes => _,
                inout("rsi") $blocks => _,
                in("r10") &raw const d,
                in("r11") &raw const CONSTANTS,
                clobber_abi("sysv64"),
                options(raw),
            );
        }
    }};
}

/// The two entries of a wide kernel around one body.
macro_rules! wide {
    ($name:ident, $body:ident, $file:literal $(, $count:literal)?) => {
        mod $name {
            use super::*;

            /// See [`Wide::advance`].
            #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
            pub(super) unsafe fn advance(lanes: &mut Lanes, blocks: usize) {
                $body!($file $(, $count)?, lanes, blocks);
            }

            /// See [`Wide::uniform`].
            #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
            pub(super) unsafe fn uniform(job: &Uniform) {
                let (lanes, blocks) = (&mut Lanes::of(job), job.blocks);
                $body!($file $(, $count)?, lanes, blocks);
            }
        }
    };
}

wide!(lanes2, rows, "avx512_lanes2.s", 2);
wide!(lanes4, rows, "avx512_lanes4.s", 4);
wide!(lanes2_fused, rows, "avx512_lanes2_fused.s", 2);
wide!(lanes4_fused, rows, "avx512_lanes4_fused.s", 4);
wide!(lanes8, advance, "avx512_lanes8.s");
wide!(lanes16, advance, "avx512_lanes16.s");
wide!(lanes2x8, advance, "avx512_lanes2x8.s");

/// A row body for one or four output blocks.
macro_rules! xof_rows {
    ($file:literal, $count:literal, $job:ident, $counter:expr, $out:ident) => {{
        let out: &mut [[u8; BLOCK_LEN]; $count] = $out;
        let mut d = RowsD([[[0; 4]; 4]; 3]);
        for (lane, row) in d.0[0][..$count].iter_mut().enumerate() {
            let counter = $counter.wrapping_add(lane as u64);
            *row = [counter as u32, (counter >> 32) as u32, $job.len, $job.flags];
        }
        // SAFETY: `out` has as many blocks as the body writes; the body destroys what the ABI allows and nothing else.
        unsafe {
            core::arch::asm!(
                include_str!($file),
                in("rdi") &raw const *$job,
                in("rcx") out.as_mut_ptr(),
                in("r10") &raw const d,
                in("r11") &raw const CONSTANTS,
                clobber_abi("sysv64"),
                options(raw),
            );
        }
    }};
}

/// See [`crate::blake3::kernel::Xof`].
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
fn xof(job: &XofJob, counter: u64, out: &mut [[u8; BLOCK_LEN]]) {
    let (groups, rest) = out.as_chunks_mut::<16>();
    let rest_counter = counter.wrapping_add(16 * groups.len() as u64);
    if !groups.is_empty() {
        xof!("avx512_xof16.s", job, counter, groups);
    }
    // A few blocks go faster in rows than in columns most of which nobody needs.
    let (fours, rest) = rest.as_chunks_mut::<4>();
    for (four, index) in fours.iter_mut().zip(0..) {
        xof_rows!("avx512_xof4.s", 4, job, rest_counter.wrapping_add(4 * index), four);
    }
    let rest_counter = rest_counter.wrapping_add(4 * fours.len() as u64);
    match rest {
        [] => {}
        [one] => {
            let one = core::array::from_mut(one);
            xof_rows!("avx512_xof1.s", 1, job, rest_counter, one);
        }
        several => {
            let mut four = [[0; BLOCK_LEN]; 4];
            let out = &mut four;
            xof_rows!("avx512_xof4.s", 4, job, rest_counter, out);
            several.copy_from_slice(&four[..several.len()]);
        }
    }
}
