//! HTTP: the upgrade to WebSocket, and requests for the health of the server.

use std::borrow::Cow;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{
    CONNECTION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, UPGRADE, USER_AGENT, WWW_AUTHENTICATE,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::Settings;
use super::admin;
use super::admin::{Admin, AdminRequest, Ends, ResponseBody, whole_body};
use super::auth::{Gate, TokenError, chosen_protocol, token_of};
use super::blobs;
use super::blobs::Blobs;
use super::driver::{Handle, Origin};
use super::socket;
use super::transport::{AddressPermit, Addresses, HandshakeError, Tls, TrustedProxies};
use crate::fact::Fact;

/// Maximum time for the head of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of connections of a listener for requests of the operator alone.
const MAX_ADMIN_CONNECTIONS: usize = 64;
/// Pause after an error of the listening socket, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Maximum length of the name of a client's program, as its request has it.
const MAX_AGENT_CHARS: usize = 200;

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
    /// Requests of the operator that this listener takes.
    admin: Option<Arc<Admin>>,
    blobs: Option<Blobs>,
    /// It takes no others.
    is_admin_only: bool,
}

/// A connection: its addresses, and permits that it holds.
struct Connection {
    ends: Ends,
    /// It is from a proxy that names the client of each request.
    is_of_proxy: bool,
    _permit: OwnedSemaphorePermit,
    /// `None`: its address has too many connections, or it is from a proxy or the operator.
    address_permit: Option<AddressPermit>,
    /// Ends the connection.
    abort: Arc<Notify>,
}

/// The client of a request.
struct Visitor {
    address: IpAddr,
    /// Held while its request or socket lasts, if it came by a proxy.
    _permit: Option<AddressPermit>,
}

impl Http {
    pub(super) fn new(core: Handle, gate: Gate, blobs: Option<Blobs>, settings: &Settings) -> Http {
        Http {
            admin: None,
            is_admin_only: false,
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

    /// The same listener with requests of the operator.
    pub(super) fn with_admin(self, admin: Arc<Admin>) -> Http {
        Http { admin: Some(admin), ..self }
    }

    /// Another listener for requests of the operator alone, which the connections of clients do not fill.
    pub(super) fn admin_only(&self, admin: Arc<Admin>) -> Http {
        Http {
            admin: Some(admin),
            is_admin_only: true,
            sockets: Arc::new(Semaphore::new(MAX_ADMIN_CONNECTIONS)),
            ..self.clone()
        }
    }

    /// Accepts connections without end. Beyond the maximum, new ones wait in the queue of the operating system.
    pub(super) async fn accept(&self, listener: TcpListener, tls: Option<Tls>) {
        loop {
            let Ok(permit) = Arc::clone(&self.sockets).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, address)) => {
                    let http = self.clone();
                    let Ok(local) = stream.local_addr() else { continue };
                    let is_of_proxy = !self.is_admin_only && self.proxies.contains(address.ip());
                    let is_counted = !self.is_admin_only && !is_of_proxy;
                    let address_permit = is_counted.then(|| self.addresses.acquire(address.ip())).flatten();
                    let connection = Connection {
                        ends: Ends { peer: address.ip(), local: local.ip() },
                        is_of_proxy,
                        _permit: permit,
                        address_permit,
                        abort: Arc::default(),
                    };
                    // Sync messages are small and awaited.
                    let _ = stream.set_nodelay(true);
                    match tls.clone() {
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
        let abort = Arc::clone(&connection.abort);
        let service = service_fn(move |request| {
            let (http, connection) = (Arc::clone(&http), Arc::clone(&connection));
            async move { Ok::<_, Infallible>(http.respond(request, &connection).await) }
        });
        let mut server = hyper::server::conn::http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
        tokio::select! {
            // An error ends this connection alone.
            _ = server.serve_connection(TokioIo::new(stream), service).with_upgrades() => {}
            () = abort.notified() => {}
        }
    }

    async fn respond(
        &self,
        request: Request<Incoming>,
        connection: &Arc<Connection>,
    ) -> Response<ResponseBody> {
        let Some(visitor) = self.identify_visitor(&request, connection) else {
            let mut response =
                text(StatusCode::TOO_MANY_REQUESTS, "too many connections from this address\n");
            if !connection.is_of_proxy {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            return response;
        };
        if let Some(key) = upgrade_key(&request).filter(|_| !self.is_admin_only) {
            return self.upgrade(request, &key, visitor, connection).await;
        }
        if let Some(admin) = self.admin.as_ref().filter(|_| admin::has_path(request.uri().path())) {
            let has_body = !request.body().is_end_stream();
            let (head, _) = request.into_parts();
            let ends = Ends { peer: visitor.address, ..connection.ends };
            let abort = Arc::clone(&connection.abort);
            let mut response = admin.respond(AdminRequest { head: &head, has_body, ends, abort }).await;
            if has_body {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            return response;
        }
        let is_of_blobs = !self.is_admin_only && blobs::has_path(request.uri().path());
        if let Some(blobs) = self.blobs.as_ref().filter(|_| is_of_blobs) {
            return blobs.respond(request, visitor.address).await.map(|body| body.boxed_unsync());
        }
        match (request.method(), request.uri().path()) {
            _ if self.is_admin_only => text(StatusCode::NOT_FOUND, "not found: see /admin/\n"),
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
        if self.is_admin_only {
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
    ) -> Response<ResponseBody> {
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
        let origin = Origin { address: visitor.address, agent: agent_of(&parts.headers) };
        let upgrade = hyper::upgrade::on(Request::from_parts(parts, body));
        let (core, mut gate) = (self.core.clone(), self.gate.clone());
        let (connection, max_frame_bytes) = (Arc::clone(connection), self.max_frame_bytes);
        tokio::spawn(async move {
            if let Ok(upgraded) = upgrade.await {
                let client = socket::Client { admission, token, origin, gate: &mut gate };
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

/// The name of a client's program, or the start of a long one.
fn agent_of(headers: &HeaderMap) -> Option<String> {
    let agent = headers.get(USER_AGENT)?.to_str().ok()?;
    Some(agent.chars().take(MAX_AGENT_CHARS).collect())
}

fn text(status: StatusCode, text: impl Into<Cow<'static, str>>) -> Response<ResponseBody> {
    let body = match text.into() {
        Cow::Borrowed(text) => whole_body(text),
        Cow::Owned(text) => whole_body(text),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}
