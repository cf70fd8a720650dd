//! A manifest that is brought up to date: what is known is kept, what is new is written down at once, and the old manifest
//! stands until the new one is whole.
//!
//! Beside the manifest are, while a run is at work: `.NAME.journal` with what was hashed so far, which the next run uses if
//! this one is interrupted, and which is locked, so that there is one run at a time; and the new manifest, without a name, or
//! as `.NAME.new` where files must have one.

use super::{File as Row, Manifest, ReadError, write_file, write_header};
use crate::checkfile::{Algorithm, Style};
use crate::os::FileId;
use crate::replacement::{Replacement, beside};
use crate::time::Time;
use crate::verdict::Verdict;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run that brings a manifest up to date.
#[derive(Debug)]
pub struct Update {
    algorithm: Algorithm,
    /// Rows of corrupt files may be replaced.
    retag: bool,
    old: Arc<Manifest>,
    /// What an interrupted run found out, which is newer.
    recent: Manifest,
    journal: BufWriter<File>,
    journal_path: PathBuf,
    new: BufWriter<Replacement>,
    /// The manifest that is there.
    there: Option<FileId>,
}

/// Why a manifest cannot be brought up to date.
#[derive(Debug)]
#[non_exhaustive]
pub enum UpdateError {
    /// The files beside it cannot be written, or the manifest not be read.
    Io(io::Error),
    /// It is no manifest.
    Read(ReadError),
    /// Another run is at work on it.
    Busy,
    /// Its digests are by this function, not by the one that was asked for.
    Function(Algorithm),
}

impl std::fmt::Display for UpdateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            UpdateError::Io(error) => error.fmt(f),
            UpdateError::Read(error) => error.fmt(f),
            UpdateError::Busy => f.write_str("another run is at work on it"),
            UpdateError::Function(algorithm) => write!(f, "its digests are {}", algorithm.name()),
        }
    }
}

impl std::error::Error for UpdateError {}

impl From<io::Error> for UpdateError {
    fn from(error: io::Error) -> UpdateError {
        UpdateError::Io(error)
    }
}

impl Update {
    /// Begins a run on the manifest at `path`, which need not be there. `said` is the function that was asked for.
    ///
    /// # Errors
    /// See [`UpdateError`]. Nothing was changed.
    pub fn begin(path: &Path, said: Option<Algorithm>) -> Result<Update, UpdateError> {
        let target = match fs::canonicalize(path) {
            Ok(target) => target,
            Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(error.into()),
        };
        if fs::metadata(&target).is_ok_and(|there| !there.is_file()) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "no file that could be replaced").into());
        }
        let journal_path = beside(&target, ".journal")?;
        let journal = lock(&journal_path)?;
        // From here on nobody else is at work.
        let written = journal.metadata()?.len() > 0;
        let update = Update::alone(&target, journal, journal_path.clone(), said);
        if update.is_err() && !written {
            let _ = fs::remove_file(journal_path);
        }
        update
    }

    fn alone(
        target: &Path,
        mut journal: File,
        journal_path: PathBuf,
        said: Option<Algorithm>,
    ) -> Result<Update, UpdateError> {
        let (old, there) = match File::open(target) {
            Ok(file) => {
                let there = FileId::of(&file.metadata()?);
                let old =
                    Manifest::read(BufReader::new(file), Style::default()).map_err(UpdateError::Read)?;
                (old, there)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => (Manifest::default(), None),
            Err(error) => return Err(error.into()),
        };
        let known = if old.is_empty() { None } else { old.algorithm() };
        if let (Some(known), Some(said)) = (known, said)
            && known != said
        {
            return Err(UpdateError::Function(known));
        }
        let len = if old.is_empty() { None } else { Some(old.digest_len()) };
        let algorithm = known
            .or(said)
            .unwrap_or_else(|| len.and_then(|len| Algorithm::by_digest_len(len).next()).unwrap_or_default());
        let mut recent = Manifest::read_beginning(BufReader::new(&journal), Style::default());
        if recent.algorithm() != Some(algorithm) {
            recent = Manifest::default();
            journal.set_len(0)?;
        }
        end_at_line(&mut journal)?;
        let mut journal = BufWriter::new(journal);
        if recent.is_empty() {
            journal.get_mut().set_len(0)?;
            journal.seek(SeekFrom::Start(0))?;
            write_header(&mut journal, algorithm)?;
        }
        let mut new = BufWriter::with_capacity(64 * 1024, Replacement::called(target, ".new")?);
        write_header(&mut new, algorithm)?;
        let old = Arc::new(old);
        Ok(Update { algorithm, retag: false, old, recent, journal, journal_path, new, there })
    }

    /// By which function the digests are.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// What was known before.
    pub fn old(&self) -> &Arc<Manifest> {
        &self.old
    }

    /// Where the new manifest is until it is in its place, if it has a name: that is to be removed where the process ends
    /// before. The journal is to stay.
    pub fn name(&self) -> Option<&Path> {
        self.new.get_ref().name()
    }

    /// The files that this run itself is about.
    pub fn files(&self) -> Vec<FileId> {
        let journal = self.journal.get_ref().metadata().ok();
        let new = self.new.get_ref().metadata().ok();
        let ids = [journal, new].into_iter().flatten().filter_map(|metadata| FileId::of(&metadata));
        ids.chain(self.there).collect()
    }

    /// The digest that a file of this name, size and time is known to have; if it must have been `read` for this manifest,
    /// from a run that was interrupted.
    pub fn known(&self, name: &[u8], size: u64, modified: Time, read: bool) -> Option<&[u8]> {
        let manifests = [Some(&self.recent), (!read).then_some(&self.old)];
        manifests.into_iter().flatten().find_map(|manifest| {
            let file = manifest.file(manifest.find(name)?);
            (file.size == Some(size) && file.modified == Some(modified)).then_some(file.digest)
        })
    }

    /// What was known of a file, whatever became of it.
    pub fn before(&self, name: &[u8]) -> Option<Row<'_>> {
        self.old.find(name).map(|number| self.old.file(number))
    }

    /// Says whether rows of corrupt files may be replaced, which they are not by default: the old digest is the only evidence
    /// that the file rotted.
    pub fn set_retag(&mut self, retag: bool) {
        self.retag = retag;
    }

    /// Keeps what was [known](Update::known) of a file that was not read.
    ///
    /// # Errors
    /// What the system reports.
    pub fn keep(&mut self, row: Row<'_>) -> io::Result<Verdict> {
        self.put(row, row.modified, false)
    }

    /// Writes the row of a file, or that which was there if the file is corrupt.
    fn put(&mut self, row: Row<'_>, modified: Option<Time>, read: bool) -> io::Result<Verdict> {
        let old = self.old.find(row.name).map(|number| self.old.file(number));
        let verdict = Verdict::of(old.map(|old| old.stored()), row.digest, modified);
        let (row, read) = match old {
            Some(old) if verdict == Verdict::Corrupt && !self.retag => (old, false),
            _ => (row, read),
        };
        if read {
            write_file(&mut self.journal, row, self.algorithm)?;
        }
        write_file(&mut self.new, row, self.algorithm)?;
        Ok(verdict)
    }

    /// Keeps the line with this number.
    ///
    /// # Errors
    /// What the system reports.
    pub fn keep_number(&mut self, number: u32) -> io::Result<()> {
        write_file(&mut self.new, self.old.file(number), self.algorithm)
    }

    /// Keeps the line of a file that was known before, if it was.
    ///
    /// # Errors
    /// What the system reports.
    pub fn keep_old(&mut self, name: &[u8]) -> io::Result<bool> {
        match self.old.find(name) {
            Some(number) => self.keep_number(number).map(|()| true),
            None => Ok(false),
        }
    }

    /// Takes the row of a file that was read, for this run and for the next if this one does not come to its end. `modified` is
    /// the time that the file had before and after it was read, if that was one; the row has it only if it proves something.
    ///
    /// The old row of a corrupt file stays, unless [`set_retag`](Update::set_retag) says otherwise.
    ///
    /// # Errors
    /// What the system reports.
    pub fn take(&mut self, row: Row<'_>, modified: Option<Time>) -> io::Result<Verdict> {
        self.put(row, modified, true)
    }

    /// Writes down what was found out so far.
    ///
    /// # Errors
    /// What the system reports.
    pub fn flush(&mut self) -> io::Result<()> {
        self.journal.flush()
    }

    /// Puts the new manifest in the place of the old one.
    ///
    /// # Errors
    /// What the system reports. The old manifest is still there then, and so is what was found out.
    pub fn finish(mut self) -> io::Result<()> {
        self.journal.flush()?;
        let new = self.new.into_inner().map_err(io::IntoInnerError::into_error)?;
        new.finish()?;
        // Whoever waits for the lock finds out that this journal is no longer the one.
        fs::remove_file(&self.journal_path)
    }

    /// Gives the run up: the old manifest stays as it is. The journal goes, unless an interrupted run before this one had found
    /// out something.
    ///
    /// # Errors
    /// What the system reports.
    pub fn abandon(mut self) -> io::Result<()> {
        if self.recent.is_empty() { fs::remove_file(&self.journal_path) } else { self.journal.flush() }
    }
}

/// The files that a run on the manifest at `path` may have left beside it.
pub fn leftovers(path: &Path) -> Vec<FileId> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let beside = [".journal", ".new"].into_iter().flat_map(|ending| beside(&target, ending));
    beside.flat_map(fs::symlink_metadata).flat_map(|metadata| FileId::of(&metadata)).collect()
}

/// Opens the journal for this run alone.
fn lock(path: &Path) -> Result<File, UpdateError> {
    loop {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(UpdateError::Busy),
            // A file system without locks: better no protection than no manifest.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        // The run before may have taken it away between the two calls.
        let mine = FileId::of(&file.metadata()?);
        if fs::metadata(path).is_ok_and(|there| FileId::of(&there) == mine) {
            return Ok(file);
        }
    }
}

/// Cuts off a last line that is not whole, and goes to the end.
fn end_at_line(file: &mut File) -> io::Result<()> {
    let len = file.seek(SeekFrom::End(0))?;
    // No line is longer than this.
    let look = len.min(2 * crate::checkfile::LINE_LIMIT as u64);
    file.seek(SeekFrom::Start(len - look))?;
    let mut end = vec![0; look as usize];
    file.read_exact(&mut end)?;
    let whole = end.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let len = len - look + whole as u64;
    file.set_len(len)?;
    file.seek(SeekFrom::Start(len)).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row<'a>(name: &'a str, digest: &'a [u8; 32], time: i64) -> Row<'a> {
        Row { name: name.as_bytes(), digest, size: Some(5), modified: Some(Time::from_nanos(time)) }
    }

    #[test]
    fn what_an_interrupted_run_found_out_is_known_to_the_next() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("SUMS");
        let mut first = Update::begin(&path, None).expect("nobody else is at work");
        first.take(row("a", &[1; 32], 1), Some(Time::from_nanos(1))).expect("room");
        first.finish().expect("room");
        let text = fs::read(&path).expect("a manifest");
        assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 1);

        let mut second = Update::begin(&path, None).expect("nobody else is at work");
        assert!(matches!(Update::begin(&path, None), Err(UpdateError::Busy)));
        second.take(row("a", &[2; 32], 2), Some(Time::from_nanos(2))).expect("room");
        second.take(row("b", &[3; 32], 3), Some(Time::from_nanos(3))).expect("room");
        second.flush().expect("room");
        // As by a signal: half a line is left, too.
        second.journal.write_all(b"# 5 4.0000").and_then(|()| second.journal.flush()).expect("room");
        drop(second);
        assert_eq!(fs::read(&path).expect("a manifest"), text, "the old one stands");

        let mut third = Update::begin(&path, None).expect("nobody else is at work");
        let known = |update: &Update, name: &str, time| {
            update.known(name.as_bytes(), 5, Time::from_nanos(time), false).map(|digest| digest[0])
        };
        assert_eq!(
            [known(&third, "a", 2), known(&third, "b", 3), known(&third, "b", 4)],
            [Some(2), Some(3), None]
        );
        assert_eq!(known(&third, "a", 1), Some(1), "it is as it was before");
        assert!(third.known(b"a", 5, Time::from_nanos(1), true).is_none(), "nobody has read it since");
        third.take(row("c", &[4; 32], 9), Some(Time::from_nanos(9))).expect("room");
        assert!(third.keep_old(b"a").expect("room") && !third.keep_old(b"z").expect("room"));
        third.flush().expect("room");
        drop(third);
        let fourth = Update::begin(&path, None).expect("nobody else is at work");
        assert_eq!([known(&fourth, "b", 3), known(&fourth, "c", 9)], [Some(3), Some(4)]);
        assert!(matches!(fourth.algorithm(), Algorithm::Blake3));
        drop(fourth);
        assert!(matches!(
            Update::begin(&path, Some(Algorithm::Md5)),
            Err(UpdateError::Function(Algorithm::Blake3))
        ));
    }

    /// The law of rows: one with the time that the file still has is replaced only by its own digest, whatever is taken, kept
    /// or left in the journal, unless the run was told so.
    #[test]
    fn the_row_of_a_corrupt_file_stays_until_it_is_retagged() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("SUMS");
        let digest = |path: &Path| {
            let manifest = Manifest::read(&*fs::read(path).expect("a manifest"), Style::default());
            manifest.expect("a manifest").file(0).digest[0]
        };
        let run = |retag, digest, time, finish: bool| {
            let mut update = Update::begin(&path, None).expect("no other run");
            update.set_retag(retag);
            let digest = [digest; 32];
            let row = row("a", &digest, time);
            let verdict = update.take(row, row.modified).expect("room");
            assert_eq!(update.keep(row).expect("room"), verdict);
            if finish {
                update.finish().expect("room");
            } else {
                update.flush().expect("room");
            }
            verdict
        };
        assert_eq!((run(false, 1, 7, true), digest(&path)), (Verdict::New, 1));
        assert_eq!((run(false, 2, 7, true), digest(&path)), (Verdict::Corrupt, 1));
        // A run that may replace it and is interrupted does not entitle the next one.
        assert_eq!((run(true, 2, 7, false), digest(&path)), (Verdict::Corrupt, 1));
        assert_eq!((run(false, 2, 7, true), digest(&path)), (Verdict::Corrupt, 1));
        assert_eq!((run(true, 2, 7, true), digest(&path)), (Verdict::Corrupt, 2));
        assert_eq!((run(false, 3, 8, true), digest(&path)), (Verdict::Outdated, 3));
        assert_eq!((run(false, 3, 9, true), digest(&path)), (Verdict::Touched, 3));
        Update::begin(&path, None).and_then(|update| Ok(update.abandon()?)).expect("room");
        assert_eq!((fs::read_dir(dir.path()).expect("a directory").count(), digest(&path)), (1, 3));
        // What an interrupted run found out outlives one that is given up.
        run(false, 4, 10, false);
        Update::begin(&path, None).and_then(|update| Ok(update.abandon()?)).expect("room");
        let update = Update::begin(&path, None).expect("no other run");
        assert_eq!(update.known(b"a", 5, Time::from_nanos(10), true), Some(&[4; 32][..]));
    }

    #[test]
    fn half_a_manifest_is_refused_and_stays() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("SUMS");
        let text = format!("{}  a\n{}", "ab".repeat(32), "cd".repeat(20));
        fs::write(&path, &text).expect("room");
        assert!(matches!(Update::begin(&path, None), Err(UpdateError::Read(_))));
        assert_eq!(fs::read_to_string(&path).expect("our own file"), text);
    }
}
