//! Frames of clients: joins, sync messages, messages between users. Frames for clients, and the bounds of their queues.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use hashmill_repo::message::{Envelope, EphemeralBody, PROTOCOL_VERSION, PeerMetadata, SyncBody};
use hashmill_repo::{DocumentId, Message};

use super::Core;
use super::commits::PendingFrame;
use super::defect::Defect;
use super::entry::{Entry, Presence, Residence};
use super::rules::WaitingMessage;
use crate::access::Access;
use crate::document::{Input, PeerFrame};
use crate::event::{Action, CloseReason};
use crate::ids::SocketId;

impl Core {
    /// Processes a frame. One that cannot be read ends its socket alone; a message that others would ignore is ignored.
    pub(super) fn receive_frame(&mut self, id: SocketId, frame: &[u8]) {
        if self.sockets.get(id).is_none() {
            return;
        }
        // Also while the server ends: what is not processed must be received as slowly.
        self.charge(id, frame.len());
        if self.draining != super::Draining::No {
            return;
        }
        self.counts.received_messages += 1;
        self.counts.received_bytes += frame.len() as u64;
        let Some(socket) = self.sockets.get_mut(id) else { return };
        socket.received_messages += 1;
        socket.received.add(self.now, frame.len());
        let Ok(envelope) = Envelope::decode(frame) else { return self.close(id, CloseReason::Malformed) };
        let is_join = envelope.kind() == "join";
        let is_own = match (&socket.peer, envelope.sender()) {
            (_, Err(_)) => return self.close(id, CloseReason::Malformed),
            (Some(peer), Ok(sender)) => sender.as_deref() == Some(peer),
            (None, Ok(_)) => is_join,
        };
        // Receivers pass messages of other users back: half of all frames, which must cost little.
        if !is_own && !is_join {
            return;
        }
        match envelope.message() {
            Ok(message @ Message::Join { .. }) => self.join(id, &message),
            Ok(Message::Sync(body)) => self.receive_sync(id, body, false),
            Ok(Message::Request(body)) => self.receive_sync(id, body, true),
            Ok(Message::Ephemeral(body)) => self.relay(id, &body),
            Ok(_) => {}
            Err(_) => self.close(id, CloseReason::Malformed),
        }
    }

    fn join(&mut self, id: SocketId, message: &Message<'_>) {
        let Message::Join { sender, .. } = message else { return };
        if !message.supports_version() {
            let error = Message::Error {
                sender: Some(self.config.peer_id.as_str().into()),
                target: Some(sender.clone()),
                message: "unsupported protocol version".into(),
            };
            self.send(id, error.encode());
            return self.close(id, CloseReason::Version);
        }
        if let Some(older) = self.sockets.other_with_peer(id, sender) {
            self.close(older, CloseReason::Replaced);
        }
        // A second join on one socket starts all exchanges again.
        self.leave_documents(id);
        let since = self.next_number();
        self.sockets.join(id, sender, since);
        let answer = Message::Peer {
            sender: self.config.peer_id.as_str().into(),
            target: sender.clone(),
            metadata: PeerMetadata {
                storage_id: Some(self.config.storage_id.as_str().into()),
                is_ephemeral: Some(false),
            },
            version: PROTOCOL_VERSION.into(),
        };
        self.send(id, answer.encode());
        self.announce(id);
    }

    fn receive_sync(&mut self, id: SocketId, body: SyncBody<'_>, is_request: bool) {
        if let Ok(document) = body.document.parse::<DocumentId>() {
            self.take_sync(id, &document, body.data.into_owned(), is_request);
        }
    }

    /// Passes a sync message on to its document, or answers that there is none.
    pub(super) fn take_sync(&mut self, id: SocketId, document: &DocumentId, data: Vec<u8>, is_request: bool) {
        let Some(socket) = self.sockets.get_mut(id) else { return };
        let access = socket.access_to(document);
        let is_new = !socket.documents.contains_key(document) && !socket.denied.contains_key(document);
        let is_full = is_new
            && socket.documents.len() + socket.denied.len() >= self.config.max_documents_per_socket
            || socket.inbox_bytes > self.config.max_inbox_bytes;
        if is_full {
            return self.close(id, CloseReason::TooMuch);
        }
        if socket.needs_question(document) {
            return self.wait_for_rights(id, document, WaitingMessage { data, is_request });
        }
        if access == Access::Denied {
            return self.deny(id, document);
        }
        if self.is_closed(document) {
            return self.ignore_message(id, document, is_request);
        }
        let Some(socket) = self.sockets.get_mut(id) else { return };
        socket.documents.entry(document.clone()).or_insert(0);
        socket.inbox_bytes += data.len();
        let identity = Arc::clone(&socket.identity);
        let now = self.now;
        let entry = self.entry(document);
        entry.active_at = now;
        entry.sockets.insert(id);
        entry.push(Input::Sync { socket: id, access, identity, quota: None, data });
        self.schedule(document);
    }

    /// Passes a message between users on, to all others that take part in the document.
    fn relay(&mut self, id: SocketId, body: &EphemeralBody<'_>) {
        let Ok(document) = body.document.parse::<DocumentId>() else { return };
        let Some(socket) = self.sockets.get(id) else { return };
        let takes_part =
            socket.documents.contains_key(&document) && self.access_now(id, &document) > Some(Access::Denied);
        // Only of a document that was loaded is it known that it is not deleted. Clients send their presence again.
        let is_loaded = |entry: &Entry| !matches!(entry.residence, Residence::Loading);
        if !takes_part || !self.documents.get(&document).is_some_and(is_loaded) {
            return;
        }
        if !self.filter.accept(&body.sender, &body.session, body.count) {
            return;
        }
        let Some(entry) = self.documents.get_mut(&document) else { return };
        entry.active_at = self.now;
        let presence = entry.presence.entry(id).or_insert(Presence { messages: 0, last_at: self.now });
        (presence.messages, presence.last_at) = (presence.messages + 1, self.now);
        if self.config.has_other_nodes {
            let frame = Message::Ephemeral(body.clone()).encode();
            self.actions.push(Action::Relay(document.clone(), frame));
        }
        self.relay_to_clients(&document, body, Some(id));
    }

    /// Passes a message between users on to all clients that take part in the document, but to its author.
    pub(super) fn relay_to_clients(
        &mut self,
        document: &DocumentId,
        body: &EphemeralBody<'_>,
        author: Option<SocketId>,
    ) {
        let Some(entry) = self.documents.get(document) else { return };
        let others: Vec<SocketId> =
            entry.sockets.iter().copied().filter(|other| Some(*other) != author).collect();
        for other in others {
            let Some(socket) = self.sockets.get(other) else { continue };
            // A client that does not read gets the next one instead.
            let is_full = socket.outgoing_bytes() >= self.config.queue_bytes;
            if socket.access_to(document) == Access::Denied || is_full {
                continue;
            }
            let Some(target) = &socket.peer else { continue };
            // The author may have come from the other node.
            if author.is_none() && *target == body.sender {
                continue;
            }
            let copy = EphemeralBody { target: Cow::Borrowed(target.as_str()), ..body.clone() };
            let frame = Message::Ephemeral(copy).encode();
            self.send(other, frame);
        }
    }

    /// Ends the part of a socket in all documents.
    pub(super) fn leave_documents(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.get_mut(id) else { return };
        socket.deferred.clear();
        socket.denied.clear();
        socket.lost.clear();
        socket.unavailable_sent.clear();
        let documents = std::mem::take(&mut socket.documents);
        self.drop_waiting_messages(id);
        for document in documents.into_keys() {
            let Some(entry) = self.documents.get_mut(&document) else { continue };
            entry.sockets.remove(&id);
            entry.presence.remove(&id);
            entry.push(Input::Leave(id));
            self.schedule(&document);
        }
    }

    /// A frame for a client about a document. `None` if the client has gone.
    pub(super) fn encode(&self, id: SocketId, document: &DocumentId, frame: PeerFrame) -> Option<Vec<u8>> {
        let PeerFrame::Sync(data) = frame else { return Some(self.unavailable(id, document)) };
        let target = self.sockets.get(id)?.peer.as_deref()?;
        let body = SyncBody {
            sender: self.config.peer_id.as_str().into(),
            target: target.into(),
            document: document.to_string().into(),
            data: data.into(),
        };
        Some(Message::Sync(body).encode())
    }

    pub(super) fn unavailable(&self, id: SocketId, document: &DocumentId) -> Vec<u8> {
        let target = self.sockets.get(id).and_then(|socket| socket.peer.as_deref()).unwrap_or_default();
        let (sender, document) = (self.config.peer_id.as_str().into(), document.to_string().into());
        Message::DocUnavailable { sender, target: target.into(), document }.encode()
    }

    /// Sends a frame, or closes a socket whose client does not read.
    pub(super) fn send(&mut self, id: SocketId, frame: Vec<u8>) {
        let is_unbounded = self.has(Defect::UnboundedQueue);
        let max = if is_unbounded { usize::MAX } else { self.config.max_queue_bytes };
        let Some(socket) = self.sockets.get_mut(id) else { return };
        if socket.is_closing {
            return;
        }
        if socket.queued_bytes > max {
            // Not at once: documents would be processed again amid the frames of their last output.
            socket.is_closing = true;
            return self.slow_sockets.push(id);
        }
        socket.queued_bytes += frame.len();
        socket.sent.add(self.now, frame.len());
        self.counts.sent_messages += 1;
        self.counts.sent_bytes += frame.len() as u64;
        self.actions.push(Action::Send(id, frame));
    }

    /// Sends a frame whose batch is stored, unless the exchange has started again since.
    pub(super) fn release(&mut self, pending: PendingFrame) {
        let PendingFrame { socket: id, document, stamp, frame } = pending;
        let Some(socket) = self.sockets.get_mut(id) else { return };
        socket.pending_bytes = socket.pending_bytes.saturating_sub(frame.len());
        if socket.expects(&document, stamp) {
            self.send(id, frame);
        }
    }

    pub(super) fn drain_queue(&mut self, id: SocketId, bytes: usize) {
        let Some(socket) = self.sockets.get_mut(id) else { return };
        socket.queued_bytes = socket.queued_bytes.saturating_sub(bytes);
        self.resume(id);
    }

    /// Continues with deferred messages of a socket whose queue has room again.
    pub(super) fn resume(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.get_mut(id) else { return };
        if socket.deferred.is_empty() || socket.outgoing_bytes() >= self.config.queue_bytes {
            return;
        }
        for document in std::mem::take(&mut socket.deferred) {
            if let Some(entry) = self.documents.get_mut(&document) {
                entry.push(Input::Resume);
                self.schedule(&document);
            }
        }
    }

    /// The clients of a document whose queues are full.
    pub(super) fn full_sockets(&self, entry: &Entry) -> BTreeSet<SocketId> {
        if self.has(Defect::UnboundedQueue) {
            return BTreeSet::new();
        }
        let is_full = |id: &&SocketId| {
            let socket = self.sockets.get(**id);
            socket.is_some_and(|socket| socket.outgoing_bytes() >= self.config.queue_bytes)
        };
        entry.sockets.iter().filter(is_full).copied().collect()
    }
}
