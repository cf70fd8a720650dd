//! A map object: its keys and their visible values. Earlier values are in the log.

use std::hash::{BuildHasher, Hasher};
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use hashbrown::DefaultHashBuilder;

use crate::store::memory::byte_arena::{ByteArena, Bytes};
use crate::store::memory::cow_vec::CowVec;
use crate::store::memory::index::Index;
use crate::store::memory::keys::sort_by_bytes;
use crate::store::register::Values;
use crate::types::KeyOpIdx;

/// Maps of at most this many keys are searched linearly.
const SMALL: usize = 12;

/// One key.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    hash: u32,
    pub(crate) key: Bytes,
    /// Newest operation on the key in the log.
    pub(crate) last: Option<KeyOpIdx>,
    pub(crate) values: Values,
}

impl Entry {
    #[inline]
    fn is(&self, key: &[u8], heap: &ByteArena) -> bool {
        self.key.len as usize == key.len() && same_bytes(heap.get(self.key), key)
    }
}

/// Compares two keys of equal length. Most are too short for a function call to pay off.
#[inline]
fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    let word = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
    let half = |bytes: &[u8; 4]| u32::from_ne_bytes(*bytes);
    match (a.first_chunk(), b.first_chunk(), a.last_chunk(), b.last_chunk()) {
        (Some(x), Some(y), Some(v), Some(w)) if a.len() <= 16 => word(x) == word(y) && word(v) == word(w),
        _ => match (a.first_chunk(), b.first_chunk(), a.last_chunk(), b.last_chunk()) {
            (Some(x), Some(y), Some(v), Some(w)) if a.len() < 8 => half(x) == half(y) && half(v) == half(w),
            _ => a == b,
        },
    }
}

/// Map object. A lookup costs O(1), independent of the key's history.
#[derive(Clone, Debug, Default)]
pub(crate) struct Map {
    /// All keys that ever had a value, in order of creation.
    entries: CowVec<Entry>,
    /// Index of the entries by key hash; empty for small maps.
    index: Index,
    /// Number of keys with a visible value.
    len: usize,
    /// Sorted keys, built on first request; cleared when a key appears or disappears.
    order: OnceLock<Arc<Order>>,
}

/// The keys with values, in the order of their bytes.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// The keys, concatenated, so that an iteration reads memory sequentially.
    text: String,
    /// End of each key in `text`, and the index of its entry.
    ends: Vec<(u32, u32)>,
}

impl Order {
    fn key(&self, at: usize) -> &str {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before].0);
        &self.text[start as usize..self.ends[at].0 as usize]
    }

    /// Number of keys before the first one for which `before` is false. `before` must be monotonic.
    fn partition_point(&self, before: impl Fn(&str) -> bool) -> usize {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if before(self.key(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The keys in a range, with the indexes of their entries.
    pub(crate) fn range(&self, from: Bound<&str>, to: Bound<&str>) -> impl Iterator<Item = (&str, usize)> {
        let low = match from {
            Bound::Unbounded => 0,
            Bound::Included(from) => self.partition_point(|key| key < from),
            Bound::Excluded(from) => self.partition_point(|key| key <= from),
        };
        let high = match to {
            Bound::Unbounded => self.ends.len(),
            Bound::Included(to) => self.partition_point(|key| key <= to),
            Bound::Excluded(to) => self.partition_point(|key| key < to),
        };
        (low..high).map(|at| (self.key(at), self.ends[at].1 as usize))
    }

    /// All keys, with the indexes of their entries.
    #[cfg(feature = "json")]
    #[inline]
    pub(crate) fn entries(&self) -> OrderedEntries<'_> {
        OrderedEntries { keys: self.keys() }
    }

    /// All keys.
    #[inline]
    pub(crate) fn keys(&self) -> OrderedKeys<'_> {
        OrderedKeys { text: &self.text, ends: self.ends.iter(), start: 0 }
    }
}

/// See [`Order::entries`].
#[cfg(feature = "json")]
#[derive(Clone, Debug)]
pub(crate) struct OrderedEntries<'a> {
    keys: OrderedKeys<'a>,
}

#[cfg(feature = "json")]
impl<'a> Iterator for OrderedEntries<'a> {
    type Item = (&'a str, usize);

    #[inline]
    fn next(&mut self) -> Option<(&'a str, usize)> {
        let number = self.keys.ends.as_slice().first()?.1 as usize;
        Some((self.keys.next()?, number))
    }
}

/// See [`Order::keys`].
#[derive(Clone, Debug)]
pub(crate) struct OrderedKeys<'a> {
    /// The remaining keys.
    text: &'a str,
    ends: std::slice::Iter<'a, (u32, u32)>,
    start: u32,
}

impl<'a> Iterator for OrderedKeys<'a> {
    type Item = &'a str;

    #[inline]
    fn next(&mut self) -> Option<&'a str> {
        let end = self.ends.next()?.0;
        let (key, rest) = self.text.split_at((end - self.start) as usize);
        (self.text, self.start) = (rest, end);
        Some(key)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ends.size_hint()
    }
}

/// Hash of a key. Keys that differ only in the last three bits of their last byte, such as numbered keys, get hashes
/// that differ only in the last three bits. The index then stores them together: an iteration in numeric order finds
/// eight of them per cache line.
fn hash_of(key: &[u8]) -> u32 {
    static HASHER: OnceLock<DefaultHashBuilder> = OnceLock::new();
    let mut hasher = HASHER.get_or_init(DefaultHashBuilder::default).build_hasher();
    let (last, before) = key.split_last().unwrap_or((&0, &[]));
    hasher.write(before);
    hasher.write_u8(last & !7);
    hasher.finish() as u32 ^ u32::from(last & 7)
}

impl Map {
    /// Number of keys with a value.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The index of a key's entry, or the key's hash if it is absent.
    #[inline]
    fn seek(&self, key: &[u8], heap: &ByteArena) -> Result<usize, u32> {
        if self.index.is_empty() {
            return self.entries.iter().position(|entry| entry.is(key, heap)).ok_or_else(|| hash_of(key));
        }
        let hash = hash_of(key);
        let found = self.index.find(hash, |number| self.entries[number as usize].is(key, heap));
        found.map(|number| number as usize).ok_or(hash)
    }

    #[inline]
    pub(crate) fn get(&self, key: &str, heap: &ByteArena) -> Option<&Entry> {
        let key = key.as_bytes();
        if self.index.is_empty() {
            return self.entries.iter().find(|entry| entry.is(key, heap));
        }
        self.index.find_as(hash_of(key), |number| {
            Some(&self.entries[number as usize]).filter(|entry| entry.is(key, heap))
        })
    }

    /// Changes the entry of a key. Creates it without values if it is absent, and adds the key to the heap.
    #[inline]
    pub(crate) fn update<R>(
        &mut self,
        key: &str,
        heap: &mut ByteArena,
        change: impl FnOnce(&mut Entry) -> R,
    ) -> R {
        let number = self.seek(key.as_bytes(), heap).unwrap_or_else(|hash| {
            // A file may share the first key of a map with the last key of the map before it, but not the others. Of
            // maps with several keys, at least half of the key bytes are in the file.
            heap.pay(if self.entries.len() == 0 { 0 } else { key.len() / 2 });
            self.add(Entry { hash, key: heap.name(key), last: None, values: Values::new() })
        });
        let entry = self.entries.get_mut(number);
        let before = usize::from(!entry.values.is_empty());
        let result = change(entry);
        let after = usize::from(!entry.values.is_empty());
        if before != after {
            self.len = self.len + after - before;
            self.order.take();
        }
        result
    }

    /// Appends an entry and returns its index.
    fn add(&mut self, entry: Entry) -> usize {
        let number = self.entries.len();
        if number == SMALL || !self.index.is_empty() {
            self.index.push(entry.hash, number as u32, self.entries.iter().map(|entry| entry.hash));
        }
        self.entries.push(entry);
        number
    }

    /// A map of these keys, all different, each with its newest operation and its values.
    pub(crate) fn from_entries(
        keys: impl Iterator<Item = (Bytes, Option<KeyOpIdx>, Values)>,
        heap: &ByteArena,
    ) -> Self {
        let mut map = Self::default();
        map.entries.expect(keys.size_hint().0);
        for (key, last, values) in keys {
            map.len += usize::from(!values.is_empty());
            map.entries.push(Entry { hash: hash_of(heap.get(key)), key, last, values });
        }
        if let Some(last) = map.entries.last().filter(|_| map.entries.len() > SMALL) {
            let before = map.entries.len() - 1;
            // The table is sized for all entries.
            map.index.push(last.hash, before as u32, map.entries.iter().take(before).map(|entry| entry.hash));
        }
        map
    }

    /// Removes a key. The last entry takes its index.
    pub(crate) fn remove(&mut self, key: &str, heap: &ByteArena) {
        let Ok(number) = self.seek(key.as_bytes(), heap) else { return };
        let end = self.entries.len() - 1;
        let (gone, last) = (self.entries[number].clone(), self.entries[end].clone());
        self.len -= usize::from(!gone.values.is_empty());
        self.order.take();
        if !self.index.is_empty() {
            self.index.remove(gone.hash, number as u32);
            if number < end {
                self.index.renumber(last.hash, end as u32, number as u32);
            }
        }
        *self.entries.get_mut(number) = last;
        self.entries.truncate(end);
    }

    /// All keys that ever had a value, in no order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Returns a value that depends on [`Self::order`] and the first entry.
    #[cfg(feature = "json")]
    #[inline]
    pub(crate) fn glance(&self) -> usize {
        let order = self.order.get().map_or(0, |order| order.ends.len() + order.text.len());
        order + self.entries.last().map_or(0, |entry| entry.key.len as usize)
    }

    pub(crate) fn entry(&self, number: usize) -> &Entry {
        &self.entries[number]
    }

    /// The keys with values, in the order of their bytes. Cached until a key appears or disappears.
    pub(crate) fn order(&self, heap: &ByteArena) -> &Order {
        if let Some(order) = self.order.get() {
            return order;
        }
        let visible = (0..).zip(self.entries()).filter(|(_, entry)| !entry.values.is_empty());
        let mut keyed: Vec<(Bytes, u32)> = visible.map(|(number, entry)| (entry.key, number)).collect();
        sort_by_bytes(&mut keyed, |(key, _)| heap.get(*key));
        let len = keyed.iter().map(|(key, _)| key.len as usize).sum();
        let (mut text, mut ends) = (String::with_capacity(len), Vec::with_capacity(keyed.len()));
        for (key, number) in keyed {
            text.push_str(heap.text(key));
            ends.push((text.len() as u32, number));
        }
        // Another thread may have built the same order first; no lock is held.
        let _ = self.order.set(Arc::new(Order { text, ends }));
        self.order.get().expect("it was just set")
    }

    /// All keys that ever had a value, in the order of their bytes. Keys loaded from a file are already in this order.
    pub(crate) fn sorted(&self, heap: &ByteArena) -> Vec<&Entry> {
        let bytes = |entry: &&Entry| heap.get(entry.key);
        let mut entries: Vec<&Entry> = self.entries().collect();
        let before = entries.windows(2).take_while(|pair| bytes(&pair[0]) < bytes(&pair[1])).count() + 1;
        let came = entries.len().saturating_sub(before);
        if came > before && self.len == entries.len() {
            return self.order(heap).ends.iter().map(|(_, number)| self.entry(*number as usize)).collect();
        }
        if came > 0 {
            // Merges two sorted runs instead of sorting everything.
            sort_by_bytes(&mut entries[before..], bytes);
            entries.sort_by(|a, b| bytes(a).cmp(bytes(b)));
        }
        entries
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::ops::RangeBounds as _;

    use super::*;
    use crate::store::log::value::StoredValue;
    use crate::store::register::Visible;
    use crate::types::Number as _;
    use crate::types::{ActorIdx, OpId};

    #[test]
    fn comparison_covers_every_byte() {
        for len in 0..40 {
            let mut bytes = vec![7; len];
            let same = bytes.clone();
            assert!(same_bytes(&bytes, &same));
            for at in 0..len {
                bytes[at] ^= 1;
                assert!(!same_bytes(&bytes, &same), "{len} {at}");
                bytes[at] ^= 1;
            }
        }
    }

    #[test]
    fn order_reflects_added_and_removed_keys() {
        let (mut map, mut heap) = (Map::default(), ByteArena::default());
        let mut there = BTreeSet::new();
        let value = Visible { id: OpId::new(1, ActorIdx::from_u32(0)), val: StoredValue::NULL, added: 0 };
        for step in 0..2000_u32 {
            let key = (step.wrapping_mul(0x9e37_79b9) >> 22).to_string();
            match step % 7 {
                0 => map.remove(&key, &heap),
                1 | 2 => map.update(&key, &mut heap, |entry| entry.values.clear()),
                _ => map.update(&key, &mut heap, |entry| entry.values = smallvec::smallvec![value]),
            }
            if step % 7 < 3 {
                there.remove(&key)
            } else {
                there.insert(key)
            };
            if step % 3 > 0 {
                continue;
            }
            assert!(map.order(&heap).keys().eq(there.iter().map(String::as_str)));
            let (from, to) = ((step % 900).to_string(), (step % 777).to_string());
            for range in [
                (Bound::Included(&*from), Bound::Excluded(&*to)),
                (Bound::Excluded(&*from), Bound::Included(&*to)),
                (Bound::Unbounded, Bound::Included(&*to)),
            ] {
                let expected = there.iter().map(String::as_str).filter(|key| range.contains(key));
                let found: Vec<_> = map.order(&heap).range(range.0, range.1).collect();
                assert!(found.iter().map(|(key, _)| *key).eq(expected), "{range:?}");
                assert!(found.iter().all(|(key, number)| heap.text(map.entry(*number).key) == *key));
            }
        }
    }

    #[test]
    fn keys_are_found_after_insertions_and_removals() {
        let (mut map, mut heap) = (Map::default(), ByteArena::default());
        let name = |i: usize| format!("{}{}", if i.is_multiple_of(3) { "key" } else { "" }, i);
        let mut there = vec![];
        for round in 0..6 {
            for i in 0..300 * round {
                let key = name(i);
                map.update(&key, &mut heap, |entry| entry.last = Some(KeyOpIdx::new(i)));
                there.push(key);
            }
            let remaining = there.len() / 4;
            for key in there.split_off(remaining) {
                if !there.contains(&key) {
                    map.remove(&key, &heap);
                    assert!(map.get(&key, &heap).is_none());
                }
            }
            there.sort();
            there.dedup();
            assert!(there.iter().all(|key| {
                map.get(key, &heap)
                    .is_some_and(|entry| entry.last.is_some_and(|last| name(last.index()) == *key))
            }));
            // None of these keys has a value.
            assert_eq!(map.order(&heap).keys().count(), 0);
            let sorted = map.sorted(&heap);
            assert!(sorted.iter().map(|entry| heap.text(entry.key)).eq(there.iter().map(String::as_str)));
        }
    }

    #[test]
    fn new_keys_are_merged_into_loaded_keys() {
        let value = Visible { id: OpId::new(1, ActorIdx::from_u32(0)), val: StoredValue::NULL, added: 0 };
        for came in 0..20 {
            let (mut map, mut heap) = (Map::default(), ByteArena::default());
            for n in 0..10 + came {
                let key = if n < 10 { format!("{n}") } else { format!("{}", n * 7 % 31) };
                map.update(&key, &mut heap, |entry| entry.values = smallvec::smallvec![value]);
            }
            for hidden in [false, true] {
                if hidden {
                    map.update("3", &mut heap, |entry| entry.values.clear());
                }
                let sorted = map.sorted(&heap);
                assert_eq!(sorted.len(), map.entries().count());
                assert!(sorted.is_sorted_by(|a, b| heap.get(a.key) < heap.get(b.key)), "{came} {hidden}");
            }
        }
    }
}
