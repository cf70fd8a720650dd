//! Kernels for WebAssembly.
#![expect(unsafe_code, reason = "vector loads and stores")]

mod simd128;

pub(in crate::blake3) use simd128::SIMD128;
