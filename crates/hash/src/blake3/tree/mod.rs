//! The tree over the chunks: splitting, passes over leaves and levels, and the last steps to a root.

#[cfg(feature = "std")]
pub(super) mod parallel;
#[cfg(feature = "std")]
mod subtrees;

#[cfg(feature = "std")]
pub use subtrees::Subtrees;

use super::kernel::{Cv, GROUP, MAX_LANES, RunFlags};
use super::lanes::{self, Key, Row};
use super::plan::Plan;
use super::{BLOCK_LEN, CHUNK_END, CHUNK_LEN, CHUNK_START, ROOT};
#[cfg(feature = "std")]
use std::vec::Vec;

/// The most values in a row of the tree: the number of parents over the chunks of the widest pass.
const ROW: usize = 16;
const _: () = assert!(ROW == GROUP && 2 * ROW == MAX_LANES);

/// The length of the left subtree of `len > 1024` bytes: the largest power of two of chunks that leaves at
/// least a byte.
pub(super) const fn left_len(len: u64) -> u64 {
    let chunks = (len - 1) / CHUNK_LEN as u64;
    (1 << (63 - chunks.leading_zeros())) * CHUNK_LEN as u64
}

/// The longest subtree that may begin at `offset`; `None` at offset 0, where any length may.
///
/// # Panics
/// If `offset` is not a multiple of [`CHUNK_LEN`].
pub fn max_subtree_len(offset: u64) -> Option<u64> {
    assert_eq!(offset % CHUNK_LEN as u64, 0, "a subtree begins at a multiple of 1024 bytes, not at {offset}");
    (offset != 0).then(|| 1 << offset.trailing_zeros())
}

/// The digest of a whole message.
#[inline]
pub(super) fn hash_all(plan: Plan, key: &Key, input: &[u8]) -> Cv {
    if input.len() <= CHUNK_LEN {
        let flags = RunFlags::new(key.flags, CHUNK_START, CHUNK_END | ROOT);
        return lanes::run(plan.one(input.len()), &key.words, input, 0, flags);
    }
    let children = children_of(plan, key, input, 0);
    lanes::parent(plan.one(BLOCK_LEN), key, &children, ROOT)
}

/// The two chaining values under the top node of a subtree of more than one chunk.
pub(super) fn children_of(plan: Plan, key: &Key, input: &[u8], counter: u64) -> [Cv; 2] {
    debug_assert!(input.len() > CHUNK_LEN);
    if input.len() <= 2 * CHUNK_LEN {
        return two_leaves(plan, key, input, counter);
    }
    let plan = plan.for_len(input.len());
    let (mut row, mut above) = (&mut Row::new(), &mut Row::new());
    subtree(plan, key, input, counter, row);
    while row.len() > 2 {
        above.clear();
        parents(plan, key, row, above);
        (row, above) = (above, row);
    }
    [row[0], row[1]]
}

/// As [`children_of`], for two chunks, without the rows of the general case.
fn two_leaves(plan: Plan, key: &Key, input: &[u8], counter: u64) -> [Cv; 2] {
    let (left, right) = input.split_at(CHUNK_LEN);
    match plan.pass(2) {
        Some(wide) if !tail_alone(plan, input) => {
            let mut out = Row::new();
            lanes::chunk_pass(wide, key, input, counter, &mut out);
            [out[0], out[1]]
        }
        _ => [chunk_cv(plan, key, left, counter), chunk_cv(plan, key, right, counter + 1)],
    }
}

/// Does `input`, more than a chunk and within one pass, end in a short chunk that should not share the pass?
fn tail_alone(plan: Plan, input: &[u8]) -> bool {
    let tail = input.len() % CHUNK_LEN;
    tail > 0 && plan.tail_alone(input.len() / CHUNK_LEN, tail.div_ceil(BLOCK_LEN))
}

/// The chaining value of a subtree that is not the root.
#[cfg(feature = "std")]
pub(super) fn subtree_cv(plan: Plan, key: &Key, input: &[u8], counter: u64) -> Cv {
    if input.len() <= CHUNK_LEN {
        return chunk_cv(plan, key, input, counter);
    }
    let children = children_of(plan, key, input, counter);
    lanes::parent(plan.one(BLOCK_LEN), key, &children, 0)
}

/// The chaining value of one chunk that is not the root.
pub(super) fn chunk_cv(plan: Plan, key: &Key, input: &[u8], counter: u64) -> Cv {
    let flags = RunFlags::new(key.flags, CHUNK_START, CHUNK_END);
    lanes::run(plan.one(input.len()), &key.words, input, counter, flags)
}

/// A row of chaining values of equal height (the last may be lower) that covers `input`: at least two if
/// there is more than one chunk, at most `ROW`. Of two adjacent rows the left one has a power of two of
/// values. So no value has its parent in common with a value of the other row before both rows are single
/// values, whatever their heights.
fn subtree(plan: Plan, key: &Key, input: &[u8], counter: u64, out: &mut Row) {
    // A row of one would merge the top node, whose flags only the caller knows.
    let pass = plan.lanes().max(2) * CHUNK_LEN;
    if input.len() <= pass.min(ROW * CHUNK_LEN) {
        return leaves(plan, key, input, counter, out);
    }
    let mut cvs = Row::new();
    if input.len() <= pass {
        leaves(plan, key, input, counter, &mut cvs);
    } else {
        let split = left_len(input.len() as u64) as usize;
        let (left, right) = input.split_at(split);
        subtree(plan, key, left, counter, &mut cvs);
        subtree(plan, key, right, counter + (split / CHUNK_LEN) as u64, &mut cvs);
    }
    parents(plan, key, &cvs, out);
}

/// Hashes the chunks of `input`, for which `out` has room, in the cheapest passes of the plan.
fn leaves(plan: Plan, key: &Key, input: &[u8], mut counter: u64, out: &mut Row) {
    let (mut rest, tail) = match input.len() > CHUNK_LEN && tail_alone(plan, input) {
        true => input.split_at(input.len() / CHUNK_LEN * CHUNK_LEN),
        false => (input, &[][..]),
    };
    while !rest.is_empty() {
        let chunks = rest.len().div_ceil(CHUNK_LEN);
        let wide = plan.pass(chunks).filter(|_| chunks > 1);
        let lanes = wide.map_or(1, |wide| wide.lanes);
        let (now, later) = rest.split_at(rest.len().min(lanes * CHUNK_LEN));
        match wide {
            None => out.push(chunk_cv(plan, key, now, counter)),
            Some(wide) => lanes::chunk_pass(wide, key, now, counter, out),
        }
        counter += now.len().div_ceil(CHUNK_LEN) as u64;
        rest = later;
    }
    if !tail.is_empty() {
        out.push(chunk_cv(plan, key, tail, counter));
    }
}

/// The next level above a row of any length.
#[cfg(feature = "std")]
pub(super) fn level_above(plan: Plan, key: &Key, row: &[Cv]) -> Vec<Cv> {
    let mut above = Vec::with_capacity(row.len().div_ceil(2));
    for part in row.chunks(2 * ROW) {
        let mut out = Row::new();
        parents(plan, key, part, &mut out);
        above.extend_from_slice(&out);
    }
    above
}

/// Computes the parents of neighbours; a value without a neighbour moves up unchanged.
fn parents(plan: Plan, key: &Key, cvs: &[Cv], out: &mut Row) {
    let (mut pairs, odd) = cvs.as_chunks::<2>();
    while !pairs.is_empty() {
        match plan.pass(pairs.len()).filter(|_| pairs.len() > 1) {
            None => {
                out.push(lanes::parent(plan.one(BLOCK_LEN), key, &pairs[0], 0));
                pairs = &pairs[1..];
            }
            Some(wide) => {
                let (now, later) = pairs.split_at(pairs.len().min(wide.lanes));
                lanes::parent_pass(wide, key, now, out);
                pairs = later;
            }
        }
    }
    if let [odd] = odd {
        out.push(*odd);
    }
}
