//! Giving out what is here: changes as chunks, some of them as a bundle, the whole history as a document, and what a save remembers for the next.

mod bundle;
pub(crate) mod changes;
mod document;
mod hashing;
pub(in crate::store) mod save_cache;
pub(in crate::store) mod small;
mod splice;
