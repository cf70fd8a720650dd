//! Fork safety of locks: a child that is forked while another thread holds a lock never sees it released.

use std::process;
use std::sync::TryLockError;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use super::errors::DeferredError;

/// The process whose threads have held the lock since it was last free.
pub(super) struct LockOwnerProcess(AtomicU32);

impl LockOwnerProcess {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(process::id()))
    }

    /// Whether the holders of the lock are threads of this process. Must be called before waiting for the lock, and before
    /// holding it while other Python threads run. A child records itself when it once finds the lock free, with `try_lock`.
    pub(super) fn check<T>(
        &self,
        mut try_lock: impl FnMut() -> Result<T, TryLockError<T>>,
    ) -> Result<(), DeferredError> {
        let here = process::id();
        // Another thread of this child may hold it briefly: wait up to a second.
        for _ in 0..100 {
            if self.0.load(Ordering::Relaxed) == here {
                return Ok(());
            }
            let lock = try_lock();
            if !matches!(lock, Err(TryLockError::WouldBlock)) {
                // Stored while the lock is held, so that the next thread that finds it held sees this value.
                self.0.store(here, Ordering::Relaxed);
                return Ok(());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err(DeferredError::Forked)
    }
}
