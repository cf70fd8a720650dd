//! Failures of connections to servers, with and without TLS.

use super::unaccepted_changes::UnacceptedChanges;
use hashmill_doc::ChangeHash;
use std::io::{self, ErrorKind};
use std::time::Duration;

/// Failure of a connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum SocketError {
    /// A retry may succeed.
    #[error("{0}")]
    ConnectionLost(String),
    /// The server is not suitable, or not for this document.
    #[error("{0}")]
    Unsuitable(String),
}

impl SocketError {
    /// The server is silent.
    pub(super) fn silent(timeout: Duration) -> SocketError {
        SocketError::ConnectionLost(format!("did not answer for {} s (see --timeout)", timeout.as_secs()))
    }

    /// The server is silent and lacks changes of the file.
    pub(super) fn silent_without(timeout: Duration, unaccepted: &UnacceptedChanges) -> SocketError {
        let silent = SocketError::silent(timeout);
        SocketError::ConnectionLost(format!("{silent} and {unaccepted}"))
    }

    /// The server does not offer the document.
    pub(super) fn unavailable() -> SocketError {
        SocketError::Unsuitable("has no such document, or denies access to it".to_owned())
    }

    /// The server no longer offers the document.
    pub(super) fn withdrawn() -> SocketError {
        SocketError::ConnectionLost("no longer has the document, or denies access to it".to_owned())
    }

    /// The server names a change and does not send it.
    pub(super) fn withheld(change: &ChangeHash) -> SocketError {
        SocketError::ConnectionLost(format!("names the change {change}, but does not send it"))
    }

    pub(super) fn closed() -> SocketError {
        SocketError::ConnectionLost("closed the connection".to_owned())
    }
}

/// Whether an operation timed out.
pub(super) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Whether the connection was closed.
pub(super) fn is_closed(error: &io::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    [BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof].contains(&error.kind())
}
