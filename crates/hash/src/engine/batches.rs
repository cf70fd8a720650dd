//! Batch engines, which hash lists of inputs by Argon2: the trait and its limits. Devices have engines of
//! their own; the processor's is [`argon2::Batches`](crate::argon2::Batches).

use super::{EngineError, Stop};
use crate::argon2::Job;
use core::time::Duration;

/// An engine that hashes many inputs with the same parameters.
pub trait BatchEngine: Send {
    /// A short display name.
    fn name(&self) -> &str;

    /// Its capacity and memory.
    fn limits(&self) -> BatchLimits;

    /// Computes the tags of all jobs, or of some after a stop. Returns the number of first jobs that have
    /// their tags. Each later tag is either complete or untouched.
    ///
    /// # Errors
    /// A job that cannot be computed, or a failure of the engine. Each tag is either complete or untouched.
    fn hash(&mut self, jobs: &mut [Job<'_>], stop: &Stop) -> Result<usize, EngineError>;
}

/// Capacity and memory of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BatchLimits {
    /// Inputs hashed side by side: with fewer, part of the engine is idle. Multiples are best.
    pub width: usize,
    /// The memory of these in bytes.
    pub memory: u64,
    /// The longest time from a stop to its end, on a machine that is not overloaded.
    pub stop_latency: Duration,
}

impl BatchLimits {
    /// Limits of an engine with `width` inputs side by side, in `memory` bytes, that stops within
    /// `stop_latency`.
    pub const fn new(width: usize, memory: u64, stop_latency: Duration) -> BatchLimits {
        BatchLimits { width, memory, stop_latency }
    }
}
