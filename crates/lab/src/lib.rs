//! Measuring so that a stranger can check the result: paired sessions, exact statistics, four verdicts.
//!
//! The crate knows workloads and engines only as traits that a program hands in. Of the workspace's other crates it
//! uses the machine's facts alone.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod bench;
mod build;
mod campaign;
#[cfg(feature = "gates")]
mod claim;
pub mod cmd;
mod commands;
mod count;
mod fingerprint;
#[cfg(feature = "gates")]
mod gate;
mod import;
pub mod model;
mod plan;
mod probe;
mod profile;
mod report;
mod session;
mod stats;

pub use bench::benches;

/// What the page of the crate shows compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// What the pages for newcomers show compiles.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/from-criterion.md")]
    struct FromCriterion;
    #[doc = include_str!("../../../docs/from-divan.md")]
    struct FromDivan;
    #[doc = include_str!("../../../docs/from-hyperfine.md")]
    struct FromHyperfine;
}
