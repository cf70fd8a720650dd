//! Storage in one directory: a redb database with automerge-repo's keys.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use hashmill_repo::DocumentId;
use redb::{Database, DatabaseError, ReadableDatabase as _, ReadableTable as _, Table, TableDefinition};

use super::error::OpenError;
use crate::event::IoFailure;
use crate::storage::{
    ChunkKey, ChunkKind, Command, CommandOutcome, StoredChunk, StoredDocument, Tombstone, TombstoneChange,
    name_of_bytes,
};

/// The database in the directory.
const FILE: &str = "hashmill.redb";
/// A file of automerge-repo's server: the key `storage-adapter-id`.
const FOREIGN_FILE: &str = "st/orage-adapter-id";
/// Version of the format: tables, keys and values.
const FORMAT: u64 = 2;
/// The version without tombstones. It is changed to the current one, whose programs alone know which documents are deleted.
const FORMAT_WITHOUT_TOMBSTONES: u64 = 1;
/// Memory for pages of the database.
const CACHE_BYTES: usize = 64 << 20;

type Key = (&'static str, &'static str, &'static str);
/// Chunks by document, kind and name, as automerge-repo names them.
const CHUNKS: TableDefinition<'_, Key, &[u8]> = TableDefinition::new("chunks");
/// Tombstones of deleted documents: time of the deletion, and whether the chunks are gone.
const TOMBSTONES: TableDefinition<'_, &str, (u64, bool)> = TableDefinition::new("tombstones");
/// Facts about the storage, by name.
const FACTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("facts");
const FORMAT_FACT: &str = "format";
const STORAGE_ID_FACT: &str = "storage-adapter-id";

/// An entry of the storage: a chunk, or what another program stored under the same kind of key.
pub(super) struct Entry {
    pub(super) document: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

impl Entry {
    /// The entry as a chunk, if it is one.
    pub(super) fn to_chunk(&self) -> Option<StoredChunk> {
        let (kind, document) = (ChunkKind::from_name(&self.kind)?, self.document.parse().ok()?);
        let key = ChunkKey { document, kind, name: self.name.clone() };
        Some(StoredChunk { key, bytes: self.bytes.clone() })
    }
}

/// An open storage. One process has it at a time.
pub(super) struct Store {
    path: PathBuf,
    storage_id: String,
    /// `None` after an error: the database must be opened again, which rolls back what was not stored.
    database: RwLock<Option<Database>>,
}

impl Store {
    /// Is there a storage in a directory?
    pub(super) fn exists(folder: &Path) -> bool {
        folder.join(FILE).exists()
    }

    /// Opens the storage of a directory, or creates it with an id.
    pub(super) fn open(folder: &Path, new_storage_id: &str) -> Result<Store, OpenError> {
        let failed = |path: &Path, reason: String| OpenError::Storage { path: path.to_owned(), reason };
        let io_failed = |error: io::Error| failed(folder, error.to_string());
        fs::create_dir_all(folder).map_err(io_failed)?;
        let path = folder.join(FILE);
        if !path.exists() && folder.join(FOREIGN_FILE).exists() {
            return Err(OpenError::Foreign(folder.to_owned()));
        }
        let is_new = !path.exists();
        let database = create(&path).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => {
                OpenError::InUse(folder.to_owned())
            }
            error => failed(&path, error.to_string()),
        })?;
        if is_new {
            sync_folder(folder).map_err(io_failed)?;
        }
        let storage_id = read_facts(&database, new_storage_id);
        let storage_id = storage_id.map_err(|error| failed(&path, error.to_string()))?;
        let storage_id = storage_id.map_err(|found| OpenError::Version {
            folder: folder.to_owned(),
            found,
            known: FORMAT,
        })?;
        Ok(Store { path, storage_id, database: RwLock::new(Some(database)) })
    }

    pub(super) fn storage_id(&self) -> &str {
        &self.storage_id
    }

    /// All chunks of a document, unless it is deleted. Entries of other kinds are left out.
    pub(super) fn load(&self, document: &DocumentId) -> Result<StoredDocument, IoFailure> {
        if self.tombstone(&document.to_string())?.is_some() {
            return Ok(StoredDocument { chunks: Vec::new(), is_deleted: true });
        }
        let entries = self.entries(&document.to_string())?;
        let chunk = |entry: Entry| {
            let key = ChunkKey {
                document: document.clone(),
                kind: ChunkKind::from_name(&entry.kind)?,
                name: entry.name,
            };
            Some(StoredChunk { key, bytes: entry.bytes })
        };
        let chunks = entries.into_iter().filter_map(chunk).collect();
        Ok(StoredDocument { chunks, is_deleted: false })
    }

    /// The tombstone of a document, if it is deleted.
    pub(super) fn tombstone(&self, document: &str) -> Result<Option<Tombstone>, IoFailure> {
        self.with_database(|database| {
            let table = database.begin_read()?.open_table(TOMBSTONES)?;
            Ok(table.get(document)?.map(|value| to_tombstone(value.value())))
        })
    }

    /// Up to `max` documents that were deleted at this time or earlier, and are not purged.
    pub(super) fn purgeable(&self, deleted_until: u64, max: usize) -> Result<Vec<DocumentId>, IoFailure> {
        self.with_database(|database| {
            let table = database.begin_read()?.open_table(TOMBSTONES)?;
            let mut found = Vec::new();
            for entry in table.iter()? {
                let (document, value) = entry?;
                let Tombstone { deleted_at, is_purged } = to_tombstone(value.value());
                if !is_purged && deleted_at <= deleted_until {
                    // An id that is none was written by another program, and is left alone.
                    found.extend(document.value().parse::<DocumentId>().ok());
                }
                if found.len() >= max {
                    break;
                }
            }
            Ok(found)
        })
    }

    /// Carries out a command durably.
    pub(super) fn execute(
        &self,
        document: &DocumentId,
        command: Command,
    ) -> Result<CommandOutcome, IoFailure> {
        let document = document.to_string();
        let document = document.as_str();
        self.with_database(|database| {
            let transaction = database.begin_write()?;
            let outcome = {
                let mut tombstones = transaction.open_table(TOMBSTONES)?;
                let mut chunks = transaction.open_table(CHUNKS)?;
                let tombstone = tombstones.get(document)?.map(|value| to_tombstone(value.value()));
                let range = (document, "", "")..;
                let has_chunks = match chunks.range(range.clone())?.next().transpose()? {
                    Some((key, _)) => key.value().0 == document,
                    None => false,
                };
                let (outcome, change) = command.decide(tombstone, has_chunks);
                match change {
                    TombstoneChange::Nothing => {}
                    TombstoneChange::Insert(Tombstone { deleted_at, is_purged }) => {
                        tombstones.insert(document, (deleted_at, is_purged))?;
                    }
                    TombstoneChange::Remove => drop(tombstones.remove(document)?),
                    TombstoneChange::RemoveChunks(Tombstone { deleted_at, is_purged }) => {
                        // The smallest text that is larger.
                        let end = format!("{document}\0");
                        chunks.retain_in((document, "", "")..(end.as_str(), "", ""), |_, _| false)?;
                        tombstones.insert(document, (deleted_at, is_purged))?;
                    }
                }
                outcome
            };
            // Returns when the data has reached the disk.
            transaction.commit()?;
            Ok(outcome)
        })
    }

    /// All entries of a document, in the order of kinds and names.
    pub(super) fn entries(&self, document: &str) -> Result<Vec<Entry>, IoFailure> {
        self.with_database(|database| {
            let table = database.begin_read()?.open_table(CHUNKS)?;
            let mut entries = Vec::new();
            for entry in table.range((document, "", "")..)? {
                let (key, bytes) = entry?;
                let (entry_document, kind, name) = key.value();
                if entry_document != document {
                    break;
                }
                let (kind, name, bytes) = (kind.to_owned(), name.to_owned(), bytes.value().to_vec());
                entries.push(Entry { document: entry_document.to_owned(), kind, name, bytes });
            }
            Ok(entries)
        })
    }

    /// The next document in the order of the texts of ids. `None`: from the first.
    pub(super) fn document_after(&self, document: Option<&str>) -> Result<Option<String>, IoFailure> {
        self.with_database(|database| {
            let table = database.begin_read()?.open_table(CHUNKS)?;
            // The smallest text that is larger.
            let start = document.map(|document| format!("{document}\0"));
            let start = start.as_deref().unwrap_or("");
            let first = table.range((start, "", "")..)?.next().transpose()?;
            Ok(first.map(|(key, _)| key.value().0.to_owned()))
        })
    }

    /// Adds entries durably, all or none. Where the key has other bytes, the new ones get a name of their own.
    pub(super) fn add(&self, entries: &[Entry]) -> Result<(), IoFailure> {
        self.write(|table| {
            for Entry { document, kind, name, bytes } in entries {
                let key = (document.as_str(), kind.as_str(), name.as_str());
                let is_taken = table.get(key)?.is_some_and(|known| known.value() != bytes.as_slice());
                // Names are not checked on load. That of a state names a client, so the newer one replaces it.
                let is_chunk = ChunkKind::from_name(kind).is_some();
                let other = (is_taken && is_chunk).then(|| name_of_bytes(bytes));
                let name = other.as_deref().unwrap_or(name.as_str());
                table.insert((document.as_str(), kind.as_str(), name), bytes.as_slice())?;
            }
            Ok(())
        })
    }

    /// Stores chunks durably, all or none.
    pub(super) fn put(&self, chunks: &[StoredChunk]) -> Result<(), IoFailure> {
        self.write(|table| {
            for StoredChunk { key, bytes } in chunks {
                let document = key.document.to_string();
                table.insert((document.as_str(), key.kind.as_str(), key.name.as_str()), bytes.as_slice())?;
            }
            Ok(())
        })
    }

    /// Deletes chunks durably, all or none.
    pub(super) fn delete(&self, keys: &[ChunkKey]) -> Result<(), IoFailure> {
        self.write(|table| {
            for key in keys {
                let document = key.document.to_string();
                table.remove((document.as_str(), key.kind.as_str(), key.name.as_str()))?;
            }
            Ok(())
        })
    }

    fn write(
        &self,
        change: impl Fn(&mut Table<'_, Key, &'static [u8]>) -> Result<(), redb::Error>,
    ) -> Result<(), IoFailure> {
        self.with_database(|database| {
            let transaction = database.begin_write()?;
            change(&mut transaction.open_table(CHUNKS)?)?;
            // Returns when the data has reached the disk.
            transaction.commit()?;
            Ok(())
        })
    }

    /// Runs an operation on the database. After an error the database refuses everything, so it is closed, and the next operation
    /// opens it again.
    fn with_database<R>(
        &self,
        operation: impl Fn(&Database) -> Result<R, redb::Error>,
    ) -> Result<R, IoFailure> {
        let unknown = |error: redb::Error| IoFailure::Unknown(error.to_string());
        if self.database.read().unwrap_or_else(PoisonError::into_inner).is_none() {
            let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
            if database.is_none() {
                *database = Some(create(&self.path).map_err(|error| unknown(error.into()))?);
            }
        }
        let result = match &*self.database.read().unwrap_or_else(PoisonError::into_inner) {
            Some(database) => operation(database),
            None => return Err(IoFailure::NotDone("the storage was closed by an error".to_owned())),
        };
        result.map_err(|error| {
            *self.database.write().unwrap_or_else(PoisonError::into_inner) = None;
            unknown(error)
        })
    }
}

fn to_tombstone((deleted_at, is_purged): (u64, bool)) -> Tombstone {
    Tombstone { deleted_at, is_purged }
}

fn create(path: &Path) -> Result<Database, DatabaseError> {
    Database::builder().set_cache_size(CACHE_BYTES).create(path)
}

/// Reads the id of the storage, and writes the facts of a new one. `Ok(Err)` has the version of another format.
fn read_facts(database: &Database, new_storage_id: &str) -> Result<Result<String, u64>, redb::Error> {
    let transaction = database.begin_write()?;
    let storage_id = {
        let mut facts = transaction.open_table(FACTS)?;
        match read_text(&facts, FORMAT_FACT)? {
            Some(found) if found == FORMAT.to_string() => {}
            Some(found) if found == FORMAT_WITHOUT_TOMBSTONES.to_string() => {
                facts.insert(FORMAT_FACT, FORMAT.to_string().as_bytes())?;
            }
            // A version that is no number is not one of ours.
            Some(found) => return Ok(Err(found.parse().unwrap_or(u64::MAX))),
            None => drop(facts.insert(FORMAT_FACT, FORMAT.to_string().as_bytes())?),
        }
        match read_text(&facts, STORAGE_ID_FACT)? {
            Some(storage_id) => storage_id,
            None => {
                facts.insert(STORAGE_ID_FACT, new_storage_id.as_bytes())?;
                new_storage_id.to_owned()
            }
        }
    };
    transaction.open_table(CHUNKS)?;
    transaction.open_table(TOMBSTONES)?;
    transaction.commit()?;
    Ok(Ok(storage_id))
}

fn read_text(
    facts: &Table<'_, &'static str, &'static [u8]>,
    name: &str,
) -> Result<Option<String>, redb::Error> {
    Ok(facts.get(name)?.map(|value| String::from_utf8_lossy(value.value()).into_owned()))
}

/// Makes the name of a new file durable.
#[expect(clippy::disallowed_types, reason = "the storage is made of files")]
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    // Systems on which a folder cannot be opened do not need it.
    match fs::File::open(folder) {
        Ok(folder) => folder.sync_all(),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(error),
    }
}
