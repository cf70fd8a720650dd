//! The tree over the chunks: splitting, passes over leaves and levels, and the last steps to a root.

use super::kernel::{Cv, GROUP, MAX_LANES, RunFlags};
use super::lanes::{self, Key};
use super::plan::Plan;
use super::{BLOCK_LEN, CHUNK_END, CHUNK_LEN, CHUNK_START, ROOT};
#[cfg(feature = "std")]
use std::vec::Vec;

/// The most values in a row of the tree: as many as there are parents over the chunks of the widest pass.
const ROW: usize = 16;
const _: () = assert!(ROW == GROUP && 2 * ROW == MAX_LANES);

/// The length of the left subtree of `len > 1024` bytes: the largest power of two of chunks that leaves a byte.
pub(super) const fn left_len(len: u64) -> u64 {
    let chunks = (len - 1) / CHUNK_LEN as u64;
    (1 << (63 - chunks.leading_zeros())) * CHUNK_LEN as u64
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
    let (mut row, mut above) = (&mut [[0; 8]; ROW], &mut [[0; 8]; ROW]);
    let mut count = subtree(plan, key, input, counter, row);
    while count > 2 {
        count = parents(plan, key, &row[..count], above);
        (row, above) = (above, row);
    }
    [row[0], row[1]]
}

/// [`children_of`] for two chunks, without the general case's rows.
fn two_leaves(plan: Plan, key: &Key, input: &[u8], counter: u64) -> [Cv; 2] {
    let (left, right) = input.split_at(CHUNK_LEN);
    match plan.pass(2) {
        Some(wide) if !tail_alone(plan, input) => {
            let mut out = [[0; 8]; ROW];
            lanes::chunk_pass(wide, key, input, counter, &mut out);
            [out[0], out[1]]
        }
        _ => [chunk_cv(plan, key, left, counter), chunk_cv(plan, key, right, counter + 1)],
    }
}

/// Whether `input`, more than a chunk and within one pass, ends in a short chunk that should not share the pass.
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

/// A row of equal-height chaining values (the last may be lower) that covers `input`: at least two of them where
/// there is more than one chunk, at most `ROW`. Of two rows side by side the left has a power of two of values, so none has
/// its parent with one of the other row, however high each of them is, before both are single.
fn subtree(plan: Plan, key: &Key, input: &[u8], counter: u64, out: &mut [Cv; ROW]) -> usize {
    // A row of one would merge the top node, whose flags only the caller knows.
    let pass = plan.lanes().max(2) * CHUNK_LEN;
    if input.len() <= pass.min(ROW * CHUNK_LEN) {
        return leaves(plan, key, input, counter, out);
    }
    let mut cvs = [[0; 8]; 2 * ROW];
    let count = if input.len() <= pass {
        leaves(plan, key, input, counter, &mut cvs)
    } else {
        let split = left_len(input.len() as u64) as usize;
        let (left, right) = input.split_at(split);
        let count = subtree(plan, key, left, counter, part(&mut cvs, 0));
        let right_counter = counter + (split / CHUNK_LEN) as u64;
        count + subtree(plan, key, right, right_counter, part(&mut cvs, count))
    };
    parents(plan, key, &cvs[..count], out)
}

/// The `ROW` places from `start` on.
fn part(cvs: &mut [Cv; 2 * ROW], start: usize) -> &mut [Cv; ROW] {
    cvs[start..].first_chunk_mut().expect("a row has at most ROW values")
}

/// The chunks of `input`, of which `out` has places for as many as there are, in the passes that the plan finds cheapest.
fn leaves(plan: Plan, key: &Key, input: &[u8], counter: u64, out: &mut [Cv]) -> usize {
    let (mut rest, tail) = match input.len() > CHUNK_LEN && tail_alone(plan, input) {
        true => input.split_at(input.len() / CHUNK_LEN * CHUNK_LEN),
        false => (input, &[][..]),
    };
    let mut done = 0;
    while !rest.is_empty() {
        let chunks = rest.len().div_ceil(CHUNK_LEN);
        let counter = counter + done as u64;
        let wide = plan.pass(chunks).filter(|_| chunks > 1);
        let (now, later) = rest.split_at(rest.len().min(wide.map_or(1, |wide| wide.lanes) * CHUNK_LEN));
        match wide {
            None => {
                out[done] = chunk_cv(plan, key, now, counter);
                done += 1;
            }
            // The kernel writes a value for each of its lanes.
            Some(wide) if wide.lanes <= out.len() - done => {
                done += lanes::chunk_pass(wide, key, now, counter, &mut out[done..]);
            }
            Some(wide) => {
                let mut more = [[0; 8]; MAX_LANES];
                let count = lanes::chunk_pass(wide, key, now, counter, &mut more);
                out[done..done + count].copy_from_slice(&more[..count]);
                done += count;
            }
        }
        rest = later;
    }
    if !tail.is_empty() {
        out[done] = chunk_cv(plan, key, tail, counter + done as u64);
        done += 1;
    }
    done
}

/// One level up from a row of any length.
#[cfg(feature = "std")]
pub(super) fn level_above(plan: Plan, key: &Key, row: &[Cv]) -> Vec<Cv> {
    let mut above = Vec::with_capacity(row.len().div_ceil(2));
    for part in row.chunks(2 * ROW) {
        let mut out = [[0; 8]; ROW];
        let count = parents(plan, key, part, &mut out);
        above.extend_from_slice(&out[..count]);
    }
    above
}

/// One level up: the parents of neighbours; a value without a neighbour goes up as it is.
fn parents(plan: Plan, key: &Key, cvs: &[Cv], out: &mut [Cv; ROW]) -> usize {
    let (mut pairs, odd) = cvs.as_chunks::<2>();
    let mut done = 0;
    while !pairs.is_empty() {
        match plan.pass(pairs.len()).filter(|_| pairs.len() > 1) {
            None => {
                out[done] = lanes::parent(plan.one(BLOCK_LEN), key, &pairs[0], 0);
                done += 1;
                pairs = &pairs[1..];
            }
            Some(wide) => {
                let (now, later) = pairs.split_at(pairs.len().min(wide.lanes));
                if wide.lanes <= ROW - done {
                    lanes::parent_pass(wide, key, now, &mut out[done..]);
                } else {
                    let mut more = [[0; 8]; MAX_LANES];
                    lanes::parent_pass(wide, key, now, &mut more);
                    out[done..done + now.len()].copy_from_slice(&more[..now.len()]);
                }
                done += now.len();
                pairs = later;
            }
        }
    }
    if let [odd] = odd {
        out[done] = *odd;
        done += 1;
    }
    done
}
