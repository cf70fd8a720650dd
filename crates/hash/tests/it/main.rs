//! Tests of the public interface of `hashmill_hash`, BLAKE3 and passwords: one module per behaviour, with
//! every kernel.
//!
//! Features are tested where they are enabled; `cargo xtask features` turns each on and off. Expected values
//! come from the official vectors and from the naive oracle of `testkit`; comparisons with the official crate
//! are in `crates/rivals`.
#![forbid(unsafe_code)]

#[cfg(feature = "std")]
mod argon2;
mod blake3;
#[cfg(feature = "std")]
mod password;
mod plans;
mod secrets;
mod tree;
