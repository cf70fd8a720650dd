//! Tables of a storage in a transaction that writes: chunks, and the bytes of the identities that own documents.

use std::collections::BTreeMap;

use hashmill_repo::DocumentId;
use redb::{ReadableTable as _, Table, TableDefinition, WriteTransaction};

use crate::storage::Owner;

pub(super) type Key = (&'static str, &'static str, &'static str);
/// Chunks by document, kind and name, as automerge-repo names them.
pub(super) const CHUNKS: TableDefinition<'_, Key, &[u8]> = TableDefinition::new("chunks");
/// Owners of documents, by name.
pub(super) const OWNERS: TableDefinition<'_, &str, &str> = TableDefinition::new("owners");
/// Bytes of all chunks of the documents of an owner.
pub(super) const OWNED_BYTES: TableDefinition<'_, &str, u64> = TableDefinition::new("owned-bytes");

/// The tables. Each change of chunks is counted for the owner of their document.
pub(super) struct ChunkTables<'t> {
    chunks: Table<'t, Key, &'static [u8]>,
    owners: Table<'t, &'static str, &'static str>,
    owned_bytes: Table<'t, &'static str, u64>,
    changed: BTreeMap<String, i128>,
}

impl<'t> ChunkTables<'t> {
    pub(super) fn open(transaction: &'t WriteTransaction) -> Result<ChunkTables<'t>, redb::Error> {
        Ok(ChunkTables {
            chunks: transaction.open_table(CHUNKS)?,
            owners: transaction.open_table(OWNERS)?,
            owned_bytes: transaction.open_table(OWNED_BYTES)?,
            changed: BTreeMap::new(),
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

    pub(super) fn insert(&mut self, key: (&str, &str, &str), bytes: &[u8]) -> Result<(), redb::Error> {
        let before = self.chunks.insert(key, bytes)?.map_or(0, |before| before.value().len());
        self.count(key.0, bytes.len() as i128 - before as i128)
    }

    pub(super) fn remove(&mut self, key: (&str, &str, &str)) -> Result<(), redb::Error> {
        let before = self.chunks.remove(key)?.map_or(0, |before| before.value().len());
        self.count(key.0, -(before as i128))
    }

    /// Removes all entries of a document, and its owner.
    pub(super) fn remove_document(&mut self, document: &str) -> Result<(), redb::Error> {
        let mut bytes: i128 = 0;
        // The smallest text that is larger.
        let end = format!("{document}\0");
        self.chunks.retain_in((document, "", "")..(end.as_str(), "", ""), |_, value| {
            bytes += value.len() as i128;
            false
        })?;
        self.count(document, -bytes)?;
        self.owners.remove(document)?;
        Ok(())
    }

    fn count(&mut self, document: &str, difference: i128) -> Result<(), redb::Error> {
        if let Some(owner) = self.owners.get(document)? {
            *self.changed.entry(owner.value().to_owned()).or_default() += difference;
        }
        Ok(())
    }

    /// Writes the changed counts, and returns them.
    pub(super) fn finish(mut self) -> Result<Vec<Owner>, redb::Error> {
        let mut counts = Vec::new();
        for (name, difference) in self.changed {
            let before = self.owned_bytes.get(name.as_str())?.map_or(0, |before| before.value());
            let stored_bytes = u64::try_from(i128::from(before) + difference).unwrap_or(0);
            if stored_bytes == 0 {
                self.owned_bytes.remove(name.as_str())?;
            } else {
                self.owned_bytes.insert(name.as_str(), stored_bytes)?;
            }
            counts.push(Owner { name, stored_bytes });
        }
        Ok(counts)
    }
}
