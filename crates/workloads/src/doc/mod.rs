//! Document workloads and the interface of engines. Recordings of real typing are in `cargo rivals lab`.

mod case;
mod cases;
mod engine;
mod expected_answers;
mod hashmill;
mod hub_simulation;
mod json;
mod lab;
mod loaded_documents;
mod spec;
mod workload_names;

pub use case::{Answer, Case, keys, numbered, prepared, repeat};
pub use cases::{history_case, object_case, sync_case, text_case};
pub use engine::{HistoryReads, Objects, Patch, Rich, Shared, Synced, Texts, count_items};
pub use hashmill::{Hashmill, snapshot_reads};
pub use json::{JsonWriter, json_write};
pub use lab::{Make, more_engines};
pub use spec::digest;
pub use workload_names::WorkloadName;

pub(crate) use lab::register;
