//! Difference of the values at one key or element.

use crate::store::register::Visible;
use crate::types::OpId;

/// Change of the visible values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ValueChange {
    /// No visible difference.
    Same,
    /// No value is visible any more.
    Gone,
    /// This value is visible now; the flag tells whether it has concurrent values.
    Put(Visible, bool),
    /// The visible counter was incremented by `by`, and may have new concurrent values.
    Grown { by: i64, conflict: bool },
    /// The visible value has concurrent values now.
    Conflict,
}

/// Compares the values before and after, both in the order of their ids: the last ones win.
///
/// If `conflicts`, a value whose rivals disappear is reported again as one without conflict.
pub(super) fn became(before: &[Visible], after: &[Visible], conflicts: bool) -> ValueChange {
    let Some(winner) = after.last() else {
        return if before.is_empty() { ValueChange::Same } else { ValueChange::Gone };
    };
    let conflict = after.len() > 1;
    match before.last().filter(|old| old.id == winner.id) {
        None => ValueChange::Put(*winner, conflict),
        Some(_) if conflicts && before.len() > 1 && !conflict => ValueChange::Put(*winner, false),
        Some(old) => {
            let (by, conflict) =
                (winner.added.wrapping_sub(old.added), conflicts && conflict && before.len() == 1);
            match (by, conflict) {
                (0, false) => ValueChange::Same,
                (0, true) => ValueChange::Conflict,
                _ => ValueChange::Grown { by, conflict },
            }
        }
    }
}

/// Id of the winning value.
pub(super) fn winner(values: &[Visible]) -> Option<OpId> {
    values.last().map(|winner| winner.id)
}
