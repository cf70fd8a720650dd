//! Invariants of the world, and the time without faults after which they must hold.

use std::time::Duration;

use hashmill_doc::ChangeHash;
use hashmill_doc::sync::Message as SyncMessage;
use hashmill_repo::{DocumentId, Message, SyncStatus};
use hashmill_testkit::Rng;

use super::{Happening, World};
use crate::access::Access;
use crate::core::rules::BURST;
use crate::event::CloseReason;
use crate::identity::Identity;
use crate::ids::SocketId;
use crate::simulation::violation::Violation;

/// Simulated time until everything is at rest after the last fault, and time of rest that follows.
const HEAL_TIME: Duration = Duration::from_secs(30);
/// Maximum number of happenings in each of these times.
const MAX_HEAL_EVENTS: u64 = 20_000;
/// Bytes of frames that are no sync messages.
const SMALL_FRAMES: usize = 4 << 10;
/// Maximum number of frames that are recorded for hostile clients.
const MAX_RECORDED_FRAMES: usize = 50;

impl World {
    /// Ends all faults, and lets the world come to rest. Documents for which `is_deleted` is false are brought back.
    pub(super) fn heal(&mut self, is_deleted: impl FnMut(&mut Rng) -> bool) -> Result<(), Violation> {
        let knobs = &mut self.knobs;
        (knobs.failed_writes, knobs.unknown_writes, knobs.failed_loads, knobs.damaged_loads) = (0, 0, 0, 0);
        (knobs.failed_answers, knobs.answer_ms) = (0, 0);
        self.disk.is_out = false;
        self.happenings.retain(|_, happening| !matches!(happening, Happening::Operation));
        self.start_server();
        for client in 0..self.clients.len() {
            self.read_again(client);
            let identity = Identity::new(&self.clients[client].peer, Access::Write);
            self.set_rights(client, identity)?;
            self.connect(client);
        }
        self.run_for(HEAL_TIME)?;
        if self.knobs.deletions > 0 {
            self.decide_about_all(is_deleted)?;
            self.run_for(HEAL_TIME)?;
        }
        self.frames = 0;
        self.run_for(HEAL_TIME)?;
        match self.frames {
            0 => Ok(()),
            frames => Err(Violation::new("convergence", format!("{frames} frames at rest"))),
        }
    }

    pub(super) fn run_for(&mut self, time: Duration) -> Result<(), Violation> {
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

    /// Checks that all clients and the storage have the same changes.
    pub(super) fn check_converged(&self, when: &str) -> Result<(), Violation> {
        let wrong = |what: String| Err(Violation::new("convergence", format!("{when}: {what}")));
        let usage = self.core.as_ref().expect("it runs").usage();
        if usage.staged_bytes > 0 || usage.is_degraded {
            return wrong(format!("{usage:?}"));
        }
        self.check_answered()?;
        for id in &self.ids {
            if self.operator.is_deleted(id) {
                self.check_deleted(id)?;
                continue;
            }
            let heads = self.clients[0].client.document(id).expect("it has all").get_heads();
            self.promise.check_stored(id, &heads)?;
            if !heads.is_empty() && self.disk.owner(id).is_none() {
                return Err(Violation::new("quota", format!("{id} has no owner")));
            }
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
        }
        Ok(())
    }

    /// Bounds of what the server keeps for clients.
    pub(super) fn check_memory(&self) -> Result<(), Violation> {
        let most = self.knobs.config.max_queue_bytes + self.longest_frame;
        for (socket, connection) in self.connections.iter().filter(|(_, there)| there.is_open_at_server) {
            let queued: usize = connection.to_client.iter().map(Vec::len).sum();
            if queued > most {
                return Err(Violation::new("memory", format!("{socket:?}: {queued} of {most} bytes queued")));
            }
        }
        Ok(())
    }

    /// Checks that a socket was not read faster than its rate allows.
    pub(super) fn check_rate(&mut self, socket: SocketId, bytes: usize) -> Result<(), Violation> {
        let Some(connection) = self.connections.get_mut(&socket) else { return Ok(()) };
        let allowed = BURST + (self.now - connection.opened_at);
        // The last message may exceed it, and is paid for before the next one.
        if connection.spent > allowed {
            return Err(Violation::new("rate", format!("{socket:?}: {:?} of {allowed:?}", connection.spent)));
        }
        connection.spent += self.knobs.config.message_cost(bytes);
        Ok(())
    }

    fn frames_in_flight(&self, socket: SocketId) -> usize {
        let connection = self.connections.get(&socket);
        connection.map_or(0, |connection| connection.to_server.len() + connection.to_client.len())
    }

    /// Records a frame that arrives at the server.
    pub(super) fn note_client_frame(&mut self, socket: SocketId, frame: &[u8]) -> Result<(), Violation> {
        self.frames += 1;
        let connection = &self.connections[&socket];
        if connection.client.is_none() {
            return Ok(());
        }
        if self.recorded_frames.len() == MAX_RECORDED_FRAMES {
            let index = self.streams.samples.below(MAX_RECORDED_FRAMES);
            self.recorded_frames[index] = frame.to_vec();
        } else {
            self.recorded_frames.push(frame.to_vec());
        }
        if let Ok(Message::Sync(body) | Message::Request(body)) = Message::decode(frame) {
            let id: DocumentId = body.document.parse().expect("clients name documents");
            let message = SyncMessage::decode(&body.data).expect("clients send sound messages");
            self.note(|| format!("{socket:?} > {}", describe(&body.document, &message)));
            let in_flight = self.frames_in_flight(socket);
            self.exchanges.note(socket, &id, false, &message, in_flight)?;
        }
        Ok(())
    }

    /// Checks a frame that the server sends.
    pub(super) fn check_server_frame(&mut self, socket: SocketId, frame: &[u8]) -> Result<(), Violation> {
        self.frames += 1;
        self.longest_frame = self.longest_frame.max(frame.len());
        let wrong = |what: &str| Err(Violation::new("form", format!("{socket:?}: {what}")));
        let Some(connection) = self.connections.get(&socket) else { return wrong("no such socket") };
        if !connection.is_open_at_server {
            return wrong("a frame for a closed socket");
        }
        let client = connection.client;
        let queued: usize = connection.to_client.iter().map(Vec::len).sum();
        // Jobs of several documents may each find room.
        let most = self.knobs.config.queue_bytes + (self.ids.len() - 1) * self.longest_frame + SMALL_FRAMES;
        let message = Message::decode(frame).map_err(|error| Violation::new("form", error.to_string()))?;
        let document = match &message {
            Message::Sync(body) | Message::Request(body) => Some(&body.document),
            Message::Ephemeral(body) => Some(&body.document),
            Message::DocUnavailable { document, .. } => Some(document),
            _ => None,
        };
        let document = document.map(|document| document.parse().expect("the server names documents"));
        let is_closed = document.as_ref().is_some_and(|id| self.operator.is_closed(id));
        if is_closed && !matches!(message, Message::DocUnavailable { .. }) {
            return Err(Violation::new("deletion", format!("{socket:?}: {message:?}")));
        }
        let is_denied = document.is_some_and(|id| connection.is_denied(&id, self.now));
        if is_denied && !matches!(message, Message::DocUnavailable { .. }) {
            return Err(Violation::new("rights", format!("{socket:?}: {message:?}")));
        }
        match message {
            Message::Sync(body) => {
                let id: DocumentId = body.document.parse().expect("the server names documents");
                let message = SyncMessage::decode(&body.data).expect("the server sends sound messages");
                self.note(|| format!("{socket:?} < {}", describe(&body.document, &message)));
                let shared = message.have.iter().flat_map(|have| &have.last_sync);
                self.promise.note_confirmed(&id, message.heads.iter().chain(shared).copied())?;
                if client.is_some() {
                    let in_flight = self.frames_in_flight(socket);
                    self.exchanges.note(socket, &id, true, &message, in_flight)?;
                    if queued > most {
                        let detail = format!("{socket:?}: one more frame after {queued} bytes, not {most}");
                        return Err(Violation::new("memory", detail));
                    }
                }
            }
            Message::DocUnavailable { .. } => {
                if is_denied {
                    self.probes.count("denied frames");
                }
            }
            Message::Peer { .. } | Message::Ephemeral(_) | Message::Error { .. } => {}
            other => return wrong(&format!("{other:?}")),
        }
        Ok(())
    }

    /// Checks that a client that keeps to the protocol is closed for a good reason alone.
    pub(super) fn check_close(&self, socket: SocketId, reason: CloseReason) -> Result<(), Violation> {
        let connection = self.connections.get(&socket);
        let is_sound = connection.is_some_and(|connection| connection.client.is_some());
        let is_expected = matches!(
            reason,
            CloseReason::Replaced
                | CloseReason::Slow
                | CloseReason::Draining
                | CloseReason::Unauthorized
                | CloseReason::Operator
        );
        if is_sound && !is_expected {
            return Err(Violation::new("form", format!("{socket:?}: closed, {reason:?}")));
        }
        Ok(())
    }
}

/// A sync message in a line.
fn describe(document: &str, message: &SyncMessage) -> String {
    let short = |hashes: &[ChangeHash]| {
        hashes.iter().map(|hash| hash.to_string()[..4].to_owned()).collect::<Vec<_>>().join(" ")
    };
    let shared: Vec<ChangeHash> = message.have.iter().flat_map(|have| &have.last_sync).copied().collect();
    let bytes: usize = message.changes.iter().map(Vec::len).sum();
    let [heads, need, shared] = [&message.heads[..], &message.need[..], &shared[..]].map(short);
    let flags = message.flags;
    format!("{}: heads {heads}, need {need}, shared {shared}, {bytes} bytes, {flags:?}", &document[..4])
}
