//! BLAKE3 and Argon2 as a WebAssembly module, without generated glue code: plain functions that take numbers, and one buffer
//! for arguments and results of JavaScript.
//!
//! A module has one thread and one caller at a time, so it has one of each object: a BLAKE3 hasher, whose state JavaScript copies out when
//! another hasher is used, a tile, and an Argon2 hash. No memory is freed: an instance that took much memory is dropped as a whole.

mod argon2;
mod blake3;
mod boundary;
mod buffer;
