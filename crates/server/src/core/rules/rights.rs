//! Rights of clients: changes on open sockets, documents without access, and announced documents.

use std::sync::Arc;

use hashmill_repo::DocumentId;

use super::questions::WaitingMessage;
use crate::access::Access;
use crate::core::Core;
use crate::core::defect::Defect;
use crate::document::Input;
use crate::event::{Action, CloseReason};
use crate::identity::Identity;
use crate::ids::{RequestId, SocketId};

impl Core {
    /// Applies new rights to all documents that a client has asked for.
    pub(in crate::core) fn change_rights(&mut self, id: SocketId, identity: &Arc<Identity>) {
        if self.has(Defect::RightsAtOpenOnly) {
            return;
        }
        let Some(socket) = self.sockets.get(id) else { return };
        let documents = socket.documents.keys().chain(socket.denied.keys());
        let before: Vec<(DocumentId, Access)> =
            documents.map(|document| (document.clone(), socket.access_to(document))).collect();
        // Answers were about the identity of then.
        let waiting = self.forget_rights(id);
        self.sockets.replace_identity(id, Arc::clone(identity));
        for (document, access) in before {
            if access != identity.access_to(&document) {
                self.change_access(id, &document, identity.access_to(&document));
            }
        }
        self.ask_again(id);
        for (document, WaitingMessage { data, is_request }) in waiting {
            self.take_sync(id, &document, data, is_request);
        }
        self.announce(id);
    }

    pub(super) fn change_access(&mut self, id: SocketId, document: &DocumentId, access: Access) {
        let number = self.next_number();
        let is_closed = self.is_closed(document);
        let Some(socket) = self.sockets.get_mut(id) else { return };
        // Frames that were made before would reveal what is denied now.
        socket.documents.insert(document.clone(), number);
        socket.denied.remove(document);
        let access_now = if is_closed { Access::Denied } else { access };
        let has_lost_messages = access_now != Access::Denied && socket.lost.remove(document);
        // A deleted document is not revealed by the access to it. Messages that were to be answered as denied are answered now.
        let is_answered =
            access == Access::Denied || is_closed && socket.unavailable_sent.insert(document.clone());
        if is_answered {
            let frame = self.unavailable(id, document);
            self.send(id, frame);
        }
        let no_reset = self.has(Defect::NoReset);
        let entry = self.entry(document);
        entry.sockets.insert(id);
        if !no_reset {
            entry.push(Input::Access { socket: id, access: access_now, has_lost_messages });
        }
        self.schedule(document);
    }

    pub(in crate::core) fn end_rights(&mut self, id: SocketId) {
        if self.sockets.get(id).is_some() {
            self.close(id, CloseReason::Unauthorized);
        }
    }

    /// Answers a message about a document without access, as if the document were absent. The message is lost. If the client took
    /// part in the document before, the exchange starts over when access is given; one that was told nothing yet sends no changes.
    pub(in crate::core) fn deny(&mut self, id: SocketId, document: &DocumentId) {
        let Some(socket) = self.sockets.get_mut(id) else { return };
        if socket.documents.contains_key(document) {
            socket.lost.insert(document.clone());
        }
        if let Some(unanswered @ 1..) = socket.denied.get_mut(document) {
            *unanswered += 1;
        } else if socket.denied.contains_key(document) || socket.documents.contains_key(document) {
            let frame = self.unavailable(id, document);
            self.send(id, frame);
        } else {
            // An absent document is looked for in the storage before it is reported. An answer at once would differ from that.
            socket.denied.insert(document.clone(), 1);
            let request = RequestId(self.next_number());
            self.denied_loads.insert(request, (id, document.clone()));
            self.actions.push(Action::Load(request, absent_like(document)));
        }
    }

    /// Answers the messages that waited for a load. A load that failed tells nothing, so they are answered as well.
    pub(in crate::core) fn finish_denied_load(&mut self, request: RequestId) {
        let Some((id, document)) = self.denied_loads.remove(&request) else { return };
        // The client may have joined again or got access since: its messages are then answered elsewhere.
        let socket = self.sockets.get_mut(id);
        let Some(unanswered) = socket.and_then(|socket| socket.denied.get_mut(&document)) else { return };
        for _ in 0..std::mem::take(unanswered) {
            let frame = self.unavailable(id, &document);
            self.send(id, frame);
        }
    }

    /// Lets a client take part in the documents that it gets without asking.
    pub(in crate::core) fn announce(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.get_mut(id).filter(|socket| socket.peer.is_some()) else { return };
        let identity = Arc::clone(&socket.identity);
        for document in identity.announced() {
            let is_closed = self.is_closed(document);
            let Some(socket) = self.sockets.get_mut(id) else { return };
            if is_closed || socket.documents.contains_key(document) {
                continue;
            }
            socket.documents.insert(document.clone(), 0);
            let entry = self.entry(document);
            entry.sockets.insert(id);
            entry.push(Input::Announce { socket: id, access: identity.access_to(document) });
            self.schedule(document);
        }
    }
}

/// An id that no client uses, because it is longer, in place of another. The longest id has none, and is read in vain.
fn absent_like(document: &DocumentId) -> DocumentId {
    let longer = DocumentId::from_bytes(&[document.as_bytes(), &[0]].concat());
    longer.unwrap_or_else(|| document.clone())
}
