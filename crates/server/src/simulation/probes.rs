//! Counts of rare states: a simulation that never reaches one proves nothing about it.

use crate::event::{CloseReason, IoFailure};
use crate::fact::Fact;

/// Number of times that each state was reached.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Probes {
    pub(super) appends: usize,
    pub(super) snapshots: usize,
    pub(super) deletions: usize,
    pub(super) jobs: usize,
    pub(super) crashes: usize,
    pub(super) crashes_in_writes: usize,
    pub(super) degraded_steps: usize,
    pub(super) denied_frames: usize,
    pub(super) relayed: usize,
    pub(super) pauses: usize,
    failed_writes: usize,
    unknown_writes: usize,
    unreadable_chunks: usize,
    failed_loads: usize,
    recoveries: usize,
    refused_messages: usize,
    malformed: usize,
    replaced: usize,
    slow: usize,
    unauthorized: usize,
    quarantines: usize,
}

impl Probes {
    pub(super) fn note_write(&mut self, result: &Result<(), IoFailure>) {
        match result {
            Ok(()) => {}
            Err(IoFailure::NotDone(_)) => self.failed_writes += 1,
            Err(IoFailure::Unknown(_)) => self.unknown_writes += 1,
        }
    }

    pub(super) fn note_close(&mut self, reason: CloseReason) {
        match reason {
            CloseReason::Malformed => self.malformed += 1,
            CloseReason::Replaced => self.replaced += 1,
            CloseReason::Slow => self.slow += 1,
            CloseReason::Unauthorized => self.unauthorized += 1,
            _ => {}
        }
    }

    pub(super) fn note_fact(&mut self, fact: &Fact) {
        match fact {
            Fact::ChunkUnreadable { .. } => self.unreadable_chunks += 1,
            Fact::LoadFailed { .. } => self.failed_loads += 1,
            Fact::Recovered => self.recoveries += 1,
            Fact::Quarantined { .. } => self.quarantines += 1,
            Fact::MessageRefused { .. } => self.refused_messages += 1,
            _ => {}
        }
    }

    /// The counts by name.
    fn counts(&self) -> [(&'static str, usize); 21] {
        [
            ("appends", self.appends),
            ("snapshots", self.snapshots),
            ("deletions", self.deletions),
            ("jobs", self.jobs),
            ("crashes", self.crashes),
            ("crashes in writes", self.crashes_in_writes),
            ("degraded steps", self.degraded_steps),
            ("denied frames", self.denied_frames),
            ("relayed", self.relayed),
            ("failed writes", self.failed_writes),
            ("unknown writes", self.unknown_writes),
            ("unreadable chunks", self.unreadable_chunks),
            ("failed loads", self.failed_loads),
            ("recoveries", self.recoveries),
            ("refused messages", self.refused_messages),
            ("malformed", self.malformed),
            ("replaced", self.replaced),
            ("slow", self.slow),
            ("unauthorized", self.unauthorized),
            ("pauses", self.pauses),
            ("quarantines", self.quarantines),
        ]
    }

    /// Adds the names of states that were reached to a list.
    pub(super) fn add_reached(&self, reached: &mut std::collections::BTreeSet<&'static str>) {
        reached.extend(self.counts().into_iter().filter(|(_, count)| *count > 0).map(|(name, _)| name));
    }

    /// All states.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        Probes::default().counts().into_iter().map(|(name, _)| name)
    }
}
