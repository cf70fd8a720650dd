//! Snapshot of a storage: all that was durable at one moment, while writes go on.

use std::collections::BTreeMap;

use redb::{ReadOnlyTable, ReadTransaction, ReadableTable as _};

use super::blob_tables;
use super::byte_counts::OWNED_BYTES;
use super::chunk_tables::{CHUNKS, Key, OWNERS};
use super::{Entry, FACTS, TOMBSTONES, USES, to_tombstone};
use crate::event::IoFailure;
use crate::storage::Tombstone;

/// A part of a storage, in the order of a snapshot: facts, documents in the order of their ids, counts of owners, the number of blobs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::shell) enum StorageRecord {
    /// Facts about the storage, by name.
    Facts(BTreeMap<String, Vec<u8>>),
    /// A document, whose chunks follow.
    Document(DocumentRecord),
    /// A chunk, or another entry of a document.
    Chunk(Entry),
    /// The end of a document, with the same contents.
    DocumentEnd(DocumentRecord),
    /// The count of stored bytes of an owner, without those of blobs.
    OwnedBytes(String, i64),
    /// Number and bytes of the blobs, which are no part of a snapshot.
    LeftOutBlobs(u64, u64),
}

/// All that is stored of a document beside its chunks.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(in crate::shell) struct DocumentRecord {
    pub(in crate::shell) document: String,
    pub(in crate::shell) owner: Option<String>,
    pub(in crate::shell) tombstone: Option<Tombstone>,
    pub(in crate::shell) used_at: Option<u64>,
}

/// The state of a storage when the snapshot was taken. It costs no memory, but the file grows by what is replaced meanwhile.
pub(in crate::shell) struct Snapshot {
    transaction: ReadTransaction,
}

/// Reason why a visit of all records ended early.
pub(in crate::shell) enum VisitError<E> {
    /// The storage failed.
    Storage(IoFailure),
    /// The visitor failed.
    Visitor(E),
}

impl<E> From<redb::Error> for VisitError<E> {
    fn from(error: redb::Error) -> VisitError<E> {
        VisitError::Storage(IoFailure::Unknown(error.to_string()))
    }
}

/// Tables whose keys begin with the id of a document.
struct DocumentTables {
    chunks: ReadOnlyTable<Key, &'static [u8]>,
    tombstones: ReadOnlyTable<&'static str, (u64, bool)>,
    owners: ReadOnlyTable<&'static str, &'static str>,
    uses: ReadOnlyTable<&'static str, u64>,
}

impl Snapshot {
    pub(super) fn new(transaction: ReadTransaction) -> Snapshot {
        Snapshot { transaction }
    }

    /// Passes all records to `visit`, in order.
    pub(in crate::shell) fn visit<E>(
        &self,
        visit: &mut dyn FnMut(StorageRecord) -> Result<(), E>,
    ) -> Result<(), VisitError<E>> {
        let mut visit = |record| visit(record).map_err(VisitError::Visitor);
        visit(StorageRecord::Facts(self.facts()?))?;
        let tables = self.tables()?;
        let mut last: Option<String> = None;
        while let Some(document) = tables.document_after(last.as_deref())? {
            let record = tables.record(&document)?;
            visit(StorageRecord::Document(record.clone()))?;
            let range = tables.chunks.range((document.as_str(), "", "")..).map_err(redb::Error::from)?;
            for entry in range {
                let (key, bytes) = entry.map_err(redb::Error::from)?;
                let (entry_document, kind, name) = key.value();
                if entry_document != document {
                    break;
                }
                visit(StorageRecord::Chunk(Entry {
                    document: document.clone(),
                    kind: kind.to_owned(),
                    name: name.to_owned(),
                    bytes: bytes.value().to_vec(),
                }))?;
            }
            visit(StorageRecord::DocumentEnd(record))?;
            last = Some(document);
        }
        let mut owned_bytes = self.owned_bytes()?;
        for (name, blob_bytes) in blob_tables::sums(&self.transaction)? {
            let count = owned_bytes.entry(name).or_default();
            *count = count.saturating_sub(blob_bytes);
        }
        for (name, bytes) in owned_bytes {
            visit(StorageRecord::OwnedBytes(name, bytes))?;
        }
        let (blobs, bytes) = blob_tables::count_blobs(&self.transaction)?;
        visit(StorageRecord::LeftOutBlobs(blobs, bytes))
    }

    /// The sum of the stored bytes of each owner, and the count that the storage has for it.
    pub(super) fn sums_and_counts(&self) -> Result<BTreeMap<String, (i64, i64)>, redb::Error> {
        let tables = self.tables()?;
        let mut owners: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        for owned in tables.owners.iter()? {
            let (document, name) = owned?;
            owners.entry(name.value().to_owned()).or_default().0 += tables.stored_bytes(document.value())?;
        }
        for (name, blob_bytes) in blob_tables::sums(&self.transaction)? {
            owners.entry(name).or_default().0 += blob_bytes;
        }
        for (name, count) in self.owned_bytes()? {
            owners.entry(name).or_default().1 = count;
        }
        Ok(owners)
    }

    /// The count of stored bytes of an owner. A negative one is wrong: the bytes are summed up then.
    pub(super) fn stored_bytes(&self, owner: &str) -> Result<u64, redb::Error> {
        let counted = self.transaction.open_table(OWNED_BYTES)?.get(owner)?.map_or(0, |bytes| bytes.value());
        if let Ok(counted) = u64::try_from(counted.cast_signed()) {
            return Ok(counted);
        }
        let tables = self.tables()?;
        let blob_bytes = blob_tables::sums(&self.transaction)?.get(owner).copied().unwrap_or(0);
        let mut sum = blob_bytes.cast_unsigned();
        for owned in tables.owners.iter()? {
            let (document, name) = owned?;
            if name.value() == owner {
                sum += tables.stored_bytes(document.value())?.cast_unsigned();
            }
        }
        Ok(sum)
    }

    fn facts(&self) -> Result<BTreeMap<String, Vec<u8>>, redb::Error> {
        let mut facts = BTreeMap::new();
        for fact in self.transaction.open_table(FACTS)?.iter()? {
            let (name, value) = fact?;
            facts.insert(name.value().to_owned(), value.value().to_vec());
        }
        Ok(facts)
    }

    fn owned_bytes(&self) -> Result<BTreeMap<String, i64>, redb::Error> {
        let mut counts = BTreeMap::new();
        for count in self.transaction.open_table(OWNED_BYTES)?.iter()? {
            let (name, bytes) = count?;
            counts.insert(name.value().to_owned(), bytes.value().cast_signed());
        }
        Ok(counts)
    }

    fn tables(&self) -> Result<DocumentTables, redb::Error> {
        Ok(DocumentTables {
            chunks: self.transaction.open_table(CHUNKS)?,
            tombstones: self.transaction.open_table(TOMBSTONES)?,
            owners: self.transaction.open_table(OWNERS)?,
            uses: self.transaction.open_table(USES)?,
        })
    }
}

impl DocumentTables {
    /// The next document in the order of ids, of those with chunks, a tombstone or an owner. `None`: from the first.
    fn document_after(&self, document: Option<&str>) -> Result<Option<String>, redb::Error> {
        // The smallest text that is larger.
        let start = document.map(|document| format!("{document}\0")).unwrap_or_default();
        let start = start.as_str();
        let chunk = self.chunks.range((start, "", "")..)?.next().transpose()?;
        let tombstone = self.tombstones.range(start..)?.next().transpose()?;
        let owner = self.owners.range(start..)?.next().transpose()?;
        let documents = [
            chunk.map(|(key, _)| key.value().0.to_owned()),
            tombstone.map(|(key, _)| key.value().to_owned()),
            owner.map(|(key, _)| key.value().to_owned()),
        ];
        Ok(documents.into_iter().flatten().min())
    }

    /// Bytes of all chunks of a document.
    fn stored_bytes(&self, document: &str) -> Result<i64, redb::Error> {
        let mut sum = 0;
        for entry in self.chunks.range((document, "", "")..)? {
            let (key, bytes) = entry?;
            if key.value().0 != document {
                break;
            }
            sum += (bytes.value().len() as u64).cast_signed();
        }
        Ok(sum)
    }

    fn record(&self, document: &str) -> Result<DocumentRecord, redb::Error> {
        Ok(DocumentRecord {
            document: document.to_owned(),
            owner: self.owners.get(document)?.map(|name| name.value().to_owned()),
            tombstone: self.tombstones.get(document)?.map(|value| to_tombstone(value.value())),
            used_at: self.uses.get(document)?.map(|used_at| used_at.value()),
        })
    }
}
