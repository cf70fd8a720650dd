//! Files replaced whole or not at all, and never over what somebody else wrote meanwhile.

use crate::os::{self, Hold};
use crate::out::{hex, shown};
use anyhow::{Context, Result, bail};
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// So many bytes are written between two looks at the signals that came.
const PIECE: usize = 1 << 20;

/// A file beside the one that is to be written, gone if that does not work out.
pub(crate) struct Beside(PathBuf);

impl Beside {
    /// Writes it, to be like what it replaces. A signal that would end the program does so when nothing is left of it.
    pub(crate) fn write(
        target: &Path,
        bytes: &[u8],
        like: Option<&Metadata>,
        hold: &mut Hold,
    ) -> io::Result<Beside> {
        let mut random = [0; 8];
        getrandom::fill(&mut random)?;
        // Short, as the name of the other may be as long as names can be.
        let path = target.with_file_name(format!(".hashmill-{}.tmp", hex(&random)));
        // What only some may read is not to be read by others meanwhile.
        let mut file = os::create_new(&path, like.is_some())?;
        let beside = Beside(path);
        for piece in bytes.chunks(PIECE) {
            file.write_all(piece)?;
            if let Some(signal) = hold.ends() {
                drop(beside);
                os::give_in(signal);
                return Err(ErrorKind::Interrupted.into());
            }
        }
        if let Some(there) = like {
            os::make_like(&file, there)?;
        }
        file.sync_all()?;
        Ok(beside)
    }

    /// Where it is.
    #[cfg(feature = "doc")]
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Puts it in the place of the target.
    pub(crate) fn rename(self, target: &Path) -> io::Result<()> {
        fs::rename(&self.0, target)?;
        // That it has another name now is written in the directory. Not every system lets directories be opened, nor has
        // every file system a way to wait for them; a medium that fails has not kept the name.
        let folder = match target.parent() {
            Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
            Some(folder) => folder,
            None => return Ok(()),
        };
        match File::open(folder).map(|folder| folder.sync_all()) {
            Ok(Err(error)) if ![ErrorKind::InvalidInput, ErrorKind::Unsupported].contains(&error.kind()) => {
                Err(error)
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // Where it was renamed it is not there any more.
        let _ = fs::remove_file(&self.0);
    }
}

/// Whether a file still says what was read there. It is not kept a second time for that.
pub(crate) fn holds(target: &Path, there: &[u8]) -> io::Result<bool> {
    let mut file = File::open(target)?;
    let mut piece = vec![0; PIECE];
    let mut left = there;
    loop {
        let count = match file.read(&mut piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            done => done?,
        };
        match left.split_at_checked(count) {
            _ if count == 0 => return Ok(left.is_empty()),
            Some((now, rest)) if *now == piece[..count] => left = rest,
            _ => return Ok(false),
        }
    }
}

/// A file that is read to be replaced, and held against others who do the same with this program.
pub(crate) struct Held {
    /// What a link leads to.
    path: PathBuf,
    /// The lock goes with it.
    file: File,
    pub(crate) bytes: Zeroizing<Vec<u8>>,
}

impl Held {
    /// Reads all of it, up to a limit in bytes.
    pub(crate) fn open(path: &Path, most: u64) -> Result<Held> {
        let name = || shown(path).into_owned();
        let target = fs::canonicalize(path).with_context(name)?;
        let mut file = File::open(&target).with_context(name)?;
        if !file.metadata().with_context(name)?.is_file() {
            bail!("{}: no file that could be replaced", name());
        }
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
        Ok(Held { path: target, file, bytes })
    }

    /// Puts other bytes in its place, with the same owner and rights, unless somebody else changed it since it was read.
    pub(crate) fn replace(self, bytes: &[u8]) -> Result<()> {
        let name = || shown(&self.path).into_owned();
        let metadata = self.file.metadata().with_context(name)?;
        let mut hold = Hold::ending().context("signals")?;
        let failed = || format!("{}: nothing was written", name());
        let beside = Beside::write(&self.path, bytes, Some(&metadata), &mut hold).with_context(failed)?;
        // Whoever could read the old file, as a server does, must be able to read the new one.
        if !os::same_owner(&fs::metadata(&beside.0).with_context(name)?, &metadata) {
            bail!("{}: it belongs to somebody else, which only the administrator can keep so", failed());
        }
        if !holds(&self.path, &self.bytes).with_context(name)? {
            bail!("{}: somebody else changed it meanwhile; nothing was written", name());
        }
        beside.rename(&self.path).with_context(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
