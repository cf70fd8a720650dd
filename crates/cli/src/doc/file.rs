//! Documents in files: read whole, replaced whole, and never over what somebody else wrote meanwhile.

use crate::os::{self, Output};
use crate::out::{Unread, shown};
use anyhow::{Context, Result, bail};
use hashmill_doc::Document;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Whether a path stands for a standard stream.
pub(super) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A path for a message.
pub(super) fn name(path: &Path) -> String {
    if is_stream(path) { "standard input".to_owned() } else { shown(path).into_owned() }
}

/// All bytes of a file, or of standard input.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let done = if is_stream(path) {
        os::stdin().and_then(|stdin| stdin.lock().read_to_end(&mut bytes))
    } else {
        File::open(path).and_then(|mut file| file.read_to_end(&mut bytes))
    };
    done.with_context(|| name(path))?;
    Ok(bytes)
}

/// The document that the bytes of a file are.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Document> {
    Document::load(bytes).with_context(|| name(path))
}

/// The document in a file.
pub(super) fn load(path: &Path) -> Result<Document> {
    parse(path, &read(path)?)
}

/// A file that is read to be replaced.
pub(super) struct Edited {
    path: PathBuf,
    /// What was read; nothing where no file was.
    bytes: Option<Vec<u8>>,
    /// When that was written, as far as the file system knows.
    stamp: Option<Stamp>,
}

/// What changes with a file, as a rule.
type Stamp = (u64, SystemTime);

impl Edited {
    pub(super) fn open(path: &Path) -> Result<(Edited, Document)> {
        // What a link leads to is replaced, not the link.
        let target = if is_stream(path) {
            path.to_owned()
        } else {
            fs::canonicalize(path).with_context(|| name(path))?
        };
        let stamp = stamp(&target);
        let bytes = read(&target)?;
        let doc = parse(path, &bytes)?;
        Ok((Edited { path: target, bytes: Some(bytes), stamp }, doc))
    }

    /// As [`Self::open`]; where there is no file yet, an empty document that becomes one.
    pub(super) fn open_or_new(path: &Path) -> Result<(Edited, Document)> {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Ok((Edited { path: path.to_owned(), bytes: None, stamp: None }, Document::new()))
            }
            _ => Edited::open(path),
        }
    }

    /// Whether there was no file.
    pub(super) fn is_new(&self) -> bool {
        self.bytes.is_none()
    }

    /// Leaves what was read; from standard input it goes on.
    pub(super) fn keep(&self) -> Result<()> {
        match &self.bytes {
            Some(bytes) if is_stream(&self.path) => to_output(bytes),
            _ => Ok(()),
        }
    }

    /// Puts a document in the place of what was read.
    pub(super) fn replace(&mut self, doc: &mut Document) -> Result<()> {
        let bytes = doc.save();
        if is_stream(&self.path) {
            return to_output(&bytes);
        }
        match &self.bytes {
            Some(there) if *there == bytes => return Ok(()),
            Some(there) => overwrite(&self.path, there, &bytes)?,
            None => create(&self.path, &bytes)?,
        }
        self.stamp = stamp(&self.path);
        self.bytes = Some(bytes);
        Ok(())
    }

    /// What somebody else put in the place of what was read, if so. From here on that is what was read.
    pub(super) fn changed(&mut self) -> Result<Option<Document>> {
        let now = stamp(&self.path);
        if self.bytes.is_none() || (now.is_some() && now == self.stamp) {
            return Ok(None);
        }
        let bytes = read(&self.path)?;
        self.stamp = now;
        if self.bytes.as_ref() == Some(&bytes) {
            return Ok(None);
        }
        let doc = parse(&self.path, &bytes)?;
        self.bytes = Some(bytes);
        Ok(Some(doc))
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let there = fs::metadata(path).ok()?;
    Some((there.len(), there.modified().ok()?))
}

/// Replaces a file in which `there` was read.
fn overwrite(path: &Path, there: &[u8], bytes: &[u8]) -> Result<()> {
    let metadata = fs::metadata(path).with_context(|| name(path))?;
    let beside = Beside::write(path, bytes).with_context(|| name(path))?;
    fs::set_permissions(&beside.0, metadata.permissions()).with_context(|| name(&beside.0))?;
    if read(path)? != there {
        bail!("{}: somebody else changed it meanwhile; nothing was written", name(path));
    }
    beside.rename(path).with_context(|| name(path))
}

/// Writes a new file; nothing may be there.
pub(super) fn create(path: &Path, bytes: &[u8]) -> Result<()> {
    if is_stream(path) {
        return to_output(bytes);
    }
    let taken = || anyhow::anyhow!("{}: there is something already", name(path));
    if fs::symlink_metadata(path).is_ok() {
        return Err(taken());
    }
    let beside = Beside::write(path, bytes).with_context(|| name(path))?;
    // A hard link is refused where something is, which a rename would replace.
    match fs::hard_link(&beside.0, path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(taken()),
        // Some file systems have no such links.
        Err(_) => beside.rename(path).with_context(|| name(path)),
    }
}

fn to_output(bytes: &[u8]) -> Result<()> {
    let mut output = Output::new();
    if output.is_terminal() {
        bail!("a document would go to the terminal: redirect standard output to a file");
    }
    match output.write_all(bytes).and_then(|()| output.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Unread.into()),
        done => done.context("standard output"),
    }
}

/// A file beside the one that is to be written, gone if that does not work out.
struct Beside(PathBuf);

impl Beside {
    fn write(target: &Path, bytes: &[u8]) -> io::Result<Beside> {
        let mut name = std::ffi::OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(format!(".{}.tmp", std::process::id()));
        let path = target.with_file_name(name);
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        let beside = Beside(path);
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(beside)
    }

    fn rename(self, target: &Path) -> io::Result<()> {
        fs::rename(&self.0, target)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // Where it was renamed it is not there any more.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_doc::{ROOT, Transactable as _};

    #[test]
    fn what_somebody_else_wrote_meanwhile_is_not_replaced() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("note.amrg");
        create(&path, &Document::new().save()).expect("a new file");
        let put = |key: &str| {
            let (edited, mut doc) = Edited::open(&path).expect("a document");
            doc.transact(|tx| tx.put(ROOT, key, 1)).expect("a sound edit");
            (edited, doc)
        };
        let ((mut slow, mut slow_doc), (mut fast, mut fast_doc)) = (put("slow"), put("fast"));
        fast.replace(&mut fast_doc).expect("nobody else was there");
        let error = slow.replace(&mut slow_doc).expect_err("somebody was");
        assert!(
            error.to_string().ends_with("somebody else changed it meanwhile; nothing was written"),
            "{error}"
        );
        assert_eq!(fs::read(&path).expect("a file"), fast_doc.save());
        assert_eq!(fs::read_dir(folder.path()).expect("a directory").count(), 1);
        assert!(create(&path, b"").is_err());
    }
}
