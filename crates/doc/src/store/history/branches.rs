//! Which copy of a document each change was written to: what names a change by its row is true there alone, and in copies
//! made afterwards.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::store::memory::cow_vec::CowVec;
use crate::types::ChangeIdx;

/// One copy of a document in this process. Another copy is another branch, whatever it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Branch(NonZeroU64);

impl Branch {
    /// One that nothing else has.
    pub(crate) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        Self(NonZeroU64::new(number).expect("no process makes 2^64 copies"))
    }
}

/// From rows on to the branch that added them, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Branches {
    before: CowVec<(ChangeIdx, Branch)>,
    /// Most documents know no other than their own.
    last: Option<(ChangeIdx, Branch)>,
}

impl Branches {
    /// The rows from `row` on, of which there are none yet, are added by `branch`.
    #[inline]
    pub(crate) fn advance(&mut self, row: ChangeIdx, branch: Branch) {
        if self.last.is_none_or(|(_, last)| last != branch) {
            self.begin(row, branch);
        }
    }

    fn begin(&mut self, row: ChangeIdx, branch: Branch) {
        // Who is to add rows from the same one on has not added any.
        if let Some(last) = self.last.replace((row, branch)).filter(|(first, _)| *first < row) {
            self.before.push(last);
        }
    }

    /// Whether a row, which is there, was added by `branch`.
    pub(crate) fn added(&self, row: ChangeIdx, branch: Branch) -> bool {
        if let Some((_, last)) = self.last.filter(|(first, _)| *first <= row) {
            return last == branch;
        }
        let (mut low, mut high) = (0, self.before.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.before[middle].0 <= row {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low > 0 && self.before[low - 1].1 == branch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_its_branch_s() {
        let [a, b, c] = [Branch::new(), Branch::new(), Branch::new()];
        let mut branches = Branches::default();
        assert!(!branches.added(ChangeIdx::default(), a));
        // Nobody adds anything at 3 before another does.
        [(0, a), (0, a), (3, b), (3, c), (5, c), (9, a)]
            .iter()
            .for_each(|(row, by)| branches.advance(ChangeIdx::of(*row), *by));
        let added = |row| [a, b, c].map(|branch| branches.added(ChangeIdx::of(row), branch));
        assert_eq!([0, 2].map(added), [[true, false, false]; 2]);
        assert_eq!([3, 8].map(added), [[false, false, true]; 2]);
        assert_eq!([9, 20].map(added), [[true, false, false]; 2]);
    }
}
