//! Memory pool for hashes, shared by threads within a budget.

use crate::argon2::{Arena, HashError, MAX_BATCH, PagePolicy, Stop};
use crate::process::{PerProcess, Process};
use arrayvec::ArrayVec;
use core::ptr;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Idle memory that is kept, unless a single hash needs more.
const KEEP_KIB: u64 = 256 * 1024;

/// Polling interval for a stop while waiting for memory: setting it sends no signal.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The flag of work that cannot be stopped. A lease with it waits without polling.
pub(super) static NEVER: Stop = Stop::new();

/// Idle arenas, wiped, with a memory budget.
pub(super) struct Pool {
    /// Per process: leases and waiting threads of a parent do not concern a child.
    shared: PerProcess<Shared>,
    /// The most memory of all running hashes, in KiB.
    budget_kib: u64,
    keep_kib: u64,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Signalled when memory was returned or a turn was taken.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Arena>,
    /// Memory that leases may use.
    used_kib: u64,
    /// Number of the next call.
    next_number: u64,
    /// Calls that have no memory yet. First come, first served, so that many small hashes never starve a
    /// large one.
    waiting: VecDeque<u64>,
}

impl Pool {
    /// A pool that keeps at least the memory of one hash of `usual_kib`.
    pub(super) fn new(usual_kib: u64) -> Pool {
        let keep_kib = usual_kib.max(KEEP_KIB);
        Pool { shared: PerProcess::new(Shared::default()), budget_kib: u64::MAX, keep_kib }
    }

    /// The number of idle arenas, and of their zero blocks. For tests of the pool's users.
    #[cfg(test)]
    pub(super) fn idle(&self) -> (usize, u64) {
        let state = self.shared.get_or(Shared::default).state();
        let empty = state.idle.iter().filter(|arena| arena.is_zero(arena.capacity()));
        (state.idle.len(), empty.map(Arena::capacity).sum())
    }

    /// Memory of running hashes. For the same tests.
    #[cfg(test)]
    pub(super) fn used_kib(&self) -> u64 {
        self.shared.get_or(Shared::default).state().used_kib
    }

    /// The number of calls so far. For the same tests.
    #[cfg(test)]
    pub(super) fn calls(&self) -> u64 {
        self.shared.get_or(Shared::default).state().next_number
    }

    pub(super) fn with_budget(self, budget_kib: u64) -> Pool {
        Pool { keep_kib: self.keep_kib.min(budget_kib), budget_kib, ..self }
    }

    /// Can a call have to wait for another?
    pub(super) fn is_bounded(&self) -> bool {
        self.budget_kib < u64::MAX
    }

    /// The number of hashes of `kib` that may run at once: at least one.
    pub(super) fn max_concurrent(&self, kib: u64) -> usize {
        usize::try_from(self.budget_kib / kib.max(1)).unwrap_or(usize::MAX).max(1)
    }

    /// Leases memory for `count` hashes of `kib` each, [`MAX_BATCH`] at most. Waits until the budget has
    /// room; a request that exceeds the whole budget runs alone.
    ///
    /// # Errors
    /// [`HashError::Stopped`] soon after `stop` is set; the next call then has its turn.
    pub(super) fn lease(&self, kib: u64, count: usize, stop: &Stop) -> Result<Lease<'_>, HashError> {
        let kib = kib * count as u64;
        let shared = self.shared.get_or(Shared::default);
        let mut state = shared.state();
        let number = state.next_number;
        state.next_number += 1;
        let has_room =
            |state: &State| state.used_kib == 0 || state.used_kib.saturating_add(kib) <= self.budget_kib;
        state.waiting.push_back(number);
        loop {
            if stop.is_set() {
                state.waiting.retain(|waiting| *waiting != number);
                drop(state);
                shared.changed.notify_all();
                return Err(HashError::Stopped);
            }
            if state.waiting.front() == Some(&number) && has_room(&state) {
                break;
            }
            // Thousands of calls that cannot be stopped may wait: do not wake them to poll.
            state = if ptr::eq(stop, &NEVER) {
                shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
            } else {
                shared.changed.wait_timeout(state, POLL_INTERVAL).unwrap_or_else(PoisonError::into_inner).0
            };
        }
        state.waiting.pop_front();
        state.used_kib += kib;
        let mut arenas = ArrayVec::<Arena, MAX_BATCH>::new();
        while arenas.len() < count
            && let Some(arena) = state.idle.pop()
        {
            arenas.push(arena);
        }
        // Idle and oversized memory counts, too.
        let spare: u64 = arenas.iter().map(|arena| arena.capacity().saturating_sub(kib / count as u64)).sum();
        let is_over_budget = |state: &State| {
            let idle: u64 = state.idle.iter().map(Arena::capacity).sum();
            state.used_kib.saturating_add(idle).saturating_add(spare) > self.budget_kib
        };
        let mut excess_arenas = Vec::new();
        while is_over_budget(&state)
            && let Some(arena) = state.idle.pop()
        {
            excess_arenas.push(arena);
        }
        if is_over_budget(&state) {
            excess_arenas.extend(arenas.drain(..));
        }
        drop(state);
        // There may be room for the next call.
        shared.changed.notify_all();
        drop(excess_arenas);
        while arenas.len() < count {
            arenas.push(Arena::new(PagePolicy::default()));
        }
        Ok(Lease { shared, keep_kib: self.keep_kib, process: Process::current(), arenas, kib })
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic of another thread leaves the counts valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory that returns to the pool on drop.
pub(super) struct Lease<'a> {
    shared: &'a Shared,
    keep_kib: u64,
    /// The process that owns the memory.
    process: Process,
    arenas: ArrayVec<Arena, MAX_BATCH>,
    kib: u64,
}

impl Lease<'_> {
    pub(super) fn arenas(&mut self) -> &mut [Arena] {
        &mut self.arenas
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        // In a child that was forked meanwhile, the pool is the parent's.
        if self.process != Process::current() {
            return;
        }
        // A hash that was aborted has wiped nothing.
        self.arenas.iter_mut().for_each(Arena::wipe);
        let mut state = self.shared.state();
        state.used_kib -= self.kib;
        let mut idle_kib: u64 = state.idle.iter().map(Arena::capacity).sum();
        let mut excess_arenas = Vec::new();
        for arena in self.arenas.drain(..) {
            if idle_kib + arena.capacity() <= self.keep_kib {
                idle_kib += arena.capacity();
                state.idle.push(arena);
            } else {
                excess_arenas.push(arena);
            }
        }
        drop(state);
        self.shared.changed.notify_all();
        // Freeing pages is slow, so the lock is released first.
        drop(excess_arenas);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    fn lease(pool: &Pool, kib: u64, count: usize) -> Lease<'_> {
        pool.lease(kib, count, &Stop::new()).unwrap()
    }

    fn await_calls(pool: &Pool, count: u64) {
        hashmill_testkit::wait::until("calls of the pool", || pool.calls() >= count);
    }

    #[test]
    fn retained_memory_is_bounded() {
        let pool = Pool::new(64);
        {
            let mut lease = lease(&pool, 64, 2);
            for arena in lease.arenas() {
                arena.reserve(64).unwrap();
            }
        }
        let idle_kib = |pool: &Pool| {
            pool.shared.get_or(Shared::default).state().idle.iter().map(Arena::capacity).sum::<u64>()
        };
        assert!(idle_kib(&pool) >= 128);
        let mut again = lease(&pool, 64, 1);
        assert!(again.arenas()[0].capacity() >= 64, "used again");
        again.arenas()[0].reserve(KEEP_KIB + 1).unwrap();
        drop(again);
        assert!(idle_kib(&pool) <= KEEP_KIB, "too large to be kept");
        assert_eq!(pool.shared.get_or(Shared::default).state().used_kib, 0);
    }

    #[test]
    fn waiting_calls_are_served_in_order() {
        let pool = Pool::new(10).with_budget(20);
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            let first_lease = lease(&pool, 10, 1);
            scope.spawn(|| {
                let lease = lease(&pool, 20, 1);
                order.lock().unwrap().push(20);
                drop(lease);
            });
            await_calls(&pool, 2);
            // There is room for this one now, but taking it would starve the large one.
            scope.spawn(|| {
                let lease = lease(&pool, 10, 1);
                order.lock().unwrap().push(10);
                drop(lease);
            });
            await_calls(&pool, 3);
            drop(first_lease);
        });
        assert_eq!(order.into_inner().unwrap(), [20, 10]);
    }

    #[test]
    fn stopped_wait_passes_its_turn_on() {
        let pool = Pool::new(10).with_budget(20);
        let stop = Stop::new();
        thread::scope(|scope| {
            let first_lease = lease(&pool, 10, 1);
            let stopped = scope.spawn(|| pool.lease(20, 1, &stop).err());
            await_calls(&pool, 2);
            let next = scope.spawn(|| lease(&pool, 10, 1).kib);
            await_calls(&pool, 3);
            let last = scope.spawn(|| pool.lease(10, 1, &stop).err());
            await_calls(&pool, 4);
            stop.set();
            assert_eq!(stopped.join().unwrap(), Some(HashError::Stopped));
            assert_eq!(last.join().unwrap(), Some(HashError::Stopped));
            assert_eq!(next.join().unwrap(), 10);
            drop(first_lease);
        });
        let state = pool.shared.get_or(Shared::default).state();
        assert_eq!((state.used_kib, state.waiting.len()), (0, 0));
    }

    #[test]
    fn hashes_wait_for_free_budget() {
        let pool = Pool::new(10).with_budget(25);
        assert_eq!((pool.max_concurrent(10), pool.max_concurrent(26)), (2, 1));
        let (used, most) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let first_lease = lease(&pool, 10, 1);
                        most.fetch_max(used.fetch_add(10, Ordering::SeqCst) + 10, Ordering::SeqCst);
                        thread::yield_now();
                        used.fetch_sub(10, Ordering::SeqCst);
                        drop(first_lease);
                    }
                });
            }
        });
        assert!(most.into_inner() <= 25);
        {
            let mut large = lease(&pool, 20, 1);
            large.arenas()[0].reserve(20).unwrap();
        }
        let two = lease(&pool, 10, 2);
        let capacity: u64 = two.arenas.iter().map(Arena::capacity).sum();
        assert_eq!(capacity, 0, "an oversized idle arena was freed");
        drop(two);
        drop(lease(&pool, 1000, 1));
        assert_eq!(
            pool.shared.get_or(Shared::default).state().used_kib,
            0,
            "what exceeds the budget runs alone"
        );
    }
}
