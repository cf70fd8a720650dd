//! Safe shells around the kernels: whole passes over chunks, parents and ragged lanes.
//!
//! Everything above this file is safe code that speaks of slices; everything below is a kernel that speaks of
//! pointers. A pass always fills a whole [`Wide`] kernel: lanes that nobody needs repeat the last one, because a
//! padded pass costs no more than a full one and far less than a cascade of narrower ones.
#![expect(unsafe_code, reason = "calls into the kernel tables")]

use super::kernel::{Cv, GROUP, Lanes, MAX_LANES, RunFlags, Table, Uniform, Wide, Words, XofJob};
use super::{BLOCK_LEN, CHUNK_BLOCKS, CHUNK_END, CHUNK_LEN, CHUNK_START, Hash, PARENT, Plan, ROOT};
use arrayvec::ArrayVec;
use core::ptr;

/// The most [`Lanes`] that a kernel takes.
const GROUPS: usize = MAX_LANES / GROUP;

/// Values of one level of the tree, at most as many as a kernel has lanes. What a pass fills need not be cleared first.
pub(super) type Row = ArrayVec<Cv, MAX_LANES>;

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
        while active.len < plan.lanes().min(GROUP)
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
///
/// `lanes` is kept between steps and changed only where lanes change: filling it takes as long as a tenth of a step.
struct Ragged<'a> {
    key: &'a Key,
    start: u8,
    len: usize,
    /// How many lanes have their first block before them. Only if all have, the kernel can start from the key.
    fresh: usize,
    /// The bytes before each lane.
    job: [Job<'a>; GROUP],
    started: [bool; GROUP],
    lanes: Lanes,
    cv: [Cv; GROUP],
}

impl<'a> Ragged<'a> {
    fn new(key: &'a Key, start: u8) -> Ragged<'a> {
        let every = RunFlags::new(key.flags, 0, 0);
        let words = Words::of(every, 0, false);
        let lanes = Lanes { input: [ptr::null(); GROUP], words, cv: ptr::null_mut(), key: ptr::null() };
        let job = core::array::from_fn(|_| Job { id: 0, input: &[], counter: 0, end: 0 });
        let (started, cv) = ([false; GROUP], [[0; 8]; GROUP]);
        Ragged { key, start, len: 0, fresh: 0, job, started, lanes, cv }
    }

    fn push(&mut self, job: Job<'a>) {
        let lane = self.len;
        self.lanes.words.counter_low[lane] = job.counter as u32;
        self.lanes.words.counter_high[lane] = (job.counter >> 32) as u32;
        self.lanes.words.first[lane] = u32::from(self.key.flags | self.start);
        self.job[lane] = job;
        self.started[lane] = false;
        self.fresh += 1;
        self.len += 1;
    }

    /// Takes a lane out; the last one moves into its place.
    fn remove(&mut self, lane: usize) {
        self.len -= 1;
        let last = self.len;
        self.job.swap(lane, last);
        self.started[lane] = self.started[last];
        self.cv[lane] = self.cv[last];
        self.lanes.words.counter_low[lane] = self.lanes.words.counter_low[last];
        self.lanes.words.counter_high[lane] = self.lanes.words.counter_high[last];
        self.lanes.words.first[lane] = self.lanes.words.first[last];
    }

    fn blocks_left(&self, lane: usize) -> usize {
        self.job[lane].input.len().div_ceil(BLOCK_LEN).max(1)
    }

    /// A last message needs no lanes.
    fn finish_alone(&mut self, plan: Plan, done: &mut impl FnMut(usize, &Cv)) {
        let job = &self.job[0];
        let (start, cv) = if self.started[0] { (0, &self.cv[0]) } else { (self.start, &self.key.words) };
        let flags = RunFlags::new(self.key.flags, start, job.end);
        done(job.id, &run(plan.one(job.input.len()), cv, job.input, job.counter, flags));
        self.fresh = 0;
        self.len = 0;
    }

    /// All lanes up to the next block that ends a message; then that block.
    fn step(&mut self, plan: Plan, done: &mut impl FnMut(usize, &Cv)) {
        let mut shortest = usize::MAX;
        let mut even = true;
        for lane in 0..self.len {
            let blocks = self.blocks_left(lane);
            even &= self.job[lane].input.len() == BLOCK_LEN * blocks && (lane == 0 || blocks == shortest);
            shortest = shortest.min(blocks);
        }
        if even {
            self.advance(plan, shortest, true);
        } else {
            if shortest > 1 {
                self.advance(plan, shortest - 1, false);
            }
            self.advance(plan, 1, true);
        }
        for lane in (0..self.len).rev() {
            if self.job[lane].input.is_empty() {
                done(self.job[lane].id, &self.cv[lane]);
                self.remove(lane);
            }
        }
    }

    /// `blocks` blocks in every lane, of which the last ends those messages that have no more, if `ending`.
    fn advance(&mut self, plan: Plan, blocks: usize, ending: bool) {
        let wide = plan.pass_of(self.len).expect("no more lanes than the plan has");
        assert!(self.len <= wide.lanes && wide.lanes <= GROUP);
        let len = blocks * BLOCK_LEN;
        let every = u32::from(self.key.flags);
        let mut padded = [[0; BLOCK_LEN]; GROUP];
        for (lane, padded) in padded[..self.len].iter_mut().enumerate() {
            let ends = ending && self.blocks_left(lane) == blocks;
            let job = &mut self.job[lane];
            self.lanes.words.last[lane] = if ends { every | u32::from(job.end) } else { every };
            if let Some((now, later)) = job.input.split_at_checked(len) {
                self.lanes.input[lane] = now.as_ptr();
                self.lanes.words.last_len[lane] = BLOCK_LEN as u32;
                job.input = later;
            } else {
                assert!(ends && blocks == 1, "only a last block is short");
                padded[..job.input.len()].copy_from_slice(job.input);
                self.lanes.input[lane] = padded.as_ptr();
                self.lanes.words.last_len[lane] = job.input.len() as u32;
                job.input = &[];
            }
        }
        let first = self.lanes.input[0];
        self.lanes.input[self.len..wide.lanes].fill(first);
        self.lanes.cv = self.cv.as_mut_ptr();
        self.lanes.key = if self.fresh == self.len { &self.key.words } else { ptr::null() };
        if self.fresh != self.len && self.fresh > 0 {
            for lane in 0..self.len {
                if !self.started[lane] {
                    self.cv[lane] = self.key.words;
                }
            }
        }
        // SAFETY: the kernel runs here (see `run`); each of its lanes has `blocks` readable blocks, since the
        // slices were split at that length or padded to one block; `cv` has sixteen places.
        unsafe { (wide.advance)(core::slice::from_mut(&mut self.lanes), blocks) };
        if self.fresh > 0 {
            self.fresh = 0;
            self.started[..self.len].fill(true);
            self.lanes.words.first[..self.len].fill(every);
        }
    }
}

/// One pass over up to `wide.lanes` consecutive chunks, of which the last may be short.
pub(super) fn chunk_pass(wide: &Wide, key: &Key, input: &[u8], counter: u64, out: &mut Row) {
    let count = input.len().div_ceil(CHUNK_LEN);
    assert!(0 < count && count <= wide.lanes);
    let tail = &input[(count - 1) * CHUNK_LEN..];
    if tail.len() < CHUNK_LEN {
        let mut values = [[0; 8]; MAX_LANES];
        tail_pass(wide, key, input, counter, count - 1, &mut values);
        out.try_extend_from_slice(&values[..count]).expect("a row has places for what it is asked to take");
        return;
    }
    let job = Uniform {
        input: input.as_ptr(),
        stride: CHUNK_LEN,
        count,
        blocks: CHUNK_BLOCKS,
        counter,
        step: true,
        flags: RunFlags::new(key.flags, CHUNK_START, CHUNK_END),
        key: &key.words,
        cv: ptr::null_mut(),
    };
    // SAFETY: the kernel runs here (see `run`); every lane has a full chunk.
    unsafe { append(wide, job, out) };
}

/// The values of a job to the end of a row.
///
/// # Safety
/// The kernel must run here, and every lane of the job must have its blocks; `cv` is set here.
#[inline(always)]
unsafe fn append(wide: &Wide, mut job: Uniform, out: &mut Row) {
    assert!(job.count <= wide.lanes && wide.lanes <= MAX_LANES && job.count <= out.remaining_capacity());
    if wide.lanes <= out.remaining_capacity() {
        // SAFETY: behind its values the row has a place for each lane; of them the kernel wrote `count`, and more.
        unsafe {
            job.cv = out.as_mut_ptr().add(out.len());
            (wide.uniform)(&job);
            out.set_len(out.len() + job.count);
        }
    } else {
        let mut values = [[0; 8]; MAX_LANES];
        job.cv = values.as_mut_ptr();
        // SAFETY: as above, a place for each lane.
        unsafe { (wide.uniform)(&job) };
        out.try_extend_from_slice(&values[..job.count]).expect("asked for above");
    }
}

/// The pass of [`chunk_pass`] when the last chunk, in `tail_lane`, is short: all lanes go on together until the tail
/// ends, its value is put aside, and its lane repeats the chunk before it for the rest.
fn tail_pass(wide: &Wide, key: &Key, input: &[u8], counter: u64, tail_lane: usize, out: &mut [Cv]) {
    assert!(tail_lane > 0, "a single short chunk has no full one beside it");
    let tail = &input[tail_lane * CHUNK_LEN..];
    // Lanes beyond the tail must repeat a full chunk.
    let job = Uniform {
        input: input.as_ptr(),
        stride: CHUNK_LEN,
        count: tail_lane,
        blocks: CHUNK_BLOCKS,
        counter,
        step: true,
        flags: RunFlags::new(key.flags, 0, 0),
        key: &key.words,
        cv: out.as_mut_ptr(),
    };
    let groups = wide.lanes.div_ceil(GROUP);
    let mut lanes: ArrayVec<Lanes, GROUPS> = (0..groups).map(|index| Lanes::of(&job.group(index))).collect();
    let (group, lane) = (tail_lane / GROUP, tail_lane % GROUP);
    lanes[group].input[lane] = tail.as_ptr();

    let before = (tail.len() - 1) / BLOCK_LEN; // full blocks before the last one
    let last = &tail[before * BLOCK_LEN..];
    let mut padded = [0; BLOCK_LEN];
    padded[..last.len()].copy_from_slice(last);
    let started = before > 0;
    if started {
        set_flags(&mut lanes, RunFlags::new(key.flags, CHUNK_START, 0));
        // SAFETY: the kernel runs here; every lane has at least `before` blocks; `out` has a place for each.
        unsafe { (wide.advance)(&mut lanes, before) };
        go_on(&mut lanes, before, out);
    }

    let start = if started { 0 } else { CHUNK_START };
    let end_of_full = if before + 1 == CHUNK_BLOCKS { CHUNK_END } else { 0 };
    set_flags(&mut lanes, RunFlags::new(key.flags, start, end_of_full));
    lanes[group].words.last[lane] = RunFlags::new(key.flags, 0, CHUNK_END).at(false, true);
    lanes[group].words.last_len[lane] = last.len() as u32;
    lanes[group].input[lane] = padded.as_ptr();
    // SAFETY: as above, one block; the tail lane has its padded copy.
    unsafe { (wide.advance)(&mut lanes, 1) };

    let after = CHUNK_BLOCKS - before - 1;
    if after > 0 {
        let finished = out[tail_lane];
        go_on(&mut lanes, 1, out);
        lanes[group].input[lane] = lanes[(tail_lane - 1) / GROUP].input[(tail_lane - 1) % GROUP];
        lanes[group].words.last_len[lane] = BLOCK_LEN as u32;
        set_flags(&mut lanes, RunFlags::new(key.flags, 0, CHUNK_END));
        // SAFETY: as above, the rest of each full chunk.
        unsafe { (wide.advance)(&mut lanes, after) };
        out[tail_lane] = finished;
    }
}

/// The same flags in every lane.
fn set_flags(lanes: &mut [Lanes], flags: RunFlags) {
    for words in lanes.iter_mut().map(|lanes| &mut lanes.words) {
        words.first = [flags.at(true, false); GROUP];
        words.middle = [flags.at(false, false); GROUP];
        words.last = [flags.at(false, true); GROUP];
    }
}

/// `blocks` further on, from the chaining values in `cv`.
fn go_on(lanes: &mut [Lanes], blocks: usize, cv: &mut [Cv]) {
    lanes[0].key = ptr::null();
    lanes[0].cv = cv.as_mut_ptr();
    for pointer in lanes.iter_mut().flat_map(|lanes| &mut lanes.input) {
        *pointer = pointer.wrapping_add(blocks * BLOCK_LEN);
    }
}

/// One pass over up to `wide.lanes` parents: `children` in pairs, side by side.
pub(super) fn parent_pass(wide: &Wide, key: &Key, children: &[[Cv; 2]], out: &mut Row) {
    assert!(!children.is_empty());
    let job = Uniform {
        // Two chaining values are a parent's message as they lie: wide kernels exist for little-endian machines only.
        input: children.as_ptr().cast(),
        stride: BLOCK_LEN,
        count: children.len(),
        blocks: 1,
        counter: 0,
        step: false,
        flags: RunFlags::new(key.flags | PARENT, 0, 0),
        key: &key.words,
        cv: ptr::null_mut(),
    };
    // SAFETY: the kernel runs here; every lane has one block.
    unsafe { append(wide, job, out) };
}

/// Passes over as many messages as a kernel has lanes, all of the same number of whole blocks, at most a chunk.
///
/// Between passes only pointers change: filling the words of all lanes anew would take as long as half a block.
pub(super) struct EvenPasses<'a> {
    key: &'a Key,
    lanes: [Lanes; GROUPS],
}

impl<'a> EvenPasses<'a> {
    pub(super) fn new(key: &'a Key) -> EvenPasses<'a> {
        let words = Words::of(RunFlags::new(key.flags, CHUNK_START, CHUNK_END | ROOT), 0, false);
        let lanes = || Lanes { input: [ptr::null(); GROUP], words, cv: ptr::null_mut(), key: ptr::null() };
        EvenPasses { key, lanes: core::array::from_fn(|_| lanes()) }
    }

    /// The digests of `messages`, or `false` if they are not alike enough.
    pub(super) fn pass(&mut self, wide: &Wide, messages: &[&[u8]], out: &mut [Hash]) -> bool {
        if !EvenPasses::fit(wide, messages) {
            return false;
        }
        let len = messages[0].len();
        assert!(out.len() == wide.lanes && wide.lanes <= MAX_LANES);
        let pointers = self.lanes.iter_mut().flat_map(|lanes| &mut lanes.input);
        for (pointer, message) in pointers.zip(messages) {
            *pointer = message.as_ptr();
        }
        // A digest is a chaining value in little-endian order, which is the order of any machine with wide kernels.
        self.lanes[0].cv = out.as_mut_ptr().cast();
        self.lanes[0].key = &self.key.words;
        // SAFETY: the kernel runs here; every lane has `len` readable bytes; `out` has a digest of 32 bytes for each
        // lane, to which kernels write without regard to alignment.
        unsafe { (wide.advance)(&mut self.lanes, len / BLOCK_LEN) };
        true
    }

    /// Whether [`pass`](EvenPasses::pass) takes these messages.
    pub(super) fn fit(wide: &Wide, messages: &[&[u8]]) -> bool {
        let len = messages[0].len();
        messages.len() == wide.lanes
            && (BLOCK_LEN..=CHUNK_LEN).contains(&len)
            && len.is_multiple_of(BLOCK_LEN)
            && messages.iter().all(|message| message.len() == len)
    }
}
