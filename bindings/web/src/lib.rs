//! BLAKE3 and Argon2 as a module of WebAssembly, without generated code between: plain functions that take numbers, and one piece of
//! memory, the *room*, in which JavaScript leaves what goes in and finds what comes out.
//!
//! A module has one thread and is used by one caller at a time, so that there is one of everything in it: a hasher of BLAKE3, whose
//! state JavaScript copies out when another hasher is wanted, a tile, and a hash of Argon2. Nothing here is freed: an instance
//! that took much memory is let go as a whole.

mod argon2;
mod blake3;
mod boundary;
mod room;
