//! Documents: Hashmill's engine beside the official crate, call by call, byte by byte.
//!
//! [`story`] says what happens, [`peer`] what an engine must be able to do, [`stage`] tells one story to two engines,
//! [`shrink`] makes a story short once something is wrong with it, [`differential`] does it thousands of times.

pub mod differential;
pub mod official;
pub mod peer;
pub mod shrink;
pub mod stage;
pub mod story;
