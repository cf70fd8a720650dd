//! Requests for the bytes of a blob: verified before they are sent.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    CONTENT_LENGTH, CONTENT_RANGE, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH, IF_RANGE, RANGE,
};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use tokio::sync::mpsc::{Sender, channel};
use tokio::time::{Instant, timeout};

use super::answers::{self, Refusal};
use super::blob_store::{BlobReader, ReadError};
use super::body::{BlobBody, Body};
use super::files::FolderFiles;
use super::ranges::{Wanted, parse_range};
use super::requests::requested_type;
use super::{Client, Service};
use crate::storage::BlobHash;

/// Bytes that are read at once.
const PART_BYTES: usize = 256 << 10;
/// A client that takes no part in this time is gone.
const SLOW_TIME: Duration = Duration::from_secs(30);
/// Interval in which the rights of a client are looked at again while it reads.
const RIGHTS_INTERVAL: Duration = Duration::from_secs(5);

impl Service {
    pub(super) async fn deliver(
        self: &Arc<Self>,
        parts: &Parts,
        client: Client,
        blob: BlobHash,
    ) -> Result<Response<Body>, Refusal> {
        let kind = requested_type(parts.uri.query())?.unwrap_or("application/octet-stream");
        let Some(len) = self.readable_len(&client, blob).await? else {
            let refusal = Refusal::no_blob();
            let is_writer = client.is_writer();
            return Err(if is_writer {
                refusal.with_offset(self.uploads.len_of(&client.identity.name, blob))
            } else {
                refusal
            });
        };
        let header = |name: HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let is_public = client.token.is_none();
        let describe = |headers: &mut HeaderMap| answers::describe_blob(headers, blob, kind, is_public);
        if header(IF_NONE_MATCH).is_some_and(|tags| answers::matches_any(tags, blob)) {
            let mut response = empty(StatusCode::NOT_MODIFIED);
            describe(response.headers_mut());
            return Ok(response);
        }
        let is_same = header(IF_RANGE).is_none_or(|tag| tag == answers::etag(blob));
        let wanted = header(RANGE).filter(|_| is_same).map_or(Wanted::Whole, |range| parse_range(range, len));
        let (status, range) = match wanted {
            Wanted::Whole if self.blobs.is_damaged(blob) => return Err(self.refuse_damaged()),
            Wanted::Whole => (StatusCode::OK, 0..len),
            Wanted::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
            Wanted::Outside => {
                let mut response =
                    Refusal::new(StatusCode::RANGE_NOT_SATISFIABLE, format!("the blob has {len} bytes"))
                        .into_response();
                response.headers_mut().insert(CONTENT_RANGE, header_value(&format!("bytes */{len}")));
                return Ok(response);
            }
        };
        let wanted_len = range.end - range.start;
        let mut response = empty(status);
        let headers = response.headers_mut();
        describe(headers);
        headers.insert(CONTENT_LENGTH, wanted_len.into());
        if status == StatusCode::PARTIAL_CONTENT {
            let value = format!("bytes {}-{}/{len}", range.start, range.end - 1);
            headers.insert(CONTENT_RANGE, header_value(&value));
        }
        if parts.method == Method::HEAD {
            return Ok(response);
        }
        let permit = self.acquire_transfer()?;
        let reader = self.blobs.read(blob, len, range);
        // Before the status is sent: of a small blob that is all.
        let (reader, first) = self.read_part(reader).await?;
        if first.len() as u64 == wanted_len {
            self.counts.sent_bytes.fetch_add(wanted_len, Ordering::Relaxed);
            *response.body_mut() = Body::Left(Full::new(first.into()));
            return Ok(response);
        }
        let (sender, received) = channel(1);
        *response.body_mut() = Body::Right(BlobBody::new(wanted_len, received));
        let service = Arc::clone(self);
        tokio::spawn(async move {
            service.send_parts(reader, first, &sender, client, blob).await;
            drop(permit);
        });
        Ok(response)
    }

    /// Length of a blob that a client may read.
    async fn readable_len(self: &Arc<Self>, client: &Client, blob: BlobHash) -> Result<Option<u64>, Refusal> {
        let identity = Arc::clone(&client.identity);
        self.blocking(move |service| {
            let len = service.blobs.store().readable_blob(blob, &identity);
            len.map_err(|failure| failure.reason().to_owned())
        })
        .await
    }

    fn refuse_damaged(&self) -> Refusal {
        self.counts.damaged.fetch_add(1, Ordering::Relaxed);
        let reason = "the blob is damaged on the disk of the server: put it again";
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, reason)
    }

    /// Reads some bytes. An empty part is the end.
    async fn read_part(
        self: &Arc<Self>,
        mut reader: BlobReader<FolderFiles>,
    ) -> Result<(BlobReader<FolderFiles>, Vec<u8>), Refusal> {
        let read = move |_: &Service| {
            let mut part = Vec::new();
            while part.len() < PART_BYTES {
                match reader.read_next() {
                    Ok(Some(bytes)) if part.is_empty() => part = bytes,
                    Ok(Some(bytes)) => part.extend_from_slice(&bytes),
                    Ok(None) => break,
                    // What is verified is sent first.
                    Err(_) if !part.is_empty() => break,
                    Err(ReadError::Io(reason)) => return Err(reason),
                    Err(ReadError::Damaged) => return Ok(None),
                }
            }
            Ok(Some((reader, part)))
        };
        self.blocking(read).await?.ok_or_else(|| self.refuse_damaged())
    }

    /// Sends parts until the end, an error, or the end of the client's rights. The client notices what is missing.
    async fn send_parts(
        self: &Arc<Self>,
        mut reader: BlobReader<FolderFiles>,
        mut part: Vec<u8>,
        sender: &Sender<Vec<u8>>,
        client: Client,
        blob: BlobHash,
    ) {
        let mut checked_at = Instant::now();
        while !part.is_empty() {
            let len = part.len() as u64;
            if !matches!(timeout(SLOW_TIME, sender.send(part)).await, Ok(Ok(()))) {
                return;
            }
            self.counts.sent_bytes.fetch_add(len, Ordering::Relaxed);
            if checked_at.elapsed() >= RIGHTS_INTERVAL {
                let Some(client) = self.readmit(&client) else { return };
                if !matches!(self.readable_len(&client, blob).await, Ok(Some(_))) {
                    return;
                }
                checked_at = Instant::now();
            }
            match self.read_part(reader).await {
                Ok(next) => (reader, part) = next,
                Err(_) => return,
            }
        }
    }
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::Left(Full::new(Bytes::new())));
    *response.status_mut() = status;
    response
}

fn header_value(text: &str) -> HeaderValue {
    text.parse().expect("numbers are a valid value")
}
