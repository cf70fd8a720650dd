//! Tests of both back ends. The including crate defines `device`, and the sizes that its device computes in a short time.
#![allow(
    clippy::needless_borrow,
    reason = "a device is a reference in one crate, and holds one in the other"
)]

pub(crate) mod nonces;

mod hashes;
mod inputs;
mod tiles;

use hashmill_gpu::{Buffer, Device};
use hashmill_hash::blake3::hazmat::{ContextKey, Mode, hash_derive_key_context};
use hashmill_hash::blake3::{Hasher, Kernel, Plan};

pub(crate) const KEY: &[u8; 32] = b"whats the Elvish word for friend";
pub(crate) const CONTEXT: &str = "BLAKE3 2019-12-27 16:29:52 test vectors context";

/// A buffer with these bytes from `offset` on, and other bytes before and behind.
pub(crate) fn buffer(device: &Device, bytes: &[u8], offset: usize) -> Buffer {
    let mut all = vec![0xa5; (offset + bytes.len()).next_multiple_of(16) + 16];
    all[offset..offset + bytes.len()].copy_from_slice(bytes);
    let buffer = device.buffer(all.len() as u64).expect("there is memory");
    buffer.write(0, &all).expect("they fit");
    buffer
}

pub(crate) fn modes(context: &ContextKey) -> [(&'static str, Mode<'_>); 3] {
    [("hash", Mode::Hash), ("keyed", Mode::KeyedHash(KEY)), ("derive", Mode::DeriveKeyMaterial(context))]
}

pub(crate) fn context_key() -> ContextKey {
    hash_derive_key_context(CONTEXT)
}

/// The portable implementation.
pub(crate) fn portable(mode: &Mode<'_>, bytes: &[u8]) -> Hasher {
    let mut hasher = Hasher::with_mode(mode).with_plan(Plan::for_kernel(Kernel::portable()));
    hasher.update(bytes);
    hasher
}
