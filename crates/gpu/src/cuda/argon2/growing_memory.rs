//! Batches of one-pass, one-lane hashes that allocate memory as they advance, so that more run side by side
//! than fit as a whole.

use super::super::device::{self, Device};
use super::super::driver::{Arg, Flag, Memory, Pinned, Shape, Stream};
use super::fixed_memory::{
    NOT_STARTED, PREFETCH_RING_BYTES, STOP_POLL_INTERVAL, compute_references, incomplete_kernel_error,
    reference_table_bytes, words,
};
use super::lane_schedule::{AdvanceRule, HashStep, LaneSchedule, MAX_TICKS};
use super::rounds::{Round, RoundDevice, run_rounds};
use crate::argon2::schedule::{BLOCK_BYTES, SubmitSizer};
use crate::argon2::{self, HashSource, Words};
use crate::{Error, Tuning};
use hashmill_hash::argon2::{HashError, Params, Stop};
use zeroize::Zeroizing;

const THREADS: u32 = 32;

/// Bytes of shared memory of a lane, without its granule numbers.
const SHARED: u32 = 1024 + PREFETCH_RING_BYTES;

/// The most granules of a hash.
const STRIDE: u32 = 4096;

const _: () = assert!(SHARED + 4 * STRIDE <= device::SHARED_BYTES, "every supported device has as much");

/// Bytes of the first blocks of a hash.
const FIRST_BYTES: usize = 2 * BLOCK_BYTES as usize;

/// A memory pool and the hashes that allocate from it.
pub(crate) struct GrowingMemory {
    /// Dropped first: it waits for the device.
    stream: Stream,
    device: Device,
    rule: AdvanceRule,
    granules: u32,
    slots: usize,
    pool: Memory,
    table: Memory,
    /// Kernel input: steps, granules, first blocks; on the device, and two pinned copies in turn.
    input: Memory,
    input_host: [Pinned; 2],
    /// Kernel output: progress and last blocks.
    progress: Memory,
    last: Memory,
    progress_host: [Pinned; 2],
    last_host: [Pinned; 2],
    stop: Flag,
    sizer: SubmitSizer,
}

impl GrowingMemory {
    /// Can hashes of these parameters run with part of their memory?
    pub(super) fn is_possible(params: Params) -> bool {
        AdvanceRule::from_params(params).is_some_and(|rule| rule.granules(rule.blocks) <= STRIDE)
    }

    /// For at most `tuning.hashes` hashes side by side, in at most `bytes` bytes. `None` if no more run side
    /// by side than fit as a whole.
    pub(super) fn new(
        device: &Device,
        params: Params,
        tuning: Tuning,
        bytes: u64,
    ) -> Result<Option<GrowingMemory>, Error> {
        let most = u64::from(tuning.hashes);
        let Some(rule) = AdvanceRule::from_params(params).filter(|_| GrowingMemory::is_possible(params))
        else {
            return Ok(None);
        };
        let granule = BLOCK_BYTES << rule.shift;
        // Everything besides the pool takes less memory than half of a hash.
        let pool_bytes = bytes.saturating_sub(params.blocks() * BLOCK_BYTES / 2);
        let mut granules = u32::try_from(pool_bytes / granule).unwrap_or(u32::MAX);
        loop {
            // With less than the memory of one hash, a hash could start but never finish.
            let wholes = u64::from(rule.whole_hashes(granules));
            if wholes == 0 || rule.concurrent_hashes(granules).min(most) <= wholes {
                return Ok(None);
            }
            match GrowingMemory::with(device, params, rule, granules, tuning) {
                Err(Error::OutOfMemory { .. }) => granules -= (granules / 16).max(1),
                result => return result.map(Some),
            }
        }
    }

    /// For at most `tuning.hashes` hashes of suitable parameters, in little more memory than one of them
    /// takes as a whole.
    pub(super) fn small(device: &Device, params: Params, tuning: Tuning) -> Result<GrowingMemory, Error> {
        let rule = AdvanceRule::from_params(params).expect("suitable parameters");
        let whole = rule.granules(rule.blocks);
        GrowingMemory::with(device, params, rule, whole + whole / 2, tuning)
    }

    pub(super) fn with(
        device: &Device,
        params: Params,
        rule: AdvanceRule,
        granules: u32,
        tuning: Tuning,
    ) -> Result<GrowingMemory, Error> {
        let (context, stream) = (device.context(), device.context().stream()?);
        let slots = LaneSchedule::new(rule, granules, tuning.hashes as usize).slots();
        let [_, _, first_at] = input_offsets(rule, slots);
        let two = |bytes| Ok::<_, Error>([context.pinned(bytes)?, context.pinned(bytes)?]);
        let growing = GrowingMemory {
            stream,
            device: device.clone(),
            rule,
            granules,
            slots,
            pool: context.memory(u64::from(granules) * (BLOCK_BYTES << rule.shift))?,
            table: context.memory(reference_table_bytes(params))?,
            input: context.memory((first_at + slots * FIRST_BYTES) as u64)?,
            input_host: two(first_at + slots * FIRST_BYTES)?,
            progress: context.memory(slots as u64 * 4)?,
            last: context.memory(slots as u64 * BLOCK_BYTES)?,
            progress_host: two(slots * 4)?,
            last_host: two(slots * BLOCK_BYTES as usize)?,
            stop: context.flag()?,
            sizer: SubmitSizer::with_bounds(tuning.submission_time, 1, 1, MAX_TICKS),
        };
        // One pass has one slice group.
        if rule.known > 0 {
            compute_references(&growing.stream, device, params, 0, &growing.table)?;
        }
        Ok(growing)
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> u64 {
        [&self.pool, &self.table, &self.input, &self.progress, &self.last].map(Memory::bytes).iter().sum()
    }

    fn wipe(&mut self) -> Result<(), Error> {
        // Wipes all, even if one fails.
        let mut wiped = Ok(());
        for memory in [&self.pool, &self.input, &self.last] {
            wiped = wiped.and(self.stream.clear(memory, 0, memory.bytes()));
        }
        // Progress of an earlier hash must not be taken for that of a lane that has started.
        wiped = wiped.and(self.stream.set(&self.progress, 0, self.progress.bytes(), NOT_STARTED));
        for here in self.input_host.iter_mut().chain(&mut self.last_host) {
            wiped = wiped.and(here.wipe());
        }
        wiped
    }
}

impl RoundDevice for GrowingMemory {
    fn submit_round(
        &mut self,
        schedule: &LaneSchedule,
        round: &Round,
        started: &[(usize, &[Words; 2])],
    ) -> Result<(), Error> {
        let GrowingMemory { stream, rule, slots, input, input_host, .. } = self;
        let [_, pages_at, first_at] = input_offsets(*rule, *slots);
        let stride = rule.granules(rule.blocks) as usize;
        let here = input_host[round.buffer_set].bytes()?;
        // The kernel skips slots without a step.
        here[..pages_at].fill(0);
        for step in &round.steps {
            write_words(&mut here[step.slot * 16..], &[step.from, step.to, step.step]);
            write_words(&mut here[pages_at + step.slot * stride * 4..], schedule.granules(step.slot));
        }
        for (slot, first) in started {
            let words = first.as_flattened().iter().map(|word| word.to_le_bytes());
            let to = here[first_at + slot * FIRST_BYTES..].as_chunks_mut().0;
            to.iter_mut().zip(words).for_each(|(to, word)| *to = word);
        }
        let len = if started.is_empty() { first_at } else { here.len() };
        stream.upload(input, 0, &input_host[round.buffer_set].source(), len)?;
        let mut numbers = [0; 32];
        let streams = *slots as u32;
        write_words(&mut numbers, &[streams, rule.blocks, rule.known, stride as u32, rule.shift]);
        let shape = Shape { blocks: streams, threads: THREADS, shared: SHARED + 4 * stride as u32 };
        let args = [
            Arg::Words(&numbers),
            Arg::At(&self.pool, 0),
            Arg::At(input, pages_at as u64),
            Arg::At(&self.table, 0),
            Arg::At(input, 0),
            Arg::At(input, first_at as u64),
            Arg::At(&self.last, 0),
            Arg::At(&self.progress, 0),
            self.stop.arg(),
        ];
        stream.launch(&self.device.kernels().grow, shape, &args)?;
        stream.download(&self.progress, 0, &mut self.progress_host[round.buffer_set], *slots * 4)?;
        stream.download(&self.last, 0, &mut self.last_host[round.buffer_set], *slots * BLOCK_BYTES as usize)
    }

    fn wait_for_round(&mut self, round: &Round, stop: &Stop) -> Result<Zeroizing<Vec<Words>>, Error> {
        let (progress, last) =
            (&mut self.progress_host[round.buffer_set], &mut self.last_host[round.buffer_set]);
        while !last.poll(STOP_POLL_INTERVAL)? {
            if stop.is_set() {
                return Err(HashError::Stopped.into());
            }
        }
        let progress = progress.bytes()?.as_chunks().0;
        let is_complete = |step: &HashStep| u32::from_le_bytes(progress[step.slot]) == step.step + 1;
        if !round.steps.iter().all(is_complete) {
            return Err(incomplete_kernel_error());
        }
        let ends = || round.steps.iter().filter(|step| step.ends);
        // Allocated in full: a reallocation would leave a copy of the blocks behind.
        let (last, mut ended) = (last.bytes()?, Zeroizing::new(Vec::with_capacity(ends().count())));
        for step in ends() {
            ended
                .extend_from_slice(&words(&last[step.slot * BLOCK_BYTES as usize..][..BLOCK_BYTES as usize]));
        }
        Ok(ended)
    }
}

impl argon2::Device for GrowingMemory {
    fn width(&self) -> usize {
        self.slots
    }

    fn run(&mut self, work: &mut dyn HashSource, stop: &Stop) -> Result<(), Error> {
        // Wait for cancelled kernels first: the flag must not cancel later ones.
        self.stream.synchronize()?;
        self.stop.set(false)?;
        let mut schedule = LaneSchedule::new(self.rule, self.granules, self.slots);
        // The next search starts with this size, also after an error.
        let mut sizer = self.sizer;
        let done = run_rounds(self, &mut schedule, &mut sizer, work, stop);
        self.sizer = sizer;
        let stopped = if done.is_err() { self.stop.set(true) } else { Ok(()) };
        let wiped = self.wipe();
        argon2::result_after_wipe(done, stopped.and(wiped))
    }
}

/// Offsets of steps, granules and first blocks in the kernel input.
fn input_offsets(rule: AdvanceRule, slots: usize) -> [usize; 3] {
    let pages = slots * 16;
    let first = pages + slots * rule.granules(rule.blocks) as usize * 4;
    [0, pages, first.next_multiple_of(16)]
}

fn write_words(bytes: &mut [u8], words: &[u32]) {
    bytes.as_chunks_mut().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_le_bytes());
}

#[cfg(test)]
impl GrowingMemory {
    /// Are kernel input and last blocks wiped, on the device and in pinned memory?
    pub(super) fn edge_blocks_are_empty(&mut self) -> bool {
        let there = [&self.input, &self.last].map(|memory| {
            let mut bytes = vec![0; memory.bytes() as usize];
            self.stream.download_now(memory, 0, &mut bytes).unwrap();
            bytes
        });
        let here = self.input_host.iter_mut().chain(&mut self.last_host).map(|here| here.bytes().unwrap());
        let here = here.flat_map(|bytes| bytes.iter());
        there.iter().flatten().chain(here).all(|byte| *byte == 0)
    }
}
