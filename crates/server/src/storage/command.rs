//! Commands of the operator about single documents, and tombstones of deleted documents.

/// A command about a document. Times are in seconds since 1970.
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
    /// Brings a deleted document back that was not purged.
    Undelete,
    /// Removes the chunks of a document that was deleted at this time or earlier. The tombstone stays.
    Purge {
        /// The latest time of the deletion.
        deleted_until: u64,
    },
}

/// Outcome of a command that was carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CommandOutcome {
    /// The effect is stored durably.
    Done,
    /// There is no such document.
    Absent,
    /// The document was deleted, and nothing of it is left.
    Purged,
    /// The document is not deleted, or was deleted later. Nothing was removed.
    NotDue,
}

/// The record of a deleted document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tombstone {
    /// The time of the deletion, in seconds since 1970.
    pub deleted_at: u64,
    /// The chunks of the document are gone.
    pub is_purged: bool,
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
    pub fn decide(self, tombstone: Option<Tombstone>, has_chunks: bool) -> (CommandOutcome, TombstoneChange) {
        use CommandOutcome::{Absent, Done, NotDue, Purged};
        match (self, tombstone) {
            // The period starts with the first deletion.
            (Self::Delete { .. }, Some(_)) => (Done, TombstoneChange::Nothing),
            (Self::Delete { at }, None) if has_chunks => {
                (Done, TombstoneChange::Insert(Tombstone { deleted_at: at, is_purged: false }))
            }
            (Self::Undelete, Some(Tombstone { is_purged: true, .. })) => (Purged, TombstoneChange::Nothing),
            (Self::Undelete, Some(_)) => (Done, TombstoneChange::Remove),
            (Self::Undelete, None) if has_chunks => (Done, TombstoneChange::Nothing),
            (Self::Delete { .. } | Self::Undelete, None) => (Absent, TombstoneChange::Nothing),
            (Self::Purge { .. }, Some(Tombstone { is_purged: true, .. })) => (Done, TombstoneChange::Nothing),
            (Self::Purge { deleted_until }, Some(Tombstone { deleted_at, .. }))
                if deleted_at <= deleted_until =>
            {
                (Done, TombstoneChange::RemoveChunks(Tombstone { deleted_at, is_purged: true }))
            }
            (Self::Purge { .. }, _) => (NotDue, TombstoneChange::Nothing),
        }
    }

    /// The name, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delete { .. } => "delete",
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
            assert_eq!(
                command.decide(tombstone, has_chunks),
                expected,
                "{command:?} {tombstone:?} {has_chunks}"
            );
        }
    }

    /// A repetition after an unknown outcome has the outcome of the first attempt.
    #[test]
    fn commands_can_be_repeated() {
        let commands = [Command::Delete { at: 5 }, Command::Undelete, Command::Purge { deleted_until: 7 }];
        let tombstones = [None, Some(at(3, false)), Some(at(3, true)), Some(at(9, false))];
        for (command, tombstone) in
            commands.iter().flat_map(|command| tombstones.map(|there| (*command, there)))
        {
            let has_chunks = !tombstone.is_some_and(|tombstone| tombstone.is_purged);
            let (outcome, change) = command.decide(tombstone, has_chunks);
            let (after, left) = match change {
                TombstoneChange::Nothing => (tombstone, has_chunks),
                TombstoneChange::Insert(tombstone) => (Some(tombstone), has_chunks),
                TombstoneChange::Remove => (None, has_chunks),
                TombstoneChange::RemoveChunks(tombstone) => (Some(tombstone), false),
            };
            assert_eq!(
                command.decide(after, left),
                (outcome, TombstoneChange::Nothing),
                "{command:?} {tombstone:?}"
            );
        }
    }
}
