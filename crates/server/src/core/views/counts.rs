//! Counts of what a server has done.

/// Counts since the start of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Messages of clients, and their bytes.
    pub received_messages: u64,
    /// Bytes of messages of clients.
    pub received_bytes: u64,
    /// Messages to clients.
    pub sent_messages: u64,
    /// Bytes of messages to clients.
    pub sent_bytes: u64,
    /// Changes of clients that documents took.
    pub changes: u64,
    /// Changes that were refused.
    pub refused_changes: u64,
    /// Sync messages that could not be read.
    pub refused_messages: u64,
    /// Groups of changes that were stored.
    pub commits: u64,
    /// Attempts to store changes that failed.
    pub failed_commits: u64,
    /// Bytes of changes that were stored.
    pub committed_bytes: u64,
    /// Snapshots that were stored.
    pub snapshots: u64,
    /// Documents that were loaded.
    pub loads: u64,
    /// Documents that left memory.
    pub evictions: u64,
    /// Documents that were put into quarantine.
    pub quarantines: u64,
    /// Documents that were deleted.
    pub deletions: u64,
    /// Times that a client was not read because it sent too fast.
    pub pauses: u64,
    /// Sockets that were closed by the server.
    pub closes: u64,
}
