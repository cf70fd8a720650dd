//! Stored chunks of a document in memory: when to compact, and which chunks a snapshot replaces.

use std::collections::BTreeMap;

use crate::storage::{ChunkKey, ChunkKind};

/// A document of fewer bytes in chunks is not compacted for its size alone.
const MIN_COMPACTED_BYTES: usize = 1 << 10;

/// The chunks whose changes are in memory. Chunks that could not be read, or that others stored since, are not among them.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    chunks: BTreeMap<ChunkKey, usize>,
}

impl Ledger {
    pub(super) fn add(&mut self, key: ChunkKey, len: usize) {
        self.chunks.insert(key, len);
    }

    pub(super) fn remove(&mut self, key: &ChunkKey) {
        self.chunks.remove(key);
    }

    pub(super) fn has(&self, key: &ChunkKey) -> bool {
        self.chunks.contains_key(key)
    }

    /// Has the document no readable chunks?
    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.chunks.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ChunkKey, usize)> {
        self.chunks.iter().map(|(key, len)| (key.clone(), *len))
    }

    /// Bytes of all chunks.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.values().sum()
    }

    /// The chunks that a snapshot of the document in memory covers.
    pub(super) fn keys(&self) -> Vec<ChunkKey> {
        self.chunks.keys().cloned().collect()
    }

    /// Has the document many chunks, or as many bytes in changes as in snapshots? The second is the rule of automerge-repo, for
    /// documents that grow: each byte is then written a bounded number of times.
    pub(super) fn is_due(&self, max_chunks: usize) -> bool {
        let bytes_of = |kind| {
            let those = self.chunks.iter().filter(|(key, _)| key.kind == kind);
            those.map(|(_, len)| len).sum::<usize>()
        };
        let changes = bytes_of(ChunkKind::Incremental);
        let outgrown = changes >= MIN_COMPACTED_BYTES.max(bytes_of(ChunkKind::Snapshot));
        self.chunks.len() >= max_chunks || self.chunks.len() > max_chunks / 4 && outgrown
    }
}

#[cfg(test)]
mod tests {
    use hashmill_repo::DocumentId;

    use super::*;

    #[test]
    fn documents_with_many_chunks_or_long_changes_are_due() {
        let id = DocumentId::from_random_bytes([1; 16]);
        let add = |ledger: &mut Ledger, kind, name: usize, len| {
            ledger.add(ChunkKey { document: id.clone(), kind, name: name.to_string() }, len);
        };
        let mut ledger = Ledger::default();
        add(&mut ledger, ChunkKind::Snapshot, 0, 10_000);
        for name in 1..=7 {
            add(&mut ledger, ChunkKind::Incremental, name, 100);
            assert_eq!(ledger.is_due(8), name == 7, "{name}");
        }
        ledger.remove(&ledger.keys()[1]);
        assert!(!ledger.is_due(8));
        add(&mut ledger, ChunkKind::Incremental, 9, 9_500);
        ledger.remove(&ledger.keys()[1]);
        assert!(ledger.is_due(8), "more bytes in changes than in the snapshot");
    }
}
