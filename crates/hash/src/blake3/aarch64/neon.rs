//! The aarch64 kernels: many messages in vectors of four lanes, one message in general registers.
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
//! The four G of half a round are independent, and are written step by step beside each other. That fills cores with
//! two vector pipes (a chain of 28 cycles, 32 cycles of work): `neon`. Cores with four have room for a second stream of
//! four lanes, so `neon-twin` takes half a round in one stream, then in the other. The state of two streams is all 32
//! registers, therefore messages come from memory there and a few state words take turns on the stack: 1.1 times as
//! many instructions for each lane, which only pays where pipes would wait.
//!
//! One message does not gain from vectors: a row of its state per register (four G in one) has no second stream to
//! hide the two cycles of a vector instruction, so a block takes about 400 cycles. In general registers `add`, `eor`
//! and `ror` take one: 168 cycles where six of them start at once, 261 where three do. That is [`portable::run`], and the
//! last odd block of [`xof`].
//!
//! Nobody has timed any of it: `docs/design/blake3.md` has the counts, and what to measure first.

use crate::blake3::kernel::{Cv, GROUP, Lanes, Table, Uniform, Wide, XofJob};
use crate::blake3::portable::{self, SCHEDULE};
use crate::blake3::{BLOCK_LEN, IV};
use crate::isa::{Feature, Features};
use core::arch::aarch64::*;
use core::array::from_fn;
use core::ops::{Add, BitOr, BitXor};

/// For cores with two vector pipes; costs are those computed for a Neoverse N1.
pub(in crate::blake3) static NEON: Table = Table {
    name: "neon",
    needs: Features::of(&[Feature::Neon]),
    run: portable::run,
    run_cost: 320,
    wide: &[Wide { lanes: 4, cost: 545, advance: advance::<1>, uniform: uniform::<1> }],
    xof: xof::<1>,
};

/// For cores with four; costs are those computed for a Neoverse V1.
pub(in crate::blake3) static NEON_TWIN: Table = Table {
    name: "neon-twin",
    needs: Features::of(&[Feature::Neon]),
    run: portable::run,
    run_cost: 200,
    wide: &[
        Wide { lanes: 4, cost: 410, advance: advance::<1>, uniform: uniform::<1> },
        Wide { lanes: 8, cost: 570, advance: advance::<2>, uniform: uniform::<2> },
    ],
    xof: xof::<2>,
};

/// Lanes in a column.
const LANES: usize = 4;

/// See [`Wide::advance`]; `STREAMS * LANES` lanes.
unsafe fn advance<const STREAMS: usize>(lanes: &mut [Lanes], blocks: usize) {
    let lanes = &lanes[0];
    // SAFETY: the caller gives a key, or else one chaining value per lane.
    let mut cv: [[Column; 8]; STREAMS] = from_fn(|stream| unsafe {
        if lanes.key.is_null() {
            load_cvs(lanes.cv.add(LANES * stream))
        } else {
            (*lanes.key).map(Column::splat)
        }
    });
    for block in 0..blocks {
        let (flags, more_flags, len) = match (block == 0, block + 1 == blocks) {
            (true, true) => (&lanes.words.first, &lanes.words.last, &lanes.words.last_len),
            (true, false) => (&lanes.words.first, &lanes.words.first, &FULL),
            (false, false) => (&lanes.words.middle, &lanes.words.middle, &FULL),
            (false, true) => (&lanes.words.last, &lanes.words.last, &lanes.words.last_len),
        };
        // SAFETY: each lane has `blocks` readable blocks.
        let m: [[Column; 16]; STREAMS] = from_fn(|stream| unsafe {
            load_blocks(from_fn(|lane| lanes.input[LANES * stream + lane].add(BLOCK_LEN * block)))
        });
        let mut v: [[Column; 16]; STREAMS] = from_fn(|stream| {
            let of = |words| column(words, stream);
            let end = [
                of(&lanes.words.counter_low),
                of(&lanes.words.counter_high),
                of(len),
                of(flags) | of(more_flags),
            ];
            start(&cv[stream], end)
        });
        rounds(&mut v, from_fn(|stream| &m[stream]));
        for (cv, v) in cv.iter_mut().zip(&v) {
            *cv = from_fn(|i| v[i] ^ v[i + 8]);
        }
    }
    for (stream, cv) in cv.iter().enumerate() {
        // SAFETY: the caller gives a place for each lane.
        unsafe { store_cvs(cv, lanes.cv.add(LANES * stream)) };
    }
}

/// See [`Wide::uniform`].
unsafe fn uniform<const STREAMS: usize>(job: &Uniform) {
    // SAFETY: what the caller promises of the job holds for its lanes.
    unsafe { advance::<STREAMS>(&mut [Lanes::of(job)], job.blocks) }
}

/// The length of full blocks.
static FULL: [u32; GROUP] = [BLOCK_LEN as u32; GROUP];

/// See [`crate::blake3::kernel::Xof`].
fn xof<const STREAMS: usize>(job: &XofJob, counter: u64, out: &mut [[u8; BLOCK_LEN]]) {
    let mut counter = counter;
    let (groups, rest) = out.split_at_mut(out.len() - out.len() % (STREAMS * LANES));
    for blocks in groups.chunks_exact_mut(STREAMS * LANES) {
        blocks.copy_from_slice(outputs::<STREAMS>(job, counter).as_flattened());
        counter = counter.wrapping_add((STREAMS * LANES) as u64);
    }
    for blocks in rest.chunks_mut(LANES) {
        if let [_] = blocks {
            return portable::xof(job, counter, blocks);
        }
        let [group] = outputs::<1>(job, counter);
        blocks.copy_from_slice(&group[..blocks.len()]);
        counter = counter.wrapping_add(LANES as u64);
    }
}

/// The output blocks from `counter` on; a counter beyond the last one wraps.
#[inline(always)]
fn outputs<const STREAMS: usize>(job: &XofJob, counter: u64) -> [[[u8; BLOCK_LEN]; LANES]; STREAMS] {
    let cv: [Column; 8] = job.cv.map(Column::splat);
    let m: [Column; 16] = from_fn(|i| Column::splat(u32::from_le_bytes(job.block.as_chunks().0[i])));
    let mut v: [[Column; 16]; STREAMS] = from_fn(|stream| {
        let counters: [u64; LANES] = from_fn(|lane| counter.wrapping_add((LANES * stream + lane) as u64));
        let low = counters.map(|counter| counter as u32);
        let high = counters.map(|counter| (counter >> 32) as u32);
        start(&cv, [column(&low, 0), column(&high, 0), Column::splat(job.len), Column::splat(job.flags)])
    });
    rounds(&mut v, [&m; STREAMS]);
    v.map(|v| {
        let words: [Column; 16] = from_fn(|i| v[i] ^ if i < 8 { v[i + 8] } else { cv[i - 8] });
        let mut blocks = [[0; BLOCK_LEN]; LANES];
        for (quarter, columns) in words.as_chunks::<4>().0.iter().enumerate() {
            for (block, row) in blocks.iter_mut().zip(transpose(*columns)) {
                // SAFETY: a quarter of a block is a row.
                unsafe { row.store(block[16 * quarter..][..16].as_mut_ptr()) };
            }
        }
        blocks
    })
}

/// The state before the first round.
#[inline(always)]
fn start(cv: &[Column; 8], end: [Column; 4]) -> [Column; 16] {
    from_fn(|i| match i {
        0..8 => cv[i],
        8..12 => Column::splat(IV[i - 8]),
        _ => end[i - 12],
    })
}

/// Seven rounds in every stream.
#[inline(always)]
fn rounds<const STREAMS: usize>(v: &mut [[Column; 16]; STREAMS], m: [&[Column; 16]; STREAMS]) {
    // Not a loop: every index must be a constant for the state to stay in registers.
    round::<0, STREAMS>(v, m);
    round::<1, STREAMS>(v, m);
    round::<2, STREAMS>(v, m);
    round::<3, STREAMS>(v, m);
    round::<4, STREAMS>(v, m);
    round::<5, STREAMS>(v, m);
    round::<6, STREAMS>(v, m);
}

/// One round, half of it in one stream after the other. A loop over two streams stays a loop in what the compiler makes
/// of it, which loads and stores all of a state for each half.
#[inline(always)]
fn round<const ROUND: usize, const STREAMS: usize>(
    v: &mut [[Column; 16]; STREAMS],
    m: [&[Column; 16]; STREAMS],
) {
    let order = SCHEDULE[ROUND];
    half_round::<0>(&mut v[0], from_fn(|i| m[0][order[i]]));
    if STREAMS > 1 {
        half_round::<0>(&mut v[1], from_fn(|i| m[1][order[i]]));
    }
    half_round::<1>(&mut v[0], from_fn(|i| m[0][order[8 + i]]));
    if STREAMS > 1 {
        half_round::<1>(&mut v[1], from_fn(|i| m[1][order[8 + i]]));
    }
}

/// Four G side by side: down the columns of the 4x4 state, or along the diagonals if `TURN` is 1.
#[inline(always)]
fn half_round<const TURN: usize>(v: &mut [Column; 16], m: [Column; 8]) {
    // Place i of row r.
    let at = |r, i| 4 * r + (i + r * TURN) % 4;
    for i in 0..4 {
        // The message first: it is there before `b` is.
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
unsafe fn load_blocks(blocks: [*const u8; LANES]) -> [Column; 16] {
    // SAFETY: four quarters are a block.
    let quarters: [[Column; 4]; 4] =
        from_fn(|quarter| transpose(blocks.map(|block| unsafe { Column::load(block.add(16 * quarter)) })));
    from_fn(|i| quarters[i / 4][i % 4])
}

/// Eight columns from four chaining values.
///
/// # Safety
/// There are four at `cvs`.
#[inline(always)]
unsafe fn load_cvs(cvs: *const Cv) -> [Column; 8] {
    let halves: [[Column; 4]; 2] = from_fn(|half| {
        // SAFETY: two halves are a chaining value.
        transpose(from_fn(|lane| unsafe { Column::load(cvs.add(lane).cast::<u8>().add(16 * half)) }))
    });
    from_fn(|i| halves[i / 4][i % 4])
}

/// Four chaining values from eight columns.
///
/// # Safety
/// There is room for four at `cvs`.
#[inline(always)]
unsafe fn store_cvs(columns: &[Column; 8], cvs: *mut Cv) {
    for (half, columns) in columns.as_chunks::<4>().0.iter().enumerate() {
        for (lane, row) in transpose(*columns).into_iter().enumerate() {
            // SAFETY: two halves are a chaining value.
            unsafe { row.store(cvs.add(lane).cast::<u8>().add(16 * half)) };
        }
    }
}

/// The words of the lanes of one stream.
#[inline(always)]
fn column(words: &[u32], stream: usize) -> Column {
    let words = &words[LANES * stream..][..LANES];
    // SAFETY: four words are sixteen bytes.
    unsafe { Column::load(words.as_ptr().cast()) }
}

/// One word of four lanes, or four words of one lane.
///
/// The `unsafe` blocks below call what needs NEON, without which this file is not compiled.
#[derive(Clone, Copy)]
struct Column(uint32x4_t);

impl Column {
    #[inline(always)]
    fn splat(word: u32) -> Column {
        // SAFETY: NEON.
        Column(unsafe { vdupq_n_u32(word) })
    }

    /// # Safety
    /// Sixteen bytes are readable.
    #[inline(always)]
    unsafe fn load(bytes: *const u8) -> Column {
        // SAFETY: NEON, and the caller's promise.
        Column(unsafe { vreinterpretq_u32_u8(vld1q_u8(bytes)) })
    }

    /// # Safety
    /// Sixteen bytes are writable.
    #[inline(always)]
    unsafe fn store(self, bytes: *mut u8) {
        // SAFETY: NEON, and the caller's promise.
        unsafe { vst1q_u8(bytes, vreinterpretq_u8_u32(self.0)) };
    }

    /// Every word to the right.
    #[inline(always)]
    fn rotate<const BITS: usize>(self) -> Column {
        const BYTES: [u8; 16] = [1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12];
        let x = self.0;
        // SAFETY: NEON, and sixteen readable bytes.
        Column(unsafe {
            match BITS {
                16 => vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(x))),
                12 => vsliq_n_u32::<20>(vshrq_n_u32::<12>(x), x),
                8 => vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(x), vld1q_u8(BYTES.as_ptr()))),
                7 => vsliq_n_u32::<25>(vshrq_n_u32::<7>(x), x),
                _ => unreachable!(),
            }
        })
    }
}

impl Add for Column {
    type Output = Column;

    /// Modulo 2^32 in each lane.
    #[inline(always)]
    fn add(self, other: Column) -> Column {
        // SAFETY: NEON.
        Column(unsafe { vaddq_u32(self.0, other.0) })
    }
}

impl BitXor for Column {
    type Output = Column;

    #[inline(always)]
    fn bitxor(self, other: Column) -> Column {
        // SAFETY: NEON.
        Column(unsafe { veorq_u32(self.0, other.0) })
    }
}

impl BitOr for Column {
    type Output = Column;

    #[inline(always)]
    fn bitor(self, other: Column) -> Column {
        // SAFETY: NEON.
        Column(unsafe { vorrq_u32(self.0, other.0) })
    }
}

/// Rows to columns, or columns to rows.
#[inline(always)]
fn transpose([a, b, c, d]: [Column; 4]) -> [Column; 4] {
    // SAFETY: NEON.
    unsafe {
        let pair = |x| vreinterpretq_u64_u32(x);
        let (even_ab, odd_ab) = (pair(vtrn1q_u32(a.0, b.0)), pair(vtrn2q_u32(a.0, b.0)));
        let (even_cd, odd_cd) = (pair(vtrn1q_u32(c.0, d.0)), pair(vtrn2q_u32(c.0, d.0)));
        [
            vtrn1q_u64(even_ab, even_cd),
            vtrn1q_u64(odd_ab, odd_cd),
            vtrn2q_u64(even_ab, even_cd),
            vtrn2q_u64(odd_ab, odd_cd),
        ]
        .map(|x| Column(vreinterpretq_u32_u64(x)))
    }
}
