//! Thread pool for parallel work, safe after a fork of the process.
//!
//! A fork copies memory, but no thread other than the calling one. Rayon's global pool does not detect this: in the
//! child of a process that has used it, submitted work is never run, and other code cannot tell whether the pool was
//! used. So documents have a pool of their own, which belongs to one process; a child process starts another one when
//! needed. Inside a pool of the caller, that pool is used: a caller who wants fewer or other threads calls from there.
//!
//! Nothing here waits for a lock, because a thread of the parent process may have held it at the fork. In that case the
//! caller does all of the work.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use rayon::ThreadPool;
use rayon::prelude::*;

use super::serial;

/// Threads of one process.
struct Pool {
    process: u32,
    /// `None` if only one thread is possible.
    threads: Option<Arc<ThreadPool>>,
}

impl Pool {
    fn start(process: u32) -> Self {
        let started = rayon::ThreadPoolBuilder::new()
            .thread_name(|number| format!("document {number}"))
            .start_handler(move |_| FIRST_PROCESS.set(process))
            .build();
        let several = |pool: &ThreadPool| pool.current_num_threads() > 1;
        let threads = match started {
            Ok(pool) => Some(pool).filter(several).map(Arc::new),
            // No thread can be started; the caller does the work alone.
            Err(_) => None,
        };
        Self { process, threads }
    }
}

static POOL: Mutex<Option<Pool>> = Mutex::new(None);

thread_local! {
    /// The process in which this pool thread first worked here; 0 before.
    static FIRST_PROCESS: Cell<u32> = const { Cell::new(0) };
}

/// Id of this process, never 0. A system call, so it is requested only for large work.
#[cfg(unix)]
fn process() -> u32 {
    std::process::id()
}

/// No forks on this platform.
#[cfg(not(unix))]
fn process() -> u32 {
    1
}

/// The threads of this process, if they exist or can be started now.
fn threads() -> Option<Arc<ThreadPool>> {
    // Another thread is starting them, or was when the process forked.
    let Ok(mut pool) = POOL.try_lock() else { return None };
    let process = process();
    if pool.as_ref().is_none_or(|pool| pool.process != process) {
        // Dropping the parent's pool would wait for its threads.
        std::mem::forget(pool.replace(Pool::start(process)));
    }
    pool.as_ref().and_then(|pool| pool.threads.clone())
}

/// Does the current pool have its other threads in this process? A fork on a pool thread before any document work on it
/// is not detected; then this thread runs its own tasks, and nothing hangs.
fn in_company() -> bool {
    let process = process();
    let first = FIRST_PROCESS.get();
    FIRST_PROCESS.set(if first == 0 { process } else { first });
    (first == 0 || first == process) && rayon::current_num_threads() > 1
}

/// Runs `work` on a thread that can distribute parts of it if the argument is `true`.
fn with<R: Send>(work: impl FnOnce(bool) -> R + Send) -> R {
    if rayon::current_thread_index().is_some() {
        return work(in_company());
    }
    match threads() {
        Some(threads) => threads.install(|| work(true)),
        None => work(false),
    }
}

/// See [`crate::codec::parallel::serial::join`].
pub(crate) fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    with(|several| if several { rayon::join(a, b) } else { serial::join(a, b) })
}

/// See [`crate::codec::parallel::serial::map`].
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    together: usize,
    each: impl Fn(usize, &T) -> R + Send + Sync,
) -> Vec<R> {
    with(|several| {
        if several {
            let items = items.par_iter().enumerate().with_min_len(together).with_max_len(together);
            items.map(|(number, item)| each(number, item)).collect()
        } else {
            serial::map(items, together, each)
        }
    })
}
