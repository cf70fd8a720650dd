//! Buffer for arguments and results of JavaScript.

use std::ops::{Deref, DerefMut};

/// Alignment of the buffer to a cache line: browsers copy to unaligned addresses byte by byte, which takes fifty times as long.
const ALIGN: usize = 64;

/// The bytes from the first aligned address on.
pub(crate) struct SharedBuffer {
    memory: Vec<u8>,
    start: usize,
}

impl SharedBuffer {
    pub(crate) const fn new() -> SharedBuffer {
        SharedBuffer { memory: Vec::new(), start: 0 }
    }

    /// At least `len` bytes. If there were fewer, the buffer is moved and zeroed.
    pub(crate) fn reserve(&mut self, len: usize) {
        if self.len() < len {
            // Freed before the larger one is allocated.
            self.memory = Vec::new();
            self.memory = vec![0; len + ALIGN];
            self.start = self.memory.as_ptr().align_offset(ALIGN);
        }
    }

    /// Writes bytes to the beginning; returns their number.
    pub(crate) fn leave(&mut self, bytes: &[u8]) -> usize {
        self.reserve(bytes.len());
        self[..bytes.len()].copy_from_slice(bytes);
        bytes.len()
    }
}

impl Deref for SharedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..]
    }
}

impl DerefMut for SharedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..]
    }
}
