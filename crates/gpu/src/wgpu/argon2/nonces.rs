//! [`Nonces`]: the engine for a proof of work.

use super::super::Device;
use super::{Argon2, first_blocks};
use crate::Error;
use hashmill_hash::argon2::pow::{DIGEST_LEN, Pow};
use hashmill_hash::argon2::{HashError, Stop, hazmat};
use hashmill_hash::engine::{EngineError, Hit, NonceEngine, NonceJob, NonceLimits, Searched, Watch};
use std::ops::Range;
use std::time::Duration;

/// What two handfuls of strips take at most, on a device that is as slow as the processor.
const STOP_LATENCY: Duration = Duration::from_millis(100);

/// A device's search for nonces: as many at the same time as there is memory for.
///
/// What it finds is what the device says. Where a wrong hit costs something, the processor can compute it again.
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

    /// The digests of as many nonces as go side by side, at most.
    fn digests(
        &mut self,
        job: &NonceJob<'_>,
        nonces: Range<u64>,
        stop: &Stop,
    ) -> Result<Vec<[u8; DIGEST_LEN]>, Error> {
        let (plan, params, pow) = (self.argon2.plan, self.pow.params(), self.pow);
        let count = (nonces.end - nonces.start) as usize;
        let first = first_blocks(params, count, stop, |number, blocks| {
            let mut blocks = blocks.iter_mut();
            pow.input(job.header, nonces.start + number as u64, |input| {
                hazmat::first_blocks(plan, params, input, DIGEST_LEN, |_, _, words| {
                    *blocks.next().expect("two of each lane") = *words;
                })
            })
        })?;
        let digest = |sum: &[u64; 128]| {
            let mut digest = [0; DIGEST_LEN];
            hazmat::tag(sum, &mut digest);
            digest
        };
        Ok(self.argon2.sums(&first, stop)?.iter().map(digest).collect())
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
        self.pow.check(job.header)?;
        let (mut next, mut hashes) = (nonces.start, 0);
        while next < nonces.end {
            let some = next..next.saturating_add(self.argon2.width() as u64).min(nonces.end);
            let digests = match self.digests(job, some.clone(), watch.stop()) {
                Err(Error::Hash(HashError::Stopped)) => break,
                digests => digests?,
            };
            watch.count(digests.len() as u64);
            hashes += digests.len() as u64;
            next = some.end;
            for (nonce, digest) in some.zip(digests) {
                if self.pow.is_hit(&digest, &job.target) {
                    hit(Hit::new(nonce, digest));
                }
            }
        }
        Ok(Searched::new(hashes, next))
    }
}
