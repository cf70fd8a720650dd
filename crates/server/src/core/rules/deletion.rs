//! Deleted documents: closed for all clients, as if they were absent, until they are brought back.

use std::collections::BTreeSet;

use hashmill_repo::DocumentId;

use crate::access::Access;
use crate::core::Core;
use crate::core::entry::Residence;
use crate::core::ledger::Ledger;
use crate::document::Input;
use crate::ids::SocketId;
use crate::storage::{StoredChunk, StoredDocument};

impl Core {
    /// Is a document deleted, or about to be? Of documents that are not in memory, only the storage knows.
    pub(in crate::core) fn is_closed(&self, document: &DocumentId) -> bool {
        self.commands.has_delete(document)
            || self.documents.get(document).is_some_and(|entry| entry.is_deleted)
    }

    /// The access of a socket to a document now. `None`: the socket has gone.
    pub(in crate::core) fn access_now(&self, id: SocketId, document: &DocumentId) -> Option<Access> {
        let access = self.sockets.get(id)?.access_to(document);
        Some(if self.is_closed(document) { Access::Denied } else { access })
    }

    /// Answers a message about a closed document as if the document were absent. The message is lost. Its client is told so once;
    /// each of its requests is answered.
    pub(in crate::core) fn ignore_message(&mut self, id: SocketId, document: &DocumentId, is_request: bool) {
        let Some(socket) = self.sockets.get_mut(id) else { return };
        if socket.documents.contains_key(document) {
            socket.lost.insert(document.clone());
        } else {
            socket.documents.insert(document.clone(), 0);
        }
        if socket.unavailable_sent.insert(document.clone()) || is_request {
            let frame = self.unavailable(id, document);
            self.send(id, frame);
        }
        self.entry(document).sockets.insert(id);
    }

    /// Ends the part of all clients in a document, and tells them. Messages that were not processed are lost, and frames that were
    /// not sent are not sent any more.
    pub(in crate::core) fn close_document(&mut self, document: &DocumentId) {
        let number = self.next_number();
        let Some(entry) = self.documents.get_mut(document) else { return };
        let (mut lost, mut announced) = (Vec::new(), BTreeSet::new());
        entry.inbox.retain(|input| {
            match input {
                Input::Sync { socket, data, .. } => lost.push((*socket, data.len())),
                Input::Announce { socket, .. } => drop(announced.insert(*socket)),
                _ => return true,
            }
            false
        });
        entry.inbox_bytes -= lost.iter().map(|(_, len)| len).sum::<usize>();
        let sockets: Vec<SocketId> = entry.sockets.iter().copied().collect();
        for id in &sockets {
            entry.push(Input::Access { socket: *id, access: Access::Denied, has_lost_messages: false });
        }
        for (id, len) in lost {
            // It has asked since it was announced.
            announced.remove(&id);
            if let Some(socket) = self.sockets.get_mut(id) {
                socket.inbox_bytes = socket.inbox_bytes.saturating_sub(len);
                socket.lost.insert(document.clone());
            }
        }
        for id in sockets {
            let Some(socket) = self.sockets.get_mut(id) else { continue };
            socket.documents.insert(document.clone(), number);
            // A client without rights was told before. One that has not asked is told nothing.
            let is_news = socket.access_to(document) != Access::Denied && !announced.contains(&id);
            if is_news && socket.unavailable_sent.insert(document.clone()) {
                let frame = self.unavailable(id, document);
                self.send(id, frame);
            }
        }
        self.schedule(document);
    }

    /// Lets clients take part again, each with its rights of now.
    pub(in crate::core) fn reopen_document(&mut self, document: &DocumentId) {
        let number = self.next_number();
        let Some(entry) = self.documents.get_mut(document) else { return };
        for id in entry.sockets.clone() {
            let Some(socket) = self.sockets.get_mut(id) else { continue };
            let access = socket.access_to(document);
            socket.documents.insert(document.clone(), number);
            socket.unavailable_sent.remove(document);
            let has_lost_messages = access != Access::Denied && socket.lost.remove(document);
            entry.push(Input::Access { socket: id, access, has_lost_messages });
        }
        self.schedule(document);
        self.sockets.ids().into_iter().for_each(|id| self.announce(id));
    }

    /// Removes the contents of a document from memory whose tombstone is stored.
    pub(in crate::core) fn clear_document(&mut self, document: &DocumentId) {
        let Some(entry) = self.documents.get_mut(document) else { return };
        entry.is_deleted = true;
        entry.ledger = Ledger::default();
        entry.push(Input::Delete);
        if !matches!(entry.residence, Residence::Loading) {
            // They began before the deletion, to bring the document back.
            self.cancel_loads(document);
        }
        self.schedule(document);
    }

    /// Loads a document whose tombstone is gone, if clients have asked for it.
    pub(in crate::core) fn load_again(&mut self, document: &DocumentId) {
        let entry = self.documents.get(document);
        // A load under way may have read the tombstone.
        if entry.is_some_and(|entry| entry.is_deleted || matches!(entry.residence, Residence::Loading)) {
            self.cancel_loads(document);
            self.load(document.clone());
        }
    }

    pub(in crate::core) fn cancel_loads(&mut self, document: &DocumentId) {
        self.loads.retain(|_, loaded| loaded != document);
        self.failed_loads.retain(|(_, failed)| failed != document);
    }

    /// Takes what is stored of a document that is being opened. Returns the chunks to open it with.
    pub(in crate::core) fn admit_stored(
        &mut self,
        document: &DocumentId,
        stored: StoredDocument,
    ) -> Vec<StoredChunk> {
        let Some(entry) = self.documents.get_mut(document) else { return Vec::new() };
        if entry.is_deleted {
            // Since the load began.
            return Vec::new();
        }
        if stored.is_deleted {
            entry.is_deleted = true;
            self.close_document(document);
            self.documents.get_mut(document).into_iter().for_each(|entry| entry.push(Input::Delete));
            return Vec::new();
        }
        self.note_owner(document, &stored);
        stored.chunks
    }

    /// Brings a deleted document back that is in memory without its contents.
    pub(in crate::core) fn restore(&mut self, document: &DocumentId, stored: StoredDocument) {
        let Some(entry) = self.documents.get_mut(document) else { return };
        entry.is_deleted = false;
        entry.ledger = Ledger::default();
        self.note_owner(document, &stored);
        let Some(entry) = self.documents.get_mut(document) else { return };
        entry.push(Input::Restore(stored.chunks));
        if self.is_closed(document) {
            return self.schedule(document);
        }
        self.reopen_document(document);
    }
}
