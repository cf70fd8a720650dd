//! Children that are forked while another thread holds a lock: that thread is not in them, and nobody gives it back there.

use std::process;
use std::sync::TryLockError;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use super::errors::Failed;

/// The process whose threads a lock has been in the hands of, since it was free.
pub(super) struct Home(AtomicU32);

impl Home {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(process::id()))
    }

    /// To be asked before the lock is waited for, or held while other threads of Python run: whether its holders are threads of
    /// this process. A child learns it by finding the lock free, with `try_lock`, once.
    pub(super) fn check<T>(
        &self,
        mut try_lock: impl FnMut() -> Result<T, TryLockError<T>>,
    ) -> Result<(), Failed> {
        let here = process::id();
        // Another thread of this child may hold it for a moment: a second of patience.
        for _ in 0..100 {
            if self.0.load(Ordering::Relaxed) == here {
                return Ok(());
            }
            let lock = try_lock();
            if !matches!(lock, Err(TryLockError::WouldBlock)) {
                // While it is held, so that who finds it held next finds this.
                self.0.store(here, Ordering::Relaxed);
                return Ok(());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err(Failed::Forked)
    }
}
