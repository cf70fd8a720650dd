//! Lists of stored documents, page by page, and sizes without contents.

use redb::ReadableDatabase as _;

use super::chunk_tables::{CHUNKS, OWNERS};
use super::{Store, TOMBSTONES, to_tombstone};
use crate::event::IoFailure;
use crate::storage::Tombstone;

/// Sizes of a stored document.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::shell) struct StoredSizes {
    /// Bytes of all entries.
    pub(in crate::shell) bytes: u64,
    pub(in crate::shell) document: String,
    /// Number of entries.
    pub(in crate::shell) chunks: usize,
    pub(in crate::shell) owner: Option<String>,
}

/// Key and size of an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::shell) struct EntrySize {
    pub(in crate::shell) kind: String,
    pub(in crate::shell) name: String,
    pub(in crate::shell) bytes: u64,
}

impl Store {
    /// Documents that are not deleted, after another one in the order of the texts of ids. Ends after `max` documents, or after one that
    /// exceeds `max_bytes` of contents with those before. `None` in the end: these are the last ones.
    pub(in crate::shell) fn sizes_after(
        &self,
        document: Option<&str>,
        max: usize,
        max_bytes: u64,
    ) -> Result<(Vec<StoredSizes>, Option<String>), IoFailure> {
        self.with_database(|database| {
            let transaction = database.begin_read()?;
            let (chunks, owners) = (transaction.open_table(CHUNKS)?, transaction.open_table(OWNERS)?);
            let tombstones = transaction.open_table(TOMBSTONES)?;
            let mut found: Vec<StoredSizes> = Vec::new();
            let mut read_bytes = 0;
            // The smallest text that is larger.
            let start = document.map(|document| format!("{document}\0")).unwrap_or_default();
            // The document whose entries are read. Those of a deleted one are not counted.
            let mut current: Option<(String, Option<StoredSizes>)> = None;
            for entry in chunks.range((start.as_str(), "", "")..)? {
                let (key, bytes) = entry?;
                let (document, ..) = key.value();
                if current.as_ref().is_none_or(|(name, _)| name != document) {
                    let before = current.take();
                    found.extend(before.clone().and_then(|(_, sizes)| sizes));
                    if found.len() >= max || read_bytes >= max_bytes {
                        return Ok((found, before.map(|(name, _)| name)));
                    }
                    let is_deleted = tombstones.get(document)?.is_some();
                    let owner = owners.get(document)?.map(|owner| owner.value().to_owned());
                    let sizes = StoredSizes { bytes: 0, document: document.to_owned(), chunks: 0, owner };
                    current = Some((document.to_owned(), (!is_deleted).then_some(sizes)));
                }
                let len = bytes.value().len() as u64;
                read_bytes += len;
                if let Some((_, Some(sizes))) = &mut current {
                    sizes.bytes += len;
                    sizes.chunks += 1;
                }
            }
            found.extend(current.and_then(|(_, sizes)| sizes));
            Ok((found, None))
        })
    }

    /// Keys and sizes of all entries of a document, also of a deleted one.
    pub(in crate::shell) fn entry_sizes(&self, document: &str) -> Result<Vec<EntrySize>, IoFailure> {
        self.with_database(|database| {
            let table = database.begin_read()?.open_table(CHUNKS)?;
            let end = format!("{document}\0");
            let mut found = Vec::new();
            for entry in table.range((document, "", "")..(end.as_str(), "", ""))? {
                let (key, bytes) = entry?;
                let (_, kind, name) = key.value();
                let bytes = bytes.value().len() as u64;
                found.push(EntrySize { kind: kind.to_owned(), name: name.to_owned(), bytes });
            }
            Ok(found)
        })
    }

    /// Up to `max` deleted documents after another one in the order of the texts of ids.
    pub(in crate::shell) fn tombstones_after(
        &self,
        document: Option<&str>,
        max: usize,
    ) -> Result<Vec<(String, Tombstone)>, IoFailure> {
        self.with_database(|database| {
            let table = database.begin_read()?.open_table(TOMBSTONES)?;
            let start = document.map(|document| format!("{document}\0")).unwrap_or_default();
            let mut found = Vec::new();
            for entry in table.range(start.as_str()..)?.take(max) {
                let (document, value) = entry?;
                found.push((document.value().to_owned(), to_tombstone(value.value())));
            }
            Ok(found)
        })
    }
}
