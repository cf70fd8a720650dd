//! Documents: Hashmill's engine beside the official crate, call by call, byte by byte.
//!
//! [`script`] says what happens, [`peer`] what an engine must be able to do, [`runner`] runs one script on two engines,
//! [`shrink`] makes a script short once something is wrong with it, [`differential`] does it thousands of times.

pub mod differential;
pub mod mutation;
pub mod official;
pub mod ours;
pub mod peer;
pub mod runner;
pub mod script;
pub mod shrink;
mod vocabulary;
