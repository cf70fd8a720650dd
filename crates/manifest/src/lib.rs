//! BLAKE3 of what a Parquet inventory lists: in stores of S3, Google and Azure, on web servers, on disks.
//!
//! | I have | I call |
//! |---|---|
//! | an inventory in Parquet, and want answers in Parquet | [`run`](run::run) |
//! | batches of rows from a scheduler of my own | [`Hasher::answer`] |
//! | a Parquet file, and want its rows | [`inventory::Inventory`] |
//!
//! Each row in is one row out, in the same order: a digest, or what kept it from having one. An error is never a row that is
//! not there, and an object that changed while it was read has no digest.
//!
//! Data flows one way: rows → where their objects are → bytes → digests → rows. Memory is bounded by the rows of a batch and the
//! connections, whatever the objects' sizes.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod allow_list;
mod answer;
mod error;
mod fetch;
mod folder;
mod hasher;
mod local;
mod options;
mod part;
mod place;
mod remote;
mod secrets;
mod shard;
mod stores;
mod web;
mod work;

pub mod inventory;
pub mod out;
pub mod run;

pub use allow_list::AllowList;
pub use answer::{Answer, Failure, Found, Kind, Summary};
pub use error::Error;
pub use hasher::Hasher;
pub use options::Options;
pub use shard::Shard;
pub use work::{Progress, Work};

/// What the page of the crate shows compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
