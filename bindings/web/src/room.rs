//! The room: memory in which JavaScript leaves what goes in and finds what comes out.

use std::ops::{Deref, DerefMut};

/// Where a cache's line begins, begins the room: browsers copy to other places byte by byte, which takes fifty times as long.
const ALIGN: usize = 64;

/// Bytes from an aligned place on.
pub(crate) struct Room {
    memory: Vec<u8>,
    start: usize,
}

impl Room {
    pub(crate) const fn new() -> Room {
        Room { memory: Vec::new(), start: 0 }
    }

    /// At least `len` bytes. If there were fewer, they are elsewhere now, and zero.
    pub(crate) fn reserve(&mut self, len: usize) {
        if self.len() < len {
            // Before the larger one is taken.
            self.memory = Vec::new();
            self.memory = vec![0; len + ALIGN];
            self.start = self.memory.as_ptr().align_offset(ALIGN);
        }
    }

    /// Leaves bytes at the beginning; gives their number.
    pub(crate) fn leave(&mut self, bytes: &[u8]) -> usize {
        self.reserve(bytes.len());
        self[..bytes.len()].copy_from_slice(bytes);
        bytes.len()
    }
}

impl Deref for Room {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..]
    }
}

impl DerefMut for Room {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..]
    }
}
