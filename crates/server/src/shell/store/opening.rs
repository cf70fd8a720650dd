//! Opening and creating the file of a storage. Entries that others may have put there are not touched.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use hashmill_atomic_file::{Error as FileError, Expected, Refusal, Replacement, open_own, open_regular};
use redb::backends::FileBackend;
use redb::{Database, DatabaseError};

use super::advice::io_advice;
use super::new_storage::NewStorage;
use super::{CACHE_BYTES, FILE, FORMAT, FORMAT_FACT, SHARED_MARK, STORAGE_ID_FACT};
use crate::shell::error::OpenError;

/// Reason why the file of a storage cannot be opened.
pub(super) enum OpenDatabaseError {
    File(FileError),
    Database(DatabaseError),
}

impl fmt::Display for OpenDatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Database(error) => error.fmt(f),
        }
    }
}

/// Opens the file of a storage, which exists.
pub(super) fn open_database(path: &Path) -> Result<Database, OpenDatabaseError> {
    // It would be created otherwise.
    fs::symlink_metadata(path).map_err(|error| OpenDatabaseError::File(error.into()))?;
    let file = open_own(path).map_err(OpenDatabaseError::File)?;
    let file = FileBackend::new(file).map_err(OpenDatabaseError::Database)?;
    let database = Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(file);
    database.map_err(OpenDatabaseError::Database)
}

/// Is there a storage in a directory? One of servers that share a storage is an error.
pub(super) fn has_storage(folder: &Path) -> Result<bool, OpenError> {
    refuse_shared(folder)?;
    has_entry(&folder.join(FILE))
}

/// Refuses a directory of servers that share a storage, and that of their snapshots.
pub(in crate::shell) fn refuse_shared(folder: &Path) -> Result<(), OpenError> {
    if has_entry(&folder.join(SHARED_MARK))? {
        return Err(OpenError::Shared(folder.to_owned()));
    }
    Ok(())
}

/// Is there a storage of a single server in a directory that may be one of a shared storage?
#[cfg(feature = "cluster")]
pub(in crate::shell) fn has_single_storage(folder: &Path) -> Result<bool, OpenError> {
    has_entry(&folder.join(FILE))
}

fn has_entry(path: &Path) -> Result<bool, OpenError> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(storage_error(path, &FileError::Io(error))),
    }
}

/// Creates a storage with an id, whole or not at all. One that another server creates meanwhile stays.
pub(super) fn create_storage(folder: &Path, storage_id: &str) -> Result<(), OpenError> {
    let path = folder.join(FILE);
    let failed = |error: FileError| storage_error(&path, &error);
    let replacement = Replacement::begin_private(&path).map_err(failed)?;
    let file = replacement.try_clone().map_err(|error| failed(error.into()))?;
    let facts = BTreeMap::from([
        (FORMAT_FACT.to_owned(), FORMAT.to_string().into_bytes()),
        (STORAGE_ID_FACT.to_owned(), storage_id.as_bytes().to_vec()),
    ]);
    let created = NewStorage::create(file, &facts, storage_id).and_then(NewStorage::finish);
    created
        .map_err(|failure| OpenError::Storage { path: path.clone(), reason: failure.reason().to_owned() })?;
    match replacement.finish(Expected::Absent) {
        Ok(_) | Err(FileError::Exists) => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// The error of opening the file of a storage, with what to do.
pub(super) fn open_error(folder: &Path, path: PathBuf, error: OpenDatabaseError) -> OpenError {
    match error {
        OpenDatabaseError::Database(
            DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch,
        ) => OpenError::InUse(folder.to_owned()),
        // A server of the owner may use it, which an administrator asks then.
        OpenDatabaseError::File(FileError::Refused(Refusal::Owner(_))) if is_locked(&path) => {
            OpenError::InUse(folder.to_owned())
        }
        OpenDatabaseError::File(error) => storage_error(&path, &error),
        OpenDatabaseError::Database(DatabaseError::Storage(redb::StorageError::Io(error))) => {
            storage_error(&path, &FileError::Io(error))
        }
        OpenDatabaseError::Database(error) => {
            let reason =
                format!("{error}: if it is damaged, restore a backup with hashmill serve restore --replace");
            OpenError::Storage { path, reason }
        }
    }
}

/// An error of a file or directory of a storage, with what to do.
pub(in crate::shell) fn storage_error(path: &Path, error: &FileError) -> OpenError {
    let reason = match error {
        FileError::Refused(Refusal::Link | Refusal::PlantedLink) => {
            format!("{error}, which is not followed: name the directory that the file is in")
        }
        FileError::Refused(Refusal::Owner(user)) => {
            format!(
                "{error}: run this command as that user, or give it the file with chown ({user} owns it now)"
            )
        }
        FileError::Refused(Refusal::HardLinks(_)) => {
            format!("{error}, which would change, too: remove or copy the others")
        }
        FileError::Io(error) => {
            let advice = io_advice(error);
            format!("{error}{advice}")
        }
        error => error.to_string(),
    };
    OpenError::Storage { path: path.to_owned(), reason }
}

/// Does a process use the file? A file that cannot be opened is not known to be used.
fn is_locked(path: &Path) -> bool {
    let locked = open_regular(path).map(|file| file.try_lock_shared());
    matches!(locked, Ok(Err(fs::TryLockError::WouldBlock)))
}
