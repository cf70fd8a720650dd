//! The operator's interface: requests over HTTP to a running server, its dashboard, and commands to a storage that no server uses.

mod answer;
mod backup_stream;
mod catalogue;
mod events;
mod guard;
mod offline;
mod rates;
mod requests;
mod routes;
mod sweeper;

use std::net::SocketAddr;

use super::auth::TokenDigest;

pub use offline::{DeletedDocument, DocumentSizes, execute, list_deleted, list_documents, show_document};

pub(super) use answer::{ResponseBody, whole_body};
pub(super) use events::Feed;
pub(super) use guard::Ends;
pub(super) use rates::Rates;
pub(super) use requests::{Admin, AdminRequest, Sources, has_path};
pub(super) use sweeper::Sweeper;

/// Settings of the operator's requests.
#[derive(Clone, Default, Debug)]
pub struct AdminSettings {
    /// Digests of the tokens. Without one, there are no such requests.
    pub tokens: Vec<TokenDigest>,
    /// Addresses of a listener for these requests alone: the first that is free to use. Empty: the listener of clients takes them, from
    /// this machine alone.
    pub listen: Vec<SocketAddr>,
    /// Names of the server in the header `Host` of requests, besides its address.
    pub hosts: Vec<String>,
}
