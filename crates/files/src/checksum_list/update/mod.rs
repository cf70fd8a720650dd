//! Update of a checksum list: known rows are kept, new ones are written to a journal at once, and the old
//! list stays until the new one is complete.
//!
//! During a run, two files are beside the list: `.NAME.journal` with the rows so far, locked so that there is
//! one run at a time; and the new list, without a name, or with a temporary one where files must have one.

mod journal;

pub use journal::ForeignJournal;

use crate::checksum_list::table::{ChecksumTable, ReadError, TableEntry, write_file, write_header};
use crate::checksum_list::{Algorithm, ListFormat};
use crate::os::FileId;
use crate::stored::DigestVerdict;
use crate::stored::Time;
use hashmill_atomic_file::{
    Error as ReplaceError, Expected, Finished, Replacement, Stamp, beside, is_temporary, resolve,
};
use journal::{Journal, LockError, Locked};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Update of a checksum list.
#[derive(Debug)]
pub struct ListUpdate {
    algorithm: Algorithm,
    /// May rows of corrupt files be replaced?
    retag: bool,
    old: Arc<ChecksumTable>,
    /// Newer rows, from an interrupted run.
    recent: ChecksumTable,
    journal: Journal,
    new: BufWriter<Replacement>,
    there: Option<ListFile>,
}

/// The file of the old list at the time of reading.
#[derive(Debug)]
struct ListFile {
    id: Option<FileId>,
    stamp: Stamp,
}

/// State before a run: the old list and the function.
struct InitialState {
    old: ChecksumTable,
    there: Option<ListFile>,
    algorithm: Algorithm,
}

/// The reason why a list cannot be updated.
#[derive(Debug)]
#[non_exhaustive]
pub enum UpdateError {
    /// The files beside it cannot be written, or the list cannot be read.
    Io(io::Error),
    /// It is not a valid list.
    Read(ReadError),
    /// Another run is updating it.
    Busy,
    /// Its digests are by this function, not by the requested one.
    Function(Algorithm),
    /// The file at the path of the journal is not its journal. It is left unchanged.
    Journal(PathBuf, ForeignJournal),
}

impl std::fmt::Display for UpdateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            UpdateError::Io(error) => error.fmt(f),
            UpdateError::Read(error) => error.fmt(f),
            UpdateError::Busy => f.write_str("another run is at work on it"),
            UpdateError::Function(algorithm) => write!(f, "its digests are {}", algorithm.name()),
            UpdateError::Journal(path, reason) => {
                // Escaped: a name may contain control characters, and terminals show this message.
                let name = path.file_name().unwrap_or(path.as_os_str()).as_encoded_bytes();
                write!(f, "{} beside it: {reason}", name.escape_ascii())
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

impl ListUpdate {
    /// Starts an update of the list at `path`, which need not exist. `requested` is the requested function.
    ///
    /// # Errors
    /// See [`UpdateError`]. Nothing was changed.
    pub fn begin(path: &Path, requested: Option<Algorithm>) -> Result<ListUpdate, UpdateError> {
        let target = resolve(path).map_err(io::Error::from)?;
        if fs::symlink_metadata(&target).is_ok_and(|there| !there.is_file()) {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "not a regular file, so it cannot be replaced",
            )
            .into());
        }
        let journal = Locked::open(&target).map_err(|error| match error {
            LockError::Io(error) => UpdateError::Io(error),
            LockError::Busy => UpdateError::Busy,
            LockError::Foreign(reason) => match beside(&target, ".journal") {
                Ok(path) => UpdateError::Journal(path, reason),
                Err(error) => UpdateError::Io(error),
            },
        })?;
        // No other run is active from here on.
        let prepared = ListUpdate::read_old(&target, requested)
            .and_then(|beginning| Ok((beginning, Replacement::begin(&target).map_err(io::Error::from)?)));
        match prepared {
            Ok((beginning, new)) => Ok(ListUpdate::locked(journal, new, beginning)?),
            Err(error) => {
                journal.remove_if_empty();
                Err(error)
            }
        }
    }

    /// Reads the list and determines its function.
    fn read_old(target: &Path, requested: Option<Algorithm>) -> Result<InitialState, UpdateError> {
        let (old, there) = match File::open(target) {
            Ok(file) => {
                let metadata = file.metadata()?;
                let there =
                    ListFile { id: FileId::from_metadata(&metadata), stamp: Stamp::from_metadata(&metadata) };
                let old = ChecksumTable::read(BufReader::new(file), ListFormat::default())
                    .map_err(UpdateError::Read)?;
                (old, Some(there))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => (ChecksumTable::default(), None),
            Err(error) => return Err(error.into()),
        };
        let known = if old.is_empty() { None } else { old.algorithm() };
        if let (Some(known), Some(requested)) = (known, requested)
            && known != requested
        {
            return Err(UpdateError::Function(known));
        }
        let algorithm = match known.or(requested) {
            Some(algorithm) => algorithm,
            // A new list.
            None if old.is_empty() => Algorithm::default(),
            None => Algorithm::by_digest_len(old.digest_len()).next().ok_or_else(|| {
                io::Error::new(ErrorKind::InvalidData, "digests of a length that no function has")
            })?,
        };
        Ok(InitialState { old, there, algorithm })
    }

    fn locked(journal: Locked, new: Replacement, beginning: InitialState) -> io::Result<ListUpdate> {
        let InitialState { old, there, algorithm } = beginning;
        let (journal, recent) = journal.begin(algorithm)?;
        let mut new = BufWriter::with_capacity(64 * 1024, new);
        write_header(&mut new, algorithm)?;
        let old = Arc::new(old);
        Ok(ListUpdate { algorithm, retag: false, old, recent, journal, new, there })
    }

    /// The function of the digests.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The table of the old list.
    pub fn old(&self) -> &Arc<ChecksumTable> {
        &self.old
    }

    /// The temporary name of the new list, if it has one: a process that ends early must remove it, but keep
    /// the journal.
    pub fn temporary_name(&self) -> Option<&Path> {
        self.new.get_ref().temporary_name()
    }

    /// Did a list exist at the start of the run?
    pub fn replaces(&self) -> bool {
        self.there.is_some()
    }

    /// The files of the run.
    pub fn files(&self) -> Vec<FileId> {
        let new = self.new.get_ref().metadata().ok().as_ref().and_then(FileId::from_metadata);
        let there = self.there.as_ref().and_then(|there| there.id);
        [self.journal.id(), new, there].into_iter().flatten().collect()
    }

    /// The known digest of a file of this name, size and mtime; with `read`, only one that was read for this
    /// list by an interrupted run.
    pub fn known(&self, name: &[u8], size: u64, modified: Time, read: bool) -> Option<&[u8]> {
        let tables = [Some(&self.recent), (!read).then_some(&self.old)];
        tables.into_iter().flatten().find_map(|table| {
            let file = table.file(table.find(name)?);
            (file.size == Some(size) && file.modified == Some(modified)).then_some(file.digest)
        })
    }

    /// The old entry of a file.
    pub fn before(&self, name: &[u8]) -> Option<TableEntry<'_>> {
        self.old.find(name).map(|number| self.old.file(number))
    }

    /// Permits replacing rows of corrupt files, which is off by default: the old digest is the only evidence
    /// of the corruption.
    pub fn set_retag(&mut self, retag: bool) {
        self.retag = retag;
    }

    /// Writes the [known](ListUpdate::known) row of a file that was not read.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn keep(&mut self, row: TableEntry<'_>) -> io::Result<DigestVerdict> {
        self.put(row, row.modified, false)
    }

    /// Writes the row of a file, or the old row if the file is corrupt.
    fn put(&mut self, row: TableEntry<'_>, modified: Option<Time>, read: bool) -> io::Result<DigestVerdict> {
        let old = self.old.find(row.name).map(|number| self.old.file(number));
        let verdict = DigestVerdict::compare(old.map(|old| old.expected()), row.digest, modified);
        let (row, read) = match old {
            Some(old) if verdict == DigestVerdict::Corrupt && !self.retag => (old, false),
            _ => (row, read),
        };
        if read {
            self.journal.add(row)?;
        }
        write_file(&mut self.new, row, self.algorithm)?;
        Ok(verdict)
    }

    /// Keeps the old row with this number.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn keep_number(&mut self, number: u32) -> io::Result<()> {
        write_file(&mut self.new, self.old.file(number), self.algorithm)
    }

    /// Keeps the old row of a file, if there is one.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn keep_old(&mut self, name: &[u8]) -> io::Result<bool> {
        match self.old.find(name) {
            Some(number) => self.keep_number(number).map(|()| true),
            None => Ok(false),
        }
    }

    /// Adds the row of a file that was read, also to the journal for the next run. `modified` is the mtime
    /// before and after reading, if equal; the row contains it only if it proves that the file did not
    /// change.
    ///
    /// The old row of a corrupt file is kept, unless [`set_retag`](ListUpdate::set_retag) permits replacing
    /// it.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn take(&mut self, row: TableEntry<'_>, modified: Option<Time>) -> io::Result<DigestVerdict> {
        self.put(row, modified, true)
    }

    /// Writes buffered rows to the journal.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn flush(&mut self) -> io::Result<()> {
        self.journal.flush()
    }

    /// Replaces the old list by the new one.
    ///
    /// # Errors
    /// Errors of the system, and [`ReplaceError::Changed`] or [`ReplaceError::Exists`] if another program
    /// wrote the list meanwhile. The old list and the journal are kept then.
    pub fn finish(self) -> Result<Finished, ReplaceError> {
        let ListUpdate { mut journal, new, there, .. } = self;
        journal.flush()?;
        let new = new.into_inner().map_err(io::IntoInnerError::into_error)?;
        let finished = new.finish(there.map_or(Expected::Absent, |there| Expected::Stamp(there.stamp)))?;
        // Last: after a power cut, the next run has the new list or the journal.
        journal.remove();
        Ok(finished)
    }

    /// Abandons the run: the old list is unchanged. The journal is removed, unless an earlier interrupted run
    /// had added rows.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn abandon(mut self) -> io::Result<()> {
        if !self.recent.is_empty() {
            return self.journal.flush();
        }
        self.journal.remove();
        Ok(())
    }
}

/// The temporary files that runs on the list at `path`, and other programs of Hashmill, may have left beside
/// it.
pub fn leftover_files(path: &Path) -> Vec<FileId> {
    let target = resolve(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let temporary = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_temporary));
    let paths = temporary.map(|entry| entry.path()).chain(beside(&target, ".journal"));
    paths.flat_map(fs::symlink_metadata).flat_map(|metadata| FileId::from_metadata(&metadata)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn row<'a>(name: &'a str, digest: &'a [u8; 32], time: i64) -> TableEntry<'a> {
        TableEntry { name: name.as_bytes(), digest, size: Some(5), modified: Some(Time::from_nanos(time)) }
    }

    #[test]
    fn rows_of_an_interrupted_run_are_known_to_the_next() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("SUMS");
        let mut first = ListUpdate::begin(&path, None).expect("no other update is running");
        first.take(row("a", &[1; 32], 1), Some(Time::from_nanos(1))).expect("room");
        first.finish().expect("room");
        let text = fs::read(&path).expect("a list");
        assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 1);

        let mut second = ListUpdate::begin(&path, None).expect("no other update is running");
        assert!(matches!(ListUpdate::begin(&path, None), Err(UpdateError::Busy)));
        second.take(row("a", &[2; 32], 2), Some(Time::from_nanos(2))).expect("room");
        second.take(row("b", &[3; 32], 3), Some(Time::from_nanos(3))).expect("room");
        second.flush().expect("room");
        drop(second);
        // As after a signal: half a line is left.
        let journal = fs::OpenOptions::new().append(true).open(dir.path().join(".SUMS.journal"));
        journal.and_then(|mut journal| journal.write_all(b"# 5 4.0000")).expect("our own file");
        assert_eq!(fs::read(&path).expect("a list"), text, "the old list is unchanged");

        let mut third = ListUpdate::begin(&path, None).expect("no other update is running");
        let known = |update: &ListUpdate, name: &str, time| {
            update.known(name.as_bytes(), 5, Time::from_nanos(time), false).map(|digest| digest[0])
        };
        assert_eq!(
            [known(&third, "a", 2), known(&third, "b", 3), known(&third, "b", 4)],
            [Some(2), Some(3), None]
        );
        assert_eq!(known(&third, "a", 1), Some(1), "the old row is still valid");
        assert!(third.known(b"a", 5, Time::from_nanos(1), true).is_none(), "it was not read again");
        third.take(row("c", &[4; 32], 9), Some(Time::from_nanos(9))).expect("room");
        assert!(third.keep_old(b"a").expect("room") && !third.keep_old(b"z").expect("room"));
        third.flush().expect("room");
        drop(third);
        let fourth = ListUpdate::begin(&path, None).expect("no other update is running");
        assert_eq!([known(&fourth, "b", 3), known(&fourth, "c", 9)], [Some(3), Some(4)]);
        assert!(matches!(fourth.algorithm(), Algorithm::Blake3));
        drop(fourth);
        assert!(matches!(
            ListUpdate::begin(&path, Some(Algorithm::Md5)),
            Err(UpdateError::Function(Algorithm::Blake3))
        ));
    }

    /// Rule of rows: a row whose mtime the file still has is replaced only by its own digest, through every
    /// method and the journal, unless replacing is allowed.
    #[test]
    fn the_row_of_a_corrupt_file_stays_until_it_is_retagged() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("SUMS");
        let digest = |path: &Path| {
            let table = ChecksumTable::read(&*fs::read(path).expect("a list"), ListFormat::default());
            table.expect("a list").file(0).digest[0]
        };
        let run = |retag, digest, time, finish: bool| {
            let mut update = ListUpdate::begin(&path, None).expect("no other run");
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
        assert_eq!((run(false, 1, 7, true), digest(&path)), (DigestVerdict::New, 1));
        assert_eq!((run(false, 2, 7, true), digest(&path)), (DigestVerdict::Corrupt, 1));
        // An interrupted run with permission to replace does not grant it to the next one.
        assert_eq!((run(true, 2, 7, false), digest(&path)), (DigestVerdict::Corrupt, 1));
        assert_eq!((run(false, 2, 7, true), digest(&path)), (DigestVerdict::Corrupt, 1));
        assert_eq!((run(true, 2, 7, true), digest(&path)), (DigestVerdict::Corrupt, 2));
        assert_eq!((run(false, 3, 8, true), digest(&path)), (DigestVerdict::Outdated, 3));
        assert_eq!((run(false, 3, 9, true), digest(&path)), (DigestVerdict::Touched, 3));
        ListUpdate::begin(&path, None).and_then(|update| Ok(update.abandon()?)).expect("room");
        assert_eq!((fs::read_dir(dir.path()).expect("a directory").count(), digest(&path)), (1, 3));
        // Rows of an interrupted run outlive an abandoned one.
        run(false, 4, 10, false);
        ListUpdate::begin(&path, None).and_then(|update| Ok(update.abandon()?)).expect("room");
        let update = ListUpdate::begin(&path, None).expect("no other run");
        assert_eq!(update.known(b"a", 5, Time::from_nanos(10), true), Some(&[4; 32][..]));
    }

    #[test]
    fn truncated_list_is_refused_and_stays() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("SUMS");
        let text = format!("{}  a\n{}", "ab".repeat(32), "cd".repeat(20));
        fs::write(&path, &text).expect("room");
        assert!(matches!(ListUpdate::begin(&path, None), Err(UpdateError::Read(_))));
        assert_eq!(fs::read_to_string(&path).expect("our own file"), text);
    }

    /// Entries of another user at the journal's path: refused at once, and left unchanged with their targets.
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
        for (plant, reason) in plants {
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
                match ListUpdate::begin(&path, None) {
                    Err(UpdateError::Journal(at, found)) => {
                        assert_eq!((at, found), (journal.clone(), reason.clone()));
                    }
                    other => panic!("{reason:?}: {other:?}"),
                }
                assert_eq!(facts(), before);
                assert_eq!(fs::read(&secret).expect("our file"), b"for me alone");
                assert!(!path.exists() && !dir.path().join("nowhere").exists());
                fs::write(&path, format!("{}  a\n", "ab".repeat(32))).expect("a list changes nothing");
                assert!(matches!(ListUpdate::begin(&path, None), Err(UpdateError::Journal(..))));
                fs::remove_file(&path).expect("our file");
            }
        }
    }

    /// An editor, or a program that ignores the lock.
    #[test]
    fn list_written_by_another_program_meanwhile_stays() {
        for before in [None, Some("ab")] {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("SUMS");
            let line = |hex: &str, name: &str| format!("{}  {name}\n", hex.repeat(32));
            if let Some(hex) = before {
                fs::write(&path, line(hex, "a")).expect("space");
            }
            let mut update = ListUpdate::begin(&path, None).expect("no other run");
            assert_eq!(update.replaces(), before.is_some());
            update.take(row("b", &[3; 32], 3), Some(Time::from_nanos(3))).expect("space");
            fs::write(&path, line("cd", "another")).expect("space");
            let error = update.finish().expect_err("it was changed");
            assert_eq!(matches!(error, ReplaceError::Changed), before.is_some(), "{error:?}");
            assert_eq!(fs::read_to_string(&path).expect("a list"), line("cd", "another"));
            let next = ListUpdate::begin(&path, None).expect("no other run");
            assert!(next.known(b"b", 5, Time::from_nanos(3), false).is_some(), "nothing is hashed twice");
        }
    }
}
