//! Differential tests of documents: Hashmill's engine and the official crate, call by call and byte by byte.
//!
//! [`script`] has random scripts, [`peer`] the interface of an engine, [`runner`] runs one script on two engines, [`shrink`]
//! minimises a failing script, [`differential`] runs thousands of them.

pub mod differential;
pub mod hashmill;
pub mod mutation;
pub mod official;
pub mod peer;
pub mod runner;
pub mod script;
pub mod shrink;
pub(crate) mod translate;
