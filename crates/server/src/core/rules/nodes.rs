//! Changes of the storage by other nodes, and messages between users of several nodes.

use std::collections::BTreeMap;

use hashmill_repo::{DocumentId, Message};

use crate::core::Core;
use crate::core::entry::Residence;
use crate::storage::{StoredChunk, StoredDocument};

impl Core {
    /// Takes over chunks that other nodes stored. Documents that are not in memory read them when they are loaded.
    pub(in crate::core) fn merge_chunks(&mut self, chunks: Vec<StoredChunk>) {
        let mut by_document: BTreeMap<DocumentId, Vec<StoredChunk>> = BTreeMap::new();
        for chunk in chunks {
            by_document.entry(chunk.key.document.clone()).or_default().push(chunk);
        }
        for (document, mut chunks) in by_document {
            let Some(entry) = self.documents.get_mut(&document) else { continue };
            chunks.retain(|chunk| !entry.ledger.has(&chunk.key));
            if chunks.is_empty() {
                continue;
            }
            entry.push_merge(chunks);
            self.schedule(&document);
        }
    }

    /// Loads a document again, if it is in memory.
    pub(in crate::core) fn load_outdated(&mut self, document: &DocumentId) {
        if self.documents.contains_key(document) {
            // A load under way may have begun too early.
            self.cancel_loads(document);
            self.load(document.clone());
        }
    }

    /// Loads all documents again that are in memory.
    pub(in crate::core) fn load_all_outdated(&mut self) {
        let all: Vec<DocumentId> = self.documents.keys().cloned().collect();
        all.iter().for_each(|document| self.load_outdated(document));
    }

    /// Takes over what is stored of a document that is in memory already.
    pub(in crate::core) fn read_again(&mut self, document: &DocumentId, stored: StoredDocument) {
        let Some(entry) = self.documents.get_mut(document) else { return };
        match (entry.is_deleted, stored.is_deleted) {
            (true, true) => {}
            (true, false) => {
                self.restore(document, stored);
                if self.config.has_other_nodes {
                    // Chunks that came since the load began were ignored.
                    self.load(document.clone());
                }
            }
            (false, true) => {
                // By another node.
                if !self.is_closed(document) {
                    self.close_document(document);
                }
                self.clear_document(document);
            }
            (false, false) => {
                let mut chunks = stored.chunks;
                chunks.retain(|chunk| !entry.ledger.has(&chunk.key));
                if !chunks.is_empty() {
                    entry.push_merge(chunks);
                    self.schedule(document);
                }
            }
        }
    }

    /// Passes a message between users on that another node accepted.
    pub(in crate::core) fn relay_from_node(&mut self, frame: &[u8]) {
        let Ok(Message::Ephemeral(body)) = Message::decode(frame) else { return };
        let Ok(document) = body.document.parse::<DocumentId>() else { return };
        let is_open = self.documents.get(&document).is_some_and(|entry| {
            // Only of a document that was loaded is it known that it is not deleted.
            !matches!(entry.residence, Residence::Loading)
        });
        if is_open
            && !self.is_closed(&document)
            && self.filter.accept(&body.sender, &body.session, body.count)
        {
            self.relay_to_clients(&document, &body, None);
        }
    }
}
