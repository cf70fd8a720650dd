//! Backups: all that a storage has at one moment, in one file with digests. They are made while a server runs, too.

mod format;
mod reader;
mod writer;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use hashmill_atomic_file::{Expected, Replacement, open_own};
use hashmill_repo::StorageId;

use super::check::{Checker, StorageSummary};
use super::{TransferError, TransferFact, file_error, open_existing, storage_error};
use crate::event::IoFailure;
use crate::shell::blobs::{Files as _, FolderFiles};
use crate::shell::error::OpenError;
use crate::shell::store::{
    FILE, NewStorage, Snapshot, StorageFacts, StorageRecord, Store, VisitError,
    storage_error as opening_error,
};

use reader::{BackupError, BackupReader, Item};
use writer::BackupWriter;

pub(in crate::shell) use format::Key as BackupKey;

/// The first bytes of a backup.
pub const BACKUP_MAGIC: &[u8; 16] = format::MAGIC;

/// Records are stored together up to this size when a storage is restored.
const BATCH_BYTES: usize = 32 << 20;
const BATCH_RECORDS: usize = 10_000;

/// How to restore a backup.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RestoreOptions {
    /// Replace the storage that is there.
    pub replaces: bool,
    /// Restore the sound parts of a damaged backup.
    pub salvages: bool,
    /// Random bytes for a new id of the storage. `None`: it keeps its id.
    pub new_storage_id: Option<[u8; 16]>,
}

/// Writes a backup of the storage in `folder`, which no server uses. `key` are random bytes.
pub fn back_up(
    folder: &Path,
    key: [u8; 16],
    created_at: u64,
    to: &mut dyn Write,
) -> Result<(), TransferError> {
    let store = open_existing(folder)?;
    let snapshot = store.snapshot().map_err(|failure| storage_error(folder, &failure))?;
    match write_snapshot(&snapshot, key, created_at, to) {
        Ok(()) => Ok(()),
        Err(VisitError::Storage(failure)) => Err(storage_error(folder, &failure)),
        Err(VisitError::Visitor(error)) => Err(TransferError::BackupFile(error)),
    }
}

/// Writes a backup of a snapshot. If the storage fails, the backup says so.
pub(in crate::shell) fn write_snapshot(
    snapshot: &Snapshot,
    key: BackupKey,
    created_at: u64,
    to: &mut dyn Write,
) -> Result<(), VisitError<io::Error>> {
    let mut writer = BackupWriter::start(to, key, created_at).map_err(VisitError::Visitor)?;
    match snapshot.visit(&mut |record| writer.add(&record)) {
        Ok(()) => writer.finish().map_err(VisitError::Visitor),
        Err(VisitError::Storage(failure)) => {
            writer.fail(failure.reason()).map_err(VisitError::Visitor)?;
            Err(VisitError::Storage(failure))
        }
        Err(error) => Err(error),
    }
}

/// Reads a backup to its end, and reports damage. Reads the documents in it, too, if `reads_documents`.
pub fn read_backup(
    from: &mut dyn Read,
    reads_documents: bool,
    report: &mut dyn FnMut(&TransferFact),
) -> Result<StorageSummary, TransferError> {
    read_all(from, reads_documents, report).map(|(summary, _)| summary)
}

/// As [`read_backup`], with the facts about the storage.
fn read_all(
    from: &mut dyn Read,
    reads_documents: bool,
    report: &mut dyn FnMut(&TransferFact),
) -> Result<(StorageSummary, BTreeMap<String, Vec<u8>>), TransferError> {
    let mut reader = BackupReader::start(from)?;
    let mut checker = Checker::new(reads_documents);
    while let Some(item) = reader.next()? {
        match item {
            Item::Record(record) => checker.add(record, report),
            Item::Damage(damage) => checker.note_damage(damage.place, damage.reason, report),
        }
    }
    let facts = checker.facts().ok_or(TransferError::BackupFacts)?.clone();
    if StorageFacts::read(&facts).is_some_and(|facts| !facts.is_known_format) {
        return Err(TransferError::BackupVersion);
    }
    let mut summary = checker.finish(report).ok_or(TransferError::BackupFacts)?;
    summary.backup_started_at = Some(reader.created_at());
    Ok((summary, facts))
}

/// Restores a backup to `folder`. Everything is read and checked before anything there changes.
pub fn restore<R: Read + Seek>(
    mut from: R,
    folder: &Path,
    options: RestoreOptions,
    report: &mut dyn FnMut(&TransferFact),
) -> Result<StorageSummary, TransferError> {
    check_target(folder, options.replaces)?;
    let (mut summary, facts) = read_all(&mut from, false, report)?;
    if summary.counts.damaged > 0 && !options.salvages {
        return Err(TransferError::DamagedBackup(summary.counts.damaged));
    }
    if let Some(bytes) = options.new_storage_id {
        summary.storage_id = StorageId::from_random_bytes(bytes).to_string();
    }
    from.seek(SeekFrom::Start(0)).map_err(TransferError::BackupFile)?;
    fs::create_dir_all(folder).map_err(|error| opening_error(folder, &error.into()))?;
    let path = folder.join(FILE);
    let failed = |error: hashmill_atomic_file::Error| opening_error(&path, &error);
    // Without a name until it is complete, where the system can: a killed process leaves nothing.
    let replacement = Replacement::begin_private(&path).map_err(failed)?;
    let file = replacement.try_clone().map_err(file_error(&path))?;
    let storage_failed = |failure: IoFailure| storage_error(folder, &failure);
    let storage = NewStorage::create(file, &facts, &summary.storage_id).map_err(storage_failed)?;
    let damaged = fill(&storage, from, &storage_failed)?;
    storage.finish().map_err(storage_failed)?;
    if damaged != summary.counts.damaged {
        return Err(TransferError::BackupChanged);
    }
    if options.replaces && Store::exists(folder)? {
        let _lock = lock_storage(folder, &path)?;
        replacement.finish(Expected::Anything).map_err(failed)?;
    } else {
        // A server that was started meanwhile has its storage there.
        match replacement.finish(Expected::Absent) {
            Err(hashmill_atomic_file::Error::Exists) => {
                return Err(TransferError::Occupied(folder.to_owned()));
            }
            finished => drop(finished.map_err(failed)?),
        }
    }
    Ok(summary)
}

/// Fills a new storage from a backup. Returns the number of damaged parts, which are left out.
fn fill(
    storage: &NewStorage,
    from: impl Read,
    failed: &dyn Fn(IoFailure) -> TransferError,
) -> Result<u64, TransferError> {
    let mut reader = BackupReader::start(from)?;
    let mut documents = DocumentEnds::default();
    let (mut records, mut bytes, mut damaged) = (Vec::new(), 0, 0);
    while let Some(item) = reader.next()? {
        let Item::Record(record) = item else {
            damaged += 1;
            continue;
        };
        documents.note(&record);
        bytes += record_bytes(&record);
        records.push(record);
        if bytes >= BATCH_BYTES || records.len() >= BATCH_RECORDS {
            storage.add(&std::mem::take(&mut records)).map_err(failed)?;
            bytes = 0;
        }
    }
    storage.add(&records).map_err(failed)?;
    for document in documents.unknown {
        storage.remove(&document).map_err(failed)?;
    }
    Ok(damaged)
}

/// Documents of a backup whose records before and after the chunks are both lost. Such a document may be a deleted one.
#[derive(Default)]
struct DocumentEnds {
    last_known: Option<String>,
    unknown: BTreeSet<String>,
}

impl DocumentEnds {
    fn note(&mut self, record: &StorageRecord) {
        match record {
            StorageRecord::Document(about) | StorageRecord::DocumentEnd(about) => {
                self.unknown.remove(&about.document);
                self.last_known = Some(about.document.clone());
            }
            StorageRecord::Chunk(entry) if self.last_known.as_ref() != Some(&entry.document) => {
                self.unknown.insert(entry.document.clone());
            }
            StorageRecord::Chunk(_)
            | StorageRecord::Facts(_)
            | StorageRecord::OwnedBytes(..)
            | StorageRecord::LeftOutBlobs(..) => {}
        }
    }
}

fn record_bytes(record: &StorageRecord) -> usize {
    match record {
        StorageRecord::Chunk(entry) => entry.bytes.len(),
        _ => 0,
    }
}

/// Checks that the directory is empty, or that its storage may be replaced and is not in use.
fn check_target(folder: &Path, replaces: bool) -> Result<(), TransferError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(file_error(folder))?,
    };
    let mut is_empty = true;
    for entry in entries {
        let entry = entry.map_err(file_error(folder))?;
        // The directory that file systems have at their root.
        is_empty &= entry.file_name() == "lost+found";
    }
    if !is_empty && !replaces {
        return Err(TransferError::Occupied(folder.to_owned()));
    }
    // They have no records in the restored storage, so that a server would remove them.
    if let Some(files) = FolderFiles::find(folder).map_err(file_error(folder))? {
        for first in 0..=u8::MAX {
            if !files.blobs(first).map_err(file_error(files.folder()))?.is_empty() {
                return Err(TransferError::HasBlobs(files.folder().to_owned()));
            }
        }
    }
    let path = folder.join(FILE);
    if Store::exists(folder)? { lock_storage(folder, &path).map(drop) } else { Ok(()) }
}

/// Locks a storage that is to be replaced, as a server does.
#[expect(clippy::disallowed_types, reason = "the storage is a file")]
fn lock_storage(folder: &Path, path: &Path) -> Result<fs::File, TransferError> {
    let file = open_own(path).map_err(|error| opening_error(path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(OpenError::InUse(folder.to_owned()).into()),
        Err(fs::TryLockError::Error(error)) => Err(file_error(path)(error)),
    }
}

impl From<BackupError> for TransferError {
    fn from(error: BackupError) -> TransferError {
        match error {
            BackupError::Foreign => TransferError::NoBackup,
            BackupError::Header => TransferError::BackupHeader,
            BackupError::Version => TransferError::BackupVersion,
            BackupError::Failed(reason) => TransferError::BackupFailed(reason),
            BackupError::Io(error) => TransferError::BackupFile(error),
        }
    }
}
