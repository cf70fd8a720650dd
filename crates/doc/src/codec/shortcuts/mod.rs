//! Shortcuts: what most documents do most of the time, without the general path's sixteen columns, copies or waiting.
//!
//! The law of all of them: a shortcut gives, byte for byte and value for value, what the general path gives, or it gives
//! nothing and the general path is taken. It decides nothing of its own: what it reads keeps the same [rules](crate::rules)
//! and costs the same [budget](super::limits::Budget).
//!
//! | shortcut | instead of | where it is taken |
//! |---|---|---|
//! | [`single`]: a change with one typed or deleted character ([`single_char`]) or one short put ([`put`]), out of [`literals`], into a [`block`] | reading, writing and applying columns | `Change::from_body`, `State::apply`, `State::write_one` |
//! | [`unhashed`]: changes of one run, written by another thread before their hashes are known | writing one after the other | `State::hash_all` |
//! | rows of one key written again and again ([`runs`](super::runs)) | a row at a time | loading and saving |
//! | what a save said of such keys (`outgoing/save_cache.rs`) | following each key back | saving |
//! | one run of characters typed or deleted, or one write to a key (`patch/direct.rs`) | comparing two moments | `Observer`, `Document::transact_with_patches`, `AutoCommit::diff_incremental` |
//! | later changes taken back (`store/back.rs`) | making a document anew | `Document::fork_at` and what writes in one |
//! | [`kept`]: the columns that a document was loaded from | writing anew | the first save after a load |
//! | [`kept_rows`]: those of them that nobody touched | writing them anew | saves after a load and some edits |
//!
//! [`Shortcuts`] turns all of them off, or on however little there is to gain: the tests of this crate and the mutation
//! runner take every document by each of its ways and compare. Two things are none of these. Runs of insertions and deletions
//! are what a document is made of, and its limits depend on it. Merging in one process (`incoming/adopt.rs`) trusts what the
//! other document judged, so it costs less than its changes would as bytes.

pub(crate) mod block;
pub(crate) mod kept;
pub(crate) mod kept_rows;
mod literals;
pub(crate) mod put;
pub(crate) mod single;
pub(crate) mod single_char;
pub(crate) mod unhashed;

/// Whether shortcuts are taken. The result does not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortcuts {
    /// From the sizes on from which they pay.
    Usual,
    /// Wherever they can be.
    Always,
    /// Nowhere: what tests compare with.
    Never,
}

impl Shortcuts {
    /// The feature `general` is for running all tests on the general paths.
    pub const DEFAULT: Self = if cfg!(feature = "general") { Self::Never } else { Self::Usual };

    #[inline]
    pub(crate) fn taken(self) -> bool {
        self != Self::Never
    }

    /// Whether one that pays from `least` on is taken for `size`. One alone of anything is never worth it.
    #[inline]
    pub(crate) fn pay(self, size: usize, least: usize) -> bool {
        match self {
            Self::Usual => size >= least,
            Self::Always => size > 1,
            Self::Never => false,
        }
    }
}
