//! Sync: two peers find out what each of them lacks, and send it, in few messages over any transport that keeps their order.
//!
//! Each side has a document and, for each peer, a [`State`]. It sends what [`SyncDoc::generate_sync_message`] gives until
//! that is nothing, gives what comes to [`SyncDoc::receive_sync_message`], and sends again. When neither side has anything to
//! say, both documents have the same changes.
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
//! A peer tells its heads, a summary of the changes it has since both were last in step, and which changes it is known to
//! lack. The summary is a [`BloomFilter`]: what it seems to contain and does not is asked for by name in the next message.
//! The messages are those of every other implementation, in both versions.
//!
//! A change that breaks a rule or a limit is refused alone ([`Received::refused`]), with those that depend on it: the others
//! of its message are taken, and it is not asked for again, so that one bad change neither ends a conversation nor makes it
//! endless. Of a whole document that is beyond a limit the changes are asked for one by one. Only bytes that are no sound chunks
//! are an error of the message. [`Progress`] tells a conversation that moves from one that does not.

mod bloom;
mod few;
mod incoming;
mod message;
mod outgoing;
mod parts;
mod progress;
mod state;

pub use bloom::BloomFilter;
pub use few::Few;
pub use incoming::Received;
pub use message::{Have, Message, MessageFlags, MessageVersion, ReadMessageError};
pub use parts::StateParts;
pub use progress::Progress;
pub use state::{ReadStateError, State};

use crate::document::Document;
use crate::error::LoadError;
use crate::types::ChangeHash;

/// A document that takes part in a sync.
pub trait SyncDoc {
    /// The next message for the peer of `state`. Nothing when all is said, or while an answer is awaited.
    ///
    /// Costs as much as the changes that are new since both were in step.
    fn generate_sync_message(&self, state: &mut State) -> Option<Message>;

    /// Takes a message of the peer of `state`. When it cannot be read, document and state are as they were.
    fn receive_sync_message(&mut self, state: &mut State, message: Message) -> Result<Received, LoadError>;

    /// Whether the peer has all changes that are here, as far as is known.
    fn has_our_changes(&self, state: &State) -> bool;
}

/// What whoever was never in step is told of a document.
#[derive(Debug)]
pub(crate) struct Told {
    heads: Few<ChangeHash>,
    /// All changes.
    bloom: BloomFilter,
}

/// As [`Document::get_heads`].
#[inline]
fn heads_of(doc: &Document) -> Few<ChangeHash> {
    let history = &doc.state.history;
    match (history.told(), history.heads.rows()) {
        (Some(told), _) => told.heads.clone(),
        (None, [row]) => Few::one(doc.state.hash(*row)),
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
