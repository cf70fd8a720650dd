//! The promise: every change that a client may take for stored is in the storage, at every moment.

use std::collections::{BTreeMap, BTreeSet};

use hashmill_doc::{ChangeHash, Limits, examine};
use hashmill_repo::DocumentId;

use super::violation::Violation;
use crate::storage::StoredChunk;

/// Changes that clients created, that were confirmed to them, and that are stored.
#[derive(Default)]
pub(super) struct Promise {
    documents: BTreeMap<DocumentId, Changes>,
}

/// Changes that were confirmed to clients, by document.
pub(super) type ConfirmedChanges = BTreeMap<DocumentId, BTreeSet<ChangeHash>>;

#[derive(Default)]
struct Changes {
    /// All changes that clients created, with their dependencies.
    created: BTreeMap<ChangeHash, Vec<ChangeHash>>,
    /// Number of stored chunks with each change.
    stored: BTreeMap<ChangeHash, usize>,
    /// Changes that were confirmed to clients, with all ancestors.
    confirmed: BTreeSet<ChangeHash>,
    /// The document is to be purged: nothing is promised any more.
    is_void: bool,
}

impl Promise {
    pub(super) fn note_created(&mut self, document: &DocumentId, hash: ChangeHash, deps: &[ChangeHash]) {
        self.documents.entry(document.clone()).or_default().created.insert(hash, deps.to_vec());
    }

    /// Checks that clients created all of these.
    pub(super) fn check_created(&self, document: &DocumentId, heads: &[ChangeHash]) -> Result<(), Violation> {
        let created = |hash: &ChangeHash| {
            self.documents.get(document).is_some_and(|changes| changes.created.contains_key(hash))
        };
        match heads.iter().find(|hash| !created(hash)) {
            Some(hash) => Err(Violation::new("nothing invented", format!("{document}: {hash}"))),
            None => Ok(()),
        }
    }

    /// Notes that changes were confirmed to a client, and checks that they are stored.
    pub(super) fn note_confirmed(
        &mut self,
        document: &DocumentId,
        hashes: impl IntoIterator<Item = ChangeHash>,
    ) -> Result<(), Violation> {
        let changes = self.documents.entry(document.clone()).or_default();
        let mut waiting: Vec<ChangeHash> = hashes.into_iter().collect();
        while let Some(hash) = waiting.pop() {
            if changes.is_void || !changes.confirmed.insert(hash) {
                continue;
            }
            if !changes.stored.contains_key(&hash) {
                return Err(Violation::new("promise", format!("{document}: confirmed {hash}, not stored")));
            }
            waiting.extend(changes.created.get(&hash).into_iter().flatten());
        }
        Ok(())
    }

    /// Checks that all of these are stored.
    pub(super) fn check_stored(&self, document: &DocumentId, heads: &[ChangeHash]) -> Result<(), Violation> {
        let stored = |hash: &ChangeHash| {
            self.documents.get(document).is_some_and(|changes| changes.stored.contains_key(hash))
        };
        match heads.iter().find(|hash| !stored(hash)) {
            Some(hash) => Err(Violation::new("convergence", format!("{document}: {hash} is not stored"))),
            None => Ok(()),
        }
    }

    pub(super) fn note_stored(&mut self, chunk: &StoredChunk) {
        let changes = self.documents.entry(chunk.key.document.clone()).or_default();
        hashes(&chunk.bytes).for_each(|hash| *changes.stored.entry(hash).or_default() += 1);
    }

    /// Is nothing promised about a document?
    pub(super) fn is_void(&self, document: &DocumentId) -> bool {
        self.documents.get(document).is_some_and(|changes| changes.is_void)
    }

    /// Notes that a document may be purged from now on, on any node.
    pub(super) fn note_purge_requested(&mut self, document: &DocumentId) {
        self.documents.entry(document.clone()).or_default().is_void = true;
    }

    /// Notes that a deleted document is gone for good, with all that was promised.
    pub(super) fn note_purged(&mut self, document: &DocumentId) {
        let changes = self.documents.entry(document.clone()).or_default();
        changes.stored.clear();
        changes.confirmed.clear();
    }

    /// Changes that were confirmed until now: a backup that begins now has them.
    pub(super) fn confirmed(&self) -> ConfirmedChanges {
        self.documents
            .iter()
            .map(|(document, changes)| (document.clone(), changes.confirmed.clone()))
            .collect()
    }

    /// Notes that the storage was restored from a backup, and checks that it has all that was confirmed before. What was confirmed
    /// later and is not in it is not promised any more.
    pub(super) fn note_restored(
        &mut self,
        chunks: impl Iterator<Item = StoredChunk>,
        confirmed: &ConfirmedChanges,
    ) -> Result<(), Violation> {
        self.documents.values_mut().for_each(|changes| changes.stored.clear());
        chunks.for_each(|chunk| self.note_stored(&chunk));
        for (document, changes) in &mut self.documents {
            let stored = &changes.stored;
            changes.confirmed.retain(|hash| stored.contains_key(hash));
            let before = confirmed.get(document).into_iter().flatten();
            if let Some(hash) = before.into_iter().find(|hash| !stored.contains_key(hash)) {
                return Err(Violation::new("promise", format!("{document}: the backup lacks {hash}")));
            }
        }
        Ok(())
    }

    /// Notes that a chunk is gone, and checks that its changes were not confirmed, or are stored elsewhere.
    pub(super) fn note_deleted(&mut self, chunk: &StoredChunk) -> Result<(), Violation> {
        let changes = self.documents.entry(chunk.key.document.clone()).or_default();
        for hash in hashes(&chunk.bytes) {
            let count = changes.stored.get_mut(&hash).expect("it was stored");
            *count -= 1;
            if *count == 0 {
                changes.stored.remove(&hash);
                if changes.confirmed.contains(&hash) && !changes.is_void {
                    return Err(Violation::new("promise", format!("{}: lost {hash}", chunk.key)));
                }
            }
        }
        Ok(())
    }
}

/// The changes in a chunk, also in one that is damaged at its end.
pub(super) fn hashes(bytes: &[u8]) -> impl Iterator<Item = ChangeHash> {
    let parts = examine(bytes, &Limits::default()).into_iter();
    parts.filter_map(|part| part.changes.ok()).flatten().map(|change| change.hash())
}
