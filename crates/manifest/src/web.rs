//! Clients of web servers, which may be strangers to each other: none hears what a URL of another says.

use std::time::Duration;

use async_trait::async_trait;
use http::Uri;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions, Error, Result};
use reqwest::tls::Certificate;
use reqwest::{NoProxy, Proxy};

use crate::place::Exact;

/// Makes [`Exactly`].
#[derive(Debug)]
pub(crate) struct Web;

impl HttpConnector for Web {
    fn connect(&self, options: &ClientOptions) -> Result<HttpClient> {
        Ok(HttpClient::new(Exactly(HttpClient::new(client(options)?))))
    }
}

/// The client that `object_store` makes by these options, but for one thing that it cannot be told: where it is sent on, it names no
/// `Referer`, which would be the whole URL. What is not of reading (types of content) or not to be seen (the order of addresses) is
/// left out.
fn client(options: &ClientOptions) -> Result<reqwest::Client> {
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
        let answer = self.0.execute(request).await?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        // Servers repeat what they were asked by, with the signature in it: that of the row, or that of a place it was sent on to.
        let (parts, _) = answer.into_parts();
        Ok(HttpResponse::from_parts(parts, String::new().into()))
    }
}
