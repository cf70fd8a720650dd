//! Results of rows: a digest, or the reason why there is none.

use std::fmt;

/// Digest and properties of an object that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectDigest {
    /// Digest of the object.
    pub blake3: [u8; 32],
    /// Number of bytes hashed.
    pub size: u64,
    /// Entity tag of the state that was read.
    pub etag: Option<String>,
    /// Version id, if the store has versions.
    pub version: Option<String>,
}

/// Kind of a failure. The names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FailureKind {
    /// The row is invalid: it names no object that can be requested.
    Row,
    /// The object, bucket or version does not exist.
    Missing,
    /// The store or the allow-list refuses access.
    Denied,
    /// The object is not the listed one, or changed while it was read.
    Changed,
    /// Any other error: of a network, a server or a disk.
    Failed,
}

impl FailureKind {
    /// All kinds, in the order of [`Summary::failed`].
    pub const ALL: [FailureKind; 5] = [
        FailureKind::Row,
        FailureKind::Missing,
        FailureKind::Denied,
        FailureKind::Changed,
        FailureKind::Failed,
    ];

    /// Value of the column `status`.
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Row => "row",
            FailureKind::Missing => "missing",
            FailureKind::Denied => "denied",
            FailureKind::Changed => "changed",
            FailureKind::Failed => "failed",
        }
    }
}

/// Reason why a row has no digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Kind of the failure.
    pub kind: FailureKind,
    /// Message for users.
    pub words: String,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, words: impl Into<String>) -> Failure {
        Failure { kind, words: words.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.words)
    }
}

impl std::error::Error for Failure {}

/// Result of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowResult {
    /// Name in the row, if there is one.
    pub url: Option<String>,
    /// The digest, or why there is none.
    pub result: Result<ObjectDigest, Failure>,
    /// Whether the digest equals the listed one. `None` if no digest is listed or there is no result.
    pub matches: Option<bool>,
}

/// Numbers of rows by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// All rows.
    pub rows: u64,
    /// Rows with a digest.
    pub hashed: u64,
    /// Bytes of the objects of these rows.
    pub bytes: u64,
    /// Rows whose digest equals the listed one.
    pub matched: u64,
    /// Rows whose digest differs from the listed one.
    pub mismatched: u64,
    /// Rows without a digest, by [`FailureKind::ALL`].
    pub failed: [u64; FailureKind::ALL.len()],
}

impl Summary {
    pub(crate) fn add(&mut self, result: &RowResult) {
        self.rows += 1;
        match &result.result {
            Ok(found) => {
                self.hashed += 1;
                self.bytes = self.bytes.saturating_add(found.size);
            }
            Err(failure) => self.failed[failure.kind as usize] += 1,
        }
        match result.matches {
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
        for (index, kind) in FailureKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
            let mut summary = Summary::default();
            summary.add(&RowResult { url: None, result: Err(Failure::new(kind, "x")), matches: None });
            assert_eq!(summary.failed.iter().position(|count| *count == 1), Some(index));
        }
    }
}
