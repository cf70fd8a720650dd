//! Objects: files of a directory, in the layout of automerge-repo's storage.

use std::collections::BTreeSet;
use std::path::Path as FilePath;
use std::sync::Arc;

use futures_util::TryStreamExt as _;
use hashmill_repo::DocumentId;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions};
use tokio::sync::Semaphore;

use super::{MARK, SnapshotPlace};
use crate::event::IoFailure;
use crate::shell::error::OpenError;
use crate::shell::store::SHARED_MARK;
use crate::storage::cluster::{ObjectKey, ObjectOutcome};

/// Maximum number of requests at a time.
const MAX_REQUESTS: usize = 32;
/// The key `storage-adapter-id` of automerge-repo.
const STORAGE_ID: &str = "st/orage-adapter-id";

/// A request.
#[derive(Debug)]
pub(super) enum ObjectRequest {
    List(DocumentId),
    Get(ObjectKey),
    Put(ObjectKey, Vec<u8>),
    Delete(ObjectKey),
}

/// The object store.
#[derive(Clone)]
pub(super) struct Objects {
    store: Arc<dyn ObjectStore>,
    permits: Arc<Semaphore>,
    /// For messages.
    place: String,
}

impl Objects {
    pub(super) fn open(place: &SnapshotPlace) -> Result<Objects, OpenError> {
        let SnapshotPlace::Folder(folder) = place;
        let failed = |reason: String| OpenError::Storage { path: folder.clone(), reason };
        std::fs::create_dir_all(folder).map_err(|error| failed(error.to_string()))?;
        let store = LocalFileSystem::new_with_prefix(folder).map_err(|error| failed(error.to_string()))?;
        Ok(Objects {
            // Journals are trimmed when their contents are on the disk.
            store: Arc::new(store.with_fsync(true).with_automatic_cleanup(false)),
            permits: Arc::new(Semaphore::new(MAX_REQUESTS)),
            place: FilePath::new(folder).display().to_string(),
        })
    }

    /// The id of the storage, which the first server writes.
    pub(super) async fn storage_id(&self, new: &str) -> Result<String, OpenError> {
        let failed = |reason: String| OpenError::Snapshots { place: self.place.clone(), reason };
        // The mark comes first: no command takes a part of the storage for a whole one.
        for (name, text) in [(SHARED_MARK, MARK), (STORAGE_ID, new)] {
            let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
            match self.store.put_opts(&Path::from(name), text.as_bytes().to_vec().into(), options).await {
                Ok(_) | Err(Error::AlreadyExists { .. }) => {}
                Err(error) => return Err(failed(error.to_string())),
            }
        }
        let path = Path::from(STORAGE_ID);
        let bytes = async { self.store.get(&path).await?.bytes().await };
        let bytes = bytes.await.map_err(|error| failed(error.to_string()))?;
        match String::from_utf8(bytes.to_vec()) {
            Ok(text) if !text.is_empty() && text.len() <= 64 => Ok(text),
            _ => Err(failed(format!("{STORAGE_ID} is no id of a storage"))),
        }
    }

    /// Carries out a request. A success says that its effect survives a crash, and that later lists have it.
    pub(super) async fn carry_out(&self, request: ObjectRequest) -> Result<ObjectOutcome, IoFailure> {
        let _permit = self.permits.acquire().await.map_err(|error| IoFailure::NotDone(error.to_string()))?;
        let unknown = |error: Error| IoFailure::Unknown(error.to_string());
        match request {
            ObjectRequest::List(document) => Ok(ObjectOutcome::Listed(self.list(&document).await?)),
            ObjectRequest::Get(key) => {
                let bytes = async { self.store.get(&path_of(&key)).await?.bytes().await };
                match bytes.await {
                    Ok(bytes) => Ok(ObjectOutcome::Got(Some(bytes.to_vec()))),
                    Err(Error::NotFound { .. }) => Ok(ObjectOutcome::Got(None)),
                    Err(error) => Err(unknown(error)),
                }
            }
            ObjectRequest::Put(key, bytes) => {
                self.store.put(&path_of(&key), bytes.into()).await.map_err(unknown)?;
                Ok(ObjectOutcome::Done)
            }
            ObjectRequest::Delete(key) => match self.store.delete(&path_of(&key)).await {
                Ok(()) | Err(Error::NotFound { .. }) => Ok(ObjectOutcome::Done),
                Err(error) => Err(unknown(error)),
            },
        }
    }

    async fn list(&self, document: &DocumentId) -> Result<Vec<ObjectKey>, IoFailure> {
        let prefix = folder_of(document);
        let found = self.store.list(Some(&prefix)).try_collect::<Vec<_>>().await;
        let found = found.map_err(|error| IoFailure::Unknown(error.to_string()))?;
        let names = found.iter().filter_map(|meta| {
            let parts: Vec<_> = meta.location.prefix_match(&prefix)?.collect();
            // Deeper ones belong to other programs.
            let [kind, name] = &parts[..] else { return None };
            Some((kind.as_ref().to_owned(), name.as_ref().to_owned()))
        });
        let names: BTreeSet<(String, String)> = names.collect();
        let key = |(kind, name)| ObjectKey { document: document.clone(), kind, name };
        Ok(names.into_iter().map(key).collect())
    }
}

/// The folder of a document: the first two characters of its id, then the others.
fn folder_of(document: &DocumentId) -> Path {
    let text = document.to_string();
    let (first, rest) = text.split_at(text.len().min(2));
    Path::from_iter([first, rest])
}

fn path_of(key: &ObjectKey) -> Path {
    folder_of(&key.document).join(key.kind.as_str()).join(key.name.as_str())
}
