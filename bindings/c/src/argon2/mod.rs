//! libargon2, ABI 1: `include/argon2.h` says it, and the reference implementation says what it means.
//!
//! Errors, their order and their texts are those of the reference implementation. So are the version numbers: a number that no
//! version has is hashed as it is.

mod abi;
mod check;
mod code;
mod encoded;
mod team;

pub use abi::*;
pub use code::Code;
