//! Storage that several servers share: NATS JetStream as the journal, an object store for what it no longer has.

mod journal;
mod network;
mod node;
mod objects;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hashmill_atomic_file::open_own;

use super::{SHARED_MARK, has_single_storage, storage_error};
use crate::shell::error::OpenError;
use crate::storage::cluster::{NodeId, ReplicaConfig};

use journal::Journal;
pub(in crate::shell) use network::NetworkEvent;
pub(in crate::shell) use node::SharedNode;
use objects::Objects;

/// Records are trimmed after this time, and up to twice as late: the servers rarely do it at once.
const TRIM_AFTER: Duration = Duration::from_secs(60);
const TRIM_BYTES: usize = 16 << 20;
/// Larger chunks become objects at once.
const MAX_INLINE_BYTES: usize = 256 << 10;
/// A record takes no more chunks from this size on.
const RECORD_BYTES: usize = 256 << 10;
/// The server of the journal must take messages of this size: a record with its keys.
const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// Settings of a shared storage.
#[derive(Clone, Debug)]
pub struct SharedSettings {
    /// Address of the journal, `nats://HOST:PORT`.
    pub journal: String,
    /// File with credentials for the journal.
    pub credentials: Option<PathBuf>,
    /// First part of the names of the journal's streams and subjects.
    pub name: String,
    /// Number of streams. It cannot be changed later.
    pub shards: u16,
    /// Number of servers of the journal that store each record.
    pub replicas: usize,
    /// Does the operator state that each server of the journal writes to the disk before it answers?
    pub is_synced: bool,
    /// Where snapshots are.
    pub snapshots: SnapshotPlace,
    /// Random bytes for this start.
    pub node: [u8; 16],
}

/// A place for snapshots.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SnapshotPlace {
    /// A directory that all servers reach.
    Folder(PathBuf),
}

/// Text of the file that marks a directory.
const MARK: &str = "Servers of Hashmill share a storage. No single server may use this directory.\n";

/// Marks the directory of a server whose storage is elsewhere, so that no command takes it for an empty one.
fn mark_folder(folder: &Path) -> Result<(), OpenError> {
    fs::create_dir_all(folder).map_err(|error| storage_error(folder, &error.into()))?;
    if has_single_storage(folder)? {
        return Err(OpenError::Storage {
            path: folder.to_owned(),
            reason:
                "it has the storage of a single server: choose another directory for a server with `journal`"
                    .to_owned(),
        });
    }
    let path = folder.join(SHARED_MARK);
    let mut file = open_own(&path).map_err(|error| storage_error(&path, &error))?;
    file.set_len(0)
        .and_then(|()| file.write_all(MARK.as_bytes()))
        .and_then(|()| file.sync_all())
        .map_err(|error| storage_error(&path, &error.into()))
}

/// An open storage.
pub(in crate::shell) struct SharedStorage {
    storage_id: String,
    journal: Journal,
    objects: Objects,
    config: ReplicaConfig,
}

impl SharedStorage {
    /// Opens the journal and the objects, or creates them. `folder` is this server's own directory.
    pub(in crate::shell) async fn open(
        settings: &SharedSettings,
        folder: &Path,
        new_storage_id: &str,
    ) -> Result<SharedStorage, OpenError> {
        mark_folder(folder)?;
        let objects = Objects::open(&settings.snapshots)?;
        let storage_id = objects.storage_id(new_storage_id).await?;
        let journal = Journal::open(settings, &storage_id).await?;
        // The servers trim at different times: one of them does most of it.
        let share = u32::from(settings.node[0]);
        let config = ReplicaConfig {
            node: NodeId(settings.node),
            shards: settings.shards,
            max_inline_bytes: MAX_INLINE_BYTES,
            record_bytes: RECORD_BYTES,
            trim_after: TRIM_AFTER + TRIM_AFTER * share / 256,
            trim_bytes: TRIM_BYTES + TRIM_BYTES * settings.node[0] as usize / 256,
            list_lag: Duration::ZERO,
        };
        Ok(SharedStorage { storage_id, journal, objects, config })
    }

    pub(in crate::shell) fn storage_id(&self) -> &str {
        &self.storage_id
    }
}
