//! Clocks, behind a trait so that statistics and reports can be tested to the digit.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

/// A source of nanoseconds that never runs backwards.
pub trait Clock {
    /// Nanoseconds since a fixed but arbitrary time.
    fn now_ns(&self) -> u64;

    /// A reading that starts or ends no timed section: a clock that records timed sections omits it.
    fn aside_ns(&self) -> u64 {
        self.now_ns()
    }
}

/// The monotonic clock with the system's origin: other programs, such as perf, use it for their times.
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
    /// A clock that starts at zero now.
    #[must_use]
    pub fn new() -> Self {
        Monotonic { origin: Instant::now() }
    }

    /// Smallest observed step of the clock, over a few thousand readings.
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

/// Clock that advances only on request: "0.3 s" of work takes exactly 0.3 s of its time, and no real time.
///
/// Clones share one time, so a test's engine can hold a clone and advance it as its work.
#[derive(Clone, Debug, Default)]
pub struct ScriptedClock {
    now: Rc<Cell<u64>>,
}

impl ScriptedClock {
    /// Lets `ns` nanoseconds pass.
    pub fn advance(&self, ns: u64) {
        self.now.set(self.now.get() + ns);
    }
}

impl Clock for ScriptedClock {
    fn now_ns(&self) -> u64 {
        self.now.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripted_time_passes_exactly() {
        let clock = ScriptedClock::default();
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
