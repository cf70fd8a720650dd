//! Clock of a storage, which passes only while a server runs.

use std::time::Duration;

/// Clocks are set back by so much without harm.
#[cfg(feature = "shell")]
const MAX_LAG_SECONDS: u64 = 300;

/// Times of deletions and uses of documents, in seconds. It starts as the time since 1970 when the storage is created. From then on it
/// counts the time that a server runs, by a clock that cannot be set, and continues at the next start from its last record.
///
/// So a document can be brought back for the whole period, however the clock of the machine is set. The price: the period is longer
/// by the time in which no server runs, and by the time since the last record when a server is killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StorageClock {
    at_start: u64,
}

impl StorageClock {
    /// The clock at the start of a server. `recorded` is its last record in the storage, `latest` the latest time there, and `unix_time`
    /// the time since 1970 by the clock of the machine.
    ///
    /// A storage of an earlier version has no record. Its times are of a clock that may have been wrong. Its clock starts at the
    /// latest of them, so that no period ends early, but not after the clock of the machine.
    pub fn resume(recorded: Option<u64>, latest: Option<u64>, unix_time: u64) -> StorageClock {
        let at_start = recorded.unwrap_or_else(|| latest.map_or(unix_time, |latest| latest.min(unix_time)));
        StorageClock { at_start }
    }

    /// The time after a server has run for this time.
    pub fn after(self, running: Duration) -> u64 {
        self.at_start.saturating_add(running.as_secs())
    }
}

/// How many seconds the clock of the machine is behind the last record of it. `None`: it is right, or at most some minutes behind.
#[cfg(feature = "shell")]
pub(crate) fn seconds_behind(recorded: Option<u64>, unix_time: u64) -> Option<u64> {
    let behind = recorded?.checked_sub(unix_time)?;
    (behind > MAX_LAG_SECONDS).then_some(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_continues_from_its_record_alone() {
        for (recorded, latest, unix_time, expected) in [
            (None, None, 100, 100),
            (Some(50), None, 100, 50),
            (Some(50), Some(70), 100, 50),
            (Some(50), Some(70), 3, 50),
            (None, Some(70), 100, 70),
            (None, Some(700), 100, 100),
        ] {
            let clock = StorageClock::resume(recorded, latest, unix_time);
            assert_eq!(clock.after(Duration::ZERO), expected, "{recorded:?} {latest:?} {unix_time}");
            assert_eq!(clock.after(Duration::from_millis(2999)), expected + 2);
        }
        assert_eq!(StorageClock::resume(Some(u64::MAX), None, 0).after(Duration::from_secs(1)), u64::MAX);
    }

    #[test]
    #[cfg(feature = "shell")]
    fn a_clock_that_is_far_behind_is_found() {
        for (recorded, unix_time, expected) in [
            (None, 0, None),
            (Some(1000), 700, None),
            (Some(1000), 699, Some(301)),
            (Some(1000), 5000, None),
            (Some(1000), 0, Some(1000)),
        ] {
            assert_eq!(seconds_behind(recorded, unix_time), expected, "{recorded:?} {unix_time}");
        }
    }
}
