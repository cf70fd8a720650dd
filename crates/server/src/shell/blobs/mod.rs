//! Blobs beside documents, over HTTP: put, continued and read by the BLAKE3 hash of their bytes.

mod answers;
mod blob_store;
mod body;
mod deliver;
mod files;
mod ranges;
mod receive;
mod requests;
#[cfg(test)]
mod simulation;
mod tree;
mod uploads;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use zeroize::Zeroizing;

use super::Settings;
use super::auth::{Gate, TokenError, token_of};
use super::driver::Handle;
use super::metrics::write_sample;
use super::store::Store;
use crate::access::Access;
use crate::fact::Fact;
use crate::identity::Identity;
use crate::storage::{BlobHash, ReferenceChange, ReferenceOutcome};
use hashmill_repo::DocumentId;

pub(super) use blob_store::{copy_blob, has_sound_bytes};
pub(super) use body::Body;
pub(super) use files::{FOLDER, Files, FolderFiles};
pub(super) use requests::has_path;

use answers::Refusal;
use blob_store::{BlobStore, Notice};
use requests::{Route, parse_route};
use uploads::Uploads;

/// Maximum number of blobs that are sent and received at once. Each needs some hundred KiB of memory.
const MAX_TRANSFERS: usize = 256;
/// Pause between two removals of what nothing needs.
const SWEEP_INTERVAL: Duration = Duration::from_secs(3600);

/// Requests for blobs.
#[derive(Clone)]
pub(super) struct Blobs(Arc<Service>);

struct Service {
    blobs: Arc<BlobStore<FolderFiles>>,
    uploads: Arc<Uploads>,
    transfers: Arc<Semaphore>,
    gate: Gate,
    core: Handle,
    max_bytes: u64,
    claim_seconds: u64,
    bytes_per_second: Option<u64>,
    unix_time: fn() -> u64,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    stored: AtomicU64,
    received_bytes: AtomicU64,
    sent_bytes: AtomicU64,
    refused: AtomicU64,
    damaged: AtomicU64,
}

/// A client that was let in.
struct Client {
    identity: Arc<Identity>,
    token: Option<Zeroizing<String>>,
}

impl Client {
    /// May it change some document? Else it could refer to no blob.
    fn is_writer(&self) -> bool {
        let Identity { access, rules, .. } = &*self.identity;
        *access >= Access::Write || rules.values().any(|rule| rule.access >= Access::Write)
    }
}

impl Blobs {
    /// Opens the blobs of a storage. Reads the records of unfinished uploads.
    pub(super) fn open(
        core: Handle,
        gate: Gate,
        store: &Arc<Store>,
        settings: &Settings,
    ) -> Result<Option<Blobs>, String> {
        let Some(limits) = settings.blobs else { return Ok(None) };
        let files = FolderFiles::open(&settings.folder).map_err(|error| error.to_string())?;
        let handle = core.clone();
        let notify = Box::new(move |notice| match notice {
            Notice::Fact(fact) => handle.report(fact),
            Notice::Counts(owners) if owners.is_empty() => {}
            Notice::Counts(owners) => handle.count_bytes(owners),
        });
        let max_stored_bytes = settings.limits.max_stored_bytes_per_identity;
        let (blobs, unfinished) = BlobStore::open(Arc::clone(store), files, max_stored_bytes, notify)?;
        Ok(Some(Blobs(Arc::new(Service {
            blobs: Arc::new(blobs),
            uploads: Arc::new(Uploads::new(unfinished, limits.max_uploads_per_identity)),
            transfers: Arc::new(Semaphore::new(MAX_TRANSFERS)),
            gate,
            core,
            max_bytes: limits.max_bytes,
            claim_seconds: limits.claim_time.as_secs(),
            bytes_per_second: settings.limits.bytes_per_second,
            unix_time: settings.unix_time,
            counts: Counts::default(),
        }))))
    }

    /// Carries out a request.
    pub(super) async fn respond(&self, request: Request<Incoming>, address: IpAddr) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let answer = Arc::clone(&self.0).answer(parts, body, address).await;
        let mut response = answer.unwrap_or_else(|refusal| {
            self.0.counts.refused.fetch_add(1, Ordering::Relaxed);
            refusal.into_response()
        });
        answers::allow_pages(response.headers_mut());
        response
    }

    /// Removes what nothing needs, without end.
    pub(super) async fn sweep(self) {
        let service = self.0;
        // A storage that fails is told to the operator; the next round tries again.
        let _ = service.blocking(|service| service.blobs.remove_leftovers()).await;
        loop {
            let now = (service.unix_time)();
            for key in service.uploads.expired(service.claim_seconds, now) {
                // A request that continues it now is ended, and its client can continue.
                if let Ok(mut lease) = service.uploads.acquire(key).await
                    && lease.is_expired(service.claim_seconds, now)
                {
                    let key = lease.key().clone();
                    if service.blocking(move |service| service.blobs.discard(&key)).await.is_ok() {
                        lease.put(None);
                    }
                }
            }
            let _ = service
                .blocking(move |service| service.blobs.remove_unneeded(service.claim_seconds, now))
                .await;
            tokio::time::sleep(SWEEP_INTERVAL).await;
        }
    }

    /// Ends requests that receive blobs. Their clients can continue.
    pub(super) fn end_uploads(&self) {
        self.0.uploads.end_all();
    }

    pub(super) fn write_metrics(&self, out: &mut String) {
        let Service { counts, uploads, .. } = &*self.0;
        let (upload_count, upload_bytes) = uploads.totals();
        let samples = [
            ("blob_uploads", "gauge", "Uploads of blobs that are received or unfinished.", upload_count),
            ("blob_upload_bytes", "gauge", "Bytes of these.", upload_bytes),
        ];
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = [
            ("blobs_stored_total", "counter", "Blobs that were put.", count(&counts.stored)),
            (
                "blob_received_bytes_total",
                "counter",
                "Bytes of blobs from clients.",
                count(&counts.received_bytes),
            ),
            ("blob_sent_bytes_total", "counter", "Bytes of blobs to clients.", count(&counts.sent_bytes)),
            (
                "blob_refused_total",
                "counter",
                "Requests for blobs that were refused.",
                count(&counts.refused),
            ),
            ("blob_damaged_total", "counter", "Requests that met a damaged blob.", count(&counts.damaged)),
        ];
        for (name, kind, help, value) in samples.into_iter().chain(counters) {
            write_sample(out, name, kind, help, value);
        }
    }
}

impl Service {
    async fn answer(
        self: Arc<Self>,
        parts: Parts,
        body: Incoming,
        address: IpAddr,
    ) -> Result<Response<Body>, Refusal> {
        let route = parse_route(parts.uri.path())?;
        if parts.method == Method::OPTIONS {
            return Ok(answers::preflight());
        }
        let client = self.admit(&parts, address).await?;
        match (route, parts.method.clone()) {
            (Route::Blob(blob), Method::GET | Method::HEAD) => self.deliver(&parts, client, blob).await,
            (Route::Blob(blob), Method::PUT | Method::PATCH) => {
                self.receive(&parts, body, client, Some(blob)).await
            }
            (Route::All, Method::POST) => self.receive(&parts, body, client, None).await,
            (Route::References(document), Method::GET) => self.list(document, client).await,
            (Route::Reference(document, blob), Method::PUT) => {
                self.change_reference(ReferenceChange::Add, document, blob, client).await
            }
            (Route::Reference(document, blob), Method::DELETE) => {
                self.change_reference(ReferenceChange::Remove, document, blob, client).await
            }
            (route, _) => {
                let methods = match route {
                    Route::All => "use POST with the bytes of a blob, or /blobs/HASH",
                    Route::Blob(_) => {
                        "use GET, HEAD, PUT or PATCH: a blob goes when no document refers to it"
                    }
                    Route::References(_) => "use GET, or PUT to /documents/ID/blobs/HASH",
                    Route::Reference(..) => "use PUT or DELETE: the bytes are at /blobs/HASH",
                };
                Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, methods))
            }
        }
    }

    /// The rights of a request. A client whose rights another service knows has none on blobs.
    async fn admit(&self, parts: &Parts, address: IpAddr) -> Result<Client, Refusal> {
        let token = token_of(parts);
        let text = token.as_ref().map(|token| token.as_str());
        match self.gate.admit_new(text, address, &self.core).await {
            Ok(admission) => Ok(Client { identity: admission.identity, token }),
            Err(error) => {
                self.core.note_refused_client(address, error.to_string());
                let status = match error {
                    TokenError::KeysMissing | TokenError::ServiceFails => StatusCode::SERVICE_UNAVAILABLE,
                    _ => StatusCode::UNAUTHORIZED,
                };
                Err(Refusal::new(status, error.to_string()))
            }
        }
    }

    /// The rights of a client now, if it still has any.
    fn readmit(&self, client: &Client) -> Option<Client> {
        let token = client.token.clone();
        let admission = self.gate.admit(token.as_ref().map(|token| token.as_str())).ok()?;
        Some(Client { identity: admission.identity, token })
    }

    fn acquire_transfer(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let busy = "too many blobs are sent and received now: try again";
        let permit = Arc::clone(&self.transfers).try_acquire_owned();
        permit.map_err(|_| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, busy))
    }

    /// Runs an operation of the storage on a thread that may wait. A failure is told to the operator.
    async fn blocking<R: Send + 'static>(
        self: &Arc<Self>,
        operation: impl FnOnce(&Service) -> Result<R, String> + Send + 'static,
    ) -> Result<R, Refusal> {
        let service = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || operation(&service)).await;
        done.unwrap_or_else(|error| Err(error.to_string())).map_err(|reason| self.note_failure(reason))
    }

    fn note_failure(&self, reason: String) -> Refusal {
        self.core.report(Fact::BlobFailed { reason });
        Refusal::storage()
    }

    /// The blobs of a document.
    async fn list(self: &Arc<Self>, document: DocumentId, client: Client) -> Result<Response<Body>, Refusal> {
        let access = client.identity.access_to(&document);
        let blobs = self
            .blocking(move |service| {
                service.blobs.store().blobs_of(&document).map_err(|failure| failure.reason().to_owned())
            })
            .await?;
        let blobs = blobs.filter(|_| access > Access::Denied).ok_or_else(Refusal::no_document)?;
        let blobs: Vec<serde_json::Value> =
            blobs.into_iter().map(|(blob, len)| json!({ "hash": blob.to_string(), "bytes": len })).collect();
        Ok(answers::json(StatusCode::OK, &json!({ "blobs": blobs })))
    }

    async fn change_reference(
        self: &Arc<Self>,
        change: ReferenceChange,
        document: DocumentId,
        blob: BlobHash,
        client: Client,
    ) -> Result<Response<Body>, Refusal> {
        let identity = Arc::clone(&client.identity);
        let (outcome, counts) = self
            .blocking(move |service| {
                let now = (service.unix_time)();
                let max_bytes = service.blobs.max_stored_bytes();
                let store = service.blobs.store();
                let changed = store.change_reference(change, &document, blob, &identity, now, max_bytes);
                changed.map_err(|failure| failure.reason().to_owned())
            })
            .await?;
        if outcome == ReferenceOutcome::Done && !counts.is_empty() {
            self.core.count_bytes(counts);
        }
        match outcome {
            ReferenceOutcome::Done => Ok(answers::text(StatusCode::NO_CONTENT, String::new())),
            ReferenceOutcome::NoDocument => Err(Refusal::no_document()),
            ReferenceOutcome::NoBlob => Err(Refusal::no_blob()),
            ReferenceOutcome::OverQuota => Err(Refusal::over_quota()),
            ReferenceOutcome::Forbidden => Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "this client may read the document, and not change it",
            )),
        }
    }
}
