//! Several threads on the slices of one fill, without anybody waiting for a thread to wake up.
//!
//! Units are taken in order, by whoever comes: the caller at once, helpers when they arrive. Whoever takes a unit of the
//! next slice first waits for the units of this one; those are in the hands of threads that run already. A helper that
//! arrives late finds nothing to do and touches nothing.

use core::sync::atomic::{AtomicU64, Ordering};
use std::mem;
use std::sync::Arc;
use std::thread;

/// `work(phase, unit)`.
type Work<'a> = dyn Fn(u64, usize) + Sync + 'a;

struct Job {
    /// Only dereferenced by the holder of an unfinished unit.
    work: *const Work<'static>,
    phases: u64,
    units: u64,
    next: AtomicU64,
    finished: AtomicU64,
}

// SAFETY: all fields but `work` are `Send` and `Sync`; what `work` points to is `Sync`, and `run` keeps it alive for as
// long as anybody may dereference it.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

impl Job {
    /// Takes units until none is left.
    fn help(&self) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let phase = number / self.units;
            if phase >= self.phases {
                return;
            }
            self.wait(phase * self.units);
            // SAFETY: this unit is unfinished and `run` does not return before all units are finished, so what `work`
            // borrows is still there.
            unsafe { (*self.work)(phase, (number % self.units) as usize) };
            // Release: whoever sees the count sees the blocks.
            self.finished.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Until this many units are finished. They take about as long as ours did, so mostly this is short.
    fn wait(&self, units: u64) {
        let mut spins = 0;
        while self.finished.load(Ordering::Acquire) < units {
            if spins < 2000 {
                spins += 1;
                core::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }
}

/// `work(phase, unit)` for every unit of every phase, all of a phase before any of the next, on this thread and on as
/// many of `helpers` threads of the current rayon pool as arrive in time.
///
/// A thread of the pool allocates nothing here; another thread allocates one small task for each helper.
pub(super) fn run(phases: u64, units: usize, helpers: usize, work: &Work<'_>) {
    // SAFETY: only the lifetime changes. `help` alone dereferences the pointer, and only for unfinished units, which
    // `wait` below outlives; a panic of `work` must not leave early either, see `AbortOnUnwind`.
    let work = unsafe { mem::transmute::<*const Work<'_>, *const Work<'static>>(work) };
    let units = units as u64;
    let job = Job { work, phases, units, next: AtomicU64::new(0), finished: AtomicU64::new(0) };
    let guard = AbortOnUnwind;
    if rayon::current_thread_index().is_some() {
        fork(&job, helpers);
        job.wait(phases * units);
    } else {
        let job = Arc::new(job);
        for _ in 0..helpers {
            let job = Arc::clone(&job);
            rayon::spawn(move || job.help());
        }
        job.help();
        job.wait(phases * units);
    }
    mem::forget(guard);
}

/// Offers the job to `helpers` other threads of the pool and helps.
fn fork(job: &Job, helpers: usize) {
    match helpers {
        0 => job.help(),
        _ => {
            rayon::join(|| fork(job, helpers - 1), || job.help());
        }
    }
}

/// Ends the process if dropped: unwinding out of `run` would free what helpers are using.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Every unit once, and no unit before the phase before is done.
    fn check(phases: u64, units: usize, helpers: usize) {
        let seen = Mutex::new(Vec::new());
        run(phases, units, helpers, &|phase, unit| seen.lock().unwrap().push((phase, unit)));
        let mut seen = seen.into_inner().unwrap();
        assert!(seen.is_sorted_by_key(|&(phase, _)| phase));
        seen.sort_unstable();
        let all = (0..phases).flat_map(|phase| (0..units).map(move |unit| (phase, unit)));
        assert!(seen.into_iter().eq(all), "{phases} {units} {helpers}");
    }

    #[test]
    fn phases_follow_one_another() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for (phases, units, helpers) in [(1, 1, 0), (4, 1, 3), (40, 3, 2), (100, 7, 1), (3, 2, 20)] {
            check(phases, units, helpers);
            pool.install(|| check(phases, units, helpers));
        }
    }
}
