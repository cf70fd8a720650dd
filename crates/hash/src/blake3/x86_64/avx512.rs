//! Kernels for AVX-512: one to sixteen lanes, in two variants.
//!
//! `avx512` is for processors with one-cycle rotates and full-width 512-bit units (Intel, Zen 5). `avx512-ymm` is for
//! Zen 4, where a rotate takes two cycles and a 512-bit operation holds its pipe for two: rotates are fused off the
//! latency chain, and sixteen lanes go as two streams of eight.

use super::{CONSTANTS, advance, run, xof};
use crate::blake3::BLOCK_LEN;
use crate::blake3::kernel::{Cv, Lanes, RunFlags, Table, Wide, XofJob};
use crate::isa::{Feature, Features};

const NEEDS: Features = Features::of(&[Feature::Avx512, Feature::Bmi2]);

pub(in crate::blake3) static AVX512: Table = Table {
    name: "avx512",
    needs: NEEDS,
    run,
    wide: &[
        Wide { lanes: 2, advance: lanes2 },
        Wide { lanes: 4, advance: lanes4 },
        Wide { lanes: 8, advance: lanes8 },
        Wide { lanes: 16, advance: lanes16 },
    ],
    xof: xof16,
};

pub(in crate::blake3) static AVX512_YMM: Table = Table {
    name: "avx512-ymm",
    needs: NEEDS,
    run: run_fused,
    wide: &[
        Wide { lanes: 2, advance: lanes2_fused },
        Wide { lanes: 4, advance: lanes4_fused },
        Wide { lanes: 8, advance: lanes8 },
        Wide { lanes: 16, advance: lanes2x8 },
    ],
    xof: xof16,
};

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
fn run(key: &Cv, input: &[u8], counter: u64, flags: RunFlags, out: &mut Cv) {
    run!("avx512_run.s", false, key, input, counter, flags, out);
}

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
fn run_fused(key: &Cv, input: &[u8], counter: u64, flags: RunFlags, out: &mut Cv) {
    run!("avx512_run_fused.s", false, key, input, counter, flags, out);
}

/// The last rows of the lanes, for the first, every other and the last block, as the row bodies expect them.
#[repr(C, align(64))]
struct RowsD([[[u32; 4]; 4]; 3]);

/// A row body for two or four messages.
macro_rules! rows {
    ($file:literal, $count:literal, $lanes:ident, $blocks:ident) => {{
        let mut d = RowsD([[[0; 4]; 4]; 3]);
        for lane in 0..$count {
            let row = |len, flags| [$lanes.counter_low[lane], $lanes.counter_high[lane], len, flags];
            let only = if $blocks == 1 { $lanes.first[lane] } else { 0 };
            d.0[0][lane] = row(BLOCK_LEN as u32, $lanes.first[lane]);
            d.0[1][lane] = row(BLOCK_LEN as u32, $lanes.middle[lane]);
            d.0[2][lane] = row($lanes.last_len[lane], only | $lanes.last[lane]);
        }
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

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
unsafe fn lanes2(lanes: &mut Lanes, blocks: usize) {
    rows!("avx512_lanes2.s", 2, lanes, blocks);
}

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
unsafe fn lanes2_fused(lanes: &mut Lanes, blocks: usize) {
    rows!("avx512_lanes2_fused.s", 2, lanes, blocks);
}

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
unsafe fn lanes4(lanes: &mut Lanes, blocks: usize) {
    rows!("avx512_lanes4.s", 4, lanes, blocks);
}

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
unsafe fn lanes4_fused(lanes: &mut Lanes, blocks: usize) {
    rows!("avx512_lanes4_fused.s", 4, lanes, blocks);
}

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
unsafe fn lanes8(lanes: &mut Lanes, blocks: usize) {
    advance!("avx512_lanes8.s", lanes, blocks);
}

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
unsafe fn lanes16(lanes: &mut Lanes, blocks: usize) {
    advance!("avx512_lanes16.s", lanes, blocks);
}

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
unsafe fn lanes2x8(lanes: &mut Lanes, blocks: usize) {
    advance!("avx512_lanes2x8.s", lanes, blocks);
}

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
fn xof16(job: &XofJob, counter: u64, out: &mut [[u8; BLOCK_LEN]]) {
    xof!("avx512_xof16.s", 16, job, counter, out);
}
