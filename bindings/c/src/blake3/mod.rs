//! libblake3: `include/blake3.h` says it, and the official C implementation says what it means.

mod abi;

pub use abi::*;
