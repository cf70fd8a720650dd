//! Invariants of a world with several nodes, and the time without faults after which they must hold.

use std::time::Duration;

use hashmill_doc::sync::Message as SyncMessage;
use hashmill_repo::{DocumentId, Message, SyncStatus};

use super::super::violation::Violation;
use super::world::World;
use crate::access::Access;
use crate::event::CloseReason;
use crate::identity::Identity;
use crate::ids::SocketId;
use crate::storage::{Command, CommandOutcome};

/// Simulated time until everything is at rest after the last fault.
const HEAL_TIME: Duration = Duration::from_secs(60);
const MAX_HEAL_EVENTS: u64 = 60_000;
/// Maximum number of chunks of a document at rest, beyond those that are allowed to one node.
const MAX_LEFT_CHUNKS: usize = 200;

impl World {
    /// Ends all faults, decides which documents are deleted, and lets the world come to rest.
    pub(super) fn heal(&mut self) -> Result<(), Violation> {
        self.end_faults();
        for client in 0..self.clients.len() {
            let identity = Identity::new(&self.clients[client].peer, Access::Write);
            self.set_rights(client, identity);
            self.connect(client);
        }
        self.run_for(HEAL_TIME)?;
        if self.knobs.deletions > 0 {
            self.outcomes.clear();
            for id in self.ids.clone() {
                let command = if self.flips() { Command::Delete { at: 1 } } else { Command::Undelete };
                let node = self.any_node();
                self.command(node, &id, command)?;
            }
            self.run_for(HEAL_TIME)?;
        }
        self.frames = 0;
        self.run_for(HEAL_TIME)?;
        match self.frames {
            0 => Ok(()),
            frames => Err(Violation::new("convergence", format!("{frames} frames at rest"))),
        }
    }

    fn run_for(&mut self, time: Duration) -> Result<(), Violation> {
        let (end, first) = (self.now + time, self.events);
        while self.happenings.first_key_value().is_some_and(|((at, _), _)| *at <= end) {
            self.advance()?;
            if self.events > first + MAX_HEAL_EVENTS {
                return Err(Violation::new("convergence", "no rest"));
            }
        }
        self.now = end;
        Ok(())
    }

    fn is_deleted(&self, id: &DocumentId) -> bool {
        match self.outcomes.get(id).filter(|_| self.knobs.deletions > 0) {
            Some((Command::Delete { .. }, outcome)) => *outcome == CommandOutcome::Done,
            Some((Command::Undelete, outcome)) => *outcome == CommandOutcome::Purged,
            _ => false,
        }
    }

    /// Checks that all clients have the same changes, and that no deleted document is there.
    pub(super) fn check_converged(&mut self, when: &str) -> Result<(), Violation> {
        let wrong = |what: String| Err(Violation::new("convergence", format!("{when}: {what}")));
        for (number, node) in self.nodes.iter().enumerate() {
            let usage = node.running.as_ref().expect("it runs").core.usage();
            if usage.staged_bytes > 0 || usage.is_degraded {
                return wrong(format!("node {number}: {usage:?}"));
            }
        }
        if let Some(waiting) = self.commands.values().next() {
            return wrong(format!("no answer to {waiting:?}"));
        }
        for id in &self.ids {
            if self.is_deleted(id) {
                for (number, client) in self.clients.iter().enumerate() {
                    let conversation = client.client.conversation(id);
                    if !conversation.is_some_and(|conversation| conversation.is_unavailable()) {
                        let what = format!("{when}: {id}: client {number} has a deleted document");
                        return Err(Violation::new("deletion", what));
                    }
                }
                self.probes.count("deleted documents");
                continue;
            }
            let heads = self.clients[0].client.document(id).expect("it has all").get_heads();
            self.promise.check_stored(id, &heads)?;
            for (number, client) in self.clients.iter().enumerate() {
                let doc = client.client.document(id).expect("it has all");
                if doc.get_heads() != heads {
                    return wrong(format!("{id}: client {number} differs"));
                }
                let status = if heads.is_empty() { SyncStatus::InProgress } else { SyncStatus::InSync };
                if client.client.status(id) != Some(status) {
                    return wrong(format!("{id}: client {number} is {:?}", client.client.status(id)));
                }
            }
            let chunks = self.store.chunks_of(id);
            if chunks > MAX_LEFT_CHUNKS {
                return Err(Violation::new("memory", format!("{when}: {id} has {chunks} objects")));
            }
        }
        Ok(())
    }

    /// Checks that nothing is left in memory when all clients have gone.
    pub(super) fn check_emptied(&mut self) -> Result<(), Violation> {
        self.reconnects = false;
        for socket in self.connections.keys().copied().collect::<Vec<_>>() {
            self.close_at_client(socket);
        }
        let config = &self.knobs.config;
        self.run_for(HEAL_TIME + config.idle_after + self.knobs.replica.trim_after)?;
        for (number, node) in self.nodes.iter().enumerate() {
            let running = node.running.as_ref().expect("it runs");
            let (usage, tail) = (running.core.usage(), running.replica.tail_bytes());
            if usage.documents + usage.document_bytes + usage.sockets + tail > 0 {
                let what = format!("node {number} at the end: {usage:?}, {tail} bytes of the journal");
                return Err(Violation::new("memory", what));
            }
        }
        Ok(())
    }

    /// Checks a frame that a node sends.
    pub(super) fn check_server_frame(&mut self, socket: SocketId, frame: &[u8]) -> Result<(), Violation> {
        self.frames += 1;
        let wrong = |what: &str| Err(Violation::new("form", format!("{socket:?}: {what}")));
        let Some(connection) = self.connections.get(&socket) else { return wrong("no such socket") };
        if !connection.is_open_at_node {
            return wrong("a frame for a closed socket");
        }
        let message = Message::decode(frame).map_err(|error| Violation::new("form", error.to_string()))?;
        let document = match &message {
            Message::Sync(body) | Message::Request(body) => Some(&body.document),
            Message::Ephemeral(body) => Some(&body.document),
            _ => None,
        };
        let document: Option<DocumentId> =
            document.map(|document| document.parse().expect("the server names documents"));
        if document.is_some_and(|id| connection.identity.access_to(&id) == Access::Denied) {
            return Err(Violation::new("rights", format!("{socket:?}: {message:?}")));
        }
        if let Message::Sync(body) = message {
            let id: DocumentId = body.document.parse().expect("the server names documents");
            let message = SyncMessage::decode(&body.data).expect("the server sends sound messages");
            let (node, client) = (connection.node, connection.client);
            self.note(|| {
                let short = |heads: &[hashmill_doc::ChangeHash]| {
                    heads.iter().map(|head| format!("{:.4}", head.to_string())).collect::<Vec<_>>().join(" ")
                };
                let (heads, need) = (short(&message.heads), short(&message.need));
                format!("node {node} to client {client}: {id:.4}: heads {heads}, need {need}")
            });
            let shared = message.have.iter().flat_map(|have| &have.last_sync);
            self.promise.note_confirmed(&id, message.heads.iter().chain(shared).copied())?;
        }
        Ok(())
    }

    /// Checks that a client is closed for a good reason alone.
    pub(super) fn check_close(&self, socket: SocketId, reason: CloseReason) -> Result<(), Violation> {
        match reason {
            CloseReason::Replaced | CloseReason::Slow => Ok(()),
            _ => Err(Violation::new("form", format!("{socket:?}: closed, {reason:?}"))),
        }
    }
}
