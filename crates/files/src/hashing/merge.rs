//! Merge of the chaining values of tiles, which arrive in any order, up to the root of the tree.
//!
//! All tiles but the last have the same size, a power of two of chunks. So the tree over them is the one that
//! BLAKE3 builds over its chunks: each number of tiles leaves one subtree per one-bit of that number.

use hashmill_hash::blake3::hazmat::{ChainingValue, Mode, merge_subtrees_non_root};
use std::collections::BTreeMap;

/// Merger of the chaining values of tiles 0, 1, 2, …, which arrive in any order.
pub(crate) struct Merger<'a> {
    mode: Mode<'a>,
    /// Subtrees over the tiles before `next`, the largest first. They are merged only when another tile follows:
    /// the merge that turns out to be the last is the root's.
    stack: Vec<ChainingValue>,
    next: u64,
    /// Values that arrived before their turn: about as many as there are threads.
    early: BTreeMap<u64, ChainingValue>,
}

impl<'a> Merger<'a> {
    pub(crate) fn new(mode: Mode<'a>) -> Merger<'a> {
        Merger { mode, stack: Vec::new(), next: 0, early: BTreeMap::new() }
    }

    /// Adds the value of tile `index`.
    pub(crate) fn push(&mut self, index: u64, value: ChainingValue) {
        if index != self.next {
            self.early.insert(index, value);
            return;
        }
        self.append(value);
        while let Some(value) = self.early.remove(&self.next) {
            self.append(value);
        }
    }

    fn append(&mut self, value: ChainingValue) {
        while self.stack.len() > self.next.count_ones() as usize {
            self.merge_top();
        }
        self.stack.push(value);
        self.next += 1;
    }

    fn merge_top(&mut self) {
        let right = self.stack.pop();
        let left = self.stack.pop();
        if let (Some(left), Some(right)) = (left, right) {
            self.stack.push(merge_subtrees_non_root(&left, &right, self.mode));
        }
    }

    /// The two subtrees under the root, once all tiles are in. `None` if there were fewer than two.
    pub(crate) fn finish(mut self) -> Option<[ChainingValue; 2]> {
        debug_assert!(self.early.is_empty(), "a tile is missing");
        while self.stack.len() > 2 {
            self.merge_top();
        }
        <[ChainingValue; 2]>::try_from(self.stack).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_hash::blake3::hazmat::{HasherExt, merge_subtrees_root};
    use hashmill_hash::blake3::{Hasher, hash};

    /// Tiles of one chunk each, in an order that a generator of full period gives.
    fn check(tiles: u64, last: usize, step: u64) {
        let input: Vec<u8> = (0..(tiles - 1) * 1024 + last as u64).map(|i| (i % 251) as u8).collect();
        let mut merger = Merger::new(Mode::Hash);
        for turn in 0..tiles {
            let index = (turn * step + step / 2) % tiles;
            let offset = index * 1024;
            let tile = &input[offset as usize..input.len().min(offset as usize + 1024)];
            let mut hasher = Hasher::new();
            merger.push(index, hasher.set_input_offset(offset).update(tile).finalize_non_root());
        }
        let [left, right] = merger.finish().expect("two subtrees");
        assert_eq!(
            merge_subtrees_root(&left, &right, Mode::Hash),
            hash(&input),
            "{tiles} tiles, last {last}"
        );
    }

    #[test]
    fn any_number_of_tiles_in_any_order_gives_the_digest_of_the_whole() {
        for tiles in 2..=70 {
            // A prime step larger than every count visits each tile once.
            for step in [1, 71, 97] {
                for last in [1, 1000, 1024] {
                    check(tiles, last, step);
                }
            }
        }
    }

    #[test]
    fn a_single_tile_has_no_root_to_merge() {
        let mut merger = Merger::new(Mode::Hash);
        merger.push(0, [7; 32]);
        assert_eq!(merger.finish(), None);
    }
}
