//! Devices that the crate wgpu speaks to: by Vulkan, Metal or DirectX 12.

mod argon2;
mod blake3;
mod device;
mod guarded;
mod memory;
mod scratch;
mod subtrees;

/// The crate whose buffers and devices are taken here.
pub use ::wgpu as api;
pub use argon2::{Argon2, Nonces};
pub use blake3::Blake3;
pub use device::{Device, devices};
pub use subtrees::Subtrees;
