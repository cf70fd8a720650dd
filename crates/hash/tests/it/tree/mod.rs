//! Trees: subtrees, engines for them, and parallel hashing.

#[cfg(feature = "std")]
mod parallel;
#[cfg(feature = "std")]
mod subtree_engine;
mod subtrees;
