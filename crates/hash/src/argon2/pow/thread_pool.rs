//! [`ThreadPool`]: threads that stay, each with a [`SingleThread`] of its own, on one range of nonces.

use super::Pow;
use super::single_thread::{STOP_LATENCY, Shared, SingleThread};
use crate::argon2::{PagePolicy, Plan};
use crate::engine::{EngineError, Hit, NonceEngine, NonceJob, NonceLimits, Searched, Stop, Watch};
use crate::process::PerProcess;
use core::ops::Range;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

/// Threads of a rayon pool of their own, which sleep between searches.
///
/// They belong to the process that made them: in a forked child every search is refused with [`EngineError::Forked`].
#[derive(Debug)]
pub struct ThreadPool {
    pow: Pow,
    name: String,
    pool: PerProcess<rayon::ThreadPool>,
    /// One for each thread; nobody else locks it.
    singles: Vec<Mutex<SingleThread>>,
    /// How many of them search.
    active: usize,
}

/// The first panic of several threads, for the thread that waits for them.
#[derive(Default)]
struct Panicked(Mutex<Option<Box<dyn Any + Send>>>);

impl Panicked {
    /// What `call` gives, unless it panics.
    fn catch<R>(&self, call: impl FnOnce() -> R) -> Option<R> {
        let outcome = catch_unwind(AssertUnwindSafe(call));
        let keep = |payload| {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
        };
        outcome.map_err(keep).ok()
    }

    /// Goes on with the panic, if there was one.
    fn resume(&self) {
        if let Some(payload) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            resume_unwind(payload);
        }
    }
}

impl ThreadPool {
    /// `threads` threads with `in_flight` hashes each.
    ///
    /// Each thread first calls `start` with its number, which is the place to bind it to a core, and then takes its
    /// memory, so that the memory is near. If `start` panics, so does this, when all threads have started.
    ///
    /// # Errors
    /// As [`SingleThread::new`]; [`EngineError::System`] if there are no threads to be had.
    pub fn new(
        pow: Pow,
        plan: Plan,
        policy: PagePolicy,
        threads: usize,
        in_flight: usize,
        start: impl Fn(usize) + Send + Sync + 'static,
    ) -> Result<ThreadPool, EngineError> {
        let most = u16::MAX.into();
        if !(1..=most).contains(&threads) {
            return Err(EngineError::InFlight { given: threads, most });
        }
        // A thread of rayon whose start panics ends the process.
        let panicked = Arc::new(Panicked::default());
        let caught = Arc::clone(&panicked);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|index| format!("pow-{index}"))
            .start_handler(move |index| {
                caught.catch(|| start(index));
            })
            .build()
            .map_err(|error| EngineError::System { reason: error.to_string() })?;
        let singles = pool.broadcast(|_| SingleThread::new(pow, plan, policy, in_flight).map(Mutex::new));
        panicked.resume();
        let singles = singles.into_iter().collect::<Result<Vec<_>, _>>()?;
        let name = format!("{} on {threads} threads", plan.kernel().name());
        Ok(ThreadPool { pow, name, pool: PerProcess::new(pool), active: singles.len(), singles })
    }

    /// Makes all pages present now, each thread its own. Gives the share that is large, if the system tells; a forked child
    /// is told nothing.
    pub fn prefault(&mut self) -> Option<f64> {
        let shares =
            self.pool.get()?.broadcast(|thread| self.with_thread(thread.index(), SingleThread::prefault));
        let count = shares.len() as f64;
        shares.into_iter().sum::<Option<f64>>().map(|sum| sum / count)
    }

    /// Goes on with the first `threads` threads and `in_flight` hashes on each of them: fewer than they were made for, or
    /// as many again. Threads and memory are kept, so that a machine can be shared or tuned without starting anew.
    ///
    /// # Errors
    /// [`EngineError::InFlight`] for none, or for more; nothing changes then.
    pub fn limit(&mut self, threads: usize, in_flight: usize) -> Result<(), EngineError> {
        let most = self.singles.len();
        if !(1..=most).contains(&threads) {
            return Err(EngineError::InFlight { given: threads, most });
        }
        for index in 0..most {
            self.with_thread(index, |thread| thread.limit(in_flight))?;
        }
        self.active = threads;
        Ok(())
    }

    fn with_thread<R>(&self, index: usize, with: impl FnOnce(&mut SingleThread) -> R) -> R {
        with(&mut self.singles[index].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl NonceEngine for ThreadPool {
    fn name(&self) -> &str {
        &self.name
    }

    fn limits(&self) -> NonceLimits {
        let limits =
            (0..self.singles.len()).map(|index| (index, self.with_thread(index, |thread| thread.limits())));
        let (in_flight, memory) = limits.fold((0, 0), |(in_flight, memory), (index, thread)| {
            let active = if index < self.active { thread.in_flight } else { 0 };
            (in_flight + active, memory + thread.memory)
        });
        NonceLimits::new(in_flight, memory, STOP_LATENCY)
    }

    /// See [`NonceEngine::search`]. Nonces are taken in order by whichever thread is free; with few of them, one of many
    /// threads may find nothing left.
    ///
    /// A panic of `hit` or an error on one thread ends the search on all of them, and comes out of this call.
    fn search(
        &mut self,
        job: &NonceJob<'_>,
        nonces: Range<u64>,
        watch: &Watch,
        hit: &(dyn Fn(Hit) + Sync),
    ) -> Result<Searched, EngineError> {
        self.pow.check(job.header)?;
        let pool = self.pool.get().ok_or(EngineError::Forked)?;
        let next = AtomicU64::new(nonces.start);
        let (broken, panicked) = (Stop::new(), Panicked::default());
        let stops = [watch.stop(), &broken];
        let search = |thread: usize| {
            let search =
                |thread: &mut SingleThread| thread.search_shared(job, &next, nonces.end, stops, watch, hit);
            let share = panicked.catch(|| self.with_thread(thread, search));
            if !matches!(share, Some(Ok(_))) {
                broken.set();
            }
            share
        };
        let shares = pool.broadcast(|thread| {
            let works = thread.index() < self.active;
            works.then(|| search(thread.index())).flatten()
        });
        panicked.resume();
        let shares = shares.into_iter().flatten().collect::<Result<Vec<Shared>, _>>()?;
        // Whoever came to the end of the dispenser gave up nothing; below the first that was given up all were tried.
        let untried = shares.iter().filter_map(|share| share.given_up).min();
        Ok(Searched {
            hashes: shares.iter().map(|share| share.hashes).sum(),
            next: untried.unwrap_or(nonces.end.max(nonces.start)),
        })
    }
}
