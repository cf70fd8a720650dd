//! HTTP: the upgrade to WebSocket, and requests for the health of the server.

use std::borrow::Cow;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{
    CONNECTION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, UPGRADE, WWW_AUTHENTICATE,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::Settings;
use super::admin;
use super::admin::{Admin, Ends, Sweeper};
use super::auth::{Gate, TokenError, chosen_protocol, token_of};
use super::blobs;
use super::blobs::{Blobs, Body};
use super::driver::Handle;
use super::socket;
use super::transport::{AddressPermit, Addresses, HandshakeError, Tls, TrustedProxies};
use crate::fact::Fact;

/// Maximum time for the head of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after an error of the listening socket, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections.
#[derive(Clone)]
pub(super) struct Http {
    core: Handle,
    gate: Gate,
    max_frame_bytes: usize,
    sockets: Arc<Semaphore>,
    addresses: Addresses,
    proxies: Arc<TrustedProxies>,
    has_metrics: bool,
    admin: Option<Arc<Admin>>,
    blobs: Option<Blobs>,
}

/// Maximum number of connections of the operator.
const MAX_OPERATOR_CONNECTIONS: usize = 16;

/// A connection: its addresses, and permits that it holds.
struct Connection {
    ends: Ends,
    /// It takes requests of the operator alone.
    is_of_operator: bool,
    /// It is from a proxy that names the client of each request.
    is_of_proxy: bool,
    _permit: OwnedSemaphorePermit,
    /// `None`: its address has too many connections, or it is from a proxy or the operator.
    address_permit: Option<AddressPermit>,
}

/// The client of a request.
struct Visitor {
    address: IpAddr,
    /// Held while its request or socket lasts, if it came by a proxy.
    _permit: Option<AddressPermit>,
}

impl Http {
    pub(super) fn new(
        core: Handle,
        gate: Gate,
        blobs: Option<Blobs>,
        settings: &Settings,
        sweeper: &Sweeper,
    ) -> Http {
        let admin =
            settings.admin_token.map(|token| Arc::new(Admin::new(token, core.clone(), settings, sweeper)));
        Http {
            admin,
            blobs,
            core,
            gate,
            max_frame_bytes: settings.max_frame_bytes,
            sockets: Arc::new(Semaphore::new(settings.max_sockets)),
            addresses: Addresses::new(settings.limits.max_connections_per_address),
            proxies: Arc::new(settings.trusted_proxies.clone()),
            has_metrics: settings.has_metrics,
        }
    }

    /// Accepts connections of clients without end. Beyond the maximum, new ones wait in the queue of the operating system.
    pub(super) async fn accept(&self, listener: TcpListener, tls: Option<Tls>) {
        self.accept_at(listener, &self.sockets, tls.as_ref(), false).await;
    }

    /// Accepts connections of the operator without end, at an address of this machine alone.
    pub(super) async fn accept_operator(&self, listener: TcpListener) {
        let connections = Arc::new(Semaphore::new(MAX_OPERATOR_CONNECTIONS));
        self.accept_at(listener, &connections, None, true).await;
    }

    async fn accept_at(
        &self,
        listener: TcpListener,
        connections: &Arc<Semaphore>,
        tls: Option<&Tls>,
        is_of_operator: bool,
    ) {
        loop {
            let Ok(permit) = Arc::clone(connections).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, address)) => {
                    let http = self.clone();
                    let Ok(local) = stream.local_addr() else { continue };
                    let is_of_proxy = !is_of_operator && self.proxies.contains(address.ip());
                    let is_counted = !is_of_operator && !is_of_proxy;
                    let address_permit = is_counted.then(|| self.addresses.acquire(address.ip())).flatten();
                    let connection = Connection {
                        ends: Ends { peer: address.ip(), local: local.ip() },
                        is_of_operator,
                        is_of_proxy,
                        _permit: permit,
                        address_permit,
                    };
                    // Sync messages are small and awaited.
                    let _ = stream.set_nodelay(true);
                    match tls.cloned() {
                        None => tokio::spawn(async move { http.serve(stream, connection).await }),
                        Some(tls) => {
                            tokio::spawn(async move { http.serve_tls(stream, &tls, connection).await })
                        }
                    };
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    async fn serve_tls(self, stream: TcpStream, tls: &Tls, connection: Connection) {
        match tls.accept(stream).await {
            Ok(stream) => self.serve(stream, connection).await,
            Err(error) => {
                let reason = match error {
                    HandshakeError::Refused(reason) => Some(reason),
                    HandshakeError::Other => None,
                };
                self.core.note_failed_handshake(connection.ends.peer.to_canonical(), reason);
            }
        }
    }

    async fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        connection: Connection,
    ) {
        let (http, connection) = (Arc::new(self), Arc::new(connection));
        let service = service_fn(move |request| {
            let (http, connection) = (Arc::clone(&http), Arc::clone(&connection));
            async move { Ok::<_, Infallible>(http.respond(request, &connection).await) }
        });
        let mut server = hyper::server::conn::http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
        // An error ends this connection alone.
        let _ = server.serve_connection(TokioIo::new(stream), service).with_upgrades().await;
    }

    async fn respond(&self, request: Request<Incoming>, connection: &Arc<Connection>) -> Response<Body> {
        let Some(visitor) = self.identify_visitor(&request, connection) else {
            let mut response =
                text(StatusCode::TOO_MANY_REQUESTS, "too many connections from this address\n");
            if !connection.is_of_proxy {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            return response;
        };
        if let Some(key) = upgrade_key(&request).filter(|_| !connection.is_of_operator) {
            return self.upgrade(request, &key, visitor, connection).await;
        }
        if let Some(admin) = self.admin.as_ref().filter(|_| admin::has_path(request.uri().path())) {
            let (status, answer) = admin
                .respond(&request.into_parts().0, Ends { peer: visitor.address, ..connection.ends })
                .await;
            let mut response = text(status, format!("{answer}\n"));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            return response;
        }
        let is_of_blobs = !connection.is_of_operator && blobs::has_path(request.uri().path());
        if let Some(blobs) = self.blobs.as_ref().filter(|_| is_of_blobs) {
            return blobs.respond(request, visitor.address).await;
        }
        match (request.method(), request.uri().path()) {
            (&Method::GET | &Method::HEAD, "/healthz") => text(StatusCode::OK, "alive\n"),
            (&Method::GET | &Method::HEAD, "/readyz") if !self.gate.has_keys() => {
                text(StatusCode::SERVICE_UNAVAILABLE, "the keys of token issuers are not fetched yet\n")
            }
            (&Method::GET | &Method::HEAD, "/readyz") if self.core.is_ready() => {
                text(StatusCode::OK, "ready\n")
            }
            (&Method::GET | &Method::HEAD, "/readyz") => {
                text(StatusCode::SERVICE_UNAVAILABLE, "changes of clients are not stored now\n")
            }
            (&Method::GET | &Method::HEAD, "/metrics") if self.has_metrics => match self.core.metrics().await
            {
                Some(mut metrics) => {
                    self.blobs.iter().for_each(|blobs| blobs.write_metrics(&mut metrics));
                    let mut response = text(StatusCode::OK, metrics);
                    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
                    response.headers_mut().insert(CONTENT_TYPE, kind);
                    response
                }
                None => text(StatusCode::SERVICE_UNAVAILABLE, "the server ends\n"),
            },
            (&Method::GET | &Method::HEAD, "/") => {
                text(StatusCode::OK, "hashmill serve: connect with a client of automerge-repo\n")
            }
            _ => text(StatusCode::NOT_FOUND, "not found\n"),
        }
    }

    /// The client of a request. `None`: its address has too many connections.
    fn identify_visitor(&self, request: &Request<Incoming>, connection: &Connection) -> Option<Visitor> {
        let peer = connection.ends.peer.to_canonical();
        if connection.is_of_operator {
            return Some(Visitor { address: peer, _permit: None });
        }
        if !connection.is_of_proxy {
            return connection.address_permit.is_some().then_some(Visitor { address: peer, _permit: None });
        }
        let address = self.proxies.client_address(peer, request.headers()).unwrap_or_else(|error| {
            self.core.report(Fact::ProxyUnclear { proxy: peer, reason: error.to_string() });
            peer
        });
        Some(Visitor { address, _permit: Some(self.addresses.acquire(address)?) })
    }

    /// Lets a client in, or says why not.
    async fn upgrade(
        &self,
        request: Request<Incoming>,
        key: &str,
        visitor: Visitor,
        connection: &Arc<Connection>,
    ) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let token = token_of(&parts);
        let admission = match self
            .gate
            .admit_new(token.as_ref().map(|token| token.as_str()), visitor.address, &self.core)
            .await
        {
            Ok(admission) => admission,
            Err(error) => {
                self.core.note_refused_client(visitor.address, error.to_string());
                let status = match error {
                    TokenError::KeysMissing | TokenError::ServiceFails => StatusCode::SERVICE_UNAVAILABLE,
                    _ => StatusCode::UNAUTHORIZED,
                };
                let mut response = text(status, format!("{error}\n"));
                response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
                return response;
            }
        };
        let mut response = text(StatusCode::SWITCHING_PROTOCOLS, "");
        let headers = response.headers_mut();
        let protocol = chosen_protocol(&parts.headers).map(|name| (SEC_WEBSOCKET_PROTOCOL, name));
        let values = [(CONNECTION, "upgrade"), (UPGRADE, "websocket"), (SEC_WEBSOCKET_ACCEPT, key)];
        for (name, value) in values.into_iter().chain(protocol) {
            headers.insert(name, value.parse().expect("base 64 and parts of other headers are valid values"));
        }
        let upgrade = hyper::upgrade::on(Request::from_parts(parts, body));
        let (core, mut gate) = (self.core.clone(), self.gate.clone());
        let (connection, max_frame_bytes) = (Arc::clone(connection), self.max_frame_bytes);
        tokio::spawn(async move {
            if let Ok(upgraded) = upgrade.await {
                let client = socket::Client { admission, token, gate: &mut gate };
                socket::serve(TokioIo::new(upgraded), &core, client, max_frame_bytes).await;
            }
            drop((connection, visitor));
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
        Cow::Borrowed(text) => Full::from(text),
        Cow::Owned(text) => Full::from(text),
    };
    let mut response = Response::new(Body::Left(body));
    *response.status_mut() = status;
    response
}
