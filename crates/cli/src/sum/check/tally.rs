//! How many lines came out how, and the words for it.

use std::ops::AddAssign;

/// Results by kind. What counts as a failure is everything but `matched`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Tally {
    pub(super) matched: u64,
    /// The file has another digest.
    pub(super) differ: u64,
    pub(super) missing: u64,
    pub(super) unreadable: u64,
    /// Lines that say nothing that can be checked.
    pub(super) malformed: u64,
    /// Lines that `--strict` refuses.
    pub(super) refused: u64,
}

impl Tally {
    /// How many failures.
    pub(super) fn failures(&self) -> u64 {
        let Tally { matched: _, differ, missing, unreadable, malformed, refused } = *self;
        differ + missing + unreadable + malformed + refused
    }

    /// How many files have been hashed.
    pub(super) fn hashed(&self) -> u64 {
        self.matched + self.differ
    }

    /// How many lines say something, rightly or wrongly.
    pub(super) fn lines(&self) -> u64 {
        self.matched + self.failures()
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        let Tally { matched, differ, missing, unreadable, malformed, refused } = other;
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
    fn kinds_are_told_apart() {
        let mut tally = Tally { matched: 7, differ: 1, missing: 2, unreadable: 1, malformed: 0, refused: 3 };
        assert_eq!((tally.failures(), tally.hashed(), tally.lines()), (7, 8, 14));
        tally += Tally { malformed: 1, ..Tally::default() };
        assert_eq!((tally.malformed, tally.failures()), (1, 8));
    }
}
