//! [`State`]: a hasher as plain data.

use super::{Chunk, Hasher, Key, MAX_DEPTH};
use crate::blake3::kernel::Cv;
use crate::blake3::mode::Mode;
use crate::blake3::{BLOCK_LEN, OutputReader, Plan};
use arrayvec::ArrayVec;
use core::fmt;

/// A hasher in at most 1,904 bytes that may be copied and discarded without a destructor: for bindings whose
/// C callers own the memory.
///
/// Each call converts it to a [`Hasher`], which costs about ten nanoseconds. It does not wipe itself: a
/// caller with a key wipes it, and makes calls inside [`forgetting`](crate::blake3::hazmat::forgetting).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct State {
    key: Cv,
    cv: Cv,
    counter: u64,
    block: [u8; BLOCK_LEN],
    flags: u8,
    block_len: u8,
    compressed: u8,
    depth: u8,
    stack: [Cv; MAX_DEPTH + 1],
}

impl State {
    /// The state before any input.
    pub fn new(mode: &Mode<'_>) -> State {
        let Key { words, flags } = mode.key();
        State {
            key: words,
            cv: words,
            counter: 0,
            block: [0; BLOCK_LEN],
            flags,
            block_len: 0,
            compressed: 0,
            depth: 0,
            stack: [[0; 8]; MAX_DEPTH + 1],
        }
    }

    /// Does it hold a key, or material for deriving one?
    pub fn is_keyed(&self) -> bool {
        self.flags != 0
    }

    /// Adds input, on the calling thread.
    pub fn update(&mut self, input: &[u8]) {
        let mut hasher = self.hasher();
        hasher.update(input);
        self.take(&hasher);
    }

    /// Adds input, with other threads where that is faster: see [`Hasher::update_parallel`].
    #[cfg(feature = "std")]
    pub fn update_parallel(&mut self, input: &[u8]) {
        let mut hasher = self.hasher();
        hasher.update_parallel(input);
        self.take(&hasher);
    }

    #[inline]
    fn take(&mut self, hasher: &Hasher) {
        self.cv = hasher.chunk.cv;
        self.counter = hasher.chunk.counter;
        self.block = hasher.chunk.block;
        (self.block_len, self.compressed) = (hasher.chunk.block_len, hasher.chunk.compressed);
        self.depth = hasher.stack.len() as u8;
        self.stack[..hasher.stack.len()].copy_from_slice(&hasher.stack);
    }

    /// Output of any length for the input so far. More input may follow.
    pub fn finalize_xof(&self) -> OutputReader {
        self.hasher().finalize_xof()
    }

    /// The output from byte `seek` on. It continues beyond byte 2^64 - 1 with the next block numbers, as in
    /// the official implementation in C.
    pub fn finalize_seek(&self, seek: u64, out: &mut [u8]) {
        self.hasher().finalize_xof().fill_from(seek, out);
    }

    /// Returns to the state before any input, in the same mode.
    pub fn reset(&mut self) {
        self.cv = self.key;
        self.block = [0; BLOCK_LEN];
        (self.counter, self.block_len, self.compressed, self.depth) = (0, 0, 0, 0);
    }

    #[inline]
    fn hasher(&self) -> Hasher {
        let State { cv, counter, block, block_len, compressed, .. } = *self;
        let mut stack = ArrayVec::new();
        stack.extend(self.stack[..usize::from(self.depth)].iter().copied());
        Hasher {
            key: Key { words: self.key, flags: self.flags },
            plan: Plan::host(),
            chunk: Chunk { cv, counter, block, block_len, compressed },
            stack,
            first_chunk: 0,
        }
    }
}

/// Omits the contents, which may be secret.
impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use hashmill_testkit::paint;

    #[test]
    fn state_equals_hasher_for_any_pieces() {
        assert!(size_of::<State>() <= 1904 && !core::mem::needs_drop::<State>());
        let key = [9; 32];
        for mode in [Mode::Hash, Mode::KeyedHash(&key), Mode::DeriveKeyMaterial(&key)] {
            let mut state = State::new(&mode);
            for _ in 0..2 {
                let mut hasher = Hasher::with_mode(&mode);
                for len in [0, 1, 63, 64, 65, 1023, 1024, 1025, 3, 5000, 70_000, 2048, 31] {
                    let input = paint(len);
                    hasher.update(&input);
                    let mut same = state;
                    same.update_parallel(&input);
                    state.update(&input);
                    assert_eq!(same.hasher().finalize(), hasher.finalize(), "{mode:?} {len}");
                    let copy = state;
                    let (mut given, mut expected) = ([0; 150], [0; 150]);
                    copy.finalize_xof().fill(&mut given);
                    hasher.finalize_xof().fill(&mut expected);
                    assert_eq!(given, expected, "{mode:?} {len}");
                    for seek in [7, 64, 6401, u64::MAX - 150] {
                        copy.finalize_seek(seek, &mut given);
                        let mut reader = hasher.finalize_xof();
                        reader.set_position(seek);
                        reader.fill(&mut expected);
                        assert_eq!(given, expected, "{mode:?} {len} {seek}");
                    }
                    // The end of a reader's output: one byte more, and blocks behind it.
                    copy.finalize_seek(u64::MAX - 149, &mut expected);
                    assert_eq!(given[1..], expected[..149], "{mode:?} {len}");
                    let mut behind = [0; 150];
                    copy.finalize_seek(u64::MAX - 20, &mut behind);
                    assert_eq!(behind[..21], expected[129..], "{mode:?} {len}");
                    assert_ne!(
                        behind[21..53],
                        hasher.finalize().as_bytes()[..],
                        "it does not wrap to the first block"
                    );
                }
                state.reset();
            }
        }
    }
}
