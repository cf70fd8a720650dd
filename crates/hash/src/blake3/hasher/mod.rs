//! The incremental [`Hasher`].

mod buffered;
#[cfg(feature = "std")]
mod context;
mod state;
#[cfg(feature = "digest")]
mod traits;

pub use buffered::BufferedHasher;
#[cfg(feature = "std")]
pub use context::Context;
pub use state::State;

use super::kernel::{Cv, RunFlags};
use super::lanes::{self, Key};
use super::mode::{self, Mode};
use super::output::Output;
use super::{
    BLOCK_LEN, CHUNK_END, CHUNK_LEN, CHUNK_START, Hash, KEY_LEN, OutputReader, PARENT, Plan, ROOT, tree,
};
use arrayvec::ArrayVec;
use core::fmt;
use zeroize::Zeroize;

/// The tree over 2^64 bytes has 2^54 chunks: at most one unmerged subtree per height.
const MAX_DEPTH: usize = 54;

/// A hash of bytes that arrive in pieces.
///
/// Pieces of 16 KiB and more reach the speed of [`hash`](super::hash); for many small ones see
/// [`BufferedHasher`](super::BufferedHasher).
///
/// ```
/// use hashmill_hash::blake3::{Hasher, hash};
///
/// let mut hasher = Hasher::new();
/// hasher.update(b"some ").update(b"bytes");
/// assert_eq!(hasher.finalize(), hash(b"some bytes"));
/// assert_eq!(hasher.count(), 10);
/// ```
#[derive(Clone)]
pub struct Hasher {
    key: Key,
    plan: Plan,
    /// The current chunk, which may be the last.
    chunk: Chunk,
    /// Unmerged subtrees, the largest first. A subtree is merged only when input follows it: the flags of the
    /// top node must be known before it is compressed.
    stack: ArrayVec<Cv, { MAX_DEPTH + 1 }>,
    /// The number of the first chunk of this hasher, see [`hazmat`](super::hazmat).
    first_chunk: u64,
}

/// A chunk in progress. Its last block is held back, because its flags differ if the chunk ends with it.
#[derive(Clone)]
struct Chunk {
    cv: Cv,
    counter: u64,
    /// Zero behind the first `block_len` bytes.
    block: [u8; BLOCK_LEN],
    block_len: u8,
    compressed: u8,
}

impl Chunk {
    fn new(key: &Key, counter: u64) -> Chunk {
        Chunk { cv: key.words, counter, block: [0; BLOCK_LEN], block_len: 0, compressed: 0 }
    }

    fn len(&self) -> usize {
        usize::from(self.compressed) * BLOCK_LEN + usize::from(self.block_len)
    }

    fn start_flag(&self) -> u8 {
        if self.compressed == 0 { CHUNK_START } else { 0 }
    }

    /// Adds `input`, which fits into the chunk.
    fn update(&mut self, plan: Plan, mode: u8, mut input: &[u8]) {
        if self.block_len > 0 {
            let block_len = usize::from(self.block_len);
            let (now, later) = input.split_at(input.len().min(BLOCK_LEN - block_len));
            self.block[block_len..block_len + now.len()].copy_from_slice(now);
            self.block_len += now.len() as u8;
            input = later;
            if input.is_empty() {
                return;
            }
            let flags = RunFlags::new(mode, self.start_flag(), 0);
            self.cv = lanes::run(plan.one(BLOCK_LEN), &self.cv, &self.block, self.counter, flags);
            self.compressed += 1;
            self.block_len = 0;
        }
        let whole = input.len().saturating_sub(1) / BLOCK_LEN * BLOCK_LEN;
        let (blocks, rest) = input.split_at(whole);
        if !blocks.is_empty() {
            let flags = RunFlags::new(mode, self.start_flag(), 0);
            self.cv = lanes::run(plan.one(blocks.len()), &self.cv, blocks, self.counter, flags);
            self.compressed += (blocks.len() / BLOCK_LEN) as u8;
        }
        match rest.first_chunk() {
            Some(block) => self.block = *block,
            None => {
                self.block = [0; BLOCK_LEN];
                lanes::copy_short(rest, &mut self.block);
            }
        }
        self.block_len = rest.len() as u8;
    }

    #[inline(always)]
    fn output(&self, mode: u8) -> Output {
        let flags = mode | self.start_flag() | CHUNK_END;
        Output { cv: self.cv, block: self.block, len: self.block_len, counter: self.counter, flags }
    }

    /// The root of a single-chunk input, without a copy of its block.
    fn root_words(&self, plan: Plan, mode: u8) -> Cv {
        let flags = RunFlags::new(mode | self.start_flag() | CHUNK_END | ROOT, 0, 0);
        lanes::run(plan.one(BLOCK_LEN), &self.cv, &self.block[..usize::from(self.block_len)], 0, flags)
    }
}

impl Hasher {
    /// A hasher for [`hash`](super::hash).
    pub fn new() -> Hasher {
        Hasher::with_mode(&Mode::Hash)
    }

    /// A hasher for [`keyed_hash`](super::keyed_hash).
    pub fn new_keyed(key: &[u8; KEY_LEN]) -> Hasher {
        Hasher::with_mode(&Mode::KeyedHash(key))
    }

    /// A hasher for [`derive_key`](super::derive_key): update it with the key material.
    pub fn new_derive_key(context: &str) -> Hasher {
        let context_key = mode::hash_derive_key_context(context);
        Hasher::with_mode(&Mode::DeriveKeyMaterial(&context_key))
    }

    /// A hasher for any mode.
    pub fn with_mode(mode: &Mode<'_>) -> Hasher {
        let key = mode.key();
        let chunk = Chunk::new(&key, 0);
        Hasher { key, plan: Plan::host(), chunk, stack: ArrayVec::new(), first_chunk: 0 }
    }

    /// The same hasher with another plan. The digest does not depend on it.
    #[must_use]
    pub fn with_plan(mut self, plan: Plan) -> Hasher {
        self.plan = plan;
        self
    }

    /// Returns to the state before any input, in the same mode.
    pub fn reset(&mut self) -> &mut Hasher {
        self.chunk = Chunk::new(&self.key, 0);
        self.stack.clear();
        self.first_chunk = 0;
        self
    }

    /// The number of bytes of input so far.
    pub fn count(&self) -> u64 {
        // With an offset, the count starts at the offset.
        (self.chunk.counter - self.first_chunk) * CHUNK_LEN as u64 + self.chunk.len() as u64
    }

    /// Adds input, on the calling thread.
    pub fn update(&mut self, input: &[u8]) -> &mut Hasher {
        self.update_by(input, tree::children_of)
    }

    /// Adds input, with other threads of the current rayon pool where that is faster.
    ///
    /// Slower than [`update`](Hasher::update) by at most the cost of waking a thread: the calling thread
    /// works from the start, and does everything that no other thread has taken.
    ///
    /// ```
    /// use hashmill_hash::blake3::{Hasher, hash};
    ///
    /// let input = vec![7; 1 << 20];
    /// assert_eq!(Hasher::new().update_parallel(&input).finalize(), hash(&input));
    /// ```
    #[cfg(feature = "std")]
    pub fn update_parallel(&mut self, input: &[u8]) -> &mut Hasher {
        self.update_by(input, tree::parallel::children_of)
    }

    /// [`update_parallel`](Hasher::update_parallel) under its name in the official crate.
    ///
    /// ```
    /// use hashmill_hash::blake3::Hasher; // was: use blake3::Hasher;
    ///
    /// let digest = Hasher::new().update_rayon(b"some bytes").finalize();
    /// assert_eq!(digest, Hasher::new().update(b"some bytes").finalize());
    /// ```
    #[cfg(feature = "std")]
    pub fn update_rayon(&mut self, input: &[u8]) -> &mut Hasher {
        self.update_parallel(input)
    }

    /// Adds the whole input of `reader`, in pieces of 64 KiB even if the reader returns less at a time.
    ///
    /// # Errors
    /// Errors of the reader, except interruptions, which are retried. The bytes before the error have been
    /// added.
    #[cfg(feature = "std")]
    pub fn update_reader(&mut self, mut reader: impl std::io::Read) -> std::io::Result<&mut Hasher> {
        let mut piece = vec![0; 64 * 1024];
        let mut filled = 0;
        let end = loop {
            match reader.read(&mut piece[filled..]) {
                Ok(0) => break Ok(()),
                Ok(len) => filled += len,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => break Err(error),
            }
            // Not earlier: a few KiB at a time would leave most lanes empty.
            if filled == piece.len() {
                self.update(&piece);
                filled = 0;
            }
        };
        self.update(&piece[..filled]);
        end.map(|()| self)
    }

    /// The digest of the input so far. More input may follow.
    ///
    /// # Panics
    /// If the hasher has an [input offset](super::hazmat::HasherExt::set_input_offset).
    pub fn finalize(&self) -> Hash {
        self.check_root();
        if self.stack.is_empty() {
            return Hash::from_words(&self.chunk.root_words(self.plan, self.key.flags));
        }
        Hash::from_words(&self.output().root_words(self.plan))
    }

    /// Output of any length for the input so far. More input may follow.
    ///
    /// # Panics
    /// If the hasher has an [input offset](super::hazmat::HasherExt::set_input_offset).
    pub fn finalize_xof(&self) -> OutputReader {
        self.check_root();
        if self.stack.is_empty() {
            // By far the most frequent case: output of a key or a seed.
            return OutputReader::new(&self.chunk.output(self.key.flags), self.plan);
        }
        OutputReader::new(&self.output(), self.plan)
    }

    fn check_root(&self) {
        assert_eq!(self.first_chunk, 0, "a hasher with an input offset has no root output");
    }

    /// The chaining value of the input, as part of a larger tree.
    pub(super) fn non_root_words(&self) -> Cv {
        self.output().chaining_words(self.plan)
    }

    pub(super) fn set_first_chunk(&mut self, chunk: u64) {
        assert_eq!(self.count(), 0, "the offset is set before the first input");
        self.first_chunk = chunk;
        self.chunk.counter = chunk;
    }

    /// Is there a key to keep secret?
    pub fn is_keyed(&self) -> bool {
        self.key.flags != 0
    }

    /// Panics if the input exceeds what fits at the offset at which it starts.
    fn check_room(&self, more: usize) {
        let limit = tree::max_subtree_len(self.first_chunk * CHUNK_LEN as u64);
        if let Some(limit) = limit {
            let left = limit - self.count();
            assert!(
                more as u64 <= left,
                "the subtree at this offset has room for {left} more bytes, got {more}"
            );
        }
    }

    /// `children_of` reduces a subtree of more than one chunk to the two values under its top node.
    fn update_by(
        &mut self,
        mut input: &[u8],
        children_of: impl Fn(Plan, &Key, &[u8], u64) -> [Cv; 2],
    ) -> &mut Hasher {
        if self.first_chunk != 0 {
            self.check_room(input.len());
        }
        if self.chunk.len() > 0 {
            let (now, later) = input.split_at(input.len().min(CHUNK_LEN - self.chunk.len()));
            self.chunk.update(self.plan, self.key.flags, now);
            input = later;
            if input.is_empty() {
                return self;
            }
            let cv = self.chunk.output(self.key.flags).chaining_words(self.plan);
            self.push(cv, 1);
        }
        // Whole subtrees, each as large as its place in the tree allows. At least one byte stays for the last
        // chunk.
        while input.len() > CHUNK_LEN {
            let chunks = self.subtree_chunks(input.len());
            let (subtree, later) = input.split_at((chunks as usize) * CHUNK_LEN);
            if chunks == 1 {
                let cv = tree::chunk_cv(self.plan, &self.key, subtree, self.chunk.counter);
                self.push(cv, 1);
            } else {
                let [left, right] = children_of(self.plan, &self.key, subtree, self.chunk.counter);
                self.push(left, chunks / 2);
                self.push(right, chunks / 2);
            }
            input = later;
        }
        if !input.is_empty() {
            self.chunk.update(self.plan, self.key.flags, input);
            // Input follows everything on the stack, so none of it is the root.
            self.merge(self.chunk.counter - self.first_chunk);
        }
        self
    }

    /// The largest power of two of chunks that is within `len` bytes and begins at a multiple of itself.
    ///
    /// A subtree at the end of the input is taken whole: its top node is not compressed here.
    fn subtree_chunks(&self, len: usize) -> u64 {
        let fits = 1 << (len / CHUNK_LEN).ilog2();
        let done = self.chunk.counter - self.first_chunk;
        if done == 0 { fits } else { fits.min(1 << done.trailing_zeros()) }
    }

    /// Adds the chaining value of the next `chunks` chunks.
    fn push(&mut self, cv: Cv, chunks: u64) {
        self.merge(self.chunk.counter - self.first_chunk);
        self.stack.push(cv);
        self.chunk = Chunk::new(&self.key, self.chunk.counter + chunks);
    }

    /// Merges subtrees of equal height: after `chunks` chunks there is one subtree per one-bit of their
    /// number.
    fn merge(&mut self, chunks: u64) {
        if self.stack.is_empty() {
            // For inputs of one chunk this check is faster than counting bits.
            return;
        }
        while self.stack.len() > chunks.count_ones() as usize {
            let parent = lanes::parent(self.plan.one(BLOCK_LEN), &self.key, self.top_two(), 0);
            self.stack.pop();
            *self.stack.last_mut().expect("there were two") = parent;
        }
    }

    fn top_two(&self) -> &[Cv; 2] {
        self.stack.last_chunk().expect("two subtrees")
    }

    /// The top node of the input so far, not yet compressed.
    fn output(&self) -> Output {
        let mode = self.key.flags;
        let mut left = self.stack.len();
        let mut output = if self.chunk.len() > 0 || left == 0 {
            self.chunk.output(mode)
        } else {
            left -= 2;
            Output::parent(&self.key, self.top_two())
        };
        while left > 0 {
            left -= 1;
            let right = output.chaining_words(self.plan);
            output = Output::parent(&self.key, &[self.stack[left], right]);
        }
        output
    }
}

impl Output {
    fn parent(key: &Key, children: &[Cv; 2]) -> Output {
        let block = lanes::parent_block(children);
        Output { cv: key.words, block, len: BLOCK_LEN as u8, counter: 0, flags: key.flags | PARENT }
    }
}

impl Default for Hasher {
    fn default() -> Hasher {
        Hasher::new()
    }
}

impl fmt::Debug for Hasher {
    /// Omits everything that could reveal key or input.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hasher")
            .field("count", &self.count())
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl Zeroize for Hasher {
    fn zeroize(&mut self) {
        self.key.words.zeroize();
        self.chunk.cv.zeroize();
        self.chunk.block.zeroize();
        self.chunk.block_len.zeroize();
        self.chunk.compressed.zeroize();
        self.stack.zeroize();
    }
}

impl Drop for Hasher {
    fn drop(&mut self) {
        // Without a key nothing in here is more secret than the input, which the caller has anyway.
        if self.is_keyed() {
            self.zeroize();
        }
    }
}

#[cfg(feature = "std")]
impl std::io::Write for Hasher {
    fn write(&mut self, input: &[u8]) -> std::io::Result<usize> {
        self.update(input);
        Ok(input.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
