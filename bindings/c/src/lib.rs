//! Libraries for C made of Hashmill's engines, two of them under the names that programs link already: only translation.
//!
//! One folder for each library; what is `unsafe` about its boundary is in its file `abi.rs`, or `pointers.rs`. `install` links them.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), warn(clippy::disallowed_types))]

/// cbindgen:ignore
pub mod argon2;
/// cbindgen:ignore
pub mod blake3;
mod hashmill;
