//! Rules of blobs: which references may be added, and when periods end.

use super::blob::BlobHash;
use super::chunk::Owner;
use crate::access::Access;

/// Outcome of an addition of a blob.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum AddOutcome {
    /// It is recorded. Changed counts of identities.
    Added(Vec<Owner>),
    /// The identity would have more bytes than its quota. Nothing changed.
    OverQuota,
}

/// A change of references.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReferenceChange {
    Add,
    Remove,
}

/// The record of an unfinished upload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct UploadRecord {
    pub(crate) name: String,
    pub(crate) blob: BlobHash,
    pub(crate) durable_bytes: u64,
    /// Time of the latest bytes, in seconds since 1970.
    pub(crate) at: u64,
}

/// State on which a new reference depends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReferenceState {
    /// Access of the identity to the document.
    pub(crate) access: Access,
    /// Is the document stored, and not deleted?
    pub(crate) has_document: bool,
    /// May the identity read the blob already? Else the hash alone would give the bytes to clients that know or guess it.
    pub(crate) is_readable: bool,
    /// Has the document the reference already?
    pub(crate) is_referenced: bool,
    /// Has the identity a claim, which the reference replaces?
    pub(crate) is_claimed: bool,
    /// Bytes of the blob.
    pub(crate) len: u64,
    /// Bytes that the identity may still store. `None`: any number.
    pub(crate) left_bytes: Option<u64>,
}

/// Outcome of a change of references.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub(crate) enum ReferenceOutcome {
    /// It is stored, as it was before or not.
    Done,
    /// There is no such document for this identity.
    NoDocument,
    /// There is no such blob for this identity, or no such reference.
    NoBlob,
    /// The identity may read the document, and not change it.
    Forbidden,
    /// The identity would have more bytes than its quota.
    OverQuota,
}

impl ReferenceState {
    /// May the reference be added?
    pub(crate) fn decide(self) -> ReferenceOutcome {
        if self.access == Access::Denied || !self.has_document {
            return ReferenceOutcome::NoDocument;
        }
        if self.access < Access::Write {
            return ReferenceOutcome::Forbidden;
        }
        if !self.is_readable {
            return ReferenceOutcome::NoBlob;
        }
        // A claim has the bytes already, and gives them to the reference.
        let counts_anew = !self.is_referenced && !self.is_claimed;
        if counts_anew && self.left_bytes.is_some_and(|left| self.len > left) {
            return ReferenceOutcome::OverQuota;
        }
        ReferenceOutcome::Done
    }
}

/// Is a period over that started at a time? All are in seconds. A clock that was set back ends none.
pub(crate) fn is_over(start: u64, period: u64, now: u64) -> bool {
    now.checked_sub(start).is_some_and(|age| age >= period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_need_the_right_the_document_and_the_blob() {
        let sound = ReferenceState {
            access: Access::Write,
            has_document: true,
            is_readable: true,
            is_referenced: false,
            is_claimed: false,
            len: 10,
            left_bytes: Some(10),
        };
        for (state, expected) in [
            (sound, ReferenceOutcome::Done),
            (ReferenceState { access: Access::Denied, ..sound }, ReferenceOutcome::NoDocument),
            (ReferenceState { has_document: false, ..sound }, ReferenceOutcome::NoDocument),
            // An absent document and a denied one have one answer, whatever else there is.
            (
                ReferenceState { access: Access::Read, has_document: false, ..sound },
                ReferenceOutcome::NoDocument,
            ),
            (ReferenceState { access: Access::Read, ..sound }, ReferenceOutcome::Forbidden),
            (ReferenceState { is_readable: false, ..sound }, ReferenceOutcome::NoBlob),
            (ReferenceState { left_bytes: Some(9), ..sound }, ReferenceOutcome::OverQuota),
            (ReferenceState { left_bytes: Some(0), is_claimed: true, ..sound }, ReferenceOutcome::Done),
            (ReferenceState { left_bytes: Some(0), is_referenced: true, ..sound }, ReferenceOutcome::Done),
            (ReferenceState { left_bytes: None, ..sound }, ReferenceOutcome::Done),
        ] {
            assert_eq!(state.decide(), expected, "{state:?}");
        }
    }

    #[test]
    fn periods_end_by_the_clock() {
        for (start, period, now, expected) in [
            (5, 10, 14, false),
            (5, 10, 15, true),
            (5, 0, 5, true),
            (5, 0, 4, false),
            (5, u64::MAX, u64::MAX, false),
        ] {
            assert_eq!(is_over(start, period, now), expected, "{start} {period} {now}");
        }
    }
}
