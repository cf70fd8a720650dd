//! Storage in one directory: a redb database with automerge-repo's keys.

mod advice;
mod blob_tables;
mod blobs;
mod byte_counts;
mod chunk_tables;
mod clock;
mod listing;
mod new_storage;
mod opening;
#[cfg(feature = "cluster")]
pub(super) mod shared;
mod snapshot;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use hashmill_repo::DocumentId;
use redb::{
    Database, ReadableDatabase as _, ReadableTable, ReadableTableMetadata as _, Table, TableDefinition,
};

use super::error::OpenError;
use crate::event::IoFailure;
use crate::storage::{
    ChunkKey, ChunkKind, Command, CommandOutcome, DocumentState, Owner, StorageClock, StoredChunk,
    StoredDocument, Tombstone, TombstoneChange, name_of_bytes,
};

pub(super) use byte_counts::OwnerCounts;
pub(super) use clock::RunningClock;
pub(super) use listing::{EntrySize, StoredSizes};
pub(super) use new_storage::{NewStorage, StorageFacts};
#[cfg(feature = "cluster")]
pub(super) use opening::has_single_storage;
pub(super) use opening::{refuse_shared, storage_error};
pub(super) use snapshot::{DocumentRecord, Snapshot, StorageRecord, VisitError};

use blob_tables::BlobTables;
use chunk_tables::{CHUNKS, ChunkTables, OWNERS};
use opening::{create_storage, has_storage, open_database, open_error};

/// The database in the directory.
pub(super) const FILE: &str = "hashmill.redb";
/// The file in directories of servers that share a storage, and in that of their snapshots.
pub(super) const SHARED_MARK: &str = "hashmill-shared";
/// A file of automerge-repo's server: the key `storage-adapter-id`.
const FOREIGN_FILE: &str = "st/orage-adapter-id";
/// Version of the format: tables, keys and values.
const FORMAT: u64 = 2;
/// The version without tombstones. It is changed to the current one, whose programs alone know which documents are deleted.
const FORMAT_WITHOUT_TOMBSTONES: u64 = 1;
/// Memory for pages of the database.
const CACHE_BYTES: usize = 64 << 20;

/// Tombstones of deleted documents: time of the deletion, and whether the chunks are gone.
const TOMBSTONES: TableDefinition<'_, &str, (u64, bool)> = TableDefinition::new("tombstones");
/// The latest recorded use of a document, by the clock of the storage.
const USES: TableDefinition<'_, &str, u64> = TableDefinition::new("uses");
/// Facts about the storage, by name.
const FACTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("facts");
const FORMAT_FACT: &str = "format";
const STORAGE_ID_FACT: &str = "storage-adapter-id";
/// The last record of the storage's clock.
const CLOCK_FACT: &str = "clock";
/// The clock of the machine at that time, in seconds since 1970.
const UNIX_TIME_FACT: &str = "unix-time";

/// An entry of the storage: a chunk, or what another program stored under the same kind of key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) document: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

impl Entry {
    /// The entry as a chunk, if it is one.
    pub(super) fn into_chunk(self) -> Option<StoredChunk> {
        let (kind, document) = (ChunkKind::from_name(&self.kind)?, self.document.parse().ok()?);
        let key = ChunkKey { document, kind, name: self.name };
        Some(StoredChunk { key, bytes: self.bytes })
    }
}

/// An open storage. One process has it at a time.
pub(super) struct Store {
    path: PathBuf,
    storage_id: String,
    /// `None` after an error: the database must be opened again, which rolls back what was not stored.
    database: RwLock<Option<Database>>,
    /// Documents that were read or changed since the last record. `None`: uses are not recorded.
    used: Option<Mutex<BTreeSet<String>>>,
}

impl Store {
    /// Is there a storage in a directory?
    pub(super) fn exists(folder: &Path) -> Result<bool, OpenError> {
        has_storage(folder)
    }

    /// Opens the storage of a directory, or creates it with an id.
    pub(super) fn open(folder: &Path, new_storage_id: &str) -> Result<Store, OpenError> {
        fs::create_dir_all(folder).map_err(|error| storage_error(folder, &error.into()))?;
        let path = folder.join(FILE);
        if !has_storage(folder)? {
            if folder.join(FOREIGN_FILE).exists() {
                return Err(OpenError::Foreign(folder.to_owned()));
            }
            create_storage(folder, new_storage_id)?;
        }
        let database = open_database(&path).map_err(|error| open_error(folder, path.clone(), error))?;
        let storage_id = read_facts(&database, new_storage_id);
        let storage_id = storage_id
            .map_err(|error| OpenError::Storage { path: path.clone(), reason: error.to_string() })?;
        let storage_id = storage_id.map_err(|found| OpenError::Version {
            folder: folder.to_owned(),
            found,
            known: FORMAT,
        })?;
        Ok(Store { path, storage_id, database: RwLock::new(Some(database)), used: None })
    }

    /// A new storage in memory, which is durable for tests: each operation is done or not.
    #[cfg(test)]
    pub(super) fn in_memory() -> Store {
        let database = Database::builder().create_with_backend(redb::backends::InMemoryBackend::new());
        let database = database.expect("a database");
        let storage_id = read_facts(&database, "5638dcaa-8264-4cd2-a865-2a045e045ae2");
        let storage_id = storage_id.expect("a database").expect("a new one");
        Store { path: PathBuf::new(), storage_id, database: RwLock::new(Some(database)), used: None }
    }

    /// Records uses from now on, or none. Earlier records are then forgotten: they would make documents old that were used meanwhile.
    pub(super) fn record_uses_from_now_on(&mut self, is_on: bool) -> Result<(), IoFailure> {
        self.used = is_on.then(Mutex::default);
        if is_on {
            return Ok(());
        }
        self.with_database(|database| {
            let is_empty = database.begin_read()?.open_table(USES)?.is_empty()?;
            if !is_empty {
                let transaction = database.begin_write()?;
                transaction.delete_table(USES)?;
                transaction.open_table(USES)?;
                transaction.commit()?;
            }
            Ok(())
        })
    }

    /// Loses the file, so that everything fails.
    #[cfg(test)]
    pub(super) fn lose_file(&self) {
        *self.database.write().unwrap_or_else(PoisonError::into_inner) = None;
        fs::remove_file(&self.path).expect("it exists");
    }

    pub(super) fn storage_id(&self) -> &str {
        &self.storage_id
    }

    /// Runs an operation on a thread that may wait.
    pub(super) async fn run_blocking<R: Send + 'static>(
        self: Arc<Self>,
        operation: impl FnOnce(&Store) -> Result<R, IoFailure> + Send + 'static,
    ) -> Result<R, IoFailure> {
        let done = tokio::task::spawn_blocking(move || operation(&self)).await;
        done.unwrap_or_else(|error| Err(IoFailure::NotDone(error.to_string())))
    }

    /// All chunks of a document, unless it is deleted. Entries of other kinds are left out.
    pub(super) fn load(&self, document: &DocumentId) -> Result<StoredDocument, IoFailure> {
        let text = document.to_string();
        if self.tombstone(&text)?.is_some() {
            return Ok(StoredDocument { is_deleted: true, ..StoredDocument::default() });
        }
        let owner = self.owner(&text)?;
        let chunks: Vec<StoredChunk> =
            self.entries(&text)?.into_iter().filter_map(Entry::into_chunk).collect();
        if !chunks.is_empty() {
            self.note_use(&text);
        }
        Ok(StoredDocument { chunks, is_deleted: false, owner })
    }

    /// All that is durable now, while writes go on.
    pub(super) fn snapshot(&self) -> Result<Snapshot, IoFailure> {
        self.with_database(|database| Ok(Snapshot::new(database.begin_read()?)))
    }

    /// Differences from the counts of stored bytes to the right ones, by owner. A count and its right value change together, so that a
    /// difference stays right during writes.
    pub(super) fn count_differences(&self) -> Result<BTreeMap<String, i64>, IoFailure> {
        let sums = self.with_database(|database| Snapshot::new(database.begin_read()?).sums_and_counts())?;
        let differences = sums.into_iter().map(|(name, (sum, count))| (name, sum.saturating_sub(count)));
        Ok(differences.filter(|(_, difference)| *difference != 0).collect())
    }

    /// Corrects counts of stored bytes by these differences.
    pub(super) fn adjust_counts(
        &self,
        differences: &BTreeMap<String, i64>,
    ) -> Result<OwnerCounts, IoFailure> {
        self.write(|tables| {
            tables.adjust(differences);
            Ok(())
        })
    }

    /// Bytes of all documents of an identity.
    pub(super) fn load_owner(&self, name: String) -> Result<Owner, IoFailure> {
        let stored_bytes =
            self.with_database(|database| Snapshot::new(database.begin_read()?).stored_bytes(&name))?;
        Ok(Owner { name, stored_bytes })
    }

    /// Notes that a document is used now, to be recorded by [`record_uses`](Self::record_uses).
    pub(super) fn note_use(&self, document: &str) {
        if let Some(used) = &self.used {
            used.lock().unwrap_or_else(PoisonError::into_inner).insert(document.to_owned());
        }
    }

    /// The clock of the storage as it was recorded last.
    pub(super) fn clock(&self, unix_time: u64) -> Result<StorageClock, IoFailure> {
        self.with_database(|database| {
            let transaction = database.begin_read()?;
            let recorded = read_number(&transaction.open_table(FACTS)?, CLOCK_FACT)?;
            if recorded.is_some() {
                return Ok(StorageClock::resume(recorded, None, unix_time));
            }
            let mut latest = None;
            for entry in transaction.open_table(TOMBSTONES)?.iter()? {
                latest = latest.max(Some(to_tombstone(entry?.1.value()).deleted_at));
            }
            for entry in transaction.open_table(USES)?.iter()? {
                latest = latest.max(Some(entry?.1.value()));
            }
            Ok(StorageClock::resume(None, latest, unix_time))
        })
    }

    /// The clock of the machine as it was recorded last, in seconds since 1970.
    pub(super) fn recorded_unix_time(&self) -> Result<Option<u64>, IoFailure> {
        self.with_database(|database| read_number(&database.begin_read()?.open_table(FACTS)?, UNIX_TIME_FACT))
    }

    /// Records the clock of the storage, and that of the machine.
    pub(super) fn record_clock(&self, now: u64, unix_time: u64) -> Result<(), IoFailure> {
        self.with_database(|database| {
            let transaction = database.begin_write()?;
            {
                let mut facts = transaction.open_table(FACTS)?;
                facts.insert(CLOCK_FACT, now.to_string().as_bytes())?;
                facts.insert(UNIX_TIME_FACT, unix_time.to_string().as_bytes())?;
            }
            transaction.commit()?;
            Ok(())
        })
    }

    /// Records the uses since the last call with this time.
    pub(super) fn record_uses(&self, now: u64) -> Result<(), IoFailure> {
        let Some(used) = &self.used else { return Ok(()) };
        let documents = std::mem::take(&mut *used.lock().unwrap_or_else(PoisonError::into_inner));
        if documents.is_empty() {
            return Ok(());
        }
        let recorded = self.with_database(|database| {
            let transaction = database.begin_write()?;
            {
                let mut uses = transaction.open_table(USES)?;
                for document in &documents {
                    uses.insert(document.as_str(), now)?;
                }
            }
            transaction.commit()?;
            Ok(())
        });
        if recorded.is_err() {
            used.lock().unwrap_or_else(PoisonError::into_inner).extend(documents);
        }
        recorded
    }

    /// Up to `max` documents that are not deleted, after another one in the order of ids, with their latest recorded uses.
    pub(super) fn uses_after(
        &self,
        document: Option<&str>,
        max: usize,
    ) -> Result<Vec<(String, Option<u64>)>, IoFailure> {
        self.with_database(|database| {
            let transaction = database.begin_read()?;
            let (chunks, uses) = (transaction.open_table(CHUNKS)?, transaction.open_table(USES)?);
            let tombstones = transaction.open_table(TOMBSTONES)?;
            let mut found = Vec::new();
            // The smallest text that is larger.
            let mut start = document.map(|document| format!("{document}\0")).unwrap_or_default();
            while found.len() < max {
                let Some((key, _)) = chunks.range((start.as_str(), "", "")..)?.next().transpose()? else {
                    break;
                };
                let document = key.value().0.to_owned();
                start = format!("{document}\0");
                if tombstones.get(document.as_str())?.is_none() {
                    let used_at = uses.get(document.as_str())?.map(|used_at| used_at.value());
                    found.push((document, used_at));
                }
            }
            Ok(found)
        })
    }

    /// The tombstone of a document, if it is deleted.
    pub(super) fn tombstone(&self, document: &str) -> Result<Option<Tombstone>, IoFailure> {
        self.with_database(|database| {
            let table = database.begin_read()?.open_table(TOMBSTONES)?;
            Ok(table.get(document)?.map(|value| to_tombstone(value.value())))
        })
    }

    /// The owner of a document.
    pub(super) fn owner(&self, document: &str) -> Result<Option<Owner>, IoFailure> {
        self.with_database(|database| {
            let transaction = database.begin_read()?;
            let name = transaction.open_table(OWNERS)?.get(document)?.map(|name| name.value().to_owned());
            let Some(name) = name else { return Ok(None) };
            let stored_bytes = Snapshot::new(transaction).stored_bytes(&name)?;
            Ok(Some(Owner { name, stored_bytes }))
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

    /// Carries out a command durably. Returns its outcome and changed counts of owners.
    pub(super) fn execute(
        &self,
        document: &DocumentId,
        command: Command,
    ) -> Result<(CommandOutcome, OwnerCounts), IoFailure> {
        let document = document.to_string();
        let document = document.as_str();
        self.with_database(|database| {
            let transaction = database.begin_write()?;
            let done = {
                let mut tombstones = transaction.open_table(TOMBSTONES)?;
                let mut tables = ChunkTables::open(&transaction)?;
                let tombstone = tombstones.get(document)?.map(|value| to_tombstone(value.value()));
                let mut uses = transaction.open_table(USES)?;
                let is_in_use = self.used.as_ref().is_some_and(|used| {
                    used.lock().unwrap_or_else(PoisonError::into_inner).contains(document)
                });
                let recorded = uses.get(document)?.map(|used_at| used_at.value());
                // Uses that are not recorded yet are later than all others.
                let used_at = if is_in_use { Some(u64::MAX) } else { recorded };
                let has_chunks = tables.has_entries(document)?;
                let (outcome, change) = command.decide(DocumentState { tombstone, has_chunks, used_at });
                match change {
                    TombstoneChange::Nothing => {}
                    TombstoneChange::Insert(Tombstone { deleted_at, is_purged }) => {
                        tombstones.insert(document, (deleted_at, is_purged))?;
                    }
                    TombstoneChange::Remove => drop(tombstones.remove(document)?),
                    TombstoneChange::RemoveChunks(Tombstone { deleted_at, is_purged }) => {
                        tables.remove_document(document)?;
                        uses.remove(document)?;
                        tombstones.insert(document, (deleted_at, is_purged))?;
                    }
                }
                (outcome, tables.finish()?)
            };
            // Returns when the data has reached the disk.
            transaction.commit()?;
            Ok(done)
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
    pub(super) fn add(&self, entries: &[Entry]) -> Result<OwnerCounts, IoFailure> {
        self.write(|tables| {
            for Entry { document, kind, name, bytes } in entries {
                let is_taken = tables.differs((document, kind, name), bytes)?;
                // Names are not checked on load. That of a state names a client, so the newer one replaces it.
                let is_chunk = ChunkKind::from_name(kind).is_some();
                let other = (is_taken && is_chunk).then(|| name_of_bytes(bytes));
                let name = other.as_deref().unwrap_or(name);
                tables.insert((document, kind, name), bytes)?;
            }
            Ok(())
        })
    }

    /// Stores chunks and owners of new documents durably, all or none. Returns changed counts of owners.
    pub(super) fn put(
        &self,
        chunks: &[StoredChunk],
        owners: &BTreeMap<DocumentId, String>,
    ) -> Result<OwnerCounts, IoFailure> {
        self.write(|tables| {
            tables.add_owners(owners)?;
            for StoredChunk { key, bytes } in chunks {
                let document = key.document.to_string();
                tables.insert((&document, key.kind.as_str(), &key.name), bytes)?;
                self.note_use(&document);
            }
            Ok(())
        })
    }

    /// Deletes chunks durably, all or none. Returns changed counts of owners.
    pub(super) fn delete(&self, keys: &[ChunkKey]) -> Result<OwnerCounts, IoFailure> {
        self.write(|tables| {
            for key in keys {
                tables.remove((&key.document.to_string(), key.kind.as_str(), &key.name))?;
            }
            Ok(())
        })
    }

    fn write(
        &self,
        change: impl Fn(&mut ChunkTables<'_>) -> Result<(), redb::Error>,
    ) -> Result<OwnerCounts, IoFailure> {
        self.with_database(|database| {
            let transaction = database.begin_write()?;
            let mut tables = ChunkTables::open(&transaction)?;
            change(&mut tables)?;
            let counts = tables.finish()?;
            // Returns when the data has reached the disk.
            transaction.commit()?;
            Ok(counts)
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
                let opened = open_database(&self.path);
                *database = Some(opened.map_err(|error| IoFailure::Unknown(error.to_string()))?);
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

/// Reads a fact that is a number. Another text was written by a later version, whose times may mean something else.
fn read_number(
    facts: &impl ReadableTable<&'static str, &'static [u8]>,
    name: &str,
) -> Result<Option<u64>, redb::Error> {
    let Some(value) = facts.get(name)? else { return Ok(None) };
    let text = String::from_utf8_lossy(value.value());
    let number = text.parse().map_err(|_| {
        redb::Error::Corrupted(format!("the fact {name:?} of the storage is {text:?}, which is no number"))
    })?;
    Ok(Some(number))
}

fn to_tombstone((deleted_at, is_purged): (u64, bool)) -> Tombstone {
    Tombstone { deleted_at, is_purged }
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
    transaction.open_table(TOMBSTONES)?;
    transaction.open_table(USES)?;
    ChunkTables::open(&transaction)?;
    BlobTables::create(&transaction)?;
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

#[cfg(test)]
mod tests {
    use hashmill_testkit::Rng;
    use tempfile::TempDir;

    use super::*;

    fn open() -> (TempDir, Store) {
        let folder = TempDir::new().expect("a folder");
        let store =
            Store::open(folder.path(), "5638dcaa-8264-4cd2-a865-2a045e045ae2").expect("a new storage");
        (folder, store)
    }

    fn id(number: usize) -> DocumentId {
        DocumentId::from_random_bytes([number as u8; 16])
    }

    fn chunk(rng: &mut Rng, number: usize) -> StoredChunk {
        let len = rng.below(100);
        let kind = [ChunkKind::Snapshot, ChunkKind::Incremental][rng.below(2)];
        let key = ChunkKey { document: id(number), kind, name: rng.below(4).to_string() };
        StoredChunk { key, bytes: rng.bytes(len) }
    }

    fn execute(store: &Store, number: usize, command: Command) -> CommandOutcome {
        store.execute(&id(number), command).expect("a working storage").0
    }

    /// A random write. Returns the counts that it changed.
    fn write(store: &Store, rng: &mut Rng) -> OwnerCounts {
        let number = rng.below(4);
        let counts = match rng.below(6) {
            0..3 => {
                let chunks = [chunk(rng, number), chunk(rng, number)];
                let name = ["ann", "ben"][rng.below(2)].to_owned();
                // The last document has no owner.
                let owners = (number < 3).then(|| (id(number), name)).into_iter().collect();
                store.put(&chunks, &owners)
            }
            3 => store.delete(&[chunk(rng, number).key]),
            4 => store.execute(&id(number), Command::Delete { at: 1 }).map(|(_, counts)| counts),
            _ => store.execute(&id(number), Command::Purge { deleted_until: 1 }).map(|(_, counts)| counts),
        };
        counts.expect("a working storage")
    }

    /// After any writes, the count of each owner is the sum of what is stored of its documents.
    #[test]
    fn bytes_are_counted_for_owners() {
        for seed in 0..hashmill_testkit::size::of(3, 50) {
            let (_folder, store) = open();
            let mut rng = Rng::new(seed);
            let mut latest = BTreeMap::new();
            for _ in 0..60 {
                let counts = write(&store, &mut rng);
                latest.extend(counts.changed.into_iter().map(|owner| (owner.name, owner.stored_bytes)));
                let mut expected = BTreeMap::from([("ann".to_owned(), 0), ("ben".to_owned(), 0)]);
                for number in 0..4 {
                    let text = id(number).to_string();
                    let owner = store.owner(&text).expect("a working storage");
                    assert!(number < 3 || owner.is_none());
                    if let Some(owner) = owner {
                        let entries = store.entries(&text).expect("a working storage");
                        let bytes: u64 = entries.iter().map(|entry| entry.bytes.len() as u64).sum();
                        *expected.get_mut(&owner.name).expect("one of two") += bytes;
                    }
                }
                for (name, bytes) in &expected {
                    let counted = store.load_owner(name.clone()).expect("a working storage").stored_bytes;
                    let reported = latest.get(name).copied().unwrap_or(0);
                    assert_eq!((counted, reported), (*bytes, *bytes), "{seed}: {name}");
                }
            }
        }
    }

    #[test]
    fn deleted_documents_are_not_read_until_they_are_brought_back() {
        let (folder, store) = open();
        let mut rng = Rng::new(1);
        let chunks = [chunk(&mut rng, 1), chunk(&mut rng, 2)];
        store.put(&chunks, &BTreeMap::new()).expect("a working storage");
        assert_eq!(execute(&store, 1, Command::Delete { at: 7 }), CommandOutcome::Done);
        drop(store);
        let store = Store::open(folder.path(), "").expect("a storage");
        let deleted = store.load(&id(1)).expect("a working storage");
        assert_eq!(deleted, StoredDocument { is_deleted: true, ..StoredDocument::default() });
        assert_eq!(store.purgeable(6, 10).expect("a working storage"), []);
        assert_eq!(store.purgeable(7, 10).expect("a working storage"), [id(1)]);
        assert_eq!(execute(&store, 1, Command::Undelete), CommandOutcome::Done);
        assert_eq!(store.load(&id(1)).expect("a working storage").chunks, chunks[..1]);
        execute(&store, 1, Command::Delete { at: 8 });
        assert_eq!(execute(&store, 1, Command::Purge { deleted_until: 7 }), CommandOutcome::NotDue);
        assert_eq!(execute(&store, 1, Command::Purge { deleted_until: 8 }), CommandOutcome::Done);
        assert!(store.entries(&id(1).to_string()).expect("a working storage").is_empty());
        assert_eq!(store.load(&id(2)).expect("a working storage").chunks, chunks[1..]);
        assert_eq!(store.purgeable(9, 10).expect("a working storage"), []);
        assert_eq!(execute(&store, 1, Command::Undelete), CommandOutcome::Purged);
    }

    #[test]
    fn uses_are_recorded_while_that_is_on() {
        let (_folder, mut store) = open();
        let mut rng = Rng::new(1);
        store.record_uses_from_now_on(true).expect("a working storage");
        store.put(&[chunk(&mut rng, 1), chunk(&mut rng, 2)], &BTreeMap::new()).expect("a working storage");
        let rule = |used_until| Command::DeleteUnused { at: 99, used_until };
        assert_eq!(
            execute(&store, 1, rule(u64::MAX - 1)),
            CommandOutcome::NotDue,
            "used since the last record"
        );
        store.record_uses(20).expect("a working storage");
        let uses = |store: &Store| -> Vec<Option<u64>> {
            let found = store.uses_after(None, 10).expect("a working storage");
            found.into_iter().map(|(_, used_at)| used_at).collect()
        };
        assert_eq!(uses(&store), [Some(20), Some(20)]);
        store.load(&id(2)).expect("a working storage");
        store.record_uses(30).expect("a working storage");
        assert_eq!(execute(&store, 1, rule(19)), CommandOutcome::NotDue);
        assert_eq!(execute(&store, 1, rule(20)), CommandOutcome::Done);
        assert_eq!(uses(&store), [Some(30)], "a deleted document is not among them");
        store.record_uses_from_now_on(false).expect("a working storage");
        assert_eq!(uses(&store), [None], "records end with the setting");
    }
}
