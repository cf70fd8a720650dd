//! A request to stop, for whatever takes long.

use core::sync::atomic::{AtomicBool, Ordering};

/// Asks work that is going on to end. Whoever works looks at it now and then; how soon that is, the work says.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Not set.
    pub const fn new() -> Stop {
        Stop(AtomicBool::new(false))
    }

    /// Asks. Returns at once.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Takes the request back.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether it was asked.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
