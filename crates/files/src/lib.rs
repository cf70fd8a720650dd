//! Hashing of files and directory trees, and lists of their digests.
//!
//! | I have | I call |
//! |---|---|
//! | one file | [`Files::hash_file`] |
//! | standard input | [`Files::hash_stdin`] |
//! | a socket, any reader | [`Files::hash_reader`] |
//! | a device that should hash the tiles of large files | [`Files::with_engine`] |
//! | many files, with results in their order | [`Files::hash_many`] |
//! | a directory to walk in a fixed order | [`walk::Walk`] |
//! | a file of file names | [`NameList`] |
//! | a directory that needs one digest | [`Files::hash_tree`] |
//! | a checksum list to read, write, audit or update | [`checksum_list`] |
//! | a digest to store in attributes of its file | [`digest_xattr`] |
//! | a file to compare with its stored digest | [`DigestVerdict`] |
//! | a hasher, and a file as part of its input | [`HasherExt::update_mmap`] |
//!
//! Data flows one way: facts about a file → a [`plan`] (pure) → bytes from a source → chaining values → one
//! digest. Every [`Strategy`] gives the same digest; they differ only in time and memory. Memory is bounded
//! for files of any size: sources produce tiles of at most a few MiB, and never more tiles than there are
//! threads.
//!
//! Threads are rayon's, in a pool of this crate that starts with the first work worth sharing. Threads and
//! buffers belong to their process: a forked child creates its own.
//!
//! Mapping the first file installs a handler for the signal SIGBUS; [`Mapping`] gives the reason and the
//! alternative.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod checksum_list;
mod context;
mod error;
mod files;
mod function;
mod hashing;
mod os;
mod read;
mod stored;
pub mod walk;

pub use context::engine::OnEngineFailure;
pub use context::{Options, Progress};
pub use error::{Error, Gap, Unreadable};
pub use files::Files;
pub use function::{Digest, Function, Output};
pub use hashing::hash_many::{HashJob, Input, ResultSink};
pub use hashing::hasher_ext::HasherExt;
pub use os::FileId;
pub use read::plan::{self, Mapping, Strategy};
pub use stored::digest_xattr;
pub use stored::{DigestVerdict, ExpectedDigest, Time};
pub use walk::filter::{Filter, PatternError};
pub use walk::name_list::NameList;

/// Compiles and runs the examples of the crate's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
