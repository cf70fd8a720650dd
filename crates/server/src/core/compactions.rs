//! Compaction: a snapshot in place of the chunks that it covers.

use std::time::Duration;

use hashmill_repo::DocumentId;

use super::Core;
use super::entry::Compaction;
use crate::document::{Input, SnapshotBytes};
use crate::event::{Action, IoFailure};
use crate::fact::Fact;
use crate::ids::RequestId;
use crate::storage::{ChunkKey, CommandOutcome, StoredChunk};

/// Delay after a failed compaction.
const RETRY: Duration = Duration::from_secs(5);

impl Core {
    /// Starts a compaction if one is due, or the operator asked for it.
    pub(super) fn compact_if_due(&mut self, document: &DocumentId, is_requested: bool) {
        let Some(entry) = self.documents.get_mut(document) else { return };
        let is_due = entry.compaction.is_none()
            && !entry.is_deleted
            && entry.is_idle()
            && (is_requested
                || entry.compaction_at <= self.now && entry.ledger.is_due(self.config.max_chunks));
        if is_due {
            // The inbox is empty, so all chunks of the ledger are in the document.
            entry.compaction = Some(Compaction::Preparing(entry.ledger.keys()));
            entry.push(Input::Snapshot);
            self.schedule(document);
        }
    }

    /// Stores a snapshot that a document wrote.
    pub(super) fn store_snapshot(&mut self, document: &DocumentId, snapshot: Option<SnapshotBytes>) {
        let Some(SnapshotBytes { heads, bytes }) = snapshot else { return };
        let request = RequestId(self.next_number());
        let Some(entry) = self.documents.get_mut(document) else { return };
        let Some(Compaction::Preparing(mut covered)) = entry.compaction.take() else { return };
        let key = ChunkKey::of_snapshot(document, &heads);
        covered.retain(|old| *old != key);
        entry.compaction = Some(Compaction::Storing { key: key.clone(), len: bytes.len(), covered });
        self.compactions.insert(request, document.clone());
        self.actions.push(Action::PutSnapshot { request, chunk: StoredChunk { key, bytes } });
    }

    pub(super) fn finish_compaction_step(&mut self, request: RequestId, result: Result<(), IoFailure>) {
        let Some(document) = self.compactions.remove(&request) else { return };
        let Some(entry) = self.documents.get_mut(&document) else { return };
        let step = entry.compaction.take();
        if let Err(failure) = result {
            entry.compaction_at = self.now + RETRY;
            let reason = failure.reason().to_owned();
            self.report(Fact::CompactionFailed { document: document.clone(), reason });
            self.answer_compaction_requests(&document, CommandOutcome::Failed);
            return self.settle(&document);
        }
        match step {
            Some(Compaction::Storing { key, len, covered }) => {
                self.counts.snapshots += 1;
                entry.ledger.add(key, len);
                entry.compaction = Some(Compaction::Deleting(covered.clone()));
                let request = RequestId(self.next_number());
                self.compactions.insert(request, document);
                self.actions.push(Action::Delete(request, covered));
            }
            Some(Compaction::Deleting(keys)) => {
                keys.iter().for_each(|key| entry.ledger.remove(key));
                self.answer_compaction_requests(&document, CommandOutcome::Done);
                self.schedule(&document);
            }
            Some(Compaction::Preparing(_)) | None => {}
        }
    }
}
