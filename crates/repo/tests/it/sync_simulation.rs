//! Simulation of sync: clients beside a server that loses connections, reorders documents and denies access.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use hashmill_doc::Document;
use hashmill_repo::message::{PROTOCOL_VERSION, PeerMetadata, SyncBody};
use hashmill_repo::{Client, Conversation, DocumentId, Message, SyncStatus};
use hashmill_testkit::rng::Rng;
use hashmill_testkit::size;

use crate::{document, put};

const NOW: Duration = Duration::ZERO;
const SERVER: &str = "srv";

/// The connection of a client at the server.
#[derive(Default)]
struct Peer {
    client: String,
    conversations: BTreeMap<DocumentId, Conversation>,
}

/// A server as it is meant to use [`Conversation`]: one for each document of each connection.
struct Server {
    documents: BTreeMap<DocumentId, Document>,
    peers: Vec<Peer>,
    denied: BTreeSet<(usize, DocumentId)>,
}

impl Server {
    /// Processes a frame of a client. Returns frames for it.
    fn receive(&mut self, client: usize, frame: &[u8]) -> Vec<Vec<u8>> {
        let peer = &mut self.peers[client];
        let (body, is_request) = match Message::decode(frame).expect("sound") {
            Message::Join { sender, .. } => {
                *peer = Peer { client: sender.to_string(), ..Peer::default() };
                let (metadata, version) = (PeerMetadata::default(), PROTOCOL_VERSION.into());
                return vec![
                    Message::Peer { sender: SERVER.into(), target: sender, metadata, version }.encode(),
                ];
            }
            Message::Sync(body) => (body, false),
            Message::Request(body) => (body, true),
            other => panic!("{other:?}"),
        };
        assert_eq!((&*body.sender, &*body.target), (peer.client.as_str(), SERVER));
        let id: DocumentId = body.document.parse().expect("an id");
        let conversation = peer.conversations.entry(id.clone()).or_default();
        let unavailable = || {
            let (sender, target) = (SERVER.into(), body.sender.clone());
            Message::DocUnavailable { sender, target, document: body.document.clone() }.encode()
        };
        if self.denied.contains(&(client, id.clone())) {
            conversation.restart();
            return vec![unavailable()];
        }
        let doc = self.documents.entry(id).or_default();
        conversation.receive(doc, &body.data).expect("sound");
        if is_request && doc.get_heads().is_empty() { vec![unavailable()] } else { vec![] }
    }

    /// All frames that can be sent to a client.
    fn send(&mut self, client: usize) -> Vec<Vec<u8>> {
        let Peer { client: target, conversations } = &mut self.peers[client];
        let mut frames = Vec::new();
        for (id, conversation) in conversations {
            if self.denied.contains(&(client, id.clone())) {
                continue;
            }
            let doc = self.documents.entry(id.clone()).or_default();
            if let Some(message) = conversation.next_message(doc) {
                let body = SyncBody {
                    sender: SERVER.into(),
                    target: target.as_str().into(),
                    document: id.to_string().into(),
                    data: message.data.into(),
                };
                frames.push(Message::Sync(body).encode());
            }
        }
        frames
    }
}

/// Frames in flight in one direction, with the document of each.
#[derive(Default)]
struct Line(VecDeque<(Option<String>, Vec<u8>)>);

impl Line {
    fn push(&mut self, frame: Vec<u8>) {
        let document = match Message::decode(&frame).expect("sound") {
            Message::Sync(body) | Message::Request(body) => Some(body.document.into_owned()),
            Message::DocUnavailable { document, .. } => Some(document.into_owned()),
            _ => None,
        };
        self.0.push_back((document, frame));
    }

    /// Takes a frame that is the first about its document.
    fn take(&mut self, rng: &mut Rng) -> Option<Vec<u8>> {
        let is_first = |at: &usize| {
            let (document, _) = &self.0[*at];
            let earlier = || self.0.iter().take(*at);
            *at == 0 || document.is_some() && earlier().all(|(other, _)| other.is_some() && other != document)
        };
        let places: Vec<usize> = (0..self.0.len()).filter(is_first).collect();
        if places.is_empty() {
            return None;
        }
        self.0.remove(places[rng.below(places.len())]).map(|(_, frame)| frame)
    }
}

/// Clients, a server, and the frames between them.
struct World {
    rng: Rng,
    ids: Vec<DocumentId>,
    clients: Vec<Client>,
    /// Documents that a client has closed, with the copy that it keeps.
    closed: BTreeMap<(usize, usize), Document>,
    server: Server,
    to_server: Vec<Line>,
    to_client: Vec<Line>,
    delivered: usize,
    edits: i64,
}

impl World {
    fn new(seed: u64, clients: usize, documents: u8) -> World {
        let mut rng = Rng::new(seed);
        let ids: Vec<DocumentId> =
            (1..=documents).map(|number| DocumentId::from_random_bytes([number; 16])).collect();
        let client = |number: usize| {
            let mut client = Client::new(format!("client {number}").as_str().into(), "session");
            for (at, id) in ids.iter().enumerate() {
                let actor = (number * ids.len() + at) as u8;
                let changes = [0, 1, 40][rng.below(3)];
                client.add(id.clone(), document(actor, "key", changes));
            }
            client
        };
        let all: Vec<Client> = (0..clients).map(client).collect();
        let server = Server {
            documents: BTreeMap::new(),
            peers: (0..clients).map(|_| Peer::default()).collect(),
            denied: BTreeSet::new(),
        };
        let lines = || (0..clients).map(|_| Line::default()).collect();
        let (to_server, to_client) = (lines(), lines());
        let mut world = World {
            rng,
            ids,
            clients: all,
            closed: BTreeMap::new(),
            server,
            to_server,
            to_client,
            delivered: 0,
            edits: 0,
        };
        (0..clients).for_each(|client| world.cut(client));
        world
    }

    /// Ends a connection, with all that is in flight, and opens the next one.
    fn cut(&mut self, client: usize) {
        self.to_server[client].0.clear();
        self.to_client[client].0.clear();
        self.server.peers[client] = Peer::default();
        self.clients[client].connect();
    }

    fn edit(&mut self, client: usize, document: usize) {
        self.edits += 1;
        let open = self.clients[client].document_mut(&self.ids[document]);
        let doc = open.or(self.closed.get_mut(&(client, document)));
        put(doc.expect("open or closed"), "key", self.edits);
    }

    /// A client closes a document, or opens it again on the same connection, or in place of the one that is open.
    fn reopen(&mut self, client: usize, document: usize, replace: bool) {
        let id = self.ids[document].clone();
        match (self.closed.remove(&(client, document)), replace) {
            (Some(doc), _) => assert!(self.clients[client].add(id, doc).is_none()),
            (None, true) => {
                let doc = self.clients[client].document(&id).expect("it is open").clone();
                assert!(self.clients[client].add(id, doc).is_some());
            }
            (None, false) => {
                let doc = self.clients[client].remove(&id).expect("it is open");
                self.closed.insert((client, document), doc);
            }
        }
    }

    /// Denies a client access to a document, or allows it again.
    fn toggle_access(&mut self, client: usize, document: usize) {
        let pair = (client, self.ids[document].clone());
        if !self.server.denied.remove(&pair) {
            self.server.denied.insert(pair);
        }
    }

    /// Puts all frames that can be sent on their lines.
    fn send(&mut self) {
        for client in 0..self.clients.len() {
            while let Some(frame) = self.clients[client].to_send(NOW) {
                self.to_server[client].push(frame);
            }
            self.server.send(client).into_iter().for_each(|frame| self.to_client[client].push(frame));
        }
    }

    /// Delivers a random frame. False if there is none.
    fn deliver(&mut self) -> bool {
        self.send();
        let count = self.clients.len();
        let start = self.rng.below(2 * count);
        for line in (start..start + 2 * count).map(|line| line % (2 * count)) {
            let client = line / 2;
            if line % 2 == 0 {
                if let Some(frame) = self.to_server[client].take(&mut self.rng) {
                    let answers = self.server.receive(client, &frame);
                    answers.into_iter().for_each(|frame| self.to_client[client].push(frame));
                    self.delivered += 1;
                    return true;
                }
            } else if let Some(frame) = self.to_client[client].take(&mut self.rng) {
                self.clients[client].received(&frame, NOW).expect("no violation");
                while self.clients[client].next_event().is_some() {}
                self.delivered += 1;
                return true;
            }
        }
        false
    }

    /// Delivers all frames. Panics if there is no end.
    fn settle(&mut self, context: &str) -> usize {
        let before = self.delivered;
        // A greeting of two frames, and at most twenty for each document.
        let most = self.clients.len() * (2 + 20 * self.ids.len());
        while self.deliver() {
            assert!(self.delivered - before <= most, "{context}: more than {most} frames");
        }
        self.delivered - before
    }

    fn assert_equal(&self, context: &str) {
        for id in &self.ids {
            let heads = self.server.documents.get(id).map(Document::get_heads).unwrap_or_default();
            for client in &self.clients {
                assert_eq!(client.document(id).expect("it was added").get_heads(), heads, "{context}: {id}");
                let status = if heads.is_empty() { SyncStatus::InProgress } else { SyncStatus::InSync };
                assert_eq!(client.status(id), Some(status), "{context}: {id}");
            }
        }
    }
}

#[test]
fn all_converge_after_faults() {
    for seed in 0..size::of(150, 10_000) {
        let mut world = World::new(seed, 2, 3);
        let context = format!("seed {seed}");
        for _ in 0..world.rng.below(120) {
            let (client, document) = (world.rng.below(2), world.rng.below(3));
            match world.rng.below(20) {
                0 => world.cut(client),
                1 | 2 => world.toggle_access(client, document),
                3..6 => world.edit(client, document),
                6 => {
                    let replace = world.rng.below(3) == 0;
                    world.reopen(client, document, replace);
                }
                _ => drop(world.deliver()),
            }
        }
        world.server.denied.clear();
        let closed: Vec<_> = world.closed.keys().copied().collect();
        closed.into_iter().for_each(|(client, document)| world.reopen(client, document, false));
        world.settle(&context);
        world.assert_equal(&context);
    }
}

/// The connection is lost after each number of delivered frames, from the first frame to the last.
#[test]
fn a_lost_connection_at_any_frame_is_repaired() {
    for seed in 0..size::of(5, 200) {
        let mut cuts = 0;
        loop {
            let mut world = World::new(seed, 2, 2);
            let context = format!("seed {seed}, cut after {cuts} frames");
            let reached = (0..cuts).all(|_| world.deliver());
            world.cut((seed % 2) as usize);
            world.settle(&context);
            world.assert_equal(&context);
            if !reached {
                break;
            }
            cuts += 1;
        }
        assert!(cuts > 10, "seed {seed}: only {cuts} frames");
    }
}

/// A client edits while it is denied access. Official programs then exchange messages without end.
#[test]
fn refused_messages_are_repaired_in_few_frames() {
    for seed in 0..size::of(100, 5_000) {
        let mut world = World::new(seed, 1, 1);
        let context = format!("seed {seed}");
        world.edit(0, 0);
        world.settle(&context);
        world.toggle_access(0, 0);
        for _ in 0..world.rng.below(4) {
            world.edit(0, 0);
            world.settle(&context);
        }
        world.toggle_access(0, 0);
        // The server repeats the exchange because a message was refused; otherwise the client has nothing to say.
        let frames = world.settle(&context);
        assert!(frames < 10, "{context}: {frames} frames");
        world.assert_equal(&context);
    }
}

/// A client closes a document, another one edits it, and the server sends the changes to both. When the document is opened again,
/// the server believes that all arrived.
#[test]
fn reopened_documents_are_synced_in_few_frames() {
    for seed in 0..size::of(100, 5_000) {
        let mut world = World::new(seed, 2, 1);
        let context = format!("seed {seed}");
        world.edit(0, 0);
        world.settle(&context);
        world.reopen(0, 0, false);
        for _ in 0..world.rng.below(4) {
            world.edit(1, 0);
            world.settle(&context);
        }
        if world.rng.below(2) == 0 {
            world.edit(0, 0);
        }
        world.reopen(0, 0, false);
        let frames = world.settle(&context);
        assert!(frames <= 8, "{context}: {frames} frames");
        world.assert_equal(&context);
    }
}

/// The simulation sees the fault: without the restart, refused changes do not arrive or frames do not end.
#[test]
fn simulation_notices_a_missing_restart() {
    let mut world = World::new(1, 1, 1);
    world.edit(0, 0);
    world.settle("before");
    let id = world.ids[0].clone();
    world.edit(0, 0);
    world.send();
    // The server drops the message and forgets to repair the exchange.
    world.to_server[0].0.clear();
    world.settle("after");
    let heads = world.clients[0].document(&id).expect("it was added").get_heads();
    assert_ne!(world.server.documents[&id].get_heads(), heads);
}
