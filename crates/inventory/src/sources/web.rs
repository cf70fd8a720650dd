//! Clients of web servers. A redirect does not tell a server the URL of another (no `Referer`).

use std::collections::HashSet;
use std::error::Error as StdError;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use http::Uri;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions, Error, Result};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect;
use reqwest::tls::Certificate;
use reqwest::{NoProxy, Proxy};
use url::Url;

use crate::location::RawUrlPath;
use crate::sources::allow_list::{Addresses, NOT_PUBLIC, Policy, Refused, is_public};

/// Maximum number of redirects.
const REDIRECTS: usize = 10;

/// Restricts the requests of one client to the servers and addresses that rows may name.
#[derive(Debug)]
pub(crate) struct Guard {
    policy: Policy,
    /// Host names whose addresses must be public. Other names are those of proxies, which rows do not name.
    public_only: Mutex<HashSet<String>>,
}

impl Guard {
    /// Guard for requests to the server of `root`.
    pub(crate) fn new(policy: Policy, root: &str) -> Result<Arc<Guard>> {
        let guard = Guard { policy, public_only: Mutex::default() };
        guard.approve(&Url::parse(root).map_err(other)?).map_err(other)?;
        Ok(Arc::new(guard))
    }

    fn approve(&self, url: &Url) -> std::result::Result<(), Refused> {
        if self.policy.check_url(url)? == Addresses::Public
            && let Some(name) = url.host_str()
        {
            let mut names = self.public_only.lock().unwrap_or_else(PoisonError::into_inner);
            names.insert(normal(name));
        }
        Ok(())
    }

    fn redirects(self: Arc<Guard>) -> redirect::Policy {
        redirect::Policy::custom(move |attempt| {
            if attempt.previous().len() > REDIRECTS {
                return attempt.error(Refused("it is sent on too often"));
            }
            match self.approve(attempt.url()) {
                Ok(()) => attempt.follow(),
                Err(refused) => attempt.error(refused),
            }
        })
    }
}

/// Normal form of a host name.
fn normal(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// Resolves names as the system does, without the addresses that the guard forbids. Connections use exactly these addresses.
struct Guarded(Arc<Guard>);

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().to_owned();
        let is_public_only =
            self.0.public_only.lock().unwrap_or_else(PoisonError::into_inner).contains(&normal(&name));
        Box::pin(async move {
            let lookup =
                move || (name.as_str(), 0).to_socket_addrs().map(Iterator::collect::<Vec<SocketAddr>>);
            let mut addresses = tokio::task::spawn_blocking(lookup).await??;
            if is_public_only {
                addresses.retain(|address| is_public(address.ip()));
                if addresses.is_empty() {
                    return Err(NOT_PUBLIC.into());
                }
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// The guard's refusal, if the request failed for it.
pub(crate) fn refused<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Refused> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(refused) = error.downcast_ref() {
            return Some(refused);
        }
        next = error.source();
    }
    None
}

/// Connector that creates [`VerbatimUrlClient`].
#[derive(Debug)]
pub(crate) struct WebConnector(Option<Arc<Guard>>);

impl WebConnector {
    pub(crate) fn new(guard: Option<Arc<Guard>>) -> WebConnector {
        WebConnector(guard)
    }
}

impl HttpConnector for WebConnector {
    fn connect(&self, options: &ClientOptions) -> Result<HttpClient> {
        Ok(HttpClient::new(VerbatimUrlClient(HttpClient::new(client(options, self.0.as_ref())?))))
    }
}

/// The client that `object_store` creates from these options, except for one thing that has no option: on a redirect it sends no
/// `Referer`, which would be the whole URL. Options that do not matter for reading (content types) or have no visible effect (the
/// order of addresses) are left out.
fn client(options: &ClientOptions, guard: Option<&Arc<Guard>>) -> Result<reqwest::Client> {
    use ClientConfigKey as Key;
    let text = |key| options.get_config_value(&key);
    let is_on = |key| {
        text(key).is_some_and(|value| {
            !matches!(&*value.to_ascii_lowercase(), "false" | "0" | "no" | "off" | "n" | "f")
        })
    };
    let duration = |key| -> Result<Option<Duration>> {
        text(key).map(|value| humantime::parse_duration(&value).map_err(other)).transpose()
    };
    let agent = text(Key::UserAgent).unwrap_or_else(|| "hashmill".to_owned());
    let mut client = reqwest::Client::builder()
        .referer(false)
        .user_agent(agent)
        .https_only(!is_on(Key::AllowHttp))
        .danger_accept_invalid_certs(is_on(Key::AllowInvalidCertificates))
        .http2_keep_alive_while_idle(is_on(Key::Http2KeepAliveWhileIdle))
        .http2_keep_alive_interval(duration(Key::Http2KeepAliveInterval)?);
    if let Some(guard) = guard {
        client =
            client.redirect(Arc::clone(guard).redirects()).dns_resolver(Arc::new(Guarded(Arc::clone(guard))));
    }
    if is_on(Key::NoSystemCertificates) {
        client = client.tls_certs_only([]);
    }
    if let Some(timeout) = duration(Key::Timeout)? {
        client = client.timeout(timeout);
    }
    if let Some(timeout) = duration(Key::ConnectTimeout)? {
        client = client.connect_timeout(timeout);
    }
    if let Some(timeout) = duration(Key::ReadTimeout)? {
        client = client.read_timeout(timeout);
    }
    if let Some(timeout) = duration(Key::PoolIdleTimeout)? {
        client = client.pool_idle_timeout(timeout);
    }
    if let Some(most) = text(Key::PoolMaxIdlePerHost) {
        client = client.pool_max_idle_per_host(most.parse().map_err(other)?);
    }
    if let Some(timeout) = duration(Key::Http2KeepAliveTimeout)? {
        client = client.http2_keep_alive_timeout(timeout);
    }
    if let Some(size) = text(Key::Http2MaxFrameSize) {
        client = client.http2_max_frame_size(Some(size.parse().map_err(other)?));
    }
    if is_on(Key::Http1Only) {
        client = client.http1_only();
    }
    if is_on(Key::Http2Only) {
        client = client.http2_prior_knowledge();
    }
    if let Some(url) = text(Key::ProxyUrl) {
        let excludes = text(Key::ProxyExcludes).and_then(|hosts| NoProxy::from_string(&hosts));
        client = client.proxy(Proxy::all(url).map_err(other)?.no_proxy(excludes));
        if let Some(certificate) = text(Key::ProxyCaCertificate) {
            let certificate = Certificate::from_pem(certificate.as_bytes()).map_err(other)?;
            client = client.tls_certs_merge([certificate]);
        }
    }
    client.build().map_err(other)
}

fn other(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Generic { store: "HTTP client", source: Box::new(error) }
}

/// Requests the exact URL of a row from a web server. The client above normalises paths and drops queries, so errors cannot contain
/// them either.
#[derive(Debug)]
struct VerbatimUrlClient(HttpClient);

#[async_trait]
impl HttpService for VerbatimUrlClient {
    async fn call(&self, mut request: HttpRequest) -> std::result::Result<HttpResponse, HttpError> {
        if let Some(RawUrlPath(target)) = request.extensions_mut().remove::<RawUrlPath>() {
            let mut parts = std::mem::take(request.uri_mut()).into_parts();
            parts.path_and_query = Some(target);
            *request.uri_mut() =
                Uri::from_parts(parts).map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        }
        // A refusal must not be retried.
        let response = self.0.execute(request).await.map_err(|error| match refused(&error) {
            Some(refused) => HttpError::new(HttpErrorKind::Unknown, refused.clone()),
            None => error,
        })?;
        if response.status().is_success() {
            return Ok(response);
        }
        // Error bodies may repeat the URL with its signature: that of the row, or of a redirect.
        let (parts, _) = response.into_parts();
        Ok(HttpResponse::from_parts(parts, String::new().into()))
    }
}
