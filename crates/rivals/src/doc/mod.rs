//! Documents: Hashmill's engine beside the official crate, call by call, byte by byte.
//!
//! [`story`] says what happens, [`peer`] what an engine must be able to do, [`stage`] tells one story to two engines,
//! [`shrink`] makes a story short once something is wrong with it, [`differential`] does it thousands of times.
//!
//! For times, [`row`] names the workloads, [`engines`] has the engines; what is asked of an engine, and ours, are in
//! `hashmill_workloads`, so that the lab has them too.

pub mod compare;
pub mod differential;
pub mod engines;
pub mod lane;
pub mod memory;
pub mod mutation;
pub mod official;
pub mod ours;
pub mod peer;
pub mod row;
pub mod shelf;
pub mod shrink;
pub mod stage;
pub mod story;
pub mod work;
