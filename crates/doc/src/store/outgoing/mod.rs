//! Outgoing data: changes as chunks, bundles of changes, the whole history as a document, and the cache of a save for
//! the next one.

mod bundle;
pub(crate) mod changes;
mod document;
mod hashing;
mod reuse_columns;
pub(in crate::store) mod save_cache;
pub(in crate::store) mod single_op_changes;
pub(crate) mod size_bound;
