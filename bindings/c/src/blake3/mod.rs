//! libblake3: the interface of `include/blake3.h`, with the behaviour of the official C implementation.

mod abi;

pub use abi::*;
