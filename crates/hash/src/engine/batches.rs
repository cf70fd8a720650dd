//! Hashing a list of inputs by Argon2: the trait, and what an engine can do. Devices have engines of their own; the processor's is
//! [`argon2::Batches`](crate::argon2::Batches).

use super::{EngineError, Stop};
use crate::argon2::Job;
use core::time::Duration;

/// Something that hashes many inputs with the same parameters.
pub trait BatchEngine: Send {
    /// A short name for people.
    fn name(&self) -> &str;

    /// What it can do at once, and what that takes.
    fn limits(&self) -> BatchLimits;

    /// The tags of all jobs, or of some of them if asked to stop: how many, from the first on. Of those behind, each has its tag or
    /// nothing of it.
    ///
    /// # Errors
    /// What makes a job impossible, or happens to the engine. Each job has its tag or nothing of it.
    fn hash(&mut self, jobs: &mut [Job<'_>], stop: &Stop) -> Result<usize, EngineError>;
}

/// What an engine can do at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BatchLimits {
    /// How many inputs go side by side: with fewer, part of the engine has nothing to do. Multiples are best.
    pub width: usize,
    /// How much memory that takes, in bytes.
    pub memory: u64,
    /// How long it may go on after it was asked to stop, on a machine that is not overloaded.
    pub stop_latency: Duration,
}

impl BatchLimits {
    /// So many side by side, in so many bytes, for an engine that stops within `stop_latency`.
    pub const fn new(width: usize, memory: u64, stop_latency: Duration) -> BatchLimits {
        BatchLimits { width, memory, stop_latency }
    }
}
