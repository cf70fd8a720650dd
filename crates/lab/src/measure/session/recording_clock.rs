//! Clock that records its readings. The time between the first and the second reading of each pair is timed.

use super::protocol::Watched;
use hashmill_machine::Usage;
use hashmill_machine::clock::Clock;
use std::cell::RefCell;

/// Stand-in for the clock in the drivers' loops.
pub(crate) struct RecordingClock<'a> {
    clock: &'a dyn Clock,
    usage: bool,
    recorded: RefCell<Readings>,
}

#[derive(Default)]
struct Readings {
    readings: Vec<u64>,
    /// At the start of this interval.
    before: Usage,
    faults: Option<u64>,
    switches: Option<u64>,
}

impl<'a> RecordingClock<'a> {
    pub(crate) fn new(clock: &'a dyn Clock, usage: bool) -> Self {
        RecordingClock { clock, usage, recorded: RefCell::default() }
    }

    /// Returns the record. `is_system` says whether the readings are of the system's clock.
    pub(crate) fn watched(self, is_system: bool) -> Watched {
        let Readings { readings, faults, switches, .. } = self.recorded.into_inner();
        Watched {
            begin_ns: readings.first().copied().filter(|_| is_system),
            lengths_ns: readings.windows(2).map(|pair| pair[1] - pair[0]).collect(),
            faults,
            switches,
        }
    }
}

impl Clock for RecordingClock<'_> {
    /// Only the push of the first reading happens between the two readings of an interval.
    fn now_ns(&self) -> u64 {
        let recorded = &mut *self.recorded.borrow_mut();
        if recorded.readings.len().is_multiple_of(2) {
            if self.usage {
                recorded.before = Usage::read();
            }
            recorded.readings.reserve(2);
            let now = self.clock.now_ns();
            recorded.readings.push(now);
            return now;
        }
        let now = self.clock.now_ns();
        recorded.readings.push(now);
        if self.usage {
            let after = Usage::read();
            let faults = |usage: &Usage| Some(usage.minor_faults? + usage.major_faults?);
            add(&mut recorded.faults, faults(&recorded.before), faults(&after));
            add(&mut recorded.switches, recorded.before.involuntary_switches, after.involuntary_switches);
        }
        now
    }

    fn aside_ns(&self) -> u64 {
        self.clock.now_ns()
    }
}

/// Adds the difference of two counts, if the system has them.
fn add(sum: &mut Option<u64>, before: Option<u64>, after: Option<u64>) {
    if let (Some(before), Some(after)) = (before, after) {
        *sum = Some(sum.unwrap_or(0) + after.saturating_sub(before));
    }
}
