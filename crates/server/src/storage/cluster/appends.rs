//! Appends of the core, as records of several shards.

use std::collections::BTreeMap;
use std::time::Duration;

use hashmill_repo::DocumentId;

use super::record::{NodeId, RecordChunk};
use super::{Defect, Delayed, ObjectKey, ObjectPurpose, Output, PublishId, Record, Replica, shard_of};
use crate::event::{Event, IoFailure};
use crate::ids::{BatchId, RequestId};
use crate::storage::{ChunkKey, StoredChunk};

/// Delay before other nodes are told of a large chunk again.
const REFERENCE_RETRY: Duration = Duration::from_secs(2);

/// Purpose of a publication.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum PublishPurpose {
    Append(BatchId),
    Execution(RequestId),
    /// Tells the other nodes of a large chunk.
    Reference(ChunkKey),
}

/// The append under way.
#[derive(Debug)]
pub(super) struct Append {
    batch: BatchId,
    /// Records, which wait for the large chunks.
    records: Vec<(u16, Record)>,
    /// Number of large chunks, then of records, that are not stored.
    left: usize,
    failure: Option<IoFailure>,
}

impl Record {
    pub(super) fn empty(node: NodeId) -> Record {
        Record { node, number: 0, chunks: Vec::new(), owners: Vec::new(), command: None }
    }
}

impl Replica {
    pub(super) fn start_append(
        &mut self,
        batch: BatchId,
        chunks: Vec<StoredChunk>,
        owners: &BTreeMap<DocumentId, String>,
    ) {
        let mut records: Vec<(u16, Record)> = Vec::new();
        // The record of each shard that takes more, with its size.
        let mut open: BTreeMap<u16, (usize, usize)> = BTreeMap::new();
        let mut left = 0;
        for StoredChunk { key, bytes } in chunks {
            let shard = shard_of(&key.document, self.config.shards);
            let (index, len) = open.remove(&shard).unwrap_or_else(|| {
                records.push((shard, Record::empty(self.config.node)));
                (records.len() - 1, 0)
            });
            let record = &mut records[index].1;
            let owner = owners.get(&key.document);
            record.owners.extend(owner.map(|name| (key.document.clone(), name.clone())));
            let mut chunk = RecordChunk { key, bytes: None };
            let mut len = len;
            if bytes.len() > self.config.max_inline_bytes {
                left += 1;
                let id = self.ask_objects(ObjectPurpose::LargeChunk);
                self.outputs.push(Output::Put(id, ObjectKey::of_chunk(&chunk.key), bytes));
            } else {
                len += bytes.len();
                chunk.bytes = Some(bytes);
            }
            record.chunks.push(chunk);
            if len < self.config.record_bytes {
                open.insert(shard, (index, len));
            }
        }
        self.append = Some(Append { batch, records, left, failure: None });
        if left == 0 {
            self.publish_append();
        }
    }

    pub(super) fn finish_large_chunk(&mut self, result: Result<(), IoFailure>) {
        let Some(append) = &mut self.append else { return };
        append.left -= 1;
        append.failure = append.failure.take().or(result.err());
        if append.left > 0 {
            return;
        }
        let failure = append.failure.take();
        let batch = append.batch;
        match failure {
            None => self.publish_append(),
            Some(failure) => {
                self.append = None;
                self.outputs.push(Output::ToCore(Event::Appended(batch, Err(failure))));
            }
        }
    }

    fn publish_append(&mut self) {
        let Some(append) = &mut self.append else { return };
        let (batch, records) = (append.batch, std::mem::take(&mut append.records));
        append.left = records.len();
        for (shard, record) in records {
            self.publish(shard, record, PublishPurpose::Append(batch));
        }
    }

    pub(super) fn publish(&mut self, shard: u16, mut record: Record, purpose: PublishPurpose) -> u64 {
        let number = self.next_number();
        record.number = number;
        self.publishes.insert(PublishId(number), purpose);
        self.outputs.push(Output::Publish { id: PublishId(number), shard, record: record.encode() });
        number
    }

    /// Tells the other nodes of a large chunk. The node that stored it may have ended before it wrote its record.
    pub(super) fn publish_reference(&mut self, key: ChunkKey) {
        let shard = shard_of(&key.document, self.config.shards);
        let mut record = Record::empty(self.config.node);
        record.chunks.push(RecordChunk { key: key.clone(), bytes: None });
        self.publish(shard, record, PublishPurpose::Reference(key));
    }

    pub(super) fn finish_publish(&mut self, id: PublishId, result: Result<(), IoFailure>) {
        match self.publishes.remove(&id) {
            Some(PublishPurpose::Reference(key)) if result.is_err() => {
                self.delay(REFERENCE_RETRY, Delayed::Reference(key));
            }
            Some(PublishPurpose::Reference(_)) => {}
            Some(PublishPurpose::Append(batch)) => self.finish_record(batch, result),
            Some(PublishPurpose::Execution(request)) => self.finish_command_record(request, result),
            None => {}
        }
    }

    fn finish_record(&mut self, batch: BatchId, result: Result<(), IoFailure>) {
        let is_first_enough = self.has(Defect::FirstRecordOnly);
        let Some(append) = self.append.as_mut().filter(|append| append.batch == batch) else { return };
        append.left -= 1;
        append.failure = append.failure.take().or(result.err());
        if append.left > 0 && !is_first_enough {
            return;
        }
        // Other records of the batch may be stored.
        let result = match append.failure.take() {
            None => Ok(()),
            Some(failure) => Err(IoFailure::Unknown(failure.reason().to_owned())),
        };
        self.append = None;
        self.outputs.push(Output::ToCore(Event::Appended(batch, result)));
    }
}
