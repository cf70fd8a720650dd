//! `max_threads`: how many threads a call may use.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use hashmill_hash::blake3::Hasher;
use hashmill_hash::process::PerProcess;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// What `max_threads` says for "as many as the machine has for this process".
pub(crate) const AUTO: isize = -1;

/// The most threads of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Most {
    One,
    Number(NonZero<usize>),
    Auto,
}

impl Most {
    pub(crate) fn of(max_threads: isize) -> PyResult<Most> {
        match usize::try_from(max_threads).ok().and_then(NonZero::new) {
            Some(number) if number.get() == 1 => Ok(Most::One),
            Some(number) => Ok(Most::Number(number)),
            None if max_threads == AUTO => Ok(Most::Auto),
            None => Err(PyValueError::new_err(format!("max_threads of {max_threads}: at least 1, or AUTO"))),
        }
    }

    /// How many that are here, where a call takes its own.
    pub(crate) fn count(self) -> usize {
        match self {
            Most::One => 1,
            Most::Number(number) => number.get().min(available()),
            Most::Auto => available(),
        }
    }

    /// As files take it.
    pub(crate) fn of_files(self) -> Option<NonZero<usize>> {
        match self {
            Most::One => Some(NonZero::<usize>::MIN),
            Most::Number(number) => Some(number),
            Most::Auto => None,
        }
    }

    /// [`Hasher::update`] by as many threads.
    pub(crate) fn update(self, hasher: &mut Hasher, input: &[u8]) -> Result<(), ThreadPoolBuildError> {
        // A pool of fewer threads than there are: `Hasher` takes all that its pool has.
        match self {
            Most::One => hasher.update(input),
            Most::Number(number) if number.get() < available() => {
                let pool = pool(number.get())?;
                pool.install(|| hasher.update_parallel(input))
            }
            Most::Number(_) | Most::Auto => hasher.update_parallel(input),
        };
        Ok(())
    }
}

/// Processors that this process may use, by its affinity and its cgroup.
fn available() -> usize {
    static AVAILABLE: OnceLock<usize> = OnceLock::new();
    *AVAILABLE.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}

type Pools = PerProcess<Mutex<HashMap<usize, Arc<ThreadPool>>>>;

/// The pool of so many threads, started when it is first asked for, and by each process for itself.
fn pool(threads: usize) -> Result<Arc<ThreadPool>, ThreadPoolBuildError> {
    static POOLS: OnceLock<Pools> = OnceLock::new();
    let pools = POOLS.get_or_init(|| PerProcess::new(Mutex::default())).get_or(Mutex::default);
    let mut pools = pools.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pools.get(&threads) {
        return Ok(Arc::clone(pool));
    }
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build()?);
    pools.insert(threads, Arc::clone(&pool));
    Ok(pool)
}
