//! Clock of the storage of a running server.

use std::time::Duration;

use tokio::time::Instant;

use crate::storage::StorageClock;

/// Time by which deleted and unused documents are judged. The clock of the machine may be set meanwhile.
#[derive(Clone, Copy, Debug)]
pub(in crate::shell) struct RunningClock {
    clock: StorageClock,
    start: Instant,
}

impl RunningClock {
    /// The server starts now.
    pub(in crate::shell) fn start(clock: StorageClock) -> RunningClock {
        RunningClock { clock, start: Instant::now() }
    }

    /// The time, in seconds.
    pub(in crate::shell) fn now(&self) -> u64 {
        self.clock.after(self.running_time())
    }

    /// Time since the start of the server.
    pub(in crate::shell) fn running_time(&self) -> Duration {
        self.start.elapsed()
    }
}
