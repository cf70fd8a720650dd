//! Number of list lines by result.

use std::ops::AddAssign;

/// Number of lines by result. All but `matched` are failures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct LineCounts {
    pub(super) matched: u64,
    /// The digest differs.
    pub(super) differ: u64,
    pub(super) missing: u64,
    pub(super) unreadable: u64,
    /// Lines that cannot be parsed or checked.
    pub(super) malformed: u64,
    /// Lines that `--strict` refuses.
    pub(super) refused: u64,
}

impl LineCounts {
    /// Number of failures.
    pub(super) fn failures(&self) -> u64 {
        let LineCounts { matched: _, differ, missing, unreadable, malformed, refused } = *self;
        differ + missing + unreadable + malformed + refused
    }

    /// Number of hashed files.
    pub(super) fn hashed(&self) -> u64 {
        self.matched + self.differ
    }

    /// Number of lines with a result.
    pub(super) fn lines(&self) -> u64 {
        self.matched + self.failures()
    }
}

impl AddAssign for LineCounts {
    fn add_assign(&mut self, other: LineCounts) {
        let LineCounts { matched, differ, missing, unreadable, malformed, refused } = other;
        self.matched += matched;
        self.differ += differ;
        self.missing += missing;
        self.unreadable += unreadable;
        self.malformed += malformed;
        self.refused += refused;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_result() {
        let mut counts =
            LineCounts { matched: 7, differ: 1, missing: 2, unreadable: 1, malformed: 0, refused: 3 };
        assert_eq!((counts.failures(), counts.hashed(), counts.lines()), (7, 8, 14));
        counts += LineCounts { malformed: 1, ..LineCounts::default() };
        assert_eq!((counts.malformed, counts.failures()), (1, 8));
    }
}
