//! Four-lane kernels for many messages, written once for every 128-bit instruction set that the compiler may
//! use.
//!
//! Many messages, or many output blocks, go in columns: word `i` of four states is one vector, and the compression
//! function reads as in plain Rust.
//!
//! ```text
//! column i, lane l  =  word i of the state of message l
//! for each block
//!     m  = sixteen columns: in each quarter of the block, four rows of four words, transposed
//!     v  = cv | IV | counter | length | flags
//!     seven rounds: four G down the columns of the 4x4 state, four G along its diagonals
//!     cv = v[0..8] ^ v[8..16]
//! ```
//!
//! The four G of half a round are independent, and their steps are interleaved.
#![expect(unsafe_code, reason = "lanes by pointer")]

use super::portable::{self, SCHEDULE};
use super::table::{Cv, GROUP, Lanes, UniformLanes, XofJob};
use crate::blake3::{BLOCK_LEN, IV};
use core::array::from_fn;
use core::ops::{Add, BitOr, BitXor};

/// One word of four lanes, or four words of one lane; sums are modulo 2^32 in each.
///
/// # Safety
/// `load` and `store` touch sixteen bytes and no more.
pub(super) unsafe trait Column:
    Copy + Add<Output = Self> + BitXor<Output = Self> + BitOr<Output = Self>
{
    /// The same word in every lane.
    fn splat(word: u32) -> Self;

    /// # Safety
    /// Sixteen bytes are readable, in any alignment.
    unsafe fn load(bytes: *const u8) -> Self;

    /// # Safety
    /// Sixteen bytes are writable, in any alignment.
    unsafe fn store(self, bytes: *mut u8);

    /// Rotates every word right, by 16, 12, 8 or 7.
    fn rotate<const BITS: usize>(self) -> Self;

    /// Rows to columns, or columns to rows.
    fn transpose(rows: [Self; 4]) -> [Self; 4];
}

/// Lanes in a column.
const LANES: usize = 4;

/// See [`super::table::Wide::advance`]; `STREAMS * LANES` lanes.
pub(super) unsafe fn advance<C: Column, const STREAMS: usize>(lanes: &mut [Lanes], blocks: usize) {
    let lanes = &lanes[0];
    // SAFETY: the caller gives a key, or else one chaining value per lane.
    let mut cv: [[C; 8]; STREAMS] = from_fn(|stream| unsafe {
        if lanes.key.is_null() { load_cvs(lanes.cv.add(LANES * stream)) } else { (*lanes.key).map(C::splat) }
    });
    for block in 0..blocks {
        let (flags, more_flags, len) = match (block == 0, block + 1 == blocks) {
            (true, true) => (&lanes.words.first, &lanes.words.last, &lanes.words.last_len),
            (true, false) => (&lanes.words.first, &lanes.words.first, &FULL),
            (false, false) => (&lanes.words.middle, &lanes.words.middle, &FULL),
            (false, true) => (&lanes.words.last, &lanes.words.last, &lanes.words.last_len),
        };
        let ends = from_fn(|stream| {
            let of = |words| column(words, stream);
            [of(&lanes.words.counter_low), of(&lanes.words.counter_high), of(len), of(flags) | of(more_flags)]
        });
        // SAFETY: each lane has `blocks` readable blocks.
        unsafe { step(&mut cv, &lanes.input, block, ends) };
    }
    for (stream, cv) in cv.iter().enumerate() {
        // SAFETY: the caller gives a place for each lane.
        unsafe { store_cvs(cv, lanes.cv.add(LANES * stream)) };
    }
}

/// See [`super::table::Wide::uniform`]. Values common to all lanes are never written to memory: for parents,
/// which have one block, that would take as long as the block.
pub(super) unsafe fn uniform<C: Column, const STREAMS: usize>(job: &UniformLanes) {
    // SAFETY: the caller gives a key.
    let key = unsafe { &*job.key };
    let mut cv: [[C; 8]; STREAMS] = from_fn(|_| key.map(C::splat));
    let input = job.inputs::<GROUP>();
    let counters: [[C; 2]; STREAMS] = from_fn(|stream| counters(job.counter, job.step, stream));
    for block in 0..job.blocks {
        let flags = C::splat(job.flags.at(block == 0, block + 1 == job.blocks));
        let ends = counters.map(|[low, high]| [low, high, C::splat(BLOCK_LEN as u32), flags]);
        // SAFETY: each lane has as many readable blocks.
        unsafe { step(&mut cv, &input, block, ends) };
    }
    for (stream, cv) in cv.iter().enumerate() {
        // SAFETY: the caller gives a place for each lane.
        unsafe { store_cvs(cv, job.cv.add(LANES * stream)) };
    }
}

/// Compresses one block of each lane into its chaining value; `ends` are counter, length and flags.
///
/// # Safety
/// The block at `block` of each input is readable.
#[inline(always)]
unsafe fn step<C: Column, const STREAMS: usize>(
    cv: &mut [[C; 8]; STREAMS],
    input: &[*const u8; GROUP],
    block: usize,
    ends: [[C; 4]; STREAMS],
) {
    // SAFETY: the caller's.
    let m: [[C; 16]; STREAMS] = from_fn(|stream| unsafe {
        load_blocks(from_fn(|lane| input[LANES * stream + lane].add(BLOCK_LEN * block)))
    });
    let mut v: [[C; 16]; STREAMS] = from_fn(|stream| start(&cv[stream], ends[stream]));
    rounds(&mut v, from_fn(|stream| &m[stream]));
    for (cv, v) in cv.iter_mut().zip(&v) {
        *cv = from_fn(|i| v[i] ^ v[i + 8]);
    }
}

/// The counters of the lanes of one stream: the low words and the high ones.
#[inline(always)]
fn counters<C: Column>(first: u64, step: bool, stream: usize) -> [C; 2] {
    let all: [u64; LANES] =
        from_fn(|lane| first.wrapping_add(if step { (LANES * stream + lane) as u64 } else { 0 }));
    [column(&all.map(|counter| counter as u32), 0), column(&all.map(|counter| (counter >> 32) as u32), 0)]
}

/// The length of full blocks.
static FULL: [u32; GROUP] = [BLOCK_LEN as u32; GROUP];

/// See [`super::table::Xof`].
pub(super) fn xof<C: Column, const STREAMS: usize>(job: &XofJob, counter: u64, out: &mut [[u8; BLOCK_LEN]]) {
    let mut counter = counter;
    let (groups, rest) = out.split_at_mut(out.len() - out.len() % (STREAMS * LANES));
    for blocks in groups.chunks_exact_mut(STREAMS * LANES) {
        blocks.copy_from_slice(outputs::<C, STREAMS>(job, counter).as_flattened());
        counter = counter.wrapping_add((STREAMS * LANES) as u64);
    }
    for blocks in rest.chunks_mut(LANES) {
        if let [_] = blocks {
            return portable::xof(job, counter, blocks);
        }
        let [group] = outputs::<C, 1>(job, counter);
        blocks.copy_from_slice(&group[..blocks.len()]);
        counter = counter.wrapping_add(LANES as u64);
    }
}

/// The output blocks from `counter` on; a counter beyond the last one wraps.
fn outputs<C: Column, const STREAMS: usize>(
    job: &XofJob,
    counter: u64,
) -> [[[u8; BLOCK_LEN]; LANES]; STREAMS] {
    let cv: [C; 8] = job.cv.map(C::splat);
    let m: [C; 16] = from_fn(|i| C::splat(u32::from_le_bytes(job.block.as_chunks().0[i])));
    let mut v: [[C; 16]; STREAMS] = from_fn(|stream| {
        let [low, high] = counters(counter, true, stream);
        start(&cv, [low, high, C::splat(job.len), C::splat(job.flags)])
    });
    rounds(&mut v, [&m; STREAMS]);
    v.map(|v| {
        let words: [C; 16] = from_fn(|i| v[i] ^ if i < 8 { v[i + 8] } else { cv[i - 8] });
        let mut blocks = [[0; BLOCK_LEN]; LANES];
        for (quarter, columns) in words.as_chunks::<4>().0.iter().enumerate() {
            for (block, row) in blocks.iter_mut().zip(C::transpose(*columns)) {
                // SAFETY: a quarter of a block is a row.
                unsafe { row.store(block[16 * quarter..][..16].as_mut_ptr()) };
            }
        }
        blocks
    })
}

/// The state before the first round. Written out, because a loop might stay one, and then the state is not in
/// registers.
#[inline(always)]
fn start<C: Column>(&[a, b, c, d, e, f, g, h]: &[C; 8], [i, j, k, l]: [C; 4]) -> [C; 16] {
    let [p, q, r, s] = [C::splat(IV[0]), C::splat(IV[1]), C::splat(IV[2]), C::splat(IV[3])];
    [a, b, c, d, e, f, g, h, p, q, r, s, i, j, k, l]
}

/// Seven rounds in every stream.
#[inline(always)]
fn rounds<C: Column, const STREAMS: usize>(v: &mut [[C; 16]; STREAMS], m: [&[C; 16]; STREAMS]) {
    // Not a loop: every index must be a constant for the state to stay in registers.
    round::<C, 0, STREAMS>(v, m);
    round::<C, 1, STREAMS>(v, m);
    round::<C, 2, STREAMS>(v, m);
    round::<C, 3, STREAMS>(v, m);
    round::<C, 4, STREAMS>(v, m);
    round::<C, 5, STREAMS>(v, m);
    round::<C, 6, STREAMS>(v, m);
}

/// One round, half of it in one stream after the other. The compiler keeps a loop over two streams as a loop,
/// which loads and stores a whole state for each half.
#[inline(always)]
fn round<C: Column, const ROUND: usize, const STREAMS: usize>(
    v: &mut [[C; 16]; STREAMS],
    m: [&[C; 16]; STREAMS],
) {
    let order = SCHEDULE[ROUND];
    half_round::<C, 0>(&mut v[0], from_fn(|i| m[0][order[i]]));
    if STREAMS > 1 {
        half_round::<C, 0>(&mut v[1], from_fn(|i| m[1][order[i]]));
    }
    half_round::<C, 1>(&mut v[0], from_fn(|i| m[0][order[8 + i]]));
    if STREAMS > 1 {
        half_round::<C, 1>(&mut v[1], from_fn(|i| m[1][order[8 + i]]));
    }
}

/// Four G side by side: down the columns of the 4x4 state, or along the diagonals if `TURN` is 1.
#[inline(always)]
fn half_round<C: Column, const TURN: usize>(v: &mut [C; 16], m: [C; 8]) {
    // Place i of row r.
    let at = |r, i| 4 * r + (i + r * TURN) % 4;
    for i in 0..4 {
        // The message first: it is ready before `b`.
        v[at(0, i)] = v[at(0, i)] + m[2 * i] + v[at(1, i)];
    }
    for i in 0..4 {
        v[at(3, i)] = (v[at(3, i)] ^ v[at(0, i)]).rotate::<16>();
    }
    for i in 0..4 {
        v[at(2, i)] = v[at(2, i)] + v[at(3, i)];
    }
    for i in 0..4 {
        v[at(1, i)] = (v[at(1, i)] ^ v[at(2, i)]).rotate::<12>();
    }
    for i in 0..4 {
        v[at(0, i)] = v[at(0, i)] + m[2 * i + 1] + v[at(1, i)];
    }
    for i in 0..4 {
        v[at(3, i)] = (v[at(3, i)] ^ v[at(0, i)]).rotate::<8>();
    }
    for i in 0..4 {
        v[at(2, i)] = v[at(2, i)] + v[at(3, i)];
    }
    for i in 0..4 {
        v[at(1, i)] = (v[at(1, i)] ^ v[at(2, i)]).rotate::<7>();
    }
}

/// Sixteen columns from one block of each lane.
///
/// # Safety
/// Each pointer has `BLOCK_LEN` readable bytes.
#[inline(always)]
unsafe fn load_blocks<C: Column>(blocks: [*const u8; LANES]) -> [C; 16] {
    // SAFETY: four quarters are a block.
    let quarters: [[C; 4]; 4] =
        from_fn(|quarter| C::transpose(blocks.map(|block| unsafe { C::load(block.add(16 * quarter)) })));
    from_fn(|i| quarters[i / 4][i % 4])
}

/// Eight columns from four chaining values.
///
/// # Safety
/// There are four at `cvs`.
#[inline(always)]
unsafe fn load_cvs<C: Column>(cvs: *const Cv) -> [C; 8] {
    let halves: [[C; 4]; 2] = from_fn(|half| {
        // SAFETY: two halves are a chaining value.
        C::transpose(from_fn(|lane| unsafe { C::load(cvs.add(lane).cast::<u8>().add(16 * half)) }))
    });
    from_fn(|i| halves[i / 4][i % 4])
}

/// Four chaining values from eight columns.
///
/// # Safety
/// Four fit at `cvs`.
#[inline(always)]
unsafe fn store_cvs<C: Column>(columns: &[C; 8], cvs: *mut Cv) {
    for (half, columns) in columns.as_chunks::<4>().0.iter().enumerate() {
        for (lane, row) in C::transpose(*columns).into_iter().enumerate() {
            // SAFETY: two halves are a chaining value.
            unsafe { row.store(cvs.add(lane).cast::<u8>().add(16 * half)) };
        }
    }
}

/// The words of the lanes of one stream.
#[inline(always)]
fn column<C: Column>(words: &[u32], stream: usize) -> C {
    let words = &words[LANES * stream..][..LANES];
    // SAFETY: four words are sixteen bytes.
    unsafe { C::load(words.as_ptr().cast()) }
}
