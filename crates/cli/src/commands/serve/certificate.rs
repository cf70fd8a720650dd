//! Certificate of the server, from the files that the settings name. They may change while the server runs.

use crate::flags::UsageError;
use crate::os;
use crate::output::display_path;
use anyhow::{Context as _, Result, bail};
use hashmill_atomic_file::open_regular;
use hashmill_server::shell::{Certificate, CertificateError};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Maximum size of a file.
const MAX_BYTES: u64 = 256 << 10;

type FileDigest = [u8; 32];

/// Files of a certificate and its key.
#[derive(Debug)]
pub(super) struct CertificateSource {
    chain: PathBuf,
    key: PathBuf,
    /// Digest of the files that were used last.
    used: Option<FileDigest>,
    unusable: Option<Unusable>,
}

/// Contents of the files that cannot be used.
#[derive(Debug)]
struct Unusable {
    digest: FileDigest,
    is_reported: bool,
}

impl CertificateSource {
    /// The files of the settings `tls-cert` and `tls-key`. `None`: the server speaks no TLS.
    pub(super) fn new(chain: Option<PathBuf>, key: Option<PathBuf>) -> Result<Option<CertificateSource>> {
        // The names in a written settings file are empty.
        let [chain, key] = [chain, key].map(|path| path.filter(|path| !path.as_os_str().is_empty()));
        match (chain, key) {
            (Some(chain), Some(key)) => {
                Ok(Some(CertificateSource { chain, key, used: None, unusable: None }))
            }
            (None, None) => Ok(None),
            (Some(_), None) => bail!(UsageError(
                "tls-cert needs tls-key: name the file of the certificate's private key".to_owned()
            )),
            (None, Some(_)) => {
                bail!(UsageError("tls-key needs tls-cert: name the file of the certificate".to_owned()))
            }
        }
    }

    /// Reads the files.
    pub(super) fn read(&mut self) -> Result<Certificate> {
        let files = self.read_files();
        self.used = Some(digest(&files));
        self.parse(&files)
    }

    /// Reads the files again, if they have changed. Files that cannot be used are an error once, and when they have stayed the same
    /// since the last look: the two are replaced one after the other.
    pub(super) fn read_changed(&mut self) -> Option<Result<Certificate>> {
        let files = self.read_files();
        let digest = digest(&files);
        if self.used == Some(digest) {
            self.unusable = None;
            return None;
        }
        let is_known = self.unusable.as_ref().is_some_and(|unusable| unusable.digest == digest);
        if is_known && self.unusable.as_ref().is_some_and(|unusable| unusable.is_reported) {
            return None;
        }
        match self.parse(&files) {
            Ok(certificate) => {
                (self.used, self.unusable) = (Some(digest), None);
                Some(Ok(certificate))
            }
            Err(error) => {
                self.unusable = Some(Unusable { digest, is_reported: is_known });
                is_known.then_some(Err(error))
            }
        }
    }

    /// The file of the private key.
    pub(super) fn key_path(&self) -> &Path {
        &self.key
    }

    /// A warning, if other users of the machine may read the key.
    pub(super) fn warning(&self) -> Option<String> {
        let metadata = fs::metadata(&self.key).ok()?;
        os::is_open_to_others(&metadata).then(|| {
            let name = display_path(&self.key);
            format!("{name}: every user of this machine may read the private key: chmod 600 it")
        })
    }

    fn read_files(&self) -> [Result<Zeroizing<Vec<u8>>>; 2] {
        [&self.chain, &self.key].map(|path| read_file(path))
    }

    fn parse(&self, [chain, key]: &[Result<Zeroizing<Vec<u8>>>; 2]) -> Result<Certificate> {
        let [chain, key] =
            [chain, key].map(|file| file.as_ref().map_err(|error| anyhow::anyhow!("{error:#}")));
        let (chain, key) = (chain?, key?);
        Certificate::from_pem(chain, key).map_err(|error| match error {
            CertificateError::Chain(reason) => self.wrong(&self.chain, &reason),
            CertificateError::Unsupported => self.wrong(&self.chain, &error.to_string()),
            CertificateError::Mismatch => {
                let reason = format!("it is not the key of the certificate in {}", display_path(&self.chain));
                self.wrong(&self.key, &format!("{reason}: name the two files that were made together"))
            }
            _ => self.wrong(&self.key, &error.to_string()),
        })
    }

    fn wrong(&self, path: &Path, reason: &str) -> anyhow::Error {
        UsageError(format!("{}: {reason}", display_path(path))).into()
    }
}

fn read_file(path: &Path) -> Result<Zeroizing<Vec<u8>>> {
    let read = || -> Result<Zeroizing<Vec<u8>>> {
        // Of this size from the start: a buffer that grows would leave copies of a key.
        let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_BYTES as usize));
        open_regular(path)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().with_context(|| display_path(path).into_owned())
}

fn digest(files: &[Result<Zeroizing<Vec<u8>>>; 2]) -> FileDigest {
    let mut hash = Sha256::new();
    for file in files {
        let bytes: &[u8] = file.as_ref().map_or(b"unreadable", |bytes| bytes);
        hash.update(bytes.len().to_be_bytes());
        hash.update(bytes);
    }
    hash.finalize().into()
}
