//! Answers to requests of the operator: JSON, files of the dashboard, and streams of events.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Bytes, Frame};
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;

/// The page loads its own files and speaks with its own server, and no other page shows it.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                           base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const DATA_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// Body of a response: a text, or a stream.
pub(in crate::shell) type ResponseBody = UnsyncBoxBody<Bytes, BodyError>;

/// Reason why a body ends early. That of a text does not.
type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// A body that is there as a whole.
pub(in crate::shell) fn whole_body(text: impl Into<Bytes>) -> ResponseBody {
    boxed(Full::new(text.into()))
}

fn boxed(body: impl Body<Data = Bytes, Error = Infallible> + Send + 'static) -> ResponseBody {
    body.map_err(|never| match never {}).boxed_unsync()
}

/// Reason why a request is not carried out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    /// A word for programs, which stays the same.
    pub(super) code: &'static str,
    pub(super) reason: String,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, code: &'static str, reason: impl Into<String>) -> Refusal {
        Refusal { status, code, reason: reason.into() }
    }

    pub(super) fn bad_request(code: &'static str, reason: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, code, reason)
    }

    pub(super) fn unavailable(code: &'static str, reason: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, code, reason)
    }

    pub(super) fn into_response(self) -> Response<ResponseBody> {
        json_response(self.status, &json!({ "code": self.code, "error": self.reason }))
    }
}

pub(super) fn json_response(status: StatusCode, value: &Value) -> Response<ResponseBody> {
    response(status, "application/json", DATA_POLICY, whole_body(format!("{value}\n")))
}

/// A file of the dashboard.
pub(super) fn file_response(kind: &'static str, text: &'static str) -> Response<ResponseBody> {
    response(StatusCode::OK, kind, PAGE_POLICY, whole_body(text))
}

/// Events as they come, in the format of server-sent events.
pub(super) fn events_response(events: Receiver<Bytes>) -> Response<ResponseBody> {
    response(StatusCode::OK, "text/event-stream", DATA_POLICY, boxed(Pieces(events)))
}

/// A file that is made while it is sent.
pub(super) fn pieces_response(pieces: Receiver<Bytes>) -> Response<ResponseBody> {
    response(StatusCode::OK, "application/octet-stream", DATA_POLICY, boxed(Pieces(pieces)))
}

pub(super) fn redirect(location: &'static str) -> Response<ResponseBody> {
    let mut response = response(StatusCode::PERMANENT_REDIRECT, "text/plain", DATA_POLICY, whole_body(""));
    response.headers_mut().insert(LOCATION, HeaderValue::from_static(location));
    response
}

fn response(
    status: StatusCode,
    kind: &'static str,
    policy: &'static str,
    body: ResponseBody,
) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let own_resources = HeaderName::from_static("cross-origin-resource-policy");
    for (name, value) in [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, policy),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (own_resources, "same-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Pieces in a queue as the body of a response, which ends with the queue.
struct Pieces(Receiver<Bytes>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}
