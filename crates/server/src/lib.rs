//! Sync server for automerge-repo's clients.
//!
//! [`Core`] is the whole server as a state machine: [`Core::step`] takes an [`Event`] and appends [`Action`]s. It opens no sockets or
//! files, reads no clock, starts no threads and makes no random numbers, so a simulation can run it through any order of events,
//! failures and crashes.
//!
//! **Told means durable.** A frame that names the heads of a document leaves only after the storage has confirmed the changes up to
//! these heads. Until then the core holds it with the batch of its changes.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![warn(clippy::disallowed_types)]
#![forbid(unsafe_code)]

mod access;
mod config;
mod core;
mod document;
mod event;
mod fact;
mod identity;
mod ids;
#[cfg(feature = "shell")]
pub mod shell;
#[cfg(test)]
mod simulation;
mod storage;

pub use access::Access;
pub use config::Config;
pub use core::{Core, Counts, DocumentView, ParticipantView, QuarantineView, SocketView, Usage};
pub use document::{ChangeSummary, DocumentDetails, DocumentJob, WorkOutput};
pub use event::{Action, CloseReason, Event, Intervention, IoFailure, RightsAnswer};
pub use fact::Fact;
pub use identity::{Identity, ParseRuleError, Rule};
pub use ids::{BatchId, CommandId, RequestId, SocketId, WorkId};
pub use storage::{
    BlobHash, BlobReference, ChunkKey, ChunkKind, Command, CommandOutcome, DocumentState, Owner,
    ParseBlobHashError, StorageClock, StoredChunk, StoredDocument, Tombstone, TombstoneChange,
};
