//! wgpu back end: devices of Vulkan, Metal or DirectX 12. Callers use [`Device`](crate::Device).

mod argon2;
mod blake3;
mod blake3_kernels;
mod buffer;
mod device;
mod error_scope;
mod memory;
mod scratch;
mod subtrees;

/// The crate whose devices and buffers [`Device::from_wgpu`](crate::Device::from_wgpu) and
/// [`Buffer::from_wgpu`](crate::Buffer::from_wgpu) take.
pub use ::wgpu as api;
pub(crate) use argon2::Argon2;
pub(crate) use blake3::{Blake3, Pending};
#[cfg(test)]
pub(crate) use blake3_kernels::TEXT as BLAKE3_TEXT;
pub(crate) use buffer::Buffer;
pub(crate) use device::{Device, devices};
pub(crate) use subtrees::subtrees;
