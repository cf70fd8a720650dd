//! Documents: Hashmill's engine beside the official crate, call by call, byte by byte.
//!
//! [`script`] says what happens, [`peer`] what an engine must be able to do, [`runner`] runs one script on two engines,
//! [`shrink`] makes a script short once something is wrong with it, [`differential`] does it thousands of times.
//!
//! For times, [`row`] names the workloads, [`engines`] has the engines; what is asked of an engine, and ours, are in
//! `hashmill_workloads`, so that the lab has them too.

pub mod compare;
pub mod differential;
pub mod engines;
pub mod fixtures;
pub mod memory;
pub mod mutation;
pub mod official;
pub mod ours;
pub mod peer;
pub mod row;
pub mod runner;
pub mod script;
pub mod shrink;
mod vocabulary;
pub mod work;
pub mod worker;
