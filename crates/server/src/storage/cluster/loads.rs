//! Loads of documents: the tail first, then the objects.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hashmill_repo::DocumentId;

use super::record::RecordCommand;
use super::tail::Commands;
use super::{
    Defect, Delayed, Listing, ObjectKey, ObjectOutcome, ObjectPurpose, Output, Replica, TombstoneVersion,
};
use crate::event::{Event, IoFailure};
use crate::ids::RequestId;
use crate::storage::{ChunkKey, ChunkKind, Owner, StoredChunk, StoredDocument};

/// Maximum number of times that the objects of a document are listed for one load.
const MAX_LISTS: u32 = 8;

/// A load under way.
#[derive(Debug)]
pub(super) struct Load {
    document: DocumentId,
    /// The parts of it that were in the tail when it began, and that were read since.
    chunks: BTreeMap<ChunkKey, Vec<u8>>,
    references: BTreeSet<ChunkKey>,
    commands: Commands,
    owner: Option<(u64, String)>,
    listing: Listing,
    listed_at: Duration,
    /// Number of objects that are being read.
    left: usize,
    lists: u32,
    /// Objects that the tail refers to and that are gone, with the time when this was found.
    gone: BTreeMap<ChunkKey, Duration>,
    /// Objects are gone: there are newer ones.
    is_stale: bool,
    failure: Option<IoFailure>,
}

impl TombstoneVersion {
    /// The version after these commands.
    pub(super) fn after(mut self, commands: &Commands) -> TombstoneVersion {
        for (sequence, command) in commands {
            self.apply(*sequence, command);
        }
        self
    }
}

impl Replica {
    pub(super) fn start_load(&mut self, request: RequestId, document: DocumentId) {
        let load = Load {
            document,
            chunks: BTreeMap::new(),
            references: BTreeSet::new(),
            commands: Commands::new(),
            owner: None,
            listing: Listing::default(),
            listed_at: Duration::ZERO,
            left: 0,
            lists: 0,
            gone: BTreeMap::new(),
            is_stale: false,
            failure: None,
        };
        self.loads.insert(request, load);
        self.list_for_load(request);
    }

    /// Takes what is in the tail, and then asks for the objects: what leaves the tail meanwhile is here, or among them.
    pub(super) fn list_for_load(&mut self, request: RequestId) {
        if !self.has(Defect::ObjectsFirst) {
            self.take_tail(request);
        }
        let Some(load) = self.loads.get_mut(&request) else { return };
        load.lists += 1;
        load.is_stale = false;
        load.listed_at = self.now;
        let document = load.document.clone();
        let id = self.ask_objects(ObjectPurpose::LoadList(request));
        self.outputs.push(Output::List(id, document));
    }

    fn take_tail(&mut self, request: RequestId) {
        let Some(load) = self.loads.get(&request) else { return };
        let document = load.document.clone();
        let tail = self.tail_of(&document);
        let (commands, owner) = (tail.commands_of(&document), tail.owner_of(&document));
        let (mut chunks, mut references) = (Vec::new(), Vec::new());
        for (key, chunk) in tail.chunks_of(&document) {
            match &chunk.bytes {
                Some(bytes) => chunks.push((key.clone(), bytes.clone())),
                None => references.push(key.clone()),
            }
        }
        let Some(load) = self.loads.get_mut(&request) else { return };
        load.chunks.extend(chunks);
        load.references.extend(references);
        load.commands.extend(commands);
        load.owner = load.owner.take().into_iter().chain(owner).min();
    }

    pub(super) fn continue_load(&mut self, request: RequestId, listed: Result<Listing, IoFailure>) {
        let Some(load) = self.loads.get_mut(&request) else { return };
        match listed {
            Ok(listing) => load.listing = listing,
            Err(failure) => return self.fail_load(request, failure),
        }
        if load.listing.version.after(&load.commands).deleted_at.is_some() {
            return self.finish_load(request);
        }
        let listed: BTreeSet<&ChunkKey> = load.listing.chunks.iter().chain(&load.references).collect();
        let missing: Vec<ChunkKey> =
            listed.into_iter().filter(|key| !load.chunks.contains_key(key)).cloned().collect();
        load.left = missing.len();
        if missing.is_empty() {
            return self.finish_load(request);
        }
        for key in missing {
            let object = ObjectKey::of_chunk(&key);
            let id = self.ask_objects(ObjectPurpose::LoadChunk(request, key));
            self.outputs.push(Output::Get(id, object));
        }
    }

    pub(super) fn take_chunk(
        &mut self,
        request: RequestId,
        key: ChunkKey,
        result: Result<ObjectOutcome, IoFailure>,
    ) {
        let ignores_missing = self.has(Defect::IgnoresMissing);
        let Some(load) = self.loads.get_mut(&request) else { return };
        load.left -= 1;
        match result {
            Ok(ObjectOutcome::Got(Some(bytes))) => drop(load.chunks.insert(key, bytes)),
            // There is a later snapshot. One that only the tail refers to is in a snapshot of lists since it is known to be gone.
            Ok(_) => {
                let is_listed = load.listing.chunks.contains(&key);
                let lag = self.config.list_lag;
                let is_replaced = !is_listed
                    && load.gone.get(&key).is_some_and(|found_at| *found_at + lag <= load.listed_at);
                load.gone.entry(key).or_insert(self.now);
                load.is_stale |= !is_replaced && !ignores_missing;
            }
            Err(failure) => load.failure = Some(failure),
        }
        if load.left > 0 {
            return;
        }
        if let Some(failure) = load.failure.take() {
            self.fail_load(request, failure);
        } else if !load.is_stale {
            self.finish_load(request);
        } else if load.lists < MAX_LISTS {
            self.delay(self.config.list_lag, Delayed::List(request));
        } else {
            self.fail_load(request, IoFailure::NotDone("its objects are replaced all the time".to_owned()));
        }
    }

    fn fail_load(&mut self, request: RequestId, failure: IoFailure) {
        self.loads.remove(&request);
        self.outputs.push(Output::ToCore(Event::Loaded(request, Err(failure))));
    }

    fn finish_load(&mut self, request: RequestId) {
        if self.has(Defect::ObjectsFirst) {
            self.take_tail(request);
        }
        let Some(load) = self.loads.remove(&request) else { return };
        let owner = load.owner.into_iter().chain(load.listing.owner).min();
        let is_deleted = load.listing.version.after(&load.commands).deleted_at.is_some();
        if !is_deleted {
            // Others of which no record is in the tail were in one that was trimmed.
            let most = self.config.max_inline_bytes;
            let is_large = |key: &ChunkKey| load.chunks.get(key).is_some_and(|bytes| bytes.len() > most);
            let unread: Vec<ChunkKey> = load
                .listing
                .chunks
                .iter()
                .filter(|key| key.kind == ChunkKind::Incremental && is_large(key))
                .filter(|key| !self.tail_of(&load.document).has(key))
                .cloned()
                .collect();
            unread.into_iter().for_each(|key| self.publish_reference(key));
        }
        let chunks = load.chunks.into_iter().filter(|_| !is_deleted);
        let stored = StoredDocument {
            chunks: chunks.map(|(key, bytes)| StoredChunk { key, bytes }).collect(),
            is_deleted,
            owner: owner.map(|(_, name)| Owner { name, stored_bytes: 0 }),
        };
        self.outputs.push(Output::ToCore(Event::Loaded(request, Ok(stored))));
    }

    /// Adds a command to loads under way.
    pub(super) fn add_command_to_loads(&mut self, sequence: u64, command: &RecordCommand) {
        for load in self.loads.values_mut().filter(|load| load.document == command.document) {
            load.commands.insert(sequence, command.clone());
        }
    }
}
