//! Requests with bytes of a blob: whole ones, and parts that continue an upload.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_LENGTH, ETAG, HeaderName, HeaderValue, LOCATION};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use serde_json::json;
use tokio::time::{Instant, sleep_until, timeout};

use super::answers::{self, Refusal, UPLOAD_COMPLETE, UPLOAD_OFFSET};
use super::blob_store::{FinishError, Target, Unfinished, Upload, UploadKey};
use super::body::Body;
use super::files::{Files, FolderFiles};
use super::requests::{Portion, parse_portion};
use super::uploads::Lease;
use super::{Client, Service};
use crate::storage::BlobHash;

/// Bytes that are written at once.
const BUFFER_BYTES: usize = 256 << 10;
/// A client that sends fewer bytes in this time is too slow. Its bytes are kept.
const SLOW_TIME: Duration = Duration::from_secs(30);
const SLOW_BYTES: u64 = 8 << 10;
/// A client may send for this time at once what its rate allows in that time, as for messages.
const BURST: Duration = Duration::from_secs(2);

type BlobUpload = Upload<<FolderFiles as Files>::File>;

/// Reason why no more bytes are received.
#[derive(Clone, PartialEq, Eq, Debug)]
enum End {
    Complete,
    Interrupted,
    Superseded,
    Slow,
    TooLarge,
    OverQuota,
    /// The storage failed.
    Failed(String),
}

impl Service {
    /// Receives bytes of a blob, or of one whose hash the client leaves to the server.
    pub(super) async fn receive(
        self: &Arc<Self>,
        parts: &Parts,
        body: Incoming,
        client: Client,
        blob: Option<BlobHash>,
    ) -> Result<Response<Body>, Refusal> {
        if !client.is_writer() {
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "this client may change no document, and put no blobs",
            ));
        }
        let portion = parse_portion(parts)?;
        let announced = parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let announced = announced.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        if portion.offset.unwrap_or(0).saturating_add(announced) > self.max_bytes {
            return Err(self.too_large());
        }
        let permit = self.acquire_transfer()?;
        let target = blob.map_or_else(|| self.uploads.new_target(), Target::Blob);
        let key = UploadKey { name: client.identity.name.clone(), target };
        // On its own: a client that disconnects ends the request, and its bytes are to be kept.
        let service = Arc::clone(self);
        let task = tokio::spawn(async move {
            let _permit = permit;
            let lease = service.uploads.acquire(key).await.map_err(|_| {
                let reason = "this client has too many unfinished uploads: continue one";
                Refusal::new(StatusCode::TOO_MANY_REQUESTS, reason)
            })?;
            service.run_upload(body, portion, client, lease).await
        });
        task.await.unwrap_or_else(|error| Err(self.note_failure(error.to_string())))
    }

    fn too_large(&self) -> Refusal {
        let reason = format!("a blob has at most {} bytes on this server", self.max_bytes);
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, reason)
    }

    async fn run_upload(
        self: &Arc<Self>,
        body: Incoming,
        portion: Portion,
        client: Client,
        mut lease: Lease,
    ) -> Result<Response<Body>, Refusal> {
        let upload = self.begin(portion, &mut lease).await?;
        let received = self.receive_bytes(body, upload, &client, &mut lease).await;
        let (upload, end) = match received {
            Ok(received) => received,
            Err(reason) => {
                self.discard(&lease).await?;
                return Err(self.note_failure(reason));
            }
        };
        match end {
            End::Complete if portion.is_last => self.finish(upload, &client, &lease).await,
            End::Complete => {
                let offset = self.suspend(upload, &mut lease).await?;
                let mut response = answers::text(StatusCode::NO_CONTENT, String::new());
                let headers = response.headers_mut();
                headers.insert(HeaderName::from_static(UPLOAD_OFFSET), offset.into());
                headers.insert(HeaderName::from_static(UPLOAD_COMPLETE), HeaderValue::from_static("?0"));
                Ok(response)
            }
            End::Interrupted => {
                let offset = self.suspend(upload, &mut lease).await?;
                Err(Refusal::new(StatusCode::BAD_REQUEST, "the request ended early").with_offset(offset))
            }
            End::Superseded => {
                let offset = self.suspend(upload, &mut lease).await?;
                let reason = "a newer request continues this upload, or the server ends";
                Err(Refusal::new(StatusCode::CONFLICT, reason).with_offset(offset))
            }
            End::Slow => {
                let offset = self.suspend(upload, &mut lease).await?;
                Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "too slow: continue later").with_offset(offset))
            }
            End::TooLarge => {
                self.discard(&lease).await?;
                Err(self.too_large())
            }
            End::OverQuota => {
                self.discard(&lease).await?;
                Err(Refusal::over_quota())
            }
            End::Failed(reason) => {
                let refusal = self.note_failure(reason);
                // What is durable can be continued when the storage works.
                self.suspend(upload, &mut lease).await?;
                Err(refusal)
            }
        }
    }

    /// Starts or continues an upload.
    async fn begin(self: &Arc<Self>, portion: Portion, lease: &mut Lease) -> Result<BlobUpload, Refusal> {
        let (unfinished, key) = (lease.take(), lease.key().clone());
        let known = unfinished.as_ref().map_or(0, Unfinished::len);
        let wrong_offset = |offset: u64| {
            Refusal::new(StatusCode::CONFLICT, format!("the server has {offset} bytes of this upload"))
                .with_offset(offset)
        };
        if portion.offset.is_some_and(|offset| offset != known) {
            lease.put(unfinished);
            return Err(wrong_offset(known));
        }
        let kept = unfinished.clone();
        let opened = self.blocking(move |service| match &unfinished {
            Some(unfinished) if portion.offset.is_some() => service.blobs.resume_upload(key, unfinished),
            _ => service.blobs.start_upload(key),
        });
        let upload = match opened.await {
            Ok(upload) => upload,
            Err(refusal) => {
                lease.put(kept);
                return Err(refusal);
            }
        };
        if portion.offset.is_some_and(|offset| offset != upload.len()) {
            // The bytes have gone, such as by a restore from a backup.
            return Err(wrong_offset(upload.len()));
        }
        Ok(upload)
    }

    /// Receives bytes until an end. `Err`: the upload is lost.
    async fn receive_bytes(
        self: &Arc<Self>,
        mut body: Incoming,
        mut upload: BlobUpload,
        client: &Client,
        lease: &mut Lease,
    ) -> Result<(BlobUpload, End), String> {
        let left_bytes = match self.left_bytes(lease.key()).await {
            Ok(left_bytes) => left_bytes,
            Err(reason) => return Ok((upload, End::Failed(reason))),
        };
        let mut buffer = Vec::new();
        let mut paid_at = Instant::now();
        let (mut window_start, mut window_bytes) = (Instant::now(), 0);
        let mut end = loop {
            let frame = tokio::select! {
                biased;
                () = lease.superseded() => break End::Superseded,
                frame = timeout(SLOW_TIME, body.frame()) => frame,
            };
            let bytes = match frame {
                Err(_) => break End::Slow,
                Ok(None) => break End::Complete,
                Ok(Some(Err(_))) => break End::Interrupted,
                Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_else(|_| Bytes::new()),
            };
            let len = upload.len() + buffer.len() as u64 + bytes.len() as u64;
            if len > self.max_bytes {
                break End::TooLarge;
            }
            lease.note_len(len, (self.unix_time)());
            if left_bytes.is_some_and(|left| self.uploads.bytes_of(&client.identity.name) > left) {
                break End::OverQuota;
            }
            self.counts.received_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            window_bytes += bytes.len() as u64;
            if let Some(rate) = self.bytes_per_second {
                let seconds = bytes.len() as f64 / rate.max(1) as f64;
                paid_at = paid_at.max(Instant::now()) + Duration::from_secs_f64(seconds.min(86_400.0));
            }
            buffer.extend_from_slice(&bytes);
            if buffer.len() >= BUFFER_BYTES {
                let result;
                (upload, result) = self.write(upload, std::mem::take(&mut buffer)).await?;
                if let Err(reason) = result {
                    break End::Failed(reason);
                }
            }
            if window_start.elapsed() >= SLOW_TIME {
                if window_bytes < SLOW_BYTES {
                    break End::Slow;
                }
                (window_start, window_bytes) = (Instant::now(), 0);
            }
            if let Some(resume_at) = paid_at.checked_sub(BURST).filter(|at| *at > Instant::now()) {
                tokio::select! {
                    () = lease.superseded() => break End::Superseded,
                    () = sleep_until(resume_at) => {}
                }
                (window_start, window_bytes) = (Instant::now(), 0);
            }
        };
        let is_kept = !matches!(end, End::TooLarge | End::OverQuota | End::Failed(_));
        if is_kept && !buffer.is_empty() {
            let result;
            (upload, result) = self.write(upload, buffer).await?;
            if let Err(reason) = result {
                end = End::Failed(reason);
            }
        }
        Ok((upload, end))
    }

    /// Bytes that an identity may have in all its unfinished uploads. `None`: any number.
    async fn left_bytes(self: &Arc<Self>, key: &UploadKey) -> Result<Option<u64>, String> {
        let Some(max_bytes) = self.blobs.max_stored_bytes() else { return Ok(None) };
        let (service, name, blob) = (Arc::clone(self), key.name.clone(), key.blob());
        let left = tokio::task::spawn_blocking(move || {
            service.blobs.store().left_blob_bytes(blob, &name, max_bytes)
        });
        let left = left.await.map_err(|error| error.to_string())?;
        left.map(Some).map_err(|failure| failure.reason().to_owned())
    }

    /// Writes bytes on a thread that may wait.
    async fn write(
        self: &Arc<Self>,
        mut upload: BlobUpload,
        bytes: Vec<u8>,
    ) -> Result<(BlobUpload, Result<(), String>), String> {
        let service = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || {
            let result = service.blobs.write(&mut upload, &bytes, (service.unix_time)());
            (upload, result)
        });
        done.await.map_err(|error| error.to_string())
    }

    async fn suspend(self: &Arc<Self>, upload: BlobUpload, lease: &mut Lease) -> Result<u64, Refusal> {
        let key = lease.key().clone();
        let unfinished = self
            .blocking(move |service| {
                let suspended = service.blobs.suspend(upload, (service.unix_time)());
                // Without a record the bytes would count as known.
                suspended.inspect_err(|_| drop(service.blobs.discard(&key)))
            })
            .await?;
        let offset = unfinished.as_ref().map_or(0, Unfinished::len);
        lease.put(unfinished);
        Ok(offset)
    }

    async fn discard(self: &Arc<Self>, lease: &Lease) -> Result<(), Refusal> {
        let key = lease.key().clone();
        self.blocking(move |service| service.blobs.discard(&key)).await
    }

    /// Makes a complete upload a blob, if its client still has the right.
    async fn finish(
        self: &Arc<Self>,
        upload: BlobUpload,
        client: &Client,
        lease: &Lease,
    ) -> Result<Response<Body>, Refusal> {
        if !self.readmit(client).is_some_and(|client| client.is_writer()) {
            self.discard(lease).await?;
            return Err(Refusal::new(StatusCode::UNAUTHORIZED, "the rights of the client ended meanwhile"));
        }
        let finished =
            self.blocking(move |service| Ok(service.blobs.finish(upload, (service.unix_time)()))).await?;
        let (blob, len) = match finished {
            Ok(finished) => finished,
            Err(FinishError::Mismatch(found)) => {
                let reason = format!("the bytes have the hash {found}: nothing was stored");
                return Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, reason));
            }
            Err(FinishError::OverQuota) => return Err(Refusal::over_quota()),
            Err(FinishError::Io(reason)) => {
                let refusal = self.note_failure(reason);
                self.discard(lease).await?;
                return Err(refusal);
            }
        };
        self.counts.stored.fetch_add(1, Ordering::Relaxed);
        let answer = json!({ "hash": blob.to_string(), "bytes": len });
        let mut response = answers::json(StatusCode::CREATED, &answer);
        let headers = response.headers_mut();
        headers.insert(ETAG, answers::etag(blob));
        let location = format!("/blobs/{blob}").parse().expect("a path of digits is a valid value");
        headers.insert(LOCATION, location);
        headers.insert(HeaderName::from_static(UPLOAD_COMPLETE), HeaderValue::from_static("?1"));
        Ok(response)
    }
}
