//! Violations of the protocol by a server.

use crate::conversation::SyncError;
use crate::message::DecodeError;

/// A violation of the protocol, or an error that the server reports. The client has ended the connection. Each text is the
/// predicate of a sentence whose subject is the server.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// A frame outside a connection: before [`Client::connect`](crate::Client::connect), or after the end. The caller is at
    /// fault.
    #[error("is not connected")]
    NotConnected,
    /// A frame is not a message.
    #[error("sends data that is not a message of automerge-repo")]
    Decode(#[from] DecodeError),
    /// The server selected another version of the protocol.
    #[error("speaks version {0:?} of automerge-repo's protocol; this program speaks version 1")]
    Version(String),
    /// The server reports an error.
    #[error("reports an error: {0:?}")]
    Reported(String),
    /// A message before the greeting.
    #[error("sends messages before its greeting")]
    Early,
    /// A second greeting on one connection.
    #[error("sends a second greeting")]
    SecondGreeting,
    /// A message with the id of another peer.
    #[error("sends a message with a wrong sender or receiver")]
    WrongEndpoint,
    /// A sync message that cannot be processed.
    #[error(transparent)]
    Sync(#[from] SyncError),
}
