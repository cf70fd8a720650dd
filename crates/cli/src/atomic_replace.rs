//! Atomic replacement of files by commands: signals during writes, the lock against a second run, and error messages.

use crate::os::{self, SignalBlock};
use crate::output::display_path;
use anyhow::{Context, Result, anyhow, bail};
use hashmill_atomic_file::{Error, Expected, Finished, Refusal, Replacement, open_regular, resolve};
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Bytes written between two checks for signals.
const CHUNK_BYTES: usize = 1 << 20;

/// Writes a replacement and moves it into place. A signal that ends the program takes effect after the unfinished file is
/// removed.
pub(crate) fn write_and_finish(
    mut new: Replacement,
    bytes: &[u8],
    expected: Expected<'_>,
    signals: &mut SignalBlock,
) -> Result<Finished, Error> {
    for chunk in bytes.chunks(CHUNK_BYTES) {
        new.write_all(chunk)?;
        if let Some(signal) = signals.next_ending() {
            drop(new);
            os::deliver_signal(signal);
            return Err(Error::Io(ErrorKind::Interrupted.into()));
        }
    }
    new.finish(expected)
}

/// The message for an error of a replacement; `failed` says what did not happen.
pub(crate) fn error_message(error: Error, name: &str, failed: &str) -> anyhow::Error {
    match error {
        Error::Changed => anyhow!("{name}: another program changed it meanwhile; nothing was written"),
        Error::Owner => anyhow!("{failed}: {error}"),
        // The new file is in place: `failed` would not be true.
        Error::Unsynced(_) => anyhow!("{name}: {error}"),
        error => anyhow::Error::new(error).context(failed.to_owned()),
    }
}

/// A file that was read to be replaced, locked against other runs of this program.
pub(crate) struct LockedFile {
    /// The file that links lead to.
    path: PathBuf,
    /// Holds the lock.
    _file: File,
    pub(crate) bytes: Zeroizing<Vec<u8>>,
}

impl LockedFile {
    /// Locks and reads the file, up to a limit in bytes.
    pub(crate) fn open(path: &Path, max_bytes: u64) -> Result<LockedFile> {
        let name = || display_path(path).into_owned();
        let target = resolve(path).with_context(name)?;
        let mut file = match open_regular(&target) {
            Err(Error::Refused(Refusal::NotAFile)) => {
                bail!("{}: not a regular file, so it cannot be replaced", name())
            }
            done => done.with_context(name)?,
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("{}: another run has locked it; nothing was done", name())
            }
            // Some file systems have no locks. `replace` checks for changes in any case.
            Err(TryLockError::Error(_)) => {}
        }
        let mut bytes = Zeroizing::new(Vec::new());
        (&mut file).take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).with_context(name)?;
        if bytes.len() as u64 > max_bytes {
            bail!("{}: more than {max_bytes} bytes, the limit of this program", name());
        }
        Ok(LockedFile { path: target, _file: file, bytes })
    }

    /// Replaces its content, with the same owner and permissions, unless another program changed it since it was read.
    pub(crate) fn replace(self, bytes: &[u8]) -> Result<Finished> {
        let name = display_path(&self.path);
        let failed = format!("{name}: nothing was written");
        let mut signals = SignalBlock::ending().context("signals")?;
        Replacement::begin(&self.path)
            .and_then(|mut new| {
                // A server that reads the old file must be able to read the new one.
                new.require_owner();
                write_and_finish(new, bytes, Expected::Bytes(&self.bytes), &mut signals)
            })
            .map_err(|error| error_message(error, &name, &failed))
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
    fn changes_by_other_programs_are_preserved() {
        let (folder, path) = folder_with("one\n");
        let locked = LockedFile::open(&path, 100).expect("a file");
        fs::write(&path, "two\n").expect("a file");
        let error = locked.replace(b"three\n").expect_err("it was changed").to_string();
        assert!(error.ends_with("another program changed it meanwhile; nothing was written"), "{error}");
        assert_eq!(fs::read(&path).expect("a file"), b"two\n");
        assert_eq!(fs::read_dir(folder.path()).expect("a directory").count(), 1, "no temporary file is left");
    }

    #[test]
    fn second_run_and_long_files_are_refused() {
        let (_folder, path) = folder_with("one\n");
        let locked = LockedFile::open(&path, 4).expect("a file");
        let error = LockedFile::open(&path, 4).err().expect("it is locked").to_string();
        assert!(error.ends_with("another run has locked it; nothing was done"), "{error}");
        locked.replace(b"two\n").expect("the lock is free");
        assert_eq!(fs::read(&path).expect("a file"), b"two\n");
        let error = LockedFile::open(&path, 3).err().expect("too long").to_string();
        assert!(error.ends_with("more than 3 bytes, the limit of this program"), "{error}");
    }
}
