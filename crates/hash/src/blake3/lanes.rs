//! Safe wrappers of the kernels: whole passes over chunks, parents and lanes of different lengths.
//!
//! Code above this file is safe and uses slices; kernels below it use pointers. A pass always fills a whole
//! [`Wide`] kernel: unused lanes repeat the last one, because a padded pass costs no more than a full one and
//! far less than several narrower ones.
#![expect(unsafe_code, reason = "calls into the kernel tables")]

use super::kernel::{Cv, GROUP, Lanes, MAX_LANES, RunFlags, Table, UniformLanes, Wide, Words, XofJob};
use super::{BLOCK_LEN, CHUNK_BLOCKS, CHUNK_END, CHUNK_LEN, CHUNK_START, Hash, PARENT, Plan, ROOT};
use arrayvec::ArrayVec;
use core::ptr;

/// The most [`Lanes`] that a kernel takes.
const GROUPS: usize = MAX_LANES / GROUP;

/// Values of one level of the tree, at most as many as a kernel has lanes. A pass needs no cleared memory.
pub(super) type Row = ArrayVec<Cv, MAX_LANES>;

/// Values common to all compressions of one hash: its starting value and its mode.
#[derive(Clone, Copy)]
pub(super) struct Key {
    pub(super) words: Cv,
    pub(super) flags: u8,
}

/// Compresses one message of at most a chunk, from `start`.
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

/// One message of at most a chunk, for [`run_jobs`].
pub(super) struct Job<'a> {
    /// The caller's number for it.
    pub(super) id: usize,
    pub(super) input: &'a [u8],
    pub(super) counter: u64,
    /// Further flags of its last block.
    pub(super) end: u8,
}

/// Hashes messages of any lengths, each in a lane of its own; a lane whose message ends takes the next one.
///
/// `start` is the flag of every message's first block. `done` gets each result, in unspecified order.
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
/// `lanes` is kept between steps and updated only where lanes change: filling it takes as long as a tenth of
/// a step.
struct Ragged<'a> {
    key: &'a Key,
    start: u8,
    len: usize,
    /// Lanes that are still at their first block. Only if all are, the kernel can start from the key.
    fresh: usize,
    /// The remaining input of each lane.
    job: [Job<'a>; GROUP],
    started: [bool; GROUP],
    lanes: Lanes,
    cv: [Cv; GROUP],
}

impl<'a> Ragged<'a> {
    fn new(key: &'a Key, start: u8) -> Ragged<'a> {
        let every = RunFlags::new(key.flags, 0, 0);
        let words = Words::uniform(every, 0, false);
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

    /// Removes a lane; the last one moves to its place.
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

    /// Finishes a last message without lanes.
    fn finish_alone(&mut self, plan: Plan, done: &mut impl FnMut(usize, &Cv)) {
        let job = &self.job[0];
        let (start, cv) = if self.started[0] { (0, &self.cv[0]) } else { (self.start, &self.key.words) };
        let flags = RunFlags::new(self.key.flags, start, job.end);
        done(job.id, &run(plan.one(job.input.len()), cv, job.input, job.counter, flags));
        self.fresh = 0;
        self.len = 0;
    }

    /// Advances all lanes to the next block that ends a message, then over that block.
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

    /// Advances every lane by `blocks` blocks; if `ending`, the last block ends those messages that have no
    /// more.
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

/// One pass over up to `wide.lanes` consecutive chunks; the last may be short.
pub(super) fn chunk_pass(wide: &Wide, key: &Key, input: &[u8], counter: u64, out: &mut Row) {
    let count = input.len().div_ceil(CHUNK_LEN);
    assert!(0 < count && count <= wide.lanes);
    let tail = &input[(count - 1) * CHUNK_LEN..];
    if tail.len() < CHUNK_LEN {
        let mut values = [[0; 8]; MAX_LANES];
        tail_pass(wide, key, input, counter, count - 1, &mut values);
        out.try_extend_from_slice(&values[..count]).expect("the caller leaves room in the row");
        return;
    }
    let job = UniformLanes {
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

/// Appends the values of a job to a row.
///
/// # Safety
/// The kernel must run here, and every lane of the job must have its blocks; `cv` is set here.
#[inline(always)]
unsafe fn append(wide: &Wide, mut job: UniformLanes, out: &mut Row) {
    assert!(job.count <= wide.lanes && wide.lanes <= MAX_LANES && job.count <= out.remaining_capacity());
    if wide.lanes <= out.remaining_capacity() {
        // SAFETY: behind its values the row has a place for each lane; the kernel has written at least
        // `count` of them.
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

/// The pass of [`chunk_pass`] when the last chunk, in `tail_lane`, is short: all lanes advance together until
/// the tail ends, its value is saved, and its lane repeats the chunk before it for the rest.
fn tail_pass(wide: &Wide, key: &Key, input: &[u8], counter: u64, tail_lane: usize, out: &mut [Cv]) {
    assert!(tail_lane > 0, "a single short chunk has no full one beside it");
    let tail = &input[tail_lane * CHUNK_LEN..];
    // Lanes beyond the tail must repeat a full chunk.
    let job = UniformLanes {
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
    let mut lanes: ArrayVec<Lanes, GROUPS> =
        (0..groups).map(|index| Lanes::from_job(&job.group(index))).collect();
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

/// Sets the same flags in every lane.
fn set_flags(lanes: &mut [Lanes], flags: RunFlags) {
    for words in lanes.iter_mut().map(|lanes| &mut lanes.words) {
        words.first = [flags.at(true, false); GROUP];
        words.middle = [flags.at(false, false); GROUP];
        words.last = [flags.at(false, true); GROUP];
    }
}

/// Advances by `blocks`, from the chaining values in `cv`.
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
    let job = UniformLanes {
        // Two chaining values in memory are a parent's message: wide kernels exist for little-endian machines
        // only.
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

/// Copies of blocks for [`EvenPasses`], which copies at most 80 in one pass: 5 KiB of stack.
pub(super) type CopiedBlocks = ArrayVec<[u8; BLOCK_LEN], 80>;

/// Passes over messages of equal length, at most a chunk each.
///
/// Only what changes is written between passes: filling the words of all lanes takes as long as half a block.
pub(super) struct EvenPasses<'a, const GROUPS: usize> {
    plan: Plan,
    key: &'a Key,
    lanes: [Lanes; GROUPS],
    /// The flags of the first and the last block, and the length of the last.
    ends: (u32, u32, usize),
    /// Blocks of messages that end in a short one, `copied_blocks` for each, the last zero from byte
    /// `copied_tail` on.
    copies: &'a mut CopiedBlocks,
    copied_blocks: usize,
    copied_tail: usize,
}

impl<'a, const GROUPS: usize> EvenPasses<'a, GROUPS> {
    /// For a plan with at most `GROUPS` groups of lanes; `copies` is working memory.
    // Inlined: the value is large, and returning it would copy it.
    #[inline(always)]
    pub(super) fn new(plan: Plan, key: &'a Key, copies: &'a mut CopiedBlocks) -> EvenPasses<'a, GROUPS> {
        assert!(plan.lanes() <= GROUPS * GROUP);
        let words = Words::uniform(RunFlags::new(key.flags, CHUNK_START, CHUNK_END | ROOT), 0, false);
        let lanes = || Lanes { input: [ptr::null(); GROUP], words, cv: ptr::null_mut(), key: ptr::null() };
        let ends = (words.first[0], words.last[0], BLOCK_LEN);
        let lanes = core::array::from_fn(|_| lanes());
        EvenPasses { plan, key, lanes, ends, copies, copied_blocks: 0, copied_tail: 0 }
    }

    /// Computes the digests of messages that all have `len` bytes, in the cheapest passes of the plan.
    #[inline]
    pub(super) fn hash(&mut self, mut messages: &[&[u8]], len: usize, mut out: &mut [Hash]) {
        assert!(messages.len() == out.len() && len <= CHUNK_LEN);
        while let Some(first) = messages.first() {
            let wide = self.plan.pass(messages.len()).filter(|_| messages.len() > 1);
            let count = wide.map_or(1, |wide| wide.lanes.min(messages.len()));
            match wide {
                None => {
                    let flags = RunFlags::new(self.key.flags, CHUNK_START, CHUNK_END | ROOT);
                    let value = run(self.plan.one(len), &self.key.words, first, 0, flags);
                    out[0] = Hash::from_words(&value);
                }
                Some(wide) => self.pass(wide, &messages[..count], len, &mut out[..count]),
            }
            (messages, out) = (&messages[count..], &mut out[count..]);
        }
    }

    fn pass(&mut self, wide: &Wide, messages: &[&[u8]], len: usize, out: &mut [Hash]) {
        let count = messages.len();
        assert!(0 < count && count == out.len() && count <= wide.lanes && wide.lanes <= GROUPS * GROUP);
        if count < wide.lanes {
            let mut values = [[0; 8]; MAX_LANES];
            // SAFETY: `values` has a place for each lane.
            unsafe { self.pass_to(wide, messages, len, values.as_mut_ptr()) };
            for (out, value) in out.iter_mut().zip(&values) {
                *out = Hash::from_words(value);
            }
        } else {
            // SAFETY: `out` has a digest for each lane. A digest is a chaining value in little-endian order,
            // which is the byte order of all machines with wide kernels, and kernels need no alignment.
            unsafe { self.pass_to(wide, messages, len, out.as_mut_ptr().cast()) };
        }
    }

    /// One pass; lanes without a message repeat the last one.
    ///
    /// A short last block must be padded. Copying a few blocks before it as well takes less time than another
    /// call of the kernel.
    ///
    /// # Safety
    /// `cv` must have 32 writable bytes for each lane of `wide`.
    unsafe fn pass_to(&mut self, wide: &Wide, messages: &[&[u8]], len: usize, cv: *mut Cv) {
        let every = u32::from(self.key.flags);
        let (start, end) = (every | u32::from(CHUNK_START), every | u32::from(CHUNK_END | ROOT));
        let (blocks, tail_len) = (len.div_ceil(BLOCK_LEN).max(1), len % BLOCK_LEN);
        self.lanes[0].cv = cv;
        self.lanes[0].key = &self.key.words;
        let is_copied = len == 0 || tail_len > 0;
        let direct_blocks = if !is_copied {
            blocks
        } else if blocks * messages.len() <= self.copies.capacity() {
            0
        } else {
            blocks - 1
        };
        if direct_blocks > 0 {
            self.set_ends(start, if is_copied { every } else { end }, BLOCK_LEN);
            self.set_inputs(wide, messages, |message| {
                assert!(message.len() == len);
                message.as_ptr()
            });
            // SAFETY: the kernel runs here (see `run`); every lane has `in_place` readable blocks; the caller
            // promises the rest.
            unsafe { (wide.advance)(&mut self.lanes, direct_blocks) };
            self.lanes[0].key = ptr::null();
        }
        if is_copied {
            let copied = blocks - direct_blocks;
            self.copy_blocks(messages, len, direct_blocks, copied);
            self.set_ends(if direct_blocks > 0 { every } else { start }, end, tail_len);
            let copies = self.copies.as_ptr();
            let mut index = 0;
            self.set_inputs(wide, messages, |_| {
                index += 1;
                copies.wrapping_add((index - 1) * copied).cast()
            });
            // SAFETY: as above, `copied` blocks for each message in `copies`.
            unsafe { (wide.advance)(&mut self.lanes, copied) };
        }
    }

    /// Copies all blocks of each message behind the first `in_place`; the last one is short.
    fn copy_blocks(&mut self, messages: &[&[u8]], len: usize, direct_blocks: usize, copied: usize) {
        let tail_len = len % BLOCK_LEN;
        if (self.copied_blocks, self.copied_tail) != (copied, tail_len) {
            self.copies.clear();
            (self.copied_blocks, self.copied_tail) = (copied, tail_len);
        }
        while self.copies.len() < copied * messages.len() {
            self.copies.push([0; BLOCK_LEN]);
        }
        for (message, blocks) in messages.iter().zip(self.copies.chunks_exact_mut(copied)) {
            assert!(message.len() == len);
            let (whole, tail) = message[direct_blocks * BLOCK_LEN..].as_chunks::<BLOCK_LEN>();
            let (last, before) = blocks.split_last_mut().expect("at least one block");
            for (to, from) in before.iter_mut().zip(whole) {
                *to = *from;
            }
            copy_short(tail, last);
        }
    }

    /// Sets the inputs of the lanes; further lanes repeat the last one.
    #[inline(always)]
    fn set_inputs(&mut self, wide: &Wide, messages: &[&[u8]], mut input: impl FnMut(&[u8]) -> *const u8) {
        for (lanes, messages) in self.lanes.iter_mut().zip(messages.chunks(GROUP)) {
            for (pointer, message) in lanes.input.iter_mut().zip(messages) {
                *pointer = input(message);
            }
        }
        let at = |lane: usize| (lane / GROUP, lane % GROUP);
        let (group, lane) = at(messages.len() - 1);
        let last = self.lanes[group].input[lane];
        for (group, lane) in (messages.len()..wide.lanes).map(at) {
            self.lanes[group].input[lane] = last;
        }
    }

    fn set_ends(&mut self, first: u32, last: u32, last_len: usize) {
        if self.ends != (first, last, last_len) {
            self.ends = (first, last, last_len);
            for words in self.lanes.iter_mut().map(|lanes| &mut lanes.words) {
                words.first = [first; GROUP];
                words.last = [last; GROUP];
                words.last_len = [last_len as u32; GROUP];
            }
        }
    }
}

/// Copies less than a block of input to the start of a block.
#[inline(always)]
pub(super) fn copy_short(input: &[u8], block: &mut [u8; BLOCK_LEN]) {
    // Two copies of constant length that may overlap: a call of `memcpy` takes longer than the copy.
    #[inline(always)]
    fn copy_ends<const N: usize>(input: &[u8], block: &mut [u8; BLOCK_LEN]) {
        let len = input.len();
        block[..N].copy_from_slice(&input[..N]);
        if len > N {
            block[len - N..len].copy_from_slice(&input[len - N..]);
        }
    }
    match input.len() {
        0 => {}
        1 => copy_ends::<1>(input, block),
        2..4 => copy_ends::<2>(input, block),
        4..8 => copy_ends::<4>(input, block),
        8..16 => copy_ends::<8>(input, block),
        16..32 => copy_ends::<16>(input, block),
        _ => copy_ends::<32>(input, block),
    }
}
