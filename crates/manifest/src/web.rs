//! Clients of web servers, which may be strangers to each other: none hears what a URL of another says.

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

use crate::allow_list::{Addresses, NOT_PUBLIC, Policy, Refused, is_public};
use crate::place::Exact;

/// How often a server may send on.
const REDIRECTS: usize = 10;

/// Holds the requests of one client to the servers and addresses that rows may name.
#[derive(Debug)]
pub(crate) struct Guard {
    policy: Policy,
    /// Names of servers whose addresses must be public. Other names are those of proxies, which no row names.
    public_only: Mutex<HashSet<String>>,
}

impl Guard {
    /// For the server of `root`.
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

/// One spelling of a name that may be resolved.
fn normal(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// Resolves names as the system does, and drops the addresses that the guard forbids. The addresses that are connected to are these.
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

/// Why a guard refused a request, if that is why it failed.
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

/// Makes [`Exactly`].
#[derive(Debug)]
pub(crate) struct Web(Option<Arc<Guard>>);

impl Web {
    pub(crate) fn new(guard: Option<Arc<Guard>>) -> Web {
        Web(guard)
    }
}

impl HttpConnector for Web {
    fn connect(&self, options: &ClientOptions) -> Result<HttpClient> {
        Ok(HttpClient::new(Exactly(HttpClient::new(client(options, self.0.as_ref())?))))
    }
}

/// The client that `object_store` makes by these options, but for one thing that it cannot be told: where it is sent on, it names no
/// `Referer`, which would be the whole URL. What is not of reading (types of content) or not to be seen (the order of addresses) is
/// left out.
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

/// Asks web servers for the very URL that a row names. The client above writes paths in its own way and knows no queries: nor can
/// it put one into what it says of an error.
#[derive(Debug)]
struct Exactly(HttpClient);

#[async_trait]
impl HttpService for Exactly {
    async fn call(&self, mut request: HttpRequest) -> std::result::Result<HttpResponse, HttpError> {
        if let Some(Exact(target)) = request.extensions_mut().remove::<Exact>() {
            let mut parts = std::mem::take(request.uri_mut()).into_parts();
            parts.path_and_query = Some(target);
            *request.uri_mut() =
                Uri::from_parts(parts).map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        }
        // What is refused once is refused the next time.
        let answer = self.0.execute(request).await.map_err(|error| match refused(&error) {
            Some(refused) => HttpError::new(HttpErrorKind::Unknown, refused.clone()),
            None => error,
        })?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        // Servers repeat what they were asked by, with the signature in it: that of the row, or that of a place it was sent on to.
        let (parts, _) = answer.into_parts();
        Ok(HttpResponse::from_parts(parts, String::new().into()))
    }
}
