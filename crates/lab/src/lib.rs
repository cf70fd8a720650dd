//! Benchmarks that others can check: paired sessions, exact statistics, four verdicts.
//!
//! The crate knows workloads and engines only as traits that a program implements. Of the workspace's other crates it
//! uses `hashmill-machine` and `hashmill-atomic-file`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod bench;
mod builds;
pub mod cmd;
mod command_bench;
mod counters;
mod fingerprint;
mod measure;
pub mod model;
mod report;
#[cfg(feature = "gates")]
mod requirements;
mod stats;

pub use cmd::benches;
pub use stats::paired::rounds::{PairedRatio, median_of_rounds, paired_ratio};

/// The README's code compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The code of the guides compiles.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/from-criterion.md")]
    struct FromCriterion;
    #[doc = include_str!("../../../docs/from-divan.md")]
    struct FromDivan;
    #[doc = include_str!("../../../docs/from-hyperfine.md")]
    struct FromHyperfine;
}
