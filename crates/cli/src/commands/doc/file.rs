//! Document files: read whole, replaced atomically, never over changes by other programs.

use crate::atomic_replace::{error_message, write_and_finish};
use crate::flags::UsageError;
use crate::os::{self, Output, SignalBlock};
use crate::output::{ReaderGone, display_path, note_other_names};
use anyhow::{Context, Result, bail};
use hashmill_atomic_file::{Error, Expected, Finished, Replacement, resolve};
use hashmill_doc::Document;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

/// Maximum input length: a pipe may be endless.
const MAX_BYTES: u64 = 4 << 30;
/// The first bytes of a document. Input that starts otherwise is not read to its end.
const MAGIC: [u8; 4] = [0x85, 0x6f, 0x4a, 0x83];

/// Whether a path is `-`, a standard stream.
pub(super) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The name of a path in messages.
pub(super) fn name(path: &Path) -> String {
    if is_stream(path) { "standard input".to_owned() } else { display_path(path).into_owned() }
}

/// All bytes of a file, or of standard input.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    read_with(path, |input| read_rest(input, Vec::new()))
}

/// All bytes of a document; of other input the first bytes.
pub(super) fn read_document(path: &Path) -> Result<Vec<u8>> {
    read_with(path, |input| {
        let mut head = Vec::new();
        input.take(MAGIC.len() as u64).read_to_end(&mut head)?;
        if MAGIC.starts_with(&head[..]) { read_rest(input, head) } else { Ok(head) }
    })
}

/// Reads the rest of an input, after `bytes`.
fn read_rest(input: &mut dyn Read, mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let max = MAX_BYTES - bytes.len() as u64;
    if input.take(max + 1).read_to_end(&mut bytes)? as u64 > max {
        return Err(io::Error::other(format!(
            "it is longer than {MAX_BYTES} bytes, the limit of this program"
        )));
    }
    Ok(bytes)
}

fn read_with(path: &Path, read: impl FnOnce(&mut dyn Read) -> io::Result<Vec<u8>>) -> Result<Vec<u8>> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    let done = if is_stream(path) {
        if TAKEN.swap(true, Ordering::Relaxed) {
            bail!(UsageError("standard input can be read only once, but - is given twice".to_owned()));
        }
        os::stdin().and_then(|stdin| read(&mut stdin.lock()))
    } else {
        File::open(path).and_then(|mut file| read(&mut file))
    };
    done.with_context(|| name(path))
}

/// Parses the bytes of a file.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Document> {
    Document::load(bytes).with_context(|| name(path))
}

/// The document in a file.
pub(super) fn load(path: &Path) -> Result<Document> {
    parse(path, &read_document(path)?)
}

/// Outcome of writing a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteOutcome {
    /// False if the file was already up to date.
    pub(super) written: bool,
    /// Length of the file.
    pub(super) bytes: usize,
}

/// A document file that was read to be replaced.
pub(super) struct EditedFile {
    /// The path as given.
    path: PathBuf,
    /// The file to replace: the target of links.
    target: PathBuf,
    /// The content that was read; `None` if there was no file.
    bytes: Option<Vec<u8>>,
    /// Length and modification time at that time.
    stamp: Option<Stamp>,
}

/// Length and modification time, which normally change with the content.
type Stamp = (u64, SystemTime);

impl EditedFile {
    pub(super) fn open(path: &Path) -> Result<(EditedFile, Document)> {
        let target = if is_stream(path) {
            path.to_owned()
        } else {
            let target = resolve(path).with_context(|| name(path))?;
            // Renaming would replace a device or a pipe by a file.
            let metadata = fs::metadata(&target).with_context(|| name(path))?;
            if metadata.is_dir() {
                bail!("{}: it is a directory", name(path));
            }
            if !metadata.is_file() {
                bail!("{}: not a regular file, so it cannot be replaced", name(path));
            }
            target
        };
        let stamp = stamp(&target);
        let bytes = if is_stream(path) { read_document(path) } else { read_document(&target) }?;
        let doc = parse(path, &bytes)?;
        Ok((EditedFile { path: path.to_owned(), target, bytes: Some(bytes), stamp }, doc))
    }

    /// As [`Self::open`]; if there is no file yet, an empty document.
    pub(super) fn open_or_new(path: &Path) -> Result<(EditedFile, Document)> {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let (path, target) = (path.to_owned(), path.to_owned());
                Ok((EditedFile { path, target, bytes: None, stamp: None }, Document::new()))
            }
            _ => EditedFile::open(path),
        }
    }

    /// Whether the file does not exist yet.
    pub(super) fn is_new(&self) -> bool {
        self.bytes.is_none()
    }

    /// Keeps the content; from standard input it is copied to standard output.
    pub(super) fn keep_unchanged(&self) -> Result<WriteOutcome> {
        let bytes = self.bytes.as_deref().unwrap_or_default();
        if is_stream(&self.path) {
            write_stdout(bytes)?;
        }
        Ok(WriteOutcome { written: is_stream(&self.path), bytes: bytes.len() })
    }

    /// Replaces the content by a document.
    pub(super) fn replace(&mut self, doc: &mut Document) -> Result<WriteOutcome> {
        let bytes = doc.save();
        let wrote = WriteOutcome { written: true, bytes: bytes.len() };
        if is_stream(&self.path) {
            return write_stdout(&bytes).map(|()| wrote);
        }
        match &self.bytes {
            Some(old) if *old == bytes => return Ok(WriteOutcome { written: false, ..wrote }),
            Some(old) => overwrite(&self.path, &self.target, old, &bytes)?,
            None => drop(create(&self.path, &bytes)?),
        }
        self.stamp = stamp(&self.target);
        self.bytes = Some(bytes);
        Ok(wrote)
    }

    /// Reads the file again if another program changed it.
    pub(super) fn reload_if_changed(&mut self) -> Result<Option<Document>> {
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
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}

/// Replaces a file whose content was `old`.
fn overwrite(path: &Path, target: &Path, old: &[u8], bytes: &[u8]) -> Result<()> {
    let finished = write(target, bytes, Expected::Bytes(old))?;
    let finished = finished.map_err(|error| error_message(error, &name(path), &failed(path)))?;
    note_other_names(&name(path), finished);
    Ok(())
}

fn write(target: &Path, bytes: &[u8], expected: Expected<'_>) -> Result<Result<Finished, Error>> {
    let mut signals = SignalBlock::ending().context("signals")?;
    Ok(Replacement::begin(target).and_then(|new| write_and_finish(new, bytes, expected, &mut signals)))
}

/// Writes a new file; the path must not exist.
pub(super) fn create(path: &Path, bytes: &[u8]) -> Result<WriteOutcome> {
    let wrote = WriteOutcome { written: true, bytes: bytes.len() };
    if is_stream(path) {
        return write_stdout(bytes).map(|()| wrote);
    }
    let exists = || anyhow::anyhow!("{}: it exists already", name(path));
    if fs::symlink_metadata(path).is_ok() {
        return Err(exists());
    }
    match write(path, bytes, Expected::Absent)? {
        Ok(_) => Ok(wrote),
        Err(Error::Exists) => Err(exists()),
        Err(error) => Err(error_message(error, &name(path), &failed(path))),
    }
}

fn failed(path: &Path) -> String {
    format!("{}: not written", name(path))
}

fn write_stdout(bytes: &[u8]) -> Result<()> {
    let mut output = Output::new();
    if output.is_terminal() {
        bail!("refusing to write a document to the terminal: redirect standard output to a file");
    }
    match output.write_all(bytes).and_then(|()| output.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(ReaderGone.into()),
        done => done.context("standard output"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_doc::{ROOT, Transactable as _};

    #[test]
    fn changes_by_other_programs_are_not_replaced() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("note.amrg");
        create(&path, &Document::new().save()).expect("a new file");
        let put = |key: &str| {
            let (edited, mut doc) = EditedFile::open(&path).expect("a document");
            doc.transact(|tx| tx.put(ROOT, key, 1)).expect("a sound edit");
            (edited, doc)
        };
        let ((mut slow, mut slow_doc), (mut fast, mut fast_doc)) = (put("slow"), put("fast"));
        fast.replace(&mut fast_doc).expect("no other change");
        let error = slow.replace(&mut slow_doc).expect_err("the file was changed");
        assert!(
            error.to_string().ends_with("another program changed it meanwhile; nothing was written"),
            "{error}"
        );
        assert_eq!(fs::read(&path).expect("a file"), fast_doc.save());
        assert_eq!(fs::read_dir(folder.path()).expect("a directory").count(), 1);
        assert!(create(&path, b"").is_err());
    }
}
