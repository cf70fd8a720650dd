//! Kernels for aarch64.

mod neon;

pub(super) use neon::TABLE as NEON;
