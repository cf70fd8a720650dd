//! Kernels for AVX2: two and four lanes in rows, eight in columns.

use super::{CONSTANTS, advance, first_lanes, run, xof_all};
use crate::blake3::BLOCK_LEN;
use crate::blake3::kernel::table::{Cv, GROUP, Lanes, RunFlags, Table, UniformLanes, Wide, XofJob};
use crate::isa::{Feature, Features};
use core::arch::x86_64::*;
use core::mem::MaybeUninit;

pub(in crate::blake3) static AVX2: Table = Table {
    name: "avx2",
    needs: Features::from_list(&[Feature::Avx2]),
    run,
    run_cost: 221,
    wide: &[
        Wide { lanes: 2, cost: 226, advance: lanes2, uniform: uniform2 },
        Wide { lanes: 4, cost: 252, advance: lanes4, uniform: uniform4 },
        Wide { lanes: 8, cost: 346, advance: lanes8, uniform: uniform8 },
    ],
    xof,
};

/// See [`crate::blake3::kernel::table::Run`].
#[target_feature(enable = "avx2")]
fn run(key: &Cv, input: &[u8], counter: u64, flags: RunFlags, out: &mut Cv) {
    run!("generated/run/avx2_run.s", true, key, input, counter, flags, out);
}

/// Rows d of two lanes: counters, then length and flags.
#[inline]
#[target_feature(enable = "avx2")]
fn rows_d(counters: [u64; 2], len: [u32; 2], flags: [u32; 2]) -> __m256i {
    let [a, b] = [0, 1].map(|lane| u64::from(len[lane]) | u64::from(flags[lane]) << 32);
    let [a, b, c, d] = [counters[0], a, counters[1], b].map(u64::cast_signed);
    _mm256_setr_epi64x(a, b, c, d)
}

/// The rows d of all blocks but the first, as the row body expects them: the middle ones, then the last.
#[repr(C, align(64))]
struct LaterRows([[__m256i; 2]; 2]);

/// A row body for two messages.
macro_rules! rows {
    ($input:expr, $blocks:expr, $key:expr, $cv:expr, $first:ident, $middle:ident, $last:ident) => {{
        let later = LaterRows([[$middle; 2], [$last; 2]]);
        // SAFETY: the caller's lanes are readable and its chaining values writable as `Wide` requires; the
        // body clobbers only what the ABI allows.
        unsafe {
            core::arch::asm!(
                include_str!("generated/lanes/rows/avx2_lanes2.s"),
                in("rax") $input[0],
                in("rdx") $input[1],
                inout("rsi") $blocks => _,
                in("rdi") $cv,
                inout("r9") $key => _,
                in("r10") &raw const later,
                in("r11") &raw const CONSTANTS,
                in("ymm14") $first,
                clobber_abi("sysv64"),
                options(raw),
            );
        }
    }};
}

/// See [`Wide::advance`].
#[target_feature(enable = "avx2")]
unsafe fn lanes2(lanes: &mut [Lanes], blocks: usize) {
    let lanes = &lanes[0];
    let words = &lanes.words;
    let pair = |words: &[u32; GROUP]| [words[0], words[1]];
    let full = [BLOCK_LEN as u32; 2];
    let counters =
        [0, 1].map(|lane| u64::from(words.counter_low[lane]) | u64::from(words.counter_high[lane]) << 32);
    let middle = rows_d(counters, full, pair(&words.middle));
    let last = rows_d(counters, pair(&words.last_len), pair(&words.last));
    let first = match blocks {
        1 => {
            let flags = [0, 1].map(|lane| words.first[lane] | words.last[lane]);
            rows_d(counters, pair(&words.last_len), flags)
        }
        _ => rows_d(counters, full, pair(&words.first)),
    };
    rows!(lanes.input, blocks, lanes.key, lanes.cv, first, middle, last);
}

/// See [`Wide::uniform`].
#[target_feature(enable = "avx2")]
unsafe fn uniform2(job: &UniformLanes) {
    let counters = [job.counter, job.counter.wrapping_add(u64::from(job.step))];
    let row = |first, last| rows_d(counters, [BLOCK_LEN as u32; 2], [job.flags.at(first, last); 2]);
    let (first, middle, last) = (row(true, job.blocks == 1), row(false, false), row(false, true));
    let input = job.inputs::<2>();
    rows!(input, job.blocks, job.key, job.cv, first, middle, last);
}

/// Memory of the body for four messages, at `r10`: the rows d of all blocks but the first, as [`LaterRows`],
/// and its working memory.
#[repr(C, align(64))]
struct Four {
    later: [[__m256i; 2]; 2],
    words: MaybeUninit<[u8; 576]>,
}

/// A row body for four messages.
macro_rules! four {
    ($input:expr, $blocks:expr, $key:expr, $cv:expr, $first:ident, $later:expr) => {{
        let mut four = Four { later: $later, words: MaybeUninit::uninit() };
        // SAFETY: the caller's lanes are readable and its chaining values writable as `Wide` requires; the
        // memory behind the rows is as large as the body needs; the body clobbers only what the ABI allows.
        unsafe {
            core::arch::asm!(
                include_str!("generated/lanes/rows/avx2_lanes4.s"),
                in("rax") $input[0],
                in("rdx") $input[1],
                in("rcx") $input[2],
                in("r8") $input[3],
                inout("rsi") $blocks => _,
                in("rdi") $cv,
                inout("r9") $key => _,
                in("r10") &raw mut four,
                in("r11") &raw const CONSTANTS,
                in("ymm14") $first[0],
                in("ymm15") $first[1],
                clobber_abi("sysv64"),
                options(raw),
            );
        }
    }};
}

/// See [`Wide::advance`].
#[target_feature(enable = "avx2")]
unsafe fn lanes4(lanes: &mut [Lanes], blocks: usize) {
    let lanes = &lanes[0];
    let words = &lanes.words;
    let counter =
        |lane: usize| u64::from(words.counter_low[lane]) | u64::from(words.counter_high[lane]) << 32;
    let counters = [[counter(0), counter(1)], [counter(2), counter(3)]];
    let pairs = |words: &[u32; GROUP]| [[words[0], words[1]], [words[2], words[3]]];
    let full = [[BLOCK_LEN as u32; 2]; 2];
    let (last_len, last) = (pairs(&words.last_len), pairs(&words.last));
    let later = [rows_of_four(counters, full, pairs(&words.middle)), rows_of_four(counters, last_len, last)];
    let first = match blocks {
        1 => {
            let only: [u32; GROUP] = core::array::from_fn(|lane| words.first[lane] | words.last[lane]);
            rows_of_four(counters, last_len, pairs(&only))
        }
        _ => rows_of_four(counters, full, pairs(&words.first)),
    };
    four!(lanes.input, blocks, lanes.key, lanes.cv, first, later);
}

/// See [`Wide::uniform`].
#[target_feature(enable = "avx2")]
unsafe fn uniform4(job: &UniformLanes) {
    let counter = |lane: u64| job.counter.wrapping_add(if job.step { lane } else { 0 });
    let counters = [[counter(0), counter(1)], [counter(2), counter(3)]];
    let row = |first, last| [[job.flags.at(first, last); 2]; 2];
    let full = [[BLOCK_LEN as u32; 2]; 2];
    let first = rows_of_four(counters, full, row(true, job.blocks == 1));
    let later =
        [rows_of_four(counters, full, row(false, false)), rows_of_four(counters, full, row(false, true))];
    let input = job.inputs::<4>();
    four!(input, job.blocks, job.key, job.cv, first, later);
}

/// [`rows_d`] of both pairs of lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn rows_of_four(counters: [[u64; 2]; 2], len: [[u32; 2]; 2], flags: [[u32; 2]; 2]) -> [__m256i; 2] {
    [rows_d(counters[0], len[0], flags[0]), rows_d(counters[1], len[1], flags[1])]
}

/// The column body, which needs further registers for the pointers of its lanes.
macro_rules! eight {
    ($lanes:ident, $blocks:ident) => {
        advance!(
            "generated/lanes/columns/avx2_lanes8.s", PLAIN, $lanes, $blocks,
            out("r12") _, out("r13") _, out("r14") _
        )
    };
}

/// See [`Wide::advance`].
#[target_feature(enable = "avx2")]
unsafe fn lanes8(lanes: &mut [Lanes], blocks: usize) {
    eight!(lanes, blocks);
}

/// A row body for one or two output blocks.
macro_rules! xof_rows {
    ($file:literal, $job:ident, $d:ident, $out:expr) => {
        // SAFETY: `out` has as many blocks as the body writes; the body clobbers only what the ABI allows.
        unsafe {
            core::arch::asm!(
                include_str!($file),
                in("rdi") &raw const *$job,
                in("rcx") $out,
                in("r11") &raw const CONSTANTS,
                in("ymm3") $d,
                clobber_abi("sysv64"),
                options(raw),
            );
        }
    };
}

/// See [`crate::blake3::kernel::table::Xof`]. One or two blocks are faster in rows than in columns that are mostly
/// unused.
#[target_feature(enable = "avx2")]
fn xof(job: &XofJob, counter: u64, out: &mut [[u8; BLOCK_LEN]]) {
    let whole = out.len() / 8 * 8;
    let (groups, rest) =
        out.split_at_mut(if (1..3).contains(&(out.len() - whole)) { whole } else { out.len() });
    if !groups.is_empty() {
        xof_all!("generated/xof/many/avx2_xof8.s", 8, job, counter, groups);
    }
    let counter = counter.wrapping_add(groups.len() as u64);
    let d = rows_d([counter, counter.wrapping_add(1)], [job.len; 2], [job.flags; 2]);
    match rest {
        [one] => xof_rows!("generated/xof/few/avx2_xof1.s", job, d, one.as_mut_ptr()),
        [_, _] => xof_rows!("generated/xof/few/avx2_xof2.s", job, d, rest.as_mut_ptr()),
        _ => {}
    }
}

/// See [`Wide::uniform`].
#[target_feature(enable = "avx2")]
unsafe fn uniform8(job: &UniformLanes) {
    let (mut lanes, blocks) = (first_lanes::<8>(job), job.blocks);
    eight!(lanes, blocks);
}
