//! Configuration of the core: names, limits, times.

use std::time::Duration;

use hashmill_doc::Limits;

/// Configuration of a core.
#[derive(Clone, Debug)]
pub struct Config {
    /// The id of this server among peers.
    pub peer_id: String,
    /// The id of the storage. It is the same for all servers of one storage, and after restarts.
    pub storage_id: String,
    /// Limits of each document.
    pub document_limits: Limits,
    /// From this number of bytes in a socket's queue on, no sync message is made for it. One message may exceed it.
    pub queue_bytes: usize,
    /// With more bytes in its queue, a socket is closed: its client asks and does not read.
    pub max_queue_bytes: usize,
    /// Maximum size of received messages of one socket that wait to be processed. One message may exceed it.
    pub max_inbox_bytes: usize,
    /// Under load, messages are collected for this time and processed together, so that one append and one frame for each client carry
    /// several changes. After a pause nothing is collected.
    pub commit_window: Duration,
    /// From this size of changes that are not stored on, documents wait for the storage.
    pub staged_bytes: usize,
    /// Budget for documents in memory. Documents without clients leave at once while it is exceeded.
    pub memory_bytes: usize,
    /// Maximum number of documents of one socket.
    pub max_documents_per_socket: usize,
    /// A document without clients leaves memory after this time.
    pub idle_after: Duration,
    /// A socket without a join is closed after this time.
    pub join_timeout: Duration,
    /// If the storage fails for this time, changes are refused.
    pub degrade_after: Duration,
    /// Larger documents and inputs are processed outside of the core.
    pub inline_bytes: usize,
    /// A document with this number of stored chunks is compacted.
    pub max_chunks: usize,
    /// Maximum number of sockets with the same name of an identity.
    pub max_sockets_per_identity: usize,
    /// Messages of a socket in a second. Faster ones are read later.
    pub messages_per_second: Option<u64>,
    /// Bytes of messages of a socket in a second. Faster ones are read later.
    pub bytes_per_second: Option<u64>,
    /// Maximum size of a document in the storage. Changes beyond it are refused.
    pub max_document_bytes: usize,
    /// Maximum size of all documents of one identity in the storage. Changes beyond it are refused.
    pub max_stored_bytes_per_identity: Option<u64>,
    /// Without an answer about the rights of a client in this time, it has none.
    pub rights_timeout: Duration,
    /// Rights are asked for again this time after a failure.
    pub rights_retry: Duration,
    /// A client that asks for an absent document waits for this time while another client is sending it.
    pub supply_timeout: Duration,
    /// A document whose changes are refused takes no changes for this time.
    pub quarantine_time: Duration,
    /// Other servers use the same storage.
    pub has_other_nodes: bool,
    /// A client is disconnected after this number of consecutive messages without progress or with errors.
    pub max_idle_messages: u32,
}

impl Config {
    /// The defaults, with these ids.
    pub fn new(peer_id: &str, storage_id: &str) -> Config {
        Config {
            peer_id: peer_id.to_owned(),
            storage_id: storage_id.to_owned(),
            document_limits: Limits::default(),
            queue_bytes: 1 << 20,
            max_queue_bytes: 16 << 20,
            max_inbox_bytes: 16 << 20,
            commit_window: Duration::from_millis(10),
            staged_bytes: 64 << 20,
            memory_bytes: 1 << 30,
            max_documents_per_socket: 100_000,
            idle_after: Duration::from_secs(60),
            join_timeout: Duration::from_secs(30),
            degrade_after: Duration::from_secs(2),
            inline_bytes: 64 << 10,
            max_chunks: 64,
            max_sockets_per_identity: usize::MAX,
            messages_per_second: None,
            bytes_per_second: None,
            max_document_bytes: usize::MAX,
            max_stored_bytes_per_identity: None,
            rights_timeout: Duration::from_secs(30),
            rights_retry: Duration::from_secs(10),
            supply_timeout: Duration::from_secs(10),
            quarantine_time: Duration::from_secs(300),
            has_other_nodes: false,
            max_idle_messages: 32,
        }
    }
}
