//! Tests of the binary as a user runs it.

mod display;
#[cfg(feature = "doc")]
mod documents;
mod engines;
mod help;
#[cfg(feature = "lab")]
mod lab;
mod lists;
mod passwords;
#[cfg(feature = "serve")]
mod serve;
#[cfg(all(feature = "gpu", target_os = "linux"))]
#[path = "../../../gpu/tests/shim/mod.rs"]
mod shim;
mod sum;
mod world;
