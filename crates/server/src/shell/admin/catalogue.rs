//! Documents for the operator: lists and details, from the core's state and from the storage.
//!
//! The core is asked for few rows at a time, and the storage is read on threads that may wait.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use hashmill_repo::DocumentId;
use hyper::StatusCode;
use serde_json::{Value, json};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Instant, timeout};

use super::answer::Refusal;
use super::routes::{DocumentFilter, DocumentQuery, Order};
use crate::access::Access;
use crate::core::{DocumentView, ParticipantView, QuarantineView};
use crate::document::{ChangeSummary, DocumentDetails, DocumentLimits, stored_details};
use crate::event::IoFailure;
use crate::shell::driver::Handle;
use crate::shell::store::{Entry, EntrySize, Store, StoredSizes};
use crate::storage::{ChunkKind, Tombstone};

/// Number of documents that the core is asked for at once.
const SLICE: usize = 500;
/// Maximum number of open documents that are put in order.
const MAX_SORTED: usize = 100_000;
/// Number of stored documents that a search for the largest ones finds.
const MAX_LARGEST: usize = 1000;
/// Bytes of contents that are read for a page of stored documents. It may have fewer rows then.
const PAGE_BYTES: u64 = 64 << 20;
/// A stored document with more bytes is not read for its history.
const MAX_READ_BYTES: u64 = 64 << 20;
/// Maximum numbers of clients and of chunks in the details of a document.
const MAX_PARTICIPANTS: usize = 200;
const MAX_CHUNKS: usize = 200;
/// Number of requests that read the storage at the same time.
const MAX_READERS: usize = 2;
/// Maximum time for an answer of the core or the storage.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Time for which a list is used again.
const OPEN_AGE: Duration = Duration::from_secs(1);
const LARGEST_AGE: Duration = Duration::from_secs(60);

/// The state of a document without times.
#[derive(PartialEq)]
pub(super) struct Fingerprint {
    open: Option<DocumentView>,
    participants: Vec<ParticipantView>,
    quarantine: Option<String>,
}

/// A list that is used again for a while.
type Cached<T> = Mutex<Option<(Instant, Arc<Vec<T>>)>>;

/// Reader of documents.
pub(super) struct Catalogue {
    core: Handle,
    /// `None`: the storage is shared, and only documents in memory can be listed.
    store: Option<Arc<Store>>,
    undelete_seconds: u64,
    readers: Semaphore,
    open: Cached<DocumentView>,
    largest: Cached<StoredSizes>,
}

impl Catalogue {
    pub(super) fn new(core: Handle, store: Option<Arc<Store>>, undelete_time: Duration) -> Catalogue {
        Catalogue {
            core,
            store,
            undelete_seconds: undelete_time.as_secs(),
            readers: Semaphore::new(MAX_READERS),
            open: Mutex::default(),
            largest: Mutex::default(),
        }
    }

    /// A page of documents.
    pub(super) async fn list(&self, query: DocumentQuery) -> Result<Value, Refusal> {
        let (rows, next) = match (query.state, query.order) {
            (DocumentFilter::Open, order) => self.list_open(order, &query).await?,
            (DocumentFilter::Stored, Order::Size) => self.list_largest(&query).await?,
            (DocumentFilter::Stored, _) => self.list_stored(&query).await?,
            (DocumentFilter::Deleted, _) => self.list_deleted(&query).await?,
            (DocumentFilter::Quarantined, _) => self.list_quarantined(&query).await?,
        };
        Ok(json!({ "documents": rows, "next": next }))
    }

    async fn list_open(&self, order: Order, query: &DocumentQuery) -> Result<Page, Refusal> {
        let mut views = (*self.open_documents().await?).clone();
        if order == Order::Id {
            let mut rows: Vec<(String, DocumentView)> =
                views.into_iter().map(|view| (view.document.to_string(), view)).collect();
            rows.sort_by(|a, b| a.0.cmp(&b.0));
            let after = query.after.as_deref().unwrap_or_default();
            let start = rows.partition_point(|(id, _)| id.as_str() <= after);
            let is_more = rows.len() > start + query.limit;
            let page: Vec<DocumentView> =
                rows.into_iter().skip(start).take(query.limit).map(|(_, view)| view).collect();
            let next = page.last().map(|view| view.document.to_string()).filter(|_| is_more);
            return Ok((self.open_rows(page).await?, next));
        }
        match order {
            Order::Size => views.sort_by_key(|view| std::cmp::Reverse(view.stored_bytes)),
            _ => views.sort_by_key(|view| view.inactive),
        }
        let (page, next) = slice_page(&views, query)?;
        Ok((self.open_rows(page).await?, next))
    }

    /// All open documents, or those of the last second.
    async fn open_documents(&self) -> Result<Arc<Vec<DocumentView>>, Refusal> {
        let mut cached = self.open.lock().await;
        if let Some((at, views)) = &*cached
            && at.elapsed() < OPEN_AGE
        {
            return Ok(Arc::clone(views));
        }
        let mut views: Vec<DocumentView> = Vec::new();
        while views.len() < MAX_SORTED {
            let after = views.last().map(|view| view.document.clone());
            let page = self.core.view(move |view| view.core.document_views(after.as_ref(), SLICE)).await;
            let page = page.ok_or_else(ends)?;
            let is_last = page.len() < SLICE;
            views.extend(page);
            if is_last {
                break;
            }
        }
        let views = Arc::new(views);
        *cached = Some((Instant::now(), Arc::clone(&views)));
        Ok(views)
    }

    async fn open_rows(&self, views: Vec<DocumentView>) -> Result<Vec<Value>, Refusal> {
        let ids: Vec<DocumentId> = views.iter().map(|view| view.document.clone()).collect();
        let quarantined = self.quarantined_of(ids).await?;
        Ok(views.iter().map(|view| open_row(view, quarantined.contains(&view.document))).collect())
    }

    async fn quarantined_of(&self, documents: Vec<DocumentId>) -> Result<BTreeSet<DocumentId>, Refusal> {
        let found = self.core.view(move |view| {
            let is_quarantined = |document: &DocumentId| view.core.quarantine_view(document).is_some();
            documents.into_iter().filter(is_quarantined).collect()
        });
        found.await.ok_or_else(ends)
    }

    async fn list_stored(&self, query: &DocumentQuery) -> Result<Page, Refusal> {
        let (after, limit) = (query.after.clone(), query.limit);
        let read = self.read(move |store| store.sizes_after(after.as_deref(), limit, PAGE_BYTES)).await?;
        Ok((self.stored_rows(read.0).await?, read.1))
    }

    async fn list_largest(&self, query: &DocumentQuery) -> Result<Page, Refusal> {
        let largest = self.largest_documents().await?;
        let (page, next) = slice_page(&largest, query)?;
        Ok((self.stored_rows(page).await?, next))
    }

    /// The largest documents of the storage, which is read from start to end in steps, at most once a minute.
    async fn largest_documents(&self) -> Result<Arc<Vec<StoredSizes>>, Refusal> {
        let mut cached = self.largest.lock().await;
        if let Some((at, found)) = &*cached
            && at.elapsed() < LARGEST_AGE
        {
            return Ok(Arc::clone(found));
        }
        let (mut largest, mut after) = (BTreeSet::new(), None);
        loop {
            let start: Option<String> = after;
            let (page, next) =
                self.read(move |store| store.sizes_after(start.as_deref(), SLICE, PAGE_BYTES)).await?;
            for sizes in page {
                largest.insert(sizes);
                if largest.len() > MAX_LARGEST {
                    largest.pop_first();
                }
            }
            if next.is_none() {
                break;
            }
            after = next;
        }
        let found: Arc<Vec<StoredSizes>> = Arc::new(largest.into_iter().rev().collect());
        *cached = Some((Instant::now(), Arc::clone(&found)));
        Ok(found)
    }

    /// Rows of stored documents, with the state of those that are open.
    async fn stored_rows(&self, sizes: Vec<StoredSizes>) -> Result<Vec<Value>, Refusal> {
        let found = self.core.view(move |view| {
            let row = |sizes: StoredSizes| {
                // Other programs store documents under ids that are none.
                let id = sizes.document.parse::<DocumentId>().ok();
                let open = id.as_ref().and_then(|id| view.core.document_view(id));
                let is_quarantined = id.is_some_and(|id| view.core.quarantine_view(&id).is_some());
                (sizes, open, is_quarantined)
            };
            sizes.into_iter().map(row).collect::<Vec<_>>()
        });
        let rows = found.await.ok_or_else(ends)?.into_iter();
        Ok(rows
            .map(|(sizes, open, is_quarantined)| stored_row(&sizes, open.as_ref(), is_quarantined))
            .collect())
    }

    async fn list_deleted(&self, query: &DocumentQuery) -> Result<Page, Refusal> {
        let (after, limit) = (query.after.clone(), query.limit);
        let found = self.read(move |store| store.tombstones_after(after.as_deref(), limit + 1)).await?;
        let is_more = found.len() > limit;
        let page = &found[..found.len().min(limit)];
        let next = page.last().map(|(document, _)| document.clone()).filter(|_| is_more);
        let row = |(document, tombstone): &(String, Tombstone)| {
            let deleted = tombstone_json(*tombstone, Some(self.undelete_seconds));
            json!({ "document": document, "state": "deleted", "deleted": deleted })
        };
        Ok((page.iter().map(row).collect(), next))
    }

    async fn list_quarantined(&self, query: &DocumentQuery) -> Result<Page, Refusal> {
        let after = query.after.as_deref().map(str::parse::<DocumentId>).transpose();
        let after = after.map_err(|_| wrong_mark())?;
        let limit = query.limit;
        let found = self.core.view(move |view| view.core.quarantine_views(after.as_ref(), limit + 1)).await;
        let found = found.ok_or_else(ends)?;
        let is_more = found.len() > limit;
        let page = &found[..found.len().min(limit)];
        let next = page.last().map(|view| view.document.to_string()).filter(|_| is_more);
        let row = |view: &QuarantineView| {
            json!({
                "document": view.document.to_string(),
                "state": "quarantined",
                "quarantine": quarantine_json(view),
            })
        };
        Ok((page.iter().map(row).collect(), next))
    }

    /// A value that changes when the details of a document do. `None`: the server ends.
    pub(super) async fn fingerprint(&self, document: &DocumentId) -> Option<Fingerprint> {
        let document = document.clone();
        let view = self.core.view(move |view| {
            let core = view.core;
            let open = core.document_view(&document);
            (open, core.participant_views(&document, MAX_PARTICIPANTS), core.quarantine_view(&document))
        });
        let (open, participants, quarantine) = view.await?;
        // Times pass without a change.
        let open = open.map(|view| DocumentView { inactive: Duration::ZERO, ..view });
        let participants = participants.into_iter();
        let participants =
            participants.map(|view| ParticipantView { presence_inactive: None, ..view }).collect();
        Some(Fingerprint { open, participants, quarantine: quarantine.map(|view| view.reason) })
    }

    /// Details of a document.
    pub(super) async fn details(&self, document: &DocumentId, max_changes: usize) -> Result<Value, Refusal> {
        let wanted = document.clone();
        let state = self.core.view(move |view| {
            let core = view.core;
            (
                core.document_view(&wanted),
                core.chunk_views(&wanted, MAX_CHUNKS),
                core.participant_views(&wanted, MAX_PARTICIPANTS),
                core.quarantine_view(&wanted),
            )
        });
        let (open, chunks, participants, quarantine) = state.await.ok_or_else(ends)?;
        let mut value = json!({
            "document": document.to_string(),
            "quarantine": quarantine.as_ref().map(quarantine_json),
            "participants": participants.iter().map(participant_json).collect::<Vec<_>>(),
        });
        let Some(view) = open.filter(|view| view.is_loaded && !view.is_deleted) else {
            let (id, undelete_seconds) = (document.clone(), Some(self.undelete_seconds));
            let stored =
                self.read(move |store| read_stored(store, &id, max_changes, undelete_seconds)).await?;
            let absent = || Refusal::new(StatusCode::NOT_FOUND, "absent", "there is no such document");
            extend(&mut value, stored.ok_or_else(absent)?);
            return Ok(value);
        };
        extend(&mut value, open_fields(&view));
        let chunks: Vec<Value> = chunks
            .iter()
            .map(|(key, len)| json!({ "kind": key.kind.as_str(), "name": key.name, "bytes": len }))
            .collect();
        extend(&mut value, [("chunk_list", json!(chunks)), ("deleted", Value::Null)]);
        match timeout(TIMEOUT, self.core.inspect(document.clone(), max_changes)).await {
            Ok(Some(details)) => extend(&mut value, contents_fields(details.as_ref())),
            Ok(None) => return Err(ends()),
            Err(_) => return Err(busy()),
        }
        Ok(value)
    }

    /// Reads the storage on a thread that may wait.
    async fn read<R: Send + 'static>(
        &self,
        operation: impl FnOnce(&Store) -> Result<R, IoFailure> + Send + 'static,
    ) -> Result<R, Refusal> {
        let Ok(Ok(_permit)) = timeout(TIMEOUT, self.readers.acquire()).await else { return Err(busy()) };
        let Some(store) = self.store.clone() else {
            let reason = "servers share the storage: only open documents can be listed and shown";
            return Err(Refusal::new(StatusCode::NOT_IMPLEMENTED, "storage-shared", reason));
        };
        let done = store.run_blocking(operation).await;
        done.map_err(|failure| Refusal::unavailable("storage-failed", failure.reason()))
    }
}

/// State of a stored document. `None`: there is none.
pub(super) fn read_stored(
    store: &Store,
    document: &DocumentId,
    max_changes: usize,
    undelete_seconds: Option<u64>,
) -> Result<Option<[(&'static str, Value); 16]>, IoFailure> {
    let text = document.to_string();
    let (tombstone, mut sizes) = (store.tombstone(&text)?, store.entry_sizes(&text)?);
    if tombstone.is_none() && sizes.is_empty() {
        return Ok(None);
    }
    let owner = store.owner(&text)?.map(|owner| owner.name);
    let bytes: u64 = sizes.iter().map(|size| size.bytes).sum();
    let mut details = None;
    if tombstone.is_none() && bytes <= MAX_READ_BYTES {
        let chunks = store.entries(&text)?.into_iter().filter_map(Entry::into_chunk).collect();
        details = Some(stored_details(document, chunks, DocumentLimits::default(), max_changes));
    }
    let chunk = |size: &EntrySize| json!({ "kind": size.kind, "name": size.name, "bytes": size.bytes });
    // As of a document in memory.
    sizes.sort_by_key(|size| ChunkKind::from_name(&size.kind).is_none_or(|kind| kind != ChunkKind::Snapshot));
    let chunk_list: Vec<Value> = sizes.iter().take(MAX_CHUNKS).map(chunk).collect();
    let deleted = tombstone.map(|tombstone| tombstone_json(tombstone, undelete_seconds));
    let [heads, head_count, changes, operations, actors, history] = contents_fields(details.as_ref());
    Ok(Some([
        ("state", json!(if tombstone.is_some() { "deleted" } else { "stored" })),
        ("bytes", json!(bytes)),
        ("chunks", json!(sizes.len())),
        ("clients", json!(0)),
        ("memory_bytes", json!(0)),
        ("has_unstored", json!(false)),
        ("inactive_s", Value::Null),
        ("owner", json!(owner)),
        ("chunk_list", json!(chunk_list)),
        ("deleted", json!(deleted)),
        heads,
        head_count,
        changes,
        operations,
        actors,
        history,
    ]))
}

/// Fields about the contents of a document, which are null if these were not read.
fn contents_fields(details: Option<&DocumentDetails>) -> [(&'static str, Value); 6] {
    let heads = |details: &DocumentDetails| details.heads.iter().map(ToString::to_string).collect::<Vec<_>>();
    let history = |details: &DocumentDetails| details.latest.iter().map(change_json).collect::<Vec<_>>();
    [
        ("heads", json!(details.map(heads))),
        ("head_count", json!(details.map(|details| details.heads.len()))),
        ("changes", json!(details.map(|details| details.changes))),
        ("operations", json!(details.map(|details| details.operations))),
        ("actors", json!(details.map(|details| details.actors))),
        ("history", json!(details.map(history))),
    ]
}

fn extend(value: &mut Value, fields: impl IntoIterator<Item = (&'static str, Value)>) {
    fields.into_iter().for_each(|(name, field)| value[name] = field);
}

fn tombstone_json(tombstone: Tombstone, undelete_seconds: Option<u64>) -> Value {
    let Tombstone { deleted_at, is_purged } = tombstone;
    let purged_from = undelete_seconds.map(|seconds| deleted_at.saturating_add(seconds));
    json!({ "at": deleted_at, "purged_from": purged_from, "is_purged": is_purged })
}

/// Rows, and the mark at which the next page starts.
type Page = (Vec<Value>, Option<String>);

/// A page of a list whose marks are numbers of rows.
fn slice_page<T: Clone>(all: &[T], query: &DocumentQuery) -> Result<(Vec<T>, Option<String>), Refusal> {
    let start = query.after.as_deref().map(str::parse::<usize>).transpose().map_err(|_| wrong_mark())?;
    let start = start.unwrap_or(0).min(all.len());
    let end = start.saturating_add(query.limit).min(all.len());
    let next = (end < all.len()).then(|| end.to_string());
    Ok((all[start..end].to_vec(), next))
}

fn wrong_mark() -> Refusal {
    Refusal::bad_request("wrong-parameter", "after is no mark of a page")
}

fn ends() -> Refusal {
    Refusal::unavailable("stopping", "the server ends")
}

fn busy() -> Refusal {
    Refusal::unavailable("busy", "the server is busy: ask again")
}

/// Fields of a document in memory.
fn open_fields(view: &DocumentView) -> [(&'static str, Value); 10] {
    [
        ("state", json!(if view.is_deleted { "deleted" } else { "open" })),
        ("bytes", json!(view.stored_bytes)),
        ("chunks", json!(view.chunks)),
        ("clients", json!(view.clients)),
        ("memory_bytes", json!(view.memory_bytes)),
        ("has_unstored", json!(view.has_unstored)),
        ("inactive_s", json!(view.inactive.as_secs())),
        ("owner", json!(view.owner)),
        ("changes", json!(view.changes)),
        ("head_count", json!(view.heads)),
    ]
}

fn open_row(view: &DocumentView, is_quarantined: bool) -> Value {
    let mut row = json!({ "document": view.document.to_string(), "is_quarantined": is_quarantined });
    extend(&mut row, open_fields(view));
    row
}

fn stored_row(sizes: &StoredSizes, open: Option<&DocumentView>, is_quarantined: bool) -> Value {
    let mut row = match open {
        Some(view) => open_row(view, is_quarantined),
        None => json!({
            "document": sizes.document,
            "state": "stored",
            "clients": 0,
            "memory_bytes": 0,
            "has_unstored": false,
            "inactive_s": null,
            "changes": null,
            "head_count": null,
            "is_quarantined": is_quarantined,
        }),
    };
    let stored =
        [("bytes", json!(sizes.bytes)), ("chunks", json!(sizes.chunks)), ("owner", json!(sizes.owner))];
    extend(&mut row, stored);
    row
}

fn quarantine_json(view: &QuarantineView) -> Value {
    json!({ "reason": view.reason, "ends_in_s": view.left.as_secs() })
}

fn participant_json(view: &ParticipantView) -> Value {
    json!({
        "connection": view.socket.0,
        "identity": view.identity,
        "peer": view.peer,
        "access": match view.access {
            Access::Denied => "none",
            Access::Read => "read",
            Access::Write => "write",
        },
        "presence_messages": view.presence_messages,
        "presence_inactive_s": view.presence_inactive.map(|time| time.as_secs()),
    })
}

fn change_json(change: &ChangeSummary) -> Value {
    json!({
        "hash": change.hash.to_string(),
        "actor": change.actor.to_string(),
        "seq": change.seq,
        "time": change.time,
        "message": change.message,
        "operations": change.operations,
    })
}
