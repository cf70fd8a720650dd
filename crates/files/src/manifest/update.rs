//! Update of a manifest: known rows are kept, new ones go to a journal at once, and the old manifest stays until the new one is
//! whole.
//!
//! While a run is at work, there are beside the manifest: `.NAME.journal` with the rows found so far, which is locked, so that
//! there is one run at a time; and the new manifest, without a name, or with a temporary one where files must have one.

use super::journal::{ForeignJournal, Journal, LockError, Locked};
use super::{File as Row, Manifest, ReadError, write_file, write_header};
use crate::checkfile::{Algorithm, Style};
use crate::os::FileId;
use crate::time::Time;
use crate::verdict::Verdict;
use hashmill_atomic_file::{
    Error as ReplaceError, Expected, Finished, Replacement, Stamp, beside, is_temporary, resolve,
};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run that brings a manifest up to date.
#[derive(Debug)]
pub struct Update {
    algorithm: Algorithm,
    /// Rows of corrupt files may be replaced.
    retag: bool,
    old: Arc<Manifest>,
    /// Rows of an interrupted run, which are newer.
    recent: Manifest,
    journal: Journal,
    new: BufWriter<Replacement>,
    there: Option<There>,
}

/// The file of the old manifest, when it was read.
#[derive(Debug)]
struct There {
    id: Option<FileId>,
    stamp: Stamp,
}

/// What a manifest and the question say before a run.
struct Beginning {
    old: Manifest,
    there: Option<There>,
    algorithm: Algorithm,
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
    /// The file at this path, which a journal would have, is not its journal. It was left as it is.
    Journal(PathBuf, ForeignJournal),
}

impl std::fmt::Display for UpdateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            UpdateError::Io(error) => error.fmt(f),
            UpdateError::Read(error) => error.fmt(f),
            UpdateError::Busy => f.write_str("another run is at work on it"),
            UpdateError::Function(algorithm) => write!(f, "its digests are {}", algorithm.name()),
            UpdateError::Journal(path, why) => {
                // A name may have anything in it, and this is shown on terminals.
                let name = path.file_name().unwrap_or_default().as_encoded_bytes();
                write!(f, "{} beside it: {why}", name.escape_ascii())
            }
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
        let target = resolve(path).map_err(io::Error::from)?;
        if fs::symlink_metadata(&target).is_ok_and(|there| !there.is_file()) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "no file that could be replaced").into());
        }
        let journal = Locked::open(&target).map_err(|error| match error {
            LockError::Io(error) => UpdateError::Io(error),
            LockError::Busy => UpdateError::Busy,
            LockError::Foreign(why) => match beside(&target, ".journal") {
                Ok(path) => UpdateError::Journal(path, why),
                Err(error) => UpdateError::Io(error),
            },
        })?;
        // From here on no other run is at work.
        let prepared = Update::read_old(&target, said)
            .and_then(|beginning| Ok((beginning, Replacement::begin(&target).map_err(io::Error::from)?)));
        match prepared {
            Ok((beginning, new)) => Ok(Update::locked(journal, new, beginning)?),
            Err(error) => {
                journal.remove_if_empty();
                Err(error)
            }
        }
    }

    /// Reads the manifest, and decides by which function the digests are.
    fn read_old(target: &Path, said: Option<Algorithm>) -> Result<Beginning, UpdateError> {
        let (old, there) = match File::open(target) {
            Ok(file) => {
                let metadata = file.metadata()?;
                let there = There { id: FileId::of(&metadata), stamp: Stamp::from_metadata(&metadata) };
                let old =
                    Manifest::read(BufReader::new(file), Style::default()).map_err(UpdateError::Read)?;
                (old, Some(there))
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
        Ok(Beginning { old, there, algorithm })
    }

    fn locked(journal: Locked, new: Replacement, beginning: Beginning) -> io::Result<Update> {
        let Beginning { old, there, algorithm } = beginning;
        let (journal, recent) = journal.begin(algorithm)?;
        let mut new = BufWriter::with_capacity(64 * 1024, new);
        write_header(&mut new, algorithm)?;
        let old = Arc::new(old);
        Ok(Update { algorithm, retag: false, old, recent, journal, new, there })
    }

    /// By which function the digests are.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// What was known before.
    pub fn old(&self) -> &Arc<Manifest> {
        &self.old
    }

    /// The temporary name of the new manifest, if it has one: a process that ends early has to remove it. The journal has
    /// to stay.
    pub fn temporary_name(&self) -> Option<&Path> {
        self.new.get_ref().temporary_name()
    }

    /// Whether a manifest existed when the run began.
    pub fn replaces(&self) -> bool {
        self.there.is_some()
    }

    /// The files of the run itself.
    pub fn files(&self) -> Vec<FileId> {
        let new = self.new.get_ref().metadata().ok().as_ref().and_then(FileId::of);
        let there = self.there.as_ref().and_then(|there| there.id);
        [self.journal.id(), new, there].into_iter().flatten().collect()
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
            self.journal.add(row)?;
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
    /// What the system reports, and [`ReplaceError::Changed`] or [`ReplaceError::Exists`] if another program wrote the
    /// manifest meanwhile. The old manifest is still there then, and so is the journal.
    pub fn finish(self) -> Result<Finished, ReplaceError> {
        let Update { mut journal, new, there, .. } = self;
        journal.flush()?;
        let new = new.into_inner().map_err(io::IntoInnerError::into_error)?;
        let finished = new.finish(there.map_or(Expected::Absent, |there| Expected::Stamp(there.stamp)))?;
        // Only now: after a power cut, the next run has the new manifest or the journal.
        journal.remove();
        Ok(finished)
    }

    /// Gives the run up: the old manifest stays as it is. The journal goes, unless an interrupted run before this one had found
    /// out something.
    ///
    /// # Errors
    /// What the system reports.
    pub fn abandon(mut self) -> io::Result<()> {
        if !self.recent.is_empty() {
            return self.journal.flush();
        }
        self.journal.remove();
        Ok(())
    }
}

/// The files that runs on the manifest at `path`, and other programs of Hashmill, may have left beside it.
pub fn leftovers(path: &Path) -> Vec<FileId> {
    let target = resolve(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let temporary = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_temporary));
    let paths = temporary.map(|entry| entry.path()).chain(beside(&target, ".journal"));
    paths.flat_map(fs::symlink_metadata).flat_map(|metadata| FileId::of(&metadata)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

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
        drop(second);
        // As by a signal: half a line is left, too.
        let journal = fs::OpenOptions::new().append(true).open(dir.path().join(".SUMS.journal"));
        journal.and_then(|mut journal| journal.write_all(b"# 5 4.0000")).expect("our own file");
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

    /// Whatever another user has put in the journal's place: it is refused at once, and it and the file behind it stay.
    #[cfg(unix)]
    #[test]
    fn planted_journals_are_refused_and_stay_as_they_are() {
        use ForeignJournal::{Content, Entry};
        use hashmill_atomic_file::Refusal;
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        use std::os::unix::fs::symlink;
        type Plant = fn(&Path, &Path) -> io::Result<()>;
        let plants: [(Plant, ForeignJournal); 6] = [
            (|secret, at| symlink(secret, at), Entry(Refusal::Link)),
            (|_, at| symlink("nowhere", at), Entry(Refusal::Link)),
            (|secret, at| fs::hard_link(secret, at), Entry(Refusal::HardLinks(2))),
            (|_, at| fs::create_dir(at), Entry(Refusal::NotAFile)),
            (
                |_, at| Ok(mknodat(CWD, at, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?),
                Entry(Refusal::NotAFile),
            ),
            (|_, at| fs::write(at, "my own notes\n"), Content),
        ];
        for (plant, why) in plants {
            let dir = tempfile::tempdir().expect("a directory");
            let [path, secret, journal] =
                ["SUMS", "secret", ".SUMS.journal"].map(|name| dir.path().join(name));
            fs::write(&secret, "for me alone").expect("space");
            plant(&secret, &journal).expect("a planted entry");
            let facts = || {
                let metadata = fs::symlink_metadata(&journal).expect("it stays");
                (metadata.file_type(), metadata.len(), metadata.modified().ok())
            };
            let before = facts();
            for _ in 0..2 {
                match Update::begin(&path, None) {
                    Err(UpdateError::Journal(at, found)) => {
                        assert_eq!((at, found), (journal.clone(), why.clone()));
                    }
                    other => panic!("{why:?}: {other:?}"),
                }
                assert_eq!(facts(), before);
                assert_eq!(fs::read(&secret).expect("our file"), b"for me alone");
                assert!(!path.exists() && !dir.path().join("nowhere").exists());
                fs::write(&path, format!("{}  a\n", "ab".repeat(32))).expect("a list changes nothing");
                assert!(matches!(Update::begin(&path, None), Err(UpdateError::Journal(..))));
                fs::remove_file(&path).expect("our file");
            }
        }
    }

    /// An editor, or a program that knows nothing of the lock.
    #[test]
    fn a_manifest_that_another_program_wrote_meanwhile_stays() {
        for before in [None, Some("ab")] {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("SUMS");
            let line = |hex: &str, name: &str| format!("{}  {name}\n", hex.repeat(32));
            if let Some(hex) = before {
                fs::write(&path, line(hex, "a")).expect("space");
            }
            let mut update = Update::begin(&path, None).expect("no other run");
            assert_eq!(update.replaces(), before.is_some());
            update.take(row("b", &[3; 32], 3), Some(Time::from_nanos(3))).expect("space");
            fs::write(&path, line("cd", "another")).expect("space");
            let error = update.finish().expect_err("it was changed");
            assert_eq!(matches!(error, ReplaceError::Changed), before.is_some(), "{error:?}");
            assert_eq!(fs::read_to_string(&path).expect("a manifest"), line("cd", "another"));
            let next = Update::begin(&path, None).expect("no other run");
            assert!(next.known(b"b", 5, Time::from_nanos(3), false).is_some(), "nothing is hashed twice");
        }
    }
}
