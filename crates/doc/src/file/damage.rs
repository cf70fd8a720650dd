//! Damaged parts of files: reports of losses, and the search for the next chunk.

use std::ops::Range;

use crate::codec::chunks::container::MAGIC;
use crate::types::error::{LimitError, LoadError};

/// Maximum number of passes over a file in search of chunks.
const PASSES: usize = 32;

/// A part of a file that could not be loaded.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Loss {
    /// Range of bytes in the file.
    pub bytes: Range<usize>,
    /// The error that prevented loading it.
    pub reason: LoadError,
    /// Recovered part.
    pub recovered: RecoveryLevel,
}

/// Extent of what was recovered from a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryLevel {
    /// Nothing.
    Nothing,
    /// The visible contents, without the history: other copies of the document cannot be merged with it.
    Values,
    /// All changes, with hashes computed from the contents, which differ from those in the file.
    Contents,
}

/// Remaining number of bytes that may be read in search of chunks.
pub(crate) struct ScanBudget(usize);

impl ScanBudget {
    pub(crate) fn over(bytes: &[u8]) -> Self {
        Self(bytes.len().saturating_mul(PASSES))
    }

    pub(crate) fn spend(&mut self, bytes: usize) {
        self.0 = self.0.saturating_sub(bytes);
    }

    /// Error if the remaining bytes are used up.
    pub(crate) fn are_over(&self) -> Option<LoadError> {
        let limit = LimitError { what: "passes over a damaged file", limit: PASSES as u64 };
        (self.0 == 0).then(|| limit.into())
    }
}

/// Lower bound of the distance to the next chunk.
pub(crate) fn distance_to_next(rest: &[u8]) -> usize {
    let start = rest.windows(MAGIC.len()).skip(1).position(|bytes| bytes == MAGIC);
    start.map_or(rest.len(), |at| at + 1)
}
