//! Rate of bytes over the last seconds, in constant memory.

use std::time::Duration;

/// Length of a window in seconds.
const WINDOW_SECONDS: u64 = 10;

/// Bytes in total, and those of the current and the previous window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::core) struct RateMeter {
    total: u64,
    window: u64,
    current: u64,
    previous: u64,
}

impl RateMeter {
    pub(in crate::core) fn add(&mut self, now: Duration, bytes: usize) {
        *self = self.at(now);
        self.total += bytes as u64;
        self.current += bytes as u64;
    }

    pub(in crate::core) fn total(&self) -> u64 {
        self.total
    }

    /// Bytes in a second: those of the current window, and of the previous one the part that is not older than a window.
    pub(in crate::core) fn per_second(&self, now: Duration) -> u64 {
        let RateMeter { current, previous, .. } = self.at(now);
        let passed = now.as_secs_f64() % WINDOW_SECONDS as f64;
        let previous = previous as f64 * (1.0 - passed / WINDOW_SECONDS as f64);
        ((current as f64 + previous) / WINDOW_SECONDS as f64).round() as u64
    }

    /// The meter with the window of a later time.
    fn at(self, now: Duration) -> RateMeter {
        let window = now.as_secs() / WINDOW_SECONDS;
        match window.saturating_sub(self.window) {
            0 => self,
            1 => RateMeter { window, current: 0, previous: self.current, ..self },
            _ => RateMeter { window, current: 0, previous: 0, ..self },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_follow_and_totals_stay() {
        let at = Duration::from_secs;
        let mut meter = RateMeter::default();
        for second in 0..20 {
            meter.add(at(second), 100);
        }
        assert_eq!((meter.per_second(at(19)), meter.per_second(at(20))), (110, 100));
        assert_eq!((meter.per_second(at(25)), meter.per_second(at(30)), meter.total()), (50, 0, 2000));
        // An earlier time than before changes nothing.
        meter.add(at(3), 10);
        assert_eq!(meter.total(), 2010);
    }
}
