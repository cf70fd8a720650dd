//! Proof of work: one Argon2 hash for each nonce, as fast as a processor can.
//!
//! [`Lane`] searches on the thread that calls it, [`Workers`] on threads that stay. Both implement
//! [`NonceEngine`](crate::engine::NonceEngine), refuse to start if their kernel fails a test with known answers, and
//! stop inside a hash when asked to. Where threads should run, [`places`] decides from facts that the caller brings;
//! [`describe`] finds them in the files of Linux, fast and slow cores included.
//!
//! ```no_run
//! use hashmill_hash::argon2::pow::{Pow, Workers, describe, places};
//! use hashmill_hash::argon2::{PagePolicy, Plan};
//!
//! let ids: Vec<usize> = core_affinity::get_core_ids().unwrap_or_default().iter().map(|core| core.id).collect();
//! let cores = describe(&ids, |name| std::fs::read_to_string(format!("/sys/devices/{name}")).ok());
//! let threads = 4;
//! let order = places(&cores, threads);
//! let bind = move |thread: usize| {
//!     if let Some(&id) = order.get(thread) {
//!         core_affinity::set_for_current(core_affinity::CoreId { id });
//!     }
//! };
//! // Two hashes in flight on each thread, in the largest pages that there are.
//! let mut workers = Workers::new(Pow::blocknet(), Plan::host(), PagePolicy::Largest, threads, 2, bind)?;
//! workers.settle();
//! # Ok::<(), hashmill_hash::engine::EngineError>(())
//! ```

mod lane;
mod place;
mod selftest;
mod workers;

#[cfg(test)]
mod tests;

pub use lane::Lane;
pub use place::{Core, describe, places};
pub use workers::Workers;

use super::{Input, Params};
use crate::engine::EngineError;

/// Bytes of every digest.
pub const DIGEST_LEN: usize = 32;

/// The longest header whose nonce is inside: it is copied for each hash.
const MAX_HEADER_LEN: usize = 256;

/// A function of header and nonce.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pow {
    params: Params,
    recipe: Recipe,
    order: Order,
}

/// What is password and what is salt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Recipe {
    /// The password is the nonce, eight bytes, least significant first; the salt is the header.
    NonceIsPassword {
        /// How long the header is, if that is fixed.
        header_len: Option<usize>,
    },
    /// The password is the header with the nonce written into it, least significant byte first; the salt is its
    /// beginning.
    NonceInHeader {
        /// Where in the header.
        offset: usize,
        /// How many bytes, 1 to 8: nonces wrap beyond them.
        len: usize,
        /// How many bytes of the header are the salt.
        salt_len: usize,
    },
}

/// Which byte of a digest weighs most when it is compared with a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The first.
    BigEndian,
    /// The last.
    LittleEndian,
}

impl Pow {
    /// Any function of this kind.
    pub const fn new(params: Params, recipe: Recipe, order: Order) -> Pow {
        Pow { params, recipe, order }
    }

    /// Blocknet: 2 GiB, one pass, one lane. The header is all of a block's header but the nonce, 92 bytes.
    pub fn blocknet() -> Pow {
        let recipe = Recipe::NonceIsPassword { header_len: Some(92) };
        Pow::new(Params::new(2 << 20, 1, 1).expect("within the limits"), recipe, Order::BigEndian)
    }

    /// Like TurtleCoin's Chukwa v2: 1 MiB, four passes, one lane, a nonce of four bytes inside a CryptoNote block, whose
    /// first 16 bytes are the salt.
    pub fn chukwa_v2() -> Pow {
        let recipe = Recipe::NonceInHeader { offset: 39, len: 4, salt_len: 16 };
        Pow::new(Params::new(1 << 10, 4, 1).expect("within the limits"), recipe, Order::LittleEndian)
    }

    /// Variant and cost.
    pub const fn params(self) -> Params {
        self.params
    }

    /// Whether a header can be searched.
    fn check(self, header: &[u8]) -> Result<(), EngineError> {
        let (fits, needed) = match self.recipe {
            Recipe::NonceIsPassword { header_len: None } => (true, ""),
            Recipe::NonceIsPassword { header_len: Some(len) } => match len {
                92 => (header.len() == len, "92 bytes, the header without its nonce"),
                _ => (header.len() == len, "the length that it was made for"),
            },
            Recipe::NonceInHeader { offset, len, salt_len } => {
                let end = offset.saturating_add(len).max(salt_len);
                let fits = (end..=MAX_HEADER_LEN).contains(&header.len()) && (1..=8).contains(&len);
                (fits, "room for its nonce and salt, and at most 256 bytes")
            }
        };
        let error = EngineError::HeaderLen { given: header.len(), needed };
        if fits { Ok(()) } else { Err(error) }
    }

    /// Calls `with` with what is hashed for a nonce. The header was checked.
    fn input<R>(self, header: &[u8], nonce: u64, with: impl FnOnce(&Input<'_>) -> R) -> R {
        let nonce = nonce.to_le_bytes();
        match self.recipe {
            Recipe::NonceIsPassword { .. } => with(&Input::new(&nonce, header)),
            Recipe::NonceInHeader { offset, len, salt_len } => {
                let mut room = [0; MAX_HEADER_LEN];
                let password = &mut room[..header.len()];
                password.copy_from_slice(header);
                password[offset..offset + len].copy_from_slice(&nonce[..len]);
                with(&Input::new(password, &password[..salt_len]))
            }
        }
    }

    /// Whether a digest does not exceed the target, whose most significant byte is the first.
    fn is_hit(self, digest: &[u8; DIGEST_LEN], target: &[u8; 32]) -> bool {
        match self.order {
            Order::BigEndian => digest <= target,
            Order::LittleEndian => digest.iter().rev().le(target.iter()),
        }
    }
}
