//! Hashing of files, streams, lists of files and trees.

pub(crate) mod batch;
pub(crate) mod file;
pub(crate) mod hash_many;
pub(crate) mod hasher_ext;
mod merge;
pub(crate) mod stream;
mod tiles;
pub(crate) mod tree;
