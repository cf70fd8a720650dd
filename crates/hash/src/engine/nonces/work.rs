//! Work, leases and the supply of them: the seam between the owner of nonces and the engines that try them.

use super::{Hit, SearchProgress};
use crate::stop::Stop;
use core::fmt;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Byte order for the comparison of a digest with a target: which byte is most significant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The first.
    BigEndian,
    /// The last.
    LittleEndian,
}

impl Order {
    /// Is a digest at most the target, whose first byte is the most significant?
    pub fn is_hit(self, digest: &[u8; 32], target: &[u8; 32]) -> bool {
        match self {
            Order::BigEndian => digest <= target,
            Order::LittleEndian => digest.iter().rev().le(target.iter()),
        }
    }

    /// The eight most significant bytes of a digest.
    fn leading_word(self, digest: &[u8; 32]) -> u64 {
        let [.., last] = digest.as_chunks().0 else { return 0 };
        match self {
            Order::BigEndian => leading_word(digest),
            Order::LittleEndian => u64::from_le_bytes(*last),
        }
    }
}

/// The eight most significant bytes of a target.
fn leading_word(target: &[u8; 32]) -> u64 {
    let [first, ..] = target.as_chunks().0 else { return 0 };
    u64::from_be_bytes(*first)
}

/// A header whose nonces engines try, with a bound for hits that may change meanwhile, and a stop flag of its
/// own.
///
/// The bound is the first eight bytes of a target. A hit may therefore exceed the target in later bytes, once
/// in 2^64 hashes: compare it with the exact target before it leaves the program.
#[derive(Debug)]
pub struct Work {
    header: Box<[u8]>,
    bound: AtomicU64,
    stop: Stop,
}

impl Work {
    /// Work with this header, and hits up to `target`, whose first byte is the most significant.
    pub fn new(header: impl Into<Box<[u8]>>, target: &[u8; 32]) -> Work {
        Work { header: header.into(), bound: AtomicU64::new(leading_word(target)), stop: Stop::new() }
    }

    /// The bytes that are hashed with each nonce.
    pub fn header(&self) -> &[u8] {
        &self.header
    }

    /// The flag that gives the work up. Engines abandon its hashes in progress and end its leases.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Changes the target. Hashes in progress continue; those that end from now on are compared with the new
    /// one.
    pub fn set_target(&self, target: &[u8; 32]) {
        self.bound.store(leading_word(target), Ordering::Relaxed);
    }

    /// Is a digest to be reported? For engines.
    pub fn is_hit(&self, digest: &[u8; 32], order: Order) -> bool {
        order.leading_word(digest) <= self.bound.load(Ordering::Relaxed)
    }
}

/// Nonces that one engine alone tries.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Their header and bound.
    pub work: Arc<Work>,
    /// The nonces. None if `end < start`.
    pub nonces: Range<u64>,
}

/// A source of nonces for engines, and the recipient of their results.
///
/// Engines call it on their own threads, between hashes: every method returns soon, and takes no lock that is
/// held for long.
pub trait Supply: Sync {
    /// Nonces for hashes that begin now, at most `most` of them, which is at least 1. An engine that gets
    /// `None` finishes its hashes in progress, and ends. An engine may call it many times for one round of
    /// hashes; each lease may be of other work.
    fn take_lease(&self, most: u64) -> Option<Lease>;

    /// Receives a hit of a lease that has not ended.
    fn report_hit(&self, lease: &Lease, hit: Hit);

    /// Takes a lease back, exactly once, with what was searched of it: all, unless its work or the engine was
    /// stopped, or the engine failed.
    fn end_lease(&self, lease: Lease, progress: SearchProgress);
}

/// A lease in an engine's hands. Its drop ends the lease, so that this happens exactly once on every path.
pub struct OpenLease<'a> {
    supply: &'a dyn Supply,
    /// Taken only on drop.
    lease: Option<Lease>,
    /// Nonces tried, in their order.
    tried: AtomicU64,
    /// Tried nonces from here on count as not tried: the result of one was not reported.
    unreported: AtomicU64,
}

impl<'a> OpenLease<'a> {
    /// Takes a lease of at most `most` nonces.
    pub fn take_from(supply: &'a dyn Supply, most: u64) -> Option<OpenLease<'a>> {
        let lease = Some(supply.take_lease(most.max(1))?);
        let (tried, unreported) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        Some(OpenLease { supply, lease, tried, unreported })
    }

    fn lease(&self) -> &Lease {
        self.lease.as_ref().expect("present until the drop")
    }

    /// Its work.
    pub fn work(&self) -> &Work {
        &self.lease().work
    }

    /// Its nonces.
    pub fn nonces(&self) -> Range<u64> {
        self.lease().nonces.clone()
    }

    /// Records that the first nonce not yet tried was tried, and its hit reported or handed to a check.
    pub fn count_tried(&self) {
        self.tried.fetch_add(1, Ordering::Relaxed);
    }

    /// Reports a hit, unless its nonce counts as not tried.
    pub fn report_hit(&self, hit: Hit) {
        if hit.nonce < self.unreported.load(Ordering::Relaxed) {
            self.supply.report_hit(self.lease(), hit);
        }
    }

    /// Lets this nonce and all above it count as not tried, because the hit of this one is not reported.
    pub fn withdraw_from(&self, nonce: u64) {
        self.unreported.fetch_min(nonce, Ordering::Relaxed);
    }
}

impl Drop for OpenLease<'_> {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take() {
            let tried = *self.tried.get_mut();
            let next = (lease.nonces.start + tried).min(*self.unreported.get_mut());
            self.supply.end_lease(lease, SearchProgress::new(tried, next));
        }
    }
}

impl fmt::Debug for OpenLease<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenLease")
            .field("lease", &self.lease)
            .field("tried", &self.tried)
            .finish_non_exhaustive()
    }
}
