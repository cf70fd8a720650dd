//! List of patches: adjacent differences in one object are merged into one patch.

use std::collections::BTreeMap;

use super::{Patch, PatchAction, Path};
use crate::mark::{Mark, MarkSet};
use crate::store::register::Visible;
use crate::store::state::DocumentState;
use crate::types::{ObjId, Prop, ScalarValue, Value};

/// List of patches under construction.
pub(super) struct PatchList<'a> {
    state: &'a DocumentState,
    done: Vec<Patch>,
    obj: ObjId,
    path: Path,
    /// Index of the first patch for the current object.
    first: usize,
    /// Unit after the last inserted characters.
    behind: usize,
    /// Changed marks, by name.
    marks: BTreeMap<String, Vec<Mark<'static>>>,
}

impl<'a> PatchList<'a> {
    pub(super) fn new(state: &'a DocumentState) -> Self {
        let (done, marks) = (Vec::new(), BTreeMap::new());
        Self { state, done, obj: ObjId::Root, path: Path::default(), first: 0, behind: 0, marks }
    }

    /// Sets the object for the following patches.
    pub(super) fn turn_to(&mut self, obj: ObjId, path: Path) {
        self.push_marks();
        (self.obj, self.path, self.first) = (obj, path, self.done.len());
    }

    pub(super) fn finish(mut self) -> Vec<Patch> {
        self.push_marks();
        self.done
    }

    pub(super) fn push(&mut self, action: PatchAction) {
        self.push_marks();
        self.done.push(Patch { obj: self.obj.clone(), path: self.path.clone(), action });
    }

    /// Adds an increment of a counter, which may have become a conflict, too.
    pub(super) fn grow(&mut self, prop: Prop<'static>, by: i64, conflict: bool) {
        self.push(PatchAction::Increment { prop: prop.clone(), value: by });
        if conflict {
            self.push(PatchAction::Conflict { prop });
        }
    }

    /// The last patch, if it is for the current object.
    fn last(&mut self) -> Option<&mut PatchAction> {
        self.push_marks();
        self.done[self.first..].last_mut().map(|patch| &mut patch.action)
    }

    pub(super) fn value(&self, value: &Visible) -> (Value<'static>, ObjId) {
        let (value, id) = self.state.export(value);
        (value.into_owned(), id)
    }

    /// Adds a value inserted into a list, or a block inserted into a text.
    pub(super) fn insert(&mut self, at: usize, value: &Visible, conflict: bool) {
        let (value, id) = self.value(value);
        let value = (value, id, conflict);
        match self.last() {
            Some(PatchAction::Insert { index, values }) if *index + values.len() == at => values.push(value),
            _ => self.push(PatchAction::Insert { index: at, values: vec![value] }),
        }
    }

    /// Adds characters, `width` units, inserted into a text.
    pub(super) fn splice(&mut self, at: usize, text: &str, width: usize, marks: &MarkSet<'_>) {
        let goes_on = self.behind == at;
        self.behind = at + width;
        match self.last() {
            Some(PatchAction::SpliceText { value, marks: before, .. }) if goes_on && *before == *marks => {
                value.push_str(text);
            }
            _ => {
                let marks = marks.clone().into_owned();
                self.push(PatchAction::SpliceText { index: at, value: text.to_owned(), marks });
            }
        }
    }

    /// Adds the deletion of elements or units from a sequence.
    pub(super) fn delete(&mut self, at: usize, more: usize) {
        match self.last() {
            Some(PatchAction::DeleteSeq { index, length }) if *index == at => *length += more,
            _ => self.push(PatchAction::DeleteSeq { index: at, length: more }),
        }
    }

    /// Adds a changed mark on the units from `start` to before `end`.
    pub(super) fn mark(&mut self, name: &str, value: &ScalarValue<'_>, start: usize, end: usize) {
        let marks = match self.marks.get_mut(name) {
            Some(marks) => marks,
            None => self.marks.entry(name.to_owned()).or_default(),
        };
        match marks.last_mut() {
            Some(last) if last.end == start && last.value == *value => last.end = end,
            _ => marks.push(Mark::new(name.to_owned(), value.clone().into_owned(), start, end)),
        }
    }

    fn push_marks(&mut self) {
        if !self.marks.is_empty() {
            let marks = std::mem::take(&mut self.marks).into_values().flatten().collect();
            let action = PatchAction::Mark { marks };
            self.done.push(Patch { obj: self.obj.clone(), path: self.path.clone(), action });
        }
    }
}
