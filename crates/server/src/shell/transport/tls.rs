//! TLS of accepted connections: the handshake, its time, and clients that speak none.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{AlertDescription, Error, ServerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::certificate::{Certificate, CertificateError};
use super::handshakes::Handshakes;
use super::provider::provider;

/// Maximum time for a handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of handshakes in flight.
const MAX_HANDSHAKES: usize = 512;
/// Time and bytes for reading what a client without TLS still sends: closed before that, it could not read the answer.
const LINGER_TIMEOUT: Duration = Duration::from_secs(1);
const LINGER_BYTES: u64 = 64 << 10;
/// Answer to a client that speaks HTTP without TLS.
const PLAIN_ANSWER: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n\
    content-length: 54\r\nconnection: close\r\n\r\nthis port speaks TLS: connect with https:// or wss://\n";

/// TLS for accepted connections.
#[derive(Clone)]
pub(in crate::shell) struct Tls {
    acceptor: TlsAcceptor,
    handshakes: Handshakes,
}

/// Reason why a handshake failed.
#[derive(Debug)]
pub(in crate::shell) enum HandshakeError {
    /// The client refuses the certificate of the server.
    Refused(String),
    /// The client speaks no TLS, or is gone, or too slow.
    Other,
}

/// The certificate that is valid now.
#[derive(Debug)]
struct Resolver(watch::Receiver<Certificate>);

impl ResolvesServerCert for Resolver {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.borrow().key))
    }
}

impl Tls {
    /// TLS with the latest of these certificates.
    pub(in crate::shell) fn new(certificates: watch::Receiver<Certificate>) -> Result<Tls, CertificateError> {
        let provider = provider().ok_or(CertificateError::Unsupported)?;
        let config = ServerConfig::builder_with_provider(provider);
        let config =
            config.with_safe_default_protocol_versions().map_err(|_| CertificateError::Unsupported)?;
        let mut config = config.with_no_client_auth().with_cert_resolver(Arc::new(Resolver(certificates)));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Ok(Tls { acceptor, handshakes: Handshakes::new(MAX_HANDSHAKES) })
    }

    /// Performs a handshake.
    pub(in crate::shell) async fn accept(
        &self,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, HandshakeError> {
        let mut handshake = self.handshakes.start();
        let accepted = async {
            let mut first = [0];
            let has_first = stream.peek(&mut first).await.is_ok_and(|len| len > 0);
            // The first letter of a method of HTTP. Handshakes begin with 22.
            if has_first && first[0].is_ascii_uppercase() {
                let _ = timeout(LINGER_TIMEOUT, answer_plain_http(stream)).await;
                return Err(HandshakeError::Other);
            }
            self.acceptor.accept(stream).await.map_err(|error| classify(&error))
        };
        tokio::select! {
            accepted = timeout(HANDSHAKE_TIMEOUT, accepted) => accepted.unwrap_or(Err(HandshakeError::Other)),
            () = handshake.given_up() => Err(HandshakeError::Other),
        }
    }
}

fn classify(error: &io::Error) -> HandshakeError {
    let tls = error.get_ref().and_then(|error| error.downcast_ref::<Error>());
    match tls {
        Some(Error::AlertReceived(
            alert @ (AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown),
        )) => HandshakeError::Refused(format!("{alert:?}")),
        _ => HandshakeError::Other,
    }
}

async fn answer_plain_http(mut stream: TcpStream) -> io::Result<()> {
    stream.write_all(PLAIN_ANSWER).await?;
    stream.shutdown().await?;
    let mut rest = stream.take(LINGER_BYTES);
    tokio::io::copy(&mut rest, &mut tokio::io::sink()).await.map(drop)
}
