//! CUDA back end: devices of NVIDIA's driver, which is loaded at run time.
//!
//! Building needs no toolkit and no driver: the kernels are part of the program, and the driver is loaded by
//! name. Callers use [`Device`](crate::Device); the public items here exist for NVIDIA's driver alone.

mod argon2;
mod blake3;
mod device;
mod driver;
#[cfg(test)]
#[path = "../../tests/shim/mod.rs"]
mod shim;
mod subtrees;

pub(crate) use argon2::Argon2;
pub(crate) use blake3::{Blake3, Pending};
pub(crate) use device::{Buffer, Device};
pub use driver::{Driver, Registered};
pub(crate) use subtrees::subtrees;
