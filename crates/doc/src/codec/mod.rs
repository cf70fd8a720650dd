//! File format: chunks, columns and changes as bytes. The reader validates all input before it reaches other modules;
//! the writer always produces the canonical form, so equal operations have equal hashes.
//!
//! Layers, each using only earlier ones: [`bytes`]; [`raw_value`], [`row`]; [`rules`]; [`columns`]; [`ops`]; [`shortcuts`];
//! [`chunks`].

pub(crate) mod bloom;
pub(crate) mod bytes;
pub(crate) mod chunks;
pub(crate) mod columns;
pub(crate) mod limits;
pub(crate) mod ops;
pub(crate) mod parallel;
pub(crate) mod raw_value;
pub(crate) mod row;
pub(crate) mod rules;
pub(crate) mod shortcuts;
