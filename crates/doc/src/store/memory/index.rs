//! Hash index: a hash table from hashes to numbers in copy-on-write pieces, with buckets as long as a cache line.
//!
//! A lookup nearly always reads one line. The bucket has one byte of the hash for each of its numbers, and all of them
//! are compared at once, without a branch that could be mispredicted while the line is still loading. A million numbers
//! take 8 MB. The indexed values are stored in order of arrival; iterating in that order, the usual case, misses the
//! caches at most once.

use std::sync::Arc;

/// Slots of a bucket.
const ROOM: usize = 12;
/// Maximum average number of entries per bucket: the fewer, the fewer full buckets.
const FULL: usize = 8;
/// Average after a rebuild: the fewer, the later the next rebuild.
const FRESH: usize = 5;
/// Buckets of the smallest table.
const LEAST: usize = 4;
/// Buckets per piece. A change after a fork copies one piece.
const PIECE: usize = 64;

/// Slot that was never used, or whose removed number cannot have made another one overflow to the next bucket.
const EMPTY: u8 = 0;
/// Slot of a removed number in a bucket that was full: other numbers may have overflowed to the next bucket.
const GONE: u8 = 1;

/// The byte of a hash that is stored beside the number.
#[inline]
fn tag_of(hash: u32) -> u8 {
    (hash as u8).max(GONE + 1)
}

#[derive(Clone, Debug, Default)]
#[repr(align(64))]
struct Bucket {
    /// Tags of the numbers in the same slots; those beyond `ROOM` stay empty.
    tags: [u8; 16],
    numbers: [u32; ROOM],
}

/// Set of slots of a bucket: the highest bit of one byte for each.
#[derive(Clone, Copy)]
struct SlotSet(u128);

impl SlotSet {
    fn first(self) -> Option<usize> {
        (self.0 != 0).then(|| self.0.trailing_zeros() as usize / 8)
    }

    fn without_first(self) -> Self {
        Self(self.0 & self.0.wrapping_sub(1))
    }
}

impl Bucket {
    /// Slots that contain a tag.
    #[inline]
    fn places(&self, tag: u8) -> SlotSet {
        const LOW: u128 = u128::from_ne_bytes([0x7f; 16]);
        const ROOMS: u128 = !0 >> (8 * (16 - ROOM));
        let other = u128::from_le_bytes(self.tags) ^ u128::from_ne_bytes([tag; 16]);
        // The highest bit of a byte stays 0 when all its bits are 0.
        SlotSet(!(((other & LOW) + LOW) | other | LOW) & ROOMS)
    }
}

/// A hash table of numbers whose clones share unchanged pieces. The caller provides hashes and equality.
///
/// The highest bits of a hash select the bucket; if that is full, the number is in one of the next buckets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    pieces: Vec<Arc<[Bucket]>>,
    /// A power of two.
    buckets: usize,
    len: usize,
    /// Slots that are not empty.
    used: usize,
}

impl Index {
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn first_bucket(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.buckets as u64) >> 32) as usize
    }

    #[inline]
    fn bucket(&self, at: usize) -> &Bucket {
        &self.pieces[at / PIECE][at % PIECE]
    }

    fn set(&mut self, at: usize, slot: usize, tag: u8, number: u32) {
        let bucket = &mut Arc::make_mut(&mut self.pieces[at / PIECE])[at % PIECE];
        (bucket.tags[slot], bucket.numbers[slot]) = (tag, number);
    }

    /// Bucket and slot of a number.
    #[inline]
    fn seek(&self, hash: u32, mut same: impl FnMut(u32) -> bool) -> Option<(usize, usize)> {
        if self.len == 0 {
            return None;
        }
        let tag = tag_of(hash);
        let mut at = self.first_bucket(hash);
        loop {
            let bucket = self.bucket(at);
            let mut places = bucket.places(tag);
            while let Some(slot) = places.first() {
                if same(bucket.numbers[slot]) {
                    return Some((at, slot));
                }
                places = places.without_first();
            }
            if bucket.places(EMPTY).first().is_some() {
                return None;
            }
            at = (at + 1) & (self.buckets - 1);
        }
    }

    /// The number with this hash that `same` accepts.
    #[inline]
    pub(crate) fn find(&self, hash: u32, mut same: impl FnMut(u32) -> bool) -> Option<u32> {
        self.find_as(hash, |number| same(number).then_some(number))
    }

    /// The first result of `is_it` for a number with this hash.
    #[inline]
    pub(crate) fn find_as<T>(&self, hash: u32, mut is_it: impl FnMut(u32) -> Option<T>) -> Option<T> {
        let mut found = None;
        self.seek(hash, |number| {
            found = is_it(number);
            found.is_some()
        })?;
        found
    }

    /// Adds the next number: all smaller ones are present, or none is. `hashes` are those of the smaller numbers, for a
    /// rebuild.
    #[inline]
    pub(crate) fn push(&mut self, hash: u32, number: u32, hashes: impl Iterator<Item = u32>) {
        if self.len == 0 || self.used >= self.buckets * FULL {
            self.rebuild(number as usize, hashes);
        }
        self.len += 1;
        self.insert_slot(hash, number);
    }

    #[inline]
    fn insert_slot(&mut self, hash: u32, number: u32) {
        let mut at = self.first_bucket(hash);
        let slot = loop {
            let bucket = self.bucket(at);
            if let Some(slot) = bucket.places(EMPTY).first().or_else(|| bucket.places(GONE).first()) {
                break slot;
            }
            at = (at + 1) & (self.buckets - 1);
        };
        self.used += usize::from(self.bucket(at).tags[slot] == EMPTY);
        self.set(at, slot, tag_of(hash), number);
    }

    /// Rebuilds the table for `len` numbers and room for others.
    fn rebuild(&mut self, len: usize, hashes: impl Iterator<Item = u32>) {
        self.buckets = (len / FRESH + 1).next_power_of_two().max(LEAST);
        let piece = self.buckets.min(PIECE);
        let empty = || (0..piece).map(|_| Bucket::default()).collect();
        self.pieces = (0..self.buckets / piece).map(|_| empty()).collect();
        (self.len, self.used) = (len, 0);
        (0..).zip(hashes).for_each(|(number, hash)| self.insert_slot(hash, number));
        debug_assert_eq!(self.used, len, "there is a hash for each");
    }

    /// Removes a number.
    pub(crate) fn remove(&mut self, hash: u32, number: u32) {
        let Some((at, slot)) = self.seek(hash, |found| found == number) else { return };
        let full = self.bucket(at).places(EMPTY).first().is_none();
        self.set(at, slot, if full { GONE } else { EMPTY }, 0);
        self.used -= usize::from(!full);
        self.len -= 1;
    }

    /// Replaces number `from` with this hash by `to`.
    pub(crate) fn renumber(&mut self, hash: u32, from: u32, to: u32) {
        if let Some((at, slot)) = self.seek(hash, |found| found == from) {
            self.set(at, slot, tag_of(hash), to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index beside the hashes of its numbers, which are contiguous from 0, as those of a map.
    #[derive(Clone, Default)]
    struct Both {
        index: Index,
        hashes: Vec<u32>,
    }

    impl Both {
        fn push(&mut self, hash: u32) {
            self.index.push(hash, self.hashes.len() as u32, self.hashes.iter().copied());
            self.hashes.push(hash);
        }

        /// The last entry takes the number.
        fn swap_remove(&mut self, number: usize) {
            self.index.remove(self.hashes.swap_remove(number), number as u32);
            if let Some(hash) = self.hashes.get(number) {
                self.index.renumber(*hash, self.hashes.len() as u32, number as u32);
            }
        }

        fn check(&self) {
            for (number, hash) in (0..).zip(&self.hashes) {
                assert_eq!(self.index.find(*hash, |found| found == number), Some(number));
            }
            for hash in [7, 8, !0] {
                let absent = self.hashes.len() as u32;
                assert_eq!(self.index.find(hash, |found| found == absent), None);
            }
            assert_eq!(self.index.len, self.hashes.len());
        }
    }

    #[test]
    fn agrees_with_a_list() {
        let mut both = Both::default();
        let mut old = vec![];
        let mut state = 5u32;
        for round in 0..6000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Some hashes repeat many times, some are at the very end of the table.
            both.push(match state >> 29 {
                0 => 7,
                1 => !((state >> 20) & 3),
                _ => state,
            });
            if state & 64 == 0 {
                both.swap_remove((state >> 8) as usize % both.hashes.len());
            }
            if round % 1500 == 20 {
                old.push(both.clone());
            }
        }
        both.check();
        // Shrinks to nothing and grows again: removed numbers must not occupy slots for ever.
        for _ in 0..40 {
            (0..both.hashes.len() / 2).for_each(|_| both.swap_remove(0));
            (0..both.hashes.len().min(500)).for_each(|i| both.push((i as u32).wrapping_mul(0x9e37_79b9)));
            both.check();
        }
        assert!(both.index.buckets <= 512, "{}", both.index.buckets);
        old.iter().for_each(Both::check);
    }
}
