//! What became of the values at one place between two moments.

use crate::store::register::Visible;
use crate::types::OpId;

/// What became of them, as who looks at the place sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Became {
    /// Who looks sees the same.
    Same,
    /// Nothing is there any more.
    Gone,
    /// This one is there now; others are, too, if there is a conflict.
    Put(Visible, bool),
    /// The counter that is there grew by this much, and may have others beside it that it had not.
    Grown { by: i64, conflict: bool },
    /// What is there has others beside it now.
    Conflict,
}

/// Compares the values before and after, both in the order of their ids: the last ones are seen.
///
/// A value that stays while its rivals go is told again, as one without conflict, to who wants to hear of `conflicts`.
pub(super) fn became(before: &[Visible], after: &[Visible], conflicts: bool) -> Became {
    let Some(winner) = after.last() else {
        return if before.is_empty() { Became::Same } else { Became::Gone };
    };
    let conflict = after.len() > 1;
    match before.last().filter(|old| old.id == winner.id) {
        None => Became::Put(*winner, conflict),
        Some(_) if conflicts && before.len() > 1 && !conflict => Became::Put(*winner, false),
        Some(old) => {
            let (by, conflict) =
                (winner.added.wrapping_sub(old.added), conflicts && conflict && before.len() == 1);
            match (by, conflict) {
                (0, false) => Became::Same,
                (0, true) => Became::Conflict,
                _ => Became::Grown { by, conflict },
            }
        }
    }
}

/// The operation whose value is seen.
pub(super) fn winner(values: &[Visible]) -> Option<OpId> {
    values.last().map(|winner| winner.id)
}
