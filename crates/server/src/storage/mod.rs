//! Contents of the storage: chunks and tombstones of documents, commands that change them, and blobs.

mod blob;
#[cfg(feature = "shell")]
mod blob_rules;
mod chunk;
mod clock;
#[cfg(any(test, feature = "cluster"))]
pub(crate) mod cluster;
mod command;

pub use blob::{BlobHash, BlobReference, ParseBlobHashError};
#[cfg(feature = "shell")]
pub(crate) use blob_rules::{
    AddOutcome, ReferenceChange, ReferenceOutcome, ReferenceState, UploadRecord, is_over,
};
#[cfg(feature = "shell")]
pub(crate) use chunk::name_of_bytes;
pub use chunk::{ChunkKey, ChunkKind, Owner, StoredChunk, StoredDocument};
pub use clock::StorageClock;
#[cfg(feature = "shell")]
pub(crate) use clock::seconds_behind;
pub use command::{Command, CommandOutcome, DocumentState, Tombstone, TombstoneChange};
