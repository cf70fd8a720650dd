//! Sync: two peers exchange the changes that each lacks, in few messages over any transport that keeps their order.
//!
//! Each side has a document and, for each peer, a [`State`]. It sends the result of [`SyncDoc::generate_sync_message`]
//! unless that is `None`, passes received messages to [`SyncDoc::receive_sync_message`], and repeats. When neither side
//! generates a message, both documents have the same changes.
//!
//! ```
//! use hashmill_doc::sync::{Message, State, SyncDoc};
//! use hashmill_doc::{Document, ROOT, ReadDoc, Transactable};
//!
//! let (mut here, mut there) = (Document::new(), Document::new());
//! here.transact(|tx| tx.put(ROOT, "title", "notes"))?;
//! let (mut of_there, mut of_here) = (State::new(), State::new());
//! loop {
//!     let call = here.generate_sync_message(&mut of_there).map(|message| message.encode());
//!     if let Some(bytes) = &call {
//!         there.receive_sync_message(&mut of_here, Message::decode(bytes)?)?;
//!     }
//!     let answer = there.generate_sync_message(&mut of_here).map(|message| message.encode());
//!     if let Some(bytes) = &answer {
//!         here.receive_sync_message(&mut of_there, Message::decode(bytes)?)?;
//!     }
//!     if call.is_none() && answer.is_none() {
//!         break;
//!     }
//! }
//! assert_eq!(there.get_heads(), here.get_heads());
//! assert!(here.has_our_changes(&of_there));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A message contains the sender's heads, a summary of its changes since both were last in step, and changes that the
//! receiver is known to lack. The summary is a [`BloomFilter`]: changes that it reports wrongly are requested by hash
//! in the next message. The messages are those of all other implementations, in both versions.
//!
//! A change that breaks a rule or a limit is refused alone ([`Received::refused`]), with its dependents. The other
//! changes of the message are applied, and the refused one is not requested again, so that one bad change neither ends
//! a session nor makes it endless. Missing dependencies of refused changes are requested by hash, because no accepted
//! head leads to them. A change that the peer does not send after repeated requests is given up until the next
//! connection. If a whole document exceeds a limit, its changes are requested individually. Only damaged chunks are an
//! error of the whole message. [`Progress`] distinguishes a session that makes progress from one that does not.

mod incoming;
mod message;
mod missing;
mod outgoing;
mod progress;
mod state;
mod state_parts;

pub use crate::codec::bloom::BloomFilter;
pub use crate::types::small_list::SmallList;
pub use incoming::Received;
pub use message::{Have, Message, MessageFlags, MessageVersion, ReadMessageError};
pub use progress::Progress;
pub use state::{ReadStateError, State};
pub use state_parts::StateParts;

use crate::document::Document;
use crate::types::ChangeHash;
use crate::types::error::LoadError;

/// A document that can be synchronized.
pub trait SyncDoc {
    /// The next message for the peer of `state`. `None` if there is nothing to send, or while an answer is awaited.
    ///
    /// Costs O(changes since both were in step).
    fn generate_sync_message(&self, state: &mut State) -> Option<Message>;

    /// Applies a message from the peer of `state`. If it cannot be read, document and state are unchanged.
    fn receive_sync_message(&mut self, state: &mut State, message: Message) -> Result<Received, LoadError>;

    /// Does the peer have all changes of this document, as far as is known?
    fn has_our_changes(&self, state: &State) -> bool;
}

/// [`Document::get_heads`] as a small list.
#[inline]
fn heads_of(doc: &Document) -> SmallList<ChangeHash> {
    let history = &doc.state.history;
    match (history.sync_summary(), history.heads.rows()) {
        (Some(summary), _) => summary.heads.clone(),
        (None, [row]) => SmallList::one(doc.state.hash(*row)),
        (None, _) => doc.get_heads().into(),
    }
}

impl SyncDoc for Document {
    fn generate_sync_message(&self, state: &mut State) -> Option<Message> {
        outgoing::generate(self, state)
    }

    fn receive_sync_message(&mut self, state: &mut State, message: Message) -> Result<Received, LoadError> {
        incoming::receive(self, state, message)
    }

    fn has_our_changes(&self, state: &State) -> bool {
        state.shared_heads == heads_of(self)
    }
}
