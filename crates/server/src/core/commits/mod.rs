//! Appends: starting them, their outcomes, and the state in which the storage fails.

mod collector;
mod group_commit;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hashmill_repo::DocumentId;

use super::Core;
use super::defect::Defect;
use super::entry::Entry;
use crate::document::Input;
use crate::event::{Action, IoFailure};
use crate::fact::Fact;
use crate::ids::{BatchId, SocketId};
use crate::storage::StoredChunk;

pub(super) use collector::Collector;
pub(super) use group_commit::{GroupCommit, Hold, PendingFrame};

use group_commit::{Batch, Stored};

impl Core {
    /// Starts an append if there are changes to store and none is under way.
    pub(super) fn start_append(&mut self) {
        let batch = BatchId(self.last_number + 1);
        if let Some((chunks, owners)) = self.commit.start(self.now, batch) {
            self.last_number += 1;
            self.actions.push(Action::Append { batch, chunks, owners });
        }
    }

    pub(super) fn finish_append(&mut self, batch: BatchId, result: Result<(), IoFailure>) {
        let result = match result {
            Err(IoFailure::Unknown(_)) if self.has(Defect::UnknownIsDone) => Ok(()),
            result => result,
        };
        match result {
            Ok(()) => match self.commit.succeed(batch) {
                Some(Stored::Batch(batch)) => self.release_batch(batch),
                Some(Stored::GivenUp(chunks)) => self.recover(chunks),
                None => {}
            },
            // If the chunks are stored after all, storing them again changes nothing.
            Err(failure) => {
                if self.commit.fail(batch, self.now) {
                    self.counts.failed_commits += 1;
                    self.report(Fact::AppendFailed { reason: failure.reason().to_owned() });
                }
            }
        }
    }

    fn release_batch(&mut self, batch: Batch) {
        let Batch { chunks, documents, pending_frames, .. } = batch;
        self.counts.commits += 1;
        for chunk in chunks {
            self.counts.committed_bytes += chunk.bytes.len() as u64;
            if let Some(entry) = self.documents.get_mut(&chunk.key.document) {
                entry.ledger.add(chunk.key, chunk.bytes.len());
            }
        }
        for (document, heads) in &documents {
            if let Some(entry) = self.documents.get_mut(document) {
                entry.push_durable(heads.clone());
            }
        }
        // All before any new frame, so that messages keep their order.
        let sockets: BTreeSet<SocketId> = pending_frames.iter().map(|frame| frame.socket).collect();
        pending_frames.into_iter().for_each(|frame| self.release(frame));
        sockets.into_iter().for_each(|socket| self.resume(socket));
        // All that came meanwhile goes into the next batch.
        documents.keys().for_each(|document| self.schedule(document));
        self.process_waiting();
    }

    fn process_waiting(&mut self) {
        for document in std::mem::take(&mut self.waiting) {
            self.process_inbox(&document);
        }
    }

    /// When changes are refused, unless the storage takes what it was given.
    pub(super) fn degrade_at(&self) -> Option<Duration> {
        let since = self.commit.stuck_since().filter(|_| !self.commit.is_degraded())?;
        Some(since + self.config.degrade_after)
    }

    /// Refuses changes from now on if the storage has failed for long. All documents return to what is stored, so that they can be
    /// read. The lost changes are kept to be stored, and clients send them again.
    pub(super) fn degrade_if_stuck(&mut self) {
        if self.degrade_at().is_none_or(|at| at > self.now) {
            return;
        }
        for frame in self.commit.give_up() {
            if let Some(socket) = self.sockets.get_mut(frame.socket) {
                socket.pending_bytes = socket.pending_bytes.saturating_sub(frame.frame.len());
            }
        }
        self.valid_since = self.next_number();
        self.report(Fact::Degraded);
        self.documents.values_mut().for_each(Entry::push_degrade);
        self.process_all();
    }

    fn recover(&mut self, chunks: Vec<StoredChunk>) {
        self.counts.commits += 1;
        let mut records: BTreeMap<DocumentId, Vec<StoredChunk>> = BTreeMap::new();
        for chunk in chunks {
            self.counts.committed_bytes += chunk.bytes.len() as u64;
            records.entry(chunk.key.document.clone()).or_default().push(chunk);
        }
        for (document, entry) in &mut self.documents {
            entry.push(Input::Recover(records.remove(document).unwrap_or_default()));
        }
        self.report(Fact::Recovered);
        self.process_all();
    }

    pub(super) fn process_all(&mut self) {
        self.waiting.clear();
        let all: Vec<DocumentId> = self.documents.keys().cloned().collect();
        all.iter().for_each(|document| self.process_inbox(document));
    }
}
