//! Parts of a tree: chaining values of subtrees, and merging them.
//!
//! **Warning.** These functions let you build trees that no BLAKE3 input produces, and such a tree may collide with
//! another. Use them only where the pieces of one input are hashed in different places, and only to rebuild exactly
//! the tree that [`hash`](super::hash) would have built. **Encouragement.** That is quite possible: split at
//! [`left_subtree_len`], give each piece its offset, merge with [`merge_subtrees_root`] at the top.

pub use super::hasher::State;
use super::kernel::Cv;
use super::lanes::{self, Key};
use super::xof::{Output, OutputReader};
use super::{
    BLOCK_LEN, CHUNK_LEN, DERIVE_KEY_CONTEXT, DERIVE_KEY_MATERIAL, Hash, Hasher, IV, KEY_LEN, KEYED_HASH,
    OUT_LEN, PARENT, Plan, dead, tree,
};

/// The chaining value of a subtree.
pub type ChainingValue = [u8; OUT_LEN];

/// A context string, hashed.
pub type ContextKey = [u8; KEY_LEN];

/// Calls, and overwrites what the call has left of keys on this thread's stack: for who cannot say what is moved and spilled
/// below, as a binding to another language. What it gives is not overwritten, and nothing is when it panics.
pub fn forgetting<R>(call: impl FnOnce() -> R) -> R {
    dead::forgetting(call)
}

/// The three modes.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Mode<'a> {
    /// [`hash`](super::hash).
    Hash,
    /// [`keyed_hash`](super::keyed_hash).
    KeyedHash(&'a [u8; KEY_LEN]),
    /// [`derive_key`](super::derive_key), with the context hashed by [`hash_derive_key_context`].
    DeriveKeyMaterial(&'a ContextKey),
}

impl Mode<'_> {
    #[inline(always)]
    pub(super) fn key(&self) -> Key {
        match self {
            Mode::Hash => Key { words: IV, flags: 0 },
            Mode::KeyedHash(key) => Key { words: words(key), flags: KEYED_HASH },
            Mode::DeriveKeyMaterial(key) => Key { words: words(key), flags: DERIVE_KEY_MATERIAL },
        }
    }
}

impl core::fmt::Debug for Mode<'_> {
    /// Without the key.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Mode::Hash => "Hash",
            Mode::KeyedHash(_) => "KeyedHash(..)",
            Mode::DeriveKeyMaterial(_) => "DeriveKeyMaterial(..)",
        })
    }
}

fn words(bytes: &[u8; 32]) -> Cv {
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

fn bytes(words: &Cv) -> ChainingValue {
    *Hash::from_words(words).as_bytes()
}

/// The first step of [`derive_key`](super::derive_key): worth keeping where one context serves many keys.
pub fn hash_derive_key_context(context: &str) -> ContextKey {
    context_key(Plan::host(), context)
}

/// [`hash_derive_key_context`] of a context that is no text: for who is handed one.
pub fn hash_derive_key_context_bytes(context: &[u8]) -> ContextKey {
    context_key_of_bytes(Plan::host(), context)
}

pub(super) fn context_key(plan: Plan, context: &str) -> ContextKey {
    context_key_of_bytes(plan, context.as_bytes())
}

fn context_key_of_bytes(plan: Plan, context: &[u8]) -> ContextKey {
    bytes(&tree::hash_all(plan, &Key { words: IV, flags: DERIVE_KEY_CONTEXT }, context))
}

/// The longest subtree that may begin at `offset`, or `None` at offset 0, where any length may.
///
/// # Panics
/// If `offset` is not a multiple of [`CHUNK_LEN`].
pub fn max_subtree_len(offset: u64) -> Option<u64> {
    assert_eq!(offset % CHUNK_LEN as u64, 0, "a subtree begins at a multiple of 1024 bytes, not at {offset}");
    (offset != 0).then(|| 1 << offset.trailing_zeros())
}

/// How many bytes of an input of `len` bytes belong to the left subtree.
///
/// # Panics
/// If `len` is not more than [`CHUNK_LEN`]: a single chunk has no subtrees.
pub fn left_subtree_len(len: u64) -> u64 {
    assert!(len > CHUNK_LEN as u64, "an input of {len} bytes is a single chunk and has no subtrees");
    tree::left_len(len)
}

/// What a [`Hasher`] can do for part of a tree.
pub trait HasherExt {
    /// A hasher for [`derive_key`](super::derive_key), with the context already hashed.
    fn new_from_context_key(context_key: &ContextKey) -> Self;

    /// Makes the coming input a subtree that begins `offset` bytes into the whole. Input beyond what [`max_subtree_len`]
    /// allows is then refused by a panic, and so is every output but [`finalize_non_root`](HasherExt::finalize_non_root).
    ///
    /// # Panics
    /// If `offset` is not a multiple of [`CHUNK_LEN`], or if input has already come in.
    fn set_input_offset(&mut self, offset: u64) -> &mut Self;

    /// The chaining value of the subtree. There must be input, and no more than [`max_subtree_len`] allows.
    ///
    /// # Panics
    /// If there is no input.
    fn finalize_non_root(&self) -> ChainingValue;
}

impl HasherExt for Hasher {
    fn new_from_context_key(context_key: &ContextKey) -> Hasher {
        Hasher::with_mode(&Mode::DeriveKeyMaterial(context_key))
    }

    fn set_input_offset(&mut self, offset: u64) -> &mut Hasher {
        assert_eq!(
            offset % CHUNK_LEN as u64,
            0,
            "a subtree begins at a multiple of 1024 bytes, not at {offset}"
        );
        self.set_first_chunk(offset / CHUNK_LEN as u64);
        self
    }

    fn finalize_non_root(&self) -> ChainingValue {
        assert_ne!(self.count(), 0, "an empty subtree has no chaining value");
        bytes(&self.non_root_words())
    }
}

/// The chaining value of two neighbouring subtrees that together are not the whole input.
pub fn merge_subtrees_non_root(left: &ChainingValue, right: &ChainingValue, mode: Mode<'_>) -> ChainingValue {
    let table = Plan::host().one(BLOCK_LEN);
    bytes(&lanes::parent(table, &mode.key(), &[words(left), words(right)], 0))
}

/// The digest of an input whose two top subtrees are given.
pub fn merge_subtrees_root(left: &ChainingValue, right: &ChainingValue, mode: Mode<'_>) -> Hash {
    Hash::from_words(&top(left, right, mode).root_words(Plan::host()))
}

/// The extended output of an input whose two top subtrees are given.
pub fn merge_subtrees_root_xof(left: &ChainingValue, right: &ChainingValue, mode: Mode<'_>) -> OutputReader {
    OutputReader::new(&top(left, right, mode), Plan::host())
}

/// The extended output of an input that was cut into tiles of one power of two of chunks, of which the last may be shorter, from the
/// chaining values of all of them. What was in `tiles` is gone afterwards.
///
/// # Panics
/// If there are not two tiles at least: a single one has a root of its own.
pub fn merge_tiles_root_xof(tiles: &mut [ChainingValue], mode: Mode<'_>) -> OutputReader {
    assert!(tiles.len() > 1, "{} tiles have no node above them", tiles.len());
    let mut len = tiles.len();
    while len > 2 {
        // One level up; a tile without a neighbour goes up as it is.
        for pair in 0..len / 2 {
            tiles[pair] = merge_subtrees_non_root(&tiles[2 * pair], &tiles[2 * pair + 1], mode);
        }
        if len % 2 == 1 {
            tiles[len / 2] = tiles[len - 1];
        }
        len = len.div_ceil(2);
    }
    merge_subtrees_root_xof(&tiles[0], &tiles[1], mode)
}

fn top(left: &ChainingValue, right: &ChainingValue, mode: Mode<'_>) -> Output {
    let key = mode.key();
    let block = lanes::parent_block(&[words(left), words(right)]);
    Output { cv: key.words, block, len: BLOCK_LEN as u8, counter: 0, flags: key.flags | PARENT }
}
