//! Changes of the file that the server has not taken.

use hashmill_doc::{ChangeHash, Document};
use hashmill_repo::Conversation;
use std::fmt;

/// Changes of the file that the server lacked in its last message. As text, the predicate of a sentence about the server.
pub(super) struct UnacceptedChanges {
    /// One whose dependencies the server has.
    first: ChangeHash,
    pub(super) count: u64,
    /// Number of the server's last answers that changed nothing.
    answers: u32,
}

impl UnacceptedChanges {
    /// `None` if there are none, or if it is not known, because the server has changes that the file lacks or has sent nothing.
    pub(super) fn find(doc: &Document, conversation: &Conversation) -> Option<UnacceptedChanges> {
        let server_heads = conversation.their_heads()?;
        if !conversation.missing_changes(doc).is_empty() {
            return None;
        }
        // Ascending: each comes after its dependencies.
        let lacked = doc.get_changes_meta(server_heads);
        let first = lacked.first()?.hash;
        Some(UnacceptedChanges {
            first,
            count: lacked.len() as u64,
            answers: conversation.unchanged_answers(),
        })
    }
}

impl fmt::Display for UnacceptedChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "has not taken our change {}", self.first)?;
        let object = match self.count {
            1 => "it",
            count => {
                write!(f, " and {} more", count - 1)?;
                "them"
            }
        };
        match self.answers {
            0 => Ok(()),
            1 => write!(f, "; it answered once without {object}"),
            answers => write!(f, "; it answered {answers} times without {object}"),
        }
    }
}
