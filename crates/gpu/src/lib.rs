//! Graphics processors as engines of Hashmill, found at run time.
//!
//! | I have | I call |
//! |---|---|
//! | a machine | [`BackEnd::devices`]: its devices, with names, kinds and memory |
//! | a device by its number, name or id | [`Device::open`] |
//! | bytes on a device | [`Blake3::hash_buffer`] |
//! | bytes of the host | [`Blake3::hash_bytes`]; without a copy by the host, [`Device::registered`] |
//! | many short messages | [`Blake3::hash_many`] |
//! | files | [`Device::subtrees`], an engine for `hashmill_files::Files` |
//! | passwords or keys for Argon2 | [`Device::argon2`], for many at a time |
//! | a proof of work | [`Device::nonces`], a nonce engine; `RangeSearch` of `hashmill_hash::engine` for several |
//! | several devices, or the processor beside one | `EngineGroup` of `hashmill_hash::engine`; the crate `hashmill-engines` accounts for their memory |
//! | a device to tune | [`Tuning`], and for files [`Tiles`] |
//! | memory of another CUDA library, or a device of wgpu | [`Device::borrow`], [`Device::from_wgpu`] |
//! | an error | [`Error::fault`]: caller, machine, driver or device |
//!
//! Each engine tests its device with known digests or tags before its first answer. Results are bit for bit those of
//! the processor, or an [`Error`]. A driver that is missing or fails, and a device that is lost, cause no panic.
//!
//! The feature `wgpu` uses devices through Vulkan, Metal or DirectX 12, the feature `cuda` through NVIDIA's
//! driver. Without either there are no devices.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(
    not(all(feature = "cuda", feature = "wgpu")),
    allow(rustdoc::broken_intra_doc_links, reason = "the table names items of both features")
)]

#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod argon2;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod blake3;
#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod device;
mod error;
mod info;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod tiles;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod tuning;
#[cfg(feature = "wgpu")]
pub mod wgpu;

#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use device::{Argon2, BackEnd, Blake3, Buffer, Device, Nonces, Pending};
pub use error::{Error, Fault, Refusal};
pub use info::{Info, Kind, Selector, best, reason_for_processor};
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use tiles::Tiles;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use tuning::{Tuning, TuningError};

/// Compiles the examples of the crate's page.
#[cfg(all(doctest, feature = "cuda", feature = "wgpu"))]
#[doc = include_str!("../README.md")]
struct Readme;
