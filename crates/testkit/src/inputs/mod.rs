//! Inputs of tests: painted bytes, random numbers, published vectors, recordings of typing.

pub mod data;
pub mod hex;
pub mod paint;
pub mod rng;
#[cfg(feature = "documents")]
pub mod trace;
pub mod vectors;
