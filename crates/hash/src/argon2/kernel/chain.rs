//! H' of the first blocks: a chain of 31 digests, each computed from the one before. Half of each digest
//! becomes output, and all of the last.
//!
//! A chain is sequential, but the chains of all lanes are independent and are computed side by side, one in
//! each word of a vector. A digest is the next message without any rearrangement.
#![allow(unsafe_code, reason = "calls into BLAKE2b's vectors")]

use super::table::{Layout, MAX_CHAINS, Seed};
use crate::argon2::kernel::blake2b::{Lanes, digests};
use crate::argon2::memory::Block;
use zeroize::Zeroize;

/// Bytes of a seed's message.
const SEED_LEN: u64 = 76;

/// See [`super::table::HashLong`].
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn hash_long<V: Lanes>(layout: Layout, seeds: &[Seed], blocks: &mut [Block]) {
    const { assert!(V::COUNT <= MAX_CHAINS) };
    assert!(seeds.len() <= V::COUNT && blocks.len() == seeds.len());
    let mut row = [0; MAX_CHAINS];
    // SAFETY: the caller has the instructions; `row` has room for any vector.
    unsafe {
        let mut message = [V::splat(0); 10];
        for (word, message) in message.iter_mut().enumerate() {
            for (lane, seed) in row.iter_mut().zip(seeds) {
                *lane = seed[word];
            }
            *message = V::load(row.as_ptr());
        }
        let mut len = SEED_LEN;
        // Four words of each digest, eight of the last.
        for quarter in 0..31 {
            let digest = digests(&message, len);
            let words = if quarter == 30 { 8 } else { 4 };
            for (word, lanes) in digest.iter().take(words).enumerate() {
                lanes.store(row.as_mut_ptr());
                for (block, lane) in blocks.iter_mut().zip(&row) {
                    block.0[layout.memory_index(4 * quarter + word)] = *lane;
                }
            }
            message[..8].copy_from_slice(&digest);
            message[8] = V::splat(0);
            message[9] = V::splat(0);
            len = 64;
        }
    }
    row.zeroize();
}
