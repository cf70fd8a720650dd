//! Kernels for aarch64.
#![expect(unsafe_code, reason = "vector loads and stores")]

mod neon;

pub(super) use neon::{NEON, NEON_TWIN};
