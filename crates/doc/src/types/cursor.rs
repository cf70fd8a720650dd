//! Cursors: positions in lists and texts that stay valid during edits.

use super::ActorId;

/// A position in a list or text that follows its element through edits, valid in all copies of the document.
///
/// Created by [`ReadDoc::get_cursor`](crate::ReadDoc::get_cursor), resolved by
/// [`ReadDoc::get_cursor_position`](crate::ReadDoc::get_cursor_position). It does not contain the object.
///
/// Its text form is `s`, `e`, or `<counter>@<actor in hex>`, with a leading `-` for [`MoveCursor::Before`]; its binary
/// form ([`Self::to_bytes`]) is a few bytes longer than the actor. Both match all other implementations.
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
    /// The start of a sequence, before any insertion there.
    Start,
    /// The end of a sequence, after any insertion there.
    End,
    /// An element, identified by the operation that wrote its value.
    Op {
        /// Lamport counter of the operation.
        counter: u64,
        /// Actor of the operation.
        actor: ActorId,
        /// Where the cursor moves when the element is deleted.
        moving: MoveCursor,
    },
}

/// Position for a new cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CursorPosition {
    /// The start, before any insertion there.
    Start,
    /// The end, after any insertion there.
    End,
    /// An element: an index of a list, or of a text in the units of the document's encoding.
    Index(usize),
}

impl From<usize> for CursorPosition {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// Where a cursor moves when its element is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MoveCursor {
    /// To the element after which its element was inserted, or the one after which that was inserted, and so on: the
    /// first visible one, otherwise the start.
    Before,
    /// To the next visible element, otherwise the end.
    #[default]
    After,
}
