//! Documents: loading, processing of their inboxes, and leaving memory.

use std::collections::BTreeSet;
use std::time::Duration;

use hashmill_repo::DocumentId;

use super::commits::{Hold, PendingFrame};
use super::defect::Defect;
use super::entry::{Entry, LAST_REREAD, Residence, Urgency};
use super::{Core, Draining};
use crate::access::Access;
use crate::document::{DocumentJob, DocumentLimits, Input, Opened, Output, Record, WorkOutput, WorkResult};
use crate::event::{Action, CloseReason, IoFailure};
use crate::fact::Fact;
use crate::ids::{RequestId, SocketId, WorkId};
use crate::storage::{ChunkKey, StoredChunk, StoredDocument};

/// Delay before a failed load is tried again.
const LOAD_RETRY: Duration = Duration::from_millis(500);

/// Messages are collected if an append started within this number of windows.
const LOAD_WINDOWS: u32 = 5;
/// Inputs on which nothing depends wait for this number of windows, unless others come.
const LATER_WINDOWS: u32 = 10;

impl Core {
    /// The entry of a document, which is loaded if it is not in memory.
    pub(super) fn entry(&mut self, document: &DocumentId) -> &mut Entry {
        if !self.documents.contains_key(document) {
            let mut entry = Entry::new(self.now);
            if self.commit.is_degraded() {
                entry.push(Input::Degrade);
            }
            if self.quarantines.contains(document) {
                entry.push(Input::Quarantine);
            }
            self.documents.insert(document.clone(), entry);
            self.load(document.clone());
        }
        let entry = self.documents.get_mut(document).expect("it was inserted");
        if let Some(at) = entry.idle_until.take() {
            self.idle.remove(&(at, document.clone()));
        }
        entry
    }

    pub(super) fn load(&mut self, document: DocumentId) {
        let request = RequestId(self.next_number());
        self.loads.insert(request, document.clone());
        self.actions.push(Action::Load(request, document));
    }

    pub(super) fn retry_loads(&mut self) {
        while let Some((_, document)) = pop_due(&mut self.failed_loads, self.now) {
            self.load(document);
        }
    }

    pub(super) fn finish_load(&mut self, request: RequestId, result: Result<StoredDocument, IoFailure>) {
        let Some(document) = self.loads.remove(&request) else { return self.finish_denied_load(request) };
        let stored = match result {
            Ok(stored) => stored,
            Err(failure) => {
                let reason = failure.reason().to_owned();
                self.failed_loads.insert((self.now + LOAD_RETRY, document.clone()));
                return self.report(Fact::LoadFailed { document, reason });
            }
        };
        let ignores_tombstones = self.has(Defect::IgnoresTombstones);
        let Some(entry) = self.documents.get_mut(&document) else { return };
        if !matches!(entry.residence, Residence::Loading) {
            return self.read_again(&document, stored);
        }
        entry.residence = Residence::Busy;
        let chunks = if ignores_tombstones { stored.chunks } else { self.admit_stored(&document, stored) };
        if self.has(Defect::DeletesUnread)
            && let Some(entry) = self.documents.get_mut(&document)
        {
            chunks.iter().for_each(|chunk| entry.ledger.add(chunk.key.clone(), chunk.bytes.len()));
        }
        self.counts.loads += 1;
        let bytes: usize = chunks.iter().map(|chunk| chunk.bytes.len()).sum();
        let job = DocumentJob::open(document.clone(), chunks, DocumentLimits::new(&self.config));
        self.run(&document, job, bytes);
    }

    /// Runs a job: at once if it is small.
    fn run(&mut self, document: &DocumentId, job: DocumentJob, bytes: usize) {
        let work = WorkId(self.next_number());
        if bytes <= self.config.inline_bytes {
            self.finish(work, document, job.run());
        } else {
            self.works.insert(work, document.clone());
            self.actions.push(Action::RunWork(work, job));
        }
    }

    pub(super) fn finish_work(&mut self, work: WorkId, output: WorkOutput) {
        if let Some(document) = self.works.remove(&work) {
            self.finish(work, &document, output);
        }
    }

    fn finish(&mut self, work: WorkId, document: &DocumentId, output: WorkOutput) {
        let Some(entry) = self.documents.get_mut(document) else { return };
        match output.0 {
            WorkResult::Opened(Opened { document: open, read, facts }) => {
                read.into_iter().for_each(|(key, len)| entry.ledger.add(key, len));
                entry.residence = Residence::Idle(open);
                self.report_facts(document, facts);
                // Measures its memory.
                self.documents.get_mut(document).into_iter().for_each(|entry| entry.push(Input::Resume));
            }
            WorkResult::Processed(open, output) => {
                self.take_output(work, document, *output);
                // Only now can it be processed again: its frames keep their order.
                if let Some(entry) = self.documents.get_mut(document) {
                    entry.residence = Residence::Idle(open);
                }
            }
        }
        self.schedule(document);
    }

    /// Reports facts. If parts of a document could not be read, it is read again later: they may come from other nodes again, and later
    /// parts may wait for them.
    fn report_facts(&mut self, document: &DocumentId, facts: Vec<Fact>) {
        let is_incomplete = facts.iter().any(|fact| matches!(fact, Fact::ChunkUnreadable { .. }));
        if is_incomplete
            && self.config.has_other_nodes
            && let Some(entry) = self.documents.get_mut(document)
            && !self.failed_loads.iter().any(|(_, waiting)| waiting == document)
        {
            self.failed_loads.insert((self.now + entry.reread_pause, document.clone()));
            entry.reread_pause = (entry.reread_pause * 2).min(LAST_REREAD);
        }
        facts.into_iter().for_each(|fact| self.report(fact));
    }

    /// Processes the inbox of a document, now or with others.
    pub(super) fn schedule(&mut self, document: &DocumentId) {
        let Some(entry) = self.documents.get(document) else { return };
        let window = self.config.commit_window;
        let collects = self.draining == Draining::No && !window.is_zero() && !entry.inbox.is_empty();
        match entry.urgency {
            Urgency::Later if collects => self.later.add(document.clone(), self.now + window * LATER_WINDOWS),
            Urgency::Soon if collects && self.commit.has_started_within(self.now, window * LOAD_WINDOWS) => {
                self.soon.add(document.clone(), self.now + window);
            }
            _ => self.process_inbox(document),
        }
    }

    /// Processes what was collected, when its time has come.
    pub(super) fn process_collected(&mut self) {
        let soon = self.soon.take_due(self.now);
        let later = self.later.take_due(self.now);
        soon.union(&later).for_each(|document| self.process_inbox(document));
    }

    /// Processes the inbox of a document, unless it has to wait for a job or for the storage.
    pub(super) fn process_inbox(&mut self, document: &DocumentId) {
        let Some(entry) = self.documents.get_mut(document) else { return };
        if !entry.is_idle() {
            return;
        }
        if entry.inbox.is_empty() {
            return self.settle(document);
        }
        // What comes while a batch is appended is processed together when the next one starts.
        let is_unsaved = self.commit.hold_of(document) != Hold::Nothing;
        let is_full = self.commit.staged_bytes() >= self.config.staged_bytes && !self.commit.is_degraded();
        // What other nodes stored is read when nothing of this node is about to be stored.
        let is_unready = is_unsaved && entry.has_merge();
        if is_unready || self.commit.is_busy() && (is_unsaved || is_full) {
            self.waiting.insert(document.clone());
            return;
        }
        self.waiting.remove(document);
        let full = self.full_sockets(&self.documents[document]);
        let entry = self.documents.get_mut(document).expect("it was found above");
        let (mut inputs, inbox_bytes) = entry.take_inbox();
        let bytes = inbox_bytes + entry.memory_bytes / 16;
        let Residence::Idle(open) = std::mem::replace(&mut entry.residence, Residence::Busy) else { return };
        for input in &inputs {
            if let Input::Sync { socket, data, .. } = input
                && let Some(socket) = self.sockets.get_mut(*socket)
            {
                socket.inbox_bytes = socket.inbox_bytes.saturating_sub(data.len());
            }
        }
        self.set_quotas(document, &mut inputs);
        self.run(document, DocumentJob::process(open, inputs, full), bytes);
    }

    fn take_output(&mut self, work: WorkId, document: &DocumentId, output: Output) {
        let Output {
            record,
            frames,
            deferred,
            closes,
            facts,
            snapshot,
            read,
            memory_bytes,
            changes,
            is_awaited,
            quarantine,
            all_changes,
            heads,
            details,
        } = output;
        self.counts.changes += changes;
        let stamp = work.0;
        self.set_memory(document, memory_bytes);
        if let Some(entry) = self.documents.get_mut(document) {
            read.into_iter().for_each(|(key, len)| entry.ledger.add(key, len));
            (entry.heads, entry.changes) = (heads, all_changes);
        }
        let inspected = details.into_iter().map(|(id, details)| Action::Inspected(id, Some(details)));
        self.actions.extend(inspected);
        self.report_facts(document, facts);
        self.note_wait(document, is_awaited);
        if let Some(reason) = quarantine {
            self.quarantine(document, reason);
        }
        // The document has an input in its inbox that undoes the work from before.
        if stamp >= self.valid_since {
            if let Some(Record { bytes, heads, is_whole, creator }) = record {
                let key = if is_whole {
                    ChunkKey::of_snapshot(document, &heads)
                } else {
                    ChunkKey::of_changes(document, &bytes)
                };
                let owner = self.own(document, creator);
                self.commit.stage(StoredChunk { key, bytes }, heads, owner);
            }
            let hold = self.commit.hold_of(document);
            for (id, frame) in frames {
                let frame = self.encode(id, document, frame);
                self.tell(id, document, hold, stamp, frame);
            }
        }
        for id in deferred {
            if let Some(socket) = self.sockets.get_mut(id) {
                socket.deferred.insert(document.clone());
            }
            // The queue may have got room while a job ran.
            self.resume(id);
        }
        for id in closes {
            if self.sockets.get(id).is_some_and(|socket| socket.expects(document, stamp)) {
                self.close(id, CloseReason::NoProgress);
            }
        }
        self.store_snapshot(document, snapshot);
    }

    /// Sends a frame about a document, at once or when its changes are stored.
    fn tell(&mut self, id: SocketId, document: &DocumentId, hold: Hold, stamp: u64, frame: Option<Vec<u8>>) {
        let tells_early = self.has(Defect::TellBeforeDurable);
        let Some(frame) = frame else { return };
        let Some(socket) = self.sockets.get_mut(id) else { return };
        if !socket.expects(document, stamp) || socket.access_to(document) == Access::Denied {
            return;
        }
        if hold == Hold::Nothing || tells_early {
            return self.send(id, frame);
        }
        socket.pending_bytes += frame.len();
        self.commit.hold(hold, PendingFrame { socket: id, document: document.clone(), stamp, frame });
    }

    /// Bounds the time for which clients wait for another one to send a document.
    fn note_wait(&mut self, document: &DocumentId, is_awaited: bool) {
        let until = self.now + self.config.supply_timeout;
        let Some(entry) = self.documents.get_mut(document) else { return };
        match entry.wait_until {
            None if is_awaited => {
                entry.wait_until = Some(until);
                self.waits.insert((until, document.clone()));
            }
            Some(until) if !is_awaited => {
                entry.wait_until = None;
                self.waits.remove(&(until, document.clone()));
            }
            _ => {}
        }
    }

    pub(super) fn end_waits(&mut self) {
        while let Some((_, document)) = pop_due(&mut self.waits, self.now) {
            let Some(entry) = self.documents.get_mut(&document) else { continue };
            entry.wait_until = None;
            entry.push(Input::EndWait);
            self.schedule(&document);
        }
    }

    fn set_memory(&mut self, document: &DocumentId, bytes: usize) {
        if let Some(entry) = self.documents.get_mut(document) {
            self.memory_bytes = self.memory_bytes + bytes - entry.memory_bytes;
            entry.memory_bytes = bytes;
        }
    }

    /// Compacts a document that is at rest, or lets it leave memory later.
    pub(super) fn settle(&mut self, document: &DocumentId) {
        if self.commit.hold_of(document) != Hold::Nothing {
            return;
        }
        let is_requested = self.has_compaction_request(document);
        if !self.commit.is_degraded() {
            self.compact_if_due(document, is_requested);
        }
        let idle_until = self.now + self.config.idle_after;
        let Some(entry) = self.documents.get_mut(document) else { return };
        if entry.is_at_rest() && entry.idle_until.is_none() {
            entry.idle_until = Some(idle_until);
            self.idle.insert((idle_until, document.clone()));
        }
    }

    /// Removes documents from memory whose time has come, and further idle ones while too much memory is in use.
    pub(super) fn evict(&mut self) {
        while let Some((at, document)) = self.idle.first().cloned() {
            if at > self.now && self.memory_bytes <= self.config.memory_bytes {
                break;
            }
            self.idle.remove(&(at, document.clone()));
            let is_stored = self.commit.hold_of(&document) == Hold::Nothing;
            let Some(entry) = self.documents.get_mut(&document) else { continue };
            entry.idle_until = None;
            // Otherwise its time starts again when it is at rest.
            if entry.is_at_rest() && is_stored {
                let is_absent = entry.ledger.is_empty();
                self.set_memory(&document, 0);
                self.documents.remove(&document);
                self.cancel_loads(&document);
                if is_absent {
                    // Nothing of it is to be protected, and clients can name any number of such documents.
                    self.quarantines.remove(&document);
                }
                self.counts.evictions += 1;
            }
        }
    }
}

pub(super) fn pop_due(
    times: &mut BTreeSet<(Duration, DocumentId)>,
    now: Duration,
) -> Option<(Duration, DocumentId)> {
    if times.first()?.0 > now { None } else { times.pop_first() }
}
