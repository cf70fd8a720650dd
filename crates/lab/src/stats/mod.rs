//! Statistics of a comparison: pure functions from samples to numbers to a verdict.
//!
//! Nothing here draws a random number, reads a clock or rounds: whoever holds the raw samples of a report
//! gets the same verdict from the same functions. Every input is a slice of finite numbers; the report checker
//! guarantees that for data which came from outside.

pub mod binomial;
pub mod change;
pub mod layout;
pub mod order;
pub mod paired;
pub mod ratio;
pub mod signed_rank;
pub mod trend;
pub mod verdict;

/// Most sessions that one comparison may hold. The exact tables grow with the square of it.
pub const MAX_SESSIONS: usize = 400;
