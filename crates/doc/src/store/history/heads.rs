//! Heads: the changes without descendants. A document may have very many of them, when many writers were offline and
//! return together. Processing a change costs a search for its dependencies, not a pass over all heads.

use smallvec::SmallVec;

use crate::codec::limits::{Budget, cost};
use crate::types::ChangeIdx;
use crate::types::error::LimitError;

/// Number of heads that one glance of the budget moves.
const MOVED: usize = 64;
/// Number of last heads that are searched linearly.
const LATEST: usize = 64;

/// Rows, ascending, so a new change is appended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heads(SmallVec<[ChangeIdx; 2]>);

impl Heads {
    /// Heads from ascending rows.
    pub(in crate::store) fn from_rows(rows: Vec<ChangeIdx>) -> Self {
        Self(rows.into())
    }

    pub(crate) fn rows(&self) -> &[ChangeIdx] {
        &self.0
    }

    /// Does a change with `deps` have every change as its ancestor?
    #[inline]
    pub(in crate::store) fn within(&self, deps: &[ChangeIdx]) -> bool {
        match (&self.0[..], deps) {
            // Most documents have one writer at a time.
            ([head], [dep]) => head == dep,
            (heads, deps) => heads.len() <= deps.len() && self.positions_of(deps).len() == heads.len(),
        }
    }

    /// Replaces `deps` by `row`, the change made after them. Returns whether `row` is the only head.
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
        let mut gone = self.positions_of(deps).into_iter().peekable();
        let mut at = 0;
        self.0.retain(|_| {
            at += 1;
            gone.next_if_eq(&(at - 1)).is_none()
        });
        self.0.push(row);
        self.0.len() == 1
    }

    /// Replaces the only head by `row`, if `row` directly follows it. Returns whether it did.
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

    /// The head that `is` accepts, if it is among the last. Other heads are found through the hash index, as any
    /// change.
    #[inline]
    pub(in crate::store) fn named(&self, is: impl Fn(ChangeIdx) -> bool) -> Option<ChangeIdx> {
        self.0.iter().rev().take(LATEST).copied().find(|row| is(*row))
    }

    /// Charges the budget for a change that replaces some of the heads.
    #[inline]
    pub(crate) fn pay(&self, budget: &mut Budget) -> Result<(), LimitError> {
        budget.spend((self.0.len() / MOVED) as u64, cost::GLANCE)
    }

    /// Positions of the heads among `deps`, which are unordered and may contain duplicates.
    fn positions_of(&self, deps: &[ChangeIdx]) -> SmallVec<[usize; 4]> {
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
        ChangeIdx::from_u32(number)
    }

    fn rows<const N: usize>(numbers: [u32; N]) -> [ChangeIdx; N] {
        numbers.map(row)
    }

    #[test]
    fn dependencies_of_a_new_change_cease_to_be_heads() {
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
