//! What is said of a row: a digest, or why there is none.

use std::fmt;

/// What an object was found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its digest.
    pub blake3: [u8; 32],
    /// How many bytes were hashed.
    pub size: u64,
    /// What its store calls this state of it.
    pub etag: Option<String>,
    /// The version that its store gave, where it keeps several.
    pub version: Option<String>,
}

/// Why a row has no digest, in few words that stay the same: what programs go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// The row itself: it names nothing that can be asked for.
    Row,
    /// There is no such object, bucket or version.
    Missing,
    /// The store refuses it, or the allow-list does not have it.
    Denied,
    /// It is another object than the one that is listed, or became another one while it was read.
    Changed,
    /// Everything else: a network that breaks, a server that fails, a disk.
    Failed,
}

impl Kind {
    /// All of them, in the order in which they are counted.
    pub const ALL: [Kind; 5] = [Kind::Row, Kind::Missing, Kind::Denied, Kind::Changed, Kind::Failed];

    /// As it is written in the column `status`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Row => "row",
            Kind::Missing => "missing",
            Kind::Denied => "denied",
            Kind::Changed => "changed",
            Kind::Failed => "failed",
        }
    }
}

/// Why a row has no digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// In one word.
    pub kind: Kind,
    /// For people.
    pub words: String,
}

impl Failure {
    pub(crate) fn new(kind: Kind, words: impl Into<String>) -> Failure {
        Failure { kind, words: words.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.words)
    }
}

impl std::error::Error for Failure {}

/// What is said of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What the row named, if it named anything.
    pub url: Option<String>,
    /// What was found there.
    pub result: Result<Found, Failure>,
    /// Whether the digest is the listed one. `None` where nothing was listed, or there is no digest.
    pub matches: Option<bool>,
}

/// How many rows had which answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// All rows.
    pub rows: u64,
    /// Those that have a digest.
    pub hashed: u64,
    /// The bytes of these.
    pub bytes: u64,
    /// Those whose digest is the listed one.
    pub matched: u64,
    /// Those whose digest is another than the listed one.
    pub mismatched: u64,
    /// Those without a digest, by [`Kind::ALL`].
    pub failed: [u64; Kind::ALL.len()],
}

impl Summary {
    pub(crate) fn add(&mut self, answer: &Answer) {
        self.rows += 1;
        match &answer.result {
            Ok(found) => {
                self.hashed += 1;
                self.bytes = self.bytes.saturating_add(found.size);
            }
            Err(failure) => self.failed[failure.kind as usize] += 1,
        }
        match answer.matches {
            Some(true) => self.matched += 1,
            Some(false) => self.mismatched += 1,
            None => {}
        }
    }

    pub(crate) fn merge(&mut self, other: &Summary) {
        self.rows += other.rows;
        self.hashed += other.hashed;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.matched += other.matched;
        self.mismatched += other.mismatched;
        self.failed.iter_mut().zip(other.failed).for_each(|(sum, more)| *sum += more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_counted_in_their_order() {
        for (place, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place);
            let mut summary = Summary::default();
            summary.add(&Answer { url: None, result: Err(Failure::new(kind, "x")), matches: None });
            assert_eq!(summary.failed.iter().position(|count| *count == 1), Some(place));
        }
    }
}
