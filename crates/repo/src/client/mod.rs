//! A client of a sync server, without a network: frames in, frames and events out.

mod error;
mod event;
mod remote_heads;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use hashmill_doc::Document;

use crate::conversation::{Conversation, SyncStatus};
use crate::id::{DocumentId, PeerId, StorageId};
use crate::message::{
    Envelope, EphemeralBody, Message, PROTOCOL_VERSION, PeerMetadata, RemoteHeads, SyncBody, shorten,
};
use crate::presence::{EphemeralFilter, Presence, ReceivedPresence};

pub use error::ClientError;
pub use event::{Event, IgnoreReason, Receipt};

use remote_heads::RemoteHeadsSubscriptions;

/// Maximum number of characters of a server's text in an error.
const MAX_SHOWN_CHARS: usize = 200;

/// A client of one sync server for any number of documents, which it owns.
///
/// The caller has the connection and the clock. It calls [`connect`](Self::connect) when a connection opens, passes each frame
/// to [`received`](Self::received), and after each call, and at [`next_deadline`](Self::next_deadline), sends the frames of
/// [`to_send`](Self::to_send) until there is none and takes the events of [`next_event`](Self::next_event), which wait in memory
/// until then. `now` is the time since any fixed start and does not go back.
#[derive(Debug)]
pub struct Client {
    id: PeerId,
    storage: Option<StorageId>,
    session: String,
    /// Number of ephemeral messages sent.
    count: u64,
    connection: Connection,
    documents: BTreeMap<DocumentId, OpenDocument>,
    presences: BTreeMap<DocumentId, Presence>,
    /// Documents that may have a message to send.
    waiting: BTreeSet<DocumentId>,
    /// Documents that were removed on this connection, with the conversation to continue from. Messages about them may have
    /// been ignored.
    removed: BTreeMap<DocumentId, Conversation>,
    broadcasts: VecDeque<(DocumentId, Vec<u8>)>,
    filter: EphemeralFilter,
    remote_heads: RemoteHeadsSubscriptions,
    events: VecDeque<Event>,
}

#[derive(Debug)]
enum Connection {
    Closed,
    /// The first message is to be sent.
    Opened,
    /// The first message was sent.
    Joined,
    /// The server with this id has greeted.
    Ready(String),
}

#[derive(Debug)]
struct OpenDocument {
    doc: Document,
    conversation: Conversation,
}

impl Client {
    /// A client without documents. The id is unique among the server's clients; the session is unique among all starts of
    /// programs with this id, for example random.
    pub fn new(id: PeerId, session: &str) -> Client {
        Client {
            id,
            storage: None,
            session: session.to_owned(),
            count: 0,
            connection: Connection::Closed,
            documents: BTreeMap::new(),
            presences: BTreeMap::new(),
            waiting: BTreeSet::new(),
            removed: BTreeMap::new(),
            broadcasts: VecDeque::new(),
            filter: EphemeralFilter::new(),
            remote_heads: RemoteHeadsSubscriptions::default(),
            events: VecDeque::new(),
        }
    }

    /// Names the storage of this client to servers. Without one, they take the client for ephemeral and keep no state for it.
    #[must_use]
    pub fn with_storage(mut self, storage: StorageId) -> Client {
        self.storage = Some(storage);
        self
    }

    /// Adds a document, or replaces it and returns the previous one. An empty document is requested from the server.
    pub fn add(&mut self, id: DocumentId, doc: Document) -> Option<Document> {
        self.add_with(id, doc, Conversation::new())
    }

    /// As [`add`](Self::add), with a conversation of an earlier connection to the same server.
    pub fn add_with(
        &mut self,
        id: DocumentId,
        doc: Document,
        mut conversation: Conversation,
    ) -> Option<Document> {
        // Messages in flight on the earlier connection are lost.
        conversation.reconnect();
        let removed = self.removed.remove(&id);
        let previous = self.documents.remove(&id);
        if let Some(earlier) = previous.as_ref().map(|open| &open.conversation).or(removed.as_ref()) {
            conversation.restart_after(earlier);
        }
        self.waiting.insert(id.clone());
        self.documents.insert(id, OpenDocument { doc, conversation });
        previous.map(|previous| previous.doc)
    }

    /// Removes a document. The protocol has no message for this: the server sends changes until the connection ends, and they
    /// are ignored.
    pub fn remove(&mut self, id: &DocumentId) -> Option<Document> {
        self.waiting.remove(id);
        self.broadcasts.retain(|(document, _)| document != id);
        self.remote_heads.forget(id);
        self.presences.remove(id);
        let removed = self.documents.remove(id)?;
        // Takes less memory than that of the document, which may have a long history.
        let mut next = Conversation::new();
        next.restart_after(&removed.conversation);
        self.removed.insert(id.clone(), next);
        Some(removed.doc)
    }

    /// A document.
    pub fn document(&self, id: &DocumentId) -> Option<&Document> {
        self.documents.get(id).map(|open| &open.doc)
    }

    /// A document to edit. New changes are sent.
    pub fn document_mut(&mut self, id: &DocumentId) -> Option<&mut Document> {
        let open = self.documents.get_mut(id)?;
        self.waiting.insert(id.clone());
        Some(&mut open.doc)
    }

    /// The conversation about a document.
    pub fn conversation(&self, id: &DocumentId) -> Option<&Conversation> {
        self.documents.get(id).map(|open| &open.conversation)
    }

    /// The status of the sync of a document, which is final when [`to_send`](Self::to_send) has no frame.
    pub fn status(&self, id: &DocumentId) -> Option<SyncStatus> {
        let open = self.documents.get(id)?;
        Some(match self.connection {
            Connection::Ready(_) => open.conversation.status(&open.doc),
            _ => SyncStatus::InProgress,
        })
    }

    /// Starts presence in a document, and returns it.
    pub fn start_presence(&mut self, id: &DocumentId, presence: Presence) -> Option<&mut Presence> {
        let id = self.documents.contains_key(id).then(|| id.clone())?;
        Some(self.presences.entry(id).insert_entry(presence).into_mut())
    }

    /// The presence in a document: that of this client, and of others.
    pub fn presence(&self, id: &DocumentId) -> Option<&Presence> {
        self.presences.get(id)
    }

    /// The presence in a document, to change that of this client.
    pub fn presence_mut(&mut self, id: &DocumentId) -> Option<&mut Presence> {
        self.presences.get_mut(id)
    }

    /// Queues a message for the other users of a document. False if it would reach none, because no server has greeted or the
    /// document is unknown.
    pub fn broadcast(&mut self, id: &DocumentId, data: Vec<u8>) -> bool {
        let is_possible = self.is_ready() && self.documents.contains_key(id);
        if is_possible {
            self.broadcasts.push_back((id.clone(), data));
        }
        is_possible
    }

    /// Asks the server for the heads that another storage has of the documents of this client.
    pub fn subscribe(&mut self, storage: StorageId) {
        self.remote_heads.subscribe(storage);
    }

    /// Undoes [`subscribe`](Self::subscribe).
    pub fn unsubscribe(&mut self, storage: &StorageId) {
        self.remote_heads.unsubscribe(storage);
    }

    /// Starts on a new connection. All that was in flight counts as lost.
    pub fn connect(&mut self) {
        self.disconnect();
        self.connection = Connection::Opened;
        for open in self.documents.values_mut() {
            open.conversation.reconnect();
        }
        self.presences.values_mut().for_each(Presence::reconnect);
        self.waiting = self.documents.keys().cloned().collect();
        self.removed.clear();
        self.remote_heads.reconnect();
    }

    /// Records the end of the connection. Nothing is sent until [`connect`](Self::connect).
    pub fn disconnect(&mut self) {
        self.connection = Connection::Closed;
        self.broadcasts.clear();
    }

    /// Has the server greeted on this connection?
    pub fn is_ready(&self) -> bool {
        matches!(self.connection, Connection::Ready(_))
    }

    /// The next report.
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`to_send`](Self::to_send) must be called again, even if nothing else happens. `None`: never.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.presences.values().filter_map(|presence| presence.next_deadline(self.is_ready())).min()
    }

    /// The next frame for the server, if there is one.
    pub fn to_send(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.presences.retain(|_, presence| !presence.has_left());
        for (id, presence) in &mut self.presences {
            let expired = presence.expire(now).into_iter();
            self.events.extend(expired.map(|event| Event::Presence { document: id.clone(), event }));
        }
        match &self.connection {
            Connection::Closed | Connection::Joined => None,
            Connection::Opened => {
                self.connection = Connection::Joined;
                Some(self.join())
            }
            Connection::Ready(server) => {
                let server = server.clone();
                // Servers drop ephemeral messages about documents that the client has not asked for yet.
                self.remote_heads
                    .next_message(self.id.as_str(), &server)
                    .or_else(|| self.next_sync(&server))
                    .or_else(|| self.next_broadcast(&server, now))
            }
        }
    }

    fn join(&self) -> Vec<u8> {
        let metadata = PeerMetadata {
            storage_id: self.storage.as_ref().map(|id| id.as_str().into()),
            is_ephemeral: Some(self.storage.is_none()),
        };
        let versions = Some(vec![PROTOCOL_VERSION.into()]);
        Message::Join { sender: self.id.as_str().into(), metadata, versions }.encode()
    }

    fn next_sync(&mut self, server: &str) -> Option<Vec<u8>> {
        while let Some(id) = self.waiting.first() {
            if let Some(open) = self.documents.get_mut(id)
                && let Some(message) = open.conversation.next_message(&open.doc)
            {
                let body = SyncBody {
                    sender: self.id.as_str().into(),
                    target: server.into(),
                    document: id.to_string().into(),
                    data: message.data.into(),
                };
                let message = if message.is_request { Message::Request(body) } else { Message::Sync(body) };
                return Some(message.encode());
            }
            self.waiting.pop_first();
        }
        None
    }

    fn next_broadcast(&mut self, server: &str, now: Duration) -> Option<Vec<u8>> {
        let of_presence =
            |(id, presence): (&DocumentId, &mut Presence)| Some((id.clone(), presence.next_payload(now)?));
        let next = self.broadcasts.pop_front();
        let (id, data) = next.or_else(|| self.presences.iter_mut().find_map(of_presence))?;
        self.count += 1;
        let body = EphemeralBody {
            sender: self.id.as_str().into(),
            target: server.into(),
            document: id.to_string().into(),
            session: self.session.as_str().into(),
            count: self.count,
            data: data.into(),
        };
        Some(Message::Ephemeral(body).encode())
    }

    /// Processes a frame. An error ends the connection, as [`disconnect`](Self::disconnect) does: the caller closes it, and no
    /// more is sent or received until [`connect`](Self::connect). All documents are valid and may contain changes of earlier
    /// frames.
    pub fn received(&mut self, frame: &[u8], now: Duration) -> Result<Receipt, ClientError> {
        if matches!(self.connection, Connection::Closed) {
            return Err(ClientError::NotConnected);
        }
        let receipt = self.receive(frame, now);
        if receipt.is_err() {
            self.disconnect();
        }
        receipt
    }

    fn receive(&mut self, frame: &[u8], now: Duration) -> Result<Receipt, ClientError> {
        let envelope = Envelope::decode(frame)?;
        match envelope.kind() {
            "peer" | "error" | "sync" | "request" | "doc-unavailable" => {
                self.receive_exchange(envelope.message()?)
            }
            _ if !self.is_ready() => Err(ClientError::Early),
            kind => {
                let is_echo = kind == "ephemeral"
                    && envelope.sender().is_ok_and(|sender| sender.as_deref() == Some(self.id.as_str()));
                if is_echo {
                    return Ok(Receipt::Ignored(IgnoreReason::Echo));
                }
                Ok(match envelope.message() {
                    Ok(message) => self.receive_news(message, now),
                    Err(error) => Receipt::Ignored(IgnoreReason::Malformed(error)),
                })
            }
        }
    }

    /// Processes a message that the connection or a sync depends on.
    fn receive_exchange(&mut self, message: Message<'_>) -> Result<Receipt, ClientError> {
        match message {
            Message::Error { message, .. } => Err(ClientError::Reported(shorten(&message, MAX_SHOWN_CHARS))),
            Message::Peer { .. } if self.is_ready() => Err(ClientError::SecondGreeting),
            Message::Peer { .. } if !matches!(self.connection, Connection::Joined) => Err(ClientError::Early),
            Message::Peer { target, .. } if target != self.id.as_str() => Err(ClientError::WrongEndpoint),
            Message::Peer { version, .. } if version != PROTOCOL_VERSION => {
                Err(ClientError::Version(shorten(&version, MAX_SHOWN_CHARS)))
            }
            Message::Peer { sender, metadata, .. } => {
                let storage = metadata.storage_id.map(|id| StorageId::from(&*id));
                self.events.push_back(Event::Ready { server: PeerId::from(&*sender), storage });
                self.connection = Connection::Ready(sender.into_owned());
                Ok(Receipt::Progress)
            }
            Message::Sync(body) | Message::Request(body) => {
                self.check_endpoints(&body.sender, &body.target)?;
                self.receive_sync(&body.document, &body.data)
            }
            Message::DocUnavailable { sender, target, document } => {
                self.check_endpoints(&sender, &target)?;
                let Some((id, open)) = find(&mut self.documents, &document) else {
                    return Ok(Receipt::Ignored(IgnoreReason::Document));
                };
                open.conversation.note_unavailable();
                let was_known = open.conversation.their_heads().is_some_and(|heads| !heads.is_empty());
                self.events.push_back(Event::Unavailable { document: id, was_known });
                Ok(Receipt::Idle)
            }
            _ => Ok(Receipt::Ignored(IgnoreReason::Type)),
        }
    }

    fn check_endpoints(&self, sender: &str, target: &str) -> Result<(), ClientError> {
        match &self.connection {
            Connection::Ready(server) if server == sender && self.id.as_str() == target => Ok(()),
            Connection::Ready(_) => Err(ClientError::WrongEndpoint),
            _ => Err(ClientError::Early),
        }
    }

    fn receive_sync(&mut self, document: &str, data: &[u8]) -> Result<Receipt, ClientError> {
        let Some((id, open)) = find(&mut self.documents, document) else {
            if let Some((_, conversation)) = find(&mut self.removed, document) {
                conversation.note_ignored(data)?;
            }
            return Ok(Receipt::Ignored(IgnoreReason::Document));
        };
        self.waiting.insert(id.clone());
        let received = open.conversation.receive(&mut open.doc, data)?;
        if received.changes > 0 {
            self.events.push_back(Event::Changed { document: id.clone(), changes: received.changes });
        }
        let refused = received.refused.into_iter();
        self.events.extend(refused.map(|(change, reason)| Event::Refused {
            document: id.clone(),
            change,
            reason,
        }));
        if received.further_refusals > 0 {
            let count = received.further_refusals;
            self.events.push_back(Event::FurtherRefusals { document: id, count });
        }
        Ok(if received.idle == 0 { Receipt::Progress } else { Receipt::Idle })
    }

    /// Processes a message that no sync depends on.
    fn receive_news(&mut self, message: Message<'_>, now: Duration) -> Receipt {
        let receipt = match message {
            Message::Ephemeral(body) => self.receive_ephemeral(body, now),
            Message::RemoteHeadsChanged { document, heads, .. } => self.receive_heads(&document, heads),
            _ => Err(IgnoreReason::Type),
        };
        receipt.map_or_else(Receipt::Ignored, |()| Receipt::News)
    }

    fn receive_ephemeral(&mut self, body: EphemeralBody<'_>, now: Duration) -> Result<(), IgnoreReason> {
        let (document, _) = find(&mut self.documents, &body.document).ok_or(IgnoreReason::Document)?;
        if !self.filter.accept(&body.sender, &body.session, body.count) {
            return Err(IgnoreReason::Repeated);
        }
        let sender = PeerId::from(&*body.sender);
        let presence = self.presences.get_mut(&document);
        let received = presence.map(|presence| presence.receive(&sender, &body.data, now)).transpose();
        match received.map_err(IgnoreReason::Presence)? {
            Some(ReceivedPresence::Event(event)) => {
                self.events.push_back(Event::Presence { document, event });
            }
            Some(ReceivedPresence::Nothing) => {}
            None | Some(ReceivedPresence::OtherPayload) => {
                self.events.push_back(Event::Ephemeral { document, sender, data: body.data.into_owned() });
            }
        }
        Ok(())
    }

    fn receive_heads(&mut self, document: &str, all: Vec<RemoteHeads<'_>>) -> Result<(), IgnoreReason> {
        let (document, _) = find(&mut self.documents, document).ok_or(IgnoreReason::Document)?;
        let before = self.events.len();
        for there in all {
            if let Some(storage) = self.remote_heads.accept(&document, &there) {
                let RemoteHeads { heads, timestamp_ms, .. } = there;
                self.events.push_back(Event::RemoteHeads {
                    document: document.clone(),
                    storage,
                    heads,
                    timestamp_ms,
                });
            }
        }
        if self.events.len() > before { Ok(()) } else { Err(IgnoreReason::Heads) }
    }
}

/// The entry of a document with an id as text. Servers may send messages about others.
fn find<'d, T>(documents: &'d mut BTreeMap<DocumentId, T>, text: &str) -> Option<(DocumentId, &'d mut T)> {
    let id: DocumentId = text.parse().ok()?;
    let entry = documents.get_mut(&id)?;
    Some((id, entry))
}
