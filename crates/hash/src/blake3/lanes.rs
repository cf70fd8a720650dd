//! Safe shells around the kernels: whole passes over chunks, parents and ragged lanes.
//!
//! Everything above this file is safe code that speaks of slices; everything below is a kernel that speaks of
//! pointers. A pass always fills a whole [`Wide`] kernel: lanes that nobody needs repeat the last one, because a
//! padded pass costs no more than a full one and far less than a cascade of narrower ones.

use super::kernel::{Cv, Lanes, MAX_LANES, RunFlags, Table, Wide, XofJob};
use super::{BLOCK_LEN, CHUNK_END, CHUNK_LEN, CHUNK_START, PARENT, Plan};
use core::ptr;

/// Blocks in a chunk.
const CHUNK_BLOCKS: usize = CHUNK_LEN / BLOCK_LEN;

/// What all compressions of one hash share: its starting value and its mode.
#[derive(Clone, Copy)]
pub(super) struct Key {
    pub(super) words: Cv,
    pub(super) flags: u8,
}

/// One message of at most a chunk, from `start`.
#[inline(always)]
pub(super) fn run(table: &'static Table, start: &Cv, input: &[u8], counter: u64, flags: RunFlags) -> Cv {
    assert!(input.len() <= CHUNK_LEN);
    let mut out = [0; 8];
    // SAFETY: tables come from a `Kernel` or a `Plan`, which exist only where their instructions run.
    unsafe { (table.run)(start, input, counter, flags, &mut out) };
    out
}

/// The chaining value of the parent of two subtrees.
#[inline]
pub(super) fn parent(table: &'static Table, key: &Key, children: &[Cv; 2], extra: u8) -> Cv {
    run(table, &key.words, &parent_block(children), 0, RunFlags::new(key.flags | PARENT | extra, 0, 0))
}

/// The message of a parent node.
#[inline(always)]
pub(super) fn parent_block(children: &[Cv; 2]) -> [u8; BLOCK_LEN] {
    let mut block = [0; BLOCK_LEN];
    for (bytes, word) in block.as_chunks_mut::<4>().0.iter_mut().zip(children.as_flattened()) {
        *bytes = word.to_le_bytes();
    }
    block
}

/// Root output blocks from `counter` on.
pub(super) fn xof(table: &'static Table, job: &XofJob, counter: u64, out: &mut [[u8; BLOCK_LEN]]) {
    // SAFETY: as in `run`.
    unsafe { (table.xof)(job, counter, out) }
}

/// One message of at most a chunk, on its way through [`run_jobs`].
pub(super) struct Job<'a> {
    /// The caller's name for it.
    pub(super) id: usize,
    pub(super) input: &'a [u8],
    pub(super) counter: u64,
    /// The flags that its last block has in addition.
    pub(super) end: u8,
}

/// Messages of any lengths, each in a lane of its own; a lane whose message ends takes the next one.
///
/// `start` is the flag of every message's first block. `done` gets each result, in no particular order.
pub(super) fn run_jobs<'a>(
    plan: Plan,
    key: &Key,
    start: u8,
    mut jobs: impl Iterator<Item = Job<'a>>,
    mut done: impl FnMut(usize, &Cv),
) {
    let mut active = Ragged::new(key, start);
    loop {
        while active.len < plan.lanes()
            && let Some(job) = jobs.next()
        {
            active.push(job);
        }
        match active.len {
            0 => return,
            1 => active.finish_alone(plan, &mut done),
            _ => active.step(plan, &mut done),
        }
    }
}

/// The messages in the lanes, `len` of them, packed to the front.
struct Ragged<'a> {
    key: &'a Key,
    start: u8,
    len: usize,
    lane: [Job<'a>; MAX_LANES],
    /// Whether the first block is behind us.
    started: [bool; MAX_LANES],
    cv: [Cv; MAX_LANES],
}

impl<'a> Ragged<'a> {
    fn new(key: &'a Key, start: u8) -> Ragged<'a> {
        let lane = core::array::from_fn(|_| Job { id: 0, input: &[], counter: 0, end: 0 });
        Ragged { key, start, len: 0, lane, started: [false; MAX_LANES], cv: [key.words; MAX_LANES] }
    }

    fn push(&mut self, job: Job<'a>) {
        self.lane[self.len] = job;
        self.started[self.len] = false;
        self.cv[self.len] = self.key.words;
        self.len += 1;
    }

    /// Takes a lane out; the last one moves into its place.
    fn remove(&mut self, lane: usize) {
        self.len -= 1;
        self.lane.swap(lane, self.len);
        self.started[lane] = self.started[self.len];
        self.cv[lane] = self.cv[self.len];
    }

    fn blocks_left(&self, lane: usize) -> usize {
        self.lane[lane].input.len().div_ceil(BLOCK_LEN).max(1)
    }

    fn first_flag(&self, lane: usize) -> u8 {
        if self.started[lane] { 0 } else { self.start }
    }

    /// A last message needs no lanes.
    fn finish_alone(&mut self, plan: Plan, done: &mut impl FnMut(usize, &Cv)) {
        let job = &self.lane[0];
        let flags = RunFlags::new(self.key.flags, self.first_flag(0), job.end);
        let cv = run(plan.one(job.input.len()), &self.cv[0], job.input, job.counter, flags);
        done(job.id, &cv);
        self.remove(0);
    }

    /// All lanes up to the next block that ends a message; then that block.
    fn step(&mut self, plan: Plan, done: &mut impl FnMut(usize, &Cv)) {
        let shortest = (0..self.len).map(|lane| self.blocks_left(lane)).min().expect("lanes are not empty");
        let even = (0..self.len).all(|lane| self.lane[lane].input.len() == shortest * BLOCK_LEN);
        if even {
            self.advance(plan, shortest, true);
        } else {
            if shortest > 1 {
                self.advance(plan, shortest - 1, false);
            }
            self.advance(plan, 1, true);
        }
        for lane in (0..self.len).rev() {
            if self.lane[lane].input.is_empty() {
                done(self.lane[lane].id, &self.cv[lane]);
                self.remove(lane);
            }
        }
    }

    /// `blocks` blocks in every lane, of which the last ends those messages that have no more, if `ending`.
    fn advance(&mut self, plan: Plan, blocks: usize, ending: bool) {
        let wide = plan.pass(self.len).expect("two lanes or more are within what the plan has");
        assert!(self.len <= wide.lanes && wide.lanes <= MAX_LANES);
        let mut lanes = Lanes::new(BLOCK_LEN);
        let mut padded = [[0; BLOCK_LEN]; MAX_LANES];
        for (lane, padded) in padded[..self.len].iter_mut().enumerate() {
            let ends = ending && self.blocks_left(lane) == blocks;
            let job = &mut self.lane[lane];
            let flags = RunFlags::new(
                self.key.flags,
                if self.started[lane] { 0 } else { self.start },
                if ends { job.end } else { 0 },
            );
            lanes.first[lane] = flags.at(true, false);
            lanes.middle[lane] = flags.at(false, false);
            lanes.last[lane] = flags.at(false, true);
            lanes.counter_low[lane] = job.counter as u32;
            lanes.counter_high[lane] = (job.counter >> 32) as u32;
            let (now, later) = job.input.split_at(job.input.len().min(blocks * BLOCK_LEN));
            lanes.input[lane] = now.as_ptr();
            if now.len() < blocks * BLOCK_LEN {
                assert!(ends && blocks == 1, "only a last block is short");
                padded[..now.len()].copy_from_slice(now);
                lanes.input[lane] = padded.as_ptr();
                lanes.last_len[lane] = now.len() as u32;
            }
            job.input = later;
        }
        for lane in self.len..wide.lanes {
            lanes.input[lane] = lanes.input[0];
        }
        if self.started[..self.len].iter().all(|started| !started) {
            lanes.key = &self.key.words;
        }
        lanes.cv = self.cv.as_mut_ptr();
        // SAFETY: the kernel runs here (see `run`); each of its lanes has `blocks` readable blocks, since the
        // slices were split at that length or padded to one block; `cv` has sixteen places.
        unsafe { (wide.advance)(&mut lanes, blocks) };
        self.started[..self.len].fill(true);
    }
}

impl Lanes {
    fn new(last_len: usize) -> Lanes {
        Lanes {
            input: [ptr::null(); MAX_LANES],
            counter_low: [0; MAX_LANES],
            counter_high: [0; MAX_LANES],
            first: [0; MAX_LANES],
            middle: [0; MAX_LANES],
            last: [0; MAX_LANES],
            last_len: [last_len as u32; MAX_LANES],
            cv: ptr::null_mut(),
            key: ptr::null(),
        }
    }

    /// The same flags in every lane.
    fn set_flags(&mut self, flags: RunFlags) {
        self.first = [flags.at(true, false); MAX_LANES];
        self.middle = [flags.at(false, false); MAX_LANES];
        self.last = [flags.at(false, true); MAX_LANES];
    }

    /// Counters `counter..` in order.
    fn set_counters(&mut self, counter: u64) {
        let low = counter as u32;
        for lane in 0..MAX_LANES {
            self.counter_low[lane] = low.wrapping_add(lane as u32);
        }
        self.counter_high = [(counter >> 32) as u32; MAX_LANES];
        if low > u32::MAX - MAX_LANES as u32 {
            for lane in 0..MAX_LANES {
                self.counter_high[lane] = (counter.wrapping_add(lane as u64) >> 32) as u32;
            }
        }
    }
}

/// One pass over up to `wide.lanes` consecutive chunks, of which the last may be short. Returns how many.
///
/// All places of `out` may be written.
pub(super) fn chunk_pass(
    wide: &Wide,
    key: &Key,
    input: &[u8],
    counter: u64,
    out: &mut [Cv; MAX_LANES],
) -> usize {
    let chunks = input.len().div_ceil(CHUNK_LEN);
    assert!(0 < chunks && chunks <= wide.lanes && wide.lanes <= MAX_LANES);
    let mut lanes = Lanes::new(BLOCK_LEN);
    lanes.set_counters(counter);
    lanes.cv = out.as_mut_ptr();
    lanes.key = &key.words;
    for (lane, pointer) in lanes.input.iter_mut().enumerate() {
        // Lanes past the end repeat the first chunk: `split_tail` sees to it that it is a full one.
        *pointer = input.as_ptr().wrapping_add(if lane < chunks { lane * CHUNK_LEN } else { 0 });
    }
    lanes.set_flags(RunFlags::new(key.flags, CHUNK_START, CHUNK_END));

    let tail_len = input.len() - (chunks - 1) * CHUNK_LEN;
    if tail_len == CHUNK_LEN {
        // SAFETY: the kernel runs here; every lane has a full chunk; `out` has sixteen places.
        unsafe { (wide.advance)(&mut lanes, CHUNK_BLOCKS) };
        return chunks;
    }
    assert!(chunks > 1, "a single short chunk has no full one beside it");
    tail_pass(wide, key, &mut lanes, &input[input.len() - tail_len..], chunks - 1, out);
    chunks
}

/// The pass of [`chunk_pass`] when the chunk in lane `tail_lane` is short: all lanes go on together until the tail
/// ends, its value is put aside, and its lane repeats the first chunk for the rest.
fn tail_pass(
    wide: &Wide,
    key: &Key,
    lanes: &mut Lanes,
    tail: &[u8],
    tail_lane: usize,
    out: &mut [Cv; MAX_LANES],
) {
    let before = (tail.len() - 1) / BLOCK_LEN; // full blocks before the last one
    let last = &tail[before * BLOCK_LEN..];
    let mut padded = [0; BLOCK_LEN];
    padded[..last.len()].copy_from_slice(last);

    let started = before > 0;
    if started {
        lanes.set_flags(RunFlags::new(key.flags, CHUNK_START, 0));
        // SAFETY: the kernel runs here; every lane has at least `before` blocks; `out` has sixteen places.
        unsafe { (wide.advance)(lanes, before) };
        lanes.key = ptr::null();
        for pointer in &mut lanes.input {
            *pointer = pointer.wrapping_add(before * BLOCK_LEN);
        }
    }

    let start = if started { 0 } else { CHUNK_START };
    let end_for_full = if before + 1 == CHUNK_BLOCKS { CHUNK_END } else { 0 };
    lanes.set_flags(RunFlags::new(key.flags, start, end_for_full));
    lanes.last[tail_lane] = RunFlags::new(key.flags, 0, CHUNK_END).at(false, true);
    lanes.last_len[tail_lane] = last.len() as u32;
    lanes.input[tail_lane] = padded.as_ptr();
    // SAFETY: as above, one block; the tail lane has its padded copy.
    unsafe { (wide.advance)(lanes, 1) };

    let after = CHUNK_BLOCKS - before - 1;
    if after > 0 {
        let finished = out[tail_lane];
        lanes.key = ptr::null();
        lanes.cv = out.as_mut_ptr();
        for pointer in &mut lanes.input {
            *pointer = pointer.wrapping_add(BLOCK_LEN);
        }
        lanes.input[tail_lane] = lanes.input[0];
        lanes.last_len[tail_lane] = BLOCK_LEN as u32;
        lanes.set_flags(RunFlags::new(key.flags, 0, CHUNK_END));
        // SAFETY: as above, the rest of each full chunk.
        unsafe { (wide.advance)(lanes, after) };
        out[tail_lane] = finished;
    }
}

/// One pass over up to `wide.lanes` parents: `children` in pairs, side by side. All places of `out` may be written.
pub(super) fn parent_pass(wide: &Wide, key: &Key, children: &[[Cv; 2]], out: &mut [Cv; MAX_LANES]) {
    assert!(!children.is_empty() && children.len() <= wide.lanes && wide.lanes <= MAX_LANES);
    let mut lanes = Lanes::new(BLOCK_LEN);
    lanes.cv = out.as_mut_ptr();
    lanes.key = &key.words;
    lanes.set_flags(RunFlags::new(key.flags | PARENT, 0, 0));
    for (lane, pointer) in lanes.input.iter_mut().enumerate() {
        // Two chaining values are a parent's message as they lie: wide kernels exist for little-endian machines only.
        *pointer = children[lane.min(children.len() - 1)].as_ptr().cast();
    }
    // SAFETY: the kernel runs here; every lane has one block; `out` has sixteen places.
    unsafe { (wide.advance)(&mut lanes, 1) };
}
