//! The operations of a document, arranged for editing and reading.
//!
//! [`log`] keeps every operation in order of arrival, as runs; [`history`] keeps the changes likewise. Maps and
//! sequences hold what is visible now and where each element is. All of it is shared copy-on-write between documents
//! that were one.
//!
//! Layers, each using only those before it: `sort`; [`held`]; [`pages`], [`heap`], [`lanes`], [`shards`], [`actors`];
//! [`log`] with `keyed`; [`register`]; [`index`], [`map`], [`seq`]; `hashes`, `seen`, [`history`]; `branches`; [`state`];
//! [`undo`], [`apply`], `adopt`, [`write`], `load`.

pub(crate) mod actors;
mod adopt;
pub(crate) mod apply;
pub(crate) mod branches;
mod hashes;
mod hashing;
pub(crate) mod heads;
pub(crate) mod heap;
pub(crate) mod held;
pub(crate) mod history;
pub(crate) mod index;
pub(crate) mod keyed;
pub(crate) mod keys;
pub(crate) mod lanes;
pub(crate) mod load;
mod load_group;
mod load_history;
mod load_order;
pub(crate) mod log;
pub(crate) mod map;
pub(crate) mod pages;
pub(crate) mod past;
pub(crate) mod register;
mod seen;
pub(crate) mod seq;
pub(crate) mod shards;
mod small;
mod sort;
pub(crate) mod state;
pub(crate) mod undo;
pub(crate) mod write;
mod write_document;
mod written;
