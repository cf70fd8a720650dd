//! Work that parts of can be done side by side, and is, where there are threads: with the feature `threads`. Its results do
//! not depend on it.

mod in_turn;
#[cfg(feature = "threads")]
mod pool;

#[cfg(not(feature = "threads"))]
pub(crate) use in_turn::{join, map};
#[cfg(feature = "threads")]
pub(crate) use pool::{join, map};
