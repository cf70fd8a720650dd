//! Operations of a document, arranged for edits and reads.
//!
//! [`log`] stores every operation in order of arrival, as runs; [`history`] stores the changes likewise. Maps and
//! sequences hold what is visible now and the position of each element. Forks share all of it copy-on-write.
//!
//! Modules in layers, each using only earlier ones: [`memory`]; [`actors`], [`log`], [`register`]; [`map`], [`seq`];
//! [`history`]; [`state`], a full state with one of each structure; [`versions`], earlier values, differences, rollback and
//! the state at earlier heads; [`outgoing`], the writer of changes and documents; and [`incoming`], their reader.

pub(crate) mod actors;
pub(crate) mod history;
pub(crate) mod incoming;
pub(crate) mod log;
pub(crate) mod map;
pub(crate) mod memory;
pub(crate) mod outgoing;
pub(crate) mod register;
pub(crate) mod seq;
pub(crate) mod state;
pub(crate) mod versions;
