//! [`SingleThread`]: a search on the thread that calls it, with memory that is kept.

use super::{DIGEST_LEN, Pow, selftest};
use crate::argon2::fill::Fill;
use crate::argon2::init_final;
use crate::argon2::kernel::MAX_STREAMS;
use crate::argon2::memory::{Arena, Block, Matrix};
use crate::argon2::{HashError, PageKind, PagePolicy, Plan};
use crate::engine::{EngineError, Hit, NonceEngine, NonceJob, NonceLimits, Searched, Stop, Watch};
use arrayvec::ArrayVec;
use core::ops::Range;
use core::time::Duration;
use std::sync::atomic::{AtomicU64, Ordering};

/// Each thread looks for a request to stop every thousand blocks, which take about a millisecond where memory is far.
pub(super) const STOP_LATENCY: Duration = Duration::from_millis(10);

/// A search on the calling thread, with as many hashes in flight as there are memories.
///
/// Nothing is secret here: memory is wiped when it is given back, not before.
#[derive(Debug)]
pub struct SingleThread {
    pow: Pow,
    plan: Plan,
    arenas: ArrayVec<Arena, MAX_STREAMS>,
    /// How many of the arenas are in use.
    active: usize,
}

impl SingleThread {
    /// An engine with `in_flight` hashes at a time, 1 to 4. Tests the kernel and takes the memory, which belongs to the
    /// node of the thread that calls this.
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
        // The answers are of little memory, and what is tested has to be what will run.
        let same = if plan.is_far(pow.params()) { plan.with_far_from(0) } else { plan };
        selftest::check(same, in_flight)?;
        for arena in &mut engine.arenas {
            arena.reserve(pow.params().blocks())?;
        }
        Ok(engine)
    }

    /// How many hashes at a time are best on a processor with this plan, where a thread may have so many bytes of memory. One,
    /// if there is not even room for that.
    pub fn best_in_flight(pow: Pow, plan: Plan, memory: u64) -> usize {
        plan.nonces(memory / (pow.params().blocks() * size_of::<Block>() as u64))
    }

    /// For the test itself. Takes no memory yet.
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

    /// Goes on with fewer hashes at a time, or with as many as it was made for. The memory is kept.
    ///
    /// # Errors
    /// [`EngineError::InFlight`] for none, or for more.
    pub fn limit(&mut self, in_flight: usize) -> Result<(), EngineError> {
        let most = self.arenas.len();
        if !(1..=most).contains(&in_flight) {
            return Err(EngineError::InFlight { given: in_flight, most });
        }
        self.active = in_flight;
        Ok(())
    }

    /// Makes all pages present now and large where the system can, instead of in the first hash. Gives the share that
    /// is large, if the system tells.
    pub fn prefault(&mut self) -> Option<f64> {
        let shares: ArrayVec<Option<f64>, MAX_STREAMS> =
            self.arenas.iter_mut().map(Arena::prefault).collect();
        let sum: Option<f64> = shares.iter().copied().sum();
        sum.map(|sum| sum / shares.len() as f64)
    }

    /// The smallest kind of pages that it got.
    pub fn pages(&self) -> Option<PageKind> {
        self.arenas.iter().filter_map(Arena::pages).min()
    }

    /// Searches with nonces from `next`, taken together with others, up to `end` or until one of `stops`. Gives the first of
    /// its nonces that it gave up, or nothing.
    pub(super) fn search_shared(
        &mut self,
        job: &NonceJob<'_>,
        next: &AtomicU64,
        end: u64,
        stops: [&Stop; 2],
        watch: &Watch,
        hit: &(dyn Fn(Hit) + Sync),
    ) -> Result<Shared, EngineError> {
        let mut done = Shared { hashes: 0, given_up: None };
        let most = self.active as u64;
        loop {
            // Never past the end, so that nonces up to the last of all do not wrap.
            let taken = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
                (next < end).then(|| next.saturating_add(most).min(end))
            });
            let Ok(first) = taken else { return Ok(done) };
            let nonces = first..first.saturating_add(most).min(end);
            let Some(digests) = self.hash(job, nonces.clone(), stops)? else {
                done.given_up = Some(first);
                return Ok(done);
            };
            watch.count(digests.len() as u64);
            done.hashes += digests.len() as u64;
            for (nonce, digest) in nonces.zip(digests) {
                if self.pow.is_hit(&digest, &job.target) {
                    hit(Hit { nonce, digest });
                }
            }
        }
    }

    /// The digests of at most as many nonces as are in flight, or nothing if stopped.
    pub(super) fn hash(
        &mut self,
        job: &NonceJob<'_>,
        nonces: Range<u64>,
        stops: [&Stop; 2],
    ) -> Result<Option<ArrayVec<[u8; DIGEST_LEN], MAX_STREAMS>>, HashError> {
        let SingleThread { pow, plan, .. } = *self;
        let (kernel, params) = (plan.kernel(), pow.params());
        let mut matrices = ArrayVec::<Matrix<'_>, MAX_STREAMS>::new();
        for (arena, nonce) in self.arenas.iter_mut().zip(nonces) {
            let mut matrix = arena.matrix(params.shape())?;
            pow.input(job.header, nonce, |input| {
                init_final::check(input, DIGEST_LEN)?;
                init_final::begin(kernel, params, input, DIGEST_LEN, &mut matrix);
                Ok::<_, HashError>(())
            })?;
            matrices.push(matrix);
        }
        let streams = matrices.len() * params.lanes() as usize;
        let width = plan.width(params).max(matrices.len()).min(streams).min(MAX_STREAMS);
        let [stop, other] = stops;
        if !Fill::new(plan, params, &matrices, width, stop).stopping_at(other).run() {
            return Ok(None);
        }
        let digest = |matrix: &mut Matrix<'_>| {
            let mut digest = [0; DIGEST_LEN];
            init_final::finish(kernel, matrix, &mut digest);
            digest
        };
        Ok(Some(matrices.iter_mut().map(digest).collect()))
    }
}

/// How far one of several came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    pub(super) hashes: u64,
    pub(super) given_up: Option<u64>,
}

impl NonceEngine for SingleThread {
    fn name(&self) -> &str {
        self.plan.kernel().name()
    }

    fn limits(&self) -> NonceLimits {
        let blocks = self.arenas.iter().map(|arena| arena.capacity().max(self.pow.params().blocks()));
        NonceLimits::new(self.active, blocks.sum::<u64>() * size_of::<Block>() as u64, STOP_LATENCY)
    }

    fn search(
        &mut self,
        job: &NonceJob<'_>,
        nonces: Range<u64>,
        watch: &Watch,
        hit: &(dyn Fn(Hit) + Sync),
    ) -> Result<Searched, EngineError> {
        self.pow.check(job.header)?;
        let next = AtomicU64::new(nonces.start);
        let done = self.search_shared(job, &next, nonces.end, [watch.stop(); 2], watch, hit)?;
        let next = done.given_up.unwrap_or(nonces.end.max(nonces.start));
        Ok(Searched { hashes: done.hashes, next })
    }
}
