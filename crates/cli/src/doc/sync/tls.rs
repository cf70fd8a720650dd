//! TLS under a WebSocket: whom to trust, and what is wrong with a server that is not trusted.
//!
//! rustls speaks the protocol and checks certificates. What it calculates with is graviola: of the providers that need no C
//! compiler the one whose arithmetic has been proved and which is no alpha version. It knows two architectures, and on them
//! asks for instructions that processors since about 2015 have.

#[cfg(all(feature = "tls", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) use with::{Secure, Trust};
#[cfg(not(all(feature = "tls", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(super) use without::{Secure, Trust};

#[cfg(all(feature = "tls", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod with {
    use super::super::file;
    use super::super::socket::{Broken, is_end, is_late};
    use crate::flags::Misuse;
    use anyhow::{Context as _, Result, bail};
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, ServerName};
    use rustls::{CertificateError, ClientConfig, ClientConnection, Error, RootCertStore, StreamOwned};
    use std::io::{self, ErrorKind};
    use std::net::TcpStream;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    /// A connection that nobody else reads.
    pub(in super::super) type Secure = StreamOwned<ClientConnection, TcpStream>;

    /// Whose certificates count.
    pub(in super::super) struct Trust(Arc<ClientConfig>);

    impl Trust {
        /// Those in a file, or those that the system trusts.
        pub(in super::super) fn of(ca: Option<&Path>) -> Result<Trust> {
            if !graviola::util::is_cpu_supported() {
                bail!(Misuse(
                    "this processor lacks instructions that TLS is made of here; ws:// works".to_owned()
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
                        bail!("{}: there is no certificate in it (PEM, BEGIN CERTIFICATE)", name());
                    }
                }
                None => {
                    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                    if roots.is_empty() {
                        bail!("this system has no certificates that it trusts: name some with --ca");
                    }
                }
            }
            let config = ClientConfig::builder_with_provider(Arc::new(rustls_graviola::default_provider()));
            let config = config.with_safe_default_protocol_versions().context("TLS")?;
            let mut config = config.with_root_certificates(roots).with_no_client_auth();
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
            Ok(Trust(Arc::new(config)))
        }

        /// Agrees with a server on keys, once it has shown that it is who it says.
        pub(in super::super) fn agree(
            &self,
            mut stream: TcpStream,
            host: &str,
            timeout: Duration,
        ) -> Result<Secure, Broken> {
            let name = ServerName::try_from(host.to_owned())
                .map_err(|_| Broken::Foreign("its name is none that a certificate can have".to_owned()))?;
            let connection = ClientConnection::new(Arc::clone(&self.0), name);
            let mut connection = connection.map_err(|error| Broken::Foreign(format!("TLS: {error}")))?;
            let end = Instant::now() + timeout;
            while connection.is_handshaking() {
                match connection.complete_io(&mut stream) {
                    // It ended before anything was agreed on.
                    Ok((0, 0)) => return Err(Broken::closed()),
                    Ok(_) => {}
                    Err(error) if is_late(&error) || error.kind() == ErrorKind::Interrupted => {
                        if Instant::now() > end {
                            return Err(Broken::silent(timeout));
                        }
                    }
                    Err(error) => return Err(why(&error)),
                }
            }
            Ok(StreamOwned::new(connection, stream))
        }
    }

    fn why(error: &io::Error) -> Broken {
        let tls = error.get_ref().and_then(|error| error.downcast_ref::<Error>());
        let words = match tls {
            Some(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
                "its certificate is signed by nobody who is trusted here (see --ca)".to_owned()
            }
            Some(Error::InvalidCertificate(error)) => format!("its certificate is refused: {error}"),
            Some(error) => format!("is no server with TLS, or a broken one: {error}"),
            None if is_end(error) => return Broken::closed(),
            None => return Broken::Gone(format!("the connection broke: {error}")),
        };
        Broken::Foreign(words)
    }
}

#[cfg(not(all(feature = "tls", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod without {
    use super::super::socket::Broken;
    use crate::flags::Misuse;
    use anyhow::{Result, bail};
    use std::io::{self, Read, Write};
    use std::net::TcpStream;
    use std::path::Path;
    use std::time::Duration;

    /// There is none.
    pub(in super::super) enum Trust {}

    /// There is none.
    pub(in super::super) enum Secure {}

    impl Trust {
        pub(in super::super) fn of(_: Option<&Path>) -> Result<Trust> {
            let why = if cfg!(feature = "tls") {
                "TLS is made here for x86-64 and aarch64 alone; only ws:// is possible"
            } else {
                "this program was built without TLS (its feature 'tls'); only ws:// is possible"
            };
            bail!(Misuse(why.to_owned()));
        }

        pub(in super::super) fn agree(&self, _: TcpStream, _: &str, _: Duration) -> Result<Secure, Broken> {
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
