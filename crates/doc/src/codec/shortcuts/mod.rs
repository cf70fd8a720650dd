//! Shortcuts: fast paths for frequent cases, which avoid the general path's sixteen columns, copies or waiting.
//!
//! Rule for all of them: a shortcut gives the same bytes and values as the general path, or nothing, and then the
//! general path is used. It makes no decisions of its own: its input is subject to the same [rules](crate::codec::rules) and
//! costs the same [budget](crate::codec::limits::Budget).
//!
//! | shortcut | general path | where it is used |
//! |---|---|---|
//! | [`single`]: a change with one typed or deleted character ([`single_char`]) or one short put ([`put`]), from [`literals`] into a [`block`] | reading, writing and applying columns | `Change::from_body`, `DocumentState::apply`, `DocumentState::write_one` |
//! | [`deferred_hash`]: changes of one run, encoded by another thread before their hashes are known | encoding one after the other | `DocumentState::hash_all` |
//! | rows of one overwritten key ([`runs`](crate::codec::ops::runs)) | row by row | load and save |
//! | cached history of such a key (`outgoing/save_cache.rs`) | following the chain of each key | save |
//! | one run of characters typed or deleted, or one write to a key (`patch/text_fast_path.rs`) | comparing two points of the history | `Observer`, `Document::transact_with_patches`, `AutoCommit::diff_incremental` |
//! | reverting later changes (`versions/rewind.rs`) | rebuilding the document | `Document::fork_at` and transactions at earlier heads |
//! | [`original_columns`]: original columns of a loaded document | encoding anew | the first save after a load |
//! | [`original_rows`]: original rows of untouched objects | encoding anew | saves after a load and some edits |
//!
//! [`Shortcuts`] disables all of them, or enables them for any size: the tests of this crate and the mutation runner
//! process every document in each mode and compare. Two optimizations are not shortcuts. Runs of insertions and
//! deletions are the representation of a document, and its limits depend on them. A merge in one process
//! (`incoming/adopt.rs`) trusts the checks of the other document, so it costs less than the same changes as bytes.

pub(crate) mod block;
pub(crate) mod deferred_hash;
pub(crate) mod keystroke;
mod literals;
pub(crate) mod original_columns;
pub(crate) mod original_rows;
pub(crate) mod put;
pub(crate) mod single;
pub(crate) mod single_char;

/// Selects when shortcuts are used. The result does not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortcuts {
    /// From the sizes on at which they pay off.
    Usual,
    /// Wherever possible.
    Always,
    /// Nowhere: the reference for comparisons.
    Never,
}

impl Shortcuts {
    /// The feature `general` runs all tests on the general paths.
    pub const DEFAULT: Self = if cfg!(feature = "general") { Self::Never } else { Self::Usual };

    #[inline]
    pub(crate) fn taken(self) -> bool {
        self != Self::Never
    }

    /// Is a shortcut that pays off from `least` on used for `size`? Never for a single item.
    #[inline]
    pub(crate) fn pay(self, size: usize, least: usize) -> bool {
        match self {
            Self::Usual => size >= least,
            Self::Always => size > 1,
            Self::Never => false,
        }
    }
}
