//! How much memory an input may ask for.

use crate::error::LimitError;

/// Limits on what one call may read. A few bytes of run-length encoding or DEFLATE can stand for gigabytes; these
/// bound them before anything is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that one chunk may inflate to, all columns together.
    pub inflated_bytes: u64,
    /// Operations in one change, and in one document chunk.
    pub operations: u64,
    /// Operations of a document, before changes from elsewhere are refused: many small chunks add up.
    pub total: u64,
    /// Changes in one document chunk or bundle.
    pub changes: u64,
}

impl Default for Limits {
    /// One gibibyte, 2^26 operations at once and 2^27 in all, 2^26 changes: above any document known. They bound what an
    /// input may cost, at some seconds and some gigabytes; who reads from strangers sets them lower.
    fn default() -> Self {
        Self { inflated_bytes: 1 << 30, operations: 1 << 26, total: 1 << 27, changes: 1 << 26 }
    }
}

impl Limits {
    /// Whether a document may have so many operations.
    pub(crate) fn check_total(&self, operations: u64) -> Result<(), LimitError> {
        let limit = self.total;
        if operations > limit { Err(LimitError { what: "operations in all", limit }) } else { Ok(()) }
    }
}
