//! Import from and export to the directory format of automerge-repo, backups, and a check of all documents.

mod backup;
mod blobs;
mod check;
mod directory;

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};

use hashmill_repo::{DocumentId, StorageId};

use super::error::OpenError;
use super::store::{Entry, Store, VisitError, refuse_shared};
use crate::event::IoFailure;

pub use backup::{BACKUP_MAGIC, RestoreOptions, back_up, read_backup, restore};
pub(super) use backup::{BackupKey, write_snapshot};
pub use check::{StorageSummary, WrongCount};

use check::{Checker, report_damaged};

/// Entries are stored together up to this size: each commit waits for the disk.
const BATCH_BYTES: usize = 32 << 20;
const BATCH_ENTRIES: usize = 10_000;

/// Counts of an import, an export or a check.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TransferCounts {
    /// Documents.
    pub documents: u64,
    /// Chunks of documents, and the states of clients.
    pub chunks: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Blobs.
    pub blobs: u64,
    /// Bytes of these.
    pub blob_bytes: u64,
    /// Blobs that the storage has, and that are not in a backup.
    pub left_out_blobs: u64,
    /// Bytes of these.
    pub left_out_blob_bytes: u64,
    /// Chunks that cannot be read, and documents consist of the others. They are copied, except for empty files. And blobs with other
    /// bytes than their names say, which are not copied.
    pub damaged: u64,
    /// Files that are not part of a document.
    pub ignored: u64,
    /// Deleted documents, which are not imported or exported.
    pub deleted: u64,
}

impl TransferCounts {
    fn add_document(&mut self, entries: &[Entry]) {
        self.documents += 1;
        self.chunks += entries.len() as u64;
        self.bytes += entries.iter().map(|entry| entry.bytes.len() as u64).sum::<u64>();
    }
}

/// A fact about a part of an import or a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TransferFact {
    /// A chunk cannot be read.
    Damaged {
        /// The key of the chunk, or the path of its file; or the name of a blob.
        chunk: String,
        /// The reason.
        reason: String,
    },
    /// A file or directory that is not part of a document.
    Ignored {
        /// Its path.
        path: PathBuf,
        /// The reason.
        reason: &'static str,
    },
    /// A document that is deleted in the storage is not imported.
    Deleted(DocumentId),
    /// The storage keeps its id, and clients that know the imported one start anew.
    StorageIdUnchanged {
        /// The id of the storage.
        current: String,
        /// The imported id.
        imported: String,
    },
}

/// Reason why an import, an export or a check ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The storage cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is no storage of this server.
    #[error("{0}: no storage of hashmill serve is there")]
    NoStorage(PathBuf),
    /// There is no storage of automerge-repo.
    #[error("{0}: no storage of automerge-repo is there")]
    NoDocuments(PathBuf),
    /// The file with the id of the storage has none.
    #[error("{0}: it has no id of a storage: move it away to import without it, clients then start anew")]
    StorageId(PathBuf),
    /// A key of the storage is no path of a file.
    #[error("{0:?}: this key cannot be a file")]
    Name(String),
    /// The target of an export has entries.
    #[error("{0}: it is not empty: name a new directory")]
    NotEmpty(PathBuf),
    /// The target of a restored backup has entries.
    #[error(
        "{0}: it is not empty: name a new directory, or add --replace to replace the storage that is there"
    )]
    Occupied(PathBuf),
    /// The target of a restored backup has blobs.
    #[error(
        "{0}: a backup has no blobs, and these would be removed: export the storage if they are needed, and move this directory away"
    )]
    HasBlobs(PathBuf),
    /// A file is not a backup.
    #[error("it is no backup of hashmill serve")]
    NoBackup,
    /// The key of a backup is lost.
    #[error("its start is damaged, without which nothing in it can be checked: use another backup")]
    BackupHeader,
    /// A later version of this program wrote the backup.
    #[error("a later version of this program wrote it: use that one")]
    BackupVersion,
    /// A backup does not say which storage it is of.
    #[error("what it says about its storage is damaged: use another backup")]
    BackupFacts,
    /// The server ended a backup.
    #[error("the backup is not complete: {0}")]
    BackupFailed(String),
    /// A backup has damaged parts, and is to be restored as a whole.
    #[error(
        "damaged parts: {0}. Nothing was changed: use another backup, or add --salvage to restore all other parts"
    )]
    DamagedBackup(u64),
    /// A backup changed while it was restored.
    #[error("it changed while it was read: nothing was changed")]
    BackupChanged,
    /// A backup cannot be read or written.
    #[error(transparent)]
    BackupFile(io::Error),
    /// Two ids differ in case only.
    #[error(
        "{0}: the file system does not distinguish upper and lower case, which document ids do: use another one"
    )]
    IgnoresCase(PathBuf),
    /// A file or directory cannot be used.
    #[error("{path}: {reason}")]
    File {
        /// Its path.
        path: PathBuf,
        /// The reason.
        reason: io::Error,
    },
    /// The storage failed.
    #[error("{folder}: {reason}")]
    Storage {
        /// The directory of the storage.
        folder: PathBuf,
        /// The reason.
        reason: String,
    },
}

/// Imports the documents of the directory `from` into the storage in `folder`, which is created if it does not exist. What is there
/// stays: documents that are in both are merged. An import that was interrupted can be repeated.
///
/// A new storage takes over the id of the imported one, or gets `new_storage_id`.
pub fn import(
    from: &Path,
    folder: &Path,
    new_storage_id: [u8; 16],
    report: &mut dyn FnMut(&TransferFact),
) -> Result<TransferCounts, TransferError> {
    // Their snapshots lack the latest changes, and have documents that are deleted.
    refuse_shared(from)?;
    let imported_id = directory::read_storage_id(from)?;
    let new_id = match &imported_id {
        Some(id) => id.clone(),
        None => StorageId::from_random_bytes(new_storage_id).to_string(),
    };
    let mut documents = directory::documents(from)?;
    if documents.is_empty() && imported_id.is_none() {
        return Err(TransferError::NoDocuments(from.to_owned()));
    }
    let store = Store::open(folder, &new_id)?;
    if let Some(imported) = imported_id.filter(|imported| imported != store.storage_id()) {
        report(&TransferFact::StorageIdUnchanged { current: store.storage_id().to_owned(), imported });
    }
    let failed = |error: IoFailure| storage_error(folder, &error);
    let (mut counts, mut batch, mut batch_bytes) = (TransferCounts::default(), Vec::new(), 0);
    let mut ignored = std::mem::take(&mut documents.ignored);
    for document in &documents.found {
        if store.tombstone(&document.id.to_string()).map_err(failed)?.is_some() {
            report(&TransferFact::Deleted(document.id.clone()));
            counts.deleted += 1;
            continue;
        }
        for file in directory::chunk_files(document, &mut ignored)? {
            let entry = match file.read()? {
                Ok(entry) => entry,
                Err(reason) => {
                    report(&TransferFact::Damaged { chunk: file.path().display().to_string(), reason });
                    counts.damaged += 1;
                    continue;
                }
            };
            counts.chunks += 1;
            counts.bytes += entry.bytes.len() as u64;
            batch_bytes += entry.bytes.len();
            batch.push(entry);
            if batch_bytes >= BATCH_BYTES || batch.len() >= BATCH_ENTRIES {
                store.add(&std::mem::take(&mut batch)).map_err(failed)?;
                batch_bytes = 0;
            }
        }
        counts.documents += 1;
    }
    store.add(&batch).map_err(failed)?;
    blobs::import(from, folder, &store, &mut counts, report)?;
    for (path, reason) in ignored {
        counts.ignored += 1;
        report(&TransferFact::Ignored { path, reason });
    }
    // As the server will read it, with what was there before.
    for document in &documents.found {
        let entries = store.entries(&document.id.to_string()).map_err(failed)?;
        counts.damaged += report_damaged(&document.id, entries, report);
    }
    Ok(counts)
}

/// Writes all entries of the storage in `folder` into the new or empty directory `to`, with the id of the storage.
pub fn export(
    folder: &Path,
    to: &Path,
    report: &mut dyn FnMut(&TransferFact),
) -> Result<TransferCounts, TransferError> {
    let store = open_existing(folder)?;
    directory::create_empty(to)?;
    let mut counts = TransferCounts::default();
    each_document(&store, folder, |document, entries| {
        // The format has no tombstones: programs that read it would bring the document back.
        if store.tombstone(&document.to_string()).map_err(|error| storage_error(folder, &error))?.is_some() {
            counts.deleted += 1;
            return Ok(());
        }
        directory::write_document(to, document, &entries)?;
        counts.add_document(&entries);
        Ok(())
    })?;
    blobs::copy(&store, folder, to, &mut counts, report)?;
    directory::write_storage_id(to, store.storage_id())?;
    Ok(counts)
}

/// Reads the storage in `folder` to its end, and reports damage. Reads the documents in it, too, if `reads_documents`.
pub fn inspect(
    folder: &Path,
    reads_documents: bool,
    report: &mut dyn FnMut(&TransferFact),
) -> Result<StorageSummary, TransferError> {
    inspect_store(&open_existing(folder)?, folder, reads_documents, report)
}

/// As [`inspect`]. Wrong counts of the bytes of owners are corrected.
pub fn check(folder: &Path, report: &mut dyn FnMut(&TransferFact)) -> Result<StorageSummary, TransferError> {
    let store = open_existing(folder)?;
    let mut summary = inspect_store(&store, folder, true, report)?;
    blobs::check(&store, folder, &mut summary.counts, report)?;
    (summary.counts.left_out_blobs, summary.counts.left_out_blob_bytes) = (0, 0);
    if !summary.wrong_counts.is_empty() {
        let correct = || store.adjust_counts(&store.count_differences()?);
        correct().map_err(|failure| storage_error(folder, &failure))?;
    }
    Ok(summary)
}

fn inspect_store(
    store: &Store,
    folder: &Path,
    reads_documents: bool,
    report: &mut dyn FnMut(&TransferFact),
) -> Result<StorageSummary, TransferError> {
    let failed = |failure: IoFailure| storage_error(folder, &failure);
    let mut checker = Checker::new(reads_documents);
    let visited = store.snapshot().map_err(failed)?.visit(&mut |record| {
        checker.add(record, report);
        Ok::<(), Infallible>(())
    });
    match visited {
        Ok(()) => {}
        Err(VisitError::Storage(failure)) => return Err(failed(failure)),
        Err(VisitError::Visitor(never)) => match never {},
    }
    checker.finish(report).ok_or_else(|| TransferError::Storage {
        folder: folder.to_owned(),
        reason: "the facts about it are damaged".to_owned(),
    })
}

pub(super) fn open_existing(folder: &Path) -> Result<Store, TransferError> {
    if !Store::exists(folder)? {
        return Err(TransferError::NoStorage(folder.to_owned()));
    }
    // The storage has its id.
    Ok(Store::open(folder, "")?)
}

/// Passes each document with its entries to `visit`, in the order of their ids.
fn each_document(
    store: &Store,
    folder: &Path,
    mut visit: impl FnMut(&DocumentId, Vec<Entry>) -> Result<(), TransferError>,
) -> Result<(), TransferError> {
    let failed = |error: IoFailure| storage_error(folder, &error);
    let mut next = store.document_after(None).map_err(failed)?;
    while let Some(text) = next {
        let id: DocumentId = text.parse().map_err(|_| TransferError::Storage {
            folder: folder.to_owned(),
            reason: format!("{text} is no id of a document"),
        })?;
        visit(&id, store.entries(&text).map_err(failed)?)?;
        next = store.document_after(Some(&text)).map_err(failed)?;
    }
    Ok(())
}

pub(super) fn storage_error(folder: &Path, error: &IoFailure) -> TransferError {
    TransferError::Storage { folder: folder.to_owned(), reason: error.reason().to_owned() }
}

/// Adds the path to an error of the system.
fn file_error(path: &Path) -> impl Fn(io::Error) -> TransferError + use<> {
    let path = path.to_owned();
    move |reason| TransferError::File { path: path.clone(), reason }
}
