//! A map: keys to the values visible there. What was there before is in the log.

use std::hash::BuildHasher;
use std::sync::OnceLock;

use hashbrown::DefaultHashBuilder;

use super::heap::{Bytes, Heap};
use super::index::Index;
use super::pages::Pages;
use super::register::Values;

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

/// The map. Finding a key costs O(1) and does not depend on its history.
#[derive(Clone, Debug, Default)]
pub(crate) struct Map {
    /// All keys that ever had a value, in the order in which they came.
    entries: Pages<Entry>,
    /// The entries by the hashes of their keys; empty for small maps.
    index: Index,
    /// Keys with a visible value.
    len: usize,
}

fn hash_of(key: &[u8]) -> u32 {
    static HASHER: OnceLock<DefaultHashBuilder> = OnceLock::new();
    HASHER.get_or_init(DefaultHashBuilder::default).hash_one(key) as u32
}

/// The first bytes of a key as a number, which mostly decides which of two keys comes first.
fn start(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let len = key.len().min(8);
    bytes[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(bytes)
}

impl Map {
    /// How many keys have a value.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The number of a key, or its hash when it is not there.
    #[inline]
    fn seek(&self, key: &[u8], heap: &Heap) -> Result<usize, u32> {
        let same = |entry: &Entry| heap.get(entry.key) == key;
        if self.index.is_empty() {
            return self.entries.iter().position(same).ok_or_else(|| hash_of(key));
        }
        let hash = hash_of(key);
        let found = self.index.find(hash, |number| same(&self.entries[number as usize]));
        found.map(|number| number as usize).ok_or(hash)
    }

    #[inline]
    pub(crate) fn get(&self, key: &str, heap: &Heap) -> Option<&Entry> {
        self.seek(key.as_bytes(), heap).ok().map(|number| &self.entries[number])
    }

    /// Changes the entry of a key; a new one without values if need be, its key put into the heap.
    #[inline]
    pub(crate) fn update<R>(
        &mut self,
        key: &str,
        heap: &mut Heap,
        change: impl FnOnce(&mut Entry) -> R,
    ) -> R {
        let number = self.seek(key.as_bytes(), heap).unwrap_or_else(|hash| {
            self.add(Entry { hash, key: heap.push(key.as_bytes()), last: 0, values: Values::new() })
        });
        let entry = self.entries.get_mut(number);
        let before = usize::from(!entry.values.is_empty());
        let result = change(entry);
        let after = usize::from(!entry.values.is_empty());
        self.len = self.len + after - before;
        result
    }

    /// Appends an entry; gives its number.
    fn add(&mut self, entry: Entry) -> usize {
        let number = self.entries.len();
        if !self.index.is_empty() {
            self.index.insert(entry.hash, number as u32);
        } else if number == SMALL {
            for (number, entry) in (0..).zip(self.entries.iter().chain([&entry])) {
                self.index.insert(entry.hash, number);
            }
        }
        self.entries.push(entry);
        number
    }

    /// Adds a key that is not there.
    pub(crate) fn insert_new(&mut self, key: Bytes, last: u32, values: Values, heap: &Heap) {
        self.len += usize::from(!values.is_empty());
        self.add(Entry { hash: hash_of(heap.get(key)), key, last, values });
    }

    /// Forgets a key. The last one takes its number.
    pub(crate) fn remove(&mut self, key: &str, heap: &Heap) {
        let Ok(number) = self.seek(key.as_bytes(), heap) else { return };
        let end = self.entries.len() - 1;
        let (gone, last) = (self.entries[number].clone(), self.entries[end].clone());
        self.len -= usize::from(!gone.values.is_empty());
        if !self.index.is_empty() {
            self.index.remove(gone.hash, number as u32);
            if number < end {
                self.index.remove(last.hash, end as u32);
                self.index.insert(last.hash, number as u32);
            }
        }
        *self.entries.get_mut(number) = last;
        self.entries.truncate(end);
    }

    /// All keys that ever had a value, in no order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// All keys that ever had a value, in the order of their bytes.
    pub(crate) fn sorted(&self, heap: &Heap) -> Vec<&Entry> {
        let mut entries: Vec<(u64, &[u8], &Entry)> =
            self.entries().map(|entry| (start(heap.get(entry.key)), heap.get(entry.key), entry)).collect();
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.cmp(b.1)));
        entries.into_iter().map(|(_, _, entry)| entry).collect()
    }
}
