//! [`SingleThread`]: a nonce search on the calling thread, with memory that is kept.

use super::known_answers::{HEADER, KNOWN, Known, bytes};
use super::{DIGEST_LEN, Order, Pow, Recipe};
use crate::argon2::fill::{self, Fill};
use crate::argon2::kernel::MAX_STREAMS;
use crate::argon2::memory::{Arena, Block, Matrix};
use crate::argon2::{HashError, PageKind, PagePolicy, Params, Plan};
use crate::engine::{self, EngineError, Hit, NonceEngine, NonceLimits, OpenLease, Stop, Supply, Work};
use arrayvec::ArrayVec;
use core::ops::Range;
use core::time::Duration;

/// Each thread checks for a stop every thousand blocks, which take about a millisecond where memory is far
/// from the caches.
pub(super) const STOP_LATENCY: Duration = Duration::from_millis(10);

/// A search on the calling thread, with one hash in flight per arena.
///
/// Nothing is secret here: memory is wiped when it is freed, not before.
#[derive(Debug)]
pub struct SingleThread {
    pow: Pow,
    plan: Plan,
    arenas: ArrayVec<Arena, MAX_STREAMS>,
    /// The number of arenas in use.
    active: usize,
}

impl SingleThread {
    /// An engine with `in_flight` hashes at a time, 1 to 4. Tests the kernel and takes the memory, which
    /// belongs to the memory node of the calling thread.
    ///
    /// # Errors
    /// [`EngineError::InFlight`], [`EngineError::SelfTest`], or [`EngineError::OutOfMemory`].
    pub fn new(
        pow: Pow,
        plan: Plan,
        policy: PagePolicy,
        in_flight: usize,
    ) -> Result<SingleThread, EngineError> {
        let mut engine = SingleThread::untested(pow, plan, policy, in_flight)?;
        // The known answers use little memory, but the test must run the same code path as the search.
        let same = if plan.is_far(pow.params()) { plan.with_far_from(0) } else { plan };
        self_test(same, in_flight)?;
        for arena in &mut engine.arenas {
            arena.reserve(pow.params().blocks())?;
        }
        Ok(engine)
    }

    /// The best number of hashes in flight with this plan if a thread may use `memory` bytes. At least one,
    /// even if that does not fit.
    pub fn best_in_flight(pow: Pow, plan: Plan, memory: u64) -> usize {
        plan.nonces(memory / (pow.params().blocks() * size_of::<Block>() as u64))
    }

    /// An engine without memory, for the self-test.
    pub(super) fn untested(
        pow: Pow,
        plan: Plan,
        policy: PagePolicy,
        in_flight: usize,
    ) -> Result<SingleThread, EngineError> {
        if !(1..=MAX_STREAMS).contains(&in_flight) {
            return Err(EngineError::InFlight { given: in_flight, most: MAX_STREAMS });
        }
        let arenas = (0..in_flight).map(|_| Arena::new(policy)).collect();
        Ok(SingleThread { pow, plan, arenas, active: in_flight })
    }

    /// Limits the hashes in flight, or restores the original number. Memory is kept.
    ///
    /// # Errors
    /// [`EngineError::InFlight`] for zero, or for more.
    pub fn limit(&mut self, in_flight: usize) -> Result<(), EngineError> {
        let most = self.arenas.len();
        if !(1..=most).contains(&in_flight) {
            return Err(EngineError::InFlight { given: in_flight, most });
        }
        self.active = in_flight;
        Ok(())
    }

    /// Hashes in flight, and the most of them.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.active, self.arenas.len())
    }

    /// Makes all pages present now, and large where the system can, instead of during the first hash. Returns
    /// the share that is large, if the system reports it.
    pub fn prefault(&mut self) -> Option<f64> {
        let shares: ArrayVec<Option<f64>, MAX_STREAMS> =
            self.arenas.iter_mut().map(Arena::prefault).collect();
        let sum: Option<f64> = shares.iter().copied().sum();
        sum.map(|sum| sum / shares.len() as f64)
    }

    /// The smallest kind of pages among its arenas.
    pub fn pages(&self) -> Option<PageKind> {
        self.arenas.iter().filter_map(Arena::pages).min()
    }

    /// Searches until the supply is empty, or one of `stops` is set.
    pub(super) fn run_until(&mut self, supply: &dyn Supply, stops: [&Stop; 2]) -> Result<(), EngineError> {
        while !stops.iter().any(|stop| stop.is_set()) {
            let Some(lease) = OpenLease::take_from(supply, self.active as u64) else { break };
            self.pow.check(lease.work().header())?;
            self.search_lease(&lease, stops)?;
        }
        Ok(())
    }

    /// Tries the nonces of a lease, as many at a time as are in flight.
    fn search_lease(&mut self, lease: &OpenLease<'_>, stops: [&Stop; 2]) -> Result<(), HashError> {
        let Range { start: mut next, end } = lease.nonces();
        while next < end {
            // Never past the end, so that nonces up to the largest number do not wrap.
            let nonces = next..next.saturating_add(self.active as u64).min(end);
            next = nonces.end;
            let Some(digests) = self.hash(lease.work(), nonces.clone(), stops)? else { break };
            for (nonce, digest) in nonces.zip(digests) {
                if lease.work().is_hit(&digest, self.pow.order()) {
                    lease.report_hit(Hit { nonce, digest });
                }
                lease.count_tried();
            }
        }
        Ok(())
    }

    /// The digests of at most as many nonces as are in flight, or `None` if stopped.
    fn hash(
        &mut self,
        work: &Work,
        nonces: Range<u64>,
        stops: [&Stop; 2],
    ) -> Result<Option<ArrayVec<[u8; DIGEST_LEN], MAX_STREAMS>>, HashError> {
        let SingleThread { pow, plan, .. } = *self;
        let (kernel, params) = (plan.kernel(), pow.params());
        let mut matrices = ArrayVec::<Matrix<'_>, MAX_STREAMS>::new();
        for (arena, nonce) in self.arenas.iter_mut().zip(nonces) {
            let mut matrix = arena.matrix(params.shape())?;
            pow.input(work.header(), nonce, |input| {
                fill::check(input, DIGEST_LEN)?;
                fill::begin(kernel, params, input, DIGEST_LEN, &mut matrix);
                Ok::<_, HashError>(())
            })?;
            matrices.push(matrix);
        }
        let streams = matrices.len() * params.lanes() as usize;
        let width = plan.width(params).max(matrices.len()).min(streams).min(MAX_STREAMS);
        if !Fill::new(plan, params, &matrices, width, work.stop()).stopping_at(stops).run() {
            return Ok(None);
        }
        let digest = |matrix: &mut Matrix<'_>| {
            let mut digest = [0; DIGEST_LEN];
            fill::finish(kernel, matrix, &mut digest);
            digest
        };
        Ok(Some(matrices.iter_mut().map(digest).collect()))
    }
}

/// Tests the kernel of `plan` with `in_flight` hashes at a time, for a millisecond or two.
fn self_test(plan: Plan, in_flight: usize) -> Result<(), EngineError> {
    self_test_against(&KNOWN, plan, in_flight)
}

fn self_test_against(answers: &[Known], plan: Plan, in_flight: usize) -> Result<(), EngineError> {
    for known in answers {
        let params = Params::new(known.memory_kib, known.passes, known.lanes).expect("within the limits");
        let pow = Pow::new(params, Recipe::NonceIsPassword { header_len: None }, Order::BigEndian);
        let mut engine = SingleThread::untested(pow, plan, PagePolicy::Plain, in_flight)?;
        engine::self_test(&mut engine, HEADER, 0..4, |nonce| bytes(known.digests[nonce as usize]))?;
    }
    Ok(())
}

impl NonceEngine for SingleThread {
    fn name(&self) -> &str {
        self.plan.kernel().name()
    }

    fn limits(&self) -> NonceLimits {
        let blocks = self.arenas.iter().map(|arena| arena.capacity().max(self.pow.params().blocks()));
        NonceLimits::new(self.active, blocks.sum::<u64>() * size_of::<Block>() as u64, STOP_LATENCY)
    }

    fn order(&self) -> Order {
        self.pow.order()
    }

    fn run(&mut self, supply: &dyn Supply, stop: &Stop) -> Result<(), EngineError> {
        self.run_until(supply, [stop; 2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argon2::Kernel;

    #[test]
    fn every_kernel_passes_and_another_answer_fails() {
        for kernel in Kernel::all() {
            for in_flight in 1..=4 {
                assert_eq!(self_test(Plan::for_kernel(kernel), in_flight), Ok(()));
                assert_eq!(self_test(Plan::for_kernel(kernel).with_far_from(0), in_flight), Ok(()));
            }
            for wrong in 0..4 {
                let mut known = KNOWN;
                // The answer to another case.
                known[1].digests[wrong] = KNOWN[0].digests[wrong];
                let failed = self_test_against(&known, Plan::for_kernel(kernel), 2);
                assert_eq!(failed, Err(EngineError::SelfTest { engine: kernel.name().to_owned() }));
            }
        }
    }
}
