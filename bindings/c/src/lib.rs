//! Libraries for C made of Hashmill's engines. Two of them replace libraries that programs already link. This crate only
//! translates.
//!
//! One folder for each library; the `unsafe` code of its boundary is in its file `abi.rs`, or `pointers.rs`. `install` links
//! them.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), warn(clippy::disallowed_types))]

/// cbindgen:ignore
pub mod argon2;
/// cbindgen:ignore
pub mod blake3;
mod hashmill;
