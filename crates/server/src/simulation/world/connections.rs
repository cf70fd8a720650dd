//! Connections of the world: delays, order, cuts, clients that do not read.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use hashmill_repo::DocumentId;
use hashmill_testkit::Rng;

use super::{Happening, World};
use crate::access::Access;
use crate::event::Event;
use crate::identity::{Identity, Rule};
use crate::ids::{RequestId, SocketId};
use crate::simulation::hostile;
use crate::simulation::violation::Violation;

/// Maximum delay before a client connects again: that of official clients.
const RECONNECT_MS: usize = 5000;
/// Maximum time after which the server notices that a connection is gone.
const MAX_SILENCE_MS: usize = 20_000;

/// What the service said about the client of a connection.
#[derive(Default)]
pub(super) struct RemoteRights {
    /// Questions without an answer.
    pub(super) open: BTreeMap<DocumentId, RequestId>,
    /// The access by the latest answers, and the time until which it may count.
    pub(super) granted: BTreeMap<DocumentId, (Access, Duration)>,
}

/// A connection between a client and the server.
pub(super) struct Connection {
    /// `None`: a hostile client.
    pub(super) client: Option<usize>,
    pub(super) identity: Arc<Identity>,
    /// Answers about its rights, if another service knows them.
    pub(super) remote: Option<RemoteRights>,
    pub(super) to_server: VecDeque<Vec<u8>>,
    pub(super) to_client: VecDeque<Vec<u8>>,
    pub(super) is_open_at_server: bool,
    /// The server does not read it. Frames that arrived meanwhile are counted.
    pub(super) is_paused: bool,
    unread_frames: usize,
    /// Time that its messages have used of its rate, and when it was opened at the server.
    pub(super) spent: Duration,
    pub(super) opened_at: Duration,
    /// The latest arrival in each direction: frames of a connection keep their order.
    last_at_server: Duration,
    last_at_client: Duration,
}

impl Connection {
    /// The identity as the server knows it.
    pub(super) fn identity_at_server(&self) -> Arc<Identity> {
        match &self.remote {
            Some(_) => Arc::new(Identity::remote(&self.identity.name)),
            None => Arc::clone(&self.identity),
        }
    }

    /// Must nothing of a document be sent now?
    pub(super) fn is_denied(&self, document: &DocumentId, now: Duration) -> bool {
        let Some(remote) = &self.remote else { return self.identity.access_to(document) == Access::Denied };
        let granted = remote.granted.get(document);
        granted.is_none_or(|(access, until)| *access == Access::Denied || now > *until)
    }
}

impl World {
    fn open(&mut self, client: Option<usize>, identity: Arc<Identity>) -> SocketId {
        self.count += 1;
        let socket = SocketId(self.count);
        let is_remote = self.knobs.has_remote_rights && client.is_some();
        let connection = Connection {
            client,
            identity,
            remote: is_remote.then(RemoteRights::default),
            to_server: VecDeque::new(),
            to_client: VecDeque::new(),
            is_open_at_server: false,
            is_paused: false,
            unread_frames: 0,
            spent: Duration::ZERO,
            opened_at: self.now,
            last_at_server: self.now,
            last_at_client: self.now,
        };
        self.connections.insert(socket, connection);
        self.arrive_at_server(socket, Happening::OpensAtServer(socket));
        socket
    }

    fn arrive_at_server(&mut self, socket: SocketId, happening: Happening) {
        let Some(connection) = self.connections.get_mut(&socket) else { return };
        let delay = self.streams.network(connection.client).below(self.knobs.network_ms + 1);
        let delay = Duration::from_millis(delay as u64);
        connection.last_at_server = connection.last_at_server.max(self.now + delay);
        let at = connection.last_at_server;
        self.schedule_at(at, happening);
    }

    fn arrive_at_client(&mut self, socket: SocketId, happening: Happening) {
        let Some(connection) = self.connections.get_mut(&socket) else { return };
        let delay = self.streams.network(connection.client).below(self.knobs.network_ms + 1);
        let delay = Duration::from_millis(delay as u64);
        connection.last_at_client = connection.last_at_client.max(self.now + delay);
        let at = connection.last_at_client;
        self.schedule_at(at, happening);
    }

    pub(super) fn connect(&mut self, client: usize) {
        if self.clients[client].socket.is_some() || !self.reconnects {
            return;
        }
        let socket = self.open(Some(client), Arc::clone(&self.clients[client].identity));
        self.clients[client].socket = Some(socket);
        self.clients[client].client.connect();
        self.send_from_client(client);
    }

    pub(super) fn connect_hostile(&mut self, rng: &mut Rng) {
        let frames = hostile::frames(rng, &self.ids, &self.recorded_frames);
        let socket = self.open(None, Arc::new(Identity::new("hostile", Access::Write)));
        frames.into_iter().for_each(|frame| self.send_to_server(socket, frame));
        self.arrive_at_server(socket, Happening::ClosesAtServer(socket));
    }

    /// Sends all frames that a client has.
    pub(super) fn send_from_client(&mut self, client: usize) {
        let Some(socket) = self.clients[client].socket else { return };
        while let Some(frame) = self.clients[client].next_frame(self.now) {
            self.send_to_server(socket, frame);
        }
    }

    fn send_to_server(&mut self, socket: SocketId, frame: Vec<u8>) {
        let Some(connection) = self.connections.get_mut(&socket) else { return };
        connection.to_server.push_back(frame);
        self.arrive_at_server(socket, Happening::FrameToServer(socket));
    }

    /// The next frame at the server, if it reads the socket.
    pub(super) fn take_frame(&mut self, socket: SocketId) -> Option<Vec<u8>> {
        let connection = self.connections.get_mut(&socket).filter(|there| there.is_open_at_server)?;
        if connection.is_paused {
            connection.unread_frames += 1;
            return None;
        }
        connection.to_server.pop_front()
    }

    pub(super) fn read_socket(&mut self, socket: SocketId) {
        let Some(connection) = self.connections.get_mut(&socket) else { return };
        connection.is_paused = false;
        self.read_next_frame(socket);
    }

    /// Lets the server read the next of the frames that arrived during a pause. One at a time: the first may cause the next pause.
    pub(super) fn read_next_frame(&mut self, socket: SocketId) {
        let Some(connection) = self.connections.get_mut(&socket).filter(|there| !there.is_paused) else {
            return;
        };
        if let Some(rest) = connection.unread_frames.checked_sub(1) {
            connection.unread_frames = rest;
            self.schedule(0, Happening::FrameToServer(socket));
        }
    }

    pub(super) fn send_to_client(&mut self, socket: SocketId, frame: Vec<u8>) {
        let Some(connection) = self.connections.get_mut(&socket) else { return };
        connection.to_client.push_back(frame);
        self.arrive_at_client(socket, Happening::FrameToClient(socket));
    }

    /// The client reads a frame, unless it has paused.
    pub(super) fn deliver_to_client(&mut self, socket: SocketId) -> Result<(), Violation> {
        let Some(connection) = self.connections.get_mut(&socket) else { return Ok(()) };
        let client = connection.client;
        if client.is_some_and(|client| !self.clients[client].reads) {
            return Ok(());
        }
        let Some(frame) = connection.to_client.pop_front() else { return Ok(()) };
        if connection.is_open_at_server {
            self.step(Event::SocketDrained(socket, frame.len()))?;
        }
        let Some(client) = client.filter(|client| self.clients[*client].socket == Some(socket)) else {
            return Ok(());
        };
        let received = self.clients[client].receive(&frame, self.now);
        let (echo, changed) = received.map_err(|reason| Violation::new("form", reason))?;
        for document in changed {
            let heads = self.clients[client].client.document(&document).expect("it has all").get_heads();
            self.promise.check_created(&document, &heads)?;
        }
        if let Some(frame) = echo {
            self.probes.count("relayed");
            self.send_to_server(socket, frame);
        }
        self.send_from_client(client);
        Ok(())
    }

    pub(super) fn read_again(&mut self, client: usize) {
        self.clients[client].reads = true;
        let Some(socket) = self.clients[client].socket else { return };
        let waiting = self.connections.get(&socket).map_or(0, |connection| connection.to_client.len());
        (0..waiting).for_each(|_| self.arrive_at_client(socket, Happening::FrameToClient(socket)));
    }

    /// The server's end of a connection closes. Frames before it arrive.
    pub(super) fn close_from_server(&mut self, socket: SocketId) {
        if let Some(connection) = self.connections.get_mut(&socket) {
            connection.is_open_at_server = false;
            connection.to_server.clear();
            self.arrive_at_client(socket, Happening::ClosesAtClient(socket));
        }
    }

    /// The client's end of a connection closes. Frames before it arrive.
    pub(super) fn close_at_client(&mut self, socket: SocketId) {
        let Some(connection) = self.connections.get(&socket) else { return };
        let client = connection.client.filter(|client| self.clients[*client].socket == Some(socket));
        self.arrive_at_server(socket, Happening::ClosesAtServer(socket));
        if let Some(client) = client {
            self.clients[client].client.disconnect();
            self.clients[client].socket = None;
            let delay = self.streams.network(Some(client)).below(RECONNECT_MS);
            self.schedule(delay, Happening::Connects(client));
        }
    }

    /// The network ends a connection, with all that is in flight. The server may notice it after the client has connected again.
    pub(super) fn cut(&mut self, client: usize, rng: &mut Rng) {
        let Some(socket) = self.clients[client].socket else { return };
        self.probes.count("cuts");
        if let Some(connection) = self.connections.get_mut(&socket) {
            connection.to_server.clear();
            connection.to_client.clear();
            if rng.below(2) == 0 {
                connection.last_at_server =
                    self.now + Duration::from_millis(rng.below(MAX_SILENCE_MS) as u64);
            }
        }
        self.close_at_client(socket);
    }

    /// The process of a client ends, and starts again from its storage.
    pub(super) fn restart_client(&mut self, client: usize) {
        if let Some(socket) = self.clients[client].socket {
            self.close_at_client(socket);
        }
        let behind = self.clients[client].start();
        (0..behind).for_each(|_| self.probes.count("documents behind their sync"));
    }

    /// Changes the rights of a client on some documents, or ends them.
    pub(super) fn change_rights(&mut self, client: usize, rng: &mut Rng) -> Result<(), Violation> {
        let draw = |rng: &mut Rng| [Access::Denied, Access::Read, Access::Write][rng.below(3)];
        let mut identity = Identity::new(&self.clients[client].peer, draw(rng));
        for id in &self.ids {
            let (access, is_announced) = (draw(rng), rng.below(3) == 0);
            identity.rules.insert(id.clone(), Rule { access, is_announced });
        }
        match rng.below(8) {
            0 => self.end_rights(client),
            1..4 => {
                identity.rules.clear();
                self.set_rights(client, identity)
            }
            _ => self.set_rights(client, identity),
        }
    }

    pub(super) fn set_rights(&mut self, client: usize, identity: Identity) -> Result<(), Violation> {
        let identity = Arc::new(identity);
        self.clients[client].identity = Arc::clone(&identity);
        let Some(socket) = self.clients[client].socket else { return Ok(()) };
        let Some(connection) = self.connections.get_mut(&socket) else { return Ok(()) };
        connection.identity = Arc::clone(&identity);
        // The server asks for remote rights.
        if connection.is_open_at_server && connection.remote.is_none() {
            self.step(Event::RightsChanged(socket, identity))?;
        }
        Ok(())
    }

    fn end_rights(&mut self, client: usize) -> Result<(), Violation> {
        let Some(socket) = self.clients[client].socket else { return Ok(()) };
        if self.connections.get(&socket).is_some_and(|connection| connection.is_open_at_server) {
            self.step(Event::RightsEnded(socket))?;
        }
        Ok(())
    }
}
