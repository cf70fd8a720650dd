//! Connections between clients and nodes, and the rights of clients.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use hashmill_repo::DocumentId;
use hashmill_testkit::Rng;

use super::{Connection, Happening, RECONNECT_MS, World};
use crate::access::Access;
use crate::event::Event;
use crate::identity::{Identity, Rule};
use crate::ids::SocketId;
use crate::simulation::violation::Violation;

impl World {
    pub(super) fn change_rights(&mut self, client: usize, rng: &mut Rng) {
        let draw = |rng: &mut Rng| [Access::Denied, Access::Read, Access::Write][rng.below(3)];
        let mut identity = Identity::new(&self.clients[client].peer, draw(rng));
        for id in &self.ids {
            let (access, is_announced) = (draw(rng), rng.below(3) == 0);
            identity.rules.insert(id.clone(), Rule { access, is_announced });
        }
        self.set_rights(client, identity);
    }

    /// Nodes learn the rights of a client some time later.
    pub(in crate::simulation::cluster) fn set_rights(&mut self, client: usize, identity: Identity) {
        let identity = Arc::new(identity);
        self.clients[client].identity = Arc::clone(&identity);
        if let Some(socket) = self.clients[client].socket {
            let delay = Duration::from_millis(self.rng.below(1000) as u64);
            let Some(connection) = self.connections.get_mut(&socket) else { return };
            connection.rights_at = connection.rights_at.max(self.now + delay);
            let at = connection.rights_at;
            self.schedule_at(at, Happening::RightsArrive(socket, identity));
        }
    }

    /// Connects a client to any node that accepts clients.
    pub(in crate::simulation::cluster) fn connect(&mut self, client: usize) {
        if self.clients[client].socket.is_some() || !self.reconnects {
            return;
        }
        let nodes = self.nodes.iter().enumerate();
        let ready = nodes
            .filter(|(_, node)| node.running.as_ref().is_some_and(|running| running.replica.is_caught_up()));
        let ready: Vec<usize> = ready.map(|(number, _)| number).collect();
        if ready.is_empty() {
            return self.schedule(300, Happening::Connects(client));
        }
        let node = ready[self.rng.below(ready.len())];
        self.count += 1;
        let socket = SocketId(self.count);
        let connection = Connection {
            client,
            node,
            identity: Arc::clone(&self.clients[client].identity),
            to_node: VecDeque::new(),
            to_client: VecDeque::new(),
            is_open_at_node: false,
            last_at_node: self.now,
            last_at_client: self.now,
            rights_at: self.now,
        };
        self.connections.insert(socket, connection);
        self.arrive(socket, true, Happening::OpensAtNode(socket));
        self.clients[client].socket = Some(socket);
        self.clients[client].client.connect();
        self.send_from_client(client);
    }

    /// Schedules an arrival at the node, or at the client. Those of one connection keep their order.
    pub(super) fn arrive(&mut self, socket: SocketId, is_at_node: bool, happening: Happening) {
        let delay = Duration::from_millis(self.rng.below(self.knobs.network_ms + 1) as u64);
        let Some(connection) = self.connections.get_mut(&socket) else { return };
        let last = if is_at_node { &mut connection.last_at_node } else { &mut connection.last_at_client };
        *last = (*last).max(self.now + delay);
        let at = *last;
        self.schedule_at(at, happening);
    }

    pub(super) fn open_at_node(&mut self, socket: SocketId) -> Result<(), Violation> {
        let Some(connection) = self.connections.get_mut(&socket) else { return Ok(()) };
        let node = connection.node;
        if self.nodes[node].running.is_none() {
            self.close_from_node(socket);
            return Ok(());
        }
        connection.is_open_at_node = true;
        let identity = Arc::clone(&connection.identity);
        self.step_core(node, Event::SocketOpened(socket, identity))
    }

    pub(in crate::simulation::cluster) fn send_from_client(&mut self, client: usize) {
        let Some(socket) = self.clients[client].socket else { return };
        while let Some(frame) = self.clients[client].next_frame(self.now) {
            self.send_to_node(socket, frame);
        }
    }

    pub(super) fn send_to_node(&mut self, socket: SocketId, frame: Vec<u8>) {
        if let Some(connection) = self.connections.get_mut(&socket) {
            connection.to_node.push_back(frame);
            self.arrive(socket, true, Happening::FrameToNode(socket));
        }
    }

    pub(super) fn send_to_client(&mut self, socket: SocketId, frame: Vec<u8>) {
        if let Some(connection) = self.connections.get_mut(&socket) {
            connection.to_client.push_back(frame);
            self.arrive(socket, false, Happening::FrameToClient(socket));
        }
    }

    pub(super) fn deliver_to_client(&mut self, socket: SocketId) -> Result<(), Violation> {
        let Some(connection) = self.connections.get_mut(&socket) else { return Ok(()) };
        let (client, node, is_open) = (connection.client, connection.node, connection.is_open_at_node);
        let Some(frame) = connection.to_client.pop_front() else { return Ok(()) };
        if is_open {
            self.step_core(node, Event::SocketDrained(socket, frame.len()))?;
        }
        if self.clients[client].socket != Some(socket) {
            return Ok(());
        }
        let received = self.clients[client].receive(&frame, self.now);
        let (echo, changed) = received.map_err(|reason| Violation::new("form", reason))?;
        let changed: BTreeSet<DocumentId> = changed;
        for document in changed {
            let heads = self.clients[client].client.document(&document).expect("it has all").get_heads();
            self.promise.check_created(&document, &heads)?;
        }
        if let Some(frame) = echo {
            self.probes.count("relayed");
            self.send_to_node(socket, frame);
        }
        self.send_from_client(client);
        Ok(())
    }

    pub(super) fn close_from_node(&mut self, socket: SocketId) {
        if let Some(connection) = self.connections.get_mut(&socket) {
            connection.is_open_at_node = false;
            connection.to_node.clear();
            self.arrive(socket, false, Happening::ClosesAtClient(socket));
        }
    }

    pub(in crate::simulation::cluster) fn close_at_client(&mut self, socket: SocketId) {
        let Some(connection) = self.connections.get(&socket) else { return };
        let client = connection.client;
        self.arrive(socket, true, Happening::ClosesAtNode(socket));
        if self.clients[client].socket == Some(socket) {
            self.clients[client].client.disconnect();
            self.clients[client].socket = None;
            let delay = self.rng.below(RECONNECT_MS);
            self.schedule(delay, Happening::Connects(client));
        }
    }

    /// The network ends the connection of a client, with all that is in flight.
    pub(super) fn cut(&mut self, client: usize) {
        let Some(socket) = self.clients[client].socket else { return };
        self.probes.count("cuts");
        if let Some(connection) = self.connections.get_mut(&socket) {
            connection.to_node.clear();
            connection.to_client.clear();
        }
        self.close_at_client(socket);
    }
}
