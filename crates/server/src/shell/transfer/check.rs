//! Check of all records of a storage or a backup.

use std::collections::BTreeMap;

use hashmill_repo::DocumentId;

use super::{TransferCounts, TransferFact};
use crate::document::{DocumentLimits, unreadable_chunks};
use crate::shell::store::{Entry, StorageFacts, StorageRecord};

/// An owner whose stored bytes are counted wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrongCount {
    /// The name of the identity.
    pub owner: String,
    /// The count of the storage, without its blobs.
    pub counted: i64,
    /// The bytes of its documents.
    pub stored: i64,
}

/// Contents of a storage or a backup that was read to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StorageSummary {
    /// The id of the storage.
    pub storage_id: String,
    /// When the backup was started, in seconds since 1970. `None`: it is no backup.
    pub backup_started_at: Option<u64>,
    /// The clock of the machine as a server recorded it last, in seconds since 1970.
    pub recorded_at: Option<u64>,
    /// Documents and chunks. Damaged parts are counted, too.
    pub counts: TransferCounts,
    /// Owners whose stored bytes the storage has counted wrong. Unknown in a damaged backup.
    pub wrong_counts: Vec<WrongCount>,
}

/// Counts what it is given, and finds damage.
pub(super) struct Checker {
    reads_documents: bool,
    facts: Option<BTreeMap<String, Vec<u8>>>,
    counts: TransferCounts,
    /// The document whose chunks follow.
    document: Option<OpenEntries>,
    /// Bytes of the documents of each owner, and their count in the storage.
    owners: BTreeMap<String, (i64, Option<i64>)>,
}

struct OpenEntries {
    document: String,
    owner: Option<String>,
    chunks: u64,
    bytes: u64,
    /// Empty if documents are not read.
    entries: Vec<Entry>,
}

impl Checker {
    /// Reads the documents, too, if `reads_documents`: their changes, and not only digests.
    pub(super) fn new(reads_documents: bool) -> Checker {
        Checker {
            reads_documents,
            facts: None,
            counts: TransferCounts::default(),
            document: None,
            owners: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, record: StorageRecord, report: &mut dyn FnMut(&TransferFact)) {
        match record {
            // A backup has them twice.
            StorageRecord::Facts(facts) => drop(self.facts.get_or_insert(facts)),
            StorageRecord::Document(about) | StorageRecord::DocumentEnd(about) => {
                let document = self.open(about.document, report);
                document.owner = document.owner.take().or(about.owner);
            }
            StorageRecord::Chunk(entry) => {
                let reads_documents = self.reads_documents;
                let document = self.open(entry.document.clone(), report);
                document.chunks += 1;
                document.bytes += entry.bytes.len() as u64;
                if reads_documents {
                    document.entries.push(entry);
                }
            }
            StorageRecord::OwnedBytes(name, counted) => {
                self.owners.entry(name).or_default().1 = Some(counted);
            }
            StorageRecord::LeftOutBlobs(blobs, bytes) => {
                self.counts.left_out_blobs = blobs;
                self.counts.left_out_blob_bytes = bytes;
            }
        }
    }

    pub(super) fn note_damage(
        &mut self,
        place: String,
        reason: String,
        report: &mut dyn FnMut(&TransferFact),
    ) {
        self.counts.damaged += 1;
        report(&TransferFact::Damaged { chunk: place, reason });
    }

    /// The facts about the storage.
    pub(super) fn facts(&self) -> Option<&BTreeMap<String, Vec<u8>>> {
        self.facts.as_ref()
    }

    /// What was found. `None`: it has no facts about the storage.
    pub(super) fn finish(mut self, report: &mut dyn FnMut(&TransferFact)) -> Option<StorageSummary> {
        let had_damage = self.counts.damaged > 0;
        self.close(report);
        let StorageFacts { storage_id, recorded_at, .. } = StorageFacts::read(self.facts.as_ref()?)?;
        let wrong = self.owners.into_iter().filter_map(|(owner, (stored, counted))| {
            let counted = counted.unwrap_or(0);
            (counted != stored).then_some(WrongCount { owner, counted, stored })
        });
        let wrong_counts = if had_damage { Vec::new() } else { wrong.collect() };
        Some(StorageSummary {
            storage_id,
            backup_started_at: None,
            recorded_at,
            counts: self.counts,
            wrong_counts,
        })
    }

    fn open(&mut self, document: String, report: &mut dyn FnMut(&TransferFact)) -> &mut OpenEntries {
        if self.document.as_ref().is_some_and(|open| open.document != document) {
            self.close(report);
        }
        self.document.get_or_insert_with(|| OpenEntries {
            document,
            owner: None,
            chunks: 0,
            bytes: 0,
            entries: Vec::new(),
        })
    }

    fn close(&mut self, report: &mut dyn FnMut(&TransferFact)) {
        let Some(OpenEntries { document, owner, chunks, bytes, entries }) = self.document.take() else {
            return;
        };
        if chunks == 0 {
            return;
        }
        self.counts.documents += 1;
        self.counts.chunks += chunks;
        self.counts.bytes += bytes;
        if let Some(owner) = owner {
            self.owners.entry(owner).or_default().0 += bytes.cast_signed();
        }
        match document.parse::<DocumentId>() {
            Ok(id) => self.counts.damaged += report_damaged(&id, entries, report),
            Err(_) => self.note_damage(document, "it is no id of a document".to_owned(), report),
        }
    }
}

/// Reports damaged chunks of a document, and returns their number.
pub(super) fn report_damaged(
    document: &DocumentId,
    entries: Vec<Entry>,
    report: &mut dyn FnMut(&TransferFact),
) -> u64 {
    let chunks = entries.into_iter().filter_map(Entry::into_chunk).collect();
    let unreadable = unreadable_chunks(document, chunks, DocumentLimits::default());
    for (key, reason) in &unreadable {
        report(&TransferFact::Damaged { chunk: key.to_string(), reason: reason.clone() });
    }
    unreadable.len() as u64
}
