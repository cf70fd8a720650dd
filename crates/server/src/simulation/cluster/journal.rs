//! Simulated journal: shards with positions, of which nodes that start late or were cut off have not read all.

use std::collections::{BTreeMap, BTreeSet};

use hashmill_doc::ChangeHash;
use hashmill_repo::DocumentId;

use super::super::promise::{Promise, hashes};
use super::super::violation::Violation;
use crate::storage::StoredChunk;
use crate::storage::cluster::{Bounds, Record};

/// The journal. What is here is acknowledged, or could be.
pub(super) struct Journal {
    shards: Vec<Shard>,
    /// It cannot be reached.
    pub(super) is_out: bool,
    /// Number of its starts. Records on the way to an earlier one are lost.
    pub(super) start: u64,
}

#[derive(Default)]
struct Shard {
    records: BTreeMap<u64, Vec<u8>>,
    last: u64,
    trimmed: u64,
}

impl Journal {
    pub(super) fn new(shards: u16) -> Journal {
        Journal { shards: (0..shards).map(|_| Shard::default()).collect(), is_out: false, start: 0 }
    }

    /// Stores a record durably.
    pub(super) fn append(&mut self, shard: u16, bytes: Vec<u8>, promise: &mut Promise) {
        let record = Record::decode(&bytes).expect("nodes write sound records");
        inline_chunks(record).for_each(|chunk| promise.note_stored(&chunk));
        let shard = &mut self.shards[usize::from(shard)];
        shard.last += 1;
        shard.records.insert(shard.last, bytes);
    }

    /// The first record at a position or after it.
    pub(super) fn next(&self, shard: u16, position: u64) -> Option<(u64, Vec<u8>)> {
        let (sequence, bytes) = self.shards[usize::from(shard)].records.range(position..).next()?;
        Some((*sequence, bytes.clone()))
    }

    /// The changes of a document in records up to a position.
    pub(super) fn changes_of(&self, document: &DocumentId, shard: u16, through: u64) -> BTreeSet<ChangeHash> {
        let records = self.shards[usize::from(shard)].records.range(..=through);
        let chunks = records
            .flat_map(|(_, bytes)| inline_chunks(Record::decode(bytes).expect("it was decoded before")));
        let those = chunks.filter(|chunk| chunk.key.document == *document);
        those.flat_map(|chunk| hashes(&chunk.bytes).collect::<Vec<_>>()).collect()
    }

    pub(super) fn bounds(&self, shard: u16) -> Bounds {
        let shard = &self.shards[usize::from(shard)];
        Bounds { first: shard.trimmed + 1, last: shard.last }
    }

    /// Removes records up to a position. Confirmed changes in them must be elsewhere.
    pub(super) fn trim(&mut self, shard: u16, through: u64, promise: &mut Promise) -> Result<(), Violation> {
        let shard = &mut self.shards[usize::from(shard)];
        let through = through.min(shard.last);
        shard.trimmed = shard.trimmed.max(through);
        let rest = shard.records.split_off(&(through + 1));
        for bytes in std::mem::replace(&mut shard.records, rest).into_values() {
            let record = Record::decode(&bytes).expect("it was decoded before");
            inline_chunks(record).try_for_each(|chunk| promise.note_deleted(&chunk))?;
        }
        Ok(())
    }
}

fn inline_chunks(record: Record) -> impl Iterator<Item = StoredChunk> {
    record.chunks.into_iter().filter_map(|chunk| Some(StoredChunk { key: chunk.key, bytes: chunk.bytes? }))
}
