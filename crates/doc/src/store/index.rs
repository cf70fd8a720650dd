//! From the hashes of things to their numbers: an open hash table in shared pieces.
//!
//! A slot is eight bytes, so the slots of a million keys lie near each other while the keys lie in the order in which
//! they came: reading them in that order, which is how most are read, misses the caches once a key at most.

use std::sync::Arc;

/// Slots of one piece. What a change after a fork copies.
const PIECE: usize = 512;
/// Slots of the smallest table.
const LEAST: usize = 32;

/// A hash table of numbers whose clones share what neither changed. The caller brings hashes and equality.
///
/// A slot holds the hash above the number plus one; 0 is empty. At most half of the slots are taken. The highest bits
/// of the spread hash say where to look first, so growing moves everything only to twice its place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    pieces: Vec<Arc<[u64]>>,
    slots: usize,
    len: usize,
}

impl Index {
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn home(&self, hash: u32) -> usize {
        let spread = u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (spread >> (64 - self.slots.trailing_zeros())) as usize
    }

    #[inline]
    fn slot(&self, at: usize) -> u64 {
        self.pieces[at / PIECE][at % PIECE]
    }

    fn set(&mut self, at: usize, slot: u64) {
        Arc::make_mut(&mut self.pieces[at / PIECE])[at % PIECE] = slot;
    }

    /// The place of a number.
    #[inline]
    fn seek(&self, hash: u32, mut same: impl FnMut(u32) -> bool) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let mut at = self.home(hash);
        loop {
            let slot = self.slot(at);
            if slot == 0 {
                return None;
            }
            if (slot >> 32) as u32 == hash && same(slot as u32 - 1) {
                return Some(at);
            }
            at = (at + 1) & (self.slots - 1);
        }
    }

    /// The number with this hash that is the same.
    #[inline]
    pub(crate) fn find(&self, hash: u32, same: impl FnMut(u32) -> bool) -> Option<u32> {
        self.seek(hash, same).map(|at| self.slot(at) as u32 - 1)
    }

    /// Adds a number that is not there.
    #[inline]
    pub(crate) fn insert(&mut self, hash: u32, number: u32) {
        if self.slots < 2 * (self.len + 1) {
            self.grow();
        }
        self.len += 1;
        self.place(u64::from(hash) << 32 | u64::from(number + 1));
    }

    #[inline]
    fn place(&mut self, slot: u64) {
        let mut at = self.home((slot >> 32) as u32);
        while self.slot(at) != 0 {
            at = (at + 1) & (self.slots - 1);
        }
        self.set(at, slot);
    }

    fn grow(&mut self) {
        self.slots = (2 * self.slots).max(LEAST);
        let piece = self.slots.min(PIECE);
        let empty = || (0..piece).map(|_| 0).collect();
        let pieces = (0..self.slots / piece).map(|_| empty()).collect();
        for piece in std::mem::replace(&mut self.pieces, pieces) {
            piece.iter().filter(|slot| **slot != 0).for_each(|slot| self.place(*slot));
        }
    }

    /// Forgets a number.
    pub(crate) fn remove(&mut self, hash: u32, number: u32) {
        let Some(mut hole) = self.seek(hash, |found| found == number) else { return };
        let mask = self.slots - 1;
        let mut next = (hole + 1) & mask;
        loop {
            let slot = self.slot(next);
            if slot == 0 {
                break;
            }
            // What would be found at the hole as well moves there.
            let home = self.home((slot >> 32) as u32);
            if next.wrapping_sub(home) & mask >= next.wrapping_sub(hole) & mask {
                self.set(hole, slot);
                hole = next;
            }
            next = (next + 1) & mask;
        }
        self.set(hole, 0);
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_a_list() {
        let mut index = Index::default();
        let mut there: Vec<Option<u32>> = vec![];
        let mut old = None;
        let mut state = 5u32;
        for number in 0..6000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Some hashes are many times there, some lie at the very end of the table.
            let hash = match state >> 29 {
                0 => 7,
                1 => 1_640_531_527u32.wrapping_mul((state >> 20) & 3),
                _ => state,
            };
            index.insert(hash, number);
            there.push(Some(hash));
            let gone = (state >> 8) as usize % there.len();
            if state & 64 == 0
                && let Some(hash) = there[gone].take()
            {
                index.remove(hash, gone as u32);
            }
            if number == 3000 {
                old = Some((index.clone(), there.clone()));
            }
        }
        for (index, there) in [(&index, &there), (&old.as_ref().unwrap().0, &old.as_ref().unwrap().1)] {
            for (number, hash) in (0..).zip(there) {
                let found = index.find(hash.unwrap_or(7), |found| found == number);
                assert_eq!(found, hash.map(|_| number));
            }
            assert_eq!(index.len, there.iter().flatten().count());
        }
    }
}
