//! Kernels of WebAssembly.
#![expect(unsafe_code, reason = "vector loads and stores")]

pub(in crate::argon2) mod simd128;
