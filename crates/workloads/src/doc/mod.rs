//! Documents: what is asked of an engine, and the workloads, written once for every engine. Recordings of real typing are
//! measured by `cargo rivals lab`, which has them.

mod cases;
mod engine;
mod json;
mod lab;
mod loaded;
mod named;
mod ours;
mod typists;

pub use cases::{Answer, Case, all, keys, numbered, prepared, present, repeat, synced, words};
pub use engine::{Objects, Past, Patch, Rich, Shared, Synced, Texts, handed_out};
pub use json::{JsonWriter, json_write};
pub use lab::{Make, digest, more_engines};
pub use named::Named;
pub use ours::{Hashmill, snapshot_reads};

pub(crate) use lab::register;
