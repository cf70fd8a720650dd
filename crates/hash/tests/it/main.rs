//! BLAKE3 and passwords as their users see them: the public surface of `hashmill_hash`, one module per behaviour, every kernel each time.
//!
//! What a feature brings is tested where the feature is on; `cargo xtask features` turns each on and off.
//!
//! Expected values come from the official vectors and from the naive oracle of `testkit`; comparisons with the
//! official crate are in `crates/rivals`.
#![forbid(unsafe_code)]

#[cfg(feature = "std")]
mod argon2_memory;
mod batch;
#[cfg(feature = "std")]
mod constant_time;
mod digest;
mod edges;
#[cfg(feature = "foreign")]
mod foreign;
#[cfg(feature = "std")]
mod io;
mod modes;
mod output;
#[cfg(feature = "std")]
mod parallel;
#[cfg(feature = "password-hash")]
mod password_traits;
#[cfg(feature = "std")]
mod passwords;
#[cfg(feature = "std")]
mod phc;
mod placement;
mod plans;
#[cfg(feature = "std")]
mod pow;
mod secrets;
#[cfg(feature = "std")]
mod silent;
#[cfg(feature = "std")]
mod stack;
mod stream;
#[cfg(feature = "std")]
mod subtree_engine;
mod subtrees;
#[cfg(feature = "digest")]
mod traits;
mod vectors;
