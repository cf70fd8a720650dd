//! New storage in a file that has no name yet, to be filled from a backup.

use std::collections::BTreeMap;
use std::fs;

use redb::backends::FileBackend;
use redb::{Builder, Database, ReadableDatabase as _};

use super::advice::io_advice;
use super::blob_tables::BlobTables;
use super::byte_counts::OWNED_BYTES;
use super::chunk_tables::ChunkTables;
use super::snapshot::{DocumentRecord, Snapshot, StorageRecord};
use super::{CACHE_BYTES, FACTS, FORMAT, FORMAT_FACT, STORAGE_ID_FACT, TOMBSTONES, UNIX_TIME_FACT, USES};
use crate::event::IoFailure;
use crate::storage::Tombstone;

/// A storage that no server can open before it is complete.
pub(in crate::shell) struct NewStorage {
    database: Database,
}

/// Version and id in the facts of a storage.
pub(in crate::shell) struct StorageFacts {
    pub(in crate::shell) storage_id: String,
    /// Does this program know its format?
    pub(in crate::shell) is_known_format: bool,
    /// The clock of the machine as it was recorded last.
    pub(in crate::shell) recorded_at: Option<u64>,
}

impl StorageFacts {
    /// `None`: these are no facts of a storage.
    pub(in crate::shell) fn read(facts: &BTreeMap<String, Vec<u8>>) -> Option<StorageFacts> {
        let text = |name| String::from_utf8(facts.get(name)?.clone()).ok();
        let format: u64 = text(FORMAT_FACT)?.parse().ok()?;
        let recorded_at = match facts.get(UNIX_TIME_FACT) {
            Some(_) => Some(text(UNIX_TIME_FACT)?.parse().ok()?),
            None => None,
        };
        Some(StorageFacts {
            storage_id: text(STORAGE_ID_FACT)?,
            is_known_format: format <= FORMAT,
            recorded_at,
        })
    }
}

impl NewStorage {
    /// Creates the storage in an empty file, with these facts and perhaps another id.
    #[expect(clippy::disallowed_types, reason = "the storage is a file")]
    pub(in crate::shell) fn create(
        file: fs::File,
        facts: &BTreeMap<String, Vec<u8>>,
        storage_id: &str,
    ) -> Result<NewStorage, IoFailure> {
        let open = || {
            let file = FileBackend::new(file)?;
            Builder::new().set_cache_size(CACHE_BYTES).create_with_backend(file)
        };
        let new = NewStorage { database: open().map_err(|error| failure(&error.into()))? };
        new.write(|transaction| {
            let mut table = transaction.open_table(FACTS)?;
            for (name, value) in facts {
                table.insert(name.as_str(), value.as_slice())?;
            }
            table.insert(STORAGE_ID_FACT, storage_id.as_bytes())?;
            transaction.open_table(TOMBSTONES)?;
            transaction.open_table(USES)?;
            ChunkTables::open(transaction)?;
            BlobTables::create(transaction)
        })?;
        Ok(new)
    }

    /// Stores records of documents.
    pub(in crate::shell) fn add(&self, records: &[StorageRecord]) -> Result<(), IoFailure> {
        self.write(|transaction| {
            let mut tables = ChunkTables::open(transaction)?;
            let mut tombstones = transaction.open_table(TOMBSTONES)?;
            let mut uses = transaction.open_table(USES)?;
            for record in records {
                match record {
                    StorageRecord::Document(about) | StorageRecord::DocumentEnd(about) => {
                        let DocumentRecord { document, owner, tombstone, used_at } = about;
                        if let Some(Tombstone { deleted_at, is_purged }) = tombstone {
                            tombstones.insert(document.as_str(), (*deleted_at, *is_purged))?;
                        }
                        if let Some(used_at) = used_at {
                            uses.insert(document.as_str(), *used_at)?;
                        }
                        if let Some(owner) = owner {
                            tables.set_owner(document, owner)?;
                        }
                    }
                    StorageRecord::Chunk(entry) => {
                        tables.insert((&entry.document, &entry.kind, &entry.name), &entry.bytes)?;
                    }
                    // Counted anew.
                    StorageRecord::OwnedBytes(..)
                    | StorageRecord::Facts(_)
                    | StorageRecord::LeftOutBlobs(..) => {}
                }
            }
            tables.finish().map(drop)
        })
    }

    /// Removes a document whose tombstone is unknown: it may be a deleted one.
    pub(in crate::shell) fn remove(&self, document: &str) -> Result<(), IoFailure> {
        self.write(|transaction| {
            let mut tables = ChunkTables::open(transaction)?;
            tables.remove_document(document)?;
            tables.finish().map(drop)
        })
    }

    /// Counts the bytes of all owners, and closes the storage.
    pub(in crate::shell) fn finish(self) -> Result<(), IoFailure> {
        let sums =
            || -> Result<_, redb::Error> { Snapshot::new(self.database.begin_read()?).sums_and_counts() };
        let sums = sums().map_err(|error| failure(&error))?;
        self.write(|transaction| {
            let mut counts = transaction.open_table(OWNED_BYTES)?;
            for (name, (sum, _)) in &sums {
                counts.insert(name.as_str(), sum.cast_unsigned())?;
            }
            Ok(())
        })
    }

    fn write(
        &self,
        change: impl FnOnce(&redb::WriteTransaction) -> Result<(), redb::Error>,
    ) -> Result<(), IoFailure> {
        let write = || -> Result<(), redb::Error> {
            let transaction = self.database.begin_write()?;
            change(&transaction)?;
            transaction.commit()?;
            Ok(())
        };
        write().map_err(|error| failure(&error))
    }
}

fn failure(error: &redb::Error) -> IoFailure {
    let advice = match error {
        redb::Error::Io(error) => io_advice(error),
        _ => "",
    };
    IoFailure::Unknown(format!("{error}{advice}"))
}
