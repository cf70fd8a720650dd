//! Batches of hashes on a device of either back end.

use super::{Device, hash};
use crate::{Error, Tuning};
use hashmill_hash::argon2::{HashError, Job, Params, Plan, Stop};

/// Argon2 with fixed parameters on a device `L`.
pub(crate) struct Argon2<L> {
    pub(crate) params: Params,
    /// The plan by which the processor computes first blocks.
    pub(crate) plan: Plan,
    pub(crate) tuning: Tuning,
    pub(crate) lanes: L,
}

impl<L: Device> Argon2<L> {
    /// The number of hashes side by side.
    pub(crate) fn width(&self) -> usize {
        self.lanes.width()
    }

    /// Computes the tags of all jobs.
    pub(crate) fn hash(&mut self, jobs: &mut [Job<'_>]) -> Result<(), Error> {
        static NEVER: Stop = Stop::new();
        self.hash_until(jobs, &NEVER)
    }

    /// As [`hash`](Argon2::hash), but ends early when another thread sets `stop`.
    pub(crate) fn hash_until(&mut self, jobs: &mut [Job<'_>], stop: &Stop) -> Result<(), Error> {
        let count = jobs.len();
        if self.hash_jobs(jobs, stop)? == count { Ok(()) } else { Err(HashError::Stopped.into()) }
    }

    /// Computes the tags of all jobs and returns their number; after a stop, that of the first jobs whose tags are
    /// complete.
    pub(crate) fn hash_jobs(&mut self, jobs: &mut [Job<'_>], stop: &Stop) -> Result<usize, Error> {
        hash(&mut self.lanes, self.plan, self.params, jobs, stop)
    }
}
