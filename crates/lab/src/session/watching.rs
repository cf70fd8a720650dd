//! A clock that notes when it was read: what lies between the first and the second reading of each pair is timed.

use super::protocol::Watched;
use hashmill_machine::Usage;
use hashmill_machine::clock::Clock;
use std::cell::RefCell;

/// What the loops of the drivers read instead of the clock, which tells the time for it.
pub(crate) struct Watching<'a> {
    clock: &'a dyn Clock,
    usage: bool,
    seen: RefCell<Seen>,
}

#[derive(Default)]
struct Seen {
    readings: Vec<u64>,
    /// At the beginning of this stretch.
    before: Usage,
    faults: Option<u64>,
    switches: Option<u64>,
}

impl<'a> Watching<'a> {
    pub(crate) fn new(clock: &'a dyn Clock, usage: bool) -> Self {
        Watching { clock, usage, seen: RefCell::default() }
    }

    /// What was noted. `is_system` says whether the readings are of the system's clock.
    pub(crate) fn watched(self, is_system: bool) -> Watched {
        let Seen { readings, faults, switches, .. } = self.seen.into_inner();
        Watched {
            begin_ns: readings.first().copied().filter(|_| is_system),
            lengths_ns: readings.windows(2).map(|pair| pair[1] - pair[0]).collect(),
            faults,
            switches,
        }
    }
}

impl Clock for Watching<'_> {
    /// Nothing of what is done here lies between the two readings of a stretch but the push of the first.
    fn now_ns(&self) -> u64 {
        let seen = &mut *self.seen.borrow_mut();
        if seen.readings.len().is_multiple_of(2) {
            if self.usage {
                seen.before = Usage::read();
            }
            seen.readings.reserve(2);
            let now = self.clock.now_ns();
            seen.readings.push(now);
            return now;
        }
        let now = self.clock.now_ns();
        seen.readings.push(now);
        if self.usage {
            let after = Usage::read();
            let faults = |usage: &Usage| Some(usage.minor_faults? + usage.major_faults?);
            add(&mut seen.faults, faults(&seen.before), faults(&after));
            add(&mut seen.switches, seen.before.involuntary_switches, after.involuntary_switches);
        }
        now
    }

    fn aside_ns(&self) -> u64 {
        self.clock.now_ns()
    }
}

/// Adds what lies between two counts, where the system has them.
fn add(sum: &mut Option<u64>, before: Option<u64>, after: Option<u64>) {
    if let (Some(before), Some(after)) = (before, after) {
        *sum = Some(sum.unwrap_or(0) + after.saturating_sub(before));
    }
}
