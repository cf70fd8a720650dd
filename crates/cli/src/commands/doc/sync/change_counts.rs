//! Counts of the changes that each side of a sync lacked.

use hashmill_doc::{ChangeHash, Document};

/// Counts since the last report.
pub(super) struct ChangeCounts {
    /// Heads of the changes in the file.
    local_heads: Vec<ChangeHash>,
    /// Heads of the server, in its first message or at the last report.
    server_heads: Option<Vec<ChangeHash>>,
    received: u64,
}

impl ChangeCounts {
    pub(super) fn new(local_heads: Vec<ChangeHash>) -> ChangeCounts {
        ChangeCounts { local_heads, server_heads: None, received: 0 }
    }

    /// Sets the heads of the changes in the file.
    pub(super) fn set_local_heads(&mut self, heads: Vec<ChangeHash>) {
        self.local_heads = heads;
    }

    /// Records the server's heads. Those of its first message count.
    pub(super) fn note_server_heads(&mut self, heads: &[ChangeHash]) {
        self.server_heads.get_or_insert_with(|| heads.to_vec());
    }

    /// Counts received changes.
    pub(super) fn add_received(&mut self, changes: u64) {
        self.received += changes;
    }

    /// The numbers of changes received and sent since the last call. `server_heads` are those of a server that lacks changes;
    /// any other has all of them.
    pub(super) fn take(&mut self, doc: &Document, server_heads: Option<Vec<ChangeHash>>) -> (u64, u64) {
        let since = |heads: &[ChangeHash]| doc.get_changes_meta(heads).len() as u64;
        let mut had = self.server_heads.take().unwrap_or_default();
        let lacked = since(&had);
        had.extend(&self.local_heads);
        let unaccepted = server_heads.as_deref().map_or(0, since);
        let sent = (lacked - since(&had)).saturating_sub(unaccepted);
        self.server_heads = Some(server_heads.unwrap_or_else(|| doc.get_heads()));
        (std::mem::take(&mut self.received), sent)
    }
}
