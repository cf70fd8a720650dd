//! Searching for nonces: the trait, what goes in and what comes out.
//!
//! An engine tries every nonce of a range and reports those whose digest does not exceed a target. Where ranges and
//! targets come from, and what a hit is worth, is the caller's business. The processor's engines are in
//! [`argon2::pow`](crate::argon2::pow).

use super::{EngineError, Stop};
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Mutex, PoisonError};

/// Something that tries nonces.
pub trait NonceEngine: Send {
    /// A short name for people.
    fn name(&self) -> &str;

    /// What it can do at once, and what that takes.
    fn limits(&self) -> NonceLimits;

    /// Tries all `nonces`, or some of them if asked to stop. `hit` is told at once of each that is good enough, perhaps
    /// from another thread.
    ///
    /// # Errors
    /// What makes a search of this job impossible. Hits and counts up to then are true.
    fn search(
        &mut self,
        job: &NonceJob<'_>,
        nonces: Range<u64>,
        watch: &Watch,
        hit: &(dyn Fn(Hit) + Sync),
    ) -> Result<Searched, EngineError>;
}

/// What nonces are tried on.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct NonceJob<'a> {
    /// The bytes that are hashed with each nonce.
    pub header: &'a [u8],
    /// The greatest digest that is good enough, its most significant byte first.
    pub target: [u8; 32],
}

impl<'a> NonceJob<'a> {
    /// These bytes, and digests up to `target`.
    pub const fn new(header: &'a [u8], target: [u8; 32]) -> NonceJob<'a> {
        NonceJob { header, target }
    }
}

/// What an engine can do at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NonceLimits {
    /// How many nonces are tried at the same time.
    pub in_flight: usize,
    /// How much memory that takes, in bytes.
    pub memory: u64,
    /// How many nonces a search should be given at least: with fewer, part of the engine has nothing to do. Multiples are
    /// best.
    pub batch: u64,
    /// How long a search may go on after it was asked to stop, on a machine that is not overloaded: what was begun by then
    /// and cannot be broken off, such as one launch on a device.
    pub stop_latency: Duration,
}

impl NonceLimits {
    /// So many nonces at the same time, in so many bytes of memory, for an engine that wants no more than these at once and
    /// stops within `stop_latency`.
    pub const fn new(in_flight: usize, memory: u64, stop_latency: Duration) -> NonceLimits {
        NonceLimits { in_flight, memory, batch: in_flight as u64, stop_latency }
    }
}

/// A nonce that is good enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Hit {
    /// The nonce.
    pub nonce: u64,
    /// Its digest, as it is computed.
    pub digest: [u8; 32],
}

impl Hit {
    /// A nonce and its digest.
    pub const fn new(nonce: u64, digest: [u8; 32]) -> Hit {
        Hit { nonce, digest }
    }
}

/// How far a search came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Searched {
    /// How many digests were computed and compared.
    pub hashes: u64,
    /// Every nonce of the range below this one was tried. The end of the range, unless the search was stopped.
    pub next: u64,
}

impl Searched {
    /// So many digests, and every nonce below `next`.
    pub const fn new(hashes: u64, next: u64) -> Searched {
        Searched { hashes, next }
    }
}

/// A view into a search from other threads: asks it to stop, and counts.
#[derive(Debug, Default)]
pub struct Watch {
    stop: Stop,
    hashes: AtomicU64,
}

impl Watch {
    /// Not stopped, nothing counted.
    pub const fn new() -> Watch {
        Watch { stop: Stop::new(), hashes: AtomicU64::new(0) }
    }

    /// The request to stop. Hashes that it ends do not count; how soon it does, [`NonceLimits::stop_latency`] says.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// How many digests were computed and compared so far, by all searches that were given this view. Each counts
    /// exactly once, at the moment when it is known.
    pub fn hashes(&self) -> u64 {
        self.hashes.load(Ordering::Relaxed)
    }

    /// For engines: counts.
    pub fn count(&self, hashes: u64) {
        self.hashes.fetch_add(hashes, Ordering::Relaxed);
    }
}

/// Asks an engine for the digests of a few nonces, and compares them with those of the portable implementation or with
/// published ones. Every device does so before it is trusted with work: whoever mines with wrong digests works for nothing.
///
/// # Errors
/// [`EngineError::SelfTest`] where a digest is wrong, missing, or there twice; and those of the search.
pub fn self_test(
    engine: &mut dyn NonceEngine,
    header: &[u8],
    nonces: Range<u64>,
    mut expected: impl FnMut(u64) -> [u8; 32],
) -> Result<(), EngineError> {
    let (found, watch) = (Mutex::new(Vec::new()), Watch::new());
    let note = |hit: Hit| found.lock().unwrap_or_else(PoisonError::into_inner).push(hit);
    let searched = engine.search(&NonceJob::new(header, [0xff; 32]), nonces.clone(), &watch, &note)?;
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable_by_key(|hit| hit.nonce);
    let right = nonces.clone().map(|nonce| Hit { nonce, digest: expected(nonce) });
    let all = Searched { hashes: nonces.end - nonces.start, next: nonces.end };
    if searched == all && watch.hashes() == all.hashes && found.into_iter().eq(right) {
        Ok(())
    } else {
        Err(EngineError::SelfTest { engine: engine.name().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest of a nonce is the nonce, unless something is wrong with this engine.
    struct Engine(fn(u64) -> Vec<Hit>);

    fn hit(nonce: u64) -> Hit {
        Hit::new(nonce, [nonce as u8; 32])
    }

    impl NonceEngine for Engine {
        fn name(&self) -> &str {
            "toy"
        }

        fn limits(&self) -> NonceLimits {
            NonceLimits::new(1, 0, Duration::ZERO)
        }

        fn search(
            &mut self,
            _: &NonceJob<'_>,
            nonces: Range<u64>,
            watch: &Watch,
            found: &(dyn Fn(Hit) + Sync),
        ) -> Result<Searched, EngineError> {
            // The last first: no engine promises an order.
            nonces.clone().rev().flat_map(self.0).for_each(found);
            watch.count(nonces.end - nonces.start);
            Ok(Searched::new(nonces.end - nonces.start, nonces.end))
        }
    }

    #[test]
    fn an_engine_that_lies_is_found_out() {
        let tested = |say| self_test(&mut Engine(say), b"", 3..9, |nonce| [nonce as u8; 32]);
        assert_eq!(tested(|nonce| vec![hit(nonce)]), Ok(()));
        let lies: [fn(u64) -> Vec<Hit>; 4] = [
            |nonce| vec![Hit::new(nonce, [0; 32])],
            |nonce| (nonce != 5).then(|| hit(nonce)).into_iter().collect(),
            |nonce| vec![hit(nonce), hit(nonce)],
            |nonce| vec![hit(nonce + 1)],
        ];
        for lie in lies {
            assert_eq!(tested(lie), Err(EngineError::SelfTest { engine: "toy".to_owned() }));
        }
    }
}
