//! Simulated clients, on the protocol library.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use hashmill_doc::sync::{Message as SyncMessage, MessageFlags};
use hashmill_doc::{ActorId, Change, Document, ROOT, Transactable as _};
use hashmill_repo::message::{EphemeralBody, SyncBody};
use hashmill_repo::{Client, Conversation, DocumentId, Event, Message, PeerId};
use hashmill_testkit::Rng;

use crate::access::Access;
use crate::identity::Identity;
use crate::ids::SocketId;

/// What a client knows of the sync protocol. The first two are older than this project's client, on which all are built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Generation {
    /// Its messages have no flags.
    WithoutFlags,
    /// It does not know that an exchange can start over.
    WithoutReset,
    Newest,
}

impl Generation {
    pub(super) fn draw(rng: &mut Rng) -> Generation {
        [Generation::WithoutFlags, Generation::WithoutReset, Generation::Newest, Generation::Newest]
            [rng.below(4)]
    }

    /// A frame between the server and a client that knows this much.
    fn limit(self, frame: &[u8]) -> Vec<u8> {
        let limit = |body: SyncBody<'_>| {
            let mut message = SyncMessage::decode(&body.data).expect("both send sound messages");
            let is_read_only = message.flags.is_some_and(|flags| flags.contains(MessageFlags::READ_ONLY));
            let mut flags = MessageFlags::new();
            if is_read_only {
                flags.set(MessageFlags::READ_ONLY);
            }
            message.flags = (self == Generation::WithoutReset).then_some(flags);
            let SyncBody { sender, target, document, .. } = body;
            let [sender, target, document] = [sender, target, document].map(|id| id.into_owned().into());
            SyncBody { sender, target, document, data: message.encode().into() }
        };
        match Message::decode(frame) {
            Ok(Message::Sync(body)) if self != Generation::Newest => Message::Sync(limit(body)).encode(),
            Ok(Message::Request(body)) if self != Generation::Newest => {
                Message::Request(limit(body)).encode()
            }
            _ => frame.to_vec(),
        }
    }
}

/// A client with copies of all documents.
pub(super) struct SimulatedClient {
    pub(super) client: Client,
    pub(super) peer: String,
    pub(super) socket: Option<SocketId>,
    pub(super) identity: Arc<Identity>,
    /// Does it read what arrives?
    pub(super) reads: bool,
    generation: Generation,
    number: u8,
    /// Number of edits.
    edits: i64,
    /// Number of starts of the client's process.
    starts: u8,
    /// Its storage.
    saved: BTreeMap<DocumentId, Saved>,
}

/// What a client has stored of a document. Official clients write both parts at times of their own, so either may be the older one.
#[derive(Default)]
struct Saved {
    document: Vec<u8>,
    /// The state of the sync with the server.
    state: Option<Vec<u8>>,
}

impl SimulatedClient {
    pub(super) fn new(number: usize, generation: Generation, ids: &[DocumentId]) -> SimulatedClient {
        let peer = format!("client-{number}");
        let mut simulated = SimulatedClient {
            client: Client::new(PeerId::from(peer.as_str()), "session"),
            peer,
            socket: None,
            identity: Arc::new(Identity::new(&format!("client-{number}"), Access::Write)),
            reads: true,
            generation,
            number: number as u8,
            edits: 0,
            starts: 0,
            saved: ids.iter().map(|id| (id.clone(), Saved::default())).collect(),
        };
        simulated.start();
        simulated
    }

    /// Starts the process of the client with what is in its storage, after the end of an earlier one. Returns the number of documents
    /// that lack what was known to be shared with the server.
    pub(super) fn start(&mut self) -> usize {
        let mut behind = 0;
        self.starts += 1;
        let session = format!("session {}", self.starts);
        self.client = Client::new(PeerId::from(self.peer.as_str()), &session);
        for (index, (id, saved)) in self.saved.iter().enumerate() {
            let doc = Document::load(&saved.document).expect("it was saved");
            // Changes that were not saved are lost, so the actor is a new one.
            let doc = doc.with_actor(ActorId::from([self.number, index as u8, self.starts]));
            let state = saved.state.as_ref();
            let conversation =
                state.map(|state| Conversation::from_state(state).expect("it was saved")).unwrap_or_default();
            let shared = conversation.state().shared_heads();
            behind += usize::from(!doc.get_missing_deps(shared).is_empty());
            self.client.add_with(id.clone(), doc, conversation);
        }
        behind
    }

    /// Saves some of its documents and some of the states of their sync.
    pub(super) fn save(&mut self, rng: &mut Rng) {
        for (id, saved) in &mut self.saved {
            if rng.below(2) == 0 {
                saved.document = self.client.document(id).expect("it has all documents").clone().save();
            }
            if rng.below(2) == 0 {
                let conversation = self.client.conversation(id).expect("it has all documents");
                saved.state = Some(conversation.encode_state());
            }
        }
    }

    /// Makes a change to a document.
    pub(super) fn edit(&mut self, id: &DocumentId, mut value: Vec<u8>) -> Change {
        self.edits += 1;
        // Unique: writing a value that is there, also by another client, is no change.
        value.extend(self.edits.to_be_bytes());
        value.extend(self.peer.as_bytes());
        let doc = self.client.document_mut(id).expect("it has all documents");
        let key = format!("key {}", self.edits % 5);
        doc.transact(|tx| tx.put(ROOT, key, value)).expect("there is room");
        doc.get_last_local_change().expect("it was made")
    }

    /// The next frame for the server, if there is one.
    pub(super) fn next_frame(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.client.to_send(now).map(|frame| self.generation.limit(&frame))
    }

    /// Processes a frame, and returns a frame to send at once, if there is one: official clients pass messages of other users
    /// back to the server that they came from.
    pub(super) fn receive(
        &mut self,
        frame: &[u8],
        now: Duration,
    ) -> Result<(Option<Vec<u8>>, BTreeSet<DocumentId>), String> {
        let echo = match Message::decode(frame).map_err(|error| error.to_string())? {
            Message::Ephemeral(body) if body.sender == self.peer.as_str() => {
                return Err("its own message came back".to_owned());
            }
            Message::Ephemeral(body) => {
                let copy = EphemeralBody { target: "srv".into(), ..body };
                Some(Message::Ephemeral(copy).encode())
            }
            _ => None,
        };
        self.client.received(&self.generation.limit(frame), now).map_err(|error| error.to_string())?;
        let mut changed = BTreeSet::new();
        while let Some(event) = self.client.next_event() {
            match event {
                Event::Changed { document, .. } => drop(changed.insert(document)),
                Event::Refused { change, reason, .. } => return Err(format!("{change}: {reason}")),
                _ => {}
            }
        }
        Ok((echo, changed))
    }
}
