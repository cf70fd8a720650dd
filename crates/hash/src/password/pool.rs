//! Memory for hashes, kept between calls and shared by threads, within a budget.

use super::passwords::NEVER;
use crate::argon2::{Arena, HashError, MAX_BATCH, PagePolicy, Stop};
use crate::process::{PerProcess, Process};
use arrayvec::ArrayVec;
use core::ptr;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How much idle memory is worth keeping, unless a single hash needs more.
const KEEP_KIB: u64 = 256 * 1024;

/// How often whoever waits for memory looks whether to stop: nobody is told of that.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Arenas that wait for the next hash, with nothing in them.
pub(super) struct Pool {
    /// Of each process: what threads of a parent use or wait for is none of a child's business.
    shared: PerProcess<Shared>,
    /// Most memory of all hashes that run at once, in KiB.
    budget_kib: u64,
    keep_kib: u64,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Memory came back, or a turn was taken.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Arena>,
    /// What leases may use.
    used_kib: u64,
    /// Number of the call that comes next.
    next_number: u64,
    /// Those that have no memory yet: first come, first served, so that many small hashes never keep a large one waiting
    /// for ever.
    waiting: VecDeque<u64>,
}

impl Pool {
    /// Keeps at least the memory of one hash of `usual_kib`.
    pub(super) fn new(usual_kib: u64) -> Pool {
        let keep_kib = usual_kib.max(KEEP_KIB);
        Pool { shared: PerProcess::new(Shared::default()), budget_kib: u64::MAX, keep_kib }
    }

    /// How many arenas wait, and how many of their blocks are zero. For tests of whoever uses them.
    #[cfg(test)]
    pub(super) fn idle(&self) -> (usize, u64) {
        let state = self.shared.get_or(Shared::default).state();
        let empty = state.idle.iter().filter(|arena| arena.is_zero(arena.capacity()));
        (state.idle.len(), empty.map(Arena::capacity).sum())
    }

    /// How much memory hashes have now. For the same.
    #[cfg(test)]
    pub(super) fn used_kib(&self) -> u64 {
        self.shared.get_or(Shared::default).state().used_kib
    }

    /// How many calls have come. For the same.
    #[cfg(test)]
    pub(super) fn calls(&self) -> u64 {
        self.shared.get_or(Shared::default).state().next_number
    }

    pub(super) fn with_budget(self, budget_kib: u64) -> Pool {
        Pool { keep_kib: self.keep_kib.min(budget_kib), budget_kib, ..self }
    }

    /// Whether a call may have to wait for another.
    pub(super) fn is_bounded(&self) -> bool {
        self.budget_kib < u64::MAX
    }

    /// How many hashes of `kib` may run at once: at least one.
    pub(super) fn room_for(&self, kib: u64) -> usize {
        usize::try_from(self.budget_kib / kib.max(1)).unwrap_or(usize::MAX).max(1)
    }

    /// Memory for `count` hashes of `kib` each, [`MAX_BATCH`] at most. Waits until the budget has room; what exceeds the
    /// whole budget runs alone.
    ///
    /// # Errors
    /// [`HashError::Stopped`], as soon as that is asked for; whoever comes next has the turn then.
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
            // Thousands may wait whom nobody stops: they are not woken to look.
            state = if ptr::eq(stop, &NEVER) {
                shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
            } else {
                shared.changed.wait_timeout(state, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0
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
        // What nobody uses counts as well, and so does what is larger than it need be.
        let spare: u64 = arenas.iter().map(|arena| arena.capacity().saturating_sub(kib / count as u64)).sum();
        let excess = |state: &State| {
            let idle: u64 = state.idle.iter().map(Arena::capacity).sum();
            state.used_kib.saturating_add(idle).saturating_add(spare) > self.budget_kib
        };
        let mut too_much = Vec::new();
        while excess(&state)
            && let Some(arena) = state.idle.pop()
        {
            too_much.push(arena);
        }
        if excess(&state) {
            too_much.extend(arenas.drain(..));
        }
        drop(state);
        // There may be room for whoever is next.
        shared.changed.notify_all();
        drop(too_much);
        while arenas.len() < count {
            arenas.push(Arena::new(PagePolicy::default()));
        }
        Ok(Lease { shared, keep_kib: self.keep_kib, process: Process::current(), arenas, kib })
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic of another thread leaves the counts as they are.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory that goes back to the pool when dropped.
pub(super) struct Lease<'a> {
    shared: &'a Shared,
    keep_kib: u64,
    /// Whose memory it is.
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
        // A hash that did not come to its end has wiped nothing.
        self.arenas.iter_mut().for_each(Arena::wipe);
        let mut state = self.shared.state();
        state.used_kib -= self.kib;
        let mut kept: u64 = state.idle.iter().map(Arena::capacity).sum();
        let mut too_much = Vec::new();
        for arena in self.arenas.drain(..) {
            if kept + arena.capacity() <= self.keep_kib {
                kept += arena.capacity();
                state.idle.push(arena);
            } else {
                too_much.push(arena);
            }
        }
        drop(state);
        self.shared.changed.notify_all();
        // Giving pages back takes long: others need not wait for it.
        drop(too_much);
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
        while pool.calls() < count {
            thread::yield_now();
        }
    }

    #[test]
    fn memory_is_kept_up_to_a_bound() {
        let pool = Pool::new(64);
        {
            let mut lease = lease(&pool, 64, 2);
            for arena in lease.arenas() {
                arena.reserve(64).unwrap();
            }
        }
        let kept = |pool: &Pool| {
            pool.shared.get_or(Shared::default).state().idle.iter().map(Arena::capacity).sum::<u64>()
        };
        assert!(kept(&pool) >= 128);
        let mut again = lease(&pool, 64, 1);
        assert!(again.arenas()[0].capacity() >= 64, "used again");
        again.arenas()[0].reserve(KEEP_KIB + 1).unwrap();
        drop(again);
        assert!(kept(&pool) <= KEEP_KIB, "too large to be kept");
        assert_eq!(pool.shared.get_or(Shared::default).state().used_kib, 0);
    }

    #[test]
    fn nobody_is_overtaken() {
        let pool = Pool::new(10).with_budget(20);
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            let held = lease(&pool, 10, 1);
            scope.spawn(|| {
                let lease = lease(&pool, 20, 1);
                order.lock().unwrap().push(20);
                drop(lease);
            });
            await_calls(&pool, 2);
            // There is room for this one now, but not if the large one shall ever come to its turn.
            scope.spawn(|| {
                let lease = lease(&pool, 10, 1);
                order.lock().unwrap().push(10);
                drop(lease);
            });
            await_calls(&pool, 3);
            drop(held);
        });
        assert_eq!(order.into_inner().unwrap(), [20, 10]);
    }

    #[test]
    fn who_stops_waiting_leaves_the_turn_to_the_next() {
        let pool = Pool::new(10).with_budget(20);
        let stop = Stop::new();
        thread::scope(|scope| {
            let held = lease(&pool, 10, 1);
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
            drop(held);
        });
        let state = pool.shared.get_or(Shared::default).state();
        assert_eq!((state.used_kib, state.waiting.len()), (0, 0));
    }

    #[test]
    fn hashes_wait_for_room_in_the_budget() {
        let pool = Pool::new(10).with_budget(25);
        assert_eq!((pool.room_for(10), pool.room_for(26)), (2, 1));
        let (used, most) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let held = lease(&pool, 10, 1);
                        most.fetch_max(used.fetch_add(10, Ordering::SeqCst) + 10, Ordering::SeqCst);
                        thread::yield_now();
                        used.fetch_sub(10, Ordering::SeqCst);
                        drop(held);
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
        assert_eq!(capacity, 0, "an arena from before that is too large now was given back");
        drop(two);
        drop(lease(&pool, 1000, 1));
        assert_eq!(
            pool.shared.get_or(Shared::default).state().used_kib,
            0,
            "what exceeds the budget runs alone"
        );
    }
}
