//! Proof of work: one Argon2 hash for each nonce, as fast as a processor can.
//!
//! [`SingleThread`] searches on the calling thread, [`ThreadPool`] on threads of its own. Both implement
//! [`NonceEngine`](crate::engine::NonceEngine), refuse to start if their kernel fails a known-answer test,
//! and can stop inside a hash. Each thread first runs a function of the caller, which may bind it to a core.
//!
//! ```no_run
//! use hashmill_hash::argon2::pow::{Order, Pow, Recipe, ThreadPool};
//! use hashmill_hash::argon2::{PagePolicy, Params, Plan};
//!
//! let threads = 4;
//! // Where the system lists no cores, threads are not bound.
//! let cores = core_affinity::get_core_ids().unwrap_or_default();
//! let bind = move |thread: usize| {
//!     if let Some(&core) = cores.get(thread) {
//!         core_affinity::set_for_current(core);
//!     }
//! };
//! // A gibibyte, one pass and one lane; the nonce is the password, the header the salt.
//! let params = Params::new(1 << 20, 1, 1)?;
//! let pow = Pow::new(params, Recipe::NonceIsPassword { header_len: None }, Order::BigEndian);
//! // Two hashes in flight on each thread, in the largest pages that there are.
//! let mut workers = ThreadPool::new(pow, Plan::host(), PagePolicy::Largest, threads, 2, bind)?;
//! workers.prefault();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod hit_checker;
mod in_flight;
mod known_answers;
mod single_thread;
mod thread_pool;

#[cfg(test)]
mod lease_simulation;
#[cfg(test)]
mod tests;

pub use hit_checker::{HitChecker, HitQueue};
pub use in_flight::{InFlightRate, choose_in_flight};
pub use single_thread::SingleThread;
pub use thread_pool::ThreadPool;

pub use crate::engine::nonces::Order;

use super::{HashError, Input, Params};
use crate::engine::EngineError;

/// Bytes of every digest.
pub const DIGEST_LEN: usize = 32;

/// The longest header whose nonce is inside: it is copied for each hash.
const MAX_HEADER_LEN: usize = 256;

/// A proof-of-work function of header and nonce.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pow {
    params: Params,
    recipe: Recipe,
    order: Order,
}

/// Construction of password and salt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Recipe {
    /// The password is the nonce, eight bytes, least significant first; the salt is the header.
    NonceIsPassword {
        /// The required length of the header, if fixed.
        header_len: Option<usize>,
    },
    /// The password is the header with the nonce written into it, least significant byte first; the salt is
    /// the beginning of the header.
    NonceInHeader {
        /// The nonce's offset in the header.
        offset: usize,
        /// The nonce's length in bytes, 1 to 8: larger nonces wrap.
        len: usize,
        /// Bytes of the header that are the salt.
        salt_len: usize,
    },
}

impl Pow {
    /// A function with these parameters.
    pub const fn new(params: Params, recipe: Recipe, order: Order) -> Pow {
        Pow { params, recipe, order }
    }

    /// Variant and cost.
    pub const fn params(self) -> Params {
        self.params
    }

    /// The byte order of its digests.
    pub const fn order(self) -> Order {
        self.order
    }

    /// Checks that a header can be searched. For engines.
    ///
    /// # Errors
    /// [`EngineError::HeaderLen`]; [`EngineError::Function`] for a recipe that fits no header.
    pub fn check(self, header: &[u8]) -> Result<(), EngineError> {
        let (least, most) = match self.recipe {
            Recipe::NonceIsPassword { header_len: None } => (0, Params::MAX_LEN as usize),
            Recipe::NonceIsPassword { header_len: Some(len) } => (len, len),
            Recipe::NonceInHeader { len, .. } if !(1..=8).contains(&len) => {
                return Err(EngineError::Function {
                    reason: format!("a nonce of {len} bytes: choose 1 to 8"),
                });
            }
            Recipe::NonceInHeader { offset, len, salt_len } => {
                (offset.saturating_add(len).max(salt_len), MAX_HEADER_LEN)
            }
        };
        let given = header.len();
        if (least..=most).contains(&given) {
            Ok(())
        } else {
            Err(EngineError::HeaderLen { given, least, most })
        }
    }

    /// Calls `with` with the input for a nonce. For engines.
    ///
    /// # Panics
    /// May panic if the header was not [checked](Pow::check).
    pub fn input<R>(self, header: &[u8], nonce: u64, with: impl FnOnce(&Input<'_>) -> R) -> R {
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
}

/// Headers and costs were checked before, so the remaining failures are refusals by the system.
impl From<HashError> for EngineError {
    fn from(error: HashError) -> EngineError {
        match error {
            HashError::OutOfMemory { bytes } => EngineError::OutOfMemory { bytes },
            HashError::Forked => EngineError::Forked,
            HashError::Stopped => EngineError::System { reason: error.to_string() },
            error => EngineError::Function { reason: error.to_string() },
        }
    }
}
