//! libargon2, ABI 1: the interface of `include/argon2.h`, with the behaviour of the reference implementation.
//!
//! Errors, their order and their texts are those of the reference implementation. So is the handling of versions: an unknown
//! version number is hashed unchanged.

mod abi;
mod check;
mod code;
mod context;
mod encoded;
pub(crate) mod helper_threads;

pub use abi::*;
pub use code::Code;
pub use context::*;
