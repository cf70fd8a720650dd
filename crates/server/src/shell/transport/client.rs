//! Requests to other servers: by HTTPS, or by HTTP to this machine.
//!
//! Authorities are those that the system trusts, as an operator expects who has added one of an organisation to them, or those of a
//! file. A list inside the program would grow old with it.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::{Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;

use super::provider::provider;

/// Time after which an unused connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of unused connections.
const MAX_IDLE: usize = 8;

/// Address of a service that the server uses.
#[derive(Clone, PartialEq, Eq)]
pub struct ServiceUrl(Uri);

/// A text that is no address of a service.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("“{0}” is no URL with https://, or http:// to this machine alone")]
pub struct ServiceUrlError(String);

/// Authorities whose certificates other servers show.
#[derive(Clone, Default)]
pub enum Authorities {
    /// Those that the system trusts.
    #[default]
    System,
    /// Those in a text of PEM.
    Pem(Vec<u8>),
}

/// Reason why requests to other servers are not possible.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The processor cannot calculate what TLS needs.
    #[error("this processor cannot do TLS: use http:// to a proxy on this machine")]
    Unsupported,
    /// The text has no certificates that can be used.
    #[error("it contains no certificate that can be used (PEM, BEGIN CERTIFICATE)")]
    NoCertificate,
    /// The system has no certificates.
    #[error("this system has no trusted certificates: name a file of them with ca-file")]
    NoSystemCertificates,
}

/// Sends requests to other servers.
#[derive(Clone)]
pub(in crate::shell) struct HttpClient(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

/// Bounds of a request.
#[derive(Clone, Copy)]
pub(in crate::shell) struct RequestLimits {
    pub(in crate::shell) time: Duration,
    pub(in crate::shell) answer_bytes: usize,
}

impl ServiceUrl {
    pub(in crate::shell) fn uri(&self) -> Uri {
        self.0.clone()
    }
}

impl FromStr for ServiceUrl {
    type Err = ServiceUrlError;

    fn from_str(text: &str) -> Result<ServiceUrl, ServiceUrlError> {
        // Not the text itself, which may have a password.
        let wrong =
            || ServiceUrlError(text.split(['?', '@']).next().unwrap_or_default().escape_debug().to_string());
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let authority =
            uri.authority().filter(|authority| !authority.as_str().contains('@')).ok_or_else(wrong)?;
        let is_allowed = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => is_local(authority.host()),
            _ => false,
        };
        if is_allowed { Ok(ServiceUrl(uri)) } else { Err(wrong()) }
    }
}

/// Without the query, which may have secrets.
impl fmt::Display for ServiceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.0.scheme_str().unwrap_or_default();
        let authority = self.0.authority().map(|authority| authority.as_str()).unwrap_or_default();
        write!(f, "{scheme}://{authority}{}", self.0.path())
    }
}

impl fmt::Debug for ServiceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceUrl({self})")
    }
}

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System => "System",
            Self::Pem(_) => "Pem",
        })
    }
}

/// Is a host of a URL this machine?
fn is_local(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost")
        || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

impl Authorities {
    /// Checks that there are some.
    pub fn check(&self) -> Result<(), ClientError> {
        roots(self).map(drop)
    }
}

impl HttpClient {
    /// A client that trusts these authorities.
    pub(in crate::shell) fn new(authorities: &Authorities) -> Result<HttpClient, ClientError> {
        let provider = provider().ok_or(ClientError::Unsupported)?;
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|_| ClientError::Unsupported)?;
        let config = config.with_root_certificates(roots(authorities)?).with_no_client_auth();
        let connector = HttpsConnectorBuilder::new().with_tls_config(config).https_or_http();
        let mut client = Client::builder(TokioExecutor::new());
        client.timer(TokioTimer::new()).pool_timer(TokioTimer::new());
        client.pool_idle_timeout(IDLE_TIMEOUT).pool_max_idle_per_host(MAX_IDLE);
        Ok(HttpClient(client.build(connector.enable_http1().build())))
    }

    /// Sends a request. Returns status and body of the answer, or the reason why there is none, in one line.
    pub(in crate::shell) async fn request(
        &self,
        request: Request<Full<Bytes>>,
        limits: RequestLimits,
    ) -> Result<(StatusCode, Bytes), String> {
        let RequestLimits { time, answer_bytes } = limits;
        let exchange = async {
            let response = self.0.request(request).await.map_err(|error| describe(&error))?;
            let status = response.status();
            let body = Limited::new(response.into_body(), answer_bytes).collect().await;
            let body = body.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
                Some(_) => format!("the answer is longer than {answer_bytes} bytes"),
                None => describe(error.as_ref()),
            })?;
            Ok((status, body.to_bytes()))
        };
        let answer = timeout(time, exchange).await;
        answer.unwrap_or_else(|_| Err(format!("no answer in {} s", time.as_secs_f32())))
    }
}

fn roots(authorities: &Authorities) -> Result<Arc<RootCertStore>, ClientError> {
    let mut roots = RootCertStore::empty();
    match authorities {
        Authorities::System => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err(ClientError::NoSystemCertificates);
            }
        }
        Authorities::Pem(text) => {
            for certificate in CertificateDer::pem_slice_iter(text) {
                let certificate = certificate.map_err(|_| ClientError::NoCertificate)?;
                roots.add(certificate).map_err(|_| ClientError::NoCertificate)?;
            }
            if roots.is_empty() {
                return Err(ClientError::NoCertificate);
            }
        }
    }
    Ok(Arc::new(roots))
}

/// An error with its causes, in one line.
fn describe(error: &(dyn std::error::Error + 'static)) -> String {
    // Outer errors say only that something failed.
    let innermost = std::iter::successors(Some(error), |error| error.source()).last();
    innermost.unwrap_or(error).to_string().replace(['\r', '\n'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_reached_by_https_or_on_this_machine() {
        for text in [
            "https://id.example.org/keys",
            "https://192.0.2.1",
            "http://127.0.0.1:80/x?y",
            "http://localhost:8080/",
            "http://[::1]/",
        ] {
            assert!(text.parse::<ServiceUrl>().is_ok(), "{text}");
        }
        for text in [
            "http://id.example.org/keys",
            "http://192.0.2.1",
            "http://localhost.example.org",
            "ftp://127.0.0.1",
            "/keys",
            "https://ann:secret@id.example.org",
            "https://",
            "",
        ] {
            let error = text.parse::<ServiceUrl>().expect_err(text).to_string();
            assert!(error.ends_with("is no URL with https://, or http:// to this machine alone"), "{error}");
            assert!(!error.contains("@id"), "{error}");
        }
        let url: ServiceUrl = "https://id.example.org/keys?key=secret".parse().expect("a URL");
        assert_eq!(url.to_string(), "https://id.example.org/keys");
        assert!(!format!("{url:?}").contains("secret"));
    }

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn authorities_are_certificates() {
        let ca = include_bytes!("../../../tests/tls/ca.pem");
        assert!(HttpClient::new(&Authorities::Pem(ca.to_vec())).is_ok());
        for text in [&b""[..], b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", &ca[..200]]
        {
            let error = HttpClient::new(&Authorities::Pem(text.to_vec())).err();
            assert_eq!(error, Some(ClientError::NoCertificate));
        }
    }
}
