//! Statistics of a comparison: pure functions from samples to numbers to a verdict.
//!
//! Nothing here draws a random number, reads a clock or rounds: whoever holds the raw samples of a report
//! gets the same verdict from the same functions. Every input is a slice of finite numbers; the report checker
//! guarantees that for data which came from outside.

pub(crate) mod binomial;
#[cfg(test)]
pub(crate) mod chance;
pub(crate) mod change;
pub(crate) mod layout;
pub(crate) mod order;
pub(crate) mod paired;
pub(crate) mod ratio;
pub(crate) mod signed_rank;
pub(crate) mod trend;
pub(crate) mod verdict;

/// Most sessions that one comparison may hold. The exact tables grow with the square of it.
pub(crate) const MAX_SESSIONS: usize = 400;
