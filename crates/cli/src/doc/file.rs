//! Documents in files: read whole, replaced whole, and never over what somebody else wrote meanwhile.

use crate::flags::Misuse;
use crate::os::{self, Hold, Output};
use crate::out::{Unread, remark_other_names, shown};
use crate::replace::{explain, put};
use anyhow::{Context, Result, bail};
use hashmill_atomic_file::{Error, Expected, Finished, Replacement, resolve};
use hashmill_doc::Document;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

/// So many bytes are read, and no more: whoever writes into a pipe need not end.
const MOST_BYTES: u64 = 4 << 30;
/// What a document begins with. What begins otherwise is none, and need not be read to its end.
const MAGIC: [u8; 4] = [0x85, 0x6f, 0x4a, 0x83];

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
    with(path, |input| rest(input, Vec::new()))
}

/// All bytes of a document; of what is none, so many that this is seen.
pub(super) fn read_document(path: &Path) -> Result<Vec<u8>> {
    with(path, |input| {
        let mut head = Vec::new();
        input.take(MAGIC.len() as u64).read_to_end(&mut head)?;
        if MAGIC.starts_with(&head[..]) { rest(input, head) } else { Ok(head) }
    })
}

/// What is left of an input, behind what was read.
fn rest(input: &mut dyn Read, mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let most = MOST_BYTES - bytes.len() as u64;
    if input.take(most + 1).read_to_end(&mut bytes)? as u64 > most {
        return Err(io::Error::other(format!("it has more than {MOST_BYTES} bytes; so many are not read")));
    }
    Ok(bytes)
}

fn with(path: &Path, read: impl FnOnce(&mut dyn Read) -> io::Result<Vec<u8>>) -> Result<Vec<u8>> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    let done = if is_stream(path) {
        if TAKEN.swap(true, Ordering::Relaxed) {
            bail!(Misuse("standard input can be read only once: - stands here twice".to_owned()));
        }
        os::stdin().and_then(|stdin| read(&mut stdin.lock()))
    } else {
        File::open(path).and_then(|mut file| read(&mut file))
    };
    done.with_context(|| name(path))
}

/// The document that the bytes of a file are.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Document> {
    Document::load(bytes).with_context(|| name(path))
}

/// The document in a file.
pub(super) fn load(path: &Path) -> Result<Document> {
    parse(path, &read_document(path)?)
}

/// What became of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wrote {
    /// Not if it was so already.
    pub(super) written: bool,
    /// How long it is.
    pub(super) bytes: usize,
}

/// A file that is read to be replaced.
pub(super) struct Edited {
    /// As it was given.
    path: PathBuf,
    /// What is replaced: where a link leads to.
    target: PathBuf,
    /// What was read; nothing where no file was.
    bytes: Option<Vec<u8>>,
    /// When that was written, as far as the file system knows.
    stamp: Option<Stamp>,
}

/// What changes with a file, as a rule.
type Stamp = (u64, SystemTime);

impl Edited {
    pub(super) fn open(path: &Path) -> Result<(Edited, Document)> {
        let target = if is_stream(path) {
            path.to_owned()
        } else {
            let target = resolve(path).with_context(|| name(path))?;
            // A rename would put a file in the place of a device or a pipe.
            let there = fs::metadata(&target).with_context(|| name(path))?;
            if there.is_dir() {
                bail!("{}: it is a directory", name(path));
            }
            if !there.is_file() {
                bail!("{}: it is no regular file, so it cannot be replaced", name(path));
            }
            target
        };
        let stamp = stamp(&target);
        let bytes = if is_stream(path) { read_document(path) } else { read_document(&target) }?;
        let doc = parse(path, &bytes)?;
        Ok((Edited { path: path.to_owned(), target, bytes: Some(bytes), stamp }, doc))
    }

    /// As [`Self::open`]; where there is no file yet, an empty document that becomes one.
    pub(super) fn open_or_new(path: &Path) -> Result<(Edited, Document)> {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let (path, target) = (path.to_owned(), path.to_owned());
                Ok((Edited { path, target, bytes: None, stamp: None }, Document::new()))
            }
            _ => Edited::open(path),
        }
    }

    /// Whether there was no file.
    pub(super) fn is_new(&self) -> bool {
        self.bytes.is_none()
    }

    /// Leaves what was read; from standard input it goes on.
    pub(super) fn keep(&self) -> Result<Wrote> {
        let bytes = self.bytes.as_deref().unwrap_or_default();
        if is_stream(&self.path) {
            to_output(bytes)?;
        }
        Ok(Wrote { written: is_stream(&self.path), bytes: bytes.len() })
    }

    /// Puts a document in the place of what was read.
    pub(super) fn replace(&mut self, doc: &mut Document) -> Result<Wrote> {
        let bytes = doc.save();
        let wrote = Wrote { written: true, bytes: bytes.len() };
        if is_stream(&self.path) {
            return to_output(&bytes).map(|()| wrote);
        }
        match &self.bytes {
            Some(there) if *there == bytes => return Ok(Wrote { written: false, ..wrote }),
            Some(there) => overwrite(&self.path, &self.target, there, &bytes)?,
            None => drop(create(&self.path, &bytes)?),
        }
        self.stamp = stamp(&self.target);
        self.bytes = Some(bytes);
        Ok(wrote)
    }

    /// What somebody else put in the place of what was read, if so. From here on that is what was read.
    pub(super) fn changed(&mut self) -> Result<Option<Document>> {
        let now = stamp(&self.target);
        if self.bytes.is_none() || (now.is_some() && now == self.stamp) {
            return Ok(None);
        }
        let bytes = read_document(&self.target)?;
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
fn overwrite(path: &Path, target: &Path, there: &[u8], bytes: &[u8]) -> Result<()> {
    let finished = write(target, bytes, Expected::Bytes(there))?;
    let finished = finished.map_err(|error| explain(error, &name(path), &failed(path)))?;
    remark_other_names(&name(path), finished);
    Ok(())
}

fn write(target: &Path, bytes: &[u8], expected: Expected<'_>) -> Result<Result<Finished, Error>> {
    let mut hold = Hold::ending().context("signals")?;
    Ok(Replacement::begin(target).and_then(|new| put(new, bytes, expected, &mut hold)))
}

/// Writes a new file; nothing may be there.
pub(super) fn create(path: &Path, bytes: &[u8]) -> Result<Wrote> {
    let wrote = Wrote { written: true, bytes: bytes.len() };
    if is_stream(path) {
        return to_output(bytes).map(|()| wrote);
    }
    let taken = || anyhow::anyhow!("{}: there is something already", name(path));
    if fs::symlink_metadata(path).is_ok() {
        return Err(taken());
    }
    match write(path, bytes, Expected::Absent)? {
        Ok(_) => Ok(wrote),
        Err(Error::Exists) => Err(taken()),
        Err(error) => Err(explain(error, &name(path), &failed(path))),
    }
}

fn failed(path: &Path) -> String {
    format!("{}: not written", name(path))
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
