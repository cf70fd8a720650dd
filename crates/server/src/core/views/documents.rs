//! Views of documents.

use std::ops::Bound;
use std::time::Duration;

use hashmill_repo::DocumentId;

use crate::access::Access;
use crate::core::Core;
use crate::core::commits::Hold;
use crate::core::entry::{Entry, Ownership, Residence};
use crate::ids::SocketId;
use crate::storage::ChunkKey;

/// A document in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DocumentView {
    /// The document.
    pub document: DocumentId,
    /// Its contents are in memory. Otherwise they are being read.
    pub is_loaded: bool,
    /// It is deleted: it is in memory without its contents.
    pub is_deleted: bool,
    /// Number of clients that take part.
    pub clients: usize,
    /// Estimated memory.
    pub memory_bytes: usize,
    /// Bytes of its readable chunks in the storage.
    pub stored_bytes: usize,
    /// Number of its readable chunks in the storage.
    pub chunks: usize,
    /// Number of its heads.
    pub heads: usize,
    /// Number of its changes.
    pub changes: u64,
    /// The identity whose quota it counts for.
    pub owner: Option<String>,
    /// It has changes that are not stored yet.
    pub has_unstored: bool,
    /// Time since the last message about it, or since it was read.
    pub inactive: Duration,
}

/// A document in quarantine.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct QuarantineView {
    /// The document.
    pub document: DocumentId,
    /// The reason.
    pub reason: String,
    /// Time until it takes changes again.
    pub left: Duration,
}

/// A client that takes part in a document.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ParticipantView {
    /// Its socket.
    pub socket: SocketId,
    /// The name of its identity.
    pub identity: String,
    /// The id of the client.
    pub peer: Option<String>,
    /// Its access now.
    pub access: Access,
    /// Number of messages to the other clients of the document, such as presence.
    pub presence_messages: u64,
    /// Time since the last of these.
    pub presence_inactive: Option<Duration>,
}

impl Core {
    /// Up to `max` documents in memory after another one, in the order of the bytes of their ids.
    pub fn document_views(&self, after: Option<&DocumentId>, max: usize) -> Vec<DocumentView> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let entries = self.documents.range::<DocumentId, _>((start, Bound::Unbounded)).take(max);
        entries.map(|(document, entry)| self.view(document, entry)).collect()
    }

    /// A document, if it is in memory.
    pub fn document_view(&self, document: &DocumentId) -> Option<DocumentView> {
        self.documents.get(document).map(|entry| self.view(document, entry))
    }

    fn view(&self, document: &DocumentId, entry: &Entry) -> DocumentView {
        DocumentView {
            document: document.clone(),
            is_loaded: !matches!(entry.residence, Residence::Loading),
            is_deleted: self.is_closed(document),
            clients: entry.sockets.len(),
            memory_bytes: entry.memory_bytes,
            stored_bytes: entry.ledger.bytes(),
            chunks: entry.ledger.len(),
            heads: entry.heads,
            changes: entry.changes,
            owner: match &entry.ownership {
                Ownership::Owned(name) => Some(name.clone()),
                Ownership::New | Ownership::Unowned => None,
            },
            has_unstored: self.commit.hold_of(document) != Hold::Nothing,
            inactive: self.now.saturating_sub(entry.active_at),
        }
    }

    /// Up to `max` readable chunks of a document in memory, with their lengths.
    pub fn chunk_views(&self, document: &DocumentId, max: usize) -> Vec<(ChunkKey, usize)> {
        let entry = self.documents.get(document);
        entry.map_or_else(Vec::new, |entry| entry.ledger.iter().take(max).collect())
    }

    /// Up to `max` clients of a document.
    pub fn participant_views(&self, document: &DocumentId, max: usize) -> Vec<ParticipantView> {
        let Some(entry) = self.documents.get(document) else { return Vec::new() };
        let view = |id: &SocketId| {
            let socket = self.sockets.get(*id)?;
            let presence = entry.presence.get(id);
            Some(ParticipantView {
                socket: *id,
                identity: socket.identity.name.clone(),
                peer: socket.peer.clone(),
                access: socket.access_to(document),
                presence_messages: presence.map_or(0, |presence| presence.messages),
                presence_inactive: presence.map(|presence| self.now.saturating_sub(presence.last_at)),
            })
        };
        entry.sockets.iter().filter_map(view).take(max).collect()
    }

    /// Up to `max` documents in quarantine after another one, in the order of the bytes of their ids. They may have left memory.
    pub fn quarantine_views(&self, after: Option<&DocumentId>, max: usize) -> Vec<QuarantineView> {
        let view = |(document, reason, end): (&DocumentId, &str, Duration)| QuarantineView {
            document: document.clone(),
            reason: reason.to_owned(),
            left: end.saturating_sub(self.now),
        };
        self.quarantines.after(after).take(max).map(view).collect()
    }

    /// The quarantine of a document.
    pub fn quarantine_view(&self, document: &DocumentId) -> Option<QuarantineView> {
        let (reason, end) = self.quarantines.get(document)?;
        Some(QuarantineView {
            document: document.clone(),
            reason: reason.to_owned(),
            left: end.saturating_sub(self.now),
        })
    }
}
