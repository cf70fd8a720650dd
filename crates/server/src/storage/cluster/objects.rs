//! Objects of a document: chunks under automerge-repo's keys, and beside them owners and tombstones, whose contents are their names.

use hashmill_repo::DocumentId;

use super::record::RecordCommand;
use crate::event::IoFailure;
use crate::storage::{ChunkKey, ChunkKind, DocumentState, Tombstone, TombstoneChange};

const OWNER: &str = "hashmill-owner";
const TOMBSTONE: &str = "hashmill-tombstone";

/// Key of an object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ObjectKey {
    pub(crate) document: DocumentId,
    pub(crate) kind: String,
    pub(crate) name: String,
}

/// Whether a document is deleted, after the command at a position of the journal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct TombstoneVersion {
    /// The position of the latest command that was considered.
    pub(crate) sequence: u64,
    pub(crate) deleted_at: Option<u64>,
    pub(crate) is_purged: bool,
}

impl TombstoneVersion {
    pub(crate) fn tombstone(&self) -> Option<Tombstone> {
        let is_purged = self.is_purged;
        self.deleted_at.map(|deleted_at| Tombstone { deleted_at, is_purged })
    }

    /// Carries out a command at a position, unless it was considered before. Returns what it changed.
    pub(crate) fn apply(&mut self, sequence: u64, command: &RecordCommand) -> TombstoneChange {
        if sequence <= self.sequence {
            return TombstoneChange::Nothing;
        }
        self.sequence = sequence;
        let state =
            DocumentState { tombstone: self.tombstone(), has_chunks: command.has_chunks, used_at: None };
        let (_, change) = command.command.decide(state);
        let after = match change {
            TombstoneChange::Nothing => return change,
            TombstoneChange::Insert(tombstone) | TombstoneChange::RemoveChunks(tombstone) => Some(tombstone),
            TombstoneChange::Remove => None,
        };
        self.deleted_at = after.map(|tombstone| tombstone.deleted_at);
        self.is_purged = after.is_some_and(|tombstone| tombstone.is_purged);
        change
    }
}

impl ObjectKey {
    pub(crate) fn of_chunk(key: &ChunkKey) -> ObjectKey {
        let (document, kind) = (key.document.clone(), key.kind.as_str().to_owned());
        ObjectKey { document, kind, name: key.name.clone() }
    }

    /// The object that says who owns a document, from the record at a position.
    pub(crate) fn of_owner(document: &DocumentId, sequence: u64, name: &str) -> ObjectKey {
        let hex: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
        let name = format!("{sequence:020}-{hex}");
        ObjectKey { document: document.clone(), kind: OWNER.to_owned(), name }
    }

    /// The object that says whether a document is deleted. The one with the latest position counts.
    pub(crate) fn of_tombstone(document: &DocumentId, version: &TombstoneVersion) -> ObjectKey {
        let TombstoneVersion { sequence, deleted_at, is_purged } = version;
        let state = match (deleted_at, is_purged) {
            (None, _) => "none".to_owned(),
            (Some(at), false) => format!("deleted-{at}"),
            (Some(at), true) => format!("purged-{at}"),
        };
        let name = format!("{sequence:020}-{state}");
        ObjectKey { document: document.clone(), kind: TOMBSTONE.to_owned(), name }
    }

    /// The key as that of a chunk, if it is one.
    pub(crate) fn to_chunk(&self) -> Option<ChunkKey> {
        let kind = ChunkKind::from_name(&self.kind)?;
        Some(ChunkKey { document: self.document.clone(), kind, name: self.name.clone() })
    }

    fn to_owner(&self) -> Option<(u64, String)> {
        let (sequence, hex) = self.name.split_once('-').filter(|_| self.kind == OWNER)?;
        if hex.len() % 2 != 0 {
            return None;
        }
        let bytes: Option<Vec<u8>> = hex
            .as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect();
        Some((sequence.parse().ok()?, String::from_utf8(bytes?).ok()?))
    }

    fn to_tombstone(&self) -> Option<TombstoneVersion> {
        let (sequence, state) = self.name.split_once('-').filter(|_| self.kind == TOMBSTONE)?;
        let sequence = sequence.parse().ok()?;
        let (deleted_at, is_purged) = match state.split_once('-') {
            None if state == "none" => (None, false),
            Some(("deleted", at)) => (Some(at.parse().ok()?), false),
            Some(("purged", at)) => (Some(at.parse().ok()?), true),
            _ => return None,
        };
        Some(TombstoneVersion { sequence, deleted_at, is_purged })
    }
}

/// The objects of a document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    pub(crate) chunks: Vec<ChunkKey>,
    pub(crate) version: TombstoneVersion,
    /// The owner, with the position of the record that names it.
    pub(crate) owner: Option<(u64, String)>,
}

impl Listing {
    /// Objects of other programs are left out. One of ours whose name cannot be read is an error: without it, a deleted document would be
    /// there again.
    pub(crate) fn new(keys: Vec<ObjectKey>) -> Result<Listing, IoFailure> {
        let mut listing = Listing::default();
        for key in keys {
            if let Some(chunk) = key.to_chunk() {
                listing.chunks.push(chunk);
            } else if let Some(version) = key.to_tombstone() {
                listing.version = listing.version.max(version);
            } else if let Some(owner) = key.to_owner() {
                let earlier = listing.owner.take().into_iter().chain([owner]).min();
                listing.owner = earlier;
            } else if [OWNER, TOMBSTONE].contains(&key.kind.as_str()) {
                let ObjectKey { document, kind, name } = key;
                return Err(IoFailure::NotDone(format!(
                    "the object {kind}/{name} of {document} cannot be read"
                )));
            }
        }
        Ok(listing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Command;

    fn id() -> DocumentId {
        DocumentId::from_random_bytes([7; 16])
    }

    #[test]
    fn names_have_what_the_objects_say() {
        let versions = [(3, None, false), (9, Some(5), false), (10, Some(6), true)]
            .map(|(sequence, deleted_at, is_purged)| TombstoneVersion { sequence, deleted_at, is_purged });
        let mut keys: Vec<ObjectKey> =
            versions.iter().map(|version| ObjectKey::of_tombstone(&id(), version)).collect();
        for (sequence, name) in [(12, "ann"), (7, "bén-1"), (100, "")] {
            keys.push(ObjectKey::of_owner(&id(), sequence, name));
        }
        let chunk = ChunkKey { document: id(), kind: ChunkKind::Snapshot, name: "x".to_owned() };
        keys.push(ObjectKey::of_chunk(&chunk));
        let listing = Listing::new(keys).expect("all names can be read");
        assert_eq!(listing.version, versions[2]);
        assert_eq!(listing.owner, Some((7, "bén-1".to_owned())));
        assert_eq!(listing.chunks, [chunk]);
    }

    #[test]
    fn foreign_objects_are_left_out_and_unreadable_ones_are_errors() {
        let listing = |kind: &str, name: &str| {
            Listing::new(vec![ObjectKey { document: id(), kind: kind.to_owned(), name: name.to_owned() }])
        };
        let foreign = listing("sync-state", "x").expect("it is not ours");
        assert!(foreign.chunks.is_empty() && foreign.owner.is_none());
        assert_eq!(foreign.version, TombstoneVersion::default());
        for (kind, name) in [
            (OWNER, "x"),
            (OWNER, "1-f"),
            (OWNER, "1-ff"),
            (TOMBSTONE, "1-gone"),
            (TOMBSTONE, "x-none"),
            (TOMBSTONE, "1-deleted-"),
        ] {
            let failure = listing(kind, name).expect_err(name);
            assert!(failure.reason().contains(&format!("{kind}/{name}")), "{failure:?}");
        }
    }

    #[test]
    fn the_order_of_the_journal_decides_what_commands_do() {
        let command = |command| RecordCommand { document: id(), command, has_chunks: true };
        let mut version = TombstoneVersion::default();
        let insert = version.apply(2, &command(Command::Delete { at: 5 }));
        assert_eq!(insert, TombstoneChange::Insert(Tombstone { deleted_at: 5, is_purged: false }));
        // A second node deleted it at the same time, and its record comes again.
        assert_eq!(version.apply(3, &command(Command::Delete { at: 6 })), TombstoneChange::Nothing);
        assert_eq!(version.apply(3, &command(Command::Undelete)), TombstoneChange::Nothing);
        assert_eq!(version.apply(4, &command(Command::Undelete)), TombstoneChange::Remove);
        // Brought back before it was purged.
        let purge = command(Command::Purge { deleted_until: 9 });
        assert_eq!(version.apply(5, &purge), TombstoneChange::Nothing);
        assert_eq!(version.tombstone(), None);
    }
}
