//! Fuzz targets as plain functions: libFuzzer calls them with new inputs, `tests/replay.rs` with the seeds under `corpus`.
//!
//! For BLAKE3 an input is a short script (see [`script`]). Hashing does the same work for all contents, so a fuzzer should
//! vary lengths, splits and orders of calls.
#![forbid(unsafe_code)]

pub mod accepted;
mod deliver;
mod edits;
pub mod hunt;
pub mod script;
mod subject;
mod targets;
mod verdict;

pub use targets::blake3_modes::blake3_modes;
pub use targets::blake3_split::blake3_split;
pub use targets::checkfile::checkfile;
pub use targets::doc::{doc_change, doc_cursor, doc_incremental, doc_load, doc_rescue};
pub use targets::doc_converse::doc_converse;
pub use targets::doc_json::doc_json;
pub use targets::doc_limits::doc_limits;
pub use targets::doc_orders::doc_orders;
pub use targets::doc_sync::doc_sync;
pub use targets::phc::phc;
pub use targets::repo_frames::repo_frames;
pub use verdict::Verdict;

/// The body of a target. It must return for every input.
pub type Body = fn(&[u8]);

/// Every target by name.
pub const TARGETS: &[(&str, Body)] = &[
    ("blake3_modes", blake3_modes),
    ("blake3_split", blake3_split),
    ("checkfile", checkfile),
    ("doc_change", |data| drop(doc_change(data))),
    ("doc_converse", |data| drop(doc_converse(data))),
    ("doc_cursor", |data| drop(doc_cursor(data))),
    ("doc_incremental", |data| drop(doc_incremental(data))),
    ("doc_json", |data| drop(doc_json(data))),
    ("doc_load", |data| drop(doc_load(data))),
    ("doc_limits", |data| drop(doc_limits(data))),
    ("doc_orders", |data| drop(doc_orders(data))),
    ("doc_rescue", |data| drop(doc_rescue(data))),
    ("doc_sync", |data| drop(doc_sync(data))),
    ("phc", phc),
    ("repo_frames", repo_frames),
];
