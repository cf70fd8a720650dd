//! What searches for nonces, on whatever device: the trait, what goes in and what comes out.
//!
//! An engine tries every nonce of a range and reports those whose digest does not exceed a target. Where ranges and
//! targets come from, and what a hit is worth, is the caller's business. The processor's engines are in
//! [`argon2::pow`](crate::argon2::pow).

use crate::argon2::{HashError, Stop};
use core::fmt;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

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
}

impl NonceLimits {
    /// So many nonces at the same time, in so many bytes of memory.
    pub const fn new(in_flight: usize, memory: u64) -> NonceLimits {
        NonceLimits { in_flight, memory }
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

    /// The request to stop: it ends a hash within a few milliseconds, which then does not count.
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

/// Why an engine cannot be made, or not search.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EngineError {
    /// The caller's header does not fit the function.
    HeaderLen {
        /// Bytes that were given.
        given: usize,
        /// What is needed, in words.
        needed: &'static str,
    },
    /// The caller asked for an engine that does nothing, or for more at once than can be done.
    InFlight {
        /// What was asked for.
        given: usize,
        /// The most.
        most: usize,
    },
    /// The system refuses memory or threads.
    System {
        /// What it said.
        reason: String,
    },
    /// The caller's: the process was forked, and this is the child. The engine's threads or devices stayed with the parent:
    /// make a new engine.
    Forked,
    /// A hash failed.
    Hash(HashError),
    /// The engine gives wrong digests: this machine or this program is broken, and what it finds would be refused.
    SelfTest {
        /// Which kernel.
        kernel: &'static str,
    },
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineError::HeaderLen { given, needed } => {
                write!(f, "a header of {given} bytes: this function needs {needed}")
            }
            EngineError::InFlight { given, most } => {
                write!(f, "{given} at a time: choose 1 to {most}")
            }
            EngineError::System { reason } => write!(f, "the system refuses: {reason}"),
            EngineError::Forked => f.write_str("made in another process: its threads stayed there"),
            EngineError::Hash(error) => error.fmt(f),
            EngineError::SelfTest { kernel } => {
                write!(
                    f,
                    "kernel {kernel} gives wrong digests on this machine: choose another, and check the memory"
                )
            }
        }
    }
}

impl core::error::Error for EngineError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            // Its words are the inner error's own: the chain goes on behind it.
            EngineError::Hash(error) => error.source(),
            _ => None,
        }
    }
}

impl From<HashError> for EngineError {
    fn from(error: HashError) -> EngineError {
        EngineError::Hash(error)
    }
}
