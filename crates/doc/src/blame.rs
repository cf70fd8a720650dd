//! Which changes made what can be seen: by character and by key.

use std::ops::Range;

use crate::error::EditError;
use crate::store::memory::keys::sort_by_bytes;
use crate::store::register::Visible;
use crate::types::{ChangeHash, ChangeIdx, ObjId, ObjType};
use crate::view::View;

/// A part of an object that one change made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blame<'a> {
    /// What of the object.
    pub place: BlamedPlace<'a>,
    /// The change; nothing for what a change that is still open made.
    pub change: Option<ChangeHash>,
}

/// What of an object somebody made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlamedPlace<'a> {
    /// A key of a map.
    Key(&'a str),
    /// Elements of a list, or units of a text.
    Range(Range<usize>),
}

impl<'a> View<'a> {
    /// Which changes made what can be seen of an object, by key or in order: for each key and element the change that put
    /// the value which won. Neighbours of one change are told as one. [`Document::get_change_meta_by_hash`] says who made a
    /// change, and when.
    ///
    /// Costs O(n log n).
    ///
    /// [`Document::get_change_meta_by_hash`]: crate::Document::get_change_meta_by_hash
    pub fn blame(&self, obj: impl AsRef<ObjId>) -> Result<Vec<Blame<'a>>, EditError> {
        let (state, obj) = (self.state, obj.as_ref());
        let kind = self.object_type(obj)?;
        let row = |value: &Visible| state.history.by_op(value.id).map(|(_, row)| row);
        let made = |place, row: Option<ChangeIdx>| Blame { place, change: row.map(|row| state.hash(row)) };
        if kind.is_map() {
            let mut keys = vec![];
            self.each_key(obj, |key, values| keys.extend(values.last().map(|winner| (key, row(winner)))));
            sort_by_bytes(&mut keys, |(key, _)| key.as_bytes());
            return Ok(keys.into_iter().map(|(key, row)| made(BlamedPlace::Key(key), row)).collect());
        }
        let mut parts: Vec<(Range<usize>, Option<ChangeIdx>)> = vec![];
        let mut at = 0;
        self.each_element(obj, |winner, _| {
            let width = if kind == ObjType::Text { state.rendered(winner.val).1 as usize } else { 1 };
            let (part, by) = (at..at + width, row(&winner));
            at = part.end;
            match parts.last_mut() {
                Some((before, same)) if *same == by => before.end = part.end,
                _ => parts.push((part, by)),
            }
        });
        // An empty string in a text is no part of it.
        parts.retain(|(part, _)| !part.is_empty());
        Ok(parts.into_iter().map(|(part, row)| made(BlamedPlace::Range(part), row)).collect())
    }
}
