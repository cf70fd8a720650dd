//! The compression function in plain Rust: the reference for every other kernel.

use super::table::{Cv, RunFlags, Table, XofJob};
use crate::blake3::{BLOCK_LEN, IV};
use crate::isa::Features;

pub(in crate::blake3) static TABLE: Table =
    Table { name: "portable", needs: Features::from_list(&[]), run, run_cost: 500, wide: &[], xof };

/// The message word at each of the sixteen positions in the next round.
const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];

/// The message word at each of the sixteen positions, round by round.
pub(super) const SCHEDULE: [[usize; 16]; 7] = {
    let mut schedule = [[0; 16]; 7];
    let mut position = 0;
    while position < 16 {
        schedule[0][position] = position;
        position += 1;
    }
    let mut round = 1;
    while round < 7 {
        let mut position = 0;
        while position < 16 {
            schedule[round][position] = schedule[round - 1][PERMUTATION[position]];
            position += 1;
        }
        round += 1;
    }
    schedule
};

/// The state after seven rounds, before its halves are combined.
fn rounds(cv: &Cv, m: [u32; 16], counter: u64, len: u32, flags: u32) -> [u32; 16] {
    let [low, high] = [counter as u32, (counter >> 32) as u32];
    let [a, b, c, d, e, f, g, h] = *cv;
    let mut v = [a, b, c, d, e, f, g, h, IV[0], IV[1], IV[2], IV[3], low, high, len, flags];
    // Not a loop: with constant indices the words stay in registers.
    round::<0>(&mut v, &m);
    round::<1>(&mut v, &m);
    round::<2>(&mut v, &m);
    round::<3>(&mut v, &m);
    round::<4>(&mut v, &m);
    round::<5>(&mut v, &m);
    round::<6>(&mut v, &m);
    v
}

#[inline(always)]
fn round<const ROUND: usize>(v: &mut [u32; 16], m: &[u32; 16]) {
    let m = SCHEDULE[ROUND].map(|position| m[position]);
    mix(v, [0, 4, 8, 12], m[0], m[1]);
    mix(v, [1, 5, 9, 13], m[2], m[3]);
    mix(v, [2, 6, 10, 14], m[4], m[5]);
    mix(v, [3, 7, 11, 15], m[6], m[7]);
    mix(v, [0, 5, 10, 15], m[8], m[9]);
    mix(v, [1, 6, 11, 12], m[10], m[11]);
    mix(v, [2, 7, 8, 13], m[12], m[13]);
    mix(v, [3, 4, 9, 14], m[14], m[15]);
}

#[inline(always)]
fn mix(v: &mut [u32; 16], [a, b, c, d]: [usize; 4], x: u32, y: u32) {
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(x);
    v[d] = (v[d] ^ v[a]).rotate_right(16);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(12);
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(y);
    v[d] = (v[d] ^ v[a]).rotate_right(8);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(7);
}

fn words(block: &[u8; BLOCK_LEN]) -> [u32; 16] {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

/// See [`super::table::Run`].
pub(super) fn run(key: &Cv, input: &[u8], counter: u64, flags: RunFlags, out: &mut Cv) {
    let mut cv = *key;
    // An empty message is still one (empty) block.
    let last = input.len().saturating_sub(1) / BLOCK_LEN;
    for index in 0..=last {
        let rest = &input[index * BLOCK_LEN..];
        let len = rest.len().min(BLOCK_LEN);
        let mut block = [0; BLOCK_LEN];
        block[..len].copy_from_slice(&rest[..len]);
        let v = rounds(&cv, words(&block), counter, len as u32, flags.at(index == 0, index == last));
        for (i, word) in cv.iter_mut().enumerate() {
            *word = v[i] ^ v[i + 8];
        }
    }
    *out = cv;
}

/// See [`super::table::Xof`].
pub(super) fn xof(job: &XofJob, counter: u64, out: &mut [[u8; BLOCK_LEN]]) {
    for (block, counter) in out.iter_mut().zip(counter..) {
        let v = rounds(&job.cv, words(&job.block), counter, job.len, job.flags);
        for (i, bytes) in block.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let word = if i < 8 { v[i] ^ v[i + 8] } else { v[i] ^ job.cv[i - 8] };
            *bytes = word.to_le_bytes();
        }
    }
}
