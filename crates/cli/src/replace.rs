//! Replacing files from commands: signals between pieces, the lock against a second run, and the messages.

use crate::os::{self, Hold};
use crate::out::shown;
use anyhow::{Context, Result, anyhow, bail};
use hashmill_atomic_file::{Error, Expected, Finished, Refusal, Replacement, open_regular, resolve};
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Bytes that are written between two looks for signals.
const PIECE: usize = 1 << 20;

/// Writes a replacement and puts it in its place. A signal that would end the program does so once the unfinished file is gone.
pub(crate) fn put(
    mut new: Replacement,
    bytes: &[u8],
    expected: Expected<'_>,
    hold: &mut Hold,
) -> Result<Finished, Error> {
    for piece in bytes.chunks(PIECE) {
        new.write_all(piece)?;
        if let Some(signal) = hold.ends() {
            drop(new);
            os::give_in(signal);
            return Err(Error::Io(ErrorKind::Interrupted.into()));
        }
    }
    new.finish(expected)
}

/// The error of a replacement as a message; `failed` says what did not happen.
pub(crate) fn explain(error: Error, name: &str, failed: &str) -> anyhow::Error {
    match error {
        Error::Changed => anyhow!("{name}: somebody else changed it meanwhile; nothing was written"),
        Error::Owner => anyhow!("{failed}: {error}"),
        // The new file is in its place: `failed` would not be true.
        Error::Unsynced(_) => anyhow!("{name}: {error}"),
        error => anyhow::Error::new(error).context(failed.to_owned()),
    }
}

/// A file that is read to be replaced, and locked against other runs of this program.
pub(crate) struct Held {
    /// The file that a link leads to.
    path: PathBuf,
    /// Holds the lock.
    _file: File,
    pub(crate) bytes: Zeroizing<Vec<u8>>,
}

impl Held {
    /// Reads all of it, up to a limit in bytes.
    pub(crate) fn open(path: &Path, most: u64) -> Result<Held> {
        let name = || shown(path).into_owned();
        let target = resolve(path).with_context(name)?;
        let mut file = match open_regular(&target) {
            Err(Error::Refused(Refusal::NotAFile)) => bail!("{}: no file that could be replaced", name()),
            done => done.with_context(name)?,
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("{}: another run is at work on it; nothing was done", name())
            }
            // Some file systems have no locks; that nothing was changed is checked in any case.
            Err(TryLockError::Error(_)) => {}
        }
        let mut bytes = Zeroizing::new(Vec::new());
        (&mut file).take(most.saturating_add(1)).read_to_end(&mut bytes).with_context(name)?;
        if bytes.len() as u64 > most {
            bail!("{}: more than {most} bytes, which is the limit of this program", name());
        }
        Ok(Held { path: target, _file: file, bytes })
    }

    /// Replaces its bytes, with the same owner and rights, unless another program changed it since it was read.
    pub(crate) fn replace(self, bytes: &[u8]) -> Result<Finished> {
        let name = shown(&self.path);
        let failed = format!("{name}: nothing was written");
        let mut hold = Hold::ending().context("signals")?;
        Replacement::begin(&self.path)
            .and_then(|mut new| {
                // A server that reads the old file must be able to read the new one.
                new.require_owner();
                put(new, bytes, Expected::Bytes(&self.bytes), &mut hold)
            })
            .map_err(|error| explain(error, &name, &failed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn folder_with(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("db");
        fs::write(&path, text).expect("a file");
        (folder, path)
    }

    #[test]
    fn what_somebody_else_wrote_meanwhile_stays() {
        let (folder, path) = folder_with("one\n");
        let held = Held::open(&path, 100).expect("a file");
        fs::write(&path, "two\n").expect("a file");
        let error = held.replace(b"three\n").expect_err("it was changed").to_string();
        assert!(error.ends_with("somebody else changed it meanwhile; nothing was written"), "{error}");
        assert_eq!(fs::read(&path).expect("a file"), b"two\n");
        assert_eq!(fs::read_dir(folder.path()).expect("a directory").count(), 1, "nothing is left behind");
    }

    #[test]
    fn one_at_a_time_and_within_a_limit() {
        let (_folder, path) = folder_with("one\n");
        let held = Held::open(&path, 4).expect("a file");
        let error = Held::open(&path, 4).err().expect("it is held").to_string();
        assert!(error.ends_with("another run is at work on it; nothing was done"), "{error}");
        held.replace(b"two\n").expect("nobody else was there");
        assert_eq!(fs::read(&path).expect("a file"), b"two\n");
        let error = Held::open(&path, 3).err().expect("too long").to_string();
        assert!(error.ends_with("more than 3 bytes, which is the limit of this program"), "{error}");
    }
}
