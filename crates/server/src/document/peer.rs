//! A client that takes part in a document.

use hashmill_doc::Document;
use hashmill_repo::{Conversation, ReceivedMessage, SyncError};

use crate::access::Access;

/// The exchange of one document with one client.
#[derive(Debug)]
pub(super) struct Peer {
    conversation: Conversation,
    access: Access,
    /// A message may have to be sent.
    pub(super) is_due: bool,
    /// The client has sent a message about the document, or may have.
    pub(super) has_requested: bool,
    /// Number of consecutive messages that could not be read.
    failures: u32,
}

impl Peer {
    pub(super) fn new(access: Access, refuses_changes: bool) -> Peer {
        let conversation = Conversation::new();
        let mut peer = Peer { conversation, access, is_due: false, has_requested: true, failures: 0 };
        peer.update_read_only(refuses_changes);
        peer
    }

    /// A client that gets the document without asking.
    pub(super) fn announced(access: Access, refuses_changes: bool) -> Peer {
        Peer { is_due: true, has_requested: false, ..Peer::new(access, refuses_changes) }
    }

    fn update_read_only(&mut self, refuses_changes: bool) {
        self.conversation.set_read_only(refuses_changes || self.access != Access::Write);
    }

    /// Starts the exchange from nothing, because the document lost changes, or messages of the client were lost.
    pub(super) fn start_over(&mut self, refuses_changes: bool, has_lost_messages: bool) {
        let has_nothing = self.has_nothing();
        let earlier = std::mem::take(&mut self.conversation);
        // The next message tells the client to forget what it has sent. An older client learns that from a message without heads, which
        // one without changes would not answer.
        if has_lost_messages || !has_nothing {
            self.conversation.restart_after(&earlier);
        }
        self.update_read_only(refuses_changes);
        self.is_due = self.access != Access::Denied;
    }

    /// Changes the rights. A client that has none is not spoken to; messages from that time are lost.
    pub(super) fn set_access(&mut self, access: Access, refuses_changes: bool, has_lost_messages: bool) {
        if self.access == access {
            return;
        }
        self.has_requested = true;
        self.access = access;
        if access == Access::Denied {
            // The last message to the client decides how the exchange starts over.
            self.is_due = false;
        } else {
            self.start_over(refuses_changes, has_lost_messages);
        }
    }

    pub(super) fn is_denied(&self) -> bool {
        self.access == Access::Denied
    }

    /// Did the client name no heads in its last message?
    pub(super) fn has_nothing(&self) -> bool {
        self.conversation.their_heads().is_some_and(<[_]>::is_empty)
    }

    /// May it send changes, and has it named some?
    pub(super) fn is_supplier(&self) -> bool {
        self.access == Access::Write && self.conversation.their_heads().is_some_and(|heads| !heads.is_empty())
    }

    /// Processes a sync message. `Err` has the reason and whether the connection is to be closed.
    pub(super) fn receive(
        &mut self,
        doc: &mut Document,
        data: &[u8],
        max_idle: u32,
    ) -> Result<ReceivedMessage, (SyncError, bool)> {
        self.is_due = true;
        self.has_requested = true;
        match self.conversation.receive(doc, data) {
            Ok(received) => {
                self.failures = 0;
                Ok(received)
            }
            Err(error) => {
                // The client may send the same again, without end.
                self.failures += 1;
                self.conversation.restart();
                let closes = matches!(error, SyncError::NoProgress) || self.failures > max_idle;
                Err((error, closes))
            }
        }
    }

    /// Does the message only confirm what was sent last, which is the whole document?
    pub(super) fn is_acknowledgement(&self, doc: &Document, data: &[u8]) -> bool {
        self.failures == 0 && self.conversation.is_acknowledgement(doc, data)
    }

    /// The next sync message, if there is one.
    pub(super) fn next_message(&mut self, doc: &Document) -> Option<Vec<u8>> {
        self.is_due = false;
        self.conversation.next_message(doc).map(|message| message.data)
    }
}
