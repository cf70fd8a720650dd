//! Steps in the order in which objects were edited, instead of the net difference between two moments.
//!
//! The document itself records nothing while it is edited: operations keep their counters, so every moment between two calls can be
//! looked at later. What is noted is where one call ended and the next one began.

use hashbrown::{HashMap, HashSet};

use super::diff::{Scope, diff};
use super::direct::way;
use super::{Patch, PatchAction};
use crate::mark::Mark;
use crate::store::past::Clock;
use crate::store::seq::Seq;
use crate::store::state::State;
use crate::types::{ChangeIdx, ObjId, OpId, Prop, TextEncoding, Value};

/// A moment between two calls: all changes before a row and, of the change that was open then, the operations before one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) row: ChangeIdx,
    pub(crate) open: Option<OpId>,
}

impl Edge {
    fn clock(self, state: &State) -> Clock {
        let clock = state.clock_before(self.row);
        match self.open {
            Some(next) => clock.up_to(next),
            None => clock,
        }
    }
}

/// So many leaves of lists and texts may be looked at: at the worst, all of those that were edited are gone through for each call.
const MOST_LEAVES: usize = 1 << 15;

/// The steps from `before` over each of the edges to `after`, which is now: those of an object together, in the order of edits. Objects
/// come after those that they are in, so all paths are those of now.
/// `None` if more leaves than [`MOST_LEAVES`] would be looked at.
pub(crate) fn recorded(state: &State, before: &Clock, edges: &[Edge], after: &Clock) -> Option<Vec<Patch>> {
    let mut edited = HashSet::new();
    state.between(before, after, |obj, _| {
        edited.insert(obj);
    });
    let leaves: usize = edited.into_iter().filter_map(|obj| state.seq(obj)).map(Seq::size).sum();
    if leaves.saturating_mul(edges.len()) > MOST_LEAVES {
        return None;
    }
    let mut told = vec![];
    let mut from = before.clone();
    let moments = edges.iter().map(|edge| edge.clock(state)).chain([after.clone()]);
    for to in moments {
        told.extend(diff(state, &from, &to, Scope::ALL));
        from = to;
    }
    // An object that is shown anew is told whole: what was told of it before counts no more.
    let mut shown = HashMap::new();
    for (at, step) in told.iter().enumerate() {
        shown.extend(objects(&step.action).map(|obj| (obj.clone(), at)));
    }
    let mut paths = HashMap::new();
    let mut of_objects = vec![];
    for (at, step) in told.into_iter().enumerate() {
        if shown.get(&step.obj).is_some_and(|shown| at < *shown) {
            continue;
        }
        let path = paths
            .entry(step.obj.clone())
            .or_insert_with(|| state.resolve(&step.obj).ok().and_then(|obj| way(state, obj)));
        // No way leads to an object that is there no more.
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

/// The objects that a step shows.
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

/// Adds a step; it becomes a part of the last one where both are about the same run of elements or characters.
fn join(steps: &mut Vec<Patch>, step: Patch, encoding: TextEncoding) {
    let Some(last) = steps.last_mut().filter(|last| last.obj == step.obj) else {
        return steps.push(step);
    };
    let is_joined = match (&mut last.action, &step.action) {
        (PatchAction::Insert { index, values }, PatchAction::Insert { index: at, values: more }) => {
            let place = at.checked_sub(*index).filter(|place| *place <= values.len());
            place.inspect(|place| drop(values.splice(place..place, more.iter().cloned()))).is_some()
        }
        (PatchAction::Insert { index, values }, PatchAction::DeleteSeq { index: at, length }) => {
            let place = at.checked_sub(*index).filter(|place| place + length <= values.len());
            place.inspect(|place| drop(values.drain(*place..place + length))).is_some()
        }
        (
            PatchAction::SpliceText { index, value, marks },
            PatchAction::SpliceText { index: at, value: more, marks: same },
        ) => {
            let place = at.checked_sub(*index).and_then(|units| byte_at(value, units, encoding));
            let place = place.filter(|_| marks == same);
            place.inspect(|place| value.insert_str(*place, more)).is_some()
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

/// Adds a mark behind those of its name, of which the last one may go on with it. Names come in their order: only marks of one name
/// count on each other.
fn add(marks: &mut Vec<Mark<'static>>, mark: &Mark<'static>) {
    let behind = marks.partition_point(|other| other.name <= mark.name);
    match marks[..behind].last_mut() {
        Some(last) if last.name == mark.name && last.value == mark.value && last.end == mark.start => {
            last.end = mark.end;
        }
        _ => marks.insert(behind, mark.clone()),
    }
}

/// Where the character begins that has so many units before it, or the end of the text.
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
