//! Steps in the order in which a document was edited, instead of the net difference between two moments.
//!
//! The document itself records nothing while it is edited: operations keep their counters, so every moment between two calls can be
//! looked at later. What is noted is where one call ended and the next one began.

use super::diff::{Scope, diff};
use super::{Patch, PatchAction};
use crate::store::past::Clock;
use crate::store::state::State;
use crate::types::{ChangeIdx, OpId, TextEncoding};

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

/// The steps from `before` over each of the edges to `after`.
pub(crate) fn recorded(state: &State, before: &Clock, edges: &[Edge], after: &Clock) -> Vec<Patch> {
    let mut steps = vec![];
    let mut from = before.clone();
    let moments = edges.iter().map(|edge| edge.clock(state)).chain([after.clone()]);
    for to in moments {
        for step in diff(state, &from, &to, Scope::ALL) {
            join(&mut steps, step, state.encoding);
        }
        from = to;
    }
    steps
}

/// Adds a step; it becomes a part of the last one where both are about the same run of elements or characters.
fn join(steps: &mut Vec<Patch>, step: Patch, encoding: TextEncoding) {
    let Some(last) = steps.last_mut().filter(|last| last.obj == step.obj && last.path == step.path) else {
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
