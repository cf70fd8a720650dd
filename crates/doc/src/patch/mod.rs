//! What is different between two moments of a document, as steps that turn what somebody shows of the one into the other.
//!
//! One way leads to all of them: local changes, merges, syncs and loads are told by the moments before and after. The
//! operations between the two say which places to look at ([`crate::store::between`]); what is visible there at both
//! moments decides ([`value`], [`sequence`]); what follows from it is put together ([`list`]). Nothing is recorded while
//! a document is edited; [`recorded`] compares one moment after the other where the order of edits is asked for.

mod apply;
pub(crate) mod diff;
mod direct;
mod list;
mod path;
mod place;
mod recorded;
mod sequence;
mod value;

use crate::mark::{Mark, MarkSet};
use crate::types::{ObjId, Prop, Value};

pub use apply::PatchError;
pub(crate) use direct::{Direct, direct, general, since};
pub use path::Path;
pub(crate) use recorded::{Edge, recorded};

/// One step from what a document was to what it is. Steps are to be taken in their order: each counts on those before it.
///
/// ```
/// use hashmill_doc::{Document, Transactable, ROOT};
///
/// let mut doc = Document::new();
/// let before = doc.get_heads();
/// doc.transact(|tx| tx.put(ROOT, "a", 1))?;
/// let patches = doc.diff(&before, &doc.get_heads())?;
/// assert_eq!(patches.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// The object it is about.
    pub obj: ObjId,
    /// The way from the root to that object, after all steps.
    pub path: Path,
    /// What happens there.
    pub action: PatchAction,
}

/// What happens to an object. Objects come empty; what is in them follows.
///
/// Values come with their ids; for objects these are the objects. Indexes count elements of a list and units of the
/// document's encoding in a text.
#[derive(Clone, Debug, PartialEq)]
pub enum PatchAction {
    /// A key of a map has a value, be it new or another one than before.
    PutMap {
        /// The key.
        key: String,
        /// The value and its id.
        value: (Value<'static>, ObjId),
        /// Whether others were put there at the same time: [`crate::ReadDoc::get_all`] tells them.
        conflict: bool,
    },
    /// An element of a list has another value than before.
    PutSeq {
        /// Which one.
        index: usize,
        /// The value and its id.
        value: (Value<'static>, ObjId),
        /// Whether others were put there at the same time.
        conflict: bool,
    },
    /// Elements came to a list, or a block to a text.
    Insert {
        /// Before which one.
        index: usize,
        /// Their values and ids, and whether others were put there at the same time.
        values: Vec<(Value<'static>, ObjId, bool)>,
    },
    /// Characters came to a text.
    SpliceText {
        /// Before which unit.
        index: usize,
        /// The characters.
        value: String,
        /// What they are marked with.
        marks: MarkSet<'static>,
    },
    /// A counter grew.
    Increment {
        /// Which one.
        prop: Prop<'static>,
        /// By how much; less than nothing if it shrank.
        value: i64,
    },
    /// What stands at a place stays, but others are there now, too.
    Conflict {
        /// Where.
        prop: Prop<'static>,
    },
    /// A key of a map has no value any more.
    DeleteMap {
        /// The key.
        key: String,
    },
    /// Elements went from a list, or units from a text.
    DeleteSeq {
        /// The first one.
        index: usize,
        /// How many.
        length: usize,
    },
    /// Characters of a text are marked otherwise than before; null says that a mark was taken off.
    Mark {
        /// Each name with where and how.
        marks: Vec<Mark<'static>>,
    },
}
