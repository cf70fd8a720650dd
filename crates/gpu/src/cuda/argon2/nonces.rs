//! [`Nonces`]: the engine for a proof of work.

use super::super::device::Device;
use super::Argon2;
use crate::Error;
use crate::argon2::{self, STOP_LATENCY};
use hashmill_hash::argon2::pow::Pow;
use hashmill_hash::engine::{EngineError, Hit, NonceEngine, NonceJob, NonceLimits, Searched, Watch};
use std::ops::Range;

/// A device's search for nonces: as many at the same time as there is memory for.
///
/// What it finds the processor computes again before anybody hears of it: a wrong hit is [`EngineError::SelfTest`]. One that a
/// device misses, nobody finds.
#[derive(Debug)]
pub struct Nonces {
    pow: Pow,
    argon2: Argon2,
    name: String,
}

impl Nonces {
    /// An engine for this function, with at most so many nonces at the same time. It is asked for known digests.
    ///
    /// # Errors
    /// As for [`Argon2::new`].
    pub fn new(device: &Device, pow: Pow, most: usize) -> Result<Nonces, Error> {
        let argon2 = Argon2::new(device, pow.params(), most)?;
        Ok(Nonces { pow, argon2, name: device.info().name.clone() })
    }
}

impl NonceEngine for Nonces {
    fn name(&self) -> &str {
        &self.name
    }

    fn limits(&self) -> NonceLimits {
        NonceLimits::new(self.argon2.width(), self.argon2.memory(), STOP_LATENCY)
    }

    fn search(
        &mut self,
        job: &NonceJob<'_>,
        nonces: Range<u64>,
        watch: &Watch,
        hit: &(dyn Fn(Hit) + Sync),
    ) -> Result<Searched, EngineError> {
        let Nonces { pow, argon2, name } = self;
        argon2::search(&mut argon2.memory, (name, argon2.plan, *pow), job, nonces, watch, hit)
    }
}
