//! `max_threads`: the number of threads that a call may use.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use hashmill_hash::blake3::Hasher;
use hashmill_hash::process::PerProcess;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// The value of `max_threads` for all processors that this process may use.
pub(crate) const AUTO: isize = -1;

/// Maximum number of threads of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MaxThreads {
    One,
    Number(NonZero<usize>),
    Auto,
}

impl MaxThreads {
    pub(crate) fn from_arg(max_threads: isize) -> PyResult<MaxThreads> {
        match usize::try_from(max_threads).ok().and_then(NonZero::new) {
            Some(number) if number.get() == 1 => Ok(MaxThreads::One),
            Some(number) => Ok(MaxThreads::Number(number)),
            None if max_threads == AUTO => Ok(MaxThreads::Auto),
            None => Err(PyValueError::new_err(format!("max_threads of {max_threads}: at least 1, or AUTO"))),
        }
    }

    /// The number of threads, for calls that start their own.
    pub(crate) fn count(self) -> usize {
        match self {
            MaxThreads::One => 1,
            MaxThreads::Number(number) => number.get().min(available()),
            MaxThreads::Auto => available(),
        }
    }

    /// The number of threads, for files.
    pub(crate) fn for_files(self) -> Option<NonZero<usize>> {
        match self {
            MaxThreads::One => Some(NonZero::<usize>::MIN),
            MaxThreads::Number(number) => Some(number),
            MaxThreads::Auto => None,
        }
    }

    /// [`Hasher::update`] with these threads.
    pub(crate) fn update(self, hasher: &mut Hasher, input: &[u8]) -> Result<(), ThreadPoolBuildError> {
        // A pool of its own, because `Hasher` uses all threads of its pool.
        match self {
            MaxThreads::One => hasher.update(input),
            MaxThreads::Number(number) if number.get() < available() => {
                let pool = pool(number.get())?;
                pool.install(|| hasher.update_parallel(input))
            }
            MaxThreads::Number(_) | MaxThreads::Auto => hasher.update_parallel(input),
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

/// The pool with a number of threads, started on first use, separately in each process.
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
