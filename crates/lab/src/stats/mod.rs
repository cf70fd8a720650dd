//! Statistics of a comparison: pure functions from samples to a verdict.
//!
//! Nothing here reads a clock, rounds, or draws a number that is not seeded by a constant. So the raw samples of a
//! report give the same verdict on every machine. Every input is a slice of finite numbers; the report checker
//! guarantees that for data from outside.

pub(crate) mod binomial;
pub(crate) mod cache_level;
pub(crate) mod change;
pub(crate) mod layout;
pub(crate) mod order;
pub(crate) mod order_rng;
pub(crate) mod paired;
pub(crate) mod ratio;
pub(crate) mod signed_rank;
pub(crate) mod trend;
pub(crate) mod verdict;

/// Maximum number of sessions in a comparison. The exact tables grow with its square.
pub(crate) const MAX_SESSIONS: usize = 400;
