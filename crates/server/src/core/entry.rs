//! A document as the core keeps it: where it is, its inbox, its clients and its stored chunks.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use hashmill_doc::ChangeHash;

use super::ledger::Ledger;
use crate::document::{Input, OpenDocument};
use crate::ids::{CommandId, SocketId};
use crate::storage::{ChunkKey, StoredChunk};

/// Pause before a document is read again after parts of it could not be read, and the maximum after doubling.
const FIRST_REREAD: Duration = Duration::from_secs(2);
pub(super) const LAST_REREAD: Duration = Duration::from_secs(600);

/// Residence of a document.
#[derive(Debug)]
pub(super) enum Residence {
    /// It is being loaded, or the next attempt is awaited.
    Loading,
    /// In memory.
    Idle(Box<OpenDocument>),
    /// With a job.
    Busy,
}

/// The identity whose quota a document's bytes count for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Ownership {
    /// The document is absent: the first client that changes it becomes its owner.
    New,
    /// It was stored before documents had owners, or imported: its bytes count for none.
    Unowned,
    Owned(String),
}

/// When the inbox of a document is to be processed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Urgency {
    /// Nothing depends on it.
    Later,
    /// With others, under load.
    Soon,
    Now,
}

/// A step of a compaction.
#[derive(Debug)]
pub(super) enum Compaction {
    /// The document is to write a snapshot, which covers these chunks.
    Preparing(Vec<ChunkKey>),
    /// The snapshot is being stored.
    Storing { key: ChunkKey, len: usize, covered: Vec<ChunkKey> },
    /// Chunks that the snapshot covers are being deleted.
    Deleting(Vec<ChunkKey>),
}

/// Messages of a client to the others of a document, such as presence.
#[derive(Debug)]
pub(super) struct Presence {
    pub(super) messages: u64,
    pub(super) last_at: Duration,
}

/// A document that is in memory, or on its way.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) residence: Residence,
    pub(super) inbox: VecDeque<Input>,
    /// Bytes of sync messages in the inbox.
    pub(super) inbox_bytes: usize,
    /// Of the most urgent input in the inbox.
    pub(super) urgency: Urgency,
    /// Clients that take part.
    pub(super) sockets: BTreeSet<SocketId>,
    pub(super) ledger: Ledger,
    pub(super) ownership: Ownership,
    pub(super) compaction: Option<Compaction>,
    /// No compaction starts before this time.
    pub(super) compaction_at: Duration,
    /// Estimated memory.
    pub(super) memory_bytes: usize,
    /// It is deleted: its contents are not in memory, and for clients it is absent.
    pub(super) is_deleted: bool,
    /// When clients are answered that wait for another one to send it.
    pub(super) wait_until: Option<Duration>,
    /// When it leaves memory, if it is idle.
    pub(super) idle_until: Option<Duration>,
    /// The operator asked for a compaction.
    pub(super) compaction_requests: Vec<CommandId>,
    /// The time of the last message about it.
    pub(super) active_at: Duration,
    /// Number of its heads.
    pub(super) heads: usize,
    /// Number of its changes.
    pub(super) changes: u64,
    pub(super) presence: BTreeMap<SocketId, Presence>,
    /// The pause before it is read again after parts of it could not be read. Only with other nodes.
    pub(super) reread_pause: Duration,
}

impl Entry {
    pub(super) fn new(now: Duration) -> Entry {
        Entry {
            residence: Residence::Loading,
            inbox: VecDeque::new(),
            inbox_bytes: 0,
            urgency: Urgency::Later,
            sockets: BTreeSet::new(),
            ledger: Ledger::default(),
            ownership: Ownership::New,
            compaction: None,
            compaction_at: Duration::ZERO,
            memory_bytes: 0,
            is_deleted: false,
            wait_until: None,
            idle_until: None,
            compaction_requests: Vec::new(),
            active_at: now,
            heads: 0,
            changes: 0,
            presence: BTreeMap::new(),
            reread_pause: FIRST_REREAD,
        }
    }

    pub(super) fn push(&mut self, input: Input) {
        self.urgency = self.urgency.max(self.urgency_of(&input));
        self.inbox_bytes += input.len();
        self.inbox.push_back(input);
    }

    fn urgency_of(&self, input: &Input) -> Urgency {
        match input {
            Input::Durable(_) => Urgency::Later,
            Input::Sync { socket, data, .. } if self.is_acknowledgement(*socket, data) => Urgency::Later,
            Input::Sync { .. } | Input::Resume => Urgency::Soon,
            _ => Urgency::Now,
        }
    }

    /// Removes all inputs. Returns them with the bytes of their sync messages.
    pub(super) fn take_inbox(&mut self) -> (Vec<Input>, usize) {
        self.urgency = Urgency::Later;
        (std::mem::take(&mut self.inbox).into(), std::mem::take(&mut self.inbox_bytes))
    }

    fn is_acknowledgement(&self, socket: SocketId, data: &[u8]) -> bool {
        matches!(&self.residence, Residence::Idle(open) if open.is_acknowledgement(socket, data))
    }

    /// Notes that all that was processed is stored, up to these heads.
    pub(super) fn push_durable(&mut self, heads: Vec<ChangeHash>) {
        self.insert_after(|input| matches!(input, Input::Durable(_)), Input::Durable(heads));
    }

    /// Lets the document return to what is stored. What waits in the inbox is refused.
    pub(super) fn push_degrade(&mut self) {
        // Before chunks of other nodes, also if a deletion follows these: they are read when nothing is left that is not stored.
        let is_earlier =
            |input: &Input| matches!(input, Input::Durable(_) | Input::Degrade | Input::Recover(_));
        self.insert_after(is_earlier, Input::Degrade);
    }

    /// Adds chunks of other nodes. They come before messages of clients: what is read counts as stored.
    pub(super) fn push_merge(&mut self, chunks: Vec<StoredChunk>) {
        self.insert_after(|input| !input.is_about_clients(), Input::Merge(chunks));
    }

    fn insert_after(&mut self, is_earlier: impl Fn(&Input) -> bool, input: Input) {
        self.urgency = self.urgency.max(self.urgency_of(&input));
        self.inbox_bytes += input.len();
        let last = self.inbox.iter().rposition(is_earlier);
        self.inbox.insert(last.map_or(0, |last| last + 1), input);
    }

    /// Are there chunks of other nodes in its inbox?
    pub(super) fn has_merge(&self) -> bool {
        self.inbox.iter().any(|input| matches!(input, Input::Merge(_)))
    }

    /// Has it no clients, and nothing to do?
    pub(super) fn is_at_rest(&self) -> bool {
        let is_compacting = self.compaction.is_some() || !self.compaction_requests.is_empty();
        self.sockets.is_empty() && self.inbox.is_empty() && !is_compacting && self.is_idle()
    }

    pub(super) fn is_idle(&self) -> bool {
        matches!(self.residence, Residence::Idle(_))
    }
}
