//! Sync of one document with one peer: the state, its progress, refusals, and restarts after lost messages.

use std::collections::BTreeSet;

use hashmill_doc::sync::{
    Message, MessageFlags, Progress, ReadMessageError, ReadStateError, State, SyncDoc as _,
};
use hashmill_doc::{ApplyError, ChangeHash, Document, LoadError};

/// Maximum number of consecutive sync messages without progress.
pub const MAX_IDLE_MESSAGES: u32 = 1000;
/// Maximum number of refused changes that are remembered as reported.
const MAX_REPORTED: usize = 1 << 12;

/// Number of unchanged answers after which a peer has not taken our changes. The first may be from before they arrived, and
/// requests for dependencies of refused changes take six. Each costs a round trip.
const MAX_UNCHANGED_ANSWERS: u32 = 10;

/// The exchange of one document with one peer. Both roles use it: a client has one for each of its documents, a server one
/// for each document of each client. The document is passed to each call.
///
/// Messages must arrive in order. After a message that was refused, dropped or lost while the connection goes on,
/// [`restart`](Self::restart) repairs the exchange; after a new connection, [`reconnect`](Self::reconnect).
///
/// ```
/// use hashmill_doc::{Document, ROOT, ReadDoc, Transactable};
/// use hashmill_repo::{Conversation, SyncStatus};
///
/// let (mut ours, mut theirs) = (Document::new(), Document::new());
/// theirs.transact(|tx| tx.put(ROOT, "title", "notes"))?;
/// let (mut here, mut there) = (Conversation::new(), Conversation::new());
/// while here.status(&ours) != SyncStatus::InSync {
///     if let Some(message) = here.next_message(&ours) {
///         there.receive(&mut theirs, &message.data)?;
///     }
///     if let Some(message) = there.next_message(&theirs) {
///         here.receive(&mut ours, &message.data)?;
///     }
/// }
/// assert_eq!(ours.get_heads(), theirs.get_heads());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    state: State,
    progress: Progress,
    /// The peer reported after its last sync message that it does not have the document.
    is_unavailable: bool,
    /// Refused changes that were reported.
    refused: BTreeSet<ChangeHash>,
    unchanged: UnchangedAnswers,
}

/// Answers of the peer that changed nothing.
#[derive(Clone, Debug, Default)]
struct UnchangedAnswers {
    /// Number of consecutive ones.
    count: u32,
    /// Our heads at that time.
    our_heads: Vec<ChangeHash>,
}

/// A sync message to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// Is it the first message about a document of which this side has nothing? It is then sent as a request.
    pub is_request: bool,
    /// The encoded message.
    pub data: Vec<u8>,
}

/// Effect of a received sync message.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ReceivedMessage {
    /// Number of changes that the document gained.
    pub changes: u64,
    /// Changes that were refused, with reasons. Each is reported once.
    pub refused: Vec<(ChangeHash, ApplyError)>,
    /// Number of refusals without names: after 4096 changes no more are named, and one that is refused again counts again.
    pub further_refusals: u64,
    /// Number of consecutive messages without progress, up to and with this one.
    pub idle: u32,
}

/// State of an exchange when [`Conversation::next_message`] has no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SyncStatus {
    /// Messages are outstanding. Two empty documents stay here, too: the peer may still ask others.
    InProgress,
    /// Both sides are equal.
    InSync,
    /// This side has everything. The peer lacks changes but accepts none.
    ReadOnlyPeer,
    /// This side has everything. The peer lacks changes that it was sent, and gave many answers that moved neither its heads
    /// nor its requests. It may take the changes later.
    Unaccepted,
    /// This side has everything but changes that it refused.
    Refused,
    /// This side has everything but changes that the peer names and did not send after several requests. They are requested
    /// again on the next connection.
    Withheld,
}

/// Reason why a sync message cannot be processed. The peer is at fault. Document and state are unchanged, except for
/// [`NoProgress`](Self::NoProgress).
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// The data is not a sync message.
    #[error("sends an invalid sync message")]
    Message(#[from] ReadMessageError),
    /// A chunk of changes is damaged.
    #[error("sends changes that cannot be read")]
    Changes(#[from] LoadError),
    /// The exchange does not end.
    #[error("sent {MAX_IDLE_MESSAGES} messages without progress")]
    NoProgress,
}

impl Conversation {
    /// A conversation with a peer of which nothing is known.
    pub fn new() -> Conversation {
        Conversation::default()
    }

    /// Continues from the bytes of [`encode_state`](Self::encode_state).
    pub fn from_state(bytes: &[u8]) -> Result<Conversation, ReadStateError> {
        Ok(Conversation { state: State::decode(bytes)?, ..Conversation::default() })
    }

    /// Encodes the part that outlives connections and programs: the heads that both sides have.
    pub fn encode_state(&self) -> Vec<u8> {
        self.state.encode()
    }

    /// Prepares for a new connection with the same peer. Messages in flight are lost; the shared heads are kept.
    pub fn reconnect(&mut self) {
        let is_read_only = self.state.is_read_only();
        self.state = State::decode(&self.state.encode()).expect("an encoded state is valid");
        self.state.set_read_only(is_read_only);
        self.progress = Progress::new();
        self.is_unavailable = false;
        self.unchanged = UnchangedAnswers::default();
    }

    /// Repairs the exchange after a message of either side was refused, dropped or lost while the connection goes on. The next
    /// message tells the peer to forget what it has sent.
    pub fn restart(&mut self) {
        self.state.restart();
        self.unchanged = UnchangedAnswers::default();
    }

    /// As [`restart`](Self::restart), for a conversation in place of `earlier` on the same connection. The peer may have sent
    /// changes that only the document of `earlier` got, and does not send them again before it is told to.
    pub fn restart_after(&mut self, earlier: &Conversation) {
        self.state.restart_after(&earlier.state);
        self.unchanged = UnchangedAnswers::default();
    }

    /// Notes a sync message about a document that is closed. A conversation that takes the place of this one by
    /// [`restart_after`](Self::restart_after) then knows what the peer has.
    pub fn note_ignored(&mut self, data: &[u8]) -> Result<(), SyncError> {
        self.state.note_ignored(Message::decode(data)?);
        Ok(())
    }

    /// Does a message only confirm the heads that were sent last, and are these the heads of `doc`? Then nothing follows from it, and it can
    /// be received later, before the next message of this peer.
    pub fn is_acknowledgement(&self, doc: &Document, data: &[u8]) -> bool {
        let confirms = |message: Message| {
            let is_reset = message.flags.is_some_and(|flags| flags.contains(MessageFlags::SYNC_RESET));
            let asks = !message.need.is_empty() || is_reset;
            message.changes.is_empty() && !asks && *message.heads == *doc.get_heads()
        };
        self.state.in_flight()
            && self.state.last_sent_heads() == doc.get_heads()
            && Message::decode(data).is_ok_and(confirms)
    }

    /// Sets whether changes of the peer are ignored. The next message tells the peer.
    pub fn set_read_only(&mut self, is_read_only: bool) {
        self.state.set_read_only(is_read_only);
        self.unchanged = UnchangedAnswers::default();
    }

    /// Processes a sync message of the peer. After [`SyncError::Message`] and [`SyncError::Changes`] the caller closes the
    /// connection or calls [`restart`](Self::restart).
    pub fn receive(&mut self, doc: &mut Document, data: &[u8]) -> Result<ReceivedMessage, SyncError> {
        let message = Message::decode(data)?;
        let before = doc.stats().changes;
        let are_heads_sent = |state: &State, doc: &Document| state.last_sent_heads() == doc.get_heads();
        let were_sent = are_heads_sent(&self.state, doc);
        let is_answer = self.state.in_flight();
        let is_reset = message.flags.is_some_and(|flags| flags.contains(MessageFlags::SYNC_RESET));
        let mut received = doc.receive_sync_message(&mut self.state, message)?;
        // The protocol sends nothing to a peer that names our heads: it takes that for an answer to them. If they come from changes in
        // an earlier message that is not answered yet, the peer has created them itself, and waits for their confirmation.
        if !were_sent && are_heads_sent(&self.state, doc) {
            self.state.resend_heads();
        }
        self.is_unavailable = false;
        let mut further_refusals = 0;
        received.refused.retain(|(hash, _)| {
            if self.refused.len() < MAX_REPORTED || self.refused.contains(hash) {
                return self.refused.insert(*hash);
            }
            further_refusals += 1;
            false
        });
        let idle = self.progress.note(doc, &self.state);
        self.count_unchanged(doc, idle > 0 && !is_reset, is_answer);
        match self.status(doc) {
            SyncStatus::InProgress | SyncStatus::Withheld if idle > MAX_IDLE_MESSAGES => {
                return Err(SyncError::NoProgress);
            }
            // Progress would end the status.
            SyncStatus::InProgress | SyncStatus::Withheld | SyncStatus::Unaccepted => {}
            _ => self.progress = Progress::new(),
        }
        let changes = doc.stats().changes - before;
        Ok(ReceivedMessage { changes, refused: received.refused, further_refusals, idle })
    }

    /// Counts a message of the peer that changed nothing, if it is an answer: the peer may send others at any time.
    fn count_unchanged(&mut self, doc: &Document, is_unchanged: bool, is_answer: bool) {
        let our_heads = doc.get_heads();
        if !is_unchanged || our_heads != self.unchanged.our_heads {
            self.unchanged = UnchangedAnswers { count: 0, our_heads };
        } else if is_answer {
            self.unchanged.count = self.unchanged.count.saturating_add(1);
        }
    }

    /// Records that the peer does not have the document, or denies access to it. The peer may still send it later: a server
    /// can report this before its own peers have answered.
    pub fn note_unavailable(&mut self) {
        self.is_unavailable = true;
    }

    /// Did the peer report after its last sync message that it does not have the document?
    pub fn is_unavailable(&self) -> bool {
        self.is_unavailable
    }

    /// The next message for the peer. `None` if there is nothing to send, or while an answer is awaited. Call it until then: after
    /// [`restart`](Self::restart), an older peer without changes gets two messages in a row.
    pub fn next_message(&mut self, doc: &Document) -> Option<OutgoingMessage> {
        // The peer would answer without end.
        if self.unchanged.count >= MAX_UNCHANGED_ANSWERS && self.status(doc) == SyncStatus::Unaccepted {
            return None;
        }
        let is_first = self.state.their_heads().is_none() && self.state.shared_heads().is_empty();
        let message = doc.generate_sync_message(&mut self.state)?;
        let is_request = is_first && doc.get_heads().is_empty();
        Some(OutgoingMessage { is_request, data: message.encode() })
    }

    /// The heads in the peer's last message on this connection.
    pub fn their_heads(&self) -> Option<&[ChangeHash]> {
        self.state.their_heads()
    }

    /// Number of the peer's last consecutive answers that moved neither its heads nor its requests, nor this document.
    pub fn unchanged_answers(&self) -> u32 {
        self.unchanged.count
    }

    /// The state of the sync protocol.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The status, which is final when [`next_message`](Self::next_message) has no message.
    pub fn status(&self, doc: &Document) -> SyncStatus {
        let Some(their_heads) = self.state.their_heads() else { return SyncStatus::InProgress };
        let heads = doc.get_heads();
        if their_heads == heads {
            return if heads.is_empty() { SyncStatus::InProgress } else { SyncStatus::InSync };
        }
        let missing = doc.get_missing_deps(their_heads);
        if missing.is_empty() && self.state.is_peer_read_only() {
            SyncStatus::ReadOnlyPeer
        } else if missing.is_empty() {
            // The peer lacks changes. What was refused is none of its heads, so it still answers.
            let is_final = self.unchanged.count >= MAX_UNCHANGED_ANSWERS && self.unchanged.our_heads == heads;
            if is_final { SyncStatus::Unaccepted } else { SyncStatus::InProgress }
        } else if !self.refused.is_empty() && missing.iter().all(|hash| self.state.has_refused(hash)) {
            // Received changes depend on refused ones. The peer may refuse ours as well and not answer.
            SyncStatus::Refused
        } else if missing.iter().all(|hash| self.state.has_given_up(hash)) {
            SyncStatus::Withheld
        } else {
            SyncStatus::InProgress
        }
    }

    /// Changes that the peer names and this document lacks.
    pub fn missing_changes(&self, doc: &Document) -> Vec<ChangeHash> {
        // Before its first message a peer names nothing.
        self.state.their_heads().map_or_else(Vec::new, |their_heads| doc.get_missing_deps(their_heads))
    }
}
