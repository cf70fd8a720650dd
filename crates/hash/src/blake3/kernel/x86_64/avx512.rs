//! Kernels for AVX-512: one to thirty-two lanes, in three variants.
//!
//! `avx512` is for processors with one-cycle rotates and full-width 512-bit units (Intel). `avx512-ymm` is
//! for Zen 4, where a rotate takes two cycles and a 512-bit operation occupies its pipe for two: rotates are
//! taken off the latency chain by fusion, sixteen lanes are two streams of eight, and four messages in rows
//! are two streams of two. Only its rounds are limited to 256 bits: it also uses 512-bit registers, to transpose
//! messages and to hold counters, so it needs the same CPU features as the others. `avx512-twin` is for Zen 5, where every vector operation takes two cycles: one
//! message is computed in general registers, and thirty-two lanes are two streams of sixteen.

use super::{CONSTANTS, advance, run, xof};
use crate::blake3::BLOCK_LEN;
use crate::blake3::kernel::table::{Cv, Lanes, RunFlags, Table, UniformLanes, Wide, XofJob};
use crate::isa::{Feature, Features};
use core::arch::x86_64::*;

const NEEDS: Features = Features::from_list(&[Feature::Avx512, Feature::Bmi2]);

pub(in crate::blake3) static AVX512: Table = Table {
    name: "avx512",
    needs: NEEDS,
    run,
    run_cost: 174,
    wide: &[
        Wide { lanes: 2, cost: 175, advance: lanes2::advance, uniform: lanes2::uniform },
        Wide { lanes: 4, cost: 179, advance: lanes4::advance, uniform: lanes4::uniform },
        Wide { lanes: 8, cost: 297, advance: lanes8::advance, uniform: lanes8::uniform },
        Wide { lanes: 16, cost: 447, advance: lanes16::advance, uniform: lanes16::uniform },
    ],
    xof,
};

pub(in crate::blake3) static AVX512_TWIN: Table = Table {
    name: "avx512-twin",
    needs: NEEDS,
    run: run_general,
    run_cost: 197,
    wide: &[
        Wide { lanes: 2, cost: 336, advance: lanes2::advance, uniform: lanes2::uniform },
        Wide { lanes: 4, cost: 340, advance: lanes4::advance, uniform: lanes4::uniform },
        Wide { lanes: 8, cost: 371, advance: lanes8::advance, uniform: lanes8::uniform },
        Wide { lanes: 16, cost: 425, advance: lanes16::advance, uniform: lanes16::uniform },
        Wide { lanes: 32, cost: 600, advance: lanes2x16::advance, uniform: lanes2x16::uniform },
    ],
    xof: xof_twin,
};

pub(in crate::blake3) static AVX512_YMM: Table = Table {
    name: "avx512-ymm",
    needs: NEEDS,
    run: run_fused,
    run_cost: 200,
    wide: &[
        Wide { lanes: 2, cost: 203, advance: lanes2_fused::advance, uniform: lanes2_fused::uniform },
        Wide { lanes: 4, cost: 251, advance: lanes2x2::advance, uniform: lanes2x2::uniform },
        Wide { lanes: 8, cost: 298, advance: lanes8::advance, uniform: lanes8::uniform },
        Wide { lanes: 16, cost: 435, advance: lanes2x8::advance, uniform: lanes2x8::uniform },
    ],
    xof: xof_ymm,
};

/// See [`crate::blake3::kernel::table::Run`].
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
fn run(key: &Cv, input: &[u8], counter: u64, flags: RunFlags, out: &mut Cv) {
    run!("generated/run/avx512_run.s", false, key, input, counter, flags, out);
}

/// See [`crate::blake3::kernel::table::Run`].
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
fn run_fused(key: &Cv, input: &[u8], counter: u64, flags: RunFlags, out: &mut Cv) {
    run!("generated/run/avx512_run_fused.s", false, key, input, counter, flags, out);
}

/// See [`crate::blake3::kernel::table::Run`].
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
fn run_general(key: &Cv, input: &[u8], counter: u64, flags: RunFlags, out: &mut Cv) {
    run!(
        "generated/run/avx512_run_general.s", false, key, input, counter, flags, out,
        out("r12") _, out("r13") _, out("r14") _, out("r15") _
    );
}

/// Rows d of up to four lanes: counters, then length and flags.
#[inline]
#[target_feature(enable = "avx512f")]
fn rows_d(counters: __m512i, len: u32, flags: u32) -> __m512i {
    let len_flags = u64::from(len) | u64::from(flags) << 32;
    _mm512_unpacklo_epi64(counters, _mm512_set1_epi64(len_flags as i64))
}

/// Counters from `counter` on, in the layout of [`rows_d`], or `counter` in every lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn counters(counter: u64, step: bool) -> __m512i {
    let lane = if step { _mm512_setr_epi64(0, 0, 1, 0, 2, 0, 3, 0) } else { _mm512_setzero_si512() };
    _mm512_add_epi64(_mm512_set1_epi64(counter as i64), lane)
}

/// The rows d of all blocks but the first, as the row bodies expect them: the middle ones, then the last.
#[repr(C, align(64))]
struct LaterRows([__m512i; 2]);

/// A row body for two or four messages.
macro_rules! rows_body {
    ($file:literal, $input:expr, $blocks:expr, $key:expr, $cv:expr, $first:ident, $later:ident) => {
        // SAFETY: the caller's lanes are readable and its chaining values writable as `Wide` requires; the
        // body clobbers only what the ABI allows.
        unsafe {
            core::arch::asm!(
                include_str!($file),
                in("rax") $input[0],
                in("rdx") $input[1],
                in("rcx") $input[2],
                in("r8") $input[3],
                inout("rsi") $blocks => _,
                in("rdi") $cv,
                inout("r9") $key => _,
                in("r10") &raw const $later,
                in("r11") &raw const CONSTANTS,
                in("zmm14") $first,
                clobber_abi("sysv64"),
                options(raw),
            );
        }
    };
}

/// The two entry points of a row kernel around one body.
macro_rules! rows {
    ($name:ident, $file:literal) => {
        mod $name {
            use super::*;

            /// See [`Wide::advance`].
            #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
            pub(super) unsafe fn advance(lanes: &mut [Lanes], blocks: usize) {
                let lanes = &lanes[0];
                let words = &lanes.words;
                let row = |lane: usize, len: u32, flags: u32| {
                    let counter =
                        u64::from(words.counter_low[lane]) | u64::from(words.counter_high[lane]) << 32;
                    [counter, u64::from(len) | u64::from(flags) << 32].map(u64::cast_signed)
                };
                let rows = |row: &dyn Fn(usize) -> [i64; 2]| {
                    let [[a, b], [c, d], [e, f], [g, h]] = [0, 1, 2, 3].map(row);
                    _mm512_setr_epi64(a, b, c, d, e, f, g, h)
                };
                let full = BLOCK_LEN as u32;
                let middle = rows(&|lane| row(lane, full, words.middle[lane]));
                let last = rows(&|lane| row(lane, words.last_len[lane], words.last[lane]));
                let first = match blocks {
                    1 => rows(&|lane| row(lane, words.last_len[lane], words.first[lane] | words.last[lane])),
                    _ => rows(&|lane| row(lane, full, words.first[lane])),
                };
                let later = LaterRows([middle, last]);
                rows_body!($file, lanes.input, blocks, lanes.key, lanes.cv, first, later);
            }

            /// See [`Wide::uniform`].
            #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
            pub(super) unsafe fn uniform(job: &UniformLanes) {
                let counters = counters(job.counter, job.step);
                let full = BLOCK_LEN as u32;
                let first = rows_d(counters, full, job.flags.at(true, job.blocks == 1));
                let middle = rows_d(counters, full, job.flags.at(false, false));
                let later = LaterRows([middle, rows_d(counters, full, job.flags.at(false, true))]);
                let input = job.inputs::<4>();
                rows_body!($file, input, job.blocks, job.key, job.cv, first, later);
            }
        }
    };
}

rows!(lanes2, "generated/lanes/rows/avx512_lanes2.s");
rows!(lanes4, "generated/lanes/rows/avx512_lanes4.s");
rows!(lanes2_fused, "generated/lanes/rows/avx512_lanes2_fused.s");
rows!(lanes2x2, "generated/lanes/rows/avx512_lanes2x2.s");

/// The two entry points of a column kernel around one body.
macro_rules! columns {
    ($name:ident, $file:literal, $scratch:ident, [$($group:literal),+]) => {
        mod $name {
            use super::*;

            /// See [`Wide::advance`].
            #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
            pub(super) unsafe fn advance(lanes: &mut [Lanes], blocks: usize) {
                advance!($file, $scratch, lanes, blocks);
            }

            /// See [`Wide::uniform`].
            #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
            pub(super) unsafe fn uniform(job: &UniformLanes) {
                let (lanes, blocks) = (&mut [$(Lanes::from_job(&job.group($group))),+], job.blocks);
                advance!($file, $scratch, lanes, blocks);
            }
        }
    };
}

/// As `columns!`, for a body that reads only half of a group of lanes.
mod lanes8 {
    use super::*;
    use crate::blake3::kernel::x86_64::first_lanes;

    /// See [`Wide::advance`].
    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
    pub(super) unsafe fn advance(lanes: &mut [Lanes], blocks: usize) {
        advance!("generated/lanes/columns/avx512_lanes8.s", PLAIN, lanes, blocks);
    }

    /// See [`Wide::uniform`].
    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
    pub(super) unsafe fn uniform(job: &UniformLanes) {
        let (mut lanes, blocks) = (first_lanes::<8>(job), job.blocks);
        advance!("generated/lanes/columns/avx512_lanes8.s", PLAIN, lanes, blocks);
    }
}

columns!(lanes16, "generated/lanes/columns/avx512_lanes16.s", PLAIN, [0]);
columns!(lanes2x8, "generated/lanes/columns/avx512_lanes2x8.s", PLAIN, [0]);
columns!(lanes2x16, "generated/lanes/columns/avx512_lanes2x16.s", PAIRED, [0, 1]);

/// A row body for one or four output blocks.
macro_rules! xof_rows {
    ($file:literal, $count:literal, $job:ident, $d:expr, $out:ident) => {{
        let out: &mut [[u8; BLOCK_LEN]; $count] = $out;
        let d = $d;
        // SAFETY: `out` has as many blocks as the body writes; the body clobbers only what the ABI allows.
        unsafe {
            core::arch::asm!(
                include_str!($file),
                in("rdi") &raw const *$job,
                in("rcx") out.as_mut_ptr(),
                in("r11") &raw const CONSTANTS,
                in("zmm3") d,
                clobber_abi("sysv64"),
                options(raw),
            );
        }
    }};
}

/// See [`crate::blake3::kernel::table::Xof`]: bodies of sixteen, four and one block.
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
fn xof(job: &XofJob, counter: u64, out: &mut [[u8; BLOCK_LEN]]) {
    let (groups, rest) = out.as_chunks_mut::<16>();
    let rest_counter = counter.wrapping_add(16 * groups.len() as u64);
    if !groups.is_empty() {
        xof!("generated/xof/many/avx512_xof16.s", job, counter, groups);
    }
    // A few blocks are faster in rows than in columns that are mostly unused.
    let (fours, rest) = rest.as_chunks_mut::<4>();
    let four_d = |counter| rows_d(counters(counter, true), job.len, job.flags);
    for (four, index) in fours.iter_mut().zip(0..) {
        let d = four_d(rest_counter.wrapping_add(4 * index));
        xof_rows!("generated/xof/few/avx512_xof4.s", 4, job, d, four);
    }
    let rest_counter = rest_counter.wrapping_add(4 * fours.len() as u64);
    match rest {
        [] => {}
        [one] => {
            let one = core::array::from_mut(one);
            let len_flags = u64::from(job.len) | u64::from(job.flags) << 32;
            let d = _mm_set_epi64x(len_flags.cast_signed(), rest_counter.cast_signed());
            xof_rows!("generated/xof/few/avx512_xof1.s", 1, job, _mm512_castsi128_si512(d), one);
        }
        several => {
            let mut four = [[0; BLOCK_LEN]; 4];
            let out = &mut four;
            xof_rows!("generated/xof/few/avx512_xof4.s", 4, job, four_d(rest_counter), out);
            several.copy_from_slice(&four[..several.len()]);
        }
    }
}

/// See [`crate::blake3::kernel::table::Xof`].
///
/// The narrowest body that covers the blocks.
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
fn xof_ymm(job: &XofJob, counter: u64, out: &mut [[u8; BLOCK_LEN]]) {
    let len_flags = u64::from(job.len) | u64::from(job.flags) << 32;
    match out {
        [] => {}
        [one] => {
            let one = core::array::from_mut(one);
            let d = _mm512_castsi128_si512(_mm_set_epi64x(len_flags.cast_signed(), counter.cast_signed()));
            xof_rows!("generated/xof/few/avx512_xof1_fused.s", 1, job, d, one);
        }
        [_, _] => {
            let two = out.as_mut_array().expect("two blocks");
            let d = rows_d(counters(counter, true), job.len, job.flags);
            xof_rows!("generated/xof/few/avx512_xof2_fused.s", 2, job, d, two);
        }
        [_, _, _] | [_, _, _, _] => xof2x2(job, counter, out),
        _ if out.len() <= 8 => xof8_direct(job, counter, out),
        _ if out.len() >= LONG_OUTPUT => {
            let (groups, rest) = out.as_chunks_mut::<16>();
            let rest_counter = counter.wrapping_add(16 * groups.len() as u64);
            xof2x8(job, counter, groups);
            xof_ymm(job, rest_counter, rest);
        }
        _ => {
            // Up to eight remaining blocks are done without a last group of sixteen.
            let whole = (out.len() + 7) / 16 * 16;
            let (groups, rest) = out.split_at_mut(whole.min(out.len()));
            let rest_counter = counter.wrapping_add(groups.len() as u64);
            xof2x8_direct(job, counter, groups);
            xof_ymm(job, rest_counter, rest);
        }
    }
}

/// Blocks from which the words of a group are copied beside the rounds of the next one.
const LONG_OUTPUT: usize = 32;

/// Groups of sixteen output blocks.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
fn xof2x8(job: &XofJob, counter: u64, groups: &mut [[[u8; BLOCK_LEN]; 16]]) {
    xof!("generated/xof/many/avx512_xof2x8.s", job, counter, groups);
}

/// An output body for one or more blocks.
macro_rules! xof_blocks {
    ($file:literal, $job:ident, $counter:expr, $out:ident) => {{
        let mut scratch = super::Scratch::<64>::new();
        // SAFETY: the body writes `out.len()` blocks, at least one; scratch holds the one register that it
        // stores there; the body clobbers only what the ABI allows.
        unsafe {
            core::arch::asm!(
                include_str!($file),
                in("rdi") &raw const *$job,
                inout("rsi") $counter => _,
                inout("rdx") $out.len() => _,
                inout("rcx") $out.as_mut_ptr() => _,
                in("r10") &raw mut scratch,
                in("r11") &raw const CONSTANTS,
                clobber_abi("sysv64"),
                options(raw),
            );
        }
    }};
}

/// See [`crate::blake3::kernel::table::Xof`].
///
/// Each body is in a function of its own: otherwise the registers that one of them saves for its caller would
/// be saved for all.
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
fn xof_twin(job: &XofJob, counter: u64, out: &mut [[u8; BLOCK_LEN]]) {
    match out {
        [] => {}
        [one] => xof1_general(job, counter, one),
        // In rows: sixteen lanes take a quarter more time.
        [_, _] => xof2(job, counter, out),
        [_, _, _] | [_, _, _, _] => xof4(job, counter, out),
        _ if out.len() <= 16 => xof16_direct(job, counter, out),
        _ => {
            // Up to sixteen remaining blocks are done without a last group of thirty-two.
            let whole = (out.len() + 15) / 32 * 32;
            let (groups, rest) = out.split_at_mut(whole.min(out.len()));
            xof2x16_direct(job, counter, groups);
            xof_twin(job, counter.wrapping_add(groups.len() as u64), rest);
        }
    }
}

/// One output block in general registers.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
fn xof1_general(job: &XofJob, counter: u64, out: &mut [u8; BLOCK_LEN]) {
    // SAFETY: the body writes one block; it clobbers only what the ABI allows and the registers named here,
    // and pops what it pushes.
    unsafe {
        core::arch::asm!(
            include_str!("generated/xof/few/avx512_xof1_general.s"),
            inout("rdi") &raw const *job => _,
            inout("rsi") counter => _,
            inout("rdx") out.as_mut_ptr() => _,
            out("r12") _, out("r13") _, out("r14") _, out("r15") _,
            clobber_abi("sysv64"),
            options(raw),
        );
    }
}

/// A function for up to `$count` output blocks in rows.
macro_rules! xof_few {
    ($name:ident, $count:literal, $file:literal) => {
        #[inline(never)]
        #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
        fn $name(job: &XofJob, counter: u64, out: &mut [[u8; BLOCK_LEN]]) {
            let d = rows_d(counters(counter, true), job.len, job.flags);
            if let Ok(all) = <&mut [_; $count]>::try_from(&mut *out) {
                xof_rows!($file, $count, job, d, all);
            } else {
                let mut blocks = [[0; BLOCK_LEN]; $count];
                let all = &mut blocks;
                xof_rows!($file, $count, job, d, all);
                out.copy_from_slice(&blocks[..out.len()]);
            }
        }
    };
}

xof_few!(xof2, 2, "generated/xof/few/avx512_xof2.s");
xof_few!(xof4, 4, "generated/xof/few/avx512_xof4.s");
xof_few!(xof2x2, 4, "generated/xof/few/avx512_xof2x2.s");

/// A function for one or more output blocks in columns.
macro_rules! direct_columns {
    ($name:ident, $file:literal) => {
        #[inline(never)]
        #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi2")]
        fn $name(job: &XofJob, counter: u64, out: &mut [[u8; BLOCK_LEN]]) {
            xof_blocks!($file, job, counter, out);
        }
    };
}

direct_columns!(xof8_direct, "generated/xof/many/avx512_xof8_direct.s");
direct_columns!(xof2x8_direct, "generated/xof/many/avx512_xof2x8_direct.s");
direct_columns!(xof16_direct, "generated/xof/many/avx512_xof16_direct.s");
direct_columns!(xof2x16_direct, "generated/xof/many/avx512_xof2x16_direct.s");
