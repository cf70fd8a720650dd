//! [`HitChecker`]: recomputes the hits of a device on the processor, beside the device.

use super::{DIGEST_LEN, Pow};
use crate::argon2::memory::Block;
use crate::argon2::{HashError, Hasher, Input, Wipe};
use crate::engine::{EngineError, Hit, OpenLease, Stop};
use core::fmt;
use core::time::Duration;
use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;

/// The most hits that wait for a check. With more, the device waits: its target is far too easy.
const MAX_WAITING: usize = 64;

/// Polling interval for a stop.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Recomputes hits on the processor: the only check that finds a bit flip in a device.
///
/// The memory of one hash is allocated once and kept. Several devices may share a checker, which then checks
/// one hit at a time.
#[derive(Debug)]
pub struct HitChecker {
    pow: Pow,
    hasher: Mutex<Hasher>,
}

impl HitChecker {
    /// A checker for this function. Takes the memory of one hash, with all its pages: if they appeared during
    /// the first check, that would take several times as long.
    ///
    /// # Errors
    /// [`EngineError::OutOfMemory`].
    pub fn new(pow: Pow) -> Result<HitChecker, EngineError> {
        // Nothing is secret here.
        let mut hasher = Hasher::new(pow.params()).wipe(Wipe::OnDrop);
        hasher.reserve()?;
        hasher.arena().prefault();
        Ok(HitChecker { pow, hasher: Mutex::new(hasher) })
    }

    /// Bytes of memory of a checker for this function.
    pub fn memory_for(pow: Pow) -> u64 {
        pow.params().blocks() * size_of::<Block>() as u64
    }

    /// The function.
    pub fn pow(&self) -> Pow {
        self.pow
    }

    /// Calls `device` with a queue for its hits, and checks and reports these on another thread. Returns the
    /// result of `device` once all hits in the queue are checked, or withdrawn because `stop`, or the stop of
    /// their work, was set.
    ///
    /// # Errors
    /// [`EngineError::SelfTest`], which names `engine`, for a wrong hit, or an error of the check; the queue
    /// has [failed](HitQueue::has_failed) then.
    ///
    /// # Panics
    /// With the panic of the device, of the check or of the supply that gets a hit. A hit whose check or report
    /// did not end is withdrawn.
    pub fn check_beside<'a, R>(
        &self,
        engine: &str,
        stop: &Stop,
        device: impl FnOnce(&HitQueue<'a>) -> R,
    ) -> Result<R, EngineError> {
        let queue = HitQueue::new();
        let (result, checked) = thread::scope(|scope| {
            let check = || {
                let _fails = FailsOnPanic(&queue);
                self.check_all(engine, &queue, stop)
            };
            let checks = thread::Builder::new()
                .name("hit-check".to_owned())
                .spawn_scoped(scope, check)
                .map_err(|error| EngineError::System { reason: error.to_string() })?;
            let result = {
                let _closes = ClosesQueue(&queue);
                device(&queue)
            };
            Ok::<_, EngineError>((result, checks.join().unwrap_or_else(|panic| resume_unwind(panic))))
        })?;
        checked.map(|()| result)
    }

    /// Checks hits until the queue is closed and empty.
    fn check_all(&self, engine: &str, queue: &HitQueue<'_>, stop: &Stop) -> Result<(), EngineError> {
        while let Some(unreported) = queue.next() {
            let UnreportedHit { lease, hit, .. } = &unreported;
            let error = match self.is_right(lease, *hit, stop) {
                Ok(Some(true)) => {
                    unreported.report();
                    continue;
                }
                // Dropped, and so withdrawn.
                Ok(None) => continue,
                Ok(Some(false)) => EngineError::SelfTest { engine: engine.to_owned() },
                Err(error) => error,
            };
            queue.fail();
            return Err(error);
        }
        Ok(())
    }

    /// Does the processor compute the same digest? `None` if it was stopped before.
    fn is_right(&self, lease: &OpenLease<'_>, hit: Hit, stop: &Stop) -> Result<Option<bool>, EngineError> {
        let work = lease.work();
        self.pow.check(work.header())?;
        let Some(mut hasher) = self.lock_unless(stop) else { return Ok(None) };
        if work.stop().is_set() {
            return Ok(None);
        }
        let mut right = [0; DIGEST_LEN];
        let hash = |input: &Input<'_>| hasher.hash_until(input, &mut right, stop);
        let hashed = self.pow.input(work.header(), hit.nonce, hash);
        match hashed {
            Ok(()) => Ok(Some(right == hit.digest)),
            Err(HashError::Stopped) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The memory, unless `stop` is set before another device's check has ended.
    fn lock_unless(&self, stop: &Stop) -> Option<MutexGuard<'_, Hasher>> {
        while !stop.is_set() {
            match self.hasher.try_lock() {
                Ok(hasher) => return Some(hasher),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => thread::sleep(STOP_POLL_INTERVAL),
            }
        }
        None
    }
}

/// A hit whose check has not succeeded yet. Unless it is reported, its drop withdraws it, so that no nonce
/// counts as tried whose hit was lost: by a stop, by an error, or by a panic of the check or of the report.
struct UnreportedHit<'a> {
    lease: Arc<OpenLease<'a>>,
    hit: Hit,
    is_reported: bool,
}

impl<'a> UnreportedHit<'a> {
    fn new(lease: &Arc<OpenLease<'a>>, hit: Hit) -> UnreportedHit<'a> {
        UnreportedHit { lease: Arc::clone(lease), hit, is_reported: false }
    }

    fn report(mut self) {
        self.lease.report_hit(self.hit);
        self.is_reported = true;
    }
}

impl Drop for UnreportedHit<'_> {
    fn drop(&mut self) {
        if !self.is_reported {
            self.lease.withdraw_from(self.hit.nonce);
        }
    }
}

/// Hits of a device that wait for their check, with their leases, which end after it.
pub struct HitQueue<'a> {
    state: Mutex<QueueState<'a>>,
    changed: Condvar,
}

struct QueueState<'a> {
    hits: VecDeque<UnreportedHit<'a>>,
    /// The device has ended.
    is_closed: bool,
    has_failed: bool,
}

impl<'a> HitQueue<'a> {
    fn new() -> HitQueue<'a> {
        let state = QueueState { hits: VecDeque::new(), is_closed: false, has_failed: false };
        HitQueue { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Adds a hit. Waits while the queue is full; withdraws the hit if `stop` is set meanwhile, or a check has
    /// failed.
    pub fn push(&self, lease: &Arc<OpenLease<'a>>, hit: Hit, stop: &Stop) {
        let unreported = UnreportedHit::new(lease, hit);
        let mut state = self.state();
        while state.hits.len() >= MAX_WAITING && !state.has_failed && !stop.is_set() {
            // A set `stop` sends no signal, so wait with a timeout.
            let waited = self.changed.wait_timeout(state, STOP_POLL_INTERVAL);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if !state.has_failed && state.hits.len() < MAX_WAITING {
            state.hits.push_back(unreported);
            self.changed.notify_all();
        }
    }

    /// Has a check failed? Then the device must end.
    pub fn has_failed(&self) -> bool {
        self.state().has_failed
    }

    /// The next hit; waits for one until the queue is closed.
    fn next(&self) -> Option<UnreportedHit<'a>> {
        let mut state = self.state();
        loop {
            if let Some(next) = state.hits.pop_front() {
                self.changed.notify_all();
                return Some(next);
            }
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Withdraws all hits that wait, and those to come.
    fn fail(&self) {
        let mut state = self.state();
        state.has_failed = true;
        let hits = core::mem::take(&mut state.hits);
        // Leases end with their last hit, and call the supply then: not under this lock.
        drop(state);
        self.changed.notify_all();
        drop(hits);
    }

    fn state(&self) -> MutexGuard<'_, QueueState<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for HitQueue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HitQueue").field("waiting", &self.state().hits.len()).finish_non_exhaustive()
    }
}

/// Closes the queue when the device ends, also by a panic.
struct ClosesQueue<'q, 'a>(&'q HitQueue<'a>);

impl Drop for ClosesQueue<'_, '_> {
    fn drop(&mut self) {
        self.0.state().is_closed = true;
        self.0.changed.notify_all();
    }
}

/// Fails the queue if a check panics, so that the device ends.
struct FailsOnPanic<'q, 'a>(&'q HitQueue<'a>);

impl Drop for FailsOnPanic<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.fail();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argon2::Params;
    use crate::argon2::pow::{Order, Recipe};
    use crate::engine::{NonceJob, RangeSearch, SearchMonitor, SearchProgress};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    const HEADER: &[u8] = b"some header";

    fn pow(passes: u32) -> Pow {
        let recipe = Recipe::NonceIsPassword { header_len: None };
        Pow::new(Params::new(64, passes, 1).unwrap(), recipe, Order::BigEndian)
    }

    fn digest(nonce: u64) -> [u8; 32] {
        Hasher::new(pow(1).params()).hash(&Input::new(&nonce.to_le_bytes(), HEADER)).unwrap()
    }

    /// Gives the nonces of a range to a device with these digests, one lease at a time, and checks its hits.
    fn checked(
        checker: &HitChecker,
        range: &RangeSearch<'_>,
        stop: &Stop,
        digest: impl Fn(u64) -> [u8; 32],
    ) -> Result<(), EngineError> {
        checker.check_beside("device", stop, |queue| {
            while !stop.is_set()
                && !queue.has_failed()
                && let Some(lease) = OpenLease::take_from(range, 3)
            {
                let lease = Arc::new(lease);
                for nonce in lease.nonces() {
                    queue.push(&lease, Hit::new(nonce, digest(nonce)), stop);
                    lease.count_tried();
                }
            }
        })
    }

    #[test]
    fn right_hits_are_reported_in_order_and_a_wrong_one_ends_the_device() {
        let checker = HitChecker::new(pow(1)).unwrap();
        assert_eq!(HitChecker::memory_for(pow(1)), 64 << 10);
        for wrong in [None, Some(0), Some(40), Some(99)] {
            let (monitor, hits) = (SearchMonitor::new(), Mutex::new(Vec::new()));
            let note = |hit: Hit| hits.lock().unwrap().push(hit);
            let job = NonceJob::new(HEADER, [0xff; 32]);
            let range = RangeSearch::new(&job, Order::BigEndian, 0..100, &monitor, &note);
            let given = |nonce| digest(if Some(nonce) == wrong { nonce + 1 } else { nonce });
            let ended = checked(&checker, &range, monitor.stop(), given);
            let next = wrong.unwrap_or(100);
            if wrong.is_some() {
                assert_eq!(ended, Err(EngineError::SelfTest { engine: "device".to_owned() }));
            } else {
                assert_eq!((ended, range.progress()), (Ok(()), SearchProgress::new(100, 100)));
            }
            assert_eq!(range.progress().next, next);
            let right = (0..next).map(|nonce| Hit::new(nonce, digest(nonce)));
            assert!(hits.into_inner().unwrap().into_iter().eq(right), "{wrong:?}");
        }
    }

    /// A check that takes minutes, and more hits than the queue holds: a stop ends both, and nothing counts as
    /// tried.
    #[test]
    fn a_stop_ends_a_check_and_a_device_that_waits_for_it() {
        let checker = HitChecker::new(pow(1_000_000)).unwrap();
        let monitor = SearchMonitor::new();
        let never = |hit: Hit| panic!("{hit:?}");
        let job = NonceJob::new(HEADER, [0xff; 32]);
        let range = RangeSearch::new(&job, Order::BigEndian, 7..100_000, &monitor, &never);
        let given = AtomicUsize::new(0);
        let _limit = hashmill_testkit::wait::limit("the end of a check that is stopped");
        thread::scope(|scope| {
            let search = scope.spawn(|| {
                checked(&checker, &range, monitor.stop(), |_| {
                    given.fetch_add(1, Ordering::Relaxed);
                    [0; 32]
                })
            });
            // One is checked, others wait, and the device waits with one more.
            while given.load(Ordering::Relaxed) < MAX_WAITING + 2 {
                thread::yield_now();
            }
            monitor.stop().set();
            assert_eq!(search.join().unwrap(), Ok(()));
        });
        assert_eq!(range.progress().next, 7);
    }

    /// The device has not checked the header, which has no place for the nonce.
    #[test]
    fn a_hit_of_a_header_that_the_function_does_not_take_is_an_error_and_is_withdrawn() {
        let recipe = Recipe::NonceInHeader { offset: 8, len: 4, salt_len: 8 };
        let pow = Pow::new(Params::new(64, 1, 1).unwrap(), recipe, Order::BigEndian);
        let (checker, monitor) = (HitChecker::new(pow).unwrap(), SearchMonitor::new());
        let never = |hit: Hit| panic!("{hit:?}");
        let job = NonceJob::new(HEADER, [0xff; 32]);
        let range = RangeSearch::new(&job, Order::BigEndian, 5..100, &monitor, &never);
        let ended = checked(&checker, &range, monitor.stop(), digest);
        assert_eq!(ended, Err(EngineError::HeaderLen { given: HEADER.len(), least: 12, most: 256 }));
        assert_eq!(range.progress().next, 5);
    }

    #[test]
    fn hits_of_stopped_work_are_withdrawn() {
        let checker = HitChecker::new(pow(1)).unwrap();
        let monitor = SearchMonitor::new();
        let never = |hit: Hit| panic!("{hit:?}");
        let job = NonceJob::new(HEADER, [0xff; 32]);
        let range = RangeSearch::new(&job, Order::BigEndian, 0..3, &monitor, &never);
        let ended = checker.check_beside("device", monitor.stop(), |queue| {
            let lease = Arc::new(OpenLease::take_from(&range, 3).unwrap());
            lease.work().stop().set();
            // Not even computed: it is wrong.
            queue.push(&lease, Hit::new(1, [0; 32]), monitor.stop());
            (0..3).for_each(|_| lease.count_tried());
        });
        assert_eq!((ended, range.progress()), (Ok(()), SearchProgress::new(3, 1)));
    }

    #[test]
    fn a_panic_of_a_report_or_of_the_device_comes_out() {
        let checker = HitChecker::new(pow(1)).unwrap();
        let (monitor, job) = (SearchMonitor::new(), NonceJob::new(HEADER, [0xff; 32]));
        let _limit = hashmill_testkit::wait::limit("the end of a search with a panic");
        // The hit whose report panics, the first, second or last of a lease, does not count as tried.
        for lost in [0, 1, 2, 40, 41, 42, 99] {
            let report = |hit: Hit| {
                if hit.nonce == lost {
                    resume_unwind(Box::new("of the report"));
                }
            };
            let range = RangeSearch::new(&job, Order::BigEndian, 0..u64::MAX, &monitor, &report);
            let search = AssertUnwindSafe(|| checked(&checker, &range, monitor.stop(), digest));
            assert_eq!(catch_unwind(search).unwrap_err().downcast_ref(), Some(&"of the report"));
            assert_eq!(range.progress().next, lost);
        }
        let range = RangeSearch::new(&job, Order::BigEndian, 0..u64::MAX, &monitor, &|_| {});
        let device = |_| resume_unwind(Box::new("of the device"));
        let search = AssertUnwindSafe(|| checked(&checker, &range, monitor.stop(), device));
        assert_eq!(catch_unwind(search).unwrap_err().downcast_ref(), Some(&"of the device"));
    }

    /// Two devices at once: each hit is checked by itself, and a stop of one does not wait for the other's
    /// check.
    #[test]
    fn devices_share_a_checker() {
        let checker = HitChecker::new(pow(1)).unwrap();
        let (monitor, hits) = (SearchMonitor::new(), AtomicUsize::new(0));
        let note = |_| {
            hits.fetch_add(1, Ordering::Relaxed);
        };
        let job = NonceJob::new(HEADER, [0xff; 32]);
        let range = RangeSearch::new(&job, Order::BigEndian, 0..200, &monitor, &note);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| checked(&checker, &range, monitor.stop(), digest).unwrap());
            }
        });
        assert_eq!((hits.load(Ordering::Relaxed), range.progress()), (200, SearchProgress::new(200, 200)));
        let _limit = hashmill_testkit::wait::limit("the end of a device beside a long check");
        let checker = HitChecker::new(pow(1_000_000)).unwrap();
        let (first, second, is_checking) =
            (SearchMonitor::new(), SearchMonitor::new(), AtomicBool::new(false));
        thread::scope(|scope| {
            let range = RangeSearch::new(&job, Order::BigEndian, 0..1, &first, &|_| {});
            let (checker, first, is_checking) = (&checker, &first, &is_checking);
            let long = scope.spawn(move || {
                checked(checker, &range, first.stop(), |_| {
                    is_checking.store(true, Ordering::Relaxed);
                    [0; 32]
                })
            });
            while !is_checking.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            let range = RangeSearch::new(&job, Order::BigEndian, 0..1, &second, &|_| {});
            let stopped = checked(checker, &range, second.stop(), |_| {
                second.stop().set();
                [0; 32]
            });
            assert_eq!((stopped, range.progress().next), (Ok(()), 0));
            first.stop().set();
            assert_eq!(long.join().unwrap(), Ok(()));
        });
    }
}
