//! Graphics processors as engines of Hashmill, found at run time.
//!
//! | I have | I call |
//! |---|---|
//! | the question what there is | [`wgpu::devices`], [`cuda::devices`] |
//! | a device by its number, name or id | [`wgpu::Device::find`], [`cuda::Device::find`] |
//! | bytes in a buffer of a device | [`wgpu::Blake3::hash_buffer`], [`cuda::Blake3::hash_buffer`] |
//! | memory of another CUDA library | [`cuda::Device::borrow`] |
//! | bytes of the host that an NVIDIA card shall hash | [`cuda::Blake3::hash_bytes`]; without a copy, [`cuda::Device::registered`] |
//! | many short messages | [`wgpu::Blake3::hash_many`], [`cuda::Blake3::hash_many`] |
//! | passwords or keys for Argon2 | [`wgpu::Argon2::hash`], [`cuda::Argon2::hash`] |
//! | time to find out how a device is fastest | [`Tuning`], and for files [`Tiles`] |
//! | several devices, or the processor beside one | `Together` of `hashmill_hash::engine`, [`Budget`] for their memory |
//! | a proof of work | [`wgpu::Nonces`], [`cuda::Nonces`], engines for nonces |
//! | files, and a device that should hash them | [`wgpu::Subtrees`], [`cuda::Subtrees`], engines for `hashmill_files::Files` |
//!
//! Each device is asked for known digests and tags before it is trusted. What it gives is bit for bit what the processor gives, or
//! an [`Error`]; nothing here panics because a driver is missing, refuses, or goes away.
//!
//! With the feature `wgpu` devices are spoken to by Vulkan, Metal or DirectX 12, with `cuda` by NVIDIA's driver. Without either
//! there are none.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(
    not(all(feature = "cuda", feature = "wgpu")),
    allow(rustdoc::broken_intra_doc_links, reason = "what the table names is not there")
)]

#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod argon2;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod blake3;
mod budget;
#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod cut;
mod error;
mod info;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod subtrees;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod tiles;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod tuning;
#[cfg(feature = "wgpu")]
pub mod wgpu;

pub use budget::Budget;
pub use error::{Error, Refusal};
pub use info::{Info, Kind, best, find, why_processor};

#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use tiles::Tiles;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use tuning::{Tuning, TuningError};

/// What the page of the crate shows compiles.
#[cfg(all(doctest, feature = "cuda", feature = "wgpu"))]
#[doc = include_str!("../README.md")]
struct Readme;
