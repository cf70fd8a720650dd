//! The changes after which nobody made another one yet. A document may have very many of them, when many people were away
//! and come back at once: what a change asks of them costs it a look at what it was made after, not at all that stands
//! beside it.

use smallvec::SmallVec;

use crate::codec::limits::{Budget, cost};
use crate::error::LimitError;
use crate::types::ChangeIdx;

/// So many are moved at a glance.
const MOVED: usize = 64;
/// So many are asked one by one whether they are meant.
const LATEST: usize = 64;

/// Rows, ascending: who comes last has the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heads(SmallVec<[ChangeIdx; 2]>);

impl Heads {
    /// These rows, ascending.
    pub(in crate::store) fn of(rows: Vec<ChangeIdx>) -> Self {
        Self(rows.into())
    }

    pub(crate) fn rows(&self) -> &[ChangeIdx] {
        &self.0
    }

    /// Whether a change that was made after `deps` has all that there is in its past.
    #[inline]
    pub(in crate::store) fn within(&self, deps: &[ChangeIdx]) -> bool {
        match (&self.0[..], deps) {
            // Most write alone.
            ([head], [dep]) => head == dep,
            (heads, deps) => heads.len() <= deps.len() && self.among(deps).len() == heads.len(),
        }
    }

    /// A change was made after `deps`: it is a head, they are no longer. Gives whether it is the only one.
    #[inline]
    pub(in crate::store) fn replace(&mut self, deps: &[ChangeIdx], row: ChangeIdx) -> bool {
        match (&mut self.0[..], deps) {
            ([head], [dep]) if head == dep => {
                *head = row;
                return true;
            }
            ([], []) => {
                self.0.push(row);
                return true;
            }
            _ => {}
        }
        let mut gone = self.among(deps).into_iter().peekable();
        let mut at = 0;
        self.0.retain(|_| {
            at += 1;
            gone.next_if_eq(&(at - 1)).is_none()
        });
        self.0.push(row);
        self.0.len() == 1
    }

    /// A change was made after the one before it, if that is the only head: then it is, and `true` is given.
    #[inline]
    pub(in crate::store) fn advance(&mut self, row: ChangeIdx) -> bool {
        match &mut self.0[..] {
            [head] if head.plus(1) == row => {
                *head = row;
                true
            }
            _ => false,
        }
    }

    /// The one that `is` says, if it is among the last. Of many heads the others are found as all changes are.
    #[inline]
    pub(in crate::store) fn named(&self, is: impl Fn(ChangeIdx) -> bool) -> Option<ChangeIdx> {
        self.0.iter().rev().take(LATEST).copied().find(|row| is(*row))
    }

    /// Pays for a change that is to replace some of them.
    #[inline]
    pub(crate) fn pay(&self, budget: &mut Budget) -> Result<(), LimitError> {
        budget.spend((self.0.len() / MOVED) as u64, cost::GLANCE)
    }

    /// The places of those that are among `deps`, which are in no order and may say one twice.
    fn among(&self, deps: &[ChangeIdx]) -> SmallVec<[usize; 4]> {
        let mut places: SmallVec<[usize; 4]> =
            deps.iter().filter_map(|dep| self.0.binary_search(dep).ok()).collect();
        places.sort_unstable();
        places.dedup();
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: u32) -> ChangeIdx {
        ChangeIdx::of(number)
    }

    fn rows<const N: usize>(numbers: [u32; N]) -> [ChangeIdx; N] {
        numbers.map(row)
    }

    #[test]
    fn what_a_change_was_made_after_is_no_head_any_more() {
        let mut heads = Heads::default();
        assert!(heads.replace(&[], row(0)));
        assert!((1..5).all(|n| !heads.replace(&[], row(n))));
        assert!(!heads.within(&rows([4, 2, 0, 1])));
        assert!(heads.within(&rows([4, 2, 0, 3, 1, 1])));
        assert!(!heads.replace(&rows([4, 1, 1, 7]), row(8)));
        assert_eq!(heads.rows(), rows([0, 2, 3, 8]));
        assert!(!heads.within(&rows([0, 0, 2, 3])));
        assert!(heads.replace(&rows([8, 0, 3, 2]), row(9)));
        assert_eq!(heads.rows(), rows([9]));
        assert!(!heads.advance(row(11)) && heads.advance(row(10)) && heads.rows() == rows([10]));
        heads.replace(&rows([10]), row(9));
        assert!(heads.within(&rows([9])) && heads.within(&rows([1, 9])) && !heads.within(&[]));
    }
}
