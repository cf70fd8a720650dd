//! A file that is written beside the one whose place it takes, so that whoever reads sees the old one or the new one.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A file on its way to its place. Dropped before it is there, it is gone, and what was in its place stays.
#[derive(Debug)]
pub struct Replacement {
    target: PathBuf,
    path: PathBuf,
    file: Option<File>,
}

impl Replacement {
    /// Begins one for `target`. Where that is a link, what it leads to will be replaced.
    ///
    /// # Errors
    /// What the system reports; among others, that `target` is a directory.
    pub fn begin(target: &Path) -> io::Result<Replacement> {
        Replacement::called(target, &format!(".{}.tmp", std::process::id()))
    }

    /// The same under a name that ends so, for whoever knows that nobody else writes one.
    pub(crate) fn called(target: &Path, ending: &str) -> io::Result<Replacement> {
        let target = match fs::canonicalize(target) {
            Ok(target) => target,
            Err(error) if error.kind() == ErrorKind::NotFound => target.to_owned(),
            Err(error) => return Err(error),
        };
        let there = fs::metadata(&target).ok();
        if there.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(ErrorKind::IsADirectory.into());
        }
        let path = beside(&target, ending)?;
        // One of this name is left from a process that ended before it was done.
        let _ = fs::remove_file(&path);
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        if let Some(there) = there {
            file.set_permissions(there.permissions())?;
        }
        Ok(Replacement { target, path, file: Some(file) })
    }

    /// The file as it is now.
    pub fn metadata(&self) -> io::Result<fs::Metadata> {
        self.file().metadata()
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// What the system reports. Then everything is as it was.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(file) = self.file.take() {
            file.sync_all()?;
        }
        fs::rename(&self.path, &self.target)
    }

    fn file(&self) -> &File {
        self.file.as_ref().expect("it is taken at the end")
    }
}

/// A name in the same directory: that of `target` with a dot in front and `ending` behind.
pub(crate) fn beside(target: &Path, ending: &str) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or(ErrorKind::InvalidInput)?;
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(ending);
    Ok(target.with_file_name(beside))
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // Once it is in its place, nothing is there any more.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_file_stands_until_the_new_one_is_whole() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("list");
        let write = |text: &str| {
            let mut file = Replacement::begin(&path).expect("a directory to write to");
            file.write_all(text.as_bytes()).expect("room");
            file
        };
        write("old").finish().expect("a new file");
        let new = write("new");
        assert_eq!(fs::read(&path).expect("a file"), b"old");
        drop(new);
        assert_eq!(fs::read(&path).expect("a file"), b"old");
        write("new").finish().expect("the same place");
        assert_eq!(fs::read(&path).expect("a file"), b"new");
        assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 1);
        assert!(Replacement::begin(dir.path()).is_err());
        assert!(Replacement::begin(&dir.path().join("none/list")).is_err());
    }
}
