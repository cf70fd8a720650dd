//! BLAKE3: the hash, its keyed and key-derivation modes, extended output, batches and trees.
//!
//! | I have | I call |
//! |---|---|
//! | bytes in memory | [`hash`], [`keyed_hash`], [`derive_key`] |
//! | bytes in pieces | [`Hasher`]; many tiny pieces: [`BufferedHasher`] |
//! | many messages | [`batch::hash_all`] |
//! | large inputs and several cores | [`Hasher::update_parallel`], or a [`Context`] with its own threads |
//! | a need for more than 32 bytes | [`Hasher::finalize_xof`] |
//! | parts of a tree | [`hazmat`]; on any device: [`SubtreeEngine`](crate::engine::SubtreeEngine), implemented for the processor by [`Subtrees`] |
//!
//! All results are the same on every kernel and every machine. [`Plan`] tells which kernel is used for what.

pub mod batch;
mod hasher;
pub mod hazmat;
mod kernel;
mod lanes;
mod mode;
mod output;
mod plan;
mod tree;

#[cfg(all(test, feature = "std"))]
mod tests;

#[cfg(feature = "std")]
pub use crate::work_sharing::Threads;
#[cfg(feature = "std")]
pub use hasher::Context;
pub use hasher::{BufferedHasher, Hasher};
pub use kernel::Kernel;
#[cfg(test)]
pub(crate) use kernel::Table;
pub use output::{Hash, HexError, HexString, OutputReader};
pub use plan::{Choice, LONG_LEN, Plan, Role, Tuning};
#[cfg(feature = "std")]
pub use tree::Subtrees;

/// Bytes in a default digest.
pub const OUT_LEN: usize = 32;
/// Bytes in a key.
pub const KEY_LEN: usize = 32;
/// Bytes in the message of one compression.
pub const BLOCK_LEN: usize = 64;
/// Bytes in a leaf of the tree.
pub const CHUNK_LEN: usize = 1024;

/// Blocks in a chunk.
const CHUNK_BLOCKS: usize = CHUNK_LEN / BLOCK_LEN;

/// The initial value: the first fractional bits of the square roots of the first eight primes, as in SHA-256.
const IV: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// Domain flags of a compression.
const CHUNK_START: u8 = 1;
const CHUNK_END: u8 = 1 << 1;
const PARENT: u8 = 1 << 2;
const ROOT: u8 = 1 << 3;
const KEYED_HASH: u8 = 1 << 4;
const DERIVE_KEY_CONTEXT: u8 = 1 << 5;
const DERIVE_KEY_MATERIAL: u8 = 1 << 6;

/// The digest of `input`, on the calling thread.
///
/// ```
/// let digest = hashmill_hash::blake3::hash(b"abc");
/// assert_eq!(digest.to_string(), "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85");
/// ```
#[inline]
pub fn hash(input: &[u8]) -> Hash {
    Plan::host().hash(input)
}

/// The digest of `input` under a secret key: a message authentication code.
///
/// Compare such digests as [`struct@Hash`] values, whose equality takes constant time.
///
/// ```
/// use hashmill_hash::blake3::keyed_hash;
///
/// let key = [7; 32]; // in production: random, and secret
/// let sent = keyed_hash(&key, b"pay 10");
/// assert!(keyed_hash(&key, b"pay 10") == sent && keyed_hash(&key, b"pay 99") != sent);
/// ```
#[inline]
pub fn keyed_hash(key: &[u8; KEY_LEN], input: &[u8]) -> Hash {
    Plan::host().keyed_hash(key, input)
}

/// Derives a key for one purpose from key material that serves several.
///
/// `context` should be a constant that names application, date and purpose, such as
/// `"example.com 2026-11-20 session tokens v1"`; it must never be untrusted input.
///
/// ```
/// use hashmill_hash::blake3::derive_key;
///
/// let master = [7; 32]; // in production: random, and secret
/// let tokens = derive_key("example.com 2026-11-20 session tokens v1", &master);
/// let cookies = derive_key("example.com 2026-11-20 cookies v1", &master);
/// assert_ne!(tokens, cookies);
/// ```
pub fn derive_key(context: &str, key_material: &[u8]) -> [u8; OUT_LEN] {
    Plan::host().derive_key(context, key_material)
}
