//! BLAKE3 digests of the objects in a Parquet inventory: in S3, Google and Azure stores, on web servers and on disks.
//!
//! | Input | Function |
//! |---|---|
//! | an inventory in Parquet, for results in Parquet | [`run`](run::run) |
//! | batches of rows from a scheduler | [`Hasher::hash_rows`] |
//! | a Parquet file, for its rows | [`inventory::Inventory`] |
//!
//! Each input row gives one result, in the same order: a digest, or the reason why there is none. An error never drops a row,
//! and an object that changed while it was read has no digest.
//!
//! Data flows one way: rows → locations → bytes → digests → result rows. Memory is bounded by the rows of a batch and the number
//! of connections, for objects of any size.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod error;
mod hasher;
mod location;
mod options;
mod row;
mod row_result;
mod run_handle;
mod sources;

pub mod inventory;
pub mod output;
pub mod run;

pub use error::Error;
pub use hasher::Hasher;
pub use options::Options;
pub use row_result::{Failure, FailureKind, ObjectDigest, RowResult, Summary};
pub use run::Shard;
pub use run_handle::{Progress, RunHandle};
pub use sources::allow_list::AllowList;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
