//! Tests of sync and of replicas that converge.

pub(crate) mod convergence;
mod hub;
mod limits;
mod many_writers;
mod missing;
mod two_peers;
