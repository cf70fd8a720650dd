//! Messages of automerge-repo: each is one CBOR map in one binary frame.

mod cbor;
mod decode;
mod encode;
mod error;

use std::borrow::Cow;

use hashmill_doc::ChangeHash;

pub use decode::Envelope;
pub use error::DecodeError;

pub(crate) use cbor::{Fields, MAX_DEPTH, byte_string, decode_float, has_more, text};
pub(crate) use error::shorten;

/// The version of the protocol; only one exists.
pub const PROTOCOL_VERSION: &str = "1";

/// Maximum number of bytes of a frame. A first sync sends a whole document in one message.
pub const MAX_FRAME_BYTES: usize = 256 << 20;

/// A message from one peer to another. Every field has the form of the wire; [`Message::decode`] borrows from the frame.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message<'b> {
    /// The first message of a client on each connection.
    Join {
        /// The client.
        sender: Cow<'b, str>,
        /// Facts about the client.
        metadata: PeerMetadata<'b>,
        /// Versions of the protocol that the client speaks. Some clients leave the field out and speak version 1.
        versions: Option<Vec<Cow<'b, str>>>,
    },
    /// The answer of a server to a join.
    Peer {
        /// The server.
        sender: Cow<'b, str>,
        /// The client.
        target: Cow<'b, str>,
        /// Facts about the server.
        metadata: PeerMetadata<'b>,
        /// The version of the protocol that the server selected.
        version: Cow<'b, str>,
    },
    /// The sender will disconnect.
    Leave {
        /// The peer that leaves.
        sender: Cow<'b, str>,
    },
    /// The sender reports an error and will disconnect. Some servers leave out their id and that of the receiver.
    Error {
        /// The peer that reports the error.
        sender: Option<Cow<'b, str>>,
        /// The receiver.
        target: Option<Cow<'b, str>>,
        /// The error.
        message: Cow<'b, str>,
    },
    /// A first sync message about a document that the sender does not have.
    Request(SyncBody<'b>),
    /// A sync message about a document.
    Sync(SyncBody<'b>),
    /// The sender does not have a document, or denies access to it.
    DocUnavailable {
        /// The peer without the document.
        sender: Cow<'b, str>,
        /// The receiver.
        target: Cow<'b, str>,
        /// The id of the document.
        document: Cow<'b, str>,
    },
    /// A message between users of a document, which is not stored.
    Ephemeral(EphemeralBody<'b>),
    /// The sender wishes to hear of the heads of other storages, or no longer.
    RemoteSubscriptionChange {
        /// The peer with the wish.
        sender: Cow<'b, str>,
        /// The receiver.
        target: Cow<'b, str>,
        /// Ids of storages to hear of.
        add: Vec<Cow<'b, str>>,
        /// Ids of storages of which no more is to be heard.
        remove: Vec<Cow<'b, str>>,
    },
    /// Heads of a document in other storages.
    RemoteHeadsChanged {
        /// The peer that tells the heads.
        sender: Cow<'b, str>,
        /// The receiver.
        target: Cow<'b, str>,
        /// The id of the document.
        document: Cow<'b, str>,
        /// The heads by storage.
        heads: Vec<RemoteHeads<'b>>,
    },
    /// A message of a type that this version does not know. Peers ignore it.
    Unknown {
        /// The type.
        kind: Cow<'b, str>,
    },
}

/// Facts about a peer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerMetadata<'b> {
    /// The id of the peer's storage, if it has one.
    pub storage_id: Option<Cow<'b, str>>,
    /// Does the peer forget what it received? Absent: it does if it has no storage.
    pub is_ephemeral: Option<bool>,
}

/// The fields of a sync message and of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncBody<'b> {
    /// The sender.
    pub sender: Cow<'b, str>,
    /// The receiver.
    pub target: Cow<'b, str>,
    /// The id of the document.
    pub document: Cow<'b, str>,
    /// A message of [`hashmill_doc::sync`].
    pub data: Cow<'b, [u8]>,
}

/// The fields of an ephemeral message. A peer that passes it on replaces `target` only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EphemeralBody<'b> {
    /// The author, as the author claims: servers pass the message on.
    pub sender: Cow<'b, str>,
    /// The receiver.
    pub target: Cow<'b, str>,
    /// The id of the document.
    pub document: Cow<'b, str>,
    /// The author's session, a random text for each start of the program.
    pub session: Cow<'b, str>,
    /// The number of the message in its session, from 1; rises over all documents.
    pub count: u64,
    /// The payload, by convention CBOR.
    pub data: Cow<'b, [u8]>,
}

/// Heads of a document in a storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteHeads<'b> {
    /// The id of the storage.
    pub storage: Cow<'b, str>,
    /// The heads.
    pub heads: Vec<ChangeHash>,
    /// The time of the peer that learnt the heads, in milliseconds since 1970.
    pub timestamp_ms: u64,
}

impl<'b> Message<'b> {
    /// Decodes a frame. Peers add fields: unknown ones are skipped.
    pub fn decode(frame: &'b [u8]) -> Result<Message<'b>, DecodeError> {
        Envelope::decode(frame)?.message()
    }

    /// Can the sender of a join speak with this version? True for other messages.
    pub fn supports_version(&self) -> bool {
        match self {
            Message::Join { versions: Some(versions), .. } => {
                versions.iter().any(|version| version == PROTOCOL_VERSION)
            }
            _ => true,
        }
    }
}
