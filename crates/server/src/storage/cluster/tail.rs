//! The tail of a shard: records of the journal that are not trimmed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hashmill_repo::DocumentId;

use super::record::{Record, RecordCommand};
use crate::storage::{ChunkKey, ChunkKind};

/// Commands about a document, by their positions.
pub(super) type Commands = BTreeMap<u64, RecordCommand>;

/// The records of a shard that this node has read and that may be in the journal.
#[derive(Debug, Default)]
pub(super) struct Tail {
    /// The position of the latest record that was read.
    pub(super) last: u64,
    /// Where the journal ended when this node first heard of it.
    pub(super) first_goal: Option<u64>,
    /// When its bounds were known or asked for last.
    pub(super) inspected_at: Duration,
    /// A record that cannot be read: the journal is kept from here on.
    pub(super) unreadable: Option<u64>,
    records: BTreeMap<u64, TailRecord>,
    chunks: BTreeMap<ChunkKey, TailChunk>,
    commands: BTreeMap<DocumentId, Commands>,
    owners: BTreeMap<DocumentId, BTreeMap<u64, String>>,
    bytes: usize,
}

#[derive(Debug)]
struct TailRecord {
    read_at: Duration,
    chunks: Vec<ChunkKey>,
    len: usize,
}

#[derive(Debug)]
pub(super) struct TailChunk {
    /// `None`: it is an object.
    pub(super) bytes: Option<Vec<u8>>,
    /// Objects have all of its changes.
    pub(super) is_covered: bool,
    /// Number of records that have it.
    records: usize,
}

impl Tail {
    /// Adds a record that was read.
    pub(super) fn add(&mut self, now: Duration, sequence: u64, record: &Record, len: usize) {
        self.last = sequence;
        for chunk in &record.chunks {
            let is_covered = chunk.bytes.is_none();
            let entry = self.chunks.entry(chunk.key.clone()).or_insert_with(|| TailChunk {
                bytes: chunk.bytes.clone(),
                is_covered,
                records: 0,
            });
            entry.records += 1;
        }
        if let Some(command) = &record.command {
            self.commands.entry(command.document.clone()).or_default().insert(sequence, command.clone());
        }
        for (document, name) in &record.owners {
            self.owners.entry(document.clone()).or_default().insert(sequence, name.clone());
        }
        let chunks = record.chunks.iter().map(|chunk| chunk.key.clone()).collect();
        self.bytes += len;
        self.records.insert(sequence, TailRecord { read_at: now, chunks, len });
    }

    /// Forgets the records up to a position, which are trimmed.
    pub(super) fn forget_through(&mut self, sequence: u64) {
        let rest = self.records.split_off(&(sequence + 1));
        for record in std::mem::replace(&mut self.records, rest).into_values() {
            self.bytes -= record.len;
            for key in record.chunks {
                let chunk = self.chunks.get_mut(&key).expect("each record's chunks are there");
                chunk.records -= 1;
                if chunk.records == 0 {
                    self.chunks.remove(&key);
                }
            }
        }
        fn forget<T>(all: &mut BTreeMap<DocumentId, BTreeMap<u64, T>>, sequence: u64) {
            all.retain(|_, of_document| {
                *of_document = of_document.split_off(&(sequence + 1));
                !of_document.is_empty()
            });
        }
        forget(&mut self.commands, sequence);
        forget(&mut self.owners, sequence);
        self.unreadable = self.unreadable.filter(|unreadable| *unreadable > sequence);
        self.last = self.last.max(sequence);
    }

    pub(super) fn has(&self, key: &ChunkKey) -> bool {
        self.chunks.contains_key(key)
    }

    /// The chunks of a document.
    pub(super) fn chunks_of(&self, document: &DocumentId) -> impl Iterator<Item = (&ChunkKey, &TailChunk)> {
        let first = ChunkKey { document: document.clone(), kind: ChunkKind::Snapshot, name: String::new() };
        self.chunks.range(first..).take_while(move |(key, _)| key.document == *document)
    }

    pub(super) fn commands_of(&self, document: &DocumentId) -> Commands {
        self.commands.get(document).cloned().unwrap_or_default()
    }

    /// The owner of a document, with the position of the record that names it.
    pub(super) fn owner_of(&self, document: &DocumentId) -> Option<(u64, String)> {
        let (sequence, name) = self.owners.get(document)?.first_key_value()?;
        Some((*sequence, name.clone()))
    }

    /// Objects have all changes of a chunk, if it is here.
    pub(super) fn cover(&mut self, key: &ChunkKey) {
        if let Some(chunk) = self.chunks.get_mut(key) {
            chunk.is_covered = true;
        }
    }

    /// The position up to which the tail may be trimmed if all of it becomes objects.
    pub(super) fn trimmable_through(&self) -> u64 {
        self.unreadable.map_or(self.last, |unreadable| unreadable - 1)
    }

    /// Chunks in records up to a position that are no objects, and in none.
    pub(super) fn uncovered_through(&self, sequence: u64) -> Vec<(ChunkKey, Vec<u8>)> {
        let keys: BTreeSet<&ChunkKey> =
            self.records.range(..=sequence).flat_map(|(_, record)| &record.chunks).collect();
        let chunks = keys.into_iter().filter_map(|key| {
            let chunk = self.chunks.get(key).filter(|chunk| !chunk.is_covered)?;
            Some((key.clone(), chunk.bytes.clone()?))
        });
        chunks.collect()
    }

    /// Documents with commands up to a position.
    pub(super) fn commanded_through(&self, sequence: u64) -> BTreeSet<DocumentId> {
        let those = self.commands.iter().filter(|(_, commands)| commands.range(..=sequence).next().is_some());
        those.map(|(document, _)| document.clone()).collect()
    }

    /// Owners that are named up to a position.
    pub(super) fn owners_through(&self, sequence: u64) -> Vec<(DocumentId, u64, String)> {
        let first = |owners: &BTreeMap<u64, String>| {
            owners.range(..=sequence).next().map(|(sequence, name)| (*sequence, name.clone()))
        };
        let those = self.owners.iter().filter_map(|(document, owners)| {
            first(owners).map(|(sequence, name)| (document.clone(), sequence, name))
        });
        those.collect()
    }

    /// When the oldest record was read.
    pub(super) fn oldest(&self) -> Option<Duration> {
        self.records.first_key_value().map(|(_, record)| record.read_at)
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
