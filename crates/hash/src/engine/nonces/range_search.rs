//! Search of one range: a supply that ends with it.

use super::{Hit, Lease, NonceEngine, NonceJob, Order, SearchProgress, Supply, Work};
use crate::engine::EngineError;
use crate::stop::Stop;
use core::fmt;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Stop flag and counter of a search, shared with other threads.
#[derive(Debug, Default)]
pub struct SearchMonitor {
    stop: Stop,
    hashes: AtomicU64,
}

impl SearchMonitor {
    /// Not stopped, nothing counted.
    pub const fn new() -> SearchMonitor {
        SearchMonitor { stop: Stop::new(), hashes: AtomicU64::new(0) }
    }

    /// The stop flag. Hashes that it ends do not count; [`NonceLimits::stop_latency`](super::NonceLimits)
    /// bounds the delay.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Digests computed and compared so far, by all searches with this value. Each counts exactly once, as
    /// soon as its lease has ended.
    pub fn hashes(&self) -> u64 {
        self.hashes.load(Ordering::Relaxed)
    }
}

/// A supply of one range of nonces for one engine, or for several that run on threads of their own.
///
/// Nonces that an engine gives back, because it fails, go to the others. If an engine ends a lease with progress
/// outside of it, the search is broken: no engine gets another lease, and
/// [`checked_progress`](RangeSearch::checked_progress) is an error.
pub struct RangeSearch<'a> {
    target: [u8; 32],
    order: Order,
    work: Arc<Work>,
    monitor: &'a SearchMonitor,
    hit: &'a (dyn Fn(Hit) + Sync),
    state: Mutex<State>,
}

struct State {
    /// Ranges that no engine has, the next last.
    left: Vec<Range<u64>>,
    end: u64,
    hashes: u64,
    /// The first progress outside of its lease.
    failure: Option<EngineError>,
}

impl<'a> RangeSearch<'a> {
    /// Nonces of `job`. `hit` is called for each hit, on any thread; digests are compared in this order, that
    /// of the engines.
    pub fn new(
        job: &NonceJob<'_>,
        order: Order,
        nonces: Range<u64>,
        monitor: &'a SearchMonitor,
        hit: &'a (dyn Fn(Hit) + Sync),
    ) -> RangeSearch<'a> {
        let end = nonces.end.max(nonces.start);
        let left = if nonces.start < end { vec![nonces] } else { Vec::new() };
        let state = Mutex::new(State { left, end, hashes: 0, failure: None });
        let work = Arc::new(Work::new(job.header, &job.target));
        RangeSearch { target: job.target, order, work, monitor, hit, state }
    }

    /// Progress, after all engines have ended.
    pub fn progress(&self) -> SearchProgress {
        self.state().progress()
    }

    /// As [`progress`](RangeSearch::progress), of engines that may be faulty.
    ///
    /// # Errors
    /// [`EngineError::Progress`] if an engine has ended a lease with progress outside of it: which nonces it has
    /// tried is unknown.
    pub fn checked_progress(&self) -> Result<SearchProgress, EngineError> {
        let state = self.state();
        state.failure.clone().map_or_else(|| Ok(state.progress()), Err)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn progress(&self) -> SearchProgress {
        let first_left = self.left.iter().map(|range| range.start).min();
        SearchProgress::new(self.hashes, first_left.unwrap_or(self.end))
    }
}

impl Supply for RangeSearch<'_> {
    fn take_lease(&self, most: u64) -> Option<Lease> {
        let mut state = self.state();
        if state.failure.is_some() {
            return None;
        }
        let range = state.left.pop()?;
        let middle = range.start.saturating_add(most).min(range.end);
        if middle < range.end {
            state.left.push(middle..range.end);
        }
        Some(Lease { work: Arc::clone(&self.work), nonces: range.start..middle })
    }

    fn report_hit(&self, _: &Lease, hit: Hit) {
        // The bound of the work is shorter than the target.
        if self.order.is_hit(&hit.digest, &self.target) {
            (self.hit)(hit);
        }
    }

    fn end_lease(&self, lease: Lease, progress: SearchProgress) {
        let Range { start, end } = lease.nonces;
        let mut state = self.state();
        let mut next = progress.next;
        if (start..=end).contains(&next) {
            self.monitor.hashes.fetch_add(progress.hashes, Ordering::Relaxed);
            state.hashes += progress.hashes;
        } else {
            // None of the lease counts as tried, and no claimed hash counts.
            state.failure.get_or_insert(EngineError::Progress { start, end, next });
            next = start;
        }
        if next < end {
            state.left.push(next..end);
        }
    }
}

impl fmt::Debug for RangeSearch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RangeSearch")
            .field("work", &self.work)
            .field("progress", &self.progress())
            .finish_non_exhaustive()
    }
}

/// Tries all `nonces` with one engine, or some of them after a stop of `monitor`. `hit` is called for each
/// hit, perhaps on another thread.
///
/// # Errors
/// A job that cannot be searched, or a failure of the engine. Hits and counts up to then are valid.
/// [`EngineError::Progress`] if the engine claims progress outside of its lease.
pub fn search(
    engine: &mut dyn NonceEngine,
    job: &NonceJob<'_>,
    nonces: Range<u64>,
    monitor: &SearchMonitor,
    hit: &(dyn Fn(Hit) + Sync),
) -> Result<SearchProgress, EngineError> {
    let range = RangeSearch::new(job, engine.order(), nonces, monitor, hit);
    engine.run(&range, monitor.stop())?;
    let progress = range.checked_progress()?;
    let is_complete = progress.next == range.state().end;
    if is_complete || monitor.stop().is_set() { Ok(progress) } else { Err(EngineError::ended_early()) }
}

/// Compares an engine's digests of a few nonces with those of the portable implementation or with published
/// ones. Every device is tested so before it gets work: mining with wrong digests is useless.
///
/// # Errors
/// [`EngineError::SelfTest`] if a digest is wrong, missing, or reported twice; errors of the search.
pub fn self_test(
    engine: &mut dyn NonceEngine,
    header: &[u8],
    nonces: Range<u64>,
    mut expected: impl FnMut(u64) -> [u8; 32],
) -> Result<(), EngineError> {
    let (found, monitor) = (Mutex::new(Vec::new()), SearchMonitor::new());
    let note = |hit: Hit| found.lock().unwrap_or_else(PoisonError::into_inner).push(hit);
    let progress = search(engine, &NonceJob::new(header, [0xff; 32]), nonces.clone(), &monitor, &note)?;
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable_by_key(|hit| hit.nonce);
    let right = nonces.clone().map(|nonce| Hit { nonce, digest: expected(nonce) });
    let all = SearchProgress { hashes: nonces.end - nonces.start, next: nonces.end };
    if progress == all && monitor.hashes() == all.hashes && found.into_iter().eq(right) {
        Ok(())
    } else {
        Err(EngineError::SelfTest { engine: engine.name().to_owned() })
    }
}
