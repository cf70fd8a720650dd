//! Table of sockets, their peers and their queues.

mod rate;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use hashmill_repo::DocumentId;

use super::rules::AnsweredRight;
use crate::access::Access;
use crate::identity::Identity;
use crate::ids::SocketId;

use rate::RateMeter;

/// An open socket.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) identity: Arc<Identity>,
    /// The id of the client, after its join.
    pub(super) peer: Option<String>,
    /// Frames of earlier work are not for the current exchange.
    pub(super) since: u64,
    /// The documents that it takes part in. Frames of work before these numbers are not for it.
    pub(super) documents: BTreeMap<DocumentId, u64>,
    /// The documents that it asked for without access, with the number of its messages that are not answered yet.
    pub(super) denied: BTreeMap<DocumentId, u32>,
    /// The documents that it took part in, with messages that were lost while it had no access.
    pub(super) lost: BTreeSet<DocumentId>,
    /// What another service said about the rights on documents.
    pub(super) rights: BTreeMap<DocumentId, AnsweredRight>,
    /// The deleted documents of which the client got the answer that they are unavailable.
    pub(super) unavailable_sent: BTreeSet<DocumentId>,
    /// The documents with messages that wait until the queue has room.
    pub(super) deferred: BTreeSet<DocumentId>,
    /// Bytes of frames that were sent and have not left the queue.
    pub(super) queued_bytes: usize,
    /// Bytes of frames that wait until a batch is stored.
    pub(super) pending_bytes: usize,
    /// Bytes of received messages that wait to be processed.
    pub(super) inbox_bytes: usize,
    /// It is closed at the end of this step.
    pub(super) is_closing: bool,
    /// The time up to which its rate is used.
    pub(super) paid_at: Duration,
    /// When it is read again, if it is not read.
    resumes_at: Option<Duration>,
    join_deadline: Duration,
    pub(super) opened_at: Duration,
    pub(super) received_messages: u64,
    pub(super) received: RateMeter,
    pub(super) sent: RateMeter,
}

impl Socket {
    /// Bytes that the client has not read yet.
    pub(super) fn outgoing_bytes(&self) -> usize {
        self.queued_bytes + self.pending_bytes
    }

    pub(super) fn is_paused(&self) -> bool {
        self.resumes_at.is_some()
    }

    pub(super) fn access_to(&self, document: &DocumentId) -> Access {
        match self.rights.get(document) {
            Some(right) => right.access.unwrap_or(Access::Denied),
            None => self.identity.access_to(document),
        }
    }

    /// Must the rights on a document be asked for?
    pub(super) fn needs_question(&self, document: &DocumentId) -> bool {
        let is_answered = self.rights.get(document).is_some_and(|right| right.access.is_some());
        self.identity.is_remote && !self.identity.rules.contains_key(document) && !is_answered
    }

    /// Is a frame about a document, made by work of this number, for the current exchange?
    pub(super) fn expects(&self, document: &DocumentId, stamp: u64) -> bool {
        stamp >= self.since && self.documents.get(document).is_some_and(|since| stamp >= *since)
    }
}

/// All open sockets.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    all: BTreeMap<SocketId, Socket>,
    by_peer: BTreeMap<String, SocketId>,
    /// Sockets without a join, by their deadlines.
    unjoined: BTreeSet<(Duration, SocketId)>,
    /// Sockets that are not read, by the times at which they are again.
    paused: BTreeSet<(Duration, SocketId)>,
    /// Number of sockets by the names of their identities.
    by_identity: BTreeMap<String, usize>,
}

impl Sockets {
    pub(super) fn open(
        &mut self,
        id: SocketId,
        identity: Arc<Identity>,
        now: Duration,
        join_timeout: Duration,
    ) {
        let join_deadline = now + join_timeout;
        self.unjoined.insert((join_deadline, id));
        *self.by_identity.entry(identity.name.clone()).or_default() += 1;
        let socket = Socket {
            identity,
            peer: None,
            since: 0,
            documents: BTreeMap::new(),
            denied: BTreeMap::new(),
            lost: BTreeSet::new(),
            rights: BTreeMap::new(),
            unavailable_sent: BTreeSet::new(),
            deferred: BTreeSet::new(),
            queued_bytes: 0,
            pending_bytes: 0,
            inbox_bytes: 0,
            is_closing: false,
            paid_at: Duration::ZERO,
            resumes_at: None,
            join_deadline,
            opened_at: now,
            received_messages: 0,
            received: RateMeter::default(),
            sent: RateMeter::default(),
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

    /// Sockets after another one, in the order of their numbers.
    pub(super) fn after(&self, id: Option<SocketId>) -> impl Iterator<Item = (SocketId, &Socket)> {
        let start = id.map_or(Bound::Unbounded, Bound::Excluded);
        self.all.range((start, Bound::Unbounded)).map(|(id, socket)| (*id, socket))
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
        self.forget_name(&socket.identity.name);
        if let Some(at) = socket.resumes_at {
            self.paused.remove(&(at, id));
        }
        self.unjoined.remove(&(socket.join_deadline, id));
        if let Some(peer) = &socket.peer
            && self.by_peer.get(peer) == Some(&id)
        {
            self.by_peer.remove(peer);
        }
        Some(socket)
    }

    /// Replaces the identity of a socket, and returns the previous one.
    pub(super) fn replace_identity(
        &mut self,
        id: SocketId,
        identity: Arc<Identity>,
    ) -> Option<Arc<Identity>> {
        let socket = self.all.get_mut(&id)?;
        *self.by_identity.entry(identity.name.clone()).or_default() += 1;
        let before = std::mem::replace(&mut socket.identity, identity);
        self.forget_name(&before.name);
        Some(before)
    }

    /// Number of sockets of an identity.
    pub(super) fn count_of(&self, name: &str) -> usize {
        self.by_identity.get(name).copied().unwrap_or(0)
    }

    fn forget_name(&mut self, name: &str) {
        if let Some(count) = self.by_identity.get_mut(name) {
            *count -= 1;
            if *count == 0 {
                self.by_identity.remove(name);
            }
        }
    }

    /// Records that a socket is not read before this time. False if it is not read anyway.
    pub(super) fn pause(&mut self, id: SocketId, until: Duration) -> bool {
        let Some(socket) = self.all.get_mut(&id).filter(|socket| socket.resumes_at.is_none()) else {
            return false;
        };
        socket.resumes_at = Some(until);
        self.paused.insert((until, id))
    }

    /// When the next socket is read again.
    pub(super) fn next_resume(&self) -> Option<Duration> {
        self.paused.first().map(|(at, _)| *at)
    }

    /// Ends the pause of a socket whose time has come.
    pub(super) fn pop_resumed(&mut self, now: Duration) -> Option<SocketId> {
        let (_, id) = self.paused.first().copied().filter(|(at, _)| *at <= now)?;
        self.paused.pop_first();
        self.all.get_mut(&id)?.resumes_at = None;
        Some(id)
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
