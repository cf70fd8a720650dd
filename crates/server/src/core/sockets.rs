//! Table of sockets, their peers and their queues.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hashmill_repo::DocumentId;

use crate::access::Access;
use crate::ids::SocketId;

/// An open socket.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) access: Access,
    /// The id of the client, after its join.
    pub(super) peer: Option<String>,
    /// Frames of earlier work are not for the current exchange.
    pub(super) since: u64,
    /// The documents that it takes part in.
    pub(super) documents: BTreeSet<DocumentId>,
    /// The documents that it asked for without access.
    pub(super) denied: BTreeSet<DocumentId>,
    /// The documents that it took part in, with messages that were lost while it had no access.
    pub(super) lost: BTreeSet<DocumentId>,
    /// The documents with messages that wait until the queue has room.
    pub(super) deferred: BTreeSet<DocumentId>,
    /// Bytes of frames that were sent and have not left the queue.
    pub(super) queued_bytes: usize,
    /// Bytes of frames that wait until a batch is stored.
    pub(super) held_bytes: usize,
    /// Bytes of received messages that wait to be processed.
    pub(super) inbox_bytes: usize,
    /// It is closed at the end of this step.
    pub(super) is_closing: bool,
    join_deadline: Duration,
}

impl Socket {
    /// Bytes that the client has not read yet.
    pub(super) fn outgoing_bytes(&self) -> usize {
        self.queued_bytes + self.held_bytes
    }
}

/// All open sockets.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    all: BTreeMap<SocketId, Socket>,
    by_peer: BTreeMap<String, SocketId>,
    /// Sockets without a join, by their deadlines.
    unjoined: BTreeSet<(Duration, SocketId)>,
}

impl Sockets {
    pub(super) fn open(&mut self, id: SocketId, access: Access, join_deadline: Duration) {
        self.unjoined.insert((join_deadline, id));
        let socket = Socket {
            access,
            peer: None,
            since: 0,
            documents: BTreeSet::new(),
            denied: BTreeSet::new(),
            lost: BTreeSet::new(),
            deferred: BTreeSet::new(),
            queued_bytes: 0,
            held_bytes: 0,
            inbox_bytes: 0,
            is_closing: false,
            join_deadline,
        };
        self.all.insert(id, socket);
    }

    pub(super) fn get(&self, id: SocketId) -> Option<&Socket> {
        self.all.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: SocketId) -> Option<&mut Socket> {
        self.all.get_mut(&id)
    }

    pub(super) fn ids(&self) -> Vec<SocketId> {
        self.all.keys().copied().collect()
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The sum of the bytes of all queues and inboxes.
    pub(super) fn bytes(&self) -> usize {
        self.all.values().map(|socket| socket.outgoing_bytes() + socket.inbox_bytes).sum()
    }

    /// The other socket with this peer.
    pub(super) fn other_with_peer(&self, id: SocketId, peer: &str) -> Option<SocketId> {
        self.by_peer.get(peer).copied().filter(|other| *other != id)
    }

    /// Records a join. Frames of work before `since` are not for it.
    pub(super) fn join(&mut self, id: SocketId, peer: &str, since: u64) {
        let Some(socket) = self.all.get_mut(&id) else { return };
        self.unjoined.remove(&(socket.join_deadline, id));
        if let Some(before) = socket.peer.replace(peer.to_owned()) {
            self.by_peer.remove(&before);
        }
        socket.since = since;
        self.by_peer.insert(peer.to_owned(), id);
    }

    pub(super) fn remove(&mut self, id: SocketId) -> Option<Socket> {
        let socket = self.all.remove(&id)?;
        self.unjoined.remove(&(socket.join_deadline, id));
        if let Some(peer) = &socket.peer
            && self.by_peer.get(peer) == Some(&id)
        {
            self.by_peer.remove(peer);
        }
        Some(socket)
    }

    /// When the next socket without a join is to be closed.
    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.unjoined.first().map(|(deadline, _)| *deadline)
    }

    /// A socket whose join is overdue.
    pub(super) fn overdue(&self, now: Duration) -> Option<SocketId> {
        self.unjoined.first().filter(|(deadline, _)| *deadline <= now).map(|(_, id)| *id)
    }
}
