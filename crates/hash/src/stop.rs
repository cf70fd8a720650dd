//! Stop flag for long operations.

use core::sync::atomic::{AtomicBool, Ordering};

/// A request to end work in progress. The work polls it; each operation documents the delay.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Not set.
    pub const fn new() -> Stop {
        Stop(AtomicBool::new(false))
    }

    /// Requests the stop. Returns at once.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Withdraws the request.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Is a stop requested?
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
