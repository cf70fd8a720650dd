//! Storage that several nodes share: a journal for changes, and objects for what it no longer has.
//!
//! [`Replica`] stands between the core of one node and the network, without I/O, clock and randomness. It carries out the core's storage
//! actions by records of the journal and by objects, and tells the core what other nodes stored.
//!
//! What always holds:
//!
//! - A chunk is stored when its record is acknowledged. The tail of a shard, which every node reads in order, and the objects together
//!   have all stored chunks at every moment.
//! - The journal is trimmed up to a position when the chunks of all records up to it are objects, or are in a snapshot that is one. All
//!   of this may happen twice on two nodes, and late.
//! - Objects never change: equal keys have equal contents. A chunk is deleted only by a node that has read it, after it has stored a
//!   snapshot with all its changes and more.
//! - A document is opened from the tail first, then from the objects. If one of these is gone, a newer one is there: they are listed
//!   again.
//! - Commands act in the order of the journal, by the same rule on all nodes.

mod appends;
mod defect;
mod executions;
mod loads;
mod objects;
mod record;
mod tail;
mod trims;

use std::collections::BTreeMap;
use std::time::Duration;

use hashmill_repo::DocumentId;

use crate::event::{Action, Event, IoFailure};
use crate::fact::Fact;
use crate::ids::RequestId;
use crate::storage::{ChunkKey, StoredChunk};

use appends::{Append, PublishPurpose};
pub(crate) use defect::Defect;
use executions::Execution;
use loads::Load;
use objects::Listing;
pub(crate) use objects::{ObjectKey, TombstoneVersion};
pub(crate) use record::{NodeId, Record, shard_of};
use tail::Tail;
use trims::Trim;

/// Interval for asking where a shard begins and ends. Another node may have trimmed the latest records before this one read them, and
/// no later record says so.
const INSPECTION_INTERVAL: Duration = Duration::from_secs(10);

/// Configuration of a replica.
#[derive(Clone, Debug)]
pub(crate) struct ReplicaConfig {
    /// This start of the node.
    pub(crate) node: NodeId,
    /// Number of shards. It is the same for all nodes, for ever.
    pub(crate) shards: u16,
    /// Larger chunks become objects at once.
    pub(crate) max_inline_bytes: usize,
    /// A record takes no more chunks from this size on.
    pub(crate) record_bytes: usize,
    /// A shard is trimmed when its oldest record was read this long ago, or its tail has this size.
    pub(crate) trim_after: Duration,
    pub(crate) trim_bytes: usize,
    /// Lists of objects may be this old.
    pub(crate) list_lag: Duration,
}

/// A publication of a record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct PublishId(pub(crate) u64);

/// A request to the object store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ObjectId(pub(crate) u64);

/// First and last position of a shard. The last is one less than the first if it is empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bounds {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// What a replica receives.
#[derive(Debug)]
pub(crate) enum Input {
    /// Outcome of [`Output::Publish`]. A success says that the record survives any crash.
    Published(PublishId, Result<(), IoFailure>),
    /// The next record of a shard. Records that were delivered before are harmless.
    RecordDelivered {
        shard: u16,
        sequence: u64,
        record: Vec<u8>,
    },
    /// Outcome of [`Output::Inspect`]. Comes also without a request.
    Inspected(u16, Result<Bounds, IoFailure>),
    /// Outcome of [`Output::Trim`].
    Trimmed(u16, Result<(), IoFailure>),
    /// Outcome of a request to the object store.
    ObjectDone(ObjectId, Result<ObjectOutcome, IoFailure>),
    TimerFired,
}

#[derive(Debug)]
pub(crate) enum ObjectOutcome {
    Listed(Vec<ObjectKey>),
    /// `None`: there is no such object.
    Got(Option<Vec<u8>>),
    /// It is stored, or deleted.
    Done,
}

/// What a replica asks for.
#[derive(Debug)]
pub(crate) enum Output {
    /// An event for the core.
    ToCore(Event),
    /// Appends a record to a shard.
    Publish {
        id: PublishId,
        shard: u16,
        record: Vec<u8>,
    },
    /// Asks for the bounds of a shard.
    Inspect(u16),
    /// Removes all records up to a position.
    Trim {
        shard: u16,
        through: u64,
    },
    /// Lists the objects of a document.
    List(ObjectId, DocumentId),
    Get(ObjectId, ObjectKey),
    Put(ObjectId, ObjectKey, Vec<u8>),
    /// Deletes an object. A missing one is no error.
    Delete(ObjectId, ObjectKey),
    /// Asks for [`Input::TimerFired`] at this time at the latest.
    WakeAt(Duration),
    /// Tells the operator.
    Report(Fact),
}

/// Purpose of a request to the object store.
#[derive(Debug)]
enum ObjectPurpose {
    /// The objects of a document that is being loaded.
    LoadList(RequestId),
    LoadChunk(RequestId, ChunkKey),
    /// A chunk that is too large for a record.
    LargeChunk,
    Snapshot(RequestId, ChunkKey),
    Deletion(RequestId),
    /// A chunk that was referred to in a record of another node.
    Referred(ChunkKey),
    ExecutionList(RequestId),
    ExecutionDeletion(RequestId),
    /// For an attempt to trim a shard, of this number.
    TrimList(u16, u64, DocumentId),
    /// A chunk, if it is one, that an attempt to trim a shard waits for.
    TrimPut(u16, u64, Option<ChunkKey>),
}

/// Something that waits until no list is older than what was stored.
#[derive(Debug)]
enum Delayed {
    SnapshotStored(RequestId),
    Trim(u16),
    /// The objects of a load are listed again.
    List(RequestId),
    /// Other nodes are told of a large chunk again.
    Reference(ChunkKey),
}

/// One node's part of the shared storage.
#[derive(Debug)]
pub(crate) struct Replica {
    config: ReplicaConfig,
    now: Duration,
    outputs: Vec<Output>,
    tails: Vec<Tail>,
    last_number: u64,
    append: Option<Append>,
    publishes: BTreeMap<PublishId, PublishPurpose>,
    objects: BTreeMap<ObjectId, ObjectPurpose>,
    loads: BTreeMap<RequestId, Load>,
    executions: BTreeMap<RequestId, Execution>,
    /// Deletions of chunks, with the number of those under way and the first failure.
    deletions: BTreeMap<RequestId, (usize, Option<IoFailure>)>,
    trims: Vec<Trim>,
    delayed: BTreeMap<(Duration, u64), Delayed>,
    wake_at: Option<Duration>,
    /// Set by tests alone.
    defect: Option<Defect>,
}

impl Replica {
    pub(crate) fn new(config: ReplicaConfig) -> Replica {
        let shards = usize::from(config.shards);
        Replica {
            config,
            now: Duration::ZERO,
            outputs: Vec::new(),
            tails: (0..shards).map(|_| Tail::default()).collect(),
            last_number: 0,
            append: None,
            publishes: BTreeMap::new(),
            objects: BTreeMap::new(),
            loads: BTreeMap::new(),
            executions: BTreeMap::new(),
            deletions: BTreeMap::new(),
            trims: (0..shards).map(|_| Trim::default()).collect(),
            delayed: BTreeMap::new(),
            wake_at: None,
            defect: None,
        }
    }

    /// Has it read all that was in the journal when it started?
    pub(crate) fn is_caught_up(&self) -> bool {
        self.tails.iter().all(|tail| tail.first_goal.is_some_and(|goal| tail.last >= goal))
    }

    /// The position of the latest record of a shard that it has read.
    #[cfg(test)]
    pub(crate) fn last_read(&self, shard: u16) -> u64 {
        self.tail(shard).last
    }

    /// Bytes of records that are not trimmed, as far as it knows.
    #[cfg(test)]
    pub(crate) fn tail_bytes(&self) -> usize {
        self.tails.iter().map(Tail::bytes).sum()
    }

    /// Carries out a storage action of the core. Returns other actions.
    pub(crate) fn carry_out(
        &mut self,
        now: Duration,
        action: Action,
        outputs: &mut Vec<Output>,
    ) -> Option<Action> {
        self.now = self.now.max(now);
        std::mem::swap(&mut self.outputs, outputs);
        let rest = self.take_action(action);
        self.ask_for_timer();
        std::mem::swap(&mut self.outputs, outputs);
        rest
    }

    /// Processes an input.
    pub(crate) fn step(&mut self, now: Duration, input: Input, outputs: &mut Vec<Output>) {
        self.now = self.now.max(now);
        std::mem::swap(&mut self.outputs, outputs);
        match input {
            Input::Published(id, result) => self.finish_publish(id, result),
            Input::RecordDelivered { shard, sequence, record } => self.read(shard, sequence, &record),
            Input::Inspected(shard, result) => self.note_bounds(shard, &result),
            Input::Trimmed(shard, result) => self.finish_trim(shard, &result),
            Input::ObjectDone(id, result) => self.finish_object(id, result),
            Input::TimerFired => self.wake_at = self.wake_at.filter(|at| *at > self.now),
        }
        self.fire_timers();
        self.ask_for_timer();
        std::mem::swap(&mut self.outputs, outputs);
    }

    fn take_action(&mut self, action: Action) -> Option<Action> {
        match action {
            Action::Append { batch, chunks, owners } => self.start_append(batch, chunks, &owners),
            Action::Load(request, document) => self.start_load(request, document),
            Action::PutSnapshot { request, chunk: StoredChunk { key, bytes } } => {
                if self.has(Defect::CoversEarly) {
                    let chunks = self.tail_of(&key.document).chunks_of(&key.document);
                    let keys: Vec<ChunkKey> = chunks.map(|(key, _)| key.clone()).collect();
                    keys.iter().for_each(|key| self.cover(key));
                }
                let object = ObjectKey::of_chunk(&key);
                let id = self.ask_objects(ObjectPurpose::Snapshot(request, key));
                self.outputs.push(Output::Put(id, object, bytes));
            }
            Action::Delete(request, keys) => self.start_deletion(request, keys),
            Action::Execute(request, document, command) => self.start_execution(request, document, command),
            // There are no quotas.
            Action::LoadOwner(_) => {}
            action => return Some(action),
        }
        None
    }

    fn start_deletion(&mut self, request: RequestId, keys: Vec<ChunkKey>) {
        // A snapshot is stored that has all their changes.
        keys.iter().for_each(|key| self.cover(key));
        if keys.is_empty() {
            return self.outputs.push(Output::ToCore(Event::Completed(request, Ok(()))));
        }
        self.deletions.insert(request, (keys.len(), None));
        for key in keys {
            let id = self.ask_objects(ObjectPurpose::Deletion(request));
            self.outputs.push(Output::Delete(id, ObjectKey::of_chunk(&key)));
        }
    }

    fn finish_object(&mut self, id: ObjectId, result: Result<ObjectOutcome, IoFailure>) {
        let Some(purpose) = self.objects.remove(&id) else { return };
        let listed = |outcome| match outcome {
            ObjectOutcome::Listed(keys) => Listing::new(keys),
            ObjectOutcome::Got(_) | ObjectOutcome::Done => {
                Err(IoFailure::Unknown("the object store answered no list".to_owned()))
            }
        };
        match purpose {
            ObjectPurpose::LoadList(request) => self.continue_load(request, result.and_then(listed)),
            ObjectPurpose::LoadChunk(request, key) => self.take_chunk(request, key, result),
            ObjectPurpose::LargeChunk => self.finish_large_chunk(result.map(drop)),
            ObjectPurpose::Snapshot(request, key) => match result {
                Ok(_) => {
                    self.cover(&key);
                    self.delay(self.config.list_lag, Delayed::SnapshotStored(request));
                }
                Err(failure) => self.outputs.push(Output::ToCore(Event::Completed(request, Err(failure)))),
            },
            ObjectPurpose::Deletion(request) => {
                let Some((left, failure)) = self.deletions.get_mut(&request) else { return };
                *left -= 1;
                *failure = failure.take().or(result.err());
                if *left == 0
                    && let Some((_, failure)) = self.deletions.remove(&request)
                {
                    let result = failure.map_or(Ok(()), Err);
                    self.outputs.push(Output::ToCore(Event::Completed(request, result)));
                }
            }
            ObjectPurpose::Referred(key) => {
                // If it is gone, or cannot be read now, there is a snapshot with its changes, or it is read again.
                let document = key.document.clone();
                let event = match result {
                    Ok(ObjectOutcome::Got(Some(bytes))) => {
                        Event::ChunksStored(vec![StoredChunk { key, bytes }])
                    }
                    _ => Event::DocumentOutdated(document),
                };
                self.outputs.push(Output::ToCore(event));
            }
            ObjectPurpose::ExecutionList(request) => {
                self.continue_execution(request, result.and_then(listed));
            }
            ObjectPurpose::ExecutionDeletion(request) => self.finish_removal(request, result.map(drop)),
            ObjectPurpose::TrimList(shard, attempt, document) => {
                self.survey_document(shard, attempt, &document, result.and_then(listed));
            }
            ObjectPurpose::TrimPut(shard, attempt, key) => {
                self.finish_trim_put(shard, attempt, key.as_ref(), &result.map(drop));
            }
        }
    }

    /// Reads the next record of a shard.
    fn read(&mut self, shard: u16, sequence: u64, bytes: &[u8]) {
        let last = self.tail(shard).last;
        if sequence <= last {
            return;
        }
        if sequence > last + 1 {
            // Until the end of the journal is known, nothing is in memory that could be outdated.
            let is_start = self.tail(shard).first_goal.is_none();
            self.skip_through(shard, sequence - 1, is_start);
        }
        let record = match Record::decode(bytes) {
            Ok(record) => record,
            Err(reason) => {
                let tail = self.tail_mut(shard);
                tail.last = sequence;
                tail.unreadable.get_or_insert(sequence);
                return self.report(Fact::RecordUnreadable { shard, sequence, reason });
            }
        };
        let now = self.now;
        self.tail_mut(shard).add(now, sequence, &record, bytes.len());
        let is_own = record.node == self.config.node;
        if let Some(command) = &record.command {
            self.read_command(sequence, command, is_own.then_some(record.number));
        }
        if is_own {
            return;
        }
        let mut stored = Vec::new();
        for chunk in record.chunks {
            match chunk.bytes {
                Some(bytes) => stored.push(StoredChunk { key: chunk.key, bytes }),
                None => {
                    let object = ObjectKey::of_chunk(&chunk.key);
                    let id = self.ask_objects(ObjectPurpose::Referred(chunk.key));
                    self.outputs.push(Output::Get(id, object));
                }
            }
        }
        if !stored.is_empty() && !self.has(Defect::IgnoresChunks) {
            self.outputs.push(Output::ToCore(Event::ChunksStored(stored)));
        }
    }

    /// Goes on after a position: the records before were trimmed, and this node has not read all of them.
    fn skip_through(&mut self, shard: u16, sequence: u64, is_start: bool) {
        self.tail_mut(shard).forget_through(sequence);
        if is_start || self.has(Defect::IgnoresGaps) {
            return;
        }
        self.abandon_executions(shard);
        // The core begins the loads under way again.
        self.outputs.push(Output::ToCore(Event::AllOutdated));
    }

    fn note_bounds(&mut self, shard: u16, result: &Result<Bounds, IoFailure>) {
        let Bounds { first, last } = match result {
            Ok(bounds) => bounds,
            Err(_) => return self.abandon_inspection(shard),
        };
        let now = self.now;
        let tail = self.tail_mut(shard);
        tail.inspected_at = now;
        let is_start = tail.first_goal.is_none();
        tail.first_goal.get_or_insert(*last);
        let trimmed = first.saturating_sub(1);
        if trimmed > tail.last {
            self.skip_through(shard, trimmed, is_start);
        } else {
            tail.forget_through(trimmed);
        }
        self.continue_trim(shard);
    }

    /// A snapshot that is stored has all changes of a chunk.
    fn cover(&mut self, key: &ChunkKey) {
        let shard = shard_of(&key.document, self.config.shards);
        self.tail_mut(shard).cover(key);
    }

    fn fire_timers(&mut self) {
        while let Some(entry) = self.delayed.first_entry().filter(|entry| entry.key().0 <= self.now) {
            match entry.remove() {
                Delayed::SnapshotStored(request) => {
                    self.outputs.push(Output::ToCore(Event::Completed(request, Ok(()))));
                }
                Delayed::Trim(shard) => self.trim(shard),
                Delayed::List(request) => self.list_for_load(request),
                Delayed::Reference(key) => self.publish_reference(key),
            }
        }
        for shard in 0..self.config.shards {
            let now = self.now;
            let tail = self.tail_mut(shard);
            if tail.inspected_at + INSPECTION_INTERVAL <= now {
                tail.inspected_at = now;
                self.outputs.push(Output::Inspect(shard));
            }
        }
        self.start_trims();
    }

    fn ask_for_timer(&mut self) {
        let delayed = self.delayed.first_key_value().map(|((at, _), _)| *at);
        let inspection = self.tails.iter().map(|tail| tail.inspected_at + INSPECTION_INTERVAL).min();
        let next =
            delayed.into_iter().chain(self.next_trim()).chain(inspection).min().map(|at| at.max(self.now));
        if next != self.wake_at {
            self.wake_at = next;
            self.outputs.extend(next.map(Output::WakeAt));
        }
    }

    fn delay(&mut self, time: Duration, delayed: Delayed) {
        let number = self.next_number();
        self.delayed.insert((self.now + time, number), delayed);
    }

    fn report(&mut self, fact: Fact) {
        self.outputs.push(Output::Report(fact));
    }

    fn ask_objects(&mut self, purpose: ObjectPurpose) -> ObjectId {
        let id = ObjectId(self.next_number());
        self.objects.insert(id, purpose);
        id
    }

    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn tail(&self, shard: u16) -> &Tail {
        &self.tails[usize::from(shard)]
    }

    fn tail_mut(&mut self, shard: u16) -> &mut Tail {
        &mut self.tails[usize::from(shard)]
    }

    fn tail_of(&self, document: &DocumentId) -> &Tail {
        self.tail(shard_of(document, self.config.shards))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise it would wait for the next record of the shard, for any time.
    #[test]
    fn records_that_were_trimmed_unread_are_noticed_at_rest() {
        let mut replica = Replica::new(ReplicaConfig {
            node: NodeId([1; 16]),
            shards: 1,
            max_inline_bytes: 100,
            record_bytes: 100,
            trim_after: Duration::from_secs(60),
            trim_bytes: 1000,
            list_lag: Duration::ZERO,
        });
        let mut outputs = Vec::new();
        let read = |bounds| Input::Inspected(0, Ok(bounds));
        replica.step(Duration::ZERO, read(Bounds { first: 1, last: 4 }), &mut outputs);
        let record = Record::empty(NodeId([2; 16])).encode();
        for sequence in 1..=4 {
            let record = record.clone();
            replica.step(Duration::ZERO, Input::RecordDelivered { shard: 0, sequence, record }, &mut outputs);
        }
        assert!(replica.is_caught_up());
        outputs.clear();
        replica.step(INSPECTION_INTERVAL, Input::TimerFired, &mut outputs);
        assert!(outputs.iter().any(|output| matches!(output, Output::Inspect(0))), "{outputs:?}");
        outputs.clear();
        replica.step(INSPECTION_INTERVAL, read(Bounds { first: 6, last: 5 }), &mut outputs);
        let is_outdated = |output: &Output| matches!(output, Output::ToCore(Event::AllOutdated));
        assert!(outputs.iter().any(is_outdated), "{outputs:?}");
        assert_eq!(replica.last_read(0), 5);
    }
}
