//! Contents of the storage: chunks and tombstones of documents, and commands that change them.

mod chunk;
mod command;

#[cfg(feature = "shell")]
pub(crate) use chunk::name_of_bytes;
pub use chunk::{ChunkKey, ChunkKind, Owner, StoredChunk, StoredDocument};
pub use command::{Command, CommandOutcome, DocumentState, Tombstone, TombstoneChange};
