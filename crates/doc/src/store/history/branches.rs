//! Branches: which copy of a document appended each change. An identifier by row is valid only in that copy and in
//! copies made from it afterwards.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::store::memory::cow_vec::CowVec;
use crate::types::ChangeIdx;

/// Identity of one copy of a document in this process. Another copy has another branch, even with equal contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Branch(NonZeroU64);

impl Branch {
    /// A new branch, different from all others.
    pub(crate) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        Self(NonZeroU64::new(number).expect("no process makes 2^64 copies"))
    }
}

/// The branch that appended each row, as ranges of rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Branches {
    before: CowVec<(ChangeIdx, Branch)>,
    /// Most documents contain only their own branch.
    last: Option<(ChangeIdx, Branch)>,
}

impl Branches {
    /// The rows from `row` on, none of which exists yet, will be appended by `branch`.
    #[inline]
    pub(crate) fn advance(&mut self, row: ChangeIdx, branch: Branch) {
        if self.last.is_none_or(|(_, last)| last != branch) {
            self.begin(row, branch);
        }
    }

    fn begin(&mut self, row: ChangeIdx, branch: Branch) {
        // A previous entry with the same start appended no rows.
        if let Some(last) = self.last.replace((row, branch)).filter(|(first, _)| *first < row) {
            self.before.push(last);
        }
    }

    /// Was an existing row appended by `branch`?
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
    fn each_row_has_the_branch_that_appended_it() {
        let [a, b, c] = [Branch::new(), Branch::new(), Branch::new()];
        let mut branches = Branches::default();
        assert!(!branches.added(ChangeIdx::default(), a));
        // b appends nothing at 3 before c does.
        [(0, a), (0, a), (3, b), (3, c), (5, c), (9, a)]
            .iter()
            .for_each(|(row, by)| branches.advance(ChangeIdx::from_u32(*row), *by));
        let added = |row| [a, b, c].map(|branch| branches.added(ChangeIdx::from_u32(row), branch));
        assert_eq!([0, 2].map(added), [[true, false, false]; 2]);
        assert_eq!([3, 8].map(added), [[false, false, true]; 2]);
        assert_eq!([9, 20].map(added), [[true, false, false]; 2]);
    }
}
