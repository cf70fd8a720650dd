//! Counts of operations, events and rare states: a simulation that reaches one too rarely proves nothing about it.

use std::collections::BTreeMap;

use crate::event::{CloseReason, Event, IoFailure};
use crate::fact::Fact;
use crate::storage::CommandOutcome;

/// Everything that is counted, with the least number in a hundred worlds: about a third of what worlds reach today.
const LEAST: [(&str, usize); 61] = [
    ("appends", 900),
    ("backups", 20),
    ("broadcasts", 200),
    ("chunks that wait for others", 3),
    ("client restarts", 60),
    ("clock jumps", 30),
    ("closed by a drain", 40),
    ("counts of bytes", 900),
    ("commands", 60),
    ("commands carried out", 60),
    ("owners loaded", 300),
    ("compaction steps", 300),
    ("cuts", 40),
    ("degradations", 20),
    ("degraded steps", 700),
    ("deletions", 100),
    ("denied frames", 100),
    ("documents deleted", 30),
    ("documents purged", 5),
    ("documents undeleted", 30),
    ("documents behind their sync", 3),
    ("drained", 20),
    ("drains", 20),
    ("edits", 2000),
    ("ends in writes", 7),
    ("ends of the server", 90),
    ("failed commands", 10),
    ("failed compactions", 20),
    ("failed loads", 9),
    ("failed writes", 100),
    ("frames received", 4000),
    ("hostile sockets", 100),
    ("inspections", 30),
    ("interventions", 30),
    ("jobs", 2000),
    ("loads", 200),
    ("malformed", 60),
    ("outages", 20),
    ("pauses", 1),
    ("quarantines", 1),
    ("questions", 100),
    ("questions without an answer", 1),
    ("reading pauses", 100),
    ("recoveries", 20),
    ("refused messages", 10),
    ("relayed", 100),
    ("replaced", 10),
    ("slow", 2),
    ("snapshots", 200),
    ("restored backups", 10),
    ("rights answered", 100),
    ("rights answered too late", 1),
    ("rights changed", 60),
    ("rights ended", 1),
    ("sockets closed", 100),
    ("sockets drained", 3000),
    ("sockets opened", 400),
    ("timers", 1000),
    ("unauthorized", 10),
    ("unknown writes", 60),
    ("unreadable chunks", 10),
];

/// Number of occurrences of each.
#[derive(Clone, Default, Debug)]
pub(super) struct Probes {
    counts: BTreeMap<&'static str, usize>,
}

impl Probes {
    pub(super) fn count(&mut self, name: &'static str) {
        debug_assert!(LEAST.iter().any(|(known, _)| *known == name), "{name} has no least number");
        *self.counts.entry(name).or_default() += 1;
    }

    pub(super) fn note_event(&mut self, event: &Event) {
        self.count(match event {
            Event::SocketOpened(..) => "sockets opened",
            Event::FrameReceived(..) => "frames received",
            Event::SocketDrained(..) => "sockets drained",
            Event::SocketClosed(_) => "sockets closed",
            Event::RightsChanged(..) => "rights changed",
            Event::RightsAnswered(..) => "rights answered",
            Event::RightsEnded(..) => "rights ended",
            Event::Appended(..) => "appends",
            Event::Loaded(_, Ok(_)) => "loads",
            Event::Loaded(_, Err(_)) => "failed loads",
            Event::Completed(..) => "compaction steps",
            Event::OwnerLoaded(_) => "owners loaded",
            Event::BytesCounted(_) => "counts of bytes",
            Event::CommandReceived(..) => "commands",
            Event::InterventionReceived(..) => "interventions",
            Event::InspectionReceived(..) => "inspections",
            Event::Executed(..) => "commands carried out",
            Event::WorkDone(..) => "jobs",
            // There are no other nodes.
            Event::ChunksStored(_) | Event::DocumentOutdated(_) | Event::AllOutdated | Event::Relayed(_) => {
                return;
            }
            Event::TimerFired => "timers",
            Event::DrainRequested => "drains",
        });
    }

    pub(super) fn note_write(&mut self, result: &Result<CommandOutcome, IoFailure>) {
        match result {
            Ok(_) => {}
            Err(IoFailure::NotDone(_)) => self.count("failed writes"),
            Err(IoFailure::Unknown(_)) => self.count("unknown writes"),
        }
    }

    pub(super) fn note_close(&mut self, reason: CloseReason) {
        match reason {
            CloseReason::Malformed => self.count("malformed"),
            CloseReason::Replaced => self.count("replaced"),
            CloseReason::Slow => self.count("slow"),
            CloseReason::Draining => self.count("closed by a drain"),
            CloseReason::Unauthorized => self.count("unauthorized"),
            _ => {}
        }
    }

    pub(super) fn note_fact(&mut self, fact: &Fact) {
        match fact {
            Fact::ChunkUnreadable { reason, .. } if reason.contains("missing ones") => {
                self.count("chunks that wait for others");
            }
            Fact::ChunkUnreadable { .. } => self.count("unreadable chunks"),
            Fact::MessageRefused { .. } => self.count("refused messages"),
            Fact::CompactionFailed { .. } => self.count("failed compactions"),
            Fact::Degraded => self.count("degradations"),
            Fact::Recovered => self.count("recoveries"),
            Fact::Drained => self.count("drained"),
            Fact::Deleted { .. } => self.count("documents deleted"),
            Fact::Undeleted { .. } => self.count("documents undeleted"),
            Fact::Purged { .. } => self.count("documents purged"),
            Fact::CommandFailed { .. } => self.count("failed commands"),
            Fact::Quarantined { .. } => self.count("quarantines"),
            _ => {}
        }
    }

    pub(super) fn add(&mut self, other: &Probes) {
        other.counts.iter().for_each(|(name, count)| *self.counts.entry(name).or_default() += count);
    }

    /// Probes that a number of worlds reached too rarely, with their number and the minimum.
    pub(super) fn too_rare(&self, worlds: u64) -> Vec<(&'static str, usize, usize)> {
        let least =
            LEAST.into_iter().map(|(name, least)| (name, (least as u64 * worlds).div_ceil(100) as usize));
        let counted = least.map(|(name, least)| (name, self.counts.get(name).copied().unwrap_or(0), least));
        counted.filter(|(_, count, least)| count < least).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulation_that_does_nothing_is_found() {
        assert_eq!(Probes::default().too_rare(1).len(), LEAST.len());
        let enough = LEAST.into_iter().collect();
        assert!(Probes { counts: enough }.too_rare(100).is_empty());
        for (left, _) in LEAST {
            let counts =
                LEAST.into_iter().map(|(name, least)| (name, least - usize::from(name == left))).collect();
            assert_eq!(Probes { counts }.too_rare(100).len(), 1, "{left}");
        }
    }
}
