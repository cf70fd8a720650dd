//! Nonce engines, which search for nonces: the trait, its input and its output.
//!
//! An engine asks a [`Supply`] for nonces whenever a part of it is free, and reports those whose digest does
//! not exceed the target of their [`Work`]. The owner of the supply chooses headers, nonces and targets, and
//! decides what to do with hits. [`search`] tries one range. The processor's engines are in
//! [`argon2::pow`](crate::argon2::pow).
//!
//! ```
//! use hashmill_hash::argon2::pow::{Order, Pow, Recipe, SingleThread};
//! use hashmill_hash::argon2::{PagePolicy, Params, Plan};
//! use hashmill_hash::engine::{NonceJob, SearchMonitor, search};
//!
//! let recipe = Recipe::NonceIsPassword { header_len: None };
//! let pow = Pow::new(Params::new(64, 1, 1)?, recipe, Order::BigEndian);
//! let mut engine = SingleThread::new(pow, Plan::host(), PagePolicy::Plain, 2)?;
//! // One digest in sixteen is a hit.
//! let mut target = [0xff; 32];
//! target[0] = 0x0f;
//! let (job, monitor) = (NonceJob::new(b"a header", target), SearchMonitor::new());
//! let progress = search(&mut engine, &job, 0..100, &monitor, &|hit| assert!(hit.digest[0] <= 0x0f))?;
//! assert_eq!((progress.hashes, progress.next), (100, 100));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod range_search;
#[cfg(test)]
mod tests;
mod work;

pub use range_search::{RangeSearch, SearchMonitor, search, self_test};
pub use work::{Lease, OpenLease, Order, Supply, Work};

use super::{EngineError, Stop};
use core::time::Duration;

/// An engine that tries nonces.
pub trait NonceEngine: Send {
    /// A short display name.
    fn name(&self) -> &str;

    /// Its capacity and memory.
    fn limits(&self) -> NonceLimits;

    /// The byte order in which its digests are compared with a target.
    fn order(&self) -> Order;

    /// Tries nonces of `supply` until there are none, `stop` is set, or the engine fails. It takes as many as
    /// it can begin at once, whenever some of its hashes have ended; hashes in progress continue.
    ///
    /// Each lease that it takes has ended when this returns, whatever the result.
    ///
    /// # Errors
    /// Work that cannot be searched, or a failure of the engine. Hits reported before are valid. A hash whose
    /// result the engine gets after its failure is known does not count as tried, so that no lease ends as
    /// searched without a hit because the engine failed. After [`EngineError::SelfTest`] of a device, results
    /// before the failure was known are in doubt: progress counts them, and may hide hits that were missed.
    fn run(&mut self, supply: &dyn Supply, stop: &Stop) -> Result<(), EngineError>;
}

/// Header and target of a search.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct NonceJob<'a> {
    /// The bytes that are hashed with each nonce.
    pub header: &'a [u8],
    /// The largest digest that is a hit, its most significant byte first.
    pub target: [u8; 32],
}

impl<'a> NonceJob<'a> {
    /// A job with this header, and hits up to `target`.
    pub const fn new(header: &'a [u8], target: [u8; 32]) -> NonceJob<'a> {
        NonceJob { header, target }
    }
}

/// Capacity and memory of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NonceLimits {
    /// Nonces tried at the same time: with fewer, part of the engine is idle.
    pub in_flight: usize,
    /// The memory of these in bytes, where the engine is.
    pub memory: u64,
    /// The longest time from a stop to the end of a search, on a machine that is not overloaded: work in
    /// progress that cannot be cancelled, such as one launch on a device.
    pub stop_latency: Duration,
}

impl NonceLimits {
    /// Limits of an engine with `in_flight` nonces at the same time, in `memory` bytes, which stops within
    /// `stop_latency`.
    pub const fn new(in_flight: usize, memory: u64, stop_latency: Duration) -> NonceLimits {
        NonceLimits { in_flight, memory, stop_latency }
    }
}

/// A nonce whose digest does not exceed the target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Hit {
    /// The nonce.
    pub nonce: u64,
    /// Its digest, in the byte order in which it is computed.
    pub digest: [u8; 32],
}

impl Hit {
    /// A nonce and its digest.
    pub const fn new(nonce: u64, digest: [u8; 32]) -> Hit {
        Hit { nonce, digest }
    }
}

/// Progress of a search, or of a lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SearchProgress {
    /// Digests that were computed and compared.
    pub hashes: u64,
    /// Every nonce of the range below this one was tried, and its hits were reported; no hit at or above it
    /// was. The end of the range, unless the search was stopped.
    pub next: u64,
}

impl SearchProgress {
    /// A search with `hashes` digests that tried every nonce below `next`.
    pub const fn new(hashes: u64, next: u64) -> SearchProgress {
        SearchProgress { hashes, next }
    }
}
