//! A document in memory, and the clients that take part in it.

mod details;
mod job;
mod open;
mod peer;

pub use details::{ChangeSummary, DocumentDetails};
pub use job::{DocumentJob, WorkOutput};

pub(crate) use job::{Opened, WorkResult};
#[cfg(feature = "shell")]
pub(crate) use job::{stored_details, unreadable_chunks};
pub(crate) use open::{
    DocumentLimits, Input, OpenDocument, Output, PeerFrame, QuotaState, Record, SnapshotBytes,
};
