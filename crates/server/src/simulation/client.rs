//! Simulated clients, on the protocol library.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use hashmill_doc::{ActorId, Change, Document, ROOT, Transactable as _};
use hashmill_repo::message::EphemeralBody;
use hashmill_repo::{Client, DocumentId, Event, Message, PeerId};

use crate::access::Access;
use crate::identity::Identity;
use crate::ids::SocketId;

/// A client with copies of all documents.
pub(super) struct SimulatedClient {
    pub(super) client: Client,
    pub(super) peer: String,
    pub(super) socket: Option<SocketId>,
    pub(super) identity: Arc<Identity>,
    /// Does it read what arrives?
    pub(super) reads: bool,
    /// Number of edits.
    edits: i64,
}

impl SimulatedClient {
    pub(super) fn new(number: usize, ids: &[DocumentId]) -> SimulatedClient {
        let peer = format!("client-{number}");
        let mut client = Client::new(PeerId::from(peer.as_str()), "session");
        for (place, id) in ids.iter().enumerate() {
            let actor = ActorId::from([(number * ids.len() + place) as u8]);
            client.add(id.clone(), Document::new().with_actor(actor));
        }
        let identity = Arc::new(Identity::new(&peer, Access::Write));
        SimulatedClient { client, peer, socket: None, identity, reads: true, edits: 0 }
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
        self.client.received(frame, now).map_err(|error| error.to_string())?;
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
