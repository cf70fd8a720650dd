//! Integration tests of the core: the protocol as clients see it, with a storage that never fails.

mod deletion;
mod durability;
mod interventions;
mod limits;
mod malformed;
mod protocol;
mod questions;
mod rights;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use hashmill_doc::{ActorId, Document, ROOT, Transactable as _};
use hashmill_repo::{Client, DocumentId, Message, PeerId};
use hashmill_server::{
    Access, Action, BatchId, ChunkKey, CloseReason, Command, CommandId, CommandOutcome, Config, Core,
    DocumentDetails, DocumentState, Event, Fact, Identity, IoFailure, Owner, RequestId, SocketId,
    StoredChunk, StoredDocument, Tombstone, TombstoneChange,
};

/// The id of the golden frames' document.
const ID: &str = "4VNSEjuC2AHmKGKEK27f1aBErpCV";

/// A core, and a storage whose appends can be held back.
struct Server {
    core: Core,
    now: Duration,
    stored: BTreeMap<ChunkKey, Vec<u8>>,
    tombstones: BTreeMap<DocumentId, Tombstone>,
    owners: BTreeMap<DocumentId, String>,
    /// Outcomes of commands.
    answers: Vec<(CommandId, CommandOutcome)>,
    /// Details that were asked for.
    inspections: Vec<(CommandId, Option<DocumentDetails>)>,
    /// Commands wait here while `holds_commands` is set.
    commands: Vec<(RequestId, DocumentId, Command)>,
    holds_commands: bool,
    /// Loads wait here while `holds_loads` is set.
    loads: Vec<(RequestId, DocumentId)>,
    holds_loads: bool,
    sent: Vec<(SocketId, Vec<u8>)>,
    closed: Vec<(SocketId, CloseReason)>,
    facts: Vec<Fact>,
    /// Sockets that are not read.
    paused: BTreeSet<SocketId>,
    /// Appends wait here while `holds_appends` is set.
    appends: Vec<(BatchId, Vec<StoredChunk>)>,
    holds_appends: bool,
    /// Questions about rights.
    questions: Vec<(RequestId, SocketId, DocumentId)>,
    /// Number of counts of owners that cannot be read.
    unread_owners: usize,
}

impl Server {
    fn new() -> Server {
        Server::with(|_| {})
    }

    /// A server whose configuration is changed. It collects no messages: the time of these tests moves only where they say so.
    fn with(change: impl FnOnce(&mut Config)) -> Server {
        let mut config = Config::new("srv", "5638dcaa-8264-4cd2-a865-2a045e045ae2");
        config.commit_window = Duration::ZERO;
        change(&mut config);
        Server {
            core: Core::new(config),
            now: Duration::ZERO,
            stored: BTreeMap::new(),
            tombstones: BTreeMap::new(),
            owners: BTreeMap::new(),
            answers: Vec::new(),
            inspections: Vec::new(),
            commands: Vec::new(),
            holds_commands: false,
            loads: Vec::new(),
            holds_loads: false,
            sent: Vec::new(),
            closed: Vec::new(),
            facts: Vec::new(),
            paused: BTreeSet::new(),
            appends: Vec::new(),
            holds_appends: false,
            questions: Vec::new(),
            unread_owners: 0,
        }
    }

    /// A new server on the same storage, after a crash.
    fn restarted(self) -> Server {
        Server { stored: self.stored, tombstones: self.tombstones, owners: self.owners, ..Server::new() }
    }

    fn step(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let mut actions = Vec::new();
            self.core.step(self.now, event, &mut actions);
            for action in actions {
                events.extend(self.carry_out(action));
            }
        }
    }

    fn carry_out(&mut self, action: Action) -> Option<Event> {
        match action {
            Action::Send(socket, frame) => {
                let len = frame.len();
                self.sent.push((socket, frame));
                return Some(Event::SocketDrained(socket, len));
            }
            Action::Close(socket, reason) => self.closed.push((socket, reason)),
            Action::Append { batch, chunks, .. } if self.holds_appends => self.appends.push((batch, chunks)),
            Action::Append { batch, chunks, owners } => {
                for (document, name) in owners {
                    self.owners.entry(document).or_insert(name);
                }
                self.stored.extend(chunks.into_iter().map(|chunk| (chunk.key, chunk.bytes)));
                return Some(Event::Appended(batch, Ok(())));
            }
            Action::Load(request, document) if self.holds_loads => self.loads.push((request, document)),
            Action::Load(request, document) => {
                return Some(Event::Loaded(request, Ok(self.read(&document))));
            }
            Action::PutSnapshot { request, chunk } => {
                self.stored.insert(chunk.key, chunk.bytes);
                return Some(Event::Completed(request, Ok(())));
            }
            Action::Delete(request, keys) => {
                keys.iter().for_each(|key| drop(self.stored.remove(key)));
                return Some(Event::Completed(request, Ok(())));
            }
            Action::Execute(request, document, command) if self.holds_commands => {
                self.commands.push((request, document, command));
            }
            Action::Execute(request, document, command) => {
                let outcome = self.execute(&document, command);
                return Some(Event::Executed(request, Ok(outcome)));
            }
            Action::LoadOwner(_) if self.unread_owners > 0 => self.unread_owners -= 1,
            Action::LoadOwner(name) => {
                let document = self
                    .owners
                    .iter()
                    .find(|(_, owner)| **owner == name)
                    .map(|(document, _)| document.clone());
                let owner = document.and_then(|document| self.owner(&document));
                return Some(Event::OwnerLoaded(owner.unwrap_or(Owner { name, stored_bytes: 0 })));
            }
            Action::Answer(id, outcome) => self.answers.push((id, outcome)),
            Action::Inspected(id, details) => self.inspections.push((id, details)),
            Action::RunWork(work, job) => return Some(Event::WorkDone(work, job.run())),
            Action::AskRights { request, socket, document } => {
                self.questions.push((request, socket, document));
            }
            Action::WakeAt(_) | Action::Relay(..) => {}
            Action::PauseReads(socket) => drop(self.paused.insert(socket)),
            Action::ResumeReads(socket) => drop(self.paused.remove(&socket)),
            Action::Report(fact) => self.facts.push(fact),
        }
        None
    }

    fn read(&self, document: &DocumentId) -> StoredDocument {
        let those = self.stored.iter().filter(|(key, _)| key.document == *document);
        StoredDocument {
            chunks: those
                .map(|(key, bytes)| StoredChunk { key: key.clone(), bytes: bytes.clone() })
                .collect(),
            is_deleted: self.tombstones.contains_key(document),
            owner: self.owner(document),
        }
    }

    /// Carries out the loads that were held back.
    fn finish_loads(&mut self) {
        self.holds_loads = false;
        for (request, document) in std::mem::take(&mut self.loads) {
            self.step(Event::Loaded(request, Ok(self.read(&document))));
        }
    }

    fn owner(&self, document: &DocumentId) -> Option<Owner> {
        let name = self.owners.get(document)?;
        let is_owned = |key: &ChunkKey| self.owners.get(&key.document) == Some(name);
        let bytes = self.stored.iter().filter(|(key, _)| is_owned(key)).map(|(_, bytes)| bytes.len() as u64);
        Some(Owner { name: name.clone(), stored_bytes: bytes.sum() })
    }

    /// Tells the core how many bytes all owners have.
    fn count_bytes(&mut self) {
        let counts = self.owners.keys().filter_map(|document| self.owner(document)).collect();
        self.step(Event::BytesCounted(counts));
    }

    /// Carries out a command in the storage.
    fn execute(&mut self, document: &DocumentId, command: Command) -> CommandOutcome {
        let has_chunks = self.stored.keys().any(|key| key.document == *document);
        let tombstone = self.tombstones.get(document).copied();
        let state = DocumentState { tombstone, has_chunks, used_at: Some(5) };
        let (outcome, change) = command.decide(state);
        match change {
            TombstoneChange::Insert(tombstone) => drop(self.tombstones.insert(document.clone(), tombstone)),
            TombstoneChange::Remove => drop(self.tombstones.remove(document)),
            TombstoneChange::RemoveChunks(tombstone) => {
                self.stored.retain(|key, _| key.document != *document);
                self.owners.remove(document);
                self.tombstones.insert(document.clone(), tombstone);
            }
            _ => {}
        }
        outcome
    }

    /// Passes a command on, and returns its outcome if there is one at once.
    fn command(&mut self, command: Command) -> Option<CommandOutcome> {
        let id = CommandId(self.answers.len() as u64 + self.commands.len() as u64 + 1);
        self.step(Event::CommandReceived(id, self::id(), command));
        self.answers.last().filter(|(answered, _)| *answered == id).map(|(_, outcome)| *outcome)
    }

    fn open(&mut self, socket: u64) -> SocketId {
        self.open_with(socket, Identity::new("all", Access::Write))
    }

    fn open_with(&mut self, socket: u64, identity: Identity) -> SocketId {
        self.step(Event::SocketOpened(SocketId(socket), Arc::new(identity)));
        SocketId(socket)
    }

    /// Changes the access of a client to all documents.
    fn allow(&mut self, socket: SocketId, access: Access) {
        self.step(Event::RightsChanged(socket, Arc::new(Identity::new("all", access))));
    }

    fn receive(&mut self, socket: SocketId, frame: &[u8]) {
        self.step(Event::FrameReceived(socket, frame.to_vec()));
    }

    /// Takes the frames for a socket.
    fn frames(&mut self, socket: SocketId) -> Vec<Vec<u8>> {
        let (those, others) = std::mem::take(&mut self.sent).into_iter().partition(|(to, _)| *to == socket);
        self.sent = others;
        those.into_iter().map(|(_, frame)| frame).collect()
    }

    /// Takes the frames for a socket, by type.
    fn kinds(&mut self, socket: SocketId) -> Vec<&'static str> {
        let frames = self.frames(socket);
        frames.iter().map(|frame| kind(&Message::decode(frame).expect("a message"))).collect()
    }

    /// Exchanges frames with a client until there is none. Returns their number.
    fn settle(&mut self, socket: SocketId, client: &mut Client) -> usize {
        let mut count = 0;
        loop {
            let mut moved = false;
            while let Some(frame) = client.to_send(self.now) {
                self.receive(socket, &frame);
                (moved, count) = (true, count + 1);
            }
            for frame in self.frames(socket) {
                client.received(&frame, self.now).expect("no violation");
                (moved, count) = (true, count + 1);
            }
            if !moved {
                return count;
            }
            assert!(count < 100, "frames without end");
        }
    }
}

fn kind(message: &Message<'_>) -> &'static str {
    match message {
        Message::Peer { .. } => "peer",
        Message::Sync(_) => "sync",
        Message::DocUnavailable { .. } => "doc-unavailable",
        Message::Ephemeral(_) => "ephemeral",
        Message::Error { .. } => "error",
        _ => "other",
    }
}

fn id() -> DocumentId {
    ID.parse().expect("an id")
}

/// A client with a document, which may be empty.
fn client(name: &str, changes: i64) -> Client {
    let mut client = Client::new(PeerId::from(name), "session");
    let actor = ActorId::from(name.as_bytes());
    client.add(id(), Document::new().with_actor(actor));
    client.connect();
    (0..changes).for_each(|value| edit(&mut client, value));
    client
}

fn edit(client: &mut Client, value: i64) {
    let doc = client.document_mut(&id()).expect("it was added");
    doc.transact(|tx| tx.put(ROOT, "key", value)).expect("there is room");
}

fn failure() -> Result<(), IoFailure> {
    Err(IoFailure::Unknown("no space left".to_owned()))
}
