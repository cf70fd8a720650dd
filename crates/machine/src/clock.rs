//! The measuring device, behind a trait so that statistics and reports can be tested to the digit.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

/// A source of nanoseconds that never runs backwards.
pub trait Clock {
    /// Nanoseconds since a fixed but arbitrary moment.
    fn now_ns(&self) -> u64;

    /// A reading that begins or ends nothing that is timed: a clock that notes what is timed leaves it out.
    fn aside_ns(&self) -> u64 {
        self.now_ns()
    }
}

/// The monotonic clock with the zero of the system: other programs, such as perf, give their times by it.
#[derive(Clone, Copy, Debug)]
pub struct System {
    read: fn() -> u64,
}

impl System {
    /// The clock, on systems that have one.
    #[must_use]
    pub fn find() -> Option<System> {
        crate::os::monotonic_clock().map(|read| System { read })
    }
}

impl Clock for System {
    fn now_ns(&self) -> u64 {
        (self.read)()
    }
}

/// The monotonic clock of the operating system.
#[derive(Clone, Debug)]
pub struct Monotonic {
    origin: Instant,
}

impl Monotonic {
    /// Starts at zero now.
    #[must_use]
    pub fn new() -> Self {
        Monotonic { origin: Instant::now() }
    }

    /// Smallest step that the clock was seen to take, over a few thousand readings.
    #[must_use]
    pub fn resolution_ns(&self) -> u64 {
        let mut finest = u64::MAX;
        let mut last = self.now_ns();
        for _ in 0..4096 {
            let now = self.now_ns();
            if now > last {
                finest = finest.min(now - last);
            }
            last = now;
        }
        finest
    }
}

impl Default for Monotonic {
    fn default() -> Self {
        Monotonic::new()
    }
}

impl Clock for Monotonic {
    fn now_ns(&self) -> u64 {
        // 584 years of nanoseconds fit.
        self.origin.elapsed().as_nanos() as u64
    }
}

/// A clock that moves only when told to: "0.3 s" of work takes 0.3 s exactly and no time at all.
///
/// Clones share one time, so an engine made for a test can hold a clone and advance it as its work.
#[derive(Clone, Debug, Default)]
pub struct Scripted {
    now: Rc<Cell<u64>>,
}

impl Scripted {
    /// Lets `ns` nanoseconds pass.
    pub fn advance(&self, ns: u64) {
        self.now.set(self.now.get() + ns);
    }
}

impl Clock for Scripted {
    fn now_ns(&self) -> u64 {
        self.now.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripted_time_passes_exactly_as_told() {
        let clock = Scripted::default();
        let worker = clock.clone();
        let start = clock.now_ns();
        worker.advance(300_000_000);
        assert_eq!(clock.now_ns() - start, 300_000_000);
    }

    #[test]
    fn monotonic_moves_and_has_a_resolution() {
        let clock = Monotonic::new();
        let first = clock.now_ns();
        assert!(clock.resolution_ns() > 0);
        assert!(clock.now_ns() > first);
    }
}
