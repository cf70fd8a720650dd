//! The three modes: their keys, hashed contexts, and the digest of a whole message in each.

use super::kernel::Cv;
use super::lanes::Key;
use super::{DERIVE_KEY_CONTEXT, DERIVE_KEY_MATERIAL, Hash, IV, KEY_LEN, KEYED_HASH, OUT_LEN, Plan, tree};

/// A hashed context string.
pub type ContextKey = [u8; KEY_LEN];

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
    /// Omits the key.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Mode::Hash => "Hash",
            Mode::KeyedHash(_) => "KeyedHash(..)",
            Mode::DeriveKeyMaterial(_) => "DeriveKeyMaterial(..)",
        })
    }
}

pub(super) fn words(bytes: &[u8; 32]) -> Cv {
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

/// The first step of [`derive_key`](super::derive_key): reusable for many keys in one context.
pub fn hash_derive_key_context(context: &str) -> ContextKey {
    context_key(Plan::host(), context)
}

/// As [`hash_derive_key_context`], for a context that is not text.
pub fn hash_derive_key_context_bytes(context: &[u8]) -> ContextKey {
    context_key_of_bytes(Plan::host(), context)
}

fn context_key(plan: Plan, context: &str) -> ContextKey {
    context_key_of_bytes(plan, context.as_bytes())
}

fn context_key_of_bytes(plan: Plan, context: &[u8]) -> ContextKey {
    *Hash::from_words(&tree::hash_all(plan, &Key { words: IV, flags: DERIVE_KEY_CONTEXT }, context))
        .as_bytes()
}

impl Plan {
    /// The digest of `input`, on the calling thread.
    #[inline]
    pub fn hash(self, input: &[u8]) -> Hash {
        Hash::from_words(&tree::hash_all(self, &Mode::Hash.key(), input))
    }

    /// See [`keyed_hash`](super::keyed_hash).
    #[inline]
    pub fn keyed_hash(self, key: &[u8; KEY_LEN], input: &[u8]) -> Hash {
        Hash::from_words(&tree::hash_all(self, &Mode::KeyedHash(key).key(), input))
    }

    /// See [`derive_key`](super::derive_key).
    pub fn derive_key(self, context: &str, key_material: &[u8]) -> [u8; OUT_LEN] {
        let context_key = context_key(self, context);
        let key = Mode::DeriveKeyMaterial(&context_key).key();
        *Hash::from_words(&tree::hash_all(self, &key, key_material)).as_bytes()
    }
}
