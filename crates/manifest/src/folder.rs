//! The folder of answers, on a disk or in a store: files that are whole and in their place, or not there.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use hashmill_atomic_file::{Error as ReplaceError, Expected, Replacement};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::hasher::Hasher;
use crate::place::{Object, Place, Store};
use crate::remote::Remote;

/// Says whose answers a folder holds.
pub(crate) const WHOSE: &str = "_hashmill.json";

/// The most bytes of it.
const WHOSE_LEN: u64 = 64 << 10;

/// What is written there: another run writes something else.
#[derive(Serialize, Deserialize)]
pub(crate) struct Whose {
    pub(crate) format: u32,
    pub(crate) rows: u64,
    pub(crate) part_rows: u64,
    /// Whether digests are compared: who verifies wants nothing that was read before anybody asked.
    pub(crate) verify: bool,
    pub(crate) inventory: String,
}

/// Where answers are written.
pub(crate) enum Folder {
    Disk(PathBuf),
    Store(Remote),
}

impl Folder {
    /// That of a path, or of a URL of a store.
    pub(crate) fn at(hasher: &Hasher, path: &Path) -> Result<Folder, Error> {
        match Place::of_folder(path).map_err(|failure| Error::Refused(failure.words))? {
            Place::File(path) => {
                fs::create_dir_all(&path).map_err(Error::io(&path))?;
                Ok(Folder::Disk(path))
            }
            Place::Object(Object { store: Store::Http(_), .. }) => {
                Err(Error::Refused("answers are not written to a web server".to_owned()))
            }
            Place::Object(object) => {
                hasher.remote(object).map(Folder::Store).map_err(|failure| Error::Refused(failure.words))
            }
        }
    }

    /// What a file of it is called, for people.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        match self {
            Folder::Disk(folder) => folder.join(name),
            Folder::Store(remote) => remote.child(name).name(),
        }
    }

    /// All of a file, which must have at most `most` bytes; `None` if there is none.
    pub(crate) fn read(&self, name: &str, most: u64) -> Result<Option<Bytes>, Error> {
        match self {
            Folder::Disk(folder) => {
                let read = || {
                    let mut bytes = Vec::new();
                    let read = File::open(folder.join(name))?
                        .take(most.saturating_add(1))
                        .read_to_end(&mut bytes)?;
                    if read as u64 > most {
                        return Err(io::Error::other(format!("more than {most} bytes")));
                    }
                    Ok(bytes)
                };
                match read() {
                    Ok(bytes) => Ok(Some(bytes.into())),
                    Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                    Err(error) => Err(Error::Io(folder.join(name), error)),
                }
            }
            Folder::Store(remote) => remote.child(name).read(most),
        }
    }

    /// What says whose answers the folder holds, if that is said.
    pub(crate) fn claim(&self) -> Result<Option<Bytes>, Error> {
        self.read(WHOSE, WHOSE_LEN)
    }

    /// Refuses answers of which some are missing: who takes them for an inventory would find all of it right.
    pub(crate) fn holds_all(&self, rows: u64) -> Result<(), Error> {
        let Some(whose) = self.claim()? else { return Ok(()) };
        let path = self.path(WHOSE);
        let wanted = match serde_json::from_slice(&whose) {
            Ok(Whose { rows, .. }) => rows,
            Err(error) => return Err(Error::Inventory(path, error.to_string())),
        };
        if rows == wanted {
            return Ok(());
        }
        let what = format!("{rows} of {wanted} rows are answered here: finish the run, or name the files");
        Err(Error::Inventory(path, what))
    }

    /// Writes a file, in the place of one that may be there.
    pub(crate) fn write(&self, name: &str, bytes: Vec<u8>) -> Result<(), Error> {
        match self {
            Folder::Disk(folder) => {
                let path = folder.join(name);
                hashmill_atomic_file::write(&path, &bytes)
                    .map(drop)
                    .map_err(|error| Error::io(&path)(error.into()))
            }
            Folder::Store(remote) => remote.child(name).write(bytes),
        }
    }

    /// Writes a file if there is none.
    pub(crate) fn create(&self, name: &str, bytes: Vec<u8>) -> Result<(), Error> {
        match self {
            Folder::Disk(folder) => {
                let path = folder.join(name);
                create(&path, &bytes).map_err(|error| Error::io(&path)(error.into()))
            }
            Folder::Store(remote) => remote.child(name).create(bytes),
        }
    }
}

/// Creates the file whole, unless there is one.
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
