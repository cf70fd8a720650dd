//! Places in lists and texts that stay where they are while others edit.

use super::ActorId;

/// A place in a list or text that moves with what is there, in this document and in every copy of it.
///
/// Made by [`ReadDoc::get_cursor`](crate::ReadDoc::get_cursor), read by
/// [`ReadDoc::get_cursor_position`](crate::ReadDoc::get_cursor_position). It does not say in which object it is.
///
/// As text it is `s`, `e`, or `<counter>@<actor in hex>` with a `-` in front when it moves [`MoveCursor::Before`]; as bytes
/// ([`Self::to_bytes`]) it is a few bytes longer than the actor. Both are those of every other implementation.
///
/// ```
/// use hashmill_doc::{Cursor, Document, EditError, ObjType, ROOT, ReadDoc, Transactable};
///
/// let mut doc = Document::new();
/// let text = doc.transact(|tx| {
///     let text = tx.put_object(ROOT, "text", ObjType::Text)?;
///     tx.splice_text(&text, 0, 0, "Hello world")?;
///     Ok::<_, EditError>(text)
/// })?;
/// let sent = doc.get_cursor(&text, 6)?.to_bytes();
///
/// doc.transact(|tx| tx.splice_text(&text, 0, 5, "Good morning,"))?;
/// let cursor = Cursor::try_from(&sent[..])?;
/// assert_eq!(doc.get_cursor_position(&text, &cursor)?, 14);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Cursor {
    /// The start of a sequence, whatever it is.
    Start,
    /// The end of a sequence, however long it grows.
    End,
    /// An element, named by the operation that put its value there.
    Op {
        /// Lamport counter of the operation.
        counter: u64,
        /// Who wrote it.
        actor: ActorId,
        /// Where the cursor goes when the element goes.
        moving: MoveCursor,
    },
}

/// Where a cursor is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CursorPosition {
    /// At the start, before whatever is inserted there.
    Start,
    /// At the end, behind whatever is inserted there.
    End,
    /// At an element: an index of a list, or of a text in the units of the document's encoding.
    Index(usize),
}

impl From<usize> for CursorPosition {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// Where a cursor goes when its element is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MoveCursor {
    /// To what its element was inserted after, or what that was inserted after, and so on: the first that is still there,
    /// else to the start.
    Before,
    /// To the next element that is there, else to the end.
    #[default]
    After,
}
