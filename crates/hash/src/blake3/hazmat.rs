//! Parts of a tree: chaining values of subtrees, and merging them.
//!
//! **Warning.** These functions can build trees that no BLAKE3 input produces, and such a tree may collide
//! with another. Use them only where the pieces of one input are hashed in different places, and only to
//! rebuild exactly the tree of [`hash`](super::hash): split at [`left_subtree_len`], give each piece its
//! offset, and merge with [`merge_subtrees_root`] at the top.

pub use super::hasher::State;
pub use super::mode::{ContextKey, Mode, hash_derive_key_context, hash_derive_key_context_bytes};
pub use super::tree::max_subtree_len;

use super::kernel::Cv;
use super::lanes;
use super::mode::words;
use super::output::Output;
use super::{BLOCK_LEN, CHUNK_LEN, Hash, Hasher, OUT_LEN, OutputReader, PARENT, Plan, tree};
use crate::stack_wipe;

/// The chaining value of a subtree.
pub type ChainingValue = [u8; OUT_LEN];

/// Runs `call`, and overwrites its copies of keys on this thread's stack. For callers that cannot control
/// which values are moved and spilled below them, such as bindings to other languages. The result is not
/// overwritten; after a panic nothing is.
pub fn forgetting<R>(call: impl FnOnce() -> R) -> R {
    stack_wipe::forgetting(call)
}

fn bytes(words: &Cv) -> ChainingValue {
    *Hash::from_words(words).as_bytes()
}

/// The length of the left subtree of an input of `len` bytes.
///
/// # Panics
/// If `len` is not more than [`CHUNK_LEN`]: a single chunk has no subtrees.
pub fn left_subtree_len(len: u64) -> u64 {
    assert!(len > CHUNK_LEN as u64, "an input of {len} bytes is a single chunk and has no subtrees");
    tree::left_len(len)
}

/// Operations of a [`Hasher`] on part of a tree.
pub trait HasherExt {
    /// A hasher for [`derive_key`](super::derive_key), with the context already hashed.
    fn new_from_context_key(context_key: &ContextKey) -> Self;

    /// Makes the following input a subtree that begins `offset` bytes into the whole. More input than
    /// [`max_subtree_len`] allows then panics, and so does every output except
    /// [`finalize_non_root`](HasherExt::finalize_non_root).
    ///
    /// # Panics
    /// If `offset` is not a multiple of [`CHUNK_LEN`], or if there has been input.
    fn set_input_offset(&mut self, offset: u64) -> &mut Self;

    /// The chaining value of the subtree. Its input must not be empty, nor exceed [`max_subtree_len`].
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

/// The digest of an input, from its two top subtrees.
pub fn merge_subtrees_root(left: &ChainingValue, right: &ChainingValue, mode: Mode<'_>) -> Hash {
    Hash::from_words(&top(left, right, mode).root_words(Plan::host()))
}

/// The extended output of an input, from its two top subtrees.
pub fn merge_subtrees_root_xof(left: &ChainingValue, right: &ChainingValue, mode: Mode<'_>) -> OutputReader {
    OutputReader::new(&top(left, right, mode), Plan::host())
}

/// The extended output of an input that was divided into tiles of one power of two of chunks (the last may be
/// shorter), from the chaining values of all tiles. Overwrites `tiles`.
///
/// # Panics
/// If there are fewer than two tiles: a single tile has a root of its own.
pub fn merge_tiles_root_xof(tiles: &mut [ChainingValue], mode: Mode<'_>) -> OutputReader {
    assert!(tiles.len() > 1, "{} tiles have no node above them", tiles.len());
    let mut len = tiles.len();
    while len > 2 {
        // One level up; a tile without a neighbour moves up unchanged.
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
