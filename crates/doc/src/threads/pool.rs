//! Work that several threads do side by side, in whatever process this is.
//!
//! A fork copies memory, but no thread other than the one that called it. Rayon's global pool does not notice: in a child of
//! a process that has used it, whoever hands it work waits for ever, and nobody can tell from outside who has used it. So
//! documents have threads of their own, which belong to one process; a child makes others when it first needs them. On a
//! thread of a pool of the caller's it is that pool that helps: who wants fewer threads, or other ones, calls from there.
//!
//! Nothing here waits for a lock: whoever held it may have stayed with the parent. Then the caller does all of the work.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use rayon::ThreadPool;
use rayon::prelude::*;

use super::in_turn;

/// Threads of one process.
struct Pool {
    process: u32,
    /// Nothing where there can be only one.
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
            // No thread is to be had here, or no more: the work is done all the same.
            Err(_) => None,
        };
        Self { process, threads }
    }
}

static POOL: Mutex<Option<Pool>> = Mutex::new(None);

thread_local! {
    /// The process in which this thread, one of a pool, first worked here; 0 before.
    static FIRST_PROCESS: Cell<u32> = const { Cell::new(0) };
}

/// The number of this process, never 0. A system call: to be asked where there is much to do.
#[cfg(unix)]
fn process() -> u32 {
    std::process::id()
}

/// Nothing forks here.
#[cfg(not(unix))]
fn process() -> u32 {
    1
}

/// The threads of this process, if it has some or can make them now.
fn threads() -> Option<Arc<ThreadPool>> {
    // Somebody is making them, or was when the process forked.
    let Ok(mut pool) = POOL.try_lock() else { return None };
    let process = process();
    if pool.as_ref().is_none_or(|pool| pool.process != process) {
        // Dropping the parent's would wait for them.
        std::mem::forget(pool.replace(Pool::start(process)));
    }
    pool.as_ref().and_then(|pool| pool.threads.clone())
}

/// Whether the pool whose thread this is has its other threads in this process. A pool that forked on one of its threads
/// before documents were worked on there is not noticed; then this thread takes back what it offers, and nothing hangs.
fn in_company() -> bool {
    let process = process();
    let first = FIRST_PROCESS.get();
    FIRST_PROCESS.set(if first == 0 { process } else { first });
    (first == 0 || first == process) && rayon::current_num_threads() > 1
}

/// Does `work`, on a thread that can hand parts of it to others if it is told `true`.
fn with<R: Send>(work: impl FnOnce(bool) -> R + Send) -> R {
    if rayon::current_thread_index().is_some() {
        return work(in_company());
    }
    match threads() {
        Some(threads) => threads.install(|| work(true)),
        None => work(false),
    }
}

/// See [`super::in_turn::join`].
pub(crate) fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    with(|several| if several { rayon::join(a, b) } else { in_turn::join(a, b) })
}

/// See [`super::in_turn::map`].
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
            in_turn::map(items, together, each)
        }
    })
}
