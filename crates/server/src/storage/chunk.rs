//! Chunks of stored documents, under the keys of automerge-repo's storage.

use std::fmt;

use hashmill_doc::ChangeHash;
use hashmill_repo::DocumentId;
use sha2::{Digest as _, Sha256};

/// Kind of a chunk. Snapshots are read first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ChunkKind {
    /// A whole document.
    Snapshot,
    /// Some changes.
    Incremental,
}

impl ChunkKind {
    /// The second part of the key, as automerge-repo writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Incremental => "incremental",
        }
    }

    /// The kind with this name. Other programs store other kinds in the same place.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Snapshot, Self::Incremental].into_iter().find(|kind| kind.as_str() == name)
    }
}

/// Key of a stored chunk. Equal contents have equal keys, so that a repeated write changes nothing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ChunkKey {
    /// The document.
    pub document: DocumentId,
    /// The kind.
    pub kind: ChunkKind,
    /// The third part: hexadecimal digits in our chunks, any text in those of others.
    pub name: String,
}

impl ChunkKey {
    /// The key of a snapshot, from the heads in the order of [`hashmill_doc::Document::get_heads`].
    pub fn of_snapshot(document: &DocumentId, heads: &[ChangeHash]) -> ChunkKey {
        let mut hash = Sha256::new();
        heads.iter().for_each(|head| hash.update(head.to_string()));
        ChunkKey { document: document.clone(), kind: ChunkKind::Snapshot, name: hex(&hash.finalize()) }
    }

    /// The key of changes.
    pub fn of_changes(document: &DocumentId, bytes: &[u8]) -> ChunkKey {
        ChunkKey { document: document.clone(), kind: ChunkKind::Incremental, name: name_of_bytes(bytes) }
    }
}

impl fmt::Display for ChunkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.document, self.kind.as_str(), self.name)
    }
}

/// A chunk and its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredChunk {
    /// The key.
    pub key: ChunkKey,
    /// The contents.
    pub bytes: Vec<u8>,
}

/// The identity that owns a document: it made the first change. The document's bytes count for its quota.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// The name of the identity.
    pub name: String,
    /// Bytes of all documents of the identity.
    pub stored_bytes: u64,
}

/// All that is stored of a document.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StoredDocument {
    /// The chunks. Those of a deleted document need not be read.
    pub chunks: Vec<StoredChunk>,
    /// The document is deleted: it has a tombstone.
    pub is_deleted: bool,
    /// The owner. `None`: the document is absent, or was stored before documents had owners, or was imported.
    pub owner: Option<Owner>,
}

/// The name of a chunk by its contents.
pub(crate) fn name_of_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The official server stored a snapshot with this head under this name.
    #[test]
    fn snapshots_are_named_as_by_the_official_server() {
        let id: DocumentId = "4VNSEjuC2AHmKGKEK27f1aBErpCV".parse().expect("an id");
        let head = "ba13cc6d75d1ac6ba594680394420298168965e574b2cbdc07c9e98e3ad9cfa6";
        let key = ChunkKey::of_snapshot(&id, &[head.parse().expect("a hash")]);
        let name = "f54a6410f1ef62c48ac87a6fd442452aec9e8bf979c7c8404b5249d5d3a71896";
        assert_eq!(key.to_string(), format!("4VNSEjuC2AHmKGKEK27f1aBErpCV/snapshot/{name}"));
    }
}
