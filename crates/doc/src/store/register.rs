//! Register: the values of one key or element, which of them are visible, and how an operation changes that.

use smallvec::SmallVec;

use crate::codec::row::Action;
use crate::store::actors::Actors;
use crate::store::log::key_op::KeyOp;
use crate::store::log::value::StoredValue;
use crate::types::OpId;

/// An operation whose value is visible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Visible {
    pub(crate) id: OpId,
    pub(crate) val: StoredValue,
    /// Sum of the increments, for counters.
    pub(crate) added: i64,
}

/// All visible values in ascending order of their ids: the last one wins.
pub(crate) type Values = SmallVec<[Visible; 1]>;

/// Applies one operation with its predecessors; `number` is the amount of an increment. Returns whether the operation
/// superseded everything that was visible.
pub(crate) fn apply(values: &mut Values, op: &KeyOp, preds: &[OpId], number: i64, actors: &Actors) -> bool {
    if op.action == Action::Increment {
        increment(values, preds, number, actors);
        return false;
    }
    if !preds.is_empty() {
        values.retain(|value| !named(preds, value.id, actors));
    }
    let clears = values.is_empty();
    if op.action != Action::Delete {
        let at = values.partition_point(|value| actors.cmp(value.id, op.id).is_lt());
        values.insert(at, Visible { id: op.id, val: op.val(), added: 0 });
    }
    clears
}

/// Adds to the counters among the predecessors and supersedes the other values.
fn increment(values: &mut Values, preds: &[OpId], number: i64, actors: &Actors) {
    values.retain(|value| {
        let named = named(preds, value.id, actors);
        if named && value.val.is_counter() {
            value.added = value.added.wrapping_add(number);
        }
        !named || value.val.is_counter()
    });
}

/// Do `preds`, which are ascending, contain an operation?
#[inline]
fn named(preds: &[OpId], id: OpId, actors: &Actors) -> bool {
    match preds {
        // Nearly always one; then no comparison of actors is needed.
        [pred] => *pred == id,
        _ => preds.binary_search_by(|pred| actors.cmp(*pred, id)).is_ok(),
    }
}

/// Is the value of an operation visible?
#[inline]
pub(super) fn is_visible(values: &Values, id: OpId, actors: &Actors) -> bool {
    values.binary_search_by(|value| actors.cmp(value.id, id)).is_ok()
}
