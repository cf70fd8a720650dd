//! [`BufferedHasher`]: a hasher with an input buffer for small pieces.

use crate::blake3::{CHUNK_LEN, Hash, Hasher, OutputReader};
use crate::stack_wipe;
use core::fmt;
use zeroize::Zeroize;

/// Sixteen chunks: one full pass of the widest kernel.
const GATHER_LEN: usize = 16 * CHUNK_LEN;

/// A [`Hasher`] for many small pieces.
///
/// A plain `Hasher` must compress a chunk alone as soon as the next begins, at a seventh of the speed of
/// sixteen together. This one first collects sixteen. The price is 16 KiB of memory in the value itself and a
/// copy of every byte that arrives in a piece smaller than that; larger pieces are not copied.
///
/// ```
/// use hashmill_hash::blake3::{BufferedHasher, Hasher, hash};
///
/// let mut hasher = BufferedHasher::new(Hasher::new());
/// for line in ["one\n", "two\n"] {
///     hasher.update(line.as_bytes());
/// }
/// assert_eq!(hasher.finalize(), hash(b"one\ntwo\n"));
/// ```
#[derive(Clone)]
pub struct BufferedHasher {
    hasher: Hasher,
    buffered_len: usize,
    buffer: [u8; GATHER_LEN],
}

impl BufferedHasher {
    /// Adds a buffer to `hasher`.
    pub fn new(hasher: Hasher) -> BufferedHasher {
        BufferedHasher { hasher, buffered_len: 0, buffer: [0; GATHER_LEN] }
    }

    /// Adds input.
    #[inline]
    pub fn update(&mut self, input: &[u8]) -> &mut BufferedHasher {
        if input.len() < GATHER_LEN - self.buffered_len {
            self.buffer[self.buffered_len..self.buffered_len + input.len()].copy_from_slice(input);
            self.buffered_len += input.len();
            return self;
        }
        stack_wipe::below(|| self.overflow(input));
        self
    }

    #[cold]
    #[inline(never)]
    fn overflow(&mut self, input: &[u8]) {
        let (now, mut later) = input.split_at(GATHER_LEN - self.buffered_len);
        if self.buffered_len > 0 {
            self.buffer[self.buffered_len..].copy_from_slice(now);
            self.hasher.update(&self.buffer);
        } else {
            later = input;
        }
        let direct = later.len() / GATHER_LEN * GATHER_LEN;
        let (direct, rest) = later.split_at(direct);
        self.hasher.update(direct);
        self.buffer[..rest.len()].copy_from_slice(rest);
        self.buffered_len = rest.len();
    }

    /// The number of bytes of input so far.
    pub fn count(&self) -> u64 {
        self.hasher.count() + self.buffered_len as u64
    }

    /// Returns to the state before any input, in the same mode.
    pub fn reset(&mut self) -> &mut BufferedHasher {
        stack_wipe::below(|| self.start_anew());
        self.forget_calls();
        self
    }

    /// Never inlined: its copies must be below the caller's frame. Likewise
    /// [`flushed`](BufferedHasher::flushed).
    #[inline(never)]
    fn start_anew(&mut self) {
        self.hasher.reset();
        self.buffered_len = 0;
    }

    /// The digest of the input so far. More input may follow.
    pub fn finalize(&self) -> Hash {
        let hash = stack_wipe::below(|| self.flushed(Hasher::finalize));
        self.forget_calls();
        hash
    }

    /// Output of any length for the input so far. More input may follow.
    pub fn finalize_xof(&self) -> OutputReader {
        let reader = stack_wipe::below(|| self.flushed(Hasher::finalize_xof));
        self.forget_calls();
        reader
    }

    /// Applies `finish` to the hasher with all input.
    #[inline(never)]
    fn flushed<R>(&self, finish: impl FnOnce(&Hasher) -> R) -> R {
        let mut hasher = self.hasher.clone();
        hasher.update(&self.buffer[..self.buffered_len]);
        finish(&hasher)
    }

    /// Wipes the copies of the key that calls have left on the stack.
    fn forget_calls(&self) {
        if self.hasher.is_keyed() {
            stack_wipe::wipe();
        }
    }
}

impl fmt::Debug for BufferedHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferedHasher").field("count", &self.count()).finish_non_exhaustive()
    }
}

impl Zeroize for BufferedHasher {
    fn zeroize(&mut self) {
        self.hasher.zeroize();
        self.buffer.zeroize();
        self.buffered_len.zeroize();
    }
}

impl Drop for BufferedHasher {
    fn drop(&mut self) {
        if self.hasher.is_keyed() {
            self.buffer.zeroize();
            self.forget_calls();
        }
    }
}

#[cfg(feature = "std")]
impl std::io::Write for BufferedHasher {
    fn write(&mut self, input: &[u8]) -> std::io::Result<usize> {
        self.update(input);
        Ok(input.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
