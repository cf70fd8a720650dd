//! Kernels for AVX2: eight lanes.

use super::{advance, run, xof_all};
use crate::blake3::BLOCK_LEN;
use crate::blake3::kernel::{Cv, Lanes, RunFlags, Table, Uniform, Wide, XofJob};
use crate::isa::{Feature, Features};

pub(in crate::blake3) static AVX2: Table = Table {
    name: "avx2",
    needs: Features::of(&[Feature::Avx2]),
    run,
    wide: &[Wide { lanes: 8, advance: lanes8, uniform: uniform8 }],
    xof: xof8,
};

/// See [`crate::blake3::kernel::Run`].
#[target_feature(enable = "avx2")]
fn run(key: &Cv, input: &[u8], counter: u64, flags: RunFlags, out: &mut Cv) {
    run!("avx2_run.s", true, key, input, counter, flags, out);
}

/// See [`Wide::advance`].
#[target_feature(enable = "avx2")]
unsafe fn lanes8(lanes: &mut Lanes, blocks: usize) {
    advance!("avx2_lanes8.s", lanes, blocks);
}

/// See [`crate::blake3::kernel::Xof`].
#[target_feature(enable = "avx2")]
fn xof8(job: &XofJob, counter: u64, out: &mut [[u8; BLOCK_LEN]]) {
    xof_all!("avx2_xof8.s", 8, job, counter, out);
}

/// See [`Wide::uniform`].
#[target_feature(enable = "avx2")]
unsafe fn uniform8(job: &Uniform) {
    let (lanes, blocks) = (&mut Lanes::of(job), job.blocks);
    advance!("avx2_lanes8.s", lanes, blocks);
}
