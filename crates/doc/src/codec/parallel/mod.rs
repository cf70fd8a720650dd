//! Parallel execution with the feature `threads`, sequential execution without it. Results are the same.

#[cfg(feature = "threads")]
mod pool;
mod serial;

#[cfg(feature = "threads")]
pub(crate) use pool::{join, map};
#[cfg(not(feature = "threads"))]
pub(crate) use serial::{join, map};
