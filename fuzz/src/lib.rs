//! The bodies of the fuzz targets, as plain functions: libFuzzer calls them with new inputs, `tests/replay.rs` with the
//! seeds under `corpus`.
//!
//! For BLAKE3 an input is a short script (see [`script`]): it does the same work whatever bytes it hashes, so a fuzzer
//! should look for lengths, splits and orders of calls, not for contents.
#![forbid(unsafe_code)]

mod blake3_modes;
mod blake3_split;
mod checkfile;
mod doc;
mod phc;
pub mod script;
mod subject;

pub use blake3_modes::blake3_modes;
pub use blake3_split::blake3_split;
pub use checkfile::checkfile;
pub use doc::{doc_change, doc_cursor, doc_incremental, doc_load, doc_rescue};
pub use phc::phc;

/// The body of a target: it must return, whatever the input.
pub type Body = fn(&[u8]);

/// Every target by name.
pub const TARGETS: &[(&str, Body)] = &[
    ("blake3_modes", blake3_modes),
    ("blake3_split", blake3_split),
    ("checkfile", checkfile),
    ("doc_change", doc_change),
    ("doc_cursor", doc_cursor),
    ("doc_incremental", doc_incremental),
    ("doc_load", doc_load),
    ("doc_rescue", doc_rescue),
    ("phc", phc),
];
