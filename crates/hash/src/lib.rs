//! BLAKE3, Argon2 and password strings, with their CPU kernels. No I/O, no environment, and no global state except the
//! detected CPU features and the plan for them.
//!
//! | I have | I call |
//! |---|---|
//! | bytes in memory | [`blake3::hash`] |
//! | bytes that arrive in pieces | [`blake3::Hasher`] |
//! | many messages | [`blake3::batch`] |
//! | parts of a large input, or a device that computes them | [`blake3::hazmat`], [`engine`] |
//! | passwords to store and verify | [`password`] |
//! | another use of Argon2 | [`argon2`] |
//! | a question about this processor | [`blake3::Plan`], [`kernels`], [`isa`] |
//!
//! ```
//! use hashmill_hash::blake3;
//!
//! let mut hasher = blake3::Hasher::new();
//! hasher.update(b"some ").update(b"bytes");
//! assert_eq!(hasher.finalize(), blake3::hash(b"some bytes"));
//! ```
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), warn(clippy::disallowed_types))]

pub mod argon2;
pub mod blake3;
#[cfg(feature = "std")]
pub mod engine;
pub mod hex;
pub mod isa;
pub mod kernels;
#[cfg(feature = "std")]
pub mod password;
#[cfg(feature = "std")]
pub mod process;
mod stack_wipe;
mod stop;
#[cfg(feature = "std")]
mod work_sharing;

/// Compiles and runs the examples of the crate's page.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
struct Readme;
