//! Commands to a storage that no server uses, and lists of its documents.

use std::path::Path;
use std::time::Duration;

use hashmill_repo::DocumentId;
use serde_json::{Value, json};

use super::catalogue::read_stored;
use crate::event::IoFailure;
use crate::shell::transfer::{TransferError, open_existing, storage_error};
use crate::storage::{Command, CommandOutcome, Tombstone};

/// Number of documents that are read at once.
const PAGE: usize = 1000;
const PAGE_BYTES: u64 = 64 << 20;

/// A stored document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DocumentSizes {
    /// The id, as it is stored.
    pub document: String,
    /// Bytes of all that is stored of it.
    pub bytes: u64,
    /// Number of chunks.
    pub chunks: usize,
    /// The identity whose quota it counts for.
    pub owner: Option<String>,
}

/// A deleted document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeletedDocument {
    /// The id, as it is stored.
    pub document: String,
    /// Its tombstone.
    pub tombstone: Tombstone,
}

/// Carries out a command about a document of the storage in `folder`: the one that `command` makes of the time of the storage. A
/// storage that a server uses is an error: see [`AdminSettings`](crate::shell::AdminSettings).
pub fn execute(
    folder: &Path,
    document: &DocumentId,
    unix_time: u64,
    command: impl FnOnce(u64) -> Command,
) -> Result<CommandOutcome, TransferError> {
    let store = open_existing(folder)?;
    let failed = |failure: IoFailure| storage_error(folder, &failure);
    let now = store.clock(unix_time).map_err(failed)?.after(Duration::ZERO);
    // So that the next server does not start from another time.
    store.record_clock(now, unix_time).map_err(failed)?;
    let (outcome, _) = store.execute(document, command(now)).map_err(failed)?;
    Ok(outcome)
}

/// State of a stored document, as JSON, with up to a number of its latest changes. `None`: there is none. The fields are those of the
/// answer to a request of the operator for a document.
pub fn show_document(
    folder: &Path,
    document: &DocumentId,
    max_changes: usize,
) -> Result<Option<String>, TransferError> {
    let store = open_existing(folder)?;
    let stored = read_stored(&store, document, max_changes, None);
    let stored = stored.map_err(|failure| storage_error(folder, &failure))?;
    let to_text = |fields: [(&'static str, Value); 16]| {
        let mut value = json!({ "document": document.to_string(), "quarantine": null, "participants": [] });
        fields.into_iter().for_each(|(name, field)| value[name] = field);
        value.to_string()
    };
    Ok(stored.map(to_text))
}

/// Passes all documents of the storage in `folder` to `visit`, in the order of their ids, without deleted ones. Ends early if `visit`
/// returns false.
pub fn list_documents(
    folder: &Path,
    visit: &mut dyn FnMut(DocumentSizes) -> bool,
) -> Result<(), TransferError> {
    let store = open_existing(folder)?;
    let mut after: Option<String> = None;
    loop {
        let (page, next) = store
            .sizes_after(after.as_deref(), PAGE, PAGE_BYTES)
            .map_err(|failure| storage_error(folder, &failure))?;
        for sizes in page {
            let (bytes, chunks, owner) = (sizes.bytes, sizes.chunks, sizes.owner);
            if !visit(DocumentSizes { document: sizes.document, bytes, chunks, owner }) {
                return Ok(());
            }
        }
        after = match next {
            Some(next) => Some(next),
            None => return Ok(()),
        };
    }
}

/// Passes all deleted documents of the storage in `folder` to `visit`, in the order of their ids. Ends early if `visit` returns false.
pub fn list_deleted(
    folder: &Path,
    visit: &mut dyn FnMut(DeletedDocument) -> bool,
) -> Result<(), TransferError> {
    let store = open_existing(folder)?;
    let mut after: Option<String> = None;
    loop {
        let page = store
            .tombstones_after(after.as_deref(), PAGE)
            .map_err(|failure| storage_error(folder, &failure))?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        after = Some(last.clone());
        for (document, tombstone) in page {
            if !visit(DeletedDocument { document, tombstone }) {
                return Ok(());
            }
        }
    }
}
