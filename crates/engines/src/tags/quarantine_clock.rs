//! Clock of quarantines: time since an engine was requested. Tests set it.

use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Clone)]
pub(super) struct QuarantineClock(Arc<dyn Fn() -> Duration + Send + Sync>);

impl QuarantineClock {
    /// A clock that starts at zero.
    pub(super) fn start() -> QuarantineClock {
        let start = Instant::now();
        QuarantineClock(Arc::new(move || start.elapsed()))
    }

    pub(super) fn now(&self) -> Duration {
        (self.0)()
    }

    /// A clock that stands at this number of seconds.
    #[cfg(test)]
    pub(super) fn standing_at(seconds: Arc<std::sync::atomic::AtomicU64>) -> QuarantineClock {
        QuarantineClock(Arc::new(move || {
            Duration::from_secs(seconds.load(std::sync::atomic::Ordering::Relaxed))
        }))
    }
}
