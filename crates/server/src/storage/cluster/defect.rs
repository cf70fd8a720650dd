//! Known mistakes of shared storages, which the simulation must find. Tests alone switch them on.

use super::Replica;

/// A mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Defect {
    /// The journal is trimmed before its chunks are objects.
    TrimsEarly,
    /// The journal is trimmed to its end, also beyond what was read.
    TrimsUnread,
    /// Chunks count as covered before the snapshot is stored.
    CoversEarly,
    /// Records that were trimmed before they were read are forgotten.
    IgnoresGaps,
    /// A document is opened without the object that is gone.
    IgnoresMissing,
    /// A document is opened from its objects first, then from the tail.
    ObjectsFirst,
    /// A batch counts as stored when the first of its records is.
    FirstRecordOnly,
    /// Tombstones are trimmed without an object.
    ForgetsTombstones,
    /// The document is not read again after a command of another node.
    IgnoresCommands,
    /// Chunks of other nodes wait for the next load.
    IgnoresChunks,
    /// A failed object counts as stored when the journal is trimmed.
    TrimsAfterFailure,
}

impl Replica {
    #[cfg(test)]
    pub(crate) fn with_defect(mut self, defect: Option<Defect>) -> Replica {
        self.defect = defect;
        self
    }

    pub(super) fn has(&self, defect: Defect) -> bool {
        cfg!(test) && self.defect == Some(defect)
    }
}
