//! TLS for WebSockets: trusted certificates, the handshake, and errors of untrusted servers.
//!
//! rustls implements the protocol and checks certificates. Its cryptography provider is graviola: of the providers that need no C
//! compiler, the one with formally verified arithmetic that is past its alpha versions. It supports two architectures, with
//! instructions that CPUs since about 2015 have.

#[cfg(not(all(feature = "tls", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(super) use disabled::{Secure, Trust};
#[cfg(all(feature = "tls", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) use enabled::{Secure, Trust};

#[cfg(all(feature = "tls", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod enabled {
    use super::super::file;
    use super::super::socket_error::{SocketError, is_closed, is_timeout};
    use crate::flags::UsageError;
    use anyhow::{Context as _, Result, bail};
    use rustls::crypto::{CryptoProvider, KeyProvider};
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
    use rustls::sign::SigningKey;
    use rustls::{CertificateError, ClientConfig, ClientConnection, Error, RootCertStore, StreamOwned};
    use std::io::{self, ErrorKind};
    use std::net::TcpStream;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    /// An encrypted connection.
    pub(in super::super) type Secure = StreamOwned<ClientConnection, TcpStream>;

    /// Trusted certificates.
    pub(in super::super) struct Trust(Arc<ClientConfig>);

    impl Trust {
        /// The certificates in a file, or those that the system trusts.
        pub(in super::super) fn new(ca: Option<&Path>) -> Result<Trust> {
            if !graviola::util::is_cpu_supported() {
                bail!(UsageError(
                    "this CPU lacks instructions that TLS needs; only ws:// is possible".to_owned()
                ));
            }
            let mut roots = RootCertStore::empty();
            match ca {
                Some(path) => {
                    let name = || file::name(path);
                    for certificate in CertificateDer::pem_slice_iter(&file::read(path)?) {
                        let certificate = certificate.map_err(|error| anyhow::anyhow!("{error}"));
                        roots.add(certificate.with_context(name)?).with_context(name)?;
                    }
                    if roots.is_empty() {
                        bail!("{}: it contains no certificate (PEM, BEGIN CERTIFICATE)", name());
                    }
                }
                None => {
                    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                    if roots.is_empty() {
                        bail!("this system has no trusted certificates: name some with --ca");
                    }
                }
            }
            let provider =
                CryptoProvider { key_provider: &NoClientKeys, ..rustls_graviola::default_provider() };
            let config = ClientConfig::builder_with_provider(Arc::new(provider));
            let config = config.with_safe_default_protocol_versions().context("TLS")?;
            let mut config = config.with_root_certificates(roots).with_no_client_auth();
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
            Ok(Trust(Arc::new(config)))
        }

        /// Performs the TLS handshake, which authenticates the server.
        pub(in super::super) fn handshake(
            &self,
            mut stream: TcpStream,
            host: &str,
            timeout: Duration,
        ) -> Result<Secure, SocketError> {
            let name = ServerName::try_from(host.to_owned())
                .map_err(|_| SocketError::Unsuitable("its name cannot occur in a certificate".to_owned()))?;
            let connection = ClientConnection::new(Arc::clone(&self.0), name);
            let mut connection =
                connection.map_err(|error| SocketError::Unsuitable(format!("TLS: {error}")))?;
            let end = Instant::now() + timeout;
            while connection.is_handshaking() {
                match connection.complete_io(&mut stream) {
                    // The connection was closed during the handshake.
                    Ok((0, 0)) => return Err(SocketError::closed()),
                    Ok(_) => {}
                    Err(error) if is_timeout(&error) || error.kind() == ErrorKind::Interrupted => {
                        if Instant::now() > end {
                            return Err(SocketError::silent(timeout));
                        }
                    }
                    Err(error) => return Err(handshake_error(&error)),
                }
            }
            Ok(StreamOwned::new(connection, stream))
        }
    }

    /// A client without a certificate has no private key to load: the code that parses keys and signs stays out of the program.
    #[derive(Debug)]
    struct NoClientKeys;

    impl KeyProvider for NoClientKeys {
        fn load_private_key(&self, _: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
            Err(Error::General("this client has no private keys".to_owned()))
        }
    }

    fn handshake_error(error: &io::Error) -> SocketError {
        let tls = error.get_ref().and_then(|error| error.downcast_ref::<Error>());
        let message = match tls {
            Some(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
                "its certificate has no trusted issuer (see --ca)".to_owned()
            }
            Some(Error::InvalidCertificate(error)) => format!("its certificate is refused: {error}"),
            Some(error) => format!("not a TLS server, or a faulty one: {error}"),
            None if is_closed(error) => return SocketError::closed(),
            None => return SocketError::ConnectionLost(format!("the connection broke: {error}")),
        };
        SocketError::Unsuitable(message)
    }
}

#[cfg(not(all(feature = "tls", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod disabled {
    use super::super::socket_error::SocketError;
    use crate::flags::UsageError;
    use anyhow::{Result, bail};
    use std::io::{self, Read, Write};
    use std::net::TcpStream;
    use std::path::Path;
    use std::time::Duration;

    /// TLS is not available.
    pub(in super::super) enum Trust {}

    /// TLS is not available.
    pub(in super::super) enum Secure {}

    impl Trust {
        pub(in super::super) fn new(_: Option<&Path>) -> Result<Trust> {
            let reason = if cfg!(feature = "tls") {
                "TLS is supported on x86-64 and aarch64 only; only ws:// is possible"
            } else {
                "this program was built without TLS (its feature 'tls'); only ws:// is possible"
            };
            bail!(UsageError(reason.to_owned()));
        }

        pub(in super::super) fn handshake(
            &self,
            _: TcpStream,
            _: &str,
            _: Duration,
        ) -> Result<Secure, SocketError> {
            match *self {}
        }
    }

    impl Read for Secure {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            match *self {}
        }
    }

    impl Write for Secure {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            match *self {}
        }

        fn flush(&mut self) -> io::Result<()> {
            match *self {}
        }
    }
}
