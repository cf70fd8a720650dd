//! The operations of a document, arranged for editing and reading.
//!
//! [`log`] keeps every operation in order of arrival, as runs; [`history`] keeps the changes likewise. Maps and
//! sequences hold what is visible now and where each element is. All of it is shared copy-on-write between documents
//! that were one.
//!
//! Rooms, each using only those before it: [`ids`], what numbers mean; [`memory`]; [`actors`], [`log`], [`register`]; [`map`], [`seq`]; [`history`];
//! [`state`], which holds one of each; [`undo`]; [`incoming`], which takes changes and documents in, and [`outgoing`], which
//! writes them.

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
pub(crate) mod undo;
