//! BLAKE3, Argon2 and the CPU kernels under them. No I/O, no environment, no global state beyond what the processor said of
//! itself and the plan for it.
//!
//! Start at [`blake3::hash`] for bytes in memory, [`blake3::Hasher`] for bytes that arrive in pieces,
//! [`blake3::batch`] for many messages at once. [`blake3::Plan`] tells which kernel does which size and why.
//! [`password`] stores and checks passwords, on top of [`argon2`].
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), warn(clippy::disallowed_types))]

pub mod argon2;
mod blake2b;
pub mod blake3;
#[cfg(feature = "std")]
pub mod engine;
pub mod isa;
pub mod kernels;
#[cfg(feature = "std")]
pub mod password;
#[cfg(feature = "std")]
pub mod process;
mod stop;
#[cfg(feature = "std")]
mod work_sharing;

/// What the page of the crate shows compiles and runs.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
struct Readme;
