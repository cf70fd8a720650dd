//! Commands of the operator about single documents, and tombstones of deleted documents.

/// A command about a document. Times are of the [`StorageClock`](super::StorageClock).
///
/// Each command can be repeated: if its effect is there already, it is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Command {
    /// Deletes the document. Its chunks stay stored until it is purged.
    Delete {
        /// The time.
        at: u64,
    },
    /// Deletes the document if it is not in memory, and no client has read or changed it since.
    DeleteUnused {
        /// The time.
        at: u64,
        /// The latest time of its last use.
        used_until: u64,
    },
    /// Brings a deleted document back that was not purged.
    Undelete,
    /// Removes the chunks of a document that was deleted at this time or earlier. The tombstone stays.
    Purge {
        /// The latest time of the deletion.
        deleted_until: u64,
    },
}

/// Outcome of a command or an intervention.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CommandOutcome {
    /// The effect is stored durably.
    Done,
    /// There is no such document.
    Absent,
    /// The document was deleted, and nothing of it is left.
    Purged,
    /// The document is in use, or was used later; or it is to be purged, and is not deleted, or was deleted later; or it is not in
    /// quarantine. Nothing changed.
    NotDue,
    /// The storage did not store the snapshot of a compaction.
    Failed,
}

/// The record of a deleted document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tombstone {
    /// The time of the deletion, by the clock of the storage.
    pub deleted_at: u64,
    /// The chunks of the document are gone.
    pub is_purged: bool,
}

/// What is stored of a document, as far as commands depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DocumentState {
    /// Its tombstone, if it is deleted.
    pub tombstone: Option<Tombstone>,
    /// Are there chunks?
    pub has_chunks: bool,
    /// The latest use that was recorded, by the clock of the storage.
    pub used_at: Option<u64>,
}

/// The change of the storage that carries a command out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TombstoneChange {
    /// Nothing changes.
    Nothing,
    /// Stores this tombstone.
    Insert(Tombstone),
    /// Removes the tombstone.
    Remove,
    /// Removes all that is stored of the document, and stores this tombstone in one step with that.
    RemoveChunks(Tombstone),
}

impl Command {
    /// Decides how to carry out the command, from what is stored of the document. The storage applies the change in the same
    /// transaction in which it has read this.
    pub fn decide(self, state: DocumentState) -> (CommandOutcome, TombstoneChange) {
        let DocumentState { tombstone, has_chunks, used_at } = state;
        use CommandOutcome::{Absent, Done, NotDue, Purged};
        match (self, tombstone) {
            // The period starts with the first deletion.
            (Self::Delete { .. } | Self::DeleteUnused { .. }, Some(_)) => (Done, TombstoneChange::Nothing),
            // A document without a record may have been used at any time.
            (Self::DeleteUnused { used_until, .. }, None)
                if used_at.is_none_or(|used_at| used_at > used_until) =>
            {
                (NotDue, TombstoneChange::Nothing)
            }
            (Self::Delete { at } | Self::DeleteUnused { at, .. }, None) if has_chunks => {
                (Done, TombstoneChange::Insert(Tombstone { deleted_at: at, is_purged: false }))
            }
            (Self::Undelete, Some(Tombstone { is_purged: true, .. })) => (Purged, TombstoneChange::Nothing),
            (Self::Undelete, Some(_)) => (Done, TombstoneChange::Remove),
            (Self::Undelete, None) if has_chunks => (Done, TombstoneChange::Nothing),
            (Self::Delete { .. } | Self::DeleteUnused { .. } | Self::Undelete, None) => {
                (Absent, TombstoneChange::Nothing)
            }
            (Self::Purge { .. }, Some(Tombstone { is_purged: true, .. })) => (Done, TombstoneChange::Nothing),
            (Self::Purge { deleted_until }, Some(Tombstone { deleted_at, .. }))
                if deleted_at <= deleted_until =>
            {
                (Done, TombstoneChange::RemoveChunks(Tombstone { deleted_at, is_purged: true }))
            }
            (Self::Purge { .. }, _) => (NotDue, TombstoneChange::Nothing),
        }
    }

    /// Does it delete the document?
    pub(crate) fn is_delete(self) -> bool {
        matches!(self, Self::Delete { .. } | Self::DeleteUnused { .. })
    }

    /// The name, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delete { .. } => "delete",
            Self::DeleteUnused { .. } => "delete-unused",
            Self::Undelete => "undelete",
            Self::Purge { .. } => "purge",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(deleted_at: u64, is_purged: bool) -> Tombstone {
        Tombstone { deleted_at, is_purged }
    }

    #[test]
    fn commands_are_decided_from_what_is_stored() {
        use CommandOutcome::{Absent, Done, NotDue, Purged};
        use TombstoneChange::{Insert, Nothing, Remove, RemoveChunks};
        let purge = Command::Purge { deleted_until: 7 };
        for (command, tombstone, has_chunks, expected) in [
            (Command::Delete { at: 5 }, None, true, (Done, Insert(at(5, false)))),
            (Command::Delete { at: 5 }, None, false, (Absent, Nothing)),
            (Command::Delete { at: 5 }, Some(at(3, false)), true, (Done, Nothing)),
            (Command::Delete { at: 5 }, Some(at(3, true)), false, (Done, Nothing)),
            (Command::Undelete, None, true, (Done, Nothing)),
            (Command::Undelete, None, false, (Absent, Nothing)),
            (Command::Undelete, Some(at(3, false)), true, (Done, Remove)),
            (Command::Undelete, Some(at(3, true)), false, (Purged, Nothing)),
            (purge, None, true, (NotDue, Nothing)),
            (purge, Some(at(8, false)), true, (NotDue, Nothing)),
            (purge, Some(at(7, false)), true, (Done, RemoveChunks(at(7, true)))),
            (purge, Some(at(9, true)), false, (Done, Nothing)),
        ] {
            let state = DocumentState { tombstone, has_chunks, used_at: None };
            assert_eq!(command.decide(state), expected, "{command:?} {tombstone:?} {has_chunks}");
        }
    }

    #[test]
    fn documents_without_a_later_use_are_deleted() {
        let command = Command::DeleteUnused { at: 50, used_until: 9 };
        let insert = TombstoneChange::Insert(at(50, false));
        for (used_at, has_chunks, expected) in [
            (None, true, (CommandOutcome::NotDue, TombstoneChange::Nothing)),
            (Some(10), true, (CommandOutcome::NotDue, TombstoneChange::Nothing)),
            (Some(9), true, (CommandOutcome::Done, insert)),
            (Some(9), false, (CommandOutcome::Absent, TombstoneChange::Nothing)),
        ] {
            let state = DocumentState { tombstone: None, has_chunks, used_at };
            assert_eq!(command.decide(state), expected, "{state:?}");
        }
    }

    /// A repetition after an unknown outcome has the outcome of the first attempt.
    #[test]
    fn commands_can_be_repeated() {
        let unused = Command::DeleteUnused { at: 5, used_until: 1 };
        let commands =
            [Command::Delete { at: 5 }, unused, Command::Undelete, Command::Purge { deleted_until: 7 }];
        let tombstones = [None, Some(at(3, false)), Some(at(3, true)), Some(at(9, false))];
        for (command, tombstone) in
            commands.iter().flat_map(|command| tombstones.map(|there| (*command, there)))
        {
            let has_chunks = !tombstone.is_some_and(|tombstone| tombstone.is_purged);
            let state = DocumentState { tombstone, has_chunks, used_at: Some(1) };
            let (outcome, change) = command.decide(state);
            let (after, left) = match change {
                TombstoneChange::Nothing => (tombstone, has_chunks),
                TombstoneChange::Insert(tombstone) => (Some(tombstone), has_chunks),
                TombstoneChange::Remove => (None, has_chunks),
                TombstoneChange::RemoveChunks(tombstone) => (Some(tombstone), false),
            };
            assert_eq!(
                command.decide(DocumentState { tombstone: after, has_chunks: left, ..state }),
                (outcome, TombstoneChange::Nothing),
                "{command:?} {tombstone:?}"
            );
        }
    }
}
