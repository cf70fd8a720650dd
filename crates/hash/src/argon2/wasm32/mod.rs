//! Kernels of WebAssembly.
#![expect(unsafe_code, reason = "vector loads and stores")]

pub(super) mod simd128;
