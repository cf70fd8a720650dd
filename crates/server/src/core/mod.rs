//! The server as a state machine: events in, actions out.

mod commits;
mod compactions;
pub(crate) mod defect;
mod documents;
mod entry;
mod frames;
mod ledger;
pub(crate) mod rules;
mod sockets;
mod views;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use hashmill_repo::{DocumentId, EphemeralFilter};

use crate::config::Config;
use crate::document::Input;
use crate::event::{Action, CloseReason, Event};
use crate::fact::Fact;
use crate::identity::Identity;
use crate::ids::{CommandId, RequestId, SocketId, WorkId};

pub use views::{Counts, DocumentView, ParticipantView, QuarantineView, SocketView};

use commits::{Collector, GroupCommit};
use defect::Defect;
use entry::Entry;
use rules::{Commands, Quarantines, Questions};
use sockets::Sockets;

/// A sync server without sockets, storage, threads and clock.
///
/// The caller passes each event to [`step`](Self::step) with the time since any fixed start, and carries out the actions in order.
/// A new core on the same storage continues after a crash: all confirmed changes are in it.
#[derive(Debug)]
pub struct Core {
    config: Config,
    now: Duration,
    actions: Vec<Action>,
    sockets: Sockets,
    documents: BTreeMap<DocumentId, Entry>,
    /// Loads under way.
    loads: BTreeMap<RequestId, DocumentId>,
    /// Loads that delay answers about documents without access.
    denied_loads: BTreeMap<RequestId, (SocketId, DocumentId)>,
    /// Loads to be tried again.
    failed_loads: BTreeSet<(Duration, DocumentId)>,
    /// Snapshots and deletions under way.
    compactions: BTreeMap<RequestId, DocumentId>,
    /// Jobs under way.
    works: BTreeMap<WorkId, DocumentId>,
    commit: GroupCommit,
    /// Documents whose inboxes wait for the storage.
    waiting: BTreeSet<DocumentId>,
    /// Documents whose messages are processed together, under load.
    soon: Collector,
    /// Documents with inputs on which nothing depends.
    later: Collector,
    /// Commands of the operator that are not carried out yet.
    commands: Commands,
    /// Documents without clients, by the time at which they leave memory.
    idle: BTreeSet<(Duration, DocumentId)>,
    /// Estimated memory of all documents.
    memory_bytes: usize,
    /// Documents that clients wait for, by the time at which they are answered.
    waits: BTreeSet<(Duration, DocumentId)>,
    quarantines: Quarantines,
    questions: Questions,
    /// Bytes of all documents of an identity, as the storage counted them last. Only with a quota.
    counted_bytes: BTreeMap<String, u64>,
    counts: Counts,
    filter: EphemeralFilter,
    /// Requests, batches, jobs and other work are numbered together, in order.
    last_number: u64,
    /// Work before this number started on documents that have since returned to an earlier state.
    valid_since: u64,
    wake_at: Option<Duration>,
    /// Sockets to close at the end of this step.
    slow_sockets: Vec<SocketId>,
    draining: Draining,
    /// Set by tests alone.
    defect: Option<Defect>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Draining {
    No,
    Requested,
    Done,
}

/// Use of memory, in bytes unless otherwise named.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Usage {
    /// Number of open sockets.
    pub sockets: usize,
    /// Number of documents in memory.
    pub documents: usize,
    /// Estimated memory of documents.
    pub document_bytes: usize,
    /// Frames that were not read by clients, and received messages that wait.
    pub socket_bytes: usize,
    /// Number of documents in quarantine.
    pub quarantined: usize,
    /// Changes that are not stored.
    pub staged_bytes: usize,
    /// Changes of clients are refused, because the storage fails.
    pub is_degraded: bool,
}

impl Core {
    /// A server without sockets and documents.
    pub fn new(config: Config) -> Core {
        Core {
            config,
            now: Duration::ZERO,
            actions: Vec::new(),
            sockets: Sockets::default(),
            documents: BTreeMap::new(),
            loads: BTreeMap::new(),
            denied_loads: BTreeMap::new(),
            failed_loads: BTreeSet::new(),
            compactions: BTreeMap::new(),
            works: BTreeMap::new(),
            commit: GroupCommit::default(),
            waiting: BTreeSet::new(),
            soon: Collector::default(),
            later: Collector::default(),
            commands: Commands::default(),
            idle: BTreeSet::new(),
            memory_bytes: 0,
            waits: BTreeSet::new(),
            quarantines: Quarantines::default(),
            questions: Questions::default(),
            counted_bytes: BTreeMap::new(),
            counts: Counts::default(),
            filter: EphemeralFilter::new(),
            last_number: 0,
            valid_since: 0,
            wake_at: None,
            slow_sockets: Vec::new(),
            draining: Draining::No,
            defect: None,
        }
    }

    /// Processes an event and appends the actions that follow from it. `now` is the time since a fixed start; earlier times than
    /// before count as the latest one.
    pub fn step(&mut self, now: Duration, event: Event, actions: &mut Vec<Action>) {
        self.now = self.now.max(now);
        std::mem::swap(&mut self.actions, actions);
        self.handle(event);
        self.fire_timers();
        while let Some(id) = self.slow_sockets.pop() {
            self.close(id, CloseReason::Slow);
        }
        self.start_append();
        self.start_commands();
        self.finish_drain();
        self.ask_for_timer();
        std::mem::swap(&mut self.actions, actions);
    }

    /// The current use of memory.
    pub fn usage(&self) -> Usage {
        Usage {
            sockets: self.sockets.len(),
            documents: self.documents.len(),
            document_bytes: self.memory_bytes,
            socket_bytes: self.sockets.bytes(),
            quarantined: self.quarantines.len(),
            staged_bytes: self.commit.staged_bytes(),
            is_degraded: self.commit.is_degraded(),
        }
    }

    /// Counts since the start.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Are changes of clients refused, because the storage fails?
    pub fn is_degraded(&self) -> bool {
        self.commit.is_degraded()
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::SocketOpened(id, identity) => self.open_socket(id, identity),
            Event::FrameReceived(id, frame) => self.receive_frame(id, &frame),
            Event::SocketDrained(id, bytes) => self.drain_queue(id, bytes),
            Event::SocketClosed(id) => self.forget_socket(id),
            Event::RightsChanged(id, identity) => self.change_rights(id, &identity),
            Event::RightsAnswered(request, answer) => self.finish_question(request, answer),
            Event::RightsEnded(id) => self.end_rights(id),
            Event::Appended(batch, result) => self.finish_append(batch, result),
            Event::OwnerLoaded(owner) => self.note_loaded_owner(owner),
            Event::BytesCounted(counts) => self.note_counts(counts),
            Event::Loaded(request, result) => self.finish_load(request, result),
            Event::Completed(request, result) => self.finish_compaction_step(request, result),
            Event::CommandReceived(id, document, command) => self.receive_command(id, &document, command),
            Event::InterventionReceived(id, intervention) => self.intervene(id, intervention),
            Event::InspectionReceived(id, document, max_changes) => self.inspect(id, &document, max_changes),
            Event::Executed(request, result) => self.finish_command(request, result),
            Event::WorkDone(work, output) => self.finish_work(work, output),
            Event::ChunksStored(chunks) => self.merge_chunks(chunks),
            Event::DocumentOutdated(document) => self.load_outdated(&document),
            Event::AllOutdated => self.load_all_outdated(),
            Event::Relayed(frame) => self.relay_from_node(&frame),
            Event::TimerFired => self.wake_at = self.wake_at.filter(|at| *at > self.now),
            Event::DrainRequested if self.draining == Draining::No => {
                self.draining = Draining::Requested;
                self.process_all();
            }
            Event::DrainRequested => {}
        }
    }

    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn open_socket(&mut self, id: SocketId, identity: Arc<Identity>) {
        if self.sockets.count_of(&identity.name) >= self.config.max_sockets_per_identity {
            self.counts.closes += 1;
            self.actions.push(Action::Close(id, CloseReason::TooManySockets));
        } else if self.draining == Draining::No {
            self.load_owner(&identity.name);
            self.sockets.open(id, identity, self.now, self.config.join_timeout);
        } else {
            self.actions.push(Action::Close(id, CloseReason::Draining));
        }
    }

    /// Looks up details of a document that is in memory.
    fn inspect(&mut self, id: CommandId, document: &DocumentId, max_changes: usize) {
        match self.documents.get_mut(document) {
            Some(entry) => {
                entry.push(Input::Inspect(id, max_changes));
                self.schedule(document);
            }
            None => self.actions.push(Action::Inspected(id, None)),
        }
    }

    fn close(&mut self, id: SocketId, reason: CloseReason) {
        self.counts.closes += 1;
        self.actions.push(Action::Close(id, reason));
        self.forget_socket(id);
    }

    fn forget_socket(&mut self, id: SocketId) {
        self.leave_documents(id);
        self.forget_rights(id);
        self.sockets.remove(id);
    }

    fn report(&mut self, fact: Fact) {
        match &fact {
            Fact::ChangeRefused { .. } => self.counts.refused_changes += 1,
            Fact::MessageRefused { .. } => self.counts.refused_messages += 1,
            _ => {}
        }
        self.actions.push(Action::Report(fact));
    }

    fn fire_timers(&mut self) {
        while let Some(id) = self.sockets.overdue(self.now) {
            self.close(id, CloseReason::NoJoin);
        }
        self.resume_reads();
        self.renew_rights();
        self.release_quarantines();
        self.end_waits();
        self.retry_loads();
        self.degrade_if_stuck();
        self.process_collected();
        self.evict();
    }

    /// Closes all sockets when everything that was received is stored.
    fn finish_drain(&mut self) {
        let has_inbox = || self.documents.values().any(|entry| !entry.inbox.is_empty());
        if self.draining != Draining::Requested
            || !self.commit.is_idle()
            || !self.works.is_empty()
            || has_inbox()
        {
            return;
        }
        self.draining = Draining::Done;
        for id in self.sockets.ids() {
            self.close(id, CloseReason::Draining);
        }
        self.report(Fact::Drained);
    }

    fn ask_for_timer(&mut self) {
        let first = |times: &BTreeSet<(Duration, DocumentId)>| times.first().map(|(at, _)| *at);
        let degrade_at = self.degrade_at();
        let times = [
            self.sockets.next_deadline(),
            first(&self.failed_loads),
            first(&self.idle),
            first(&self.waits),
            self.quarantines.next_end().filter(|_| !self.has(Defect::NoRelease)),
            self.sockets.next_resume(),
            self.questions.next_due(),
            self.commit.retry_at(),
            self.soon.end(),
            self.later.end(),
            self.commands.next_retry(self.now),
            degrade_at,
        ];
        let next = times.into_iter().flatten().min();
        // A time that has passed was fired in this step, so what is left is late by itself.
        let next = next.map(|at| at.max(self.now));
        if next != self.wake_at {
            self.wake_at = next;
            self.actions.extend(next.map(Action::WakeAt));
        }
    }
}
