//! Argon2 kernels: comparison of whole memories with the processor's, block by block.

use crate::card::Argument::{Pointer, Struct};
use crate::card::{Card, Memory, ORDERS};
use hashmill_hash::argon2::{Input, Params, Plan, Variant, Version, hazmat};

/// Kernels with equal results.
const KERNELS: [&str; 2] = ["argon2_fill", "argon2_fill_ahead"];

const WORDS: usize = 128;
const BLOCK: usize = 1024;

/// Bytes of the prefetched blocks.
const RING_BYTES: u32 = 8 * 1024;

/// Index of a word in a block as the card stores it.
fn device_word_index(word: usize) -> usize {
    let (row, column) = (word / 16, word % 16);
    let (thread, quarter) = (row * 4 + column % 4, column / 4);
    (quarter / 2 * 32 + thread) * 2 + quarter % 2
}

fn segment(params: Params) -> u32 {
    params.blocks() as u32 / 4 / params.lanes()
}

fn variant(params: Params) -> u32 {
    match params.variant() {
        Variant::D => 0,
        Variant::I => 1,
        Variant::Id => 2,
    }
}

fn is_known(params: Params, pass: u32, slice: u32) -> bool {
    match params.variant() {
        Variant::D => false,
        Variant::I => true,
        Variant::Id => pass == 0 && slice < 2,
    }
}

/// The argument structure of a launch.
fn numbers(
    params: Params,
    streams: u32,
    (pass, slice, from, to): (u32, u32, u32, u32),
    step: u32,
) -> [u32; 16] {
    let segment = segment(params);
    let (finished, oldest) =
        if pass == 0 { (slice * segment, 0) } else { (3 * segment, (slice + 1) % 4 * segment) };
    let adds = pass > 0 && params.version() == Version::V13;
    [
        segment,
        params.lanes(),
        streams,
        pass,
        slice,
        from,
        to,
        finished,
        oldest,
        u32::from((pass, slice) == (0, 0)),
        u32::from(is_known(params, pass, slice)),
        u32::from(adds),
        step,
        params.blocks() as u32,
        params.passes(),
        variant(params),
    ]
}

fn inputs() -> [(&'static [u8], &'static [u8]); 3] {
    [(b"password", b"somesalt"), (b"", b"saltsalt"), (b"another one", b"salt of it")]
}

/// The first blocks of hashes of these parameters, lanes one after another.
fn first_blocks(params: Params, hashes: usize) -> Vec<u8> {
    let mut blocks = Vec::new();
    for (password, salt) in &inputs()[..hashes] {
        let input = Input::new(password, salt);
        hazmat::first_blocks(Plan::host(), params, &input, 32, |_, _, words| {
            blocks.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        })
        .unwrap();
    }
    blocks
}

fn right(params: Params, hash: usize) -> Vec<[u64; WORDS]> {
    let (password, salt) = inputs()[hash];
    hazmat::memory(Plan::host(), params, &Input::new(password, salt), 32).unwrap()
}

fn in_order(block: &[u64]) -> [u64; WORDS] {
    std::array::from_fn(|word| block[device_word_index(word)])
}

/// Hashes on the card with all their memory.
struct Fixed<'a> {
    card: &'a Card,
    params: Params,
    streams: u32,
    memory: Memory,
    table: Memory,
    marks: Memory,
    stop: Memory,
    step: u32,
}

impl Fixed<'_> {
    fn new(card: &Card, params: Params, hashes: usize) -> Fixed<'_> {
        let streams = hashes as u32 * params.lanes();
        let blocks = card.with(&first_blocks(params, hashes));
        let memory = card.memory(hashes * params.blocks() as usize * BLOCK);
        let table = card.memory((segment(params) * params.lanes()) as usize * 4);
        let marks = card.memory(streams as usize * 4);
        let first = numbers(params, streams, (0, 0, 0, 0), 0);
        let arguments = [Struct(&first), Pointer(blocks.at), Pointer(memory.at), Pointer(marks.at)];
        card.launch("argon2_first", (streams, 32, 0), &arguments);
        Fixed { card, params, streams, memory, table, marks, stop: card.with_words(&[0]), step: 0 }
    }

    fn fill_range(&mut self, kernel: &str, warps: u32, range: (u32, u32, u32, u32)) {
        let (pass, slice, from, _) = range;
        let p = numbers(self.params, self.streams, range, self.step);
        let known = is_known(self.params, pass, slice);
        if known && from == if (pass, slice) == (0, 0) { 2 } else { 0 } {
            let grid = self.params.lanes() * segment(self.params).div_ceil(128);
            let arguments = [Struct(&p), Pointer(self.table.at)];
            self.card.launch("argon2_references", (grid, 32, 1024), &arguments);
        }
        let at = [self.memory, self.table, self.marks, self.stop].map(|memory| Pointer(memory.at));
        let arguments = [Struct(&p), at[0], at[1], at[2], at[3]];
        let ring = if kernel == "argon2_fill_ahead" { RING_BYTES } else { 0 };
        let size = (self.streams.div_ceil(warps), 32 * warps, (1024 + ring) * warps);
        self.card.launch(kernel, size, &arguments);
        self.step += 1;
    }

    /// Fills all memory, in ranges of at most `most` blocks.
    fn fill(&mut self, kernel: &str, warps: u32, most: u32) {
        let segment = segment(self.params);
        for (pass, slice) in (0..self.params.passes()).flat_map(|pass| (0..4).map(move |slice| (pass, slice)))
        {
            let mut from = if (pass, slice) == (0, 0) { 2 } else { 0 };
            while from < segment {
                let to = segment.min(from + most);
                self.fill_range(kernel, warps, (pass, slice, from, to));
                from = to;
            }
        }
    }

    fn last(&self) -> Vec<u64> {
        let out = self.card.memory(self.streams as usize * BLOCK);
        let p = numbers(self.params, self.streams, (0, 0, 0, 0), 0);
        let arguments = [Struct(&p), Pointer(self.memory.at), Pointer(out.at)];
        self.card.launch("argon2_last", (self.streams, 32, 0), &arguments);
        self.card.words(out)
    }

    #[track_caller]
    fn check(&self, what: &str) {
        let words = self.card.words(self.memory);
        let hashes = words.chunks(self.params.blocks() as usize * WORDS);
        let lane = 4 * segment(self.params) as usize;
        let mut last = Vec::new();
        for (hash, memory) in hashes.enumerate() {
            let right = right(self.params, hash);
            for (at, (block, right)) in memory.chunks(WORDS).zip(&right).enumerate() {
                assert_eq!(in_order(block), *right, "{what}, {:?}: block {at} of hash {hash}", self.params);
            }
            last.extend(right.iter().skip(lane - 1).step_by(lane).flatten().copied());
        }
        assert_eq!(self.last(), last, "{what}: last blocks in order");
        assert_eq!(self.card.numbers(self.marks), vec![self.step; self.streams as usize], "{what}: marks");
    }
}

#[test]
fn memories_are_those_of_the_processor_in_each_order_of_threads() {
    let Some(card) = Card::new("Argon2 by CUDA's kernels") else { return };
    // Memory, passes, lanes, blocks of a range, warps of a thread block.
    let cases = [
        (8, 1, 1, 9, 1),
        (9, 3, 1, 1, 2),
        (64, 2, 2, 7, 3),
        (100, 3, 3, 5, 4),
        (520, 1, 1, 1000, 1),
        (1100, 2, 2, 50, 4),
    ];
    for (memory, passes, lanes, most, warps) in cases {
        for version in [Version::V10, Version::V13] {
            for variant in Variant::ALL {
                let params =
                    Params::new(memory, passes, lanes).unwrap().with_variant(variant).with_version(version);
                for (kernel, order) in KERNELS
                    .into_iter()
                    .flat_map(|kernel| card.orders().iter().map(move |order| (kernel, *order)))
                {
                    card.order(order);
                    let mut hashes = Fixed::new(&card, params, if memory < 100 { 3 } else { 1 });
                    hashes.fill(kernel, warps, most);
                    hashes.check(&format!("{kernel} {variant} {version:?} {order}"));
                }
            }
        }
    }
}

/// Hashes of one lane and one pass, each with as much memory as it has filled.
struct Growing<'a> {
    card: &'a Card,
    params: Params,
    pool: Memory,
    pages: Memory,
    table: Memory,
    steps: Memory,
    first: Memory,
    last: Memory,
    marks: Memory,
    stop: Memory,
    free: Vec<u32>,
    lanes: Vec<GrowingLane>,
}

#[derive(Default)]
struct GrowingLane {
    /// Number of the hash, of its filled blocks and of its steps.
    hash: usize,
    at: u32,
    step: u32,
    granules: Vec<u32>,
}

const SHIFT: u32 = 4;
const GRANULE: u32 = 1 << SHIFT;

impl Growing<'_> {
    fn new(card: &Card, params: Params, streams: usize, granules: u32) -> Growing<'_> {
        let blocks = params.blocks() as u32;
        let stride = blocks.div_ceil(GRANULE) as usize;
        let table = card.memory(blocks as usize * 4);
        for slice in (0..4).filter(|slice| is_known(params, 0, *slice)) {
            let p = numbers(params, 1, (0, slice, 0, 0), 0);
            let here = table.at + u64::from(segment(params) * slice) * 4;
            let grid = segment(params).div_ceil(128);
            card.launch("argon2_references", (grid, 32, 1024), &[Struct(&p), Pointer(here)]);
        }
        Growing {
            card,
            params,
            pool: card.memory((granules * GRANULE) as usize * BLOCK),
            pages: card.memory(streams * stride * 4),
            table,
            steps: card.memory(streams * 16),
            first: card.memory(streams * 2 * BLOCK),
            last: card.memory(streams * BLOCK),
            marks: card.memory(streams * 4),
            stop: card.with_words(&[0]),
            // Out of order, as after some use.
            free: (0..granules).map(|at| (at * 7 + 3) % granules).collect(),
            lanes: (0..streams).map(|hash| GrowingLane { hash, ..Default::default() }).collect(),
        }
    }

    /// Advances each lane by its number of blocks.
    fn advance(&mut self, blocks: &[u32]) {
        let all = self.params.blocks() as u32;
        let stride = all.div_ceil(GRANULE) as usize;
        let (mut steps, mut pages, mut first) = (Vec::new(), Vec::new(), Vec::new());
        for (lane, blocks) in self.lanes.iter_mut().zip(blocks) {
            let to = all.min(lane.at + blocks);
            while lane.granules.len() < to.div_ceil(GRANULE) as usize {
                lane.granules.push(self.free.pop().expect("a granule"));
            }
            steps.extend([lane.at, to, lane.step, 0]);
            pages.extend(&lane.granules);
            // Kernels read no further.
            pages.resize(steps.len() / 4 * stride, u32::MAX);
            let (password, salt) = inputs()[lane.hash];
            hazmat::first_blocks(
                Plan::host(),
                self.params,
                &Input::new(password, salt),
                32,
                |_, _, words| {
                    first.extend(words.iter().flat_map(|word| word.to_le_bytes()));
                },
            )
            .unwrap();
            lane.step += u32::from(to > lane.at);
            lane.at = to;
        }
        let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        self.card.write(self.steps, &bytes(&steps));
        self.card.write(self.pages, &bytes(&pages));
        self.card.write(self.first, &first);
        let known = match self.params.variant() {
            Variant::D => 0,
            Variant::I => all,
            Variant::Id => all / 2,
        };
        let streams = self.lanes.len() as u32;
        let p = [streams, all, known, stride as u32, SHIFT, 0, 0, 0];
        let memories =
            [self.pool, self.pages, self.table, self.steps, self.first, self.last, self.marks, self.stop];
        let mut arguments = vec![Struct(&p)];
        arguments.extend(memories.map(|memory| Pointer(memory.at)));
        self.card.launch("argon2_grow", (streams, 32, 1024 + RING_BYTES + 4 * stride as u32), &arguments);
    }

    /// Checks a lane that has ended, and starts another hash in it.
    fn finish(&mut self, stream: usize, next: usize) {
        let lane = &mut self.lanes[stream];
        let pool = self.card.words(self.pool);
        let right = right(self.params, lane.hash);
        for (at, right) in (0..).zip(&right) {
            let block = (lane.granules[at >> SHIFT] * GRANULE) as usize + at % GRANULE as usize;
            let block = in_order(&pool[block * WORDS..][..WORDS]);
            assert_eq!(block, *right, "block {at} of {:?}", self.params);
        }
        let last = &self.card.words(self.last)[stream * WORDS..][..WORDS];
        assert_eq!(last, right.last().unwrap(), "the last block");
        assert_eq!(self.card.numbers(self.marks)[stream], lane.step, "steps");
        self.free.append(&mut lane.granules);
        *lane = GrowingLane { hash: next, ..Default::default() };
    }
}

#[test]
fn growing_lanes_share_memory_and_have_the_right_blocks() {
    let Some(card) = Card::new("growing lanes by CUDA's kernels") else { return };
    for (variant, order) in Variant::ALL.into_iter().zip(ORDERS) {
        card.order(order);
        // 300 blocks are no whole number of granules.
        let params = Params::new(300, 1, 1).unwrap().with_variant(variant);
        // There is memory for two and a half whole lanes, and three run.
        let mut lanes = Growing::new(&card, params, 3, 48);
        let mut ended = 0;
        for turn in 0.. {
            // Lanes are at different positions, and some pause.
            let blocks: Vec<u32> = (0..3_u32).map(|lane| (turn * 5 + lane * 11) % 23 * (2 + lane)).collect();
            lanes.advance(
                &blocks.iter().map(|blocks| if *blocks == 1 { 2 } else { *blocks }).collect::<Vec<_>>(),
            );
            for stream in 0..3 {
                if lanes.lanes[stream].at == 300 {
                    lanes.finish(stream, ended % 3);
                    ended += 1;
                }
            }
            if ended >= 6 {
                break;
            }
        }
    }
}

#[test]
fn a_stopped_kernel_does_not_count_its_range() {
    let Some(card) = Card::new("stops of CUDA's kernels") else { return };
    let params = Params::new(64, 1, 1).unwrap();
    let mut hash = Fixed::new(&card, params, 1);
    hash.fill_range("argon2_fill", 1, (0, 0, 2, 9));
    card.write(hash.stop, &[1, 0, 0, 0]);
    for kernel in KERNELS {
        hash.fill_range(kernel, 1, (0, 0, 9, 16));
        assert_eq!(card.numbers(hash.marks), [1], "{kernel}");
    }
    // Nor does a range after a skipped one.
    card.write(hash.stop, &[0; 4]);
    hash.fill_range("argon2_fill", 1, (0, 1, 0, 16));
    assert_eq!((card.numbers(hash.marks), hash.step), (vec![1], 4));
}
