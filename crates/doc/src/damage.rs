//! Damaged parts of files: what was lost, and where to read on.

use std::ops::Range;

use crate::codec::chunk::MAGIC;
use crate::error::{LimitError, LoadError};

/// How often all bytes of a file may be read while looking for where a chunk starts.
const PASSES: usize = 32;

/// A part of a file that could not be loaded.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Loss {
    /// Where in the file.
    pub bytes: Range<usize>,
    /// Why.
    pub why: LoadError,
    /// Part of it that the document has.
    pub kept: Kept,
}

/// What was kept of a part that could not be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Nothing.
    Nothing,
    /// What can be seen in it, without its history: other copies of the document cannot be merged with it.
    Values,
    /// Everything, under the names that follow from the contents and not under those that the file gives.
    Contents,
}

/// How many bytes may still be read while looking for where a chunk starts.
pub(crate) struct Passes(usize);

impl Passes {
    pub(crate) fn over(bytes: &[u8]) -> Self {
        Self(bytes.len().saturating_mul(PASSES))
    }

    pub(crate) fn spend(&mut self, bytes: usize) {
        self.0 = self.0.saturating_sub(bytes);
    }

    /// Why no more bytes may be read.
    pub(crate) fn are_over(&self) -> Option<LoadError> {
        let limit = LimitError { what: "passes over a damaged file", limit: PASSES as u64 };
        (self.0 == 0).then(|| limit.into())
    }
}

/// How far the next chunk is at least.
pub(crate) fn distance_to_next(rest: &[u8]) -> usize {
    let start = rest.windows(MAGIC.len()).skip(1).position(|bytes| bytes == MAGIC);
    start.map_or(rest.len(), |at| at + 1)
}
