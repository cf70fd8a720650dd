//! Reports of a client: what a frame was for, and what happened.

use hashmill_doc::{ApplyError, ChangeHash};

use crate::id::{DocumentId, PeerId, StorageId};
use crate::message::DecodeError;
use crate::presence::{PresenceError, PresenceEvent};

/// Use of a received frame.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Receipt {
    /// The frame advanced the connection or a sync.
    Progress,
    /// The frame concerns a sync and did not advance it.
    Idle,
    /// An ephemeral message, or heads of another storage.
    News,
    /// The frame was ignored.
    Ignored(IgnoreReason),
}

/// Reason why a frame was ignored.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum IgnoreReason {
    /// Its type is unknown, or servers do not send it.
    Type,
    /// It concerns a document that this client does not have.
    Document,
    /// An ephemeral message that this client has sent itself.
    Echo,
    /// An ephemeral message that came before, or after a later one.
    Repeated,
    /// Heads that were not subscribed to, or that are older than the known ones.
    Heads,
    /// Presence that cannot be read or is beyond a limit.
    Presence(PresenceError),
    /// A message that no sync depends on, and that cannot be read.
    Malformed(DecodeError),
}

/// A fact that a client reports.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The server has greeted: messages can be sent.
    Ready {
        /// The server.
        server: PeerId,
        /// The id of the server's storage, if it has one.
        storage: Option<StorageId>,
    },
    /// A document gained changes.
    Changed {
        /// The document.
        document: DocumentId,
        /// Number of changes.
        changes: u64,
    },
    /// A change of the server breaks a rule or a limit.
    Refused {
        /// The document.
        document: DocumentId,
        /// The change.
        change: ChangeHash,
        /// The reason.
        reason: ApplyError,
    },
    /// More changes of the server break a rule or a limit than are named.
    FurtherRefusals {
        /// The document.
        document: DocumentId,
        /// Number of refusals since the last report. A change that is refused again counts again.
        count: u64,
    },
    /// The server does not have a document, or denies access to it. It may still send the document later.
    Unavailable {
        /// The document.
        document: DocumentId,
        /// Has the server told heads of it on this connection?
        was_known: bool,
    },
    /// A message of another user that is not presence, or of a document without presence.
    Ephemeral {
        /// The document.
        document: DocumentId,
        /// The author, as the author claims.
        sender: PeerId,
        /// The payload.
        data: Vec<u8>,
    },
    /// Another user's presence changed.
    Presence {
        /// The document.
        document: DocumentId,
        /// The change.
        event: PresenceEvent,
    },
    /// Heads of a document in a storage that was subscribed to.
    RemoteHeads {
        /// The document.
        document: DocumentId,
        /// The storage.
        storage: StorageId,
        /// The heads.
        heads: Vec<ChangeHash>,
        /// The time of the peer that learnt the heads, in milliseconds since 1970.
        timestamp_ms: u64,
    },
}
