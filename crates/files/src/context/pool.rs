//! Threads and buffers: created on first use and kept for later files. They belong to one process: a forked
//! child has neither the threads of its parent nor the holders of its locks.

use hashmill_hash::process::PerProcess;
use rayon::ThreadPool;
use std::num::NonZero;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// More threads than this start only on a machine with as many processors. Waking and stopping them takes
/// rayon a time that grows with the square of their number: on two processors 256 take 50 ms, 1024 take 3 s,
/// and 60,000 far too long.
const MOST_THREADS: usize = 256;

/// Threads that start with the first piece of work worth sharing.
pub(crate) struct Pool {
    requested: Option<NonZero<usize>>,
    /// The number of threads; 0 before the first query.
    threads: AtomicUsize,
    started: PerProcess<OnceLock<Option<ThreadPool>>>,
}

impl Pool {
    /// A pool of `requested` threads, or of one per processor.
    pub(crate) fn new(requested: Option<NonZero<usize>>) -> Pool {
        Pool { requested, threads: AtomicUsize::new(0), started: PerProcess::new(OnceLock::new()) }
    }

    /// The number of threads that may work at once.
    pub(crate) fn threads(&self) -> usize {
        // The query takes longer than hashing a small file, so it is made once, and only for work worth
        // sharing. Racing threads get the same result.
        let known = self.threads.load(Ordering::Relaxed);
        if known > 0 {
            return known;
        }
        let threads = match self.requested.map(NonZero::get) {
            None => hashmill_machine::threads(),
            Some(threads) if threads <= MOST_THREADS => threads,
            Some(threads) => threads.min(hashmill_machine::threads().max(MOST_THREADS)),
        };
        self.threads.store(threads, Ordering::Relaxed);
        threads
    }

    /// The threads; `None` if one thread was requested, or if the system grants no more.
    pub(crate) fn get(&self) -> Option<&ThreadPool> {
        if self.threads() == 1 {
            return None;
        }
        let start = || {
            let name = |index| format!("hashmill-{index}");
            rayon::ThreadPoolBuilder::new().num_threads(self.threads()).thread_name(name).build().ok()
        };
        self.started.get_or(OnceLock::new).get_or_init(start).as_ref()
    }
}

/// Memory for bytes from the system, aligned to a page. On Zen 4, a system call that copies to an address a
/// quarter of a cache line further takes twice as long; and reads past the system's cache need at least the
/// alignment of a sector.
pub(crate) struct Buffer {
    storage: Vec<u8>,
    start: usize,
    len: usize,
}

/// The length of a cache line, or a multiple of it.
pub(crate) const LINE: usize = 64;

/// The length of a page, or a multiple of that of a sector.
pub(crate) const PAGE: usize = 4096;

impl Buffer {
    /// `len` zeros.
    pub(crate) fn new(len: usize) -> Buffer {
        let storage = vec![0; len + PAGE];
        // The vector never grows, so its bytes stay where they are.
        let start = storage.as_ptr().align_offset(PAGE).min(PAGE);
        Buffer { storage, start, len }
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.storage[self.start..self.start + self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.storage[self.start..self.start + self.len]
    }
}

/// Pool of buffers of one size. It keeps as many as were ever in use at once.
pub(crate) struct Buffers {
    size: usize,
    free: PerProcess<Mutex<Vec<Buffer>>>,
}

/// Buffers of this process.
pub(crate) struct BufferList<'a> {
    size: usize,
    free: &'a Mutex<Vec<Buffer>>,
}

impl Buffers {
    /// Buffers of `size` bytes.
    pub(crate) fn new(size: usize) -> Buffers {
        Buffers { size, free: PerProcess::new(Mutex::default()) }
    }

    /// Bytes of each buffer.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The buffers of this process, for several calls: finding the process takes a system call.
    pub(crate) fn here(&self) -> BufferList<'_> {
        BufferList { size: self.size, free: self.free.get_or(Mutex::default) }
    }

    pub(crate) fn take(&self) -> Buffer {
        self.here().take()
    }

    pub(crate) fn give(&self, buffer: Buffer) {
        self.here().give(buffer);
    }
}

impl BufferList<'_> {
    pub(crate) fn take(&self) -> Buffer {
        let free = lock(self.free).pop();
        free.unwrap_or_else(|| Buffer::new(self.size))
    }

    pub(crate) fn give(&self, buffer: Buffer) {
        lock(self.free).push(buffer);
    }
}

/// Sets a flag if its thread panics: the work of other threads is useless then.
pub(crate) struct PanicFlag<'a>(pub(crate) &'a AtomicBool);

impl Drop for PanicFlag<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Locks, and ignores poisoning: every critical section in this crate is a single push, pop or insert, so a
/// panic leaves nothing half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_bounded_by_the_request_and_a_maximum() {
        let threads = |requested| Pool::new(NonZero::new(requested)).threads();
        assert_eq!([1, 7, MOST_THREADS].map(threads), [1, 7, MOST_THREADS]);
        assert_eq!(threads(usize::MAX), threads(0).max(MOST_THREADS));
    }

    #[test]
    fn buffers_begin_at_a_page_and_come_back() {
        let buffers = Buffers::new(1000);
        let mut first = buffers.take();
        let second = buffers.take();
        for buffer in [&first, &second] {
            assert_eq!((buffer.len(), buffer.as_ptr().align_offset(PAGE)), (1000, 0));
        }
        first.fill(7);
        buffers.give(first);
        assert!(buffers.take().iter().all(|&byte| byte == 7), "the same one");
    }
}
