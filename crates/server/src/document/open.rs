//! Processing of sync messages against a document.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashmill_doc::sync::Message;
use hashmill_doc::{Change, ChangeHash, Document, Limits, LoadOptions, SaveOptions, examine};
use hashmill_repo::DocumentId;

use super::details::DocumentDetails;
use super::peer::Peer;
use crate::access::Access;
use crate::config::Config;
use crate::fact::Fact;
use crate::identity::Identity;
use crate::ids::{CommandId, SocketId};
use crate::storage::{ChunkKey, StoredChunk};

/// Estimated memory of an operation and of a change.
const OPERATION_BYTES: u64 = 48;
const CHANGE_BYTES: u64 = 64;
/// Estimated memory of a client that takes part in a document, and of a document without changes.
const PEER_BYTES: u64 = 2 << 10;
const DOCUMENT_BYTES: u64 = 4 << 10;

/// A document with its changes, and its clients.
///
/// The document may be ahead of the storage: [`Output::record`] has the changes to store, and the caller holds the frames of the
/// same output back until they are stored.
#[derive(Debug)]
pub(crate) struct OpenDocument {
    id: DocumentId,
    doc: Document,
    peers: BTreeMap<SocketId, Peer>,
    /// Heads of what is stored.
    durable_heads: Vec<ChangeHash>,
    /// Heads of what the caller was asked to store.
    staged_heads: Vec<ChangeHash>,
    /// The storage fails, so changes are refused.
    is_degraded: bool,
    /// Bytes of the chunks that the document consists of.
    content_bytes: usize,
    /// Changes of clients broke a rule or a limit, so changes are refused for a while.
    is_quarantined: bool,
    /// The document is deleted: it has no contents, and no client has access.
    is_deleted: bool,
    /// Clients that asked while the document is absent and another client is sending it, with the numbers of their messages.
    waiting: BTreeMap<SocketId, u32>,
    /// The wait took too long: clients that ask are answered.
    is_wait_over: bool,
    /// The name of the client that made the first change, until that is in a record.
    creator: Option<String>,
    limits: DocumentLimits,
}

/// Limits of a document and its clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DocumentLimits {
    changes: Limits,
    max_bytes: usize,
    max_idle_messages: u32,
}

impl Default for DocumentLimits {
    /// The limits of the library, and no others.
    fn default() -> DocumentLimits {
        DocumentLimits { changes: Limits::default(), max_bytes: usize::MAX, max_idle_messages: u32::MAX }
    }
}

impl DocumentLimits {
    pub(crate) fn new(config: &Config) -> DocumentLimits {
        DocumentLimits {
            changes: config.document_limits,
            max_bytes: config.max_document_bytes,
            max_idle_messages: config.max_idle_messages,
        }
    }
}

/// An input of a document. Inputs are processed in order.
#[derive(Debug)]
pub(crate) enum Input {
    /// A sync message or a request.
    Sync {
        socket: SocketId,
        access: Access,
        identity: Arc<Identity>,
        quota: Option<QuotaState>,
        data: Vec<u8>,
    },
    /// The rights of a client changed. A client that asked before is answered.
    Access { socket: SocketId, access: Access, has_lost_messages: bool },
    /// A client that has not asked gets the document as soon as it has changes.
    Announce { socket: SocketId, access: Access },
    /// A client takes no more part.
    Leave(SocketId),
    /// The queue of a client has room again.
    Resume,
    /// All changes up to these heads are stored.
    Durable(Vec<ChangeHash>),
    /// The storage fails: return to what is stored, and refuse changes.
    Degrade,
    /// The storage works again, and these changes are stored, too.
    Recover(Vec<StoredChunk>),
    /// Other nodes stored these chunks. All changes of this node are stored.
    Merge(Vec<StoredChunk>),
    /// Clients have waited for long for another one that is sending the document: answer them.
    EndWait,
    /// The document is in quarantine: take no changes.
    Quarantine,
    /// The quarantine ends: take changes again.
    Release,
    /// The document is deleted: its contents leave memory.
    Delete,
    /// The document is no longer deleted: these are its chunks.
    Restore(Vec<StoredChunk>),
    /// Write a snapshot.
    Snapshot,
    /// Look up details for the operator, with up to this number of changes.
    Inspect(CommandId, usize),
}

impl Input {
    /// Bytes of sync messages and chunks.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Sync { data, .. } => data.len(),
            Self::Restore(chunks) | Self::Merge(chunks) => chunks.iter().map(|chunk| chunk.bytes.len()).sum(),
            _ => 0,
        }
    }

    /// Is it about clients, and not about what is stored?
    pub(crate) fn is_about_clients(&self) -> bool {
        match self {
            Self::Sync { .. }
            | Self::Access { .. }
            | Self::Announce { .. }
            | Self::Leave(_)
            | Self::Resume
            | Self::EndWait
            | Self::Inspect(..)
            | Self::Quarantine
            | Self::Release => true,
            Self::Durable(_)
            | Self::Degrade
            | Self::Recover(_)
            | Self::Merge(_)
            | Self::Delete
            | Self::Restore(_)
            | Self::Snapshot => false,
        }
    }
}

/// The quota that a document's changes count for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct QuotaState {
    /// The identity.
    pub(crate) name: String,
    pub(crate) max_bytes: u64,
    pub(crate) left_bytes: u64,
}

/// A frame for a client.
#[derive(Debug)]
pub(crate) enum PeerFrame {
    Sync(Vec<u8>),
    Unavailable,
}

/// A snapshot to store.
#[derive(Debug)]
pub(crate) struct SnapshotBytes {
    pub(crate) heads: Vec<ChangeHash>,
    pub(crate) bytes: Vec<u8>,
}

/// New changes to store.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) bytes: Vec<u8>,
    /// The heads that they lead to.
    pub(crate) heads: Vec<ChangeHash>,
    /// It is the whole document.
    pub(crate) is_whole: bool,
    /// The name of the client that made the first change, if the document was empty before.
    pub(crate) creator: Option<String>,
}

/// Result of processing inputs.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) record: Option<Record>,
    /// Frames for clients, in order. They may reveal the new changes.
    pub(crate) frames: Vec<(SocketId, PeerFrame)>,
    /// Clients for which messages were deferred because their queues are full.
    pub(crate) deferred: Vec<SocketId>,
    /// Clients that make no progress.
    pub(crate) closes: Vec<SocketId>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) snapshot: Option<SnapshotBytes>,
    /// Stored chunks whose changes are in the document now, with their lengths.
    pub(crate) read: Vec<(ChunkKey, usize)>,
    /// Estimated memory of the document.
    pub(crate) memory_bytes: usize,
    /// Number of changes of clients that it took.
    pub(crate) changes: u64,
    /// Number of all its changes.
    pub(crate) all_changes: u64,
    /// Number of its heads.
    pub(crate) heads: usize,
    /// Details that the operator asked for.
    pub(crate) details: Vec<(CommandId, DocumentDetails)>,
    /// Clients wait for another one that is sending the document.
    pub(crate) is_awaited: bool,
    /// The document takes no more changes, for this reason.
    pub(crate) quarantine: Option<String>,
}

impl OpenDocument {
    /// An empty document.
    pub(super) fn new(id: DocumentId, limits: DocumentLimits) -> OpenDocument {
        OpenDocument {
            id,
            doc: empty(limits.changes),
            peers: BTreeMap::new(),
            durable_heads: Vec::new(),
            staged_heads: Vec::new(),
            is_degraded: false,
            content_bytes: 0,
            is_quarantined: false,
            is_deleted: false,
            waiting: BTreeMap::new(),
            is_wait_over: false,
            creator: None,
            limits,
        }
    }

    /// Reads stored chunks, each alone: a damaged one hides no other. All that was read counts as stored. Returns the keys and lengths
    /// of the chunks whose changes are in the document, so that a snapshot covers them.
    pub(super) fn read_chunks(
        &mut self,
        mut chunks: Vec<StoredChunk>,
        facts: &mut Vec<Fact>,
    ) -> Vec<(ChunkKey, usize)> {
        chunks.retain(|chunk| {
            let result = self.read_chunk(&chunk.bytes);
            facts.extend(result.as_ref().err().map(|reason| unreadable(chunk, reason)));
            result.is_ok()
        });
        // Changes wait for others that were in a damaged chunk. They are not in the document, and may leave memory before it.
        if !self.doc.get_missing_deps(&[]).is_empty() {
            chunks.retain(|chunk| {
                let is_complete = self.has_all(&chunk.bytes);
                if !is_complete {
                    facts.push(unreadable(chunk, "its changes depend on missing ones"));
                }
                is_complete
            });
        }
        self.durable_heads = self.doc.get_heads();
        self.staged_heads.clone_from(&self.durable_heads);
        chunks.into_iter().map(|chunk| (chunk.key, chunk.bytes.len())).collect()
    }

    /// Applies a stored chunk, or returns why it cannot be read.
    fn read_chunk(&mut self, bytes: &[u8]) -> Result<(), String> {
        let report = self.doc.load_incremental_reported(bytes).map_err(|error| error.to_string())?;
        self.content_bytes += bytes.len();
        match report.losses.first() {
            Some(loss) => Err(loss.reason.to_string()),
            None => Ok(()),
        }
    }

    /// Are all changes of a chunk in the document, with all that they depend on?
    fn has_all(&self, bytes: &[u8]) -> bool {
        examine(bytes, &self.limits.changes).iter().all(|part| {
            let is_in = |change: &Change| self.doc.get_change_meta_by_hash(&change.hash()).is_some();
            part.changes.as_ref().is_ok_and(|changes| changes.iter().all(is_in))
        })
    }

    /// Does the message of this client only confirm what it was sent last, which is the whole document?
    pub(crate) fn is_acknowledgement(&self, socket: SocketId, data: &[u8]) -> bool {
        self.peers.get(&socket).is_some_and(|peer| peer.is_acknowledgement(&self.doc, data))
    }

    /// Processes inputs, and makes the messages that follow for all clients but those whose queues are full.
    pub(crate) fn process(&mut self, inputs: Vec<Input>, full: &BTreeSet<SocketId>) -> Output {
        let mut output = Output::default();
        let before = self.doc.get_heads();
        for input in inputs {
            self.apply(input, &mut output);
        }
        let heads = self.doc.get_heads();
        output.heads = heads.len();
        if heads != before {
            self.peers.values_mut().for_each(|peer| peer.is_due = true);
        }
        self.answer_waiting(heads.is_empty(), &mut output);
        self.make_messages(heads.is_empty(), full, &mut output);
        if heads != self.staged_heads {
            // A whole document is much shorter than its changes.
            let is_whole = self.staged_heads.is_empty();
            let bytes = if is_whole { self.save() } else { self.doc.save_after(&self.staged_heads) };
            self.staged_heads.clone_from(&heads);
            self.content_bytes += bytes.len();
            let creator = self.creator.take().filter(|_| is_whole);
            output.record = Some(Record { bytes, heads, is_whole, creator });
        }
        let stats = self.doc.stats();
        output.all_changes = stats.changes;
        let bytes = DOCUMENT_BYTES
            + stats.operations * OPERATION_BYTES
            + stats.changes * CHANGE_BYTES
            + self.content_bytes as u64
            + self.peers.len() as u64 * PEER_BYTES;
        output.memory_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        output
    }

    fn apply(&mut self, input: Input, output: &mut Output) {
        match input {
            Input::Sync { socket, access, identity, quota, data } => {
                let was_empty = self.doc.get_heads().is_empty();
                self.receive(socket, access, &data, quota.as_ref(), output);
                if was_empty && !self.doc.get_heads().is_empty() {
                    self.creator = Some(identity.name.clone());
                }
            }
            Input::Access { socket, access, has_lost_messages } => {
                // The caller answers a client that loses its access.
                self.waiting.remove(&socket);
                let refuses = self.refuses_changes();
                // A client that was denied from the start is answered as if its lost request had come now.
                let new = || Peer::new(Access::Denied, refuses);
                let peer = self.peers.entry(socket).or_insert_with(new);
                peer.set_access(access, refuses, has_lost_messages);
            }
            Input::Announce { socket, access } => {
                let refuses = self.refuses_changes();
                self.peers.entry(socket).or_insert_with(|| Peer::announced(access, refuses));
            }
            Input::Leave(socket) => {
                self.peers.remove(&socket);
                self.waiting.remove(&socket);
            }
            Input::Resume => {}
            // A batch from before the deletion is read with the others when the document is brought back.
            Input::Durable(_) if self.is_deleted => {}
            Input::Durable(heads) => self.durable_heads = heads,
            Input::Degrade => {
                self.is_degraded = true;
                self.return_to_durable();
                self.start_over();
            }
            Input::Recover(chunks) => {
                self.is_degraded = false;
                let chunks = if self.is_deleted { Vec::new() } else { chunks };
                output.read.extend(self.read_chunks(chunks, &mut output.facts));
                self.start_over();
            }
            // All that other nodes stored is read when the document is brought back.
            Input::Merge(_) if self.is_deleted => {}
            Input::Merge(chunks) => {
                // What is not stored would count as stored afterwards.
                assert_eq!(self.doc.get_heads(), self.durable_heads, "{}: changes are not stored", self.id);
                output.read.extend(self.read_chunks(chunks, &mut output.facts));
            }
            Input::EndWait => self.is_wait_over = true,
            Input::Quarantine => {
                self.is_quarantined = true;
                self.start_over();
            }
            Input::Release => {
                self.is_quarantined = false;
                self.start_over();
            }
            Input::Delete => {
                self.clear();
                self.is_deleted = true;
            }
            Input::Restore(chunks) => {
                self.clear();
                self.is_deleted = false;
                output.read.extend(self.read_chunks(chunks, &mut output.facts));
            }
            Input::Snapshot => {
                let (heads, bytes) = (self.doc.get_heads(), self.save());
                self.content_bytes = bytes.len();
                output.snapshot = Some(SnapshotBytes { heads, bytes });
            }
            Input::Inspect(id, max_changes) => output.details.push((id, self.details(max_changes))),
        }
    }

    fn receive(
        &mut self,
        socket: SocketId,
        access: Access,
        data: &[u8],
        quota: Option<&QuotaState>,
        output: &mut Output,
    ) {
        let refuses = self.refuses_changes();
        if access == Access::Write
            && !refuses
            && let Some(reason) = self.limit_broken_by(data, quota)
        {
            // The message is lost, and the exchange of this client starts over with those of the others.
            self.peers.entry(socket).or_insert_with(|| Peer::new(access, refuses));
            return self.quarantine(reason, output);
        }
        let max_idle_messages = self.limits.max_idle_messages;
        let peer = self.peers.entry(socket).or_insert_with(|| Peer::new(access, refuses));
        let mut reason = None;
        match peer.receive(&mut self.doc, data, max_idle_messages) {
            Ok(received) => {
                output.changes += received.changes;
                if let Some((change, cause)) = received.refused.first() {
                    reason = Some(format!("change {change} was refused: {cause}"));
                }
                let refused = received.refused.into_iter();
                output.facts.extend(refused.map(|(change, reason)| Fact::ChangeRefused {
                    document: self.id.clone(),
                    change,
                    reason,
                }));
                if received.idle > max_idle_messages {
                    output.closes.push(socket);
                }
            }
            Err((error, closes)) => {
                let reason = error.to_string();
                output.facts.push(Fact::MessageRefused { document: self.id.clone(), reason });
                if closes {
                    output.closes.push(socket);
                }
            }
        }
        if peer.has_nothing() && self.doc.get_heads().is_empty() {
            *self.waiting.entry(socket).or_default() += 1;
        }
        if let Some(reason) = reason.filter(|_| !refuses) {
            self.quarantine(reason, output);
        }
    }

    /// The limit that the changes of a message exceed. Messages without changes exceed none.
    fn limit_broken_by(&self, data: &[u8], quota: Option<&QuotaState>) -> Option<String> {
        let is_too_large = |bytes: usize| self.content_bytes.saturating_add(bytes) > self.limits.max_bytes;
        let is_beyond = |quota: &&QuotaState, bytes: usize| bytes as u64 > quota.left_bytes;
        let quota = quota.filter(|quota| is_beyond(quota, data.len()));
        if !is_too_large(data.len()) && quota.is_none() {
            return None;
        }
        // A message without changes, or one that cannot be read, exceeds nothing.
        let changes = Message::decode(data).map_or(0, |message| self.new_bytes(&message));
        if changes == 0 {
            return None;
        }
        if is_too_large(changes) {
            return Some(format!("it would become larger than {} bytes", self.limits.max_bytes));
        }
        let QuotaState { name, max_bytes, .. } = quota.filter(|quota| is_beyond(quota, changes))?;
        Some(format!("the documents of its owner “{}” would exceed {max_bytes} bytes", name.escape_debug()))
    }

    /// Bytes of the changes of a message that are not in the document: a client may send the whole document for one change.
    fn new_bytes(&self, message: &Message) -> usize {
        let is_new = |change: &&Change| self.doc.get_change_meta_by_hash(&change.hash()).is_none();
        let new_bytes_of = |chunk: &Vec<u8>| -> usize {
            let parts = examine(chunk, &self.limits.changes);
            let bytes = parts.iter().map(|part| match &part.changes {
                Ok(changes) => changes.iter().filter(is_new).map(|change| change.bytes().len()).sum(),
                // It is not stored, and refused for its own reason if there is room.
                Err(_) => chunk.len(),
            });
            bytes.sum()
        };
        message.changes.iter().map(new_bytes_of).sum()
    }

    /// Takes no more changes: clients would send those that were refused again and again.
    fn quarantine(&mut self, reason: String, output: &mut Output) {
        self.is_quarantined = true;
        output.quarantine = Some(reason);
        self.start_over();
    }

    pub(super) fn details(&self, max_changes: usize) -> DocumentDetails {
        DocumentDetails::new(&self.doc, max_changes)
    }

    fn refuses_changes(&self) -> bool {
        self.is_degraded || self.is_quarantined
    }

    fn start_over(&mut self) {
        let refuses = self.refuses_changes();
        self.peers.values_mut().for_each(|peer| peer.start_over(refuses, false));
    }

    /// The whole document. Changes that wait for others are left out: they were confirmed to no client.
    fn save(&mut self) -> Vec<u8> {
        self.doc.save_with(SaveOptions { retain_orphans: false, ..SaveOptions::default() })
    }

    fn clear(&mut self) {
        self.doc = empty(self.limits.changes);
        self.durable_heads.clear();
        self.staged_heads.clear();
        self.content_bytes = 0;
        self.waiting.clear();
    }

    fn return_to_durable(&mut self) {
        if self.doc.get_heads() != self.durable_heads {
            self.doc = if self.durable_heads.is_empty() {
                empty(self.limits.changes)
            } else {
                self.doc.fork_at(&self.durable_heads).expect("stored changes are in memory")
            };
        }
        self.staged_heads.clone_from(&self.durable_heads);
    }

    /// Answers clients that asked for an absent document, unless another client is sending it: as with automerge-repo 2.6, they get the
    /// document when it is here, and are told that there is none when that client does not send it.
    fn answer_waiting(&mut self, is_empty: bool, output: &mut Output) {
        let is_sent = is_empty && !self.refuses_changes() && self.peers.values().any(Peer::is_supplier);
        // A client that never sends what it names delays the answers once.
        self.is_wait_over &= is_sent;
        if is_sent && !self.is_wait_over {
            output.is_awaited = !self.waiting.is_empty();
            return;
        }
        let waiting = std::mem::take(&mut self.waiting);
        if is_empty {
            // Changes of clients may follow, so the conversations go on.
            let answers = waiting.into_iter().flat_map(|(socket, count)| (0..count).map(move |_| socket));
            output.frames.extend(answers.map(|socket| (socket, PeerFrame::Unavailable)));
        }
    }

    fn make_messages(&mut self, is_empty: bool, full: &BTreeSet<SocketId>, output: &mut Output) {
        for (socket, peer) in self.peers.iter_mut().filter(|(_, peer)| peer.is_due && !peer.is_denied()) {
            if is_empty && (peer.has_nothing() || !peer.has_requested) {
                // An absent document looks like a denied one: there is no sync message about it.
                peer.is_due = false;
            } else if full.contains(socket) {
                output.deferred.push(*socket);
            } else {
                // A second message follows one that hides the heads from a client that may have no changes to answer with.
                let messages = std::iter::from_fn(|| peer.next_message(&self.doc));
                output.frames.extend(messages.map(|data| (*socket, PeerFrame::Sync(data))));
            }
        }
    }
}

fn unreadable(chunk: &StoredChunk, reason: &str) -> Fact {
    Fact::ChunkUnreadable { key: chunk.key.clone(), reason: reason.to_owned() }
}

fn empty(limits: Limits) -> Document {
    Document::load_with(&[], LoadOptions::new().limits(limits)).expect("nothing is a valid file")
}
