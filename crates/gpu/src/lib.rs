//! Graphics processors as engines of Hashmill, found at run time.
//!
//! | I have | I call |
//! |---|---|
//! | the question what there is | [`wgpu::devices`] |
//! | bytes in a buffer of a device | [`wgpu::Blake3::hash_buffer`] |
//! | many short messages | [`wgpu::Blake3::hash_many`] |
//! | passwords or keys for Argon2 | [`wgpu::Argon2::hash`] |
//! | a proof of work | [`wgpu::Nonces`], an engine for nonces |
//! | files, and a device that should hash them | [`wgpu::Subtrees`], an engine for `hashmill_files::Files` |
//!
//! Each device is asked for known digests and tags before it is trusted. What it gives is bit for bit what the processor gives, or
//! an [`Error`]; nothing here panics because a driver is missing, refuses, or goes away.
//!
//! With the feature `wgpu` devices are spoken to by Vulkan, Metal or DirectX 12. Without it there are none.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(
    not(feature = "wgpu"),
    allow(rustdoc::broken_intra_doc_links, reason = "what the table names is not there")
)]

#[cfg(feature = "wgpu")]
mod argon2;
#[cfg(feature = "wgpu")]
mod blake3;
#[cfg(feature = "wgpu")]
mod cut;
mod error;
mod info;
#[cfg(feature = "wgpu")]
mod subtrees;
#[cfg(feature = "wgpu")]
pub mod wgpu;

pub use error::{Error, Refusal};
pub use info::{Info, Kind, best, why_processor};

/// What the page of the crate shows compiles.
#[cfg(all(doctest, feature = "wgpu"))]
#[doc = include_str!("../README.md")]
struct Readme;
