//! Kernels for SSE4.1: four lanes.

use super::{advance, first_lanes, run, xof_all};
use crate::blake3::BLOCK_LEN;
use crate::blake3::kernel::table::{Cv, Lanes, RunFlags, Table, UniformLanes, Wide, XofJob};
use crate::isa::{Feature, Features};

pub(in crate::blake3) static SSE41: Table = Table {
    name: "sse41",
    needs: Features::from_list(&[Feature::Ssse3, Feature::Sse41]),
    run,
    run_cost: 220,
    wide: &[Wide { lanes: 4, cost: 400, advance: lanes4, uniform: uniform4 }],
    xof: xof4,
};

/// See [`crate::blake3::kernel::table::Run`].
#[target_feature(enable = "sse4.1")]
fn run(key: &Cv, input: &[u8], counter: u64, flags: RunFlags, out: &mut Cv) {
    run!("generated/run/sse41_run.s", true, key, input, counter, flags, out);
}

/// See [`Wide::advance`].
#[target_feature(enable = "sse4.1")]
unsafe fn lanes4(lanes: &mut [Lanes], blocks: usize) {
    advance!("generated/lanes/columns/sse41_lanes4.s", PLAIN, lanes, blocks);
}

/// See [`crate::blake3::kernel::table::Xof`].
#[target_feature(enable = "sse4.1")]
fn xof4(job: &XofJob, counter: u64, out: &mut [[u8; BLOCK_LEN]]) {
    xof_all!("generated/xof/many/sse41_xof4.s", 4, job, counter, out);
}

/// See [`Wide::uniform`].
#[target_feature(enable = "sse4.1")]
unsafe fn uniform4(job: &UniformLanes) {
    let (mut lanes, blocks) = (first_lanes::<4>(job), job.blocks);
    advance!("generated/lanes/columns/sse41_lanes4.s", PLAIN, lanes, blocks);
}
