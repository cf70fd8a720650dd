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

    /// A warning for each kind of failure.
    pub(super) fn warnings(&self) -> Vec<String> {
        let kind = |count: u64, one: &str, more: &str| match count {
            0 => None,
            1 => Some(format!("WARNING: 1 {one}")),
            _ => Some(format!("WARNING: {count} {more}")),
        };
        [
            kind(self.differ, "computed checksum did NOT match", "computed checksums did NOT match"),
            kind(self.missing, "listed file does not exist", "listed files do not exist"),
            kind(self.unreadable, "listed file could not be read", "listed files could not be read"),
            kind(self.malformed, "line is no checksum", "lines are no checksums"),
            kind(self.refused, "line was refused", "lines were refused"),
        ]
        .into_iter()
        .flatten()
        .collect()
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
        assert_eq!(
            tally.warnings(),
            [
                "WARNING: 1 computed checksum did NOT match",
                "WARNING: 2 listed files do not exist",
                "WARNING: 1 listed file could not be read",
                "WARNING: 1 line is no checksum",
                "WARNING: 3 lines were refused",
            ]
        );
        assert!(Tally { matched: 1, ..Tally::default() }.warnings().is_empty());
    }
}
