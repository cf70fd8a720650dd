//! Patches: the differences between two points of a document's history, as steps that update a displayed copy.
//!
//! Local changes, merges, syncs and loads all use the same code, which gets the points before and after. The operations
//! between the points determine the places to compare ([`crate::store::versions::touched`]); the values visible there at both
//! points are compared ([`value_change`], [`sequence`]); the resulting patches are merged ([`patch_list`]). Nothing is recorded
//! during edits; [`recorded`] compares consecutive points if patches in the order of edits are requested.

mod apply;
pub(crate) mod diff;
mod object_paths;
pub(crate) mod observer;
mod patch_list;
mod path;
pub(crate) mod recorded;
mod sequence;
pub(crate) mod text_fast_path;
mod value_change;

use crate::mark::{Mark, MarkSet};
use crate::types::{ObjId, Prop, Value};

pub use apply::PatchError;
pub use path::Path;

/// One step between two states of a document. Patches must be applied in order: each is relative to the result of those
/// before it.
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
    /// The changed object.
    pub obj: ObjId,
    /// The path from the root to that object, after all patches.
    pub path: Path,
    /// The difference.
    pub action: PatchAction,
}

/// A difference in an object. New objects are empty; patches with their contents follow.
///
/// Values are paired with their ids; the id of an object is the object. Indexes count elements of a list, or units of
/// the document's encoding in a text.
#[derive(Clone, Debug, PartialEq)]
pub enum PatchAction {
    /// A key of a map has a new or different value.
    PutMap {
        /// The key.
        key: String,
        /// The value and its id.
        value: (Value<'static>, ObjId),
        /// Are there concurrent values? [`crate::ReadDoc::get_all`] returns them.
        conflict: bool,
    },
    /// An element of a list has a different value.
    PutSeq {
        /// The index.
        index: usize,
        /// The value and its id.
        value: (Value<'static>, ObjId),
        /// Are there concurrent values?
        conflict: bool,
    },
    /// Elements were inserted into a list, or a block into a text.
    Insert {
        /// Index of the first inserted element.
        index: usize,
        /// Values and ids; and whether there are concurrent values.
        values: Vec<(Value<'static>, ObjId, bool)>,
    },
    /// Characters were inserted into a text.
    SpliceText {
        /// Unit of the first inserted character.
        index: usize,
        /// The characters.
        value: String,
        /// Their marks.
        marks: MarkSet<'static>,
    },
    /// A counter was incremented.
    Increment {
        /// Key or index of the counter.
        prop: Prop<'static>,
        /// The increment, possibly negative.
        value: i64,
    },
    /// The winning value is unchanged, but now has concurrent values.
    Conflict {
        /// Key or index of the value.
        prop: Prop<'static>,
    },
    /// A key of a map was deleted.
    DeleteMap {
        /// The key.
        key: String,
    },
    /// Elements of a list, or units of a text, were deleted.
    DeleteSeq {
        /// Index of the first one.
        index: usize,
        /// Their number.
        length: usize,
    },
    /// Marks on characters of a text changed; null means that a mark was removed.
    Mark {
        /// Name, range and value of each change.
        marks: Vec<Mark<'static>>,
    },
}
