//! Tables of a storage in a transaction that writes: chunks, and the bytes of the identities that own documents.

use std::collections::BTreeMap;

use hashmill_repo::DocumentId;
use redb::{ReadableTable as _, Table, TableDefinition, WriteTransaction};

use super::blob_tables::BlobTables;
use super::byte_counts::{ByteChanges, OWNED_BYTES, OwnerCounts};

pub(super) type Key = (&'static str, &'static str, &'static str);
/// Chunks by document, kind and name, as automerge-repo names them.
pub(super) const CHUNKS: TableDefinition<'_, Key, &[u8]> = TableDefinition::new("chunks");
/// Owners of documents, by name.
pub(super) const OWNERS: TableDefinition<'_, &str, &str> = TableDefinition::new("owners");

/// The tables. Each change of chunks is counted for the owner of their document.
pub(super) struct ChunkTables<'t> {
    transaction: &'t WriteTransaction,
    chunks: Table<'t, Key, &'static [u8]>,
    owners: Table<'t, &'static str, &'static str>,
    owned_bytes: Table<'t, &'static str, u64>,
    changed: ByteChanges,
}

impl<'t> ChunkTables<'t> {
    pub(super) fn open(transaction: &'t WriteTransaction) -> Result<ChunkTables<'t>, redb::Error> {
        Ok(ChunkTables {
            transaction,
            chunks: transaction.open_table(CHUNKS)?,
            owners: transaction.open_table(OWNERS)?,
            owned_bytes: transaction.open_table(OWNED_BYTES)?,
            changed: ByteChanges::default(),
        })
    }

    /// Has a document entries of any kind?
    pub(super) fn has_entries(&self, document: &str) -> Result<bool, redb::Error> {
        let first = self.chunks.range((document, "", "")..)?.next().transpose()?;
        Ok(first.is_some_and(|(key, _)| key.value().0 == document))
    }

    /// Is there other content under a key?
    pub(super) fn differs(&self, key: (&str, &str, &str), bytes: &[u8]) -> Result<bool, redb::Error> {
        Ok(self.chunks.get(key)?.is_some_and(|known| known.value() != bytes))
    }

    /// Gives new documents their owners. A document keeps the one that it has.
    pub(super) fn add_owners(&mut self, owners: &BTreeMap<DocumentId, String>) -> Result<(), redb::Error> {
        for (document, name) in owners {
            let document = document.to_string();
            if self.owners.get(document.as_str())?.is_none() {
                self.owners.insert(document.as_str(), name.as_str())?;
            }
        }
        Ok(())
    }

    /// Makes an identity the owner of a document. Chunks that are there already are not counted for it.
    pub(super) fn set_owner(&mut self, document: &str, name: &str) -> Result<(), redb::Error> {
        self.owners.insert(document, name)?;
        Ok(())
    }

    pub(super) fn insert(&mut self, key: (&str, &str, &str), bytes: &[u8]) -> Result<(), redb::Error> {
        let before = self.chunks.insert(key, bytes)?.map_or(0, |before| before.value().len());
        self.count(key.0, bytes.len() as i64 - before as i64)
    }

    pub(super) fn remove(&mut self, key: (&str, &str, &str)) -> Result<(), redb::Error> {
        let before = self.chunks.remove(key)?.map_or(0, |before| before.value().len());
        self.count(key.0, -(before as i64))
    }

    /// Removes all entries of a document, its owner, and its references to blobs.
    pub(super) fn remove_document(&mut self, document: &str) -> Result<(), redb::Error> {
        let mut bytes: i64 = 0;
        // The smallest text that is larger.
        let end = format!("{document}\0");
        self.chunks.retain_in((document, "", "")..(end.as_str(), "", ""), |_, value| {
            bytes += value.len() as i64;
            false
        })?;
        self.count(document, -bytes)?;
        self.owners.remove(document)?;
        BlobTables::open(self.transaction)?.remove_references(document, &mut self.changed)
    }

    fn count(&mut self, document: &str, difference: i64) -> Result<(), redb::Error> {
        if let Some(owner) = self.owners.get(document)? {
            self.changed.add(owner.value(), difference);
        }
        Ok(())
    }

    /// Corrects counts by these differences.
    pub(super) fn adjust(&mut self, differences: &BTreeMap<String, i64>) {
        for (name, difference) in differences {
            self.changed.add(name, *difference);
        }
    }

    /// Writes the changed counts, and returns them.
    pub(super) fn finish(mut self) -> Result<OwnerCounts, redb::Error> {
        self.changed.write(&mut self.owned_bytes)
    }
}
