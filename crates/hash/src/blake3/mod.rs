//! BLAKE3: the hash, its keyed and key-derivation modes, extended output, batches and trees.
//!
//! | I have | I call |
//! |---|---|
//! | bytes in memory | [`hash`], [`keyed_hash`], [`derive_key`] |
//! | bytes in pieces | [`Hasher`]; many tiny pieces: [`BufferedHasher`] |
//! | many messages | [`batch::hash_all`] |
//! | large inputs and several cores | [`Hasher::update_parallel`], or a [`Context`] with its own threads |
//! | a need for more than 32 bytes | [`Hasher::finalize_xof`] |
//! | parts of a tree | [`hazmat`]; on whatever device: [`SubtreeEngine`](crate::engine::SubtreeEngine), of which [`Subtrees`] is the processor's |
//!
//! All results are the same on every kernel and every machine. [`Plan`] says which kernel does what here.

mod buffered;
mod dead;
mod digest;
mod hasher;
mod kernel;
mod lanes;
mod plan;
mod portable;
mod tree;
mod xof;

#[cfg(kernels = "aarch64")]
mod aarch64;
#[cfg(any(kernels = "aarch64", kernels = "wasm32"))]
mod columns;
#[cfg(kernels = "wasm32")]
mod wasm32;
#[cfg(kernels = "x86_64")]
mod x86_64;

#[cfg(all(test, feature = "std"))]
mod tests;

pub mod batch;
pub mod hazmat;

#[cfg(feature = "std")]
mod context;
#[cfg(feature = "std")]
mod parallel;
#[cfg(feature = "std")]
mod subtrees;
#[cfg(feature = "digest")]
mod traits;

#[cfg(feature = "std")]
pub use crate::work_sharing::Threads;
pub use buffered::BufferedHasher;
#[cfg(feature = "std")]
pub use context::Context;
pub use digest::{Hash, HexError, HexString};
pub use hasher::Hasher;
pub use kernel::Kernel;
#[cfg(test)]
pub(crate) use kernel::Table;
pub use plan::{Choice, Plan, Role, Tuning};
#[cfg(feature = "std")]
pub use subtrees::Subtrees;
pub use xof::OutputReader;

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
/// let key = [7; 32]; // in earnest: random, and secret
/// let sent = keyed_hash(&key, b"pay 10");
/// assert!(keyed_hash(&key, b"pay 10") == sent && keyed_hash(&key, b"pay 99") != sent);
/// ```
#[inline]
pub fn keyed_hash(key: &[u8; KEY_LEN], input: &[u8]) -> Hash {
    Plan::host().keyed_hash(key, input)
}

/// A key for one purpose from key material that serves several.
///
/// `context` should be a constant that names application, date and purpose, such as
/// `"example.com 2026-11-20 session tokens v1"`; it must never be input of somebody else.
///
/// ```
/// use hashmill_hash::blake3::derive_key;
///
/// let master = [7; 32]; // in earnest: random, and secret
/// let tokens = derive_key("example.com 2026-11-20 session tokens v1", &master);
/// let cookies = derive_key("example.com 2026-11-20 cookies v1", &master);
/// assert_ne!(tokens, cookies);
/// ```
pub fn derive_key(context: &str, key_material: &[u8]) -> [u8; OUT_LEN] {
    Plan::host().derive_key(context, key_material)
}
