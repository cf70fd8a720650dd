//! Hashing files and trees: plan, sources, merge, checkfiles.
//!
//! | I have | I call |
//! |---|---|
//! | one file | [`Files::hash_file`] |
//! | standard input | [`Files::hash_stdin`] |
//! | a socket, any reader | [`Files::hash_reader`] |
//! | a device that should hash the tiles of large files | [`Files::with_engine`] |
//! | many files, answers in the order of the questions | [`Files::hash_many`] |
//! | a directory to visit in a fixed order | [`walk::Walk`] |
//! | names of files, in a file | [`Names`] |
//! | a directory that needs one digest | [`Files::hash_tree`] |
//! | a list of digests to write or to read | [`checkfile`] |
//! | what files were, to be compared with what they are | [`manifest`] |
//! | a digest to keep in the attributes of its file | [`tag`] |
//! | what happened to a file since then | [`Verdict`] |
//! | a hasher of my own, and a file for it | [`HasherExt::update_mmap`] |
//!
//! Data flows one way: facts about a file → a [`plan`] (pure) → bytes from a source → chaining values → one digest.
//! Every [`Strategy`] gives the same digest; they differ in time and memory only. Memory is bounded whatever the
//! file's size: sources hand out tiles of at most a few MiB, and never more of them than there are threads.
//!
//! Threads are rayon's, in a pool of this crate's own that starts with the first piece of work worth sharing. What a
//! process has of them and of buffers stays with it: a forked child makes its own.
//!
//! The first file that is mapped brings a handler for the signal SIGBUS with it; [`Mapping`] says why, and how to do
//! without.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod batch;
mod engine;
mod error;
mod file;
mod files;
mod filter;
mod function;
mod input;
mod many;
mod merge;
mod names;
mod os;
mod pool;
mod rescue;
mod source;
mod stream;
mod tiles;
mod time;
mod tree;
mod update;
mod verdict;
mod work;

pub mod checkfile;
pub mod manifest;
pub mod plan;
pub mod tag;
pub mod walk;

pub use engine::Otherwise;
pub use error::Error;
pub use files::Files;
pub use filter::{Filter, PatternError};
pub use function::{Digest, Function, Output};
pub use many::{Input, Item, Sink};
pub use names::Names;
pub use os::FileId;
pub use plan::{Mapping, Strategy};
pub use rescue::{Gap, Unreadable};
pub use time::Time;
pub use update::HasherExt;
pub use verdict::{Stored, Verdict};
pub use work::{Options, Progress};

/// What the page of the crate shows compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
