//! Errors of starting and running a server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::transport::{CertificateError, ClientError};

/// Reason why a server cannot start. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process uses the storage.
    #[error("{0}: another server uses this directory: stop it, or choose another one")]
    InUse(PathBuf),
    /// Another version wrote the storage.
    #[error(
        "{folder}: its format is version {found}, this program reads version {known}: use the program that wrote it"
    )]
    Version {
        /// The directory.
        folder: PathBuf,
        /// The version of the storage.
        found: u64,
        /// The version of this program.
        known: u64,
    },
    /// The servers of this directory share their storage.
    #[error(
        "{0}: servers share the storage of this directory: set `journal` to start one; commands for the storage of a single server need \
         another directory"
    )]
    Shared(PathBuf),
    /// The directory belongs to another program.
    #[error(
        "{0}: files of automerge-repo's server are there: import them into another directory with hashmill serve import"
    )]
    Foreign(PathBuf),
    /// The directory or a file in it cannot be used.
    #[error("{path}: {reason}")]
    Storage {
        /// The directory or file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A setting is for the storage of a single server.
    #[cfg(feature = "cluster")]
    #[error("a storage that servers share has no {0}: turn it off, or start a single server")]
    NotShared(&'static str),
    /// The shared journal cannot be used.
    #[cfg(feature = "cluster")]
    #[error("journal {place}: {reason}")]
    Journal {
        /// Its address.
        place: String,
        /// The reason, and the remedy.
        reason: String,
    },
    /// The place of shared snapshots cannot be used.
    #[cfg(feature = "cluster")]
    #[error("snapshots {place}: {reason}")]
    Snapshots {
        /// The place.
        place: String,
        /// The reason.
        reason: String,
    },
    /// The address cannot be used.
    #[error("{}", listen_error(*address, reason))]
    Listen {
        /// The address.
        address: Option<SocketAddr>,
        /// The reason.
        reason: io::Error,
    },
    /// Threads cannot be started.
    #[error("threads cannot be started: {0}")]
    Threads(io::Error),
    /// The certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// Requests to other servers, such as that of a token issuer, are not possible.
    #[error("requests to other servers are not possible: {0}")]
    Client(#[from] ClientError),
}

/// Reason why a server ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Threads cannot be started.
    #[error("threads cannot be started: {0}")]
    Threads(io::Error),
    /// Changes that were received, and not confirmed, could not be stored in time.
    #[error(
        "changes of clients could not be stored before the end; they were not confirmed, and the clients have them"
    )]
    NotStored,
    /// All changes are stored, and the latest uses of documents are not.
    #[error(
        "the latest uses of documents and the time could not be recorded: unused documents may be deleted somewhat early: {0}"
    )]
    UsesNotRecorded(String),
    /// The files of blobs cannot be used.
    #[error("the blobs in the directory of the storage cannot be used: {0}")]
    Blobs(String),
    /// A thread of the server ended.
    #[error("a part of the server failed; all that was confirmed is stored")]
    Internal,
}

fn listen_error(address: Option<SocketAddr>, reason: &io::Error) -> String {
    let address = address.map(|address| format!("{address}: ")).unwrap_or_default();
    match reason.kind() {
        io::ErrorKind::AddrInUse => {
            format!("{address}the port is in use: stop the other program, or choose another port")
        }
        io::ErrorKind::AddrNotAvailable => {
            format!("{address}this machine does not have the address")
        }
        io::ErrorKind::PermissionDenied => {
            format!("{address}this user may not use the port: choose one above 1023")
        }
        _ => format!("{address}{reason}"),
    }
}
