//! A map: keys to the values visible there. What was there before is in the log.

use std::hash::BuildHasher;
use std::sync::OnceLock;

use hashbrown::DefaultHashBuilder;

use super::heap::{Bytes, Heap};
use super::register::Values;
use super::shards::Shards;

/// Maps of at most this many keys are searched one by one.
const SMALL: usize = 12;

/// One key.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    hash: u32,
    pub(crate) key: Bytes,
    /// The newest operation on the key in the log, plus one.
    pub(crate) last: u32,
    pub(crate) values: Values,
}

#[derive(Clone, Debug)]
enum Table {
    Small(Vec<Entry>),
    Large(Shards<Entry>),
}

/// The map. Finding a key costs O(1) and does not depend on its history.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    table: Table,
    /// Keys with a visible value.
    len: usize,
}

impl Default for Map {
    fn default() -> Self {
        Self { table: Table::Small(Vec::new()), len: 0 }
    }
}

fn hash_of(key: &[u8]) -> u32 {
    static HASHER: OnceLock<DefaultHashBuilder> = OnceLock::new();
    HASHER.get_or_init(DefaultHashBuilder::default).hash_one(key) as u32
}

/// Spreads the stored half of a hash over the bits that tables use.
#[inline]
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Map {
    /// How many keys have a value.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn get(&self, key: &str, heap: &Heap) -> Option<&Entry> {
        match &self.table {
            Table::Small(entries) => entries.iter().find(|entry| heap.get(entry.key) == key.as_bytes()),
            Table::Large(shards) => {
                let hash = hash_of(key.as_bytes());
                let same = |entry: &Entry| entry.hash == hash && heap.get(entry.key) == key.as_bytes();
                shards.get(spread(hash), same)
            }
        }
    }

    /// Changes the entry of a key; a new one without values if need be, its key put into the heap.
    #[inline]
    pub(crate) fn update<R>(
        &mut self,
        key: &str,
        heap: &mut Heap,
        change: impl FnOnce(&mut Entry) -> R,
    ) -> R {
        let bytes = key.as_bytes();
        let hash = hash_of(bytes);
        if self.get(key, heap).is_none() {
            let entry = Entry { hash, key: heap.push(bytes), last: 0, values: Values::new() };
            self.add(entry);
        }
        let entry = match &mut self.table {
            Table::Small(entries) => entries.iter_mut().find(|entry| heap.get(entry.key) == bytes),
            Table::Large(shards) => {
                shards.get_mut(spread(hash), |entry| entry.hash == hash && heap.get(entry.key) == bytes)
            }
        };
        let entry = entry.expect("the key is there or was just added");
        let before = usize::from(!entry.values.is_empty());
        let result = change(entry);
        let after = usize::from(!entry.values.is_empty());
        self.len = self.len + after - before;
        result
    }

    fn add(&mut self, entry: Entry) {
        match &mut self.table {
            Table::Small(entries) if entries.len() < SMALL => entries.push(entry),
            Table::Small(entries) => {
                let mut shards = Shards::default();
                for entry in std::mem::take(entries).into_iter().chain([entry]) {
                    shards.insert(spread(entry.hash), entry, |entry| spread(entry.hash));
                }
                self.table = Table::Large(shards);
            }
            Table::Large(shards) => {
                shards.insert(spread(entry.hash), entry, |entry| spread(entry.hash));
            }
        }
    }

    /// Adds a key that is not there.
    pub(crate) fn insert_new(&mut self, key: Bytes, last: u32, values: Values, heap: &Heap) {
        self.len += usize::from(!values.is_empty());
        self.add(Entry { hash: hash_of(heap.get(key)), key, last, values });
    }

    /// Forgets a key.
    pub(crate) fn remove(&mut self, key: &str, heap: &Heap) {
        let Some(entry) = self.get(key, heap) else { return };
        self.len -= usize::from(!entry.values.is_empty());
        match &mut self.table {
            Table::Small(entries) => entries.retain(|entry| heap.get(entry.key) != key.as_bytes()),
            Table::Large(shards) => {
                let hash = hash_of(key.as_bytes());
                shards.remove(spread(hash), |entry| heap.get(entry.key) == key.as_bytes());
            }
        }
    }

    /// All keys that ever had a value, in no order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        let (small, large) = match &self.table {
            Table::Small(entries) => (Some(entries), None),
            Table::Large(shards) => (None, Some(shards)),
        };
        small.into_iter().flatten().chain(large.into_iter().flat_map(Shards::iter))
    }

    /// All keys that ever had a value, in the order of their bytes.
    pub(crate) fn sorted(&self, heap: &Heap) -> Vec<&Entry> {
        let mut entries: Vec<&Entry> = self.entries().collect();
        entries.sort_unstable_by_key(|entry| heap.get(entry.key));
        entries
    }
}
