//! Measuring so that a stranger can check the result: paired sessions, exact statistics, four verdicts.
//!
//! The crate knows workloads and engines only as traits that a program hands in, and depends on no other
//! crate of the workspace.
#![forbid(unsafe_code)]

mod build;
mod campaign;
mod claim;
pub mod clock;
pub mod cmd;
mod count;
mod fingerprint;
mod gate;
pub mod host;
mod import;
pub mod memory;
pub mod model;
pub mod plan;
mod probe;
mod profile;
pub mod report;
mod session;
pub mod stats;
mod time;
pub mod tune;
