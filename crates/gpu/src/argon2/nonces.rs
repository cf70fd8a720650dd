//! Nonce search on a device: nonces of leases as hashes in flight, and their hits.

use super::{Device, HashSource, Words, first_blocks, xor_last_blocks};
use crate::Error;
use hashmill_hash::argon2::pow::{DIGEST_LEN, HitChecker, HitQueue, Pow};
use hashmill_hash::argon2::{HashError, Plan, Stop, hazmat};
use hashmill_hash::engine::{EngineError, Hit, OpenLease, Supply};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Tries nonces of `supply` with the function of `checker`, which checks hits on another thread. `name` is the
/// name of the device, and `plan` computes first blocks.
pub(crate) fn run(
    device: &mut impl Device,
    (name, plan): (&str, Plan),
    checker: &HitChecker,
    supply: &dyn Supply,
    stop: &Stop,
) -> Result<(), EngineError> {
    let ended = checker.check_beside(name, stop, |hits| {
        device.run(&mut NonceSource::new(plan, checker.pow(), supply, hits, stop), stop)
    })?;
    match ended {
        Ok(()) | Err(Error::Hash(HashError::Stopped)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Nonces of leases, those in flight and the next ones.
pub(crate) struct NonceSource<'q, 'a> {
    /// The plan by which the processor computes first blocks.
    plan: Plan,
    pow: Pow,
    supply: &'a dyn Supply,
    hits: &'q HitQueue<'a>,
    stop: &'q Stop,
    /// Sorted by number.
    in_flight: VecDeque<HashInFlight<'a>>,
    /// The number of the next hash.
    next_number: u64,
    /// The newest lease, and its nonces that are not in flight yet.
    rest: Option<(Arc<OpenLease<'a>>, Range<u64>)>,
    /// Has the supply ended?
    is_exhausted: bool,
}

struct HashInFlight<'a> {
    number: u64,
    nonce: u64,
    lease: Arc<OpenLease<'a>>,
}

impl<'q, 'a> NonceSource<'q, 'a> {
    pub(crate) fn new(
        plan: Plan,
        pow: Pow,
        supply: &'a dyn Supply,
        hits: &'q HitQueue<'a>,
        stop: &'q Stop,
    ) -> NonceSource<'q, 'a> {
        NonceSource {
            plan,
            pow,
            supply,
            hits,
            stop,
            in_flight: VecDeque::new(),
            next_number: 0,
            rest: None,
            is_exhausted: false,
        }
    }

    /// The next nonce and its lease; a new lease has at most `max_nonces`.
    fn next_nonce(&mut self, max_nonces: u64) -> Result<Option<(Arc<OpenLease<'a>>, u64)>, Error> {
        while !self.stop.is_set() {
            if let Some((lease, nonces)) = &mut self.rest
                && !lease.work().stop().is_set()
                && let Some(nonce) = nonces.next()
            {
                return Ok(Some((Arc::clone(lease), nonce)));
            }
            // Ends the lease, unless some of its hashes are in flight.
            self.rest = None;
            if self.is_exhausted {
                return Ok(None);
            }
            let Some(lease) = OpenLease::take_from(self.supply, max_nonces) else {
                self.is_exhausted = true;
                return Ok(None);
            };
            self.pow.check(lease.work().header())?;
            let nonces = lease.nonces();
            self.rest = Some((Arc::new(lease), nonces));
        }
        Err(HashError::Stopped.into())
    }
}

impl HashSource for NonceSource<'_, '_> {
    /// Unknown until the supply has ended. A device then keeps its steady rate instead of aiming at an end.
    fn remaining(&self) -> u64 {
        if self.is_exhausted && self.rest.is_none() { 0 } else { u64::MAX }
    }

    fn start_hashes(&mut self, max_hashes: usize) -> Result<Zeroizing<Vec<Words>>, Error> {
        if self.hits.has_failed() {
            return Err(HashError::Stopped.into());
        }
        let first = self.in_flight.len();
        while self.in_flight.len() < first + max_hashes {
            let missing = (first + max_hashes - self.in_flight.len()) as u64;
            let Some((lease, nonce)) = self.next_nonce(missing)? else { break };
            self.in_flight.push_back(HashInFlight { number: self.next_number, nonce, lease });
            self.next_number += 1;
        }
        let (plan, pow, in_flight) = (self.plan, self.pow, &self.in_flight);
        first_blocks(pow.params(), in_flight.len() - first, self.stop, |number, blocks| {
            let mut blocks = blocks.iter_mut();
            let HashInFlight { nonce, lease, .. } = &in_flight[first + number];
            pow.input(lease.work().header(), *nonce, |input| {
                hazmat::first_blocks(plan, pow.params(), input, DIGEST_LEN, |_, _, words| {
                    *blocks.next().expect("two of each lane") = *words;
                })
            })
        })
    }

    fn finish_hashes(&mut self, numbers: &[u64], last: &[Words]) -> Result<(), Error> {
        for (number, sum) in numbers.iter().zip(&*xor_last_blocks(self.pow.params(), last)) {
            // Results after a wrong hit do not count: their nonces return to the supply with their leases.
            if self.hits.has_failed() {
                return Err(HashError::Stopped.into());
            }
            let at = self.in_flight.partition_point(|hash| hash.number < *number);
            if self.in_flight.get(at).is_none_or(|hash| hash.number != *number) {
                // It was cancelled meanwhile.
                continue;
            }
            let Some(HashInFlight { nonce, lease, .. }) = self.in_flight.remove(at) else { continue };
            let mut digest = [0; DIGEST_LEN];
            hazmat::tag(sum, &mut digest);
            if lease.work().is_hit(&digest, self.pow.order()) {
                self.hits.push(&lease, Hit::new(nonce, digest), self.stop);
            }
            lease.count_tried();
        }
        Ok(())
    }

    /// Cancels hashes of stopped work, and all hashes once a check has failed.
    fn cancel_unneeded(&mut self) -> Vec<u64> {
        let (mut cancelled, has_failed) = (Vec::new(), self.hits.has_failed());
        self.in_flight.retain(|HashInFlight { number, nonce, lease }| {
            let is_wanted = !has_failed && !lease.work().stop().is_set();
            if !is_wanted {
                // The stop may be withdrawn before a later hash of the lease is examined.
                lease.withdraw_from(*nonce);
                cancelled.push(*number);
            }
            is_wanted
        });
        cancelled
    }
}
