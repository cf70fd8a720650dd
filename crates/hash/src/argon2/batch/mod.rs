//! Several hashes of the same parameters side by side, each in memory of its own.

mod engine;

pub use engine::Batches;

use super::error::HashError;
use super::fill::{self, Fill, Input};
use super::kernel::MAX_STREAMS;
use super::memory::{Arena, Matrix};
use super::params::Params;
use super::plan::Plan;
use crate::stop::Stop;
use arrayvec::ArrayVec;
use core::fmt;

/// The most hashes that one thread interleaves.
pub const MAX_BATCH: usize = MAX_STREAMS;

/// One hash of a batch.
pub struct Job<'a> {
    /// The input.
    pub input: Input<'a>,
    /// The output. Its length is part of the input.
    pub tag: &'a mut [u8],
}

impl fmt::Debug for Job<'_> {
    /// Omits the tag: to an attacker who can try passwords it is as good as the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("input", &self.input).finish_non_exhaustive()
    }
}

/// The best number of hashes of these parameters side by side on one thread: as many as hide the memory's
/// latency. Hashes of several lanes hide it by themselves.
pub fn batch_width(plan: Plan, params: Params) -> usize {
    plan.hashes(params).div_ceil(params.lanes() as usize)
}

/// Computes the tags of all jobs, with as many side by side as there are arenas ([`MAX_BATCH`] at most), on
/// at most `threads` threads of the current rayon pool. Memory is wiped after each hash.
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
    static NEVER: Stop = Stop::new();
    hash_batch_until(plan, params, threads, arenas, jobs, &NEVER)
}

/// As [`hash_batch_into`], but ends early when another thread sets `stop`: with [`HashError::Stopped`], and
/// tags of some jobs.
pub(crate) fn hash_batch_until(
    plan: Plan,
    params: Params,
    threads: usize,
    arenas: &mut [Arena],
    jobs: &mut [Job<'_>],
    stop: &Stop,
) -> Result<(), HashError> {
    assert!(!arenas.is_empty(), "a batch needs memory");
    let width = arenas.len().min(MAX_STREAMS);
    jobs.chunks_mut(width).try_for_each(|jobs| hash_interleaved(plan, params, threads, arenas, jobs, stop))
}

fn hash_interleaved(
    plan: Plan,
    params: Params,
    threads: usize,
    arenas: &mut [Arena],
    jobs: &mut [Job<'_>],
    stop: &Stop,
) -> Result<(), HashError> {
    let kernel = plan.kernel();
    jobs.iter().try_for_each(|job| fill::check(&job.input, job.tag.len()))?;
    // Takes all memory before any work, so that a failure leaves nothing half done.
    arenas.iter_mut().zip(&*jobs).try_for_each(|(arena, _)| arena.reserve(params.blocks()))?;
    let finished = {
        let mut matrices = ArrayVec::<Matrix<'_>, MAX_STREAMS>::new();
        for (arena, job) in arenas.iter_mut().zip(&*jobs) {
            let mut matrix = arena.matrix(params.shape())?;
            fill::begin(kernel, params, &job.input, job.tag.len(), &mut matrix);
            matrices.push(matrix);
        }
        let threads = if plan.is_parallel(params) { threads.max(1) } else { 1 };
        let streams = matrices.len() * params.lanes() as usize;
        let width = if matrices.len() > 1 { plan.width_of_many(params) } else { plan.width(params) };
        let width = width.min(streams.div_ceil(threads));
        let finished = Fill::new(plan, params, &matrices, width, stop).wiping(true).run_on(threads);
        for (matrix, job) in matrices.iter_mut().zip(&mut *jobs) {
            if finished {
                fill::finish(kernel, matrix, job.tag);
            }
            matrix.wipe_last_blocks();
        }
        finished
    };
    arenas.iter_mut().zip(&*jobs).for_each(|(arena, _)| arena.set_clean());
    if finished { Ok(()) } else { Err(HashError::Stopped) }
}

#[cfg(test)]
mod tests {
    use super::super::{Hasher, Kernel, PagePolicy};
    use super::*;

    /// Checks that tags equal those computed one after another, and that memory is wiped.
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
        let mut actual: Vec<Vec<u8>> = (0..count).map(|at| vec![0; 16 + at]).collect();
        let mut jobs: Vec<Job<'_>> =
            actual.iter_mut().enumerate().map(|(at, tag)| Job { input: input(at), tag }).collect();
        hash_batch_into(plan, params, threads, &mut arenas, &mut jobs).unwrap();
        assert_eq!(actual, tags, "{plan:?} {params:?}");
        assert!(arenas.iter().all(|arena| arena.is_zero(params.blocks().min(arena.capacity()))), "wiped");
    }

    #[test]
    fn interleaved_hashes_equal_sequential_hashes() {
        for plan in Kernel::all().map(Plan::for_kernel).chain([Plan::host()]) {
            for (m, t, p) in [(8, 1, 1), (67, 2, 1), (2048, 2, 1), (48, 2, 3)] {
                let params = Params::new(m, t, p).unwrap();
                for (threads, arenas, count) in [(1, 1, 3), (1, 2, 5), (3, 4, 4), (2, 9, 6)] {
                    check(plan, params, threads, arenas, count);
                }
            }
        }
    }

    #[test]
    fn invalid_job_is_refused_before_any_work() {
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
    fn refused_memory_is_an_error() {
        let params = Params::new(u32::MAX, 1, 1).unwrap();
        let mut tag = [0; 16];
        let mut jobs = [Job { input: Input::default(), tag: &mut tag }];
        let mut arenas = [Arena::default()];
        // Most systems refuse 4 TiB. A system that grants them would fill them for hours, so only request the
        // memory.
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

    #[test]
    fn measured_widths_set_the_interleave() {
        let plan = Plan::host().measured("here", &[(64, 1), (u32::MAX, 2)], &[(64, 9), (128, 3), (256, 0)]);
        assert!(plan.is_measured() && plan.basis() == "here");
        for (memory, lanes, hashes) in [(64, 1, 4), (65, 2, 3), (129, 2, 1), (257, 2, 1)] {
            let params = Params::new(memory, 1, 1).unwrap();
            assert_eq!((plan.width(params), batch_width(plan, params)), (lanes, hashes), "{memory} KiB");
            check(plan, params, 1, hashes, 5);
            check(plan, Params::new(memory, 1, 3).unwrap(), 2, hashes, 5);
        }
        assert_eq!(batch_width(plan.with_width(2), Params::new(64, 1, 1).unwrap()), 2);
    }
}
