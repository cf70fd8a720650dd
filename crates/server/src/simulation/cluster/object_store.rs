//! Simulated object store: slow, with errors and lists that are older than the latest requests.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hashmill_doc::ChangeHash;
use hashmill_repo::DocumentId;
use hashmill_testkit::Rng;

use super::super::promise::{Promise, hashes};
use super::super::violation::Violation;
use crate::storage::StoredChunk;
use crate::storage::cluster::{ObjectKey, ObjectOutcome};

/// A request.
#[derive(Clone, Debug)]
pub(super) enum ObjectRequest {
    List(DocumentId),
    Get(ObjectKey),
    Put(ObjectKey, Vec<u8>),
    Delete(ObjectKey),
}

#[derive(Default)]
pub(super) struct ObjectStore {
    objects: BTreeMap<ObjectKey, Vec<u8>>,
    /// When objects were stored or deleted last.
    changed_at: BTreeMap<ObjectKey, Duration>,
    /// It cannot be reached.
    pub(super) is_out: bool,
}

impl ObjectStore {
    /// Carries out a request. Lists may be `lag` old.
    pub(super) fn carry_out(
        &mut self,
        request: ObjectRequest,
        now: Duration,
        lag: Duration,
        rng: &mut Rng,
        promise: &mut Promise,
    ) -> Result<ObjectOutcome, Violation> {
        match request {
            ObjectRequest::List(document) => Ok(ObjectOutcome::Listed(self.list(&document, now, lag, rng))),
            ObjectRequest::Get(key) => Ok(ObjectOutcome::Got(self.objects.get(&key).cloned())),
            ObjectRequest::Put(key, bytes) => {
                if !self.objects.contains_key(&key) {
                    self.changed_at.insert(key.clone(), now);
                }
                let chunk = key.to_chunk();
                if let Some(key) = &chunk {
                    promise.note_stored(&StoredChunk { key: key.clone(), bytes: bytes.clone() });
                }
                let before = self.objects.insert(key, bytes);
                if let (Some(key), Some(bytes)) = (chunk, before) {
                    promise.note_deleted(&StoredChunk { key, bytes })?;
                }
                Ok(ObjectOutcome::Done)
            }
            ObjectRequest::Delete(key) => {
                if let Some(bytes) = self.objects.remove(&key) {
                    self.changed_at.insert(key.clone(), now);
                    if let Some(key) = key.to_chunk() {
                        promise.note_deleted(&StoredChunk { key, bytes })?;
                    }
                }
                Ok(ObjectOutcome::Done)
            }
        }
    }

    fn list(&self, document: &DocumentId, now: Duration, lag: Duration, rng: &mut Rng) -> Vec<ObjectKey> {
        let those = self.changed_at.iter().filter(|(key, _)| key.document == *document);
        let shown = those.filter(|(key, changed_at)| {
            let is_there = self.objects.contains_key(key);
            // It shows the state before the change.
            let is_late = **changed_at + lag > now && rng.below(2) == 0;
            is_there != is_late
        });
        shown.map(|(key, _)| key.clone()).collect()
    }

    /// The changes of a document in objects that were stored at this time or earlier.
    pub(super) fn changes_of(&self, document: &DocumentId, until: Duration) -> BTreeSet<ChangeHash> {
        let those = self.objects.iter().filter(|(key, _)| key.document == *document);
        let those = those.filter(|(key, _)| self.changed_at[key] <= until);
        let chunks = those.filter(|(key, _)| key.to_chunk().is_some());
        chunks.flat_map(|(_, bytes)| hashes(bytes).collect::<Vec<_>>()).collect()
    }

    /// Number of chunks of a document.
    pub(super) fn chunks_of(&self, document: &DocumentId) -> usize {
        let those = self.objects.keys().filter(|key| key.document == *document);
        those.filter(|key| key.to_chunk().is_some()).count()
    }
}
