//! Help from other threads that is never waited for.
//!
//! `rayon::join` from outside a pool hands over the whole job and sleeps until a worker has woken up, or, on a busy
//! pool, until one is free: measured, that makes inputs below 1 MiB up to three times slower than one thread alone.
//! Here the calling thread starts on the tiles at once and helpers take what is left when they arrive. A helper that
//! arrives late finds nothing to do and touches nothing.

use super::kernel::Cv;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};

/// Where tiles leave their values. Kept between jobs, so that a warm caller allocates almost nothing.
pub(super) type Slots = Vec<OnceLock<Cv>>;

type Work<'a> = dyn Fn(usize) -> Cv + Sync + 'a;

struct Job {
    /// Only dereferenced by the holder of an unfinished tile.
    work: *const Work<'static>,
    next: AtomicUsize,
    finished: AtomicUsize,
    slots: Slots,
    caller: Thread,
}

// SAFETY: all fields but `work` are `Send` and `Sync`; what `work` points to is `Sync`, and `map` keeps it alive for
// as long as anybody may dereference it.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

impl Job {
    /// Takes tiles until none is left.
    fn help(&self) {
        loop {
            let tile = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = self.slots.get(tile) else { return };
            // SAFETY: this tile is unfinished and `map` does not return before all tiles are finished, so what
            // `work` borrows is still there.
            let cv = unsafe { (*self.work)(tile) };
            slot.set(cv).expect("a tile is taken once");
            // Release: whoever sees the count sees the slot.
            if self.finished.fetch_add(1, Ordering::AcqRel) + 1 == self.slots.len() {
                self.caller.unpark();
            }
        }
    }

    fn wait(&self) {
        let mut spins = 0;
        while self.finished.load(Ordering::Acquire) < self.slots.len() {
            // The last tile of a helper takes some ten microseconds: sleeping is worth it only after that.
            if spins < 10_000 {
                spins += 1;
                std::hint::spin_loop();
            } else {
                thread::park();
            }
        }
    }
}

/// `work(tile)` for every tile, on this thread and on as many of `helpers` as arrive in time.
///
/// `spawn` must hand its argument to another thread, now or later. Panics in `work` abort the process, as for any
/// detached rayon task.
pub(super) fn map(
    tiles: usize,
    helpers: usize,
    slots: &mut Slots,
    work: &Work<'_>,
    spawn: impl Fn(Box<dyn FnOnce() + Send>),
) -> Vec<Cv> {
    let mut places = mem::take(slots);
    places.clear();
    places.resize_with(tiles, OnceLock::new);
    // SAFETY: only the lifetime changes. `help` alone dereferences the pointer, and only for unfinished tiles, which
    // `wait` below outlives; a panic on this thread must not leave early either, see `AbortOnUnwind`.
    let work = unsafe { mem::transmute::<*const Work<'_>, *const Work<'static>>(work) };
    let job = Arc::new(Job {
        work,
        next: AtomicUsize::new(0),
        finished: AtomicUsize::new(0),
        slots: places,
        caller: thread::current(),
    });
    // From here on: a `spawn` that panics may have handed out the job before.
    let guard = AbortOnUnwind;
    for _ in 0..helpers.min(tiles.saturating_sub(1)) {
        let job = Arc::clone(&job);
        spawn(Box::new(move || job.help()));
    }
    job.help();
    job.wait();
    mem::forget(guard);
    let values = job.slots.iter().map(|slot| *slot.get().expect("every tile is finished")).collect();
    if let Some(job) = Arc::into_inner(job) {
        *slots = job.slots;
    }
    values
}

/// Ends the process if dropped: unwinding out of `map` would free what helpers are reading.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(tile: usize) -> Cv {
        [tile as u32; 8]
    }

    #[test]
    fn a_pool_that_never_answers_costs_nothing() {
        let parked = std::sync::Mutex::new(Vec::new());
        let mut slots = Slots::new();
        let values = map(5, 3, &mut slots, &word, |task| parked.lock().unwrap().push(task));
        assert_eq!(values, [0, 1, 2, 3, 4].map(word));
        // Late helpers find no tile, and what `work` borrowed is never touched again.
        for task in parked.into_inner().unwrap() {
            task();
        }
    }

    #[test]
    fn helpers_on_other_threads_fill_every_slot_once() {
        let mut slots = Slots::new();
        for tiles in [0, 1, 2, 100] {
            let input: Vec<usize> = (0..tiles).map(|tile| tile * 3).collect();
            let values = map(tiles, 3, &mut slots, &|tile| word(input[tile]), |task| {
                thread::spawn(task);
            });
            assert_eq!(values, input.iter().map(|&n| word(n)).collect::<Vec<_>>());
        }
    }
}
