//! Blame: which change wrote each visible character, element and key.

use std::ops::Range;

use crate::read::view::View;
use crate::store::memory::keys::sort_by_bytes;
use crate::store::register::Visible;
use crate::types::error::EditError;
use crate::types::{ChangeHash, ChangeIdx, ObjId, ObjType};

/// A part of an object written by one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blame<'a> {
    /// The part.
    pub blamed: BlamedPart<'a>,
    /// The change; `None` for an uncommitted one.
    pub change: Option<ChangeHash>,
}

/// A part of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlamedPart<'a> {
    /// A key of a map.
    Key(&'a str),
    /// Elements of a list, or units of a text.
    Range(Range<usize>),
}

impl<'a> View<'a> {
    /// The changes that wrote the visible contents of an object, by key or in order: for each key and element the
    /// change that wrote the winning value. Adjacent elements of one change are merged.
    /// [`Document::get_change_meta_by_hash`] returns the actor and time of a change.
    ///
    /// Costs O(n log n).
    ///
    /// [`Document::get_change_meta_by_hash`]: crate::Document::get_change_meta_by_hash
    pub fn blame(&self, obj: impl AsRef<ObjId>) -> Result<Vec<Blame<'a>>, EditError> {
        let (state, obj) = (self.state, obj.as_ref());
        let kind = self.object_type(obj)?;
        let row = |value: &Visible| state.history.by_op(value.id).map(|(_, row)| row);
        let blame_part =
            |blamed, row: Option<ChangeIdx>| Blame { blamed, change: row.map(|row| state.hash(row)) };
        if kind.is_map() {
            let mut keys = vec![];
            self.each_key(obj, |key, values| keys.extend(values.last().map(|winner| (key, row(winner)))));
            sort_by_bytes(&mut keys, |(key, _)| key.as_bytes());
            return Ok(keys.into_iter().map(|(key, row)| blame_part(BlamedPart::Key(key), row)).collect());
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
        // An empty string is invisible in a text.
        parts.retain(|(part, _)| !part.is_empty());
        Ok(parts.into_iter().map(|(part, row)| blame_part(BlamedPart::Range(part), row)).collect())
    }
}
