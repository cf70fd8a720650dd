//! [`ThreadPool`]: permanent threads, each with a [`SingleThread`] of its own, on one supply of nonces.

use super::single_thread::{STOP_LATENCY, SingleThread};
use super::{Order, Pow};
use crate::argon2::{PagePolicy, Plan};
use crate::engine::{EngineError, NonceEngine, NonceLimits, Stop, Supply};
use crate::process::PerProcess;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};

/// A rayon pool whose threads sleep between searches.
///
/// The threads belong to the process that made them: in a forked child every search returns
/// [`EngineError::Forked`].
#[derive(Debug)]
pub struct ThreadPool {
    pow: Pow,
    name: String,
    pool: PerProcess<rayon::ThreadPool>,
    /// One per thread; no other thread locks it during a search.
    singles: Vec<Mutex<SingleThread>>,
    /// The number of them that search.
    active: usize,
}

/// The first panic of several threads, for the thread that waits for them.
#[derive(Default)]
struct Panicked(Mutex<Option<Box<dyn Any + Send>>>);

impl Panicked {
    /// Calls `call`, and returns `None` after a panic.
    fn catch<R>(&self, call: impl FnOnce() -> R) -> Option<R> {
        let outcome = catch_unwind(AssertUnwindSafe(call));
        let keep = |payload| {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
        };
        outcome.map_err(keep).ok()
    }

    /// Resumes the panic, if there was one.
    fn resume(&self) {
        if let Some(payload) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            resume_unwind(payload);
        }
    }
}

impl ThreadPool {
    /// Makes `threads` threads with `in_flight` hashes each.
    ///
    /// Each thread first calls `start` with its number, for example to bind itself to a core, and then takes
    /// its memory, so that the memory is local. If `start` panics, so does this, once all threads have
    /// started.
    ///
    /// # Errors
    /// As [`SingleThread::new`]; [`EngineError::System`] if threads cannot be created.
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
        // A panic in rayon's start handler would abort the process.
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

    /// Makes all pages present now, on the thread of each. Returns the share that is large, if the system
    /// reports it; `None` in a forked child.
    pub fn prefault(&mut self) -> Option<f64> {
        let shares =
            self.pool.get()?.broadcast(|thread| self.with_thread(thread.index(), SingleThread::prefault));
        let count = shares.len() as f64;
        shares.into_iter().sum::<Option<f64>>().map(|sum| sum / count)
    }

    /// Limits the search to the first `threads` threads with `in_flight` hashes each, or restores the
    /// original numbers. Threads and memory are kept, so that a machine can be shared or tuned without a
    /// restart.
    ///
    /// # Errors
    /// [`EngineError::InFlight`] for zero, or for more; nothing changes then.
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

    /// Threads that search, hashes in flight on each, and the most of these.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let (in_flight, most) = self.with_thread(0, |thread| thread.counts());
        (self.active, in_flight, most)
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

    fn order(&self) -> Order {
        self.pow.order()
    }

    /// See [`NonceEngine::run`]. Each thread takes leases of its own.
    ///
    /// A panic of the supply or an error on one thread ends the search on all of them, and is passed on to the
    /// caller.
    fn run(&mut self, supply: &dyn Supply, stop: &Stop) -> Result<(), EngineError> {
        let pool = self.pool.get().ok_or(EngineError::Forked)?;
        let (broken, panicked) = (Stop::new(), Panicked::default());
        let run_on = |index: usize| {
            let run = |thread: &mut SingleThread| thread.run_until(supply, [stop, &broken]);
            let ended = panicked.catch(|| self.with_thread(index, run));
            if !matches!(ended, Some(Ok(()))) {
                broken.set();
            }
            ended
        };
        let ended = pool.broadcast(|thread| {
            let is_active = thread.index() < self.active;
            is_active.then(|| run_on(thread.index())).flatten()
        });
        panicked.resume();
        ended.into_iter().flatten().collect()
    }
}
