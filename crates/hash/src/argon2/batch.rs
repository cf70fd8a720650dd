//! Several hashes of the same parameters side by side, each in memory of its own.

use super::Input;
use super::error::HashError;
use super::fill::Fill;
use super::init_final;
use super::kernel::MAX_STREAMS;
use super::memory::{Arena, Matrix};
use super::params::Params;
use super::plan::Plan;
use crate::stop::Stop;
use arrayvec::ArrayVec;
use core::fmt;
use core::ops::RangeInclusive;

/// The most hashes that go side by side.
pub const MAX_BATCH: usize = MAX_STREAMS;

/// One hash of a batch.
pub struct Job<'a> {
    /// What is hashed.
    pub input: Input<'a>,
    /// Where the tag goes. Its length is part of what is hashed.
    pub tag: &'a mut [u8],
}

impl fmt::Debug for Job<'_> {
    /// Without the tag: it is as good as the password to whoever may try passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("input", &self.input).finish_non_exhaustive()
    }
}

/// Hashes with this much memory in KiB are better done one by one: a thread's share of the last cache holds one of
/// them, and not two. Measured on Zen 4 with 32 MiB for two cores, two at a time against one, by the example `batch`, on
/// one and on two threads: 1.02 and 1.00 at 4 MiB, 1.04 and 0.95 at 7 MiB, 0.94 and 0.83 at 12 MiB, 0.88 to 1.03 in two
/// runs at 19 MiB, 1.01 and 1.10 at 32 MiB, 1.05 and 1.02 at 46 MiB, 1.18 and 1.13 at 64 MiB, where neither fits.
const ALONE: RangeInclusive<u32> = 4097..=24_576;

/// How many hashes of these parameters one thread does best side by side: as many as hide the memory's latency. Hashes
/// of several lanes hide it alone.
pub fn batch_width(plan: Plan, params: Params) -> usize {
    if ALONE.contains(&params.memory_kib()) {
        return 1;
    }
    plan.width(params).div_ceil(params.lanes() as usize)
}

/// The tags of all jobs, as many side by side as there are arenas ([`MAX_BATCH`] at most), on at most `threads` threads of the
/// current rayon pool. Memory is wiped after each hash.
///
/// # Errors
/// The first job with a length out of range, or [`HashError::OutOfMemory`]; jobs before it have their tags.
///
/// # Panics
/// Without an arena.
pub fn hash_batch_into(
    plan: Plan,
    params: Params,
    threads: usize,
    arenas: &mut [Arena],
    jobs: &mut [Job<'_>],
) -> Result<(), HashError> {
    assert!(!arenas.is_empty(), "a batch needs memory");
    let width = arenas.len().min(MAX_STREAMS);
    jobs.chunks_mut(width).try_for_each(|jobs| side_by_side(plan, params, threads, arenas, jobs))
}

fn side_by_side(
    plan: Plan,
    params: Params,
    threads: usize,
    arenas: &mut [Arena],
    jobs: &mut [Job<'_>],
) -> Result<(), HashError> {
    static NEVER: Stop = Stop::new();
    let kernel = plan.kernel();
    jobs.iter().try_for_each(|job| init_final::check(&job.input, job.tag.len()))?;
    // All memory before any work: nothing is left half done.
    arenas.iter_mut().zip(&*jobs).try_for_each(|(arena, _)| arena.reserve(params.blocks()))?;
    {
        let mut matrices = ArrayVec::<Matrix<'_>, MAX_STREAMS>::new();
        for (arena, job) in arenas.iter_mut().zip(&*jobs) {
            let mut matrix = arena.matrix(params.shape())?;
            init_final::begin(kernel, params, &job.input, job.tag.len(), &mut matrix);
            matrices.push(matrix);
        }
        let threads = if plan.is_parallel(params) { threads.max(1) } else { 1 };
        let streams = matrices.len() * params.lanes() as usize;
        let width = plan.width(params).min(streams.div_ceil(threads));
        Fill::new(plan, params, &matrices, width, &NEVER).wiping(true).run_on(threads);
        for (matrix, job) in matrices.iter_mut().zip(&mut *jobs) {
            init_final::finish(kernel, matrix, job.tag);
            matrix.wipe_last_blocks();
        }
    }
    arenas.iter_mut().zip(&*jobs).for_each(|(arena, _)| arena.set_clean());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Hasher, Kernel, PagePolicy};
    use super::*;

    /// The same tags as one after another, and nothing left behind.
    fn check(plan: Plan, params: Params, threads: usize, arenas: usize, count: usize) {
        let passwords: Vec<Vec<u8>> = (0..count).map(|at| vec![at as u8; at * 7]).collect();
        let mut hasher = Hasher::with_plan(params, plan);
        let input = |at: usize| Input::new(&passwords[at], b"somesalt");
        let tags: Vec<Vec<u8>> = (0..count)
            .map(|at| {
                let mut tag = vec![0; 16 + at];
                hasher.hash_into(&input(at), &mut tag).unwrap();
                tag
            })
            .collect();
        let mut arenas: Vec<Arena> = (0..arenas).map(|_| Arena::new(PagePolicy::default())).collect();
        let mut given: Vec<Vec<u8>> = (0..count).map(|at| vec![0; 16 + at]).collect();
        let mut jobs: Vec<Job<'_>> =
            given.iter_mut().enumerate().map(|(at, tag)| Job { input: input(at), tag }).collect();
        hash_batch_into(plan, params, threads, &mut arenas, &mut jobs).unwrap();
        assert_eq!(given, tags, "{plan:?} {params:?}");
        assert!(arenas.iter().all(|arena| arena.is_zero(params.blocks().min(arena.capacity()))), "wiped");
    }

    #[test]
    fn side_by_side_gives_what_one_by_one_gives() {
        for plan in Kernel::all().map(Plan::of).chain([Plan::host()]) {
            for (m, t, p) in [(8, 1, 1), (67, 2, 1), (2048, 2, 1), (48, 2, 3)] {
                let params = Params::new(m, t, p).unwrap();
                for (threads, arenas, count) in [(1, 1, 3), (1, 2, 5), (3, 4, 4), (2, 9, 6)] {
                    check(plan, params, threads, arenas, count);
                }
            }
        }
    }

    #[test]
    fn a_job_that_cannot_be_is_named_before_anything_is_done() {
        let params = Params::new(8, 1, 1).unwrap();
        let (mut good, mut short) = ([0; 16], [0; 3]);
        let mut jobs = [
            Job { input: Input::default(), tag: &mut good },
            Job { input: Input::default(), tag: &mut short },
        ];
        let mut arenas = [Arena::default(), Arena::default()];
        let result = hash_batch_into(Plan::host(), params, 1, &mut arenas, &mut jobs);
        assert_eq!(result, Err(HashError::TagLen { given: 3 }));
        assert_eq!(good, [0; 16]);
    }

    #[test]
    fn memory_that_is_refused_is_an_error() {
        let params = Params::new(u32::MAX, 1, 1).unwrap();
        let mut tag = [0; 16];
        let mut jobs = [Job { input: Input::default(), tag: &mut tag }];
        let mut arenas = [Arena::default()];
        // Most systems refuse four TiB; one that grants them would be filled for hours, so only ask for it.
        if arenas[0].reserve(params.blocks()).is_err() {
            let result = hash_batch_into(Plan::host(), params, 1, &mut arenas, &mut jobs);
            assert!(matches!(result, Err(HashError::OutOfMemory { .. })), "{result:?}");
        }
    }

    #[test]
    fn width_counts_hashes_not_lanes() {
        let plan = Plan::host().with_width(2);
        assert_eq!(batch_width(plan, Params::new(64, 1, 1).unwrap()), 2);
        assert_eq!(batch_width(plan, Params::new(64, 1, 2).unwrap()), 1);
        assert_eq!(batch_width(plan, Params::new(64, 1, 4).unwrap()), 1);
        for (memory, width) in [(4096, 2), (4097, 1), (19_456, 1), (32_768, 2), (65_536, 2)] {
            assert_eq!(batch_width(plan, Params::new(memory, 1, 1).unwrap()), width, "{memory} KiB");
        }
    }
}
