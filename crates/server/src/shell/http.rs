//! HTTP: the upgrade to WebSocket, and requests for the health of the server.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Bytes, Incoming};
use hyper::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, UPGRADE, WWW_AUTHENTICATE,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::Settings;
use super::auth::{chosen_protocol, token_of};
use super::driver::Handle;
use super::gate::Gate;
use super::socket;
use crate::fact::Fact;

/// Maximum time for the head of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after an error of the listening socket, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

type Body = http_body_util::Full<Bytes>;

/// Accepts connections.
#[derive(Clone)]
pub(super) struct Http {
    core: Handle,
    gate: Gate,
    max_frame_bytes: usize,
    sockets: Arc<Semaphore>,
}

impl Http {
    pub(super) fn new(core: Handle, gate: Gate, settings: &Settings) -> Http {
        Http {
            core,
            gate,
            max_frame_bytes: settings.max_frame_bytes,
            sockets: Arc::new(Semaphore::new(settings.max_sockets)),
        }
    }

    /// Accepts connections without end. Beyond the maximum, new ones wait in the queue of the operating system.
    pub(super) async fn accept(&self, listener: TcpListener) {
        loop {
            let Ok(permit) = Arc::clone(&self.sockets).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, _)) => {
                    let http = self.clone();
                    tokio::spawn(async move { http.serve(stream, permit).await });
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    async fn serve(self, stream: TcpStream, permit: OwnedSemaphorePermit) {
        // Sync messages are small and awaited.
        let _ = stream.set_nodelay(true);
        let permit = Arc::new(permit);
        let service = service_fn(move |request| {
            let response = self.respond(request, &permit);
            async move { Ok::<_, Infallible>(response) }
        });
        let mut server = hyper::server::conn::http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
        // An error ends this connection alone.
        let _ = server.serve_connection(TokioIo::new(stream), service).with_upgrades().await;
    }

    fn respond(&self, request: Request<Incoming>, permit: &Arc<OwnedSemaphorePermit>) -> Response<Body> {
        if let Some(key) = upgrade_key(&request) {
            return self.upgrade(request, &key, permit);
        }
        match (request.method(), request.uri().path()) {
            (&Method::GET | &Method::HEAD, "/healthz") => text(StatusCode::OK, "alive\n"),
            (&Method::GET | &Method::HEAD, "/readyz") if self.core.is_ready() => {
                text(StatusCode::OK, "ready\n")
            }
            (&Method::GET | &Method::HEAD, "/readyz") => {
                text(StatusCode::SERVICE_UNAVAILABLE, "changes of clients are not stored now\n")
            }
            (&Method::GET | &Method::HEAD, "/") => {
                text(StatusCode::OK, "hashmill serve: connect with a client of automerge-repo\n")
            }
            _ => text(StatusCode::NOT_FOUND, "not found\n"),
        }
    }

    /// Lets a client in, or says why not.
    fn upgrade(
        &self,
        request: Request<Incoming>,
        key: &str,
        permit: &Arc<OwnedSemaphorePermit>,
    ) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let token = token_of(&parts);
        let admission = match self.gate.admit(token.as_ref().map(|token| token.as_str())) {
            Ok(admission) => admission,
            Err(error) => {
                self.core.report(Fact::ClientRefused { reason: error.to_string() });
                let mut response = text(StatusCode::UNAUTHORIZED, format!("{error}\n"));
                response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
                return response;
            }
        };
        let mut response = Response::new(Body::default());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        let protocol = chosen_protocol(&parts.headers).map(|name| (SEC_WEBSOCKET_PROTOCOL, name));
        let values = [(CONNECTION, "upgrade"), (UPGRADE, "websocket"), (SEC_WEBSOCKET_ACCEPT, key)];
        for (name, value) in values.into_iter().chain(protocol) {
            headers.insert(name, value.parse().expect("base 64 and parts of other headers are valid values"));
        }
        let upgrade = hyper::upgrade::on(&mut Request::from_parts(parts, body));
        let (core, mut gate) = (self.core.clone(), self.gate.clone());
        let (permit, max_frame_bytes) = (Arc::clone(permit), self.max_frame_bytes);
        tokio::spawn(async move {
            if let Ok(upgraded) = upgrade.await {
                let client = socket::Client { admission, token, gate: &mut gate };
                socket::serve(TokioIo::new(upgraded), &core, client, max_frame_bytes).await;
            }
            drop(permit);
        });
        response
    }
}

/// The answer to the key of a request for a WebSocket, on any path.
fn upgrade_key(request: &Request<Incoming>) -> Option<String> {
    let headers = request.headers();
    let is_upgrade = request.method() == Method::GET
        && request.version() >= Version::HTTP_11
        && has_word(headers, &CONNECTION, "upgrade")
        && has_word(headers, &UPGRADE, "websocket");
    let key = headers.get(SEC_WEBSOCKET_KEY).filter(|_| is_upgrade)?;
    Some(derive_accept_key(key.as_bytes()))
}

/// Is a word in a list of words, in any case?
fn has_word(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|there| there.trim().eq_ignore_ascii_case(word))
}

fn text(status: StatusCode, text: impl Into<Cow<'static, str>>) -> Response<Body> {
    let body = match text.into() {
        Cow::Borrowed(text) => Body::from(text),
        Cow::Owned(text) => Body::from(text),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}
