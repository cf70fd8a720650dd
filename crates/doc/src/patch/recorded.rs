//! Patches in the order of edits, instead of the net difference between two points.
//!
//! Nothing is recorded during edits: operations keep their counters, so every point between two calls can be compared
//! later. Only the points at which calls ended are stored.

use hashbrown::{HashMap, HashSet};

use super::diff::{Scope, diff};
use super::{Patch, PatchAction};
use crate::mark::Mark;
use crate::patch::text_fast_path::object_path;
use crate::store::seq::Seq;
use crate::store::state::DocumentState;
use crate::store::versions::clock::Clock;
use crate::types::{ChangeIdx, ObjId, OpId, Prop, TextEncoding, Value};

/// A point between two calls: all changes before a row, and the operations of the uncommitted change before a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordPoint {
    pub(crate) row: ChangeIdx,
    pub(crate) open: Option<OpId>,
}

impl RecordPoint {
    fn clock(self, state: &DocumentState) -> Clock {
        let clock = state.clock_before(self.row);
        match self.open {
            Some(next) => clock.up_to(next),
            None => clock,
        }
    }
}

/// Maximum number of leaves of lists and texts to visit: in the worst case, each call visits all leaves that were
/// edited.
const MOST_LEAVES: usize = 1 << 15;

/// The patches from `before` over each of the edges to `after`, the current state: grouped by object, in the order of
/// edits. An object follows those that contain it, so all paths are current ones. `None` if more than [`MOST_LEAVES`]
/// leaves would be visited.
pub(crate) fn recorded_patches(
    state: &DocumentState,
    before: &Clock,
    edges: &[RecordPoint],
    after: &Clock,
) -> Option<Vec<Patch>> {
    let mut edited = HashSet::new();
    state.between(before, after, |obj, _| {
        edited.insert(obj);
    });
    let leaves: usize = edited.into_iter().filter_map(|obj| state.seq(obj)).map(Seq::size).sum();
    if leaves.saturating_mul(edges.len()) > MOST_LEAVES {
        return None;
    }
    let mut patches = vec![];
    let mut from = before.clone();
    let moments = edges.iter().map(|edge| edge.clock(state)).chain([after.clone()]);
    for to in moments {
        patches.extend(diff(state, &from, &to, Scope::ALL));
        from = to;
    }
    // A newly visible object is reported completely, so earlier patches for it are dropped.
    let mut shown = HashMap::new();
    for (at, step) in patches.iter().enumerate() {
        shown.extend(objects(&step.action).map(|obj| (obj.clone(), at)));
    }
    let mut paths = HashMap::new();
    let mut of_objects = vec![];
    for (at, step) in patches.into_iter().enumerate() {
        if shown.get(&step.obj).is_some_and(|shown| at < *shown) {
            continue;
        }
        let path = paths
            .entry(step.obj.clone())
            .or_insert_with(|| state.resolve(&step.obj).ok().and_then(|obj| object_path(state, obj)));
        // A deleted object has no path.
        if let Some(path) = path {
            of_objects.push(Patch { path: path.clone(), ..step });
        }
    }
    of_objects.sort_by(|a, b| a.obj.cmp(&b.obj));
    let mut steps = vec![];
    for step in of_objects {
        join(&mut steps, step, state.encoding);
    }
    Some(steps)
}

/// The objects that a patch makes visible.
fn objects(action: &PatchAction) -> impl Iterator<Item = &ObjId> {
    let (one, many) = match action {
        PatchAction::PutMap { value: (value, id), .. } | PatchAction::PutSeq { value: (value, id), .. } => {
            (Some((value, id)), &[][..])
        }
        PatchAction::Insert { values, .. } => (None, &values[..]),
        _ => (None, &[][..]),
    };
    let values = one.into_iter().chain(many.iter().map(|(value, id, _)| (value, id)));
    values.filter(|(value, _)| matches!(value, Value::Object(_))).map(|(_, id)| id)
}

/// Adds a patch, merging it into the last one if both edit the same run of elements or characters.
fn join(steps: &mut Vec<Patch>, step: Patch, encoding: TextEncoding) {
    let Some(last) = steps.last_mut().filter(|last| last.obj == step.obj) else {
        return steps.push(step);
    };
    let is_joined = match (&mut last.action, &step.action) {
        (PatchAction::Insert { index, values }, PatchAction::Insert { index: at, values: more }) => {
            let position = at.checked_sub(*index).filter(|position| *position <= values.len());
            position
                .inspect(|position| drop(values.splice(position..position, more.iter().cloned())))
                .is_some()
        }
        (PatchAction::Insert { index, values }, PatchAction::DeleteSeq { index: at, length }) => {
            let position = at.checked_sub(*index).filter(|position| position + length <= values.len());
            position.inspect(|position| drop(values.drain(*position..position + length))).is_some()
        }
        (
            PatchAction::SpliceText { index, value, marks },
            PatchAction::SpliceText { index: at, value: more, marks: same },
        ) => {
            let position = at.checked_sub(*index).and_then(|units| byte_at(value, units, encoding));
            let position = position.filter(|_| marks == same);
            position.inspect(|position| value.insert_str(*position, more)).is_some()
        }
        (PatchAction::SpliceText { index, value, .. }, PatchAction::DeleteSeq { index: at, length }) => {
            let ends = at.checked_sub(*index).and_then(|units| {
                Some((byte_at(value, units, encoding)?, byte_at(value, units + length, encoding)?))
            });
            ends.inspect(|(start, end)| value.replace_range(start..end, "")).is_some()
        }
        (PatchAction::DeleteSeq { index, length }, PatchAction::DeleteSeq { index: at, length: more }) => {
            let is_same = index == at;
            *length += if is_same { *more } else { 0 };
            is_same
        }
        (PatchAction::Mark { marks }, PatchAction::Mark { marks: more }) => {
            more.iter().for_each(|mark| add(marks, mark));
            true
        }
        (PatchAction::PutMap { key, conflict, .. }, PatchAction::Conflict { prop: Prop::Map(prop) }) => {
            let is_same = key == prop;
            *conflict |= is_same;
            is_same
        }
        (PatchAction::PutSeq { index, conflict, .. }, PatchAction::Conflict { prop: Prop::Seq(prop) }) => {
            let is_same = index == prop;
            *conflict |= is_same;
            is_same
        }
        _ => false,
    };
    if !is_joined {
        steps.push(step);
        return;
    }
    let is_empty = match &last.action {
        PatchAction::Insert { values, .. } => values.is_empty(),
        PatchAction::SpliceText { value, .. } => value.is_empty(),
        _ => false,
    };
    if is_empty {
        steps.pop();
    }
}

/// Adds a mark after those with its name, merging it with the last of these if possible. Marks are in order of name,
/// and only marks of one name depend on each other.
fn add(marks: &mut Vec<Mark<'static>>, mark: &Mark<'static>) {
    let behind = marks.partition_point(|other| other.name <= mark.name);
    match marks[..behind].last_mut() {
        Some(last) if last.name == mark.name && last.value == mark.value && last.end == mark.start => {
            last.end = mark.end;
        }
        _ => marks.insert(behind, mark.clone()),
    }
}

/// Byte offset of the character after `units` units, or the end of the text.
fn byte_at(text: &str, units: usize, encoding: TextEncoding) -> Option<usize> {
    let mut before = 0;
    for (at, character) in text.char_indices() {
        if before >= units {
            return (before == units).then_some(at);
        }
        before += encoding.width(character.encode_utf8(&mut [0; 4]));
    }
    (before == units).then_some(text.len())
}
