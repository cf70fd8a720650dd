//! Byte arena of a document: keys, texts, values and messages. Bytes are written once and addressed by a 32-bit number.

use std::sync::Arc;

/// Addresses are grouped in slots of this many bytes; every chunk starts at one.
const SLOT: usize = 1 << 14;

/// A range of the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Bytes {
    pub(crate) at: u32,
    pub(crate) len: u32,
}

#[derive(Clone, Debug)]
struct Slot {
    chunk: Arc<Vec<u8>>,
    base: u32,
}

/// Append-only bytes in shared chunks. Bytes appended in one call never cross chunks.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByteArena {
    slots: Vec<Slot>,
    tail: Vec<u8>,
    /// The name appended last.
    name: Bytes,
    /// See [`Self::paying`].
    paying: u32,
    /// Of the paying bytes, those of keys that were read from a file.
    read: u32,
}

/// Length of a heap at some point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArenaEnd {
    slots: u32,
    tail: u32,
    name: Bytes,
    paying: u32,
}

/// May a chunk start at `at`? Bytes before and after such an address may be in different chunks.
pub(crate) fn starts_chunk(at: u32) -> bool {
    (at as usize).is_multiple_of(SLOT)
}

/// All 2^32 addresses are in use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HeapFull;

impl ByteArena {
    /// Up to this length there is certainly room.
    pub(crate) const SURE: usize = u32::MAX as usize - 2 * SLOT;

    fn tail_base(&self) -> usize {
        self.slots.len() * SLOT
    }

    /// Upper bound of the number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.tail_base() + self.tail.len()
    }

    /// Number of bytes that are certainly in every file of the document: values, and adopted chunks. A shared name is
    /// stored once in a file, and gaps are not stored.
    pub(crate) fn paying(&self) -> usize {
        self.paying as usize
    }

    /// Counts bytes of names that are in every file, too.
    #[inline]
    pub(crate) fn pay(&mut self, bytes: usize) {
        self.paying = self.paying.saturating_add(bytes as u32);
    }

    /// Sets how many of the paying bytes are keys read from a file.
    pub(crate) fn set_read(&mut self, bytes: usize) {
        self.read = bytes as u32;
    }

    /// Subtracts bytes of values and keys that will be in no file. When keys are removed, the remaining keys may share
    /// one entry of a file, so the keys read from a file no longer count.
    pub(crate) fn take_payment(&mut self, bytes: usize, keys: bool) {
        let read = if keys { std::mem::take(&mut self.read) } else { 0 };
        self.paying = self.paying.saturating_sub(read).saturating_sub(bytes as u32);
    }

    /// Is there room for `more` bytes?
    pub(crate) fn room(&self, more: usize) -> Result<(), HeapFull> {
        // A new chunk may waste the rest of a slot.
        let needed = self.tail_base().checked_add(2 * SLOT).and_then(|used| used.checked_add(more));
        if needed.is_some_and(|needed| needed <= u32::MAX as usize) { Ok(()) } else { Err(HeapFull) }
    }

    /// Appends bytes that [`Self::room`] has accepted.
    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Bytes {
        self.pay(bytes.len());
        self.append(bytes)
    }

    #[inline]
    fn append(&mut self, bytes: &[u8]) -> Bytes {
        if self.tail.len() + bytes.len() > self.tail.capacity().min(SLOT) {
            return self.append_growing(bytes);
        }
        let at = (self.tail_base() + self.tail.len()) as u32;
        // Fast path for a keystroke, without a bulk copy.
        match bytes {
            [byte] => self.tail.push(*byte),
            _ => self.tail.extend_from_slice(bytes),
        }
        Bytes { at, len: bytes.len() as u32 }
    }

    #[cold]
    fn append_growing(&mut self, bytes: &[u8]) -> Bytes {
        if self.tail.len() + bytes.len() > SLOT {
            self.seal();
            if bytes.len() > SLOT {
                return self.add_chunk(&Arc::new(bytes.to_vec()));
            }
        }
        if self.tail.capacity() == 0 && !self.slots.is_empty() {
            self.tail.reserve_exact(SLOT);
        }
        let at = (self.tail_base() + self.tail.len()) as u32;
        self.tail.extend_from_slice(bytes);
        Bytes { at, len: bytes.len() as u32 }
    }

    /// Appends a key, the name of a mark or a message, unless it equals the previous one: a column stores a million
    /// equal names in a few bytes.
    pub(crate) fn name(&mut self, name: &str) -> Bytes {
        if self.get(self.name) != name.as_bytes() {
            self.name = self.append(name.as_bytes());
        }
        self.name
    }

    /// Adds a block of bytes as one chunk.
    pub(crate) fn adopt(&mut self, chunk: &Arc<Vec<u8>>) -> Bytes {
        self.pay(chunk.len());
        self.add_chunk(chunk)
    }

    fn add_chunk(&mut self, chunk: &Arc<Vec<u8>>) -> Bytes {
        self.seal();
        let (base, len) = (self.tail_base() as u32, chunk.len());
        for _ in 0..len.div_ceil(SLOT) {
            self.slots.push(Slot { chunk: Arc::clone(chunk), base });
        }
        Bytes { at: base, len: len as u32 }
    }

    #[inline]
    pub(crate) fn end(&self) -> ArenaEnd {
        let (slots, tail) = (self.slots.len() as u32, self.tail.len() as u32);
        ArenaEnd { slots, tail, name: self.name, paying: self.paying }
    }

    /// Removes everything after `mark`.
    pub(crate) fn cut(&mut self, mark: ArenaEnd) {
        let (slots, tail) = (mark.slots as usize, mark.tail as usize);
        if self.slots.len() > slots {
            // A tail that was not empty became the chunk of the next slot.
            let sealed = (tail > 0).then(|| Arc::clone(&self.slots[slots].chunk));
            self.slots.truncate(slots);
            self.tail = sealed.map_or_else(Vec::new, Arc::unwrap_or_clone);
        }
        self.tail.truncate(tail);
        (self.name, self.paying) = (mark.name, mark.paying);
    }

    fn seal(&mut self) {
        if !self.tail.is_empty() {
            let base = self.tail_base() as u32;
            let chunk = Arc::new(std::mem::take(&mut self.tail));
            self.slots.push(Slot { chunk, base });
        }
    }

    #[inline]
    pub(crate) fn get(&self, bytes: Bytes) -> &[u8] {
        let (at, len) = (bytes.at as usize, bytes.len as usize);
        match self.slots.get(at / SLOT) {
            Some(slot) => &slot.chunk[at - slot.base as usize..][..len],
            // An empty range at the very end of the heap.
            None if len == 0 => &[],
            None => &self.tail[at - self.tail_base()..][..len],
        }
    }

    /// Bytes that were checked as UTF-8 when they were added.
    #[inline]
    pub(crate) fn text(&self, bytes: Bytes) -> &str {
        std::str::from_utf8(self.get(bytes)).expect("text was checked when it was added")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_appended_bytes() {
        let mut heap = ByteArena::default();
        let mut slices = vec![];
        for i in 0..400usize {
            let bytes = vec![i as u8; (i * i) % 40_000];
            let at = heap.push(&bytes);
            slices.push((at, bytes));
        }
        for (at, bytes) in &slices {
            assert_eq!(heap.get(*at), bytes);
        }
        let last = heap.push(b"abc");
        assert_eq!(heap.text(last), "abc");
    }

    #[test]
    fn cut_removes_bytes_after_a_mark() {
        for before in [0, 1, 300, SLOT - 1, SLOT, SLOT + 1, 3 * SLOT] {
            let mut heap = ByteArena::default();
            let first = (before > 0).then(|| heap.push(&vec![7; before]));
            let name = heap.name("name");
            let (mark, len, other) = (heap.end(), heap.len(), heap.clone());
            for more in [0, 1, 300, SLOT - 1, SLOT, SLOT + 1, 3 * SLOT] {
                heap.push(&vec![8; more]);
                heap.name("another name");
                heap.push(&vec![9; more]);
                heap.cut(mark);
                let left = (heap.len(), heap.paying(), heap.name("name"));
                assert_eq!(left, (len, before, name), "{before} and {more}");
            }
            let last = heap.push(b"last");
            assert_eq!((last.at as usize, heap.text(last), heap.text(name)), (len, "last", "name"));
            assert!(first.is_none_or(|first| heap.get(first) == vec![7; before]));
            assert_eq!(other.text(name), "name");
        }
    }
}
