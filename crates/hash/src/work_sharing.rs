//! Work sharing among threads without waiting for a thread to wake up.
//!
//! Units are taken in order by any thread: the caller at once, helpers when they arrive. `rayon::join` from
//! outside a pool hands over the whole job and sleeps until a worker has woken up, or, on a busy pool, until
//! one is free: measured with BLAKE3, that makes inputs below 1 MiB up to three times slower than one thread
//! alone. Here a helper that arrives late finds nothing to do and touches nothing; one that never arrives,
//! because its thread stayed with the parent of a forked child, is not missed.
//!
//! A thread that takes a unit of the next phase first waits for the units of this one; those are held by
//! threads that already run. After a panic no further unit is started, and the caller resumes the panic as
//! soon as the started units have ended.
#![expect(unsafe_code, reason = "work on the caller's stack, borrowed by the workers")]

use crate::process::Process;
use std::any::Any;
use std::cell::Cell;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};

/// `work(phase, unit)`.
type Work<'a> = dyn Fn(u64, usize) + Sync + 'a;

/// The payload of a panic.
type Payload = Box<dyn Any + Send>;

/// The threads that work on a call.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub enum Threads {
    /// The calling thread alone.
    Serial,
    /// As many threads as are available and useful, where that is faster: those of a
    /// [`Context`](crate::blake3::Context), otherwise those of the current rayon pool.
    #[default]
    Auto,
    /// At most this many, including the calling thread.
    AtMost(usize),
}

impl Threads {
    /// The number of threads if `offered` could work; `pays` tells whether a second one is faster.
    pub(crate) fn count(self, pays: bool, offered: impl FnOnce() -> usize) -> usize {
        match self {
            Threads::Serial | Threads::AtMost(1) => 1,
            Threads::Auto if !pays => 1,
            Threads::Auto => offered(),
            Threads::AtMost(most) => most.clamp(1, offered()),
        }
    }
}

/// The number of threads of the current rayon pool that can work: only the caller in a forked child whose
/// pool stayed with the parent.
///
/// The process of a pool is recorded when it is first used here. If nothing here was called before the fork,
/// the result is the pool's own; [`run`] then works without the helpers that never come.
pub(crate) fn available() -> usize {
    /// For the global pool, and for the pool whose worker this thread is; 0 if not yet used.
    static GLOBAL: AtomicU32 = AtomicU32::new(0);
    thread_local! {
        static OWN: Cell<u32> = const { Cell::new(0) };
    }
    let now = Process::current().number();
    let first = if rayon::current_thread_index().is_some() {
        let first = OWN.get();
        OWN.set(if first == 0 { now } else { first });
        first
    } else {
        GLOBAL.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed).unwrap_or_else(|first| first)
    };
    if first == 0 || first == now { rayon::current_num_threads() } else { 1 }
}

struct Job {
    /// Only dereferenced by the holder of an unfinished unit.
    work: *const Work<'static>,
    units: u64,
    /// Units of all phases.
    total: u64,
    next: AtomicU64,
    finished: AtomicU64,
    /// Set after a panic: the remaining units are skipped.
    panicked: AtomicBool,
    /// The payload of the first panic.
    panic: Mutex<Option<Payload>>,
    caller: Thread,
}

// SAFETY: all fields but `work` are `Send` and `Sync`; the target of `work` is `Sync`, and `run` keeps it
// alive while any thread may dereference it.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

impl Job {
    fn new(phases: u64, units: usize, work: &Work<'_>) -> Job {
        // SAFETY: only the lifetime changes. Only `help` dereferences the pointer, and only for unfinished
        // units, all of which `finish` waits for. Between `new` and the end of `finish` nothing unwinds:
        // every call of code outside this file is caught.
        let work = unsafe { mem::transmute::<*const Work<'_>, *const Work<'static>>(work) };
        let units = units as u64;
        Job {
            work,
            units,
            total: phases * units,
            next: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            panicked: AtomicBool::new(false),
            panic: Mutex::new(None),
            caller: thread::current(),
        }
    }

    /// Takes units until none is left.
    fn help(&self) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.total {
                return;
            }
            let phase = index / self.units;
            self.await_phase(phase);
            if !self.panicked.load(Ordering::Relaxed) {
                let unit = (index % self.units) as usize;
                // SAFETY: this unit is unfinished and `finish` does not return before all units are finished,
                // so everything that `work` borrows is still alive.
                let unit = || unsafe { (*self.work)(phase, unit) };
                self.record(catch_unwind(AssertUnwindSafe(unit)));
            }
            // Release: a thread that sees the count sees the effects of the unit.
            if self.finished.fetch_add(1, Ordering::AcqRel) + 1 == self.total {
                self.caller.unpark();
            }
        }
    }

    fn record(&self, outcome: Result<(), Payload>) {
        if let Err(payload) = outcome {
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
            self.panicked.store(true, Ordering::Relaxed);
            // Units not yet started count as finished. Release: a thread that this lets pass sees `panicked`.
            let started = self.next.swap(self.total, Ordering::Relaxed);
            self.finished.fetch_add(self.total.saturating_sub(started), Ordering::AcqRel);
        }
    }

    /// Waits until all earlier phases are finished. Their last units take about as long as this thread's, so
    /// the wait is usually short.
    fn await_phase(&self, phase: u64) {
        let mut spins = 0;
        while self.finished.load(Ordering::Acquire) < phase * self.units {
            if spins < 2000 {
                spins += 1;
                core::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }

    /// Waits until everything is finished, on the caller's thread. Resumes a panic, if there was one.
    fn finish(&self) {
        let mut spins = 0;
        while self.finished.load(Ordering::Acquire) < self.total {
            // The last unit of a helper may take only some ten microseconds: sleeping pays only after that.
            if spins < 10_000 {
                spins += 1;
                core::hint::spin_loop();
            } else {
                thread::park();
            }
        }
        if let Some(payload) = self.panic.lock().unwrap_or_else(PoisonError::into_inner).take() {
            resume_unwind(payload);
        }
    }
}

/// Calls `work(phase, unit)` for every unit of every phase, all units of a phase before any of the next, on
/// this thread and on as many of `helpers` threads of the current rayon pool as arrive in time.
///
/// On a thread of the pool this allocates nothing; on another thread it allocates one small task per helper.
pub(crate) fn run(phases: u64, units: usize, helpers: usize, work: &Work<'_>) {
    if rayon::current_thread_index().is_some() {
        let job = Job::new(phases, units, work);
        fork(&job, helpers);
        job.finish();
    } else {
        run_with(phases, units, helpers, work, rayon::spawn);
    }
}

/// As [`run`], on threads to which `spawn` passes its argument, now or later.
pub(crate) fn run_with(
    phases: u64,
    units: usize,
    helpers: usize,
    work: &Work<'_>,
    spawn: impl Fn(Box<dyn FnOnce() + Send>),
) {
    let job = Arc::new(Job::new(phases, units, work));
    // A `spawn` that panics may have passed on the job before.
    job.record(catch_unwind(AssertUnwindSafe(|| {
        for _ in 0..helpers {
            let job = Arc::clone(&job);
            spawn(Box::new(move || job.help()));
        }
    })));
    job.help();
    job.finish();
}

/// Offers the job to `helpers` other threads of the pool and helps. Only `work` can panic here, and its
/// panics are caught.
fn fork(job: &Job, helpers: usize) {
    match helpers {
        0 => job.help(),
        _ => {
            rayon::join(|| fork(job, helpers - 1), || job.help());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    fn pool() -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap()
    }

    /// Every unit runs once, and none before the previous phase is done.
    fn check(phases: u64, units: usize, helpers: usize) {
        let calls = Mutex::new(Vec::new());
        run(phases, units, helpers, &|phase, unit| calls.lock().unwrap().push((phase, unit)));
        let mut calls = calls.into_inner().unwrap();
        assert!(calls.is_sorted_by_key(|&(phase, _)| phase));
        calls.sort_unstable();
        let all = (0..phases).flat_map(|phase| (0..units).map(move |unit| (phase, unit)));
        assert!(calls.into_iter().eq(all), "{phases} {units} {helpers}");
    }

    #[test]
    fn phases_run_in_order() {
        let pool = pool();
        for (phases, units, helpers) in [(1, 0, 2), (1, 1, 0), (4, 1, 3), (40, 3, 2), (100, 7, 1), (3, 2, 20)]
        {
            check(phases, units, helpers);
            pool.install(|| check(phases, units, helpers));
        }
    }

    #[test]
    fn late_helpers_do_nothing() {
        let parked = Mutex::new(Vec::new());
        let count = AtomicUsize::new(0);
        let work = |_, _| {
            count.fetch_add(1, Ordering::Relaxed);
        };
        run_with(1, 5, 3, &work, |task| parked.lock().unwrap().push(task));
        assert_eq!(count.load(Ordering::Relaxed), 5);
        // Late helpers find nothing to do, and the borrows of `work` are not touched again.
        for task in parked.into_inner().unwrap() {
            task();
        }
        assert_eq!(count.into_inner(), 5);
    }

    /// A panic on any thread reaches the caller before units that were not started.
    #[test]
    fn panic_reaches_the_caller_once() {
        let pool = pool();
        let run_to_panic = |panics_on_caller: bool| {
            let started = AtomicUsize::new(0);
            let caller = thread::current().id();
            let work = |_, _| {
                started.fetch_add(1, Ordering::Relaxed);
                if (thread::current().id() == caller) == panics_on_caller {
                    resume_unwind(Box::new("the work's own"));
                }
                // Until the other thread has panicked: each thread has one unit at a time.
                while started.load(Ordering::Relaxed) < 2 {
                    thread::yield_now();
                }
            };
            let result = catch_unwind(AssertUnwindSafe(|| {
                run_with(1 << 20, 1 << 20, 1, &work, |task| {
                    thread::spawn(task);
                });
            }));
            assert_eq!(result.unwrap_err().downcast_ref(), Some(&"the work's own"));
        };
        run_to_panic(true);
        run_to_panic(false);
        let all_panic = || run(3, 100, 2, &|_, _| resume_unwind(Box::new("all")));
        assert!(catch_unwind(all_panic).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| pool.install(all_panic))).is_err());
    }

    #[test]
    fn panic_of_spawn_waits_for_started_threads() {
        let count = AtomicUsize::new(0);
        let work = |_, _| {
            count.fetch_add(1, Ordering::Relaxed);
        };
        let spawned = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            run_with(1, 100, 2, &work, |task| {
                if spawned.fetch_add(1, Ordering::Relaxed) == 1 {
                    resume_unwind(Box::new("no thread"));
                }
                thread::spawn(task);
            });
        }));
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&"no thread"));
    }
}
