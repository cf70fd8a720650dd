//! Kernels for AVX-512: one to sixteen lanes, in two variants.
//!
//! `avx512` is for processors with one-cycle rotates and full-width 512-bit units (Intel, Zen 5). `avx512-ymm` is for
//! Zen 4, where a rotate takes two cycles and a 512-bit operation holds its pipe for two: rotates are fused off the
//! latency chain, and sixteen lanes go as two streams of eight.

use super::{ROW_CONSTANTS, Scratch, advance, xof};
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

/// A row body for one message, see [`crate::blake3::kernel::Run`].
macro_rules! run {
    ($file:literal, $key:ident, $input:ident, $counter:ident, $flags:ident, $out:ident) => {{
        let mut scratch = Scratch::new();
        // SAFETY: masked loads read `input` and nothing behind it; scratch is as large as the body needs; the body
        // destroys what the ABI allows and nothing else.
        unsafe {
            core::arch::asm!(
                include_str!($file),
                inout("rdi") &raw const *$key => _,
                inout("rsi") $input.as_ptr() => _,
                inout("rdx") $input.len() => _,
                inout("rcx") $counter => _,
                inout("r8") u64::from($flags.0) => _,
                in("r9") &raw mut *$out,
                inout("r10") &raw mut scratch => _,
                inout("r11") &raw const ROW_CONSTANTS => _,
                clobber_abi("sysv64"),
                options(raw),
            );
        }
    }};
}

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
fn run(key: &Cv, input: &[u8], counter: u64, flags: RunFlags, out: &mut Cv) {
    run!("avx512_run.s", key, input, counter, flags, out);
}

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
fn run_fused(key: &Cv, input: &[u8], counter: u64, flags: RunFlags, out: &mut Cv) {
    run!("avx512_run_fused.s", key, input, counter, flags, out);
}

/// Where the row bodies expect the last row of each lane for the first, the last and every other block.
const ROWS_D: usize = 3584;

/// A row body for two or four messages.
macro_rules! rows {
    ($file:literal, $count:literal, $lanes:ident, $blocks:ident) => {{
        let mut scratch = Scratch::new();
        let rows: *mut [[[u32; 4]; 4]; 3] = (&raw mut scratch).cast::<u8>().wrapping_add(ROWS_D).cast();
        let mut d = [[[0; 4]; 4]; 3];
        for lane in 0..$count {
            let counter = [$lanes.counter_low[lane], $lanes.counter_high[lane]];
            let row = |len, flags| [counter[0], counter[1], len, flags];
            let only = if $blocks == 1 { $lanes.first[lane] } else { 0 };
            d[0][lane] = row(BLOCK_LEN as u32, $lanes.first[lane]);
            d[1][lane] = row(BLOCK_LEN as u32, $lanes.middle[lane]);
            d[2][lane] = row($lanes.last_len[lane], only | $lanes.last[lane]);
        }
        // SAFETY: the rows lie within scratch, aligned, behind the messages. The caller's lanes are readable and
        // writable as `Wide::advance` demands; the body destroys what the ABI allows, and r12 and r13.
        unsafe {
            rows.write(d);
            core::arch::asm!(
                include_str!($file),
                inout("rdi") &raw mut *$lanes => _,
                inout("rsi") $blocks => _,
                in("r10") &raw mut scratch,
                in("r11") &raw const ROW_CONSTANTS,
                out("r12") _,
                out("r13") _,
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
