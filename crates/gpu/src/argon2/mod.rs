//! Device-independent part of Argon2: order of the work, first blocks and tags on the processor. No device calls
//! here.

mod batch;
pub(crate) mod nonces;
pub(crate) mod schedule;
#[cfg(test)]
pub(crate) mod simulated_owner;
#[cfg(test)]
mod tests;

use crate::Error;
pub(crate) use batch::Argon2;
use hashmill_hash::argon2::{HashError, Hasher, Input, Job, Params, Plan, Stop, Variant, hazmat};
use schedule::{SegmentRange, SegmentRanges, SubmitSizer};
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// A block, with its words in the order of the standard.
pub(crate) type Words = [u64; 128];

/// The maximum number of ranges in a submission.
pub(crate) const MAX_RANGES: usize = 32;

/// Bound of the time of two submissions, on a device that is as slow as the processor.
pub(crate) const STOP_LATENCY: Duration = Duration::from_millis(100);

/// Pending hashes of the same parameters.
pub(crate) trait HashSource {
    /// The number of hashes not started yet; `u64::MAX` if it is not known.
    fn remaining(&self) -> u64;

    /// Starts at most `max_hashes` of the remaining hashes, and returns their first blocks, two per lane. Hashes
    /// are numbered from 0 in the order in which they start.
    fn start_hashes(&mut self, max_hashes: usize) -> Result<Zeroizing<Vec<Words>>, Error>;

    /// Receives the last blocks, one per lane, of the hashes with these numbers: the oldest in flight, in order.
    fn finish_hashes(&mut self, numbers: &[u64], last: &[Words]) -> Result<(), Error>;

    /// Cancels hashes in flight that are no longer needed, and returns their numbers.
    fn cancel_unneeded(&mut self) -> Vec<u64>;
}

/// A device with memory for hashes of the same parameters.
pub(crate) trait Device {
    /// The number of hashes in one batch.
    fn width(&self) -> usize;

    /// Computes all pending hashes, then wipes the memory, also after an error.
    fn run(&mut self, work: &mut dyn HashSource, stop: &Stop) -> Result<(), Error>;
}

/// Memory for all blocks of all lanes, filled range by range.
pub(crate) trait LaneMemory {
    /// A submission of ranges.
    type Submission;

    /// The number of hashes that fit.
    fn width(&self) -> usize;

    /// Writes first blocks, two per lane.
    fn upload_first_blocks(&mut self, first: &[Words]) -> Result<(), Error>;

    /// Submits ranges for `lane_count` lanes of all hashes; the first range has the number `step`.
    fn submit_fill(
        &mut self,
        lane_count: u32,
        ranges: &[SegmentRange],
        step: u32,
        buffer_set: usize,
    ) -> Result<Self::Submission, Error>;

    /// Waits until these ranges and all before them have been computed: `steps` in all. Cancels them when
    /// `stop` is set, where the device can.
    fn wait_for_fill(
        &mut self,
        submission: &Self::Submission,
        steps: u32,
        buffer_set: usize,
        stop: &Stop,
    ) -> Result<(), Error>;

    /// The last blocks of `lane_count` lanes of all hashes.
    fn last_blocks(&mut self, lane_count: u32) -> Result<Zeroizing<Vec<Words>>, Error>;

    /// Wipes the memory of `lane_count` lanes, after all earlier submissions.
    fn wipe(&mut self, lane_count: u32) -> Result<(), Error>;
}

/// An engine with fixed memory: all hashes of a batch start and end together.
pub(crate) struct FixedEngine<R> {
    pub(crate) params: Params,
    pub(crate) memory: R,
    sizer: SubmitSizer,
}

impl<R: LaneMemory> FixedEngine<R> {
    /// `submission_time` is the target time of a submission.
    pub(crate) fn new(params: Params, memory: R, submission_time: Duration) -> FixedEngine<R> {
        FixedEngine { params, memory, sizer: SubmitSizer::new(submission_time) }
    }

    /// Fills the memory, unless `stop` is set or `is_needed` returns false meanwhile. Two submissions are in
    /// flight at a time, so that the device does not wait for the host.
    pub(crate) fn fill(
        &mut self,
        lane_count: u32,
        stop: &Stop,
        is_needed: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        let FixedEngine { params, memory, sizer } = self;
        let mut ranges = SegmentRanges::new(*params);
        let mut before: Option<SubmittedRanges<R::Submission>> = None;
        let (mut step, mut began) = (0, Instant::now());
        let mut wait = |memory: &mut R, before: &SubmittedRanges<R::Submission>, sizer: &mut SubmitSizer| {
            memory.wait_for_fill(&before.submission, before.steps, before.buffer_set, stop)?;
            sizer.record_time(before.blocks, began.elapsed());
            began = Instant::now();
            Ok::<_, Error>(())
        };
        for buffer_set in [0, 1].into_iter().cycle() {
            if stop.is_set() || !is_needed() {
                before.map_or(Ok(()), |before| wait(memory, &before, sizer))?;
                return Err(HashError::Stopped.into());
            }
            let (submitted, blocks) = next_ranges(&mut ranges, sizer.blocks());
            if submitted.is_empty() {
                break;
            }
            let submission = memory.submit_fill(lane_count, &submitted, step, buffer_set)?;
            step += submitted.len() as u32;
            let now = SubmittedRanges { submission, steps: step, buffer_set, blocks };
            if let Some(before) = before.replace(now) {
                wait(memory, &before, sizer)?;
            }
        }
        before.map_or(Ok(()), |before| wait(memory, &before, sizer))
    }
}

impl<R: LaneMemory> Device for FixedEngine<R> {
    fn width(&self) -> usize {
        self.memory.width()
    }

    fn run(&mut self, work: &mut dyn HashSource, stop: &Stop) -> Result<(), Error> {
        let lanes = self.params.lanes() as usize;
        let mut next_number = 0;
        while work.remaining() > 0 {
            let first = work.start_hashes(self.width())?;
            let numbers: Vec<u64> = (next_number..).take(first.len() / 2 / lanes).collect();
            if numbers.is_empty() {
                break;
            }
            next_number += numbers.len() as u64;
            let mut needed = numbers.len();
            let mut is_needed = || {
                needed -= work.cancel_unneeded().len();
                needed > 0
            };
            match self.last_blocks_if(&first, stop, &mut is_needed) {
                Ok(last) => work.finish_hashes(&numbers, &last)?,
                Err(Error::Hash(HashError::Stopped)) if needed == 0 => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl<R: LaneMemory> FixedEngine<R> {
    /// The last block of each lane, computed from its two first blocks.
    #[cfg(test)]
    pub(crate) fn last_blocks(
        &mut self,
        first: &[Words],
        stop: &Stop,
    ) -> Result<Zeroizing<Vec<Words>>, Error> {
        self.last_blocks_if(first, stop, &mut || true)
    }

    /// As `last_blocks`, unless `is_needed` returns false meanwhile.
    fn last_blocks_if(
        &mut self,
        first: &[Words],
        stop: &Stop,
        is_needed: &mut dyn FnMut() -> bool,
    ) -> Result<Zeroizing<Vec<Words>>, Error> {
        let lane_count = (first.len() / 2) as u32;
        let uploaded = self.memory.upload_first_blocks(first);
        let filled = uploaded.and_then(|()| self.fill(lane_count, stop, is_needed));
        let last = filled.and_then(|()| self.memory.last_blocks(lane_count));
        let wiped = self.memory.wipe(lane_count);
        result_after_wipe(last, wiped)
    }
}

/// The result of work whose memory was wiped afterwards. An error of the wipe replaces a stop, which is no failure,
/// but no other error.
pub(crate) fn result_after_wipe<T>(done: Result<T, Error>, wiped: Result<(), Error>) -> Result<T, Error> {
    match (done, wiped) {
        (Ok(_) | Err(Error::Hash(HashError::Stopped)), Err(refused)) => Err(refused),
        (done, _) => done,
    }
}

/// Ranges that were submitted together.
struct SubmittedRanges<W> {
    submission: W,
    /// Number of ranges up to the end of this submission.
    steps: u32,
    buffer_set: usize,
    /// Blocks per lane.
    blocks: u32,
}

/// The next ranges, of at most `blocks` blocks per lane; fewer at [`MAX_RANGES`] ranges or at the end of a
/// table.
pub(crate) fn next_ranges(ranges: &mut SegmentRanges, blocks: u32) -> (Vec<SegmentRange>, u32) {
    let (mut submission, mut left) = (Vec::new(), blocks);
    while left > 0
        && submission.len() < MAX_RANGES
        && (submission.is_empty() || !ranges.is_at_slice_group())
        && let Some(range) = ranges.next(left)
    {
        left -= range.len();
        submission.push(range);
    }
    (submission, blocks - left)
}

/// Computes the tags of all jobs and returns their number; after a stop, that of the first jobs whose tags
/// are complete.
pub(crate) fn hash(
    device: &mut impl Device,
    plan: Plan,
    params: Params,
    jobs: &mut [Job<'_>],
    stop: &Stop,
) -> Result<usize, Error> {
    let mut jobs = JobSource { plan, params, jobs, started: 0, finished: 0, stop };
    match device.run(&mut jobs, stop) {
        Ok(()) | Err(Error::Hash(HashError::Stopped)) => Ok(jobs.finished),
        Err(error) => Err(error),
    }
}

/// Pending tags.
struct JobSource<'a, 'b> {
    plan: Plan,
    params: Params,
    jobs: &'a mut [Job<'b>],
    started: usize,
    finished: usize,
    stop: &'a Stop,
}

impl HashSource for JobSource<'_, '_> {
    fn remaining(&self) -> u64 {
        (self.jobs.len() - self.started) as u64
    }

    fn start_hashes(&mut self, max_hashes: usize) -> Result<Zeroizing<Vec<Words>>, Error> {
        let some = &self.jobs[self.started..];
        let some = &some[..some.len().min(max_hashes)];
        self.started += some.len();
        let (plan, params) = (self.plan, self.params);
        first_blocks(params, some.len(), self.stop, |number, blocks| {
            let Job { input, tag } = &some[number];
            let mut blocks = blocks.iter_mut();
            hazmat::first_blocks(plan, params, input, tag.len(), |_, _, words| {
                *blocks.next().expect("two of each lane") = *words;
            })
        })
    }

    fn finish_hashes(&mut self, numbers: &[u64], last: &[Words]) -> Result<(), Error> {
        debug_assert!(numbers.iter().copied().eq((self.finished as u64..).take(numbers.len())), "in order");
        let sums = xor_last_blocks(self.params, last);
        let some = &mut self.jobs[self.finished..][..sums.len()];
        self.finished += sums.len();
        try_for_each_parallel(some, HASHES_PER_TURN, |number, job| {
            hazmat::tag(&sums[number], job.tag);
            Ok(())
        })
    }

    /// Cancels nothing: every tag is needed.
    fn cancel_unneeded(&mut self) -> Vec<u64> {
        Vec::new()
    }
}

/// The sum of the last blocks of all lanes, for each hash.
pub(crate) fn xor_last_blocks(params: Params, last: &[Words]) -> Zeroizing<Vec<Words>> {
    let lanes = params.lanes() as usize;
    let mut sums = Zeroizing::new(vec![[0; 128]; last.len() / lanes]);
    for (sum, blocks) in sums.iter_mut().zip(last.chunks(lanes)) {
        for block in blocks {
            sum.iter_mut().zip(block).for_each(|(sum, word)| *sum ^= word);
        }
    }
    sums
}

/// Parameters of self-tests: each variant, several passes and lanes, references beyond one address block.
pub(crate) const SELF_TEST_CASES: [(Variant, [u32; 3]); 3] =
    [(Variant::Id, [600, 1, 1]), (Variant::I, [100, 3, 3]), (Variant::D, [64, 2, 2])];

/// Computes two tags for each of these parameters (memory, passes, lanes) and compares them with the
/// processor's.
pub(crate) fn self_test(
    name: &str,
    cases: &[(Variant, [u32; 3])],
    mut hash: impl FnMut(Params, &mut [Job<'_>]) -> Result<(), Error>,
) -> Result<(), Error> {
    for &(variant, [memory, passes, lanes]) in cases {
        let params = Params::new(memory, passes, lanes).map_err(HashError::from)?;
        let params = params.with_variant(variant);
        let inputs = [b"one", b"two"].map(|password| Input::new(password, b"a salt of hashmill"));
        let (mut computed, mut right) = ([[0; 32]; 2], [[0; 32]; 2]);
        for (input, tag) in inputs.iter().zip(&mut right) {
            *tag = Hasher::new(params).hash(input)?;
        }
        let mut jobs: Vec<_> =
            inputs.into_iter().zip(&mut computed).map(|(input, tag)| Job { input, tag }).collect();
        hash(params, &mut jobs)?;
        if computed != right {
            return Err(Error::SelfTest { device: name.to_owned() });
        }
    }
    Ok(())
}

/// First blocks of `hashes` hashes; `make` computes those of one hash, given its number.
pub(crate) fn first_blocks(
    params: Params,
    hashes: usize,
    stop: &Stop,
    make: impl Fn(usize, &mut [[u64; 128]]) -> Result<(), HashError> + Sync,
) -> Result<Zeroizing<Vec<[u64; 128]>>, Error> {
    let blocks_per_hash = 2 * params.lanes() as usize;
    let mut first = Zeroizing::new(vec![[0; 128]; blocks_per_hash * hashes]);
    try_for_each_parallel(
        &mut first.chunks_exact_mut(blocks_per_hash).collect::<Vec<_>>(),
        HASHES_PER_TURN,
        |number, blocks| {
            if stop.is_set() {
                return Err(HashError::Stopped.into());
            }
            Ok(make(number, blocks)?)
        },
    )?;
    Ok(first)
}

/// Hashes for one turn of a thread: about a millisecond of work.
pub(crate) const HASHES_PER_TURN: usize = 64;

/// Calls `call` with every element and its number, in as many threads as the processor has or the system grants,
/// `per_turn` elements per turn of a thread. One thread would need as much time as a device that computes thousands
/// of hashes at once.
///
/// # Errors
/// The first error in the order of the elements.
pub(crate) fn try_for_each_parallel<T: Send>(
    all: &mut [T],
    per_turn: usize,
    call: impl Fn(usize, &mut T) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let helpers = all.len().div_ceil(per_turn).min(threads).saturating_sub(1);
    let parts = Mutex::new(all.chunks_mut(per_turn).zip((0..).step_by(per_turn)));
    // Parts are handed out in order, so the part with the first error starts before any later part fails.
    let work = || {
        loop {
            let part = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((some, first)) = part else { return Ok(()) };
            let mut numbered = some.iter_mut().zip(first..);
            numbered
                .try_for_each(|(element, number)| call(number, element))
                .map_err(|error| (first, error))?;
        }
    };
    let done = thread::scope(|scope| {
        let helper = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let helpers: Vec<_> = (0..helpers).map_while(helper).collect();
        let mut done = vec![work()];
        done.extend(helpers.into_iter().map(|helper| match helper.join() {
            Ok(helped) => helped,
            Err(panic) => std::panic::resume_unwind(panic),
        }));
        done
    });
    let first = done.into_iter().filter_map(Result::err).min_by_key(|(first, _)| *first);
    first.map_or(Ok(()), |(_, error)| Err(error))
}

/// Allocates a part for each of these numbers of hashes, until the device refuses one. If it refuses the first part,
/// that is halved until it fits.
pub(crate) fn allocate_with_backoff<T>(
    hashes: &[u32],
    mut make: impl FnMut(u32) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let mut parts = Vec::new();
    for &hashes in hashes {
        let mut hashes = hashes;
        loop {
            match make(hashes) {
                Ok(part) => parts.push(part),
                Err(Error::OutOfMemory { .. }) if !parts.is_empty() => return Ok(parts),
                Err(Error::OutOfMemory { .. }) if hashes > 1 => {
                    hashes /= 2;
                    continue;
                }
                Err(error) => return Err(error),
            }
            break;
        }
    }
    Ok(parts)
}

/// Index of a word in a block as devices store it: in the order in which kernel threads hold the words, in pairs.
#[cfg(any(feature = "wgpu", test))]
pub(crate) const fn device_word_index(word: usize) -> usize {
    const THREADS_PER_ROW: usize = 4;
    let (row, column) = (word / 16, word % 16);
    let (thread, quarter) = (row * THREADS_PER_ROW + column % 4, column / 4);
    (quarter / 2 * 32 + thread) * 2 + quarter % 2
}

/// A block from a device's memory, in the order of the standard.
#[cfg(any(feature = "wgpu", test))]
pub(crate) fn in_standard_order(block: &[u8]) -> Words {
    let words = block.as_chunks::<8>().0;
    std::array::from_fn(|word| u64::from_le_bytes(words[device_word_index(word)]))
}
