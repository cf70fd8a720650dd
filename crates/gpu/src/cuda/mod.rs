//! Devices that NVIDIA's driver speaks to, found when somebody asks.
//!
//! Building needs no toolkit and no driver: kernels are part of the program, and the driver is loaded by its name.

mod argon2;
mod blake3;
mod device;
mod driver;
#[cfg(test)]
#[path = "../../tests/shim/mod.rs"]
mod shim;
mod subtrees;

pub use argon2::{Argon2, Nonces};
pub use blake3::{Blake3, Pending};
pub use device::{Buffer, Device, devices};
pub use driver::{Driver, Registered};
pub use subtrees::Subtrees;
