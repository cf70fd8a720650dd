//! Distribution of tiles of the tree to threads.

use crate::blake3::kernel::Cv;
use crate::blake3::lanes::Key;
use crate::blake3::{CHUNK_LEN, Plan, tree};
use crate::work_sharing;
use std::cell::RefCell;
use std::sync::OnceLock;

/// Short enough that the wait for the last tile is small, long enough that its own top nodes (four levels
/// that do not fill the lanes) take less than two percent.
const TILE_LEN: usize = 128 * 1024;

/// With more tiles than this, tiles get longer instead.
const MAX_TILES: usize = 256;

/// Values of the tiles. Kept between jobs, so that later calls allocate almost nothing.
pub(in crate::blake3) type Slots = Vec<OnceLock<Cv>>;

/// As [`tree::children_of`], with the current rayon pool where it pays.
pub(in crate::blake3) fn children_of(plan: Plan, key: &Key, input: &[u8], counter: u64) -> [Cv; 2] {
    thread_local! {
        static SLOTS: RefCell<Slots> = const { RefCell::new(Slots::new()) };
    }
    if input.len() < plan.parallel_from() {
        return tree::children_of(plan, key, input, counter);
    }
    let helpers = work_sharing::available() - 1;
    if helpers == 0 {
        return tree::children_of(plan, key, input, counter);
    }
    // Not borrowed while hashing: another task of the pool may run on this thread meanwhile and come here
    // too.
    let mut slots = SLOTS.take();
    let children = children_by(plan, key, input, counter, helpers, &mut slots, rayon::spawn);
    SLOTS.set(slots);
    children
}

/// As [`tree::children_of`], with up to `helpers` helpers.
pub(in crate::blake3) fn children_by(
    plan: Plan,
    key: &Key,
    input: &[u8],
    counter: u64,
    helpers: usize,
    slots: &mut Slots,
    spawn: impl Fn(Box<dyn FnOnce() + Send>),
) -> [Cv; 2] {
    let (plan, tile_len) = (plan.for_len(input.len()), tile_len(input.len()));
    if input.len() <= tile_len {
        return tree::children_of(plan, key, input, counter);
    }
    let tiles = input.len().div_ceil(tile_len);
    slots.clear();
    slots.resize_with(tiles, OnceLock::new);
    let work = |_: u64, tile: usize| {
        let start = tile * tile_len;
        let end = input.len().min(start + tile_len);
        let cv = tree::subtree_cv(plan, key, &input[start..end], counter + (start / CHUNK_LEN) as u64);
        slots[tile].set(cv).expect("a tile is taken once");
    };
    work_sharing::run_with(1, tiles, helpers.min(tiles - 1), &work, spawn);
    let mut row: Vec<Cv> = slots.iter().map(|slot| *slot.get().expect("every tile is finished")).collect();
    while row.len() > 2 {
        row = tree::level_above(plan, key, &row);
    }
    [row[0], row[1]]
}

/// The length of a tile: a power of two of chunks, so that every tile is a subtree.
fn tile_len(len: usize) -> usize {
    TILE_LEN.max((len / MAX_TILES).next_power_of_two())
}
