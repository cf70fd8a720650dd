//! Certificate of the server with its key, and the end of its validity.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use webpki::{EndEntityCert, KeyUsage};

use super::provider::provider;
use crate::fact::Fact;
use crate::shell::driver::Handle;

/// The operator is told this time before the end of a certificate, and each day from then on.
const NOTICE_S: u64 = 14 * 86_400;
const NOTICE_INTERVAL: Duration = Duration::from_secs(86_400);
/// Interval of looks at the clock, which may be set meanwhile.
const CLOCK_INTERVAL: Duration = Duration::from_secs(3600);

/// A certificate, those of its issuers, and its key.
#[derive(Clone)]
pub struct Certificate {
    pub(super) key: Arc<CertifiedKey>,
    /// The certificate is valid until this time, in seconds since 1970.
    expires_at: u64,
}

/// Reason why a certificate cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// The certificates cannot be used.
    #[error("{0}")]
    Chain(String),
    /// The key cannot be used.
    #[error("{0}")]
    Key(String),
    /// The key is another one than that of the certificate.
    #[error("the key is not that of the certificate: use the two files that were made together")]
    Mismatch,
    /// The processor cannot calculate what TLS needs.
    #[error("this processor cannot do TLS: put a proxy with TLS before the server")]
    Unsupported,
}

impl Certificate {
    /// A certificate in PEM, followed by those of its issuers, and its key in PEM.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Certificate, CertificateError> {
        let provider = provider().ok_or(CertificateError::Unsupported)?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
        let chain =
            chain.map_err(|error| CertificateError::Chain(format!("damaged PEM: {}", describe(&error))))?;
        let Some(own) = chain.first() else {
            let reason = "it contains no certificate (PEM, BEGIN CERTIFICATE)".to_owned();
            return Err(CertificateError::Chain(reason));
        };
        let expires_at = expiry(own)?;
        let parsed = parse_key(key)?;
        let signer = provider.key_provider.load_private_key(parsed).map_err(|_| {
            CertificateError::Key(
                "damaged, or a key of a kind that is not used: make one for ECDSA P-256, RSA or Ed25519"
                    .to_owned(),
            )
        })?;
        let key = CertifiedKey::new(chain, signer);
        match key.keys_match() {
            Ok(()) => Ok(Certificate { key: Arc::new(key), expires_at }),
            Err(Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => Err(CertificateError::Mismatch),
            Err(error) => Err(CertificateError::Chain(format!("it cannot be used: {error}"))),
        }
    }

    /// The certificate is valid until this time, in seconds since 1970.
    pub fn expires_at(&self) -> u64 {
        self.expires_at
    }
}

/// Without the key.
impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

fn parse_key(text: &[u8]) -> Result<PrivateKeyDer<'static>, CertificateError> {
    let wrong = |reason: String| CertificateError::Key(reason);
    let is_encrypted = |text: &[u8]| text.windows(9).any(|word| word == b"ENCRYPTED");
    match PrivateKeyDer::from_pem_slice(text) {
        Ok(key) => Ok(key),
        Err(_) if is_encrypted(text) => Err(wrong(
            "the key is encrypted with a password: write it without one (openssl pkey -in KEY -out NEW)"
                .to_owned(),
        )),
        Err(pem::Error::NoItemsFound) => {
            Err(wrong("it contains no private key (PEM, BEGIN PRIVATE KEY)".to_owned()))
        }
        Err(error) => Err(wrong(format!("damaged PEM: {}", describe(&error)))),
    }
}

/// An error of PEM, without the text in which it is: that may be a part of a key.
fn describe(error: &pem::Error) -> &'static str {
    match error {
        pem::Error::MissingSectionEnd { .. } => "a block does not end",
        pem::Error::IllegalSectionStart { .. } => "a line BEGIN is not complete",
        pem::Error::Base64Decode(_) => "a block is no base 64",
        _ => "a block cannot be read",
    }
}

/// The end of a certificate's validity: a check in the farthest future names it.
fn expiry(certificate: &CertificateDer<'_>) -> Result<u64, CertificateError> {
    let unreadable =
        |error: webpki::Error| CertificateError::Chain(format!("the certificate cannot be read: {error}"));
    let parsed = EndEntityCert::try_from(certificate).map_err(unreadable)?;
    let never = UnixTime::since_unix_epoch(Duration::from_secs(u64::MAX));
    let checked = parsed.verify_for_usage(&[], &[], &[], never, KeyUsage::server_auth(), None, None);
    match checked.map(drop) {
        Err(webpki::Error::CertExpired { not_after, .. }) => Ok(not_after.as_secs()),
        Err(error) => Err(unreadable(error)),
        Ok(()) => Err(unreadable(webpki::Error::UnknownIssuer)),
    }
}

/// Tells the operator in time that a certificate ends. Never returns.
pub(in crate::shell) async fn watch_expiry(
    mut certificates: watch::Receiver<Certificate>,
    unix_time: fn() -> u64,
    core: Handle,
) {
    let mut last_notice = None;
    loop {
        let expires_at = certificates.borrow_and_update().expires_at;
        core.counts().certificate_expires_at.store(expires_at, Ordering::Relaxed);
        let since_notice = last_notice.map(|at: Instant| at.elapsed());
        if let Some(fact) = notice(expires_at, unix_time(), since_notice) {
            last_notice = Some(Instant::now());
            core.report(fact);
        }
        tokio::select! {
            changed = certificates.changed() => match changed {
                Ok(()) => last_notice = None,
                // The server ends.
                Err(_) => std::future::pending().await,
            },
            () = sleep(CLOCK_INTERVAL) => {}
        }
    }
}

/// A notice about the end of a certificate, if it is due.
fn notice(expires_at: u64, now: u64, since_notice: Option<Duration>) -> Option<Fact> {
    let is_near = expires_at <= now.saturating_add(NOTICE_S);
    let is_due = since_notice.is_none_or(|since| since >= NOTICE_INTERVAL);
    (is_near && is_due).then(|| Fact::CertificateEnds { seconds_left: expires_at.saturating_sub(now) })
}

#[cfg(test)]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod tests {
    use super::*;

    const SERVER: &[u8] = include_bytes!("../../../tests/tls/server.pem");
    const EXPIRED: &[u8] = include_bytes!("../../../tests/tls/expired.pem");
    const KEY: &[u8] = include_bytes!("../../../tests/tls/server.key.pem");
    const OTHER_KEY: &[u8] = include_bytes!("../../../tests/tls/other.key.pem");

    #[test]
    fn the_end_of_validity_is_read() {
        let expires_at = |chain| Certificate::from_pem(chain, KEY).expect("a pair").expires_at();
        // 2125, and 2001.
        assert_eq!([SERVER, EXPIRED].map(expires_at), [4_906_457_717, 978_307_200]);
        let shown = format!("{:?}", Certificate::from_pem(SERVER, KEY));
        assert!(shown.contains("expires_at") && shown.len() < 60, "{shown}");
    }

    #[test]
    fn unusable_pairs_are_named() {
        let cut = |text: &[u8], len: usize| text[..text.len() - len].to_vec();
        let text = |text: &str| text.as_bytes().to_vec();
        let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
        let empty_key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        let no_certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for (chain, key, expected) in [
            (text(""), KEY.to_vec(), "it contains no certificate"),
            (KEY.to_vec(), KEY.to_vec(), "it contains no certificate"),
            (cut(SERVER, 30), KEY.to_vec(), "damaged PEM: a block does not end"),
            (text(no_certificate), KEY.to_vec(), "the certificate cannot be read"),
            (SERVER.to_vec(), text(""), "it contains no private key"),
            (SERVER.to_vec(), SERVER.to_vec(), "it contains no private key"),
            (SERVER.to_vec(), cut(KEY, 30), "damaged PEM: a block does not end"),
            (SERVER.to_vec(), text(encrypted), "the key is encrypted with a password"),
            (SERVER.to_vec(), text(empty_key), "damaged, or a key of a kind that is not used"),
            (SERVER.to_vec(), OTHER_KEY.to_vec(), "the key is not that of the certificate"),
        ] {
            let error = Certificate::from_pem(&chain, &key).expect_err(expected).to_string();
            assert!(error.starts_with(expected) && error.lines().count() == 1, "{expected}: {error}");
        }
    }

    #[test]
    fn the_end_is_reported_two_weeks_before_and_each_day() {
        let day = 86_400;
        let notice_at = |left_days: u64, since| notice(100 * day, (100 - left_days) * day, since);
        let ends = |days: u64| Some(Fact::CertificateEnds { seconds_left: days * day });
        assert_eq!(notice_at(15, None), None);
        assert_eq!(notice_at(14, None), ends(14));
        assert_eq!(notice_at(14, Some(Duration::from_secs(day - 1))), None);
        assert_eq!(notice_at(13, Some(Duration::from_secs(day))), ends(13));
        assert_eq!(notice(day, 100 * day, None), ends(0));
        assert_eq!(notice(u64::MAX, u64::MAX, None), ends(0));
    }
}
