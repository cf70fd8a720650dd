//! Threads and buffers: both made when first needed, both kept for the next file.

use rayon::ThreadPool;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Threads that start with the first piece of work worth sharing.
pub(crate) struct Pool {
    threads: usize,
    started: OnceLock<Option<ThreadPool>>,
}

impl Pool {
    pub(crate) fn new(threads: usize) -> Pool {
        Pool { threads: threads.max(1), started: OnceLock::new() }
    }

    /// How many threads may work at once.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// The threads, or `None` where one thread was asked for, or where the system gives no more.
    pub(crate) fn get(&self) -> Option<&ThreadPool> {
        if self.threads == 1 {
            return None;
        }
        let start = || {
            let name = |index| format!("hashmill-{index}");
            rayon::ThreadPoolBuilder::new().num_threads(self.threads).thread_name(name).build().ok()
        };
        self.started.get_or_init(start).as_ref()
    }
}

/// Buffers of one size, handed out and given back.
pub(crate) struct Buffers {
    size: usize,
    most: usize,
    free: Mutex<Vec<Vec<u8>>>,
}

impl Buffers {
    /// Buffers of `size` bytes, of which `most` are kept for later.
    pub(crate) fn new(size: usize, most: usize) -> Buffers {
        Buffers { size, most, free: Mutex::new(Vec::new()) }
    }

    pub(crate) fn take(&self) -> Vec<u8> {
        let kept = lock(&self.free).pop();
        kept.unwrap_or_else(|| vec![0; self.size])
    }

    pub(crate) fn give(&self, buffer: Vec<u8>) {
        let mut free = lock(&self.free);
        if free.len() < self.most && buffer.len() == self.size {
            free.push(buffer);
        }
    }
}

/// Locks. A panic on another thread leaves nothing half done that a later holder could trip over: every critical
/// section in this crate is a single push, pop or insert.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
