//! Output folder, on a disk or in a store. Files are written atomically.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use hashmill_atomic_file::{Error as ReplaceError, Expected, Replacement};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::hasher::Hasher;
use crate::location::{Location, Object, Store};
use crate::sources::remote::Remote;

/// File with the fingerprint of the run that owns the folder.
pub(crate) const FINGERPRINT_NAME: &str = "_hashmill.json";

/// Maximum bytes of that file.
const MAX_FINGERPRINT_LEN: u64 = 64 << 10;

/// Fingerprint of a run: another run writes another one.
#[derive(Serialize, Deserialize)]
pub(crate) struct RunFingerprint {
    pub(crate) format: u32,
    pub(crate) rows: u64,
    pub(crate) part_rows: u64,
    /// Whether digests are compared. A verification does not reuse digests of an earlier run.
    pub(crate) verify: bool,
    pub(crate) inventory: String,
}

/// Output folder.
pub(crate) enum OutputDir {
    Disk(PathBuf),
    Store(Remote),
}

impl OutputDir {
    /// Opens the folder at a path or at a URL of a store.
    pub(crate) fn open(hasher: &Hasher, path: &Path) -> Result<OutputDir, Error> {
        match Location::from_path(path).map_err(|failure| Error::Refused(failure.words))? {
            Location::File(path) => {
                fs::create_dir_all(&path).map_err(Error::io(&path))?;
                Ok(OutputDir::Disk(path))
            }
            Location::Object(Object { store: Store::Http(_), .. }) => {
                Err(Error::Refused("answers are not written to a web server".to_owned()))
            }
            Location::Object(object) => {
                hasher.remote(object).map(OutputDir::Store).map_err(|failure| Error::Refused(failure.words))
            }
        }
    }

    /// Path of a file, for messages.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        match self {
            OutputDir::Disk(folder) => folder.join(name),
            OutputDir::Store(remote) => remote.child(name).name(),
        }
    }

    /// Content of a file of at most `max_len` bytes; `None` if it does not exist.
    pub(crate) fn read(&self, name: &str, max_len: u64) -> Result<Option<Bytes>, Error> {
        match self {
            OutputDir::Disk(folder) => {
                let read = || {
                    let mut bytes = Vec::new();
                    let read = File::open(folder.join(name))?
                        .take(max_len.saturating_add(1))
                        .read_to_end(&mut bytes)?;
                    if read as u64 > max_len {
                        return Err(io::Error::other(format!("more than {max_len} bytes")));
                    }
                    Ok(bytes)
                };
                match read() {
                    Ok(bytes) => Ok(Some(bytes.into())),
                    Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                    Err(error) => Err(Error::Io(folder.join(name), error)),
                }
            }
            OutputDir::Store(remote) => remote.child(name).read(max_len),
        }
    }

    /// Fingerprint of the run that owns the folder, if there is one.
    pub(crate) fn fingerprint(&self) -> Result<Option<Bytes>, Error> {
        self.read(FINGERPRINT_NAME, MAX_FINGERPRINT_LEN)
    }

    /// Refuses a folder of incomplete results: verified as an inventory, it would seem complete.
    pub(crate) fn check_complete(&self, rows: u64) -> Result<(), Error> {
        let Some(whose) = self.fingerprint()? else { return Ok(()) };
        let path = self.path(FINGERPRINT_NAME);
        let wanted = match serde_json::from_slice(&whose) {
            Ok(RunFingerprint { rows, .. }) => rows,
            Err(error) => return Err(Error::Inventory(path, error.to_string())),
        };
        if rows == wanted {
            return Ok(());
        }
        let what = format!("{rows} of {wanted} rows are answered here: finish the run, or name the files");
        Err(Error::Inventory(path, what))
    }

    /// Writes a file; replaces an existing one.
    pub(crate) fn write(&self, name: &str, bytes: Vec<u8>) -> Result<(), Error> {
        match self {
            OutputDir::Disk(folder) => {
                let path = folder.join(name);
                hashmill_atomic_file::write(&path, &bytes)
                    .map(drop)
                    .map_err(|error| Error::io(&path)(error.into()))
            }
            OutputDir::Store(remote) => remote.child(name).write(bytes),
        }
    }

    /// Writes a file unless it exists.
    pub(crate) fn create(&self, name: &str, bytes: Vec<u8>) -> Result<(), Error> {
        match self {
            OutputDir::Disk(folder) => {
                let path = folder.join(name);
                create(&path, &bytes).map_err(|error| Error::io(&path)(error.into()))
            }
            OutputDir::Store(remote) => remote.child(name).create(bytes),
        }
    }
}

/// Creates the file atomically, unless it exists.
fn create(path: &Path, bytes: &[u8]) -> Result<(), ReplaceError> {
    if fs::exists(path)? {
        return Ok(());
    }
    let mut file = Replacement::begin(path)?;
    file.write_all(bytes)?;
    match file.finish(Expected::Absent) {
        Err(ReplaceError::Exists) => Ok(()),
        done => done.map(drop),
    }
}
