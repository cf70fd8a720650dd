//! Kernels for aarch64.
#![expect(unsafe_code, reason = "vector loads and stores")]

mod neon;

pub(in crate::blake3) use neon::{NEON, NEON_TWIN};
