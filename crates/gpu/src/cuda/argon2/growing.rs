//! Hashes of one pass and one lane that take memory as they advance: so more of them go side by side than fit as a whole.

use super::super::device::{self, Device};
use super::super::driver::{Arg, Flag, Memory, Pinned, Shape, Stream};
use super::grow::{Course, MOST_TICKS, Plan, Strip};
use super::room::{NO_MARK, RING, STOP, references, table, unfinished, words};
use crate::argon2::schedule::{BLOCK, Pace};
use crate::argon2::{self, Words, Work};
use crate::{Error, Tuning};
use hashmill_hash::argon2::{HashError, Params, Stop};
use std::time::Instant;
use zeroize::Zeroizing;

const THREADS: u32 = 32;

/// Bytes that the threads of a lane share, besides the numbers of its granules.
const SHARED: u32 = 1024 + RING;

/// The most granules of a hash.
const STRIDE: u32 = 4096;

const _: () = assert!(SHARED + 4 * STRIDE <= device::SHARED, "every device that is used has as much");

const FIRST: usize = 2 * BLOCK as usize;

/// A pool of memory, and hashes that take of it.
pub(super) struct Growing {
    /// Dropped first: it waits for the device.
    stream: Stream,
    device: Device,
    course: Course,
    granules: u32,
    slots: usize,
    pool: Memory,
    table: Memory,
    /// What kernels are told: strips, granules, first blocks; on the device, and on the way in turn.
    told: Memory,
    told_here: [Pinned; 2],
    /// What they say: marks, and last blocks.
    marks: Memory,
    last: Memory,
    marks_here: [Pinned; 2],
    last_here: [Pinned; 2],
    stop: Flag,
    pace: Pace,
}

/// Strips that were handed over.
struct Round {
    strips: Vec<Strip>,
    ticks: u32,
    turn: usize,
}

impl Growing {
    /// Whether hashes of these parameters can do with part of their memory.
    pub(super) fn can(params: Params) -> bool {
        Course::of(params).is_some_and(|course| course.granules(course.blocks) <= STRIDE)
    }

    /// For at most so many hashes side by side, in so many bytes at most. Nothing where no more of them go side by side than fit as a
    /// whole.
    pub(super) fn new(
        device: &Device,
        params: Params,
        tuning: Tuning,
        bytes: u64,
    ) -> Result<Option<Growing>, Error> {
        let most = u64::from(tuning.hashes);
        let Some(course) = Course::of(params).filter(|_| Growing::can(params)) else { return Ok(None) };
        let granule = BLOCK << course.shift;
        // What else it takes is less than a hash.
        let left = bytes.saturating_sub(params.blocks() * BLOCK / 2);
        let mut granules = u32::try_from(left / granule).unwrap_or(u32::MAX);
        loop {
            // Less than a whole may feed one, and would never end it.
            let wholes = u64::from(course.wholes(granules));
            if wholes == 0 || course.feeds(granules).min(most) <= wholes {
                return Ok(None);
            }
            match Growing::with(device, params, course, granules, tuning) {
                Err(Error::OutOfMemory { .. }) => granules -= (granules / 16).max(1),
                made => return made.map(Some),
            }
        }
    }

    /// For at most so many hashes of parameters that can, in little more than one of them takes as a whole.
    pub(super) fn small(device: &Device, params: Params, tuning: Tuning) -> Result<Growing, Error> {
        let course = Course::of(params).expect("they can");
        let whole = course.granules(course.blocks);
        Growing::with(device, params, course, whole + whole / 2, tuning)
    }

    pub(super) fn with(
        device: &Device,
        params: Params,
        course: Course,
        granules: u32,
        tuning: Tuning,
    ) -> Result<Growing, Error> {
        let (context, stream) = (device.context(), device.context().stream()?);
        let slots = Plan::new(course, granules, tuning.hashes as usize).slots();
        let [_, _, told] = places(course, slots);
        let two = |bytes| Ok::<_, Error>([context.pinned(bytes)?, context.pinned(bytes)?]);
        let growing = Growing {
            stream,
            device: device.clone(),
            course,
            granules,
            slots,
            pool: context.memory(u64::from(granules) * (BLOCK << course.shift))?,
            table: context.memory(table(params))?,
            told: context.memory((told + slots * FIRST) as u64)?,
            told_here: two(told + slots * FIRST)?,
            marks: context.memory(slots as u64 * 4)?,
            last: context.memory(slots as u64 * BLOCK)?,
            marks_here: two(slots * 4)?,
            last_here: two(slots * BLOCK as usize)?,
            stop: context.flag()?,
            pace: Pace::within(tuning.strip, 1, 1, MOST_TICKS),
        };
        // Of one pass there is one chapter.
        if course.known > 0 {
            references(&growing.stream, device, params, 0, &growing.table)?;
        }
        Ok(growing)
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> u64 {
        [&self.pool, &self.table, &self.told, &self.marks, &self.last].map(Memory::bytes).iter().sum()
    }

    /// All that is wanted. Two rounds of strips are on their way at a time, so that the device need not wait for the host.
    fn rounds(&mut self, work: &mut dyn Work, stop: &Stop) -> Result<(), Error> {
        let mut plan = Plan::new(self.course, self.granules, self.slots);
        let (mut before, mut began) = (None, Instant::now());
        for turn in [0, 1].into_iter().cycle() {
            if stop.is_set() {
                return Err(HashError::Stopped.into());
            }
            let first = work.next(plan.starts(work.left()))?;
            let started: Vec<_> =
                first.as_chunks::<2>().0.iter().map(|first| (plan.start(), first)).collect();
            let ticks = self.pace.blocks();
            let strips = plan.advance(ticks);
            if strips.is_empty() {
                break;
            }
            self.hand_over(&plan, &strips, &started, turn)?;
            strips.iter().filter(|strip| strip.ends).for_each(|strip| plan.end(strip.slot));
            if let Some(before) = before.replace(Round { strips, ticks, turn }) {
                self.heard(&before, work, stop)?;
                self.pace.took(before.ticks, began.elapsed());
                began = Instant::now();
            }
        }
        before.map_or(Ok(()), |before| self.heard(&before, work, stop))
    }

    fn hand_over(
        &mut self,
        plan: &Plan,
        strips: &[Strip],
        started: &[(usize, &[Words; 2])],
        turn: usize,
    ) -> Result<(), Error> {
        let Growing { stream, course, slots, told, told_here, .. } = self;
        let [_, pages_at, first_at] = places(*course, *slots);
        let stride = course.granules(course.blocks) as usize;
        let here = told_here[turn].bytes()?;
        // Slots without a strip rest.
        here[..pages_at].fill(0);
        for strip in strips {
            put(&mut here[strip.slot * 16..], &[strip.from, strip.to, strip.step]);
            put(&mut here[pages_at + strip.slot * stride * 4..], plan.granules(strip.slot));
        }
        for (slot, first) in started {
            let words = first.as_flattened().iter().map(|word| word.to_le_bytes());
            let to = here[first_at + slot * FIRST..].as_chunks_mut().0;
            to.iter_mut().zip(words).for_each(|(to, word)| *to = word);
        }
        let len = if started.is_empty() { first_at } else { here.len() };
        stream.upload(told, 0, &told_here[turn].source(), len)?;
        let mut numbers = [0; 32];
        let streams = *slots as u32;
        put(&mut numbers, &[streams, course.blocks, course.known, stride as u32, course.shift]);
        let shape = Shape { blocks: streams, threads: THREADS, shared: SHARED + 4 * stride as u32 };
        let args = [
            Arg::Words(&numbers),
            Arg::At(&self.pool, 0),
            Arg::At(told, pages_at as u64),
            Arg::At(&self.table, 0),
            Arg::At(told, 0),
            Arg::At(told, first_at as u64),
            Arg::At(&self.last, 0),
            Arg::At(&self.marks, 0),
            self.stop.arg(),
        ];
        stream.launch(&self.device.kernels().grow, shape, &args)?;
        stream.download(&self.marks, 0, &mut self.marks_here[turn], *slots * 4)?;
        stream.download(&self.last, 0, &mut self.last_here[turn], *slots * BLOCK as usize)
    }

    /// Waits for a round, and passes on what has ended with it.
    fn heard(&mut self, round: &Round, work: &mut dyn Work, stop: &Stop) -> Result<(), Error> {
        let (marks, last) = (&mut self.marks_here[round.turn], &mut self.last_here[round.turn]);
        while !last.look(STOP)? {
            if stop.is_set() {
                return Err(HashError::Stopped.into());
            }
        }
        let marks = marks.bytes()?.as_chunks().0;
        let whole = |strip: &Strip| u32::from_le_bytes(marks[strip.slot]) == strip.step + 1;
        if !round.strips.iter().all(whole) {
            return Err(unfinished());
        }
        let ends = || round.strips.iter().filter(|strip| strip.ends);
        // Were it to grow, the blocks would stay where it was.
        let (last, mut ended) = (last.bytes()?, Zeroizing::new(Vec::with_capacity(ends().count())));
        for strip in ends() {
            ended.extend_from_slice(&words(&last[strip.slot * BLOCK as usize..][..BLOCK as usize]));
        }
        if ended.is_empty() { Ok(()) } else { work.done(&ended) }
    }

    fn wipe(&mut self) -> Result<(), Error> {
        // Each of them, whatever becomes of those before.
        let mut wiped = Ok(());
        for memory in [&self.pool, &self.told, &self.last] {
            wiped = wiped.and(self.stream.clear(memory, 0, memory.bytes()));
        }
        // What an earlier hash has left must not pass for a lane that has begun.
        wiped = wiped.and(self.stream.set(&self.marks, 0, self.marks.bytes(), NO_MARK));
        for here in self.told_here.iter_mut().chain(&mut self.last_here) {
            wiped = wiped.and(here.wipe());
        }
        wiped
    }
}

impl argon2::Device for Growing {
    fn width(&self) -> usize {
        self.slots
    }

    fn run(&mut self, work: &mut dyn Work, stop: &Stop) -> Result<(), Error> {
        // Whatever was given up before is over, and kernels are not to give up what comes now.
        self.stream.synchronize()?;
        self.stop.set(false)?;
        let done = self.rounds(work, stop);
        let told = if done.is_err() { self.stop.set(true) } else { Ok(()) };
        let wiped = self.wipe();
        argon2::after(done, told.and(wiped))
    }
}

/// Where strips, granules and first blocks lie in what kernels are told.
fn places(course: Course, slots: usize) -> [usize; 3] {
    let pages = slots * 16;
    let first = pages + slots * course.granules(course.blocks) as usize * 4;
    [0, pages, first.next_multiple_of(16)]
}

fn put(bytes: &mut [u8], words: &[u32]) {
    bytes.as_chunks_mut().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_le_bytes());
}

#[cfg(test)]
impl Growing {
    /// Whether nothing is left of what kernels were told, and of last blocks, here and there.
    pub(super) fn ends_are_empty(&mut self) -> bool {
        let there = [&self.told, &self.last].map(|memory| {
            let mut bytes = vec![0; memory.bytes() as usize];
            self.stream.download_now(memory, 0, &mut bytes).unwrap();
            bytes
        });
        let here = self.told_here.iter_mut().chain(&mut self.last_here).map(|here| here.bytes().unwrap());
        let here = here.flat_map(|bytes| bytes.iter());
        there.iter().flatten().chain(here).all(|byte| *byte == 0)
    }
}
