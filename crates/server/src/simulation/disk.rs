//! Simulated storage: writes that fail, have an unknown outcome, or are lost or torn by a crash.

use std::collections::BTreeMap;
use std::time::Duration;

use hashmill_repo::DocumentId;
use hashmill_testkit::Rng;

use super::promise::Promise;
use super::scenario::Knobs;
use super::violation::Violation;
use crate::event::IoFailure;
use crate::storage::{
    ChunkKey, Command, CommandOutcome, DocumentState, Owner, StorageClock, StoredChunk, StoredDocument,
    Tombstone, TombstoneChange,
};

/// A write under way.
#[derive(Clone, Debug)]
pub(super) enum Write {
    /// With the owners of new documents.
    Put(Vec<StoredChunk>, BTreeMap<DocumentId, String>),
    Delete(Vec<ChunkKey>),
    Execute(DocumentId, Command),
}

/// The storage: what survives a crash now.
#[derive(Default)]
pub(super) struct Disk {
    contents: Contents,
    /// The time of the world.
    pub(super) now: Duration,
    undelete_time: Duration,
    /// When the operator gave a deletion with this time, by the clock of the storage.
    deletions: BTreeMap<(DocumentId, u64), Duration>,
    /// All writes fail.
    pub(super) is_out: bool,
}

/// All that is stored at one moment. A backup of it is a copy.
#[derive(Clone, Default)]
pub(super) struct Contents {
    stored: BTreeMap<ChunkKey, Vec<u8>>,
    tombstones: BTreeMap<DocumentId, Tombstone>,
    /// When documents were deleted, by the time of the world.
    deleted_at: BTreeMap<DocumentId, Duration>,
    owners: BTreeMap<DocumentId, String>,
    /// The record of the storage's clock.
    clock: Option<u64>,
}

impl Contents {
    pub(super) fn tombstone(&self, document: &DocumentId) -> Option<Tombstone> {
        self.tombstones.get(document).copied()
    }

    pub(super) fn chunks(&self) -> impl Iterator<Item = StoredChunk> {
        self.stored.iter().map(|(key, bytes)| StoredChunk { key: key.clone(), bytes: bytes.clone() })
    }
}

impl Disk {
    /// An empty storage. A deleted document must not be purged before this time has passed.
    pub(super) fn new(undelete_time: Duration) -> Disk {
        Disk { undelete_time, ..Disk::default() }
    }

    /// Carries out a write, or part of it. Returns the outcome that the server hears.
    pub(super) fn finish(
        &mut self,
        write: Write,
        knobs: &Knobs,
        rng: &mut Rng,
        promise: &mut Promise,
    ) -> Result<Result<CommandOutcome, IoFailure>, Violation> {
        if self.is_out || rng.below(100) < knobs.failed_writes {
            return Ok(Err(IoFailure::NotDone("no space left".to_owned())));
        }
        if rng.below(100) < knobs.unknown_writes {
            if rng.below(2) == 0 {
                self.apply(write, promise)?;
            }
            return Ok(Err(IoFailure::Unknown("timeout".to_owned())));
        }
        Ok(Ok(self.apply(write, promise)?))
    }

    fn apply(&mut self, write: Write, promise: &mut Promise) -> Result<CommandOutcome, Violation> {
        match write {
            Write::Put(chunks, owners) => {
                owners.into_iter().for_each(|(document, name)| self.add_owner(document, name));
                chunks.into_iter().try_for_each(|chunk| self.put(chunk, promise))?;
            }
            Write::Delete(keys) => keys.iter().try_for_each(|key| self.delete(key, promise))?,
            Write::Execute(document, command) => return self.execute(&document, command, promise),
        }
        Ok(CommandOutcome::Done)
    }

    fn execute(
        &mut self,
        document: &DocumentId,
        command: Command,
        promise: &mut Promise,
    ) -> Result<CommandOutcome, Violation> {
        let tombstone = self.contents.tombstones.get(document).copied();
        // Every document is old enough for the rule about unused ones.
        let state = DocumentState { tombstone, has_chunks: self.has_chunks(document), used_at: Some(0) };
        let (outcome, change) = command.decide(state);
        match change {
            TombstoneChange::Nothing => {}
            TombstoneChange::Insert(tombstone) => {
                self.contents.tombstones.insert(document.clone(), tombstone);
                // The period begins with the command, which may have been tried again.
                let key = (document.clone(), tombstone.deleted_at);
                let given_at = self.deletions.get(&key).copied().unwrap_or(self.now);
                self.contents.deleted_at.insert(document.clone(), given_at);
            }
            TombstoneChange::Remove => drop(self.contents.tombstones.remove(document)),
            TombstoneChange::RemoveChunks(tombstone) => {
                let deleted_at = self.contents.deleted_at.get(document).copied().unwrap_or_default();
                // The clock of the storage has whole seconds.
                if self.now + Duration::from_secs(1) < deleted_at + self.undelete_time {
                    let detail = format!("{document}: deleted at {deleted_at:?}, purged at {:?}", self.now);
                    return Err(Violation::new("deletion", detail));
                }
                self.contents.stored.retain(|key, _| key.document != *document);
                self.contents.owners.remove(document);
                self.contents.tombstones.insert(document.clone(), tombstone);
                promise.note_purged(document);
            }
        }
        Ok(outcome)
    }

    /// Notes a deletion that the operator gives.
    pub(super) fn note_deletion(&mut self, document: &DocumentId, at: u64, now: Duration) {
        self.deletions.entry((document.clone(), at)).or_insert(now);
    }

    /// Records the clock of the storage.
    pub(super) fn record_clock(&mut self, now: u64) {
        if !self.is_out {
            self.contents.clock = Some(now);
        }
    }

    /// The clock of the storage for a server that starts now.
    pub(super) fn clock(&self, unix_time: u64) -> StorageClock {
        let latest = self.contents.tombstones.values().map(|tombstone| tombstone.deleted_at).max();
        StorageClock::resume(self.contents.clock, latest, unix_time)
    }

    fn add_owner(&mut self, document: DocumentId, name: String) {
        self.contents.owners.entry(document).or_insert(name);
    }

    /// The owner of a document.
    pub(super) fn owner(&self, document: &DocumentId) -> Option<Owner> {
        let name = self.contents.owners.get(document)?;
        self.owned_bytes().into_iter().find(|owner| owner.name == *name)
    }

    /// Bytes of all chunks of each owner.
    pub(super) fn owned_bytes(&self) -> Vec<Owner> {
        let mut counts: BTreeMap<&str, u64> =
            self.contents.owners.values().map(|name| (name.as_str(), 0)).collect();
        for (key, bytes) in &self.contents.stored {
            if let Some(name) = self.contents.owners.get(&key.document) {
                *counts.entry(name).or_default() += bytes.len() as u64;
            }
        }
        counts.into_iter().map(|(name, stored_bytes)| Owner { name: name.to_owned(), stored_bytes }).collect()
    }

    pub(super) fn has_chunks(&self, document: &DocumentId) -> bool {
        self.contents.stored.keys().any(|key| key.document == *document)
    }

    pub(super) fn tombstone(&self, document: &DocumentId) -> Option<Tombstone> {
        self.contents.tombstone(document)
    }

    /// A backup, as of one moment.
    pub(super) fn back_up(&self) -> Contents {
        self.contents.clone()
    }

    /// Replaces all that is stored.
    pub(super) fn restore(&mut self, contents: Contents) {
        self.contents = contents;
    }

    fn put(&mut self, chunk: StoredChunk, promise: &mut Promise) -> Result<(), Violation> {
        if self.tombstone(&chunk.key.document).is_some_and(|tombstone| tombstone.is_purged) {
            return Err(Violation::new("deletion", format!("{}: stored after the purge", chunk.key)));
        }
        promise.note_stored(&chunk);
        let StoredChunk { key, bytes } = chunk;
        match self.contents.stored.insert(key.clone(), bytes) {
            Some(bytes) => promise.note_deleted(&StoredChunk { key, bytes }),
            None => Ok(()),
        }
    }

    fn delete(&mut self, key: &ChunkKey, promise: &mut Promise) -> Result<(), Violation> {
        match self.contents.stored.remove(key) {
            Some(bytes) => promise.note_deleted(&StoredChunk { key: key.clone(), bytes }),
            None => Ok(()),
        }
    }

    /// The server stops during a write: each part of it is done, not done, or torn.
    pub(super) fn crash(
        &mut self,
        write: Write,
        tears: bool,
        rng: &mut Rng,
        promise: &mut Promise,
    ) -> Result<(), Violation> {
        match write {
            Write::Put(chunks, owners) => {
                for mut chunk in chunks {
                    let draw = rng.below(3);
                    if draw < 2
                        && let Some(name) = owners.get(&chunk.key.document)
                    {
                        self.add_owner(chunk.key.document.clone(), name.clone());
                    }
                    match draw {
                        0 => self.put(chunk, promise)?,
                        // A chunk of the same name is complete already.
                        1 if tears && !self.contents.stored.contains_key(&chunk.key) => {
                            chunk.bytes.truncate(rng.below(chunk.bytes.len()));
                            self.put(chunk, promise)?;
                        }
                        _ => {}
                    }
                }
            }
            Write::Delete(keys) => {
                for key in keys.iter().filter(|_| rng.below(2) == 0) {
                    self.delete(key, promise)?;
                }
            }
            Write::Execute(document, command) => {
                if rng.below(2) == 0 {
                    self.execute(&document, command, promise)?;
                }
            }
        }
        Ok(())
    }

    /// All that is stored of a document. A load may fail, or deliver a damaged chunk that is whole on the disk.
    pub(super) fn load(
        &self,
        document: &DocumentId,
        knobs: &Knobs,
        rng: &mut Rng,
    ) -> Result<StoredDocument, IoFailure> {
        if rng.below(100) < knobs.failed_loads {
            return Err(IoFailure::NotDone("read error".to_owned()));
        }
        let of_document = self.contents.stored.iter().filter(|(key, _)| key.document == *document);
        let mut chunks: Vec<StoredChunk> =
            of_document.map(|(key, bytes)| StoredChunk { key: key.clone(), bytes: bytes.clone() }).collect();
        if !chunks.is_empty() && rng.below(100) < knobs.damaged_loads {
            let at = rng.below(chunks.len());
            let bytes = &mut chunks[at].bytes;
            if !bytes.is_empty() {
                let offset = rng.below(bytes.len());
                bytes[offset] ^= 1 << rng.below(8);
            }
        }
        Ok(StoredDocument {
            chunks,
            is_deleted: self.contents.tombstones.contains_key(document),
            owner: self.owner(document),
        })
    }
}
