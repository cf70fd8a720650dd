//! Answers to requests for blobs.

use http_body_util::Full;
use hyper::header::{
    ACCEPT_RANGES, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap,
    HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};

use super::body::Body;
use crate::storage::BlobHash;

/// Header with the number of bytes that the server has of an upload, as in the IETF's draft for resumable uploads.
pub(super) const UPLOAD_OFFSET: &str = "upload-offset";
/// Header that says whether a request has the last bytes of an upload: `?1` or `?0`.
pub(super) const UPLOAD_COMPLETE: &str = "upload-complete";

const CORS_PROTECTION: &str = "cross-origin-resource-policy";
const METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
const REQUEST_HEADERS: &str =
    "authorization, content-type, if-none-match, if-range, range, upload-complete, upload-offset";
const RESPONSE_HEADERS: &str =
    "accept-ranges, content-length, content-range, etag, location, upload-complete, upload-offset";

/// A request that is not carried out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    reason: String,
    offset: Option<u64>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, reason: impl Into<String>) -> Refusal {
        Refusal { status, reason: reason.into(), offset: None }
    }

    /// Adds the number of bytes that the server has of an upload.
    pub(super) fn with_offset(self, offset: u64) -> Refusal {
        Refusal { offset: Some(offset), ..self }
    }

    /// The answer to a request for a blob that is absent, or that the client may not read.
    pub(super) fn no_blob() -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, "there is no such blob")
    }

    pub(super) fn no_document() -> Refusal {
        Refusal::new(
            StatusCode::NOT_FOUND,
            "there is no such document: the server gets it first, then its blobs",
        )
    }

    pub(super) fn storage() -> Refusal {
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the storage of the server fails: try again later")
    }

    pub(super) fn over_quota() -> Refusal {
        let reason = "no room: the documents and blobs of this client would exceed its quota on the server";
        Refusal::new(StatusCode::INSUFFICIENT_STORAGE, reason)
    }

    pub(super) fn into_response(self) -> Response<Body> {
        let mut response = text(self.status, format!("{}\n", self.reason));
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if matches!(self.status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if let Some(offset) = self.offset {
            headers.insert(HeaderName::from_static(UPLOAD_OFFSET), offset.into());
        }
        response
    }
}

pub(super) fn text(status: StatusCode, text: String) -> Response<Body> {
    response(status, text, "text/plain; charset=utf-8")
}

pub(super) fn json(status: StatusCode, value: &serde_json::Value) -> Response<Body> {
    response(status, format!("{value}\n"), "application/json")
}

fn response(status: StatusCode, text: String, kind: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::Left(Full::from(text)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    // It may be another one soon.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The answer to a browser that asks which requests a page may send.
pub(super) fn preflight() -> Response<Body> {
    let mut response = text(StatusCode::NO_CONTENT, String::new());
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(REQUEST_HEADERS));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    response
}

/// Lets pages of any origin read an answer, as WebSockets do: rights follow from a token, which no browser adds by itself.
pub(super) fn allow_pages(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(RESPONSE_HEADERS));
    headers.insert(HeaderName::from_static(CORS_PROTECTION), HeaderValue::from_static("cross-origin"));
    // No browser takes the bytes of a client for a page of this server.
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Headers of the bytes of a blob, which never change. Shared caches keep those that everyone may read.
pub(super) fn describe_blob(headers: &mut HeaderMap, blob: BlobHash, kind: &'static str, is_public: bool) {
    headers.insert(ETAG, etag(blob));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    let caching = if is_public {
        "public, max-age=31536000, immutable"
    } else {
        "private, max-age=31536000, immutable"
    };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    // Opened as a page, it runs no scripts and is of no origin.
    let policy = HeaderValue::from_static("sandbox; default-src 'none'; style-src 'unsafe-inline'");
    headers.insert(hyper::header::CONTENT_SECURITY_POLICY, policy);
}

pub(super) fn etag(blob: BlobHash) -> HeaderValue {
    HeaderValue::from_str(&format!("\"{blob}\"")).expect("quotes and digits are a valid value")
}

/// Is the blob among those of a header `If-None-Match`?
pub(super) fn matches_any(header: &str, blob: BlobHash) -> bool {
    let expected = format!("\"{blob}\"");
    header
        .split(',')
        .map(str::trim)
        .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_compared() {
        let blob = BlobHash([0xab; 32]);
        let tag = format!("\"{blob}\"");
        for header in [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}"), "*".to_owned()] {
            assert!(matches_any(&header, blob), "{header}");
        }
        for header in ["", "\"x\"", &blob.to_string(), &tag.to_uppercase()] {
            assert!(!matches_any(header, blob), "{header}");
        }
    }
}
