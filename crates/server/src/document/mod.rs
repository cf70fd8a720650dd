//! A document in memory, and the clients that take part in it.

mod job;
mod open;
mod peer;

pub use job::{DocumentJob, WorkOutput};

#[cfg(feature = "shell")]
pub(crate) use job::unreadable_chunks;
pub(crate) use job::{Opened, WorkResult};
pub(crate) use open::{
    DocumentLimits, Input, OpenDocument, Output, PeerFrame, QuotaState, Record, SnapshotBytes,
};
