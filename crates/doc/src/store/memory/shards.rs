//! Sharded hash table: growing copies one shard at a time, and so does the first change after a fork.

use std::sync::Arc;

use hashbrown::HashTable;

/// Average number of entries per shard at which the number of shards doubles.
const FULL: usize = 256;

/// A hash table whose clones share unchanged shards. The caller provides hashes and equality.
#[derive(Clone, Debug)]
pub(crate) struct Shards<T> {
    shards: Vec<Arc<HashTable<T>>>,
    len: usize,
}

impl<T> Default for Shards<T> {
    fn default() -> Self {
        Self { shards: Vec::new(), len: 0 }
    }
}

impl<T: Clone> Shards<T> {
    /// Shards are chosen by the high bits, which the tables inside use least.
    #[inline]
    fn shard(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.shards.len() - 1)
    }

    #[inline]
    pub(crate) fn get(&self, hash: u64, same: impl FnMut(&T) -> bool) -> Option<&T> {
        if self.shards.is_empty() {
            return None;
        }
        self.shards[self.shard(hash)].find(hash, same)
    }

    /// Adds an entry that is not present yet.
    #[inline]
    pub(crate) fn insert(&mut self, hash: u64, value: T, rehash: impl Fn(&T) -> u64) -> &mut T {
        self.reserve(1, &rehash);
        self.len += 1;
        let shard = self.shard(hash);
        Arc::make_mut(&mut self.shards[shard]).insert_unique(hash, value, rehash).into_mut()
    }

    pub(crate) fn remove(&mut self, hash: u64, same: impl FnMut(&T) -> bool) -> bool {
        if self.shards.is_empty() {
            return false;
        }
        let shard = self.shard(hash);
        let Ok(entry) = Arc::make_mut(&mut self.shards[shard]).find_entry(hash, same) else { return false };
        entry.remove();
        self.len -= 1;
        true
    }

    /// Reserves memory for `more` entries.
    #[inline]
    pub(crate) fn reserve(&mut self, more: usize, rehash: &impl Fn(&T) -> u64) {
        if self.len + more > self.shards.len() * FULL {
            self.grow((self.len + more).div_ceil(FULL).next_power_of_two(), rehash);
        }
    }

    fn grow(&mut self, pieces: usize, rehash: &impl Fn(&T) -> u64) {
        // One of many shards is sure to fill; a single one may stay small.
        let room = if pieces == 1 { 0 } else { FULL };
        let empty = || Arc::new(HashTable::with_capacity(room));
        let old = std::mem::replace(&mut self.shards, (0..pieces).map(|_| empty()).collect());
        for value in old.into_iter().flat_map(Arc::unwrap_or_clone) {
            let hash = rehash(&value);
            let shard = self.shard(hash);
            Arc::make_mut(&mut self.shards[shard]).insert_unique(hash, value, rehash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserts_many_and_removes_one() {
        let hash = |value: &u64| value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut shards = Shards::default();
        for value in 0..5000u64 {
            shards.insert(hash(&value), value, hash);
        }
        let old = shards.clone();
        assert!(shards.remove(hash(&9), |value| *value == 9));
        assert!(!shards.remove(hash(&9), |value| *value == 9));
        assert_eq!(shards.get(hash(&9), |value| *value == 9), None);
        assert!((0..5000).all(|value| old.get(hash(&value), |found| *found == value).is_some()));
        let there = |value: &u64| shards.get(hash(value), |found| found == value).is_some();
        assert_eq!((0..5000).filter(there).count(), 4999);
    }
}
