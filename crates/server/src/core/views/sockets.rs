//! Views of sockets.

use std::time::Duration;

use crate::core::Core;
use crate::core::sockets::Socket;
use crate::ids::SocketId;

/// An open socket.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SocketView {
    /// The socket.
    pub socket: SocketId,
    /// The name of its identity.
    pub identity: String,
    /// The id of the client, after its join.
    pub peer: Option<String>,
    /// Time since it was opened.
    pub age: Duration,
    /// Number of documents that it takes part in.
    pub documents: usize,
    /// Messages of the client.
    pub received_messages: u64,
    /// Bytes of messages of the client.
    pub received_bytes: u64,
    /// Bytes of messages to the client.
    pub sent_bytes: u64,
    /// Bytes of messages of the client in a second, over the last seconds.
    pub received_bytes_per_second: u64,
    /// Bytes of messages to the client in a second, over the last seconds.
    pub sent_bytes_per_second: u64,
    /// Bytes of messages that the client has not read.
    pub queue_bytes: usize,
    /// Bytes of messages of the client that wait to be processed.
    pub inbox_bytes: usize,
    /// It is not read, because it sends too fast.
    pub is_paused: bool,
}

impl Core {
    /// Up to `max` sockets after another one, in the order of their numbers.
    pub fn socket_views(&self, after: Option<SocketId>, max: usize) -> Vec<SocketView> {
        let sockets = self.sockets.after(after).take(max);
        let view = |(id, socket): (SocketId, &Socket)| SocketView {
            socket: id,
            identity: socket.identity.name.clone(),
            peer: socket.peer.clone(),
            age: self.now.saturating_sub(socket.opened_at),
            documents: socket.documents.len(),
            received_messages: socket.received_messages,
            received_bytes: socket.received.total(),
            sent_bytes: socket.sent.total(),
            received_bytes_per_second: socket.received.per_second(self.now),
            sent_bytes_per_second: socket.sent.per_second(self.now),
            queue_bytes: socket.outgoing_bytes(),
            inbox_bytes: socket.inbox_bytes,
            is_paused: socket.is_paused(),
        };
        sockets.map(view).collect()
    }
}
