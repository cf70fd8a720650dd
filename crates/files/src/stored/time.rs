//! Modification time of a file, as exact as the file system stores it.

use std::fs::Metadata;
use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds since the start of 1970, negative before. As text: seconds with nine decimal places.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Time(i64);

const SECOND: i64 = 1_000_000_000;

impl Time {
    /// The mtime, if the file system stores it.
    pub fn modified(metadata: &Metadata) -> Option<Time> {
        // The only error of `modified` is that the system has no such time. A file without one counts as changed.
        metadata.modified().ok().and_then(Time::from_system)
    }

    /// A time of the system's clock. `None` beyond the year 2262, and before 1677.
    pub fn from_system(time: SystemTime) -> Option<Time> {
        let nanos = match time.duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_nanos()).ok()?,
            Err(before) => -i64::try_from(before.duration().as_nanos()).ok()?,
        };
        Some(Time(nanos))
    }

    /// This time minus `seconds`.
    #[must_use]
    pub fn before(self, seconds: i64) -> Time {
        Time(self.0.saturating_sub(seconds.saturating_mul(SECOND)))
    }

    /// Nanoseconds since the start of 1970.
    pub fn nanos(self) -> i64 {
        self.0
    }

    /// The time `nanos` nanoseconds after the start of 1970.
    pub fn from_nanos(nanos: i64) -> Time {
        Time(nanos)
    }

    /// Parses the output of `Display`: digits, a point, nine digits.
    pub fn parse(text: &str) -> Option<Time> {
        let (seconds, nanos) = text.split_once('.')?;
        if nanos.len() != 9 || !nanos.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let seconds: i64 = seconds.parse().ok()?;
        seconds.checked_mul(SECOND)?.checked_add(nanos.parse().ok()?).map(Time)
    }
}

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:09}", self.0.div_euclid(SECOND), self.0.rem_euclid(SECOND))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_written_can_be_read() {
        for nanos in [0, 1, -1, 1_700_000_000_123_456_789, -5_000_000_001, i64::MAX] {
            let time = Time(nanos);
            assert_eq!(Time::parse(&time.to_string()), Some(time), "{time}");
        }
        assert_eq!(Time(1_500_000_000).to_string(), "1.500000000");
        let before = UNIX_EPOCH - Duration::from_millis(500);
        assert_eq!(Time::from_system(before).map(|time| time.to_string()).as_deref(), Some("-1.500000000"));
        for text in ["", "1", "1.5", "1.0000000000", "x.000000000", "1.00000000x", "99999999999999.000000000"]
        {
            assert_eq!(Time::parse(text), None, "{text}");
        }
    }
}
