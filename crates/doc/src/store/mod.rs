//! The operations of a document, arranged for editing and reading.
//!
//! [`log`] keeps every operation in order of arrival, as runs; [`history`] keeps the changes likewise. Maps and
//! sequences hold what is visible now and where each element is. All of it is shared copy-on-write between documents
//! that were one.
//!
//! Rooms, each using only those before it: [`memory`]; [`actors`], [`log`], [`measured`], [`register`], [`savepoint`]; [`map`], [`seq`];
//! [`history`]; [`state`], which holds one of each; [`past`], what was visible once, [`between`], what lies between two
//! moments, [`undo`] and [`back`], which goes to an earlier moment; [`outgoing`], which writes changes and documents, and [`incoming`], which takes them in.

pub(crate) mod actors;
pub(crate) mod back;
pub(crate) mod between;
pub(crate) mod history;
pub(crate) mod incoming;
pub(crate) mod log;
pub(crate) mod map;
pub(crate) mod measured;
pub(crate) mod memory;
pub(crate) mod outgoing;
pub(crate) mod past;
pub(crate) mod register;
pub(crate) mod savepoint;
pub(crate) mod seq;
pub(crate) mod state;
pub(crate) mod undo;
