//! Earlier versions of a document: reading them, comparing them, and returning to them.
//!
//! Each using only those before it: [`clock`]; [`savepoint`]; [`at_heads`]; [`touched`], [`rollback`]; [`rewind`].

pub(crate) mod at_heads;
pub(crate) mod clock;
pub(crate) mod rewind;
pub(crate) mod rollback;
pub(crate) mod savepoint;
pub(crate) mod touched;
