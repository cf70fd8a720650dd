//! Journal of an update: records with checksums, in a file beside the list, which the next run reads if this
//! one is interrupted.
//!
//! ```text
//! # hashmill journal 1 FUNCTION ID NAME
//! # SIZE SECONDS.NANOSECONDS
//! HEX  NAME
//! #= CHECKSUM
//! ```
//! ID is random. A checksum covers the header, all earlier records, and its own; so a record that was
//! changed, moved or copied from another journal is ignored, with all records behind it. Checksums detect
//! accidents. Against other users, the file is opened only if it belongs to this one.

use crate::checksum_list::table::{ChecksumTable, TableEntry, write_file, write_header};
use crate::checksum_list::{Algorithm, LINE_LIMIT, ListFormat};
use crate::os::FileId;
use hashmill_atomic_file::{Error as OpenError, Refusal, open_own};
use hashmill_hash::blake3::Hasher;
use hashmill_hash::hex;
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MAGIC: &str = "# hashmill journal ";
const VERSION: &str = "1";
const CHECKSUM: &str = "#= ";
/// The maximum length of a record: two lines, of which one has a name.
const RECORD_LIMIT: usize = LINE_LIMIT + 1024;

/// The reason why a file with the name of a journal is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ForeignJournal {
    /// The kind of the entry, its owner, or its further names.
    Entry(Refusal),
    /// Its first line is not the header of a journal.
    Content,
    /// It was written by another version of this program.
    Version,
    /// It belongs to the list of this name.
    OtherList(String),
}

impl fmt::Display for ForeignJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a journal of hashmill for this list: ")?;
        match self {
            ForeignJournal::Entry(refusal) => refusal.fmt(f)?,
            ForeignJournal::Content => f.write_str("its first line is another one")?,
            ForeignJournal::Version => f.write_str("another version has written it")?,
            ForeignJournal::OtherList(name) => write!(f, "it belongs to the list {name}")?,
        }
        f.write_str("; it was left as it is: move it away, or remove it")
    }
}

/// The reason why the journal cannot be locked.
#[derive(Debug)]
pub(super) enum LockError {
    Io(io::Error),
    Busy,
    Foreign(ForeignJournal),
}

impl From<io::Error> for LockError {
    fn from(error: io::Error) -> LockError {
        LockError::Io(error)
    }
}

/// Running checksum over the header and all records so far.
#[derive(Clone, Debug)]
struct Chain([u8; 32]);

impl Chain {
    fn from_header(line: &[u8]) -> Chain {
        Chain([0; 32]).next(line)
    }

    fn next(&self, bytes: &[u8]) -> Chain {
        Chain(*Hasher::new_keyed(&self.0).update(bytes).finalize().as_bytes())
    }

    /// The line behind a record.
    fn line(&self) -> String {
        format!("{CHECKSUM}{}\n", hex::encode(&self.0[..8]))
    }
}

/// First line of a journal.
struct Header {
    function: Option<Algorithm>,
    line: Vec<u8>,
}

impl Header {
    fn new(algorithm: Algorithm, list: &str) -> Header {
        // The randomness of the standard library suffices: an id must be unique, not secret.
        let [a, b] = [0, 1].map(|n: u8| RandomState::new().hash_one(n));
        let line = format!("{MAGIC}{VERSION} {} {a:016x}{b:016x} {list}\n", algorithm.key());
        Header { function: Some(algorithm), line: line.into_bytes() }
    }

    /// Reads the first line; `None` if the file is empty or ends within its header.
    fn read(file: &mut impl BufRead, list: &str) -> Result<Option<Header>, LockError> {
        let foreign = |reason| Err(LockError::Foreign(reason));
        let mut line = Vec::new();
        file.take(LINE_LIMIT as u64).read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            let begins = line.starts_with(MAGIC.as_bytes()) || MAGIC.as_bytes().starts_with(&line);
            return if begins && line.len() < LINE_LIMIT {
                Ok(None)
            } else {
                foreign(ForeignJournal::Content)
            };
        }
        let Ok(text) = std::str::from_utf8(&line) else { return foreign(ForeignJournal::Content) };
        let Some(text) = text.trim_end().strip_prefix(MAGIC) else { return foreign(ForeignJournal::Content) };
        let mut words = text.splitn(4, ' ');
        let [Some(version), Some(function), Some(_), Some(name)] = [(); 4].map(|()| words.next()) else {
            return foreign(ForeignJournal::Content);
        };
        match (version, Algorithm::by_key(function)) {
            (VERSION, function @ Some(_)) if name == list => Ok(Some(Header { function, line })),
            (VERSION, Some(_)) => foreign(ForeignJournal::OtherList(name.to_owned())),
            _ => foreign(ForeignJournal::Version),
        }
    }
}

/// Locked journal of one list, not yet written to.
#[derive(Debug)]
pub(super) struct Locked {
    path: PathBuf,
    /// Name of the list, in letters that cannot end a line.
    list: String,
    file: File,
}

impl Locked {
    /// Opens and locks the journal of the list `target`, or creates it.
    pub(super) fn open(target: &Path) -> Result<Locked, LockError> {
        let path = hashmill_atomic_file::beside(target, ".journal")?;
        let name = target.file_name().ok_or_else(|| io::Error::from(ErrorKind::InvalidInput))?;
        let list = name.as_encoded_bytes().escape_ascii().to_string();
        loop {
            let file = match open_own(&path) {
                Ok(file) => file,
                Err(OpenError::Refused(refusal)) => {
                    return Err(LockError::Foreign(ForeignJournal::Entry(refusal)));
                }
                Err(error) => return Err(io::Error::from(error).into()),
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(LockError::Busy),
                // A file system without locks: an update without protection is better than none.
                Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
            // An earlier run may have removed it between the two calls.
            if is_at(&file, &path)? {
                let locked = Locked { path, list, file };
                // Refused before anything depends on it.
                Header::read(&mut BufReader::new(&locked.file), &locked.list)?;
                return Ok(locked);
            }
        }
    }

    /// Removes it if this run created it.
    pub(super) fn remove_if_empty(self) {
        if self.file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            let _ = fs::remove_file(self.path);
        }
    }

    /// Reads the valid records, removes the rest, and prepares to append.
    pub(super) fn begin(self, algorithm: Algorithm) -> io::Result<(Journal, ChecksumTable)> {
        let Locked { path, list, mut file } = self;
        let (header, chain, end, recent) = read(&mut file, &list, algorithm)?;
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        if end == 0 {
            file.write_all(&header.line)?;
        }
        let journal = Journal { path, file: BufWriter::new(file), algorithm, chain, record: Vec::new() };
        Ok((journal, recent))
    }
}

/// The header, the checksum and the end of the valid records, and the records. A journal by another function
/// has none.
fn read(
    file: &mut File,
    list: &str,
    algorithm: Algorithm,
) -> io::Result<(Header, Chain, u64, ChecksumTable)> {
    file.rewind()?;
    let mut reader = BufReader::new(&mut *file);
    let header = match Header::read(&mut reader, list) {
        Err(LockError::Io(error)) => return Err(error),
        Ok(Some(header)) if header.function == Some(algorithm) => header,
        _ => {
            let header = Header::new(algorithm, list);
            let chain = Chain::from_header(&header.line);
            return Ok((header, chain, 0, ChecksumTable::default()));
        }
    };
    let mut chain = Chain::from_header(&header.line);
    let records = valid_records_len(&mut reader, &mut chain)?;
    let begin = header.line.len() as u64;
    file.seek(SeekFrom::Start(begin))?;
    let mut text = Vec::new();
    write_header(&mut text, algorithm)?;
    let records_only = BufReader::new(file).take(records);
    let recent = ChecksumTable::read_beginning(text.chain(records_only), ListFormat::default());
    Ok((header, chain, begin + records, recent))
}

/// Length of the records with valid checksums, up to the first invalid one; updates `chain`.
fn valid_records_len(reader: &mut impl BufRead, chain: &mut Chain) -> io::Result<u64> {
    let (mut len, mut record, mut line) = (0, Vec::new(), Vec::new());
    loop {
        line.clear();
        reader.take(RECORD_LIMIT as u64).read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') || record.len() + line.len() > RECORD_LIMIT {
            return Ok(len);
        }
        if !line.starts_with(CHECKSUM.as_bytes()) {
            record.extend(&line);
            continue;
        }
        let next = chain.next(&record);
        if next.line().as_bytes() != line {
            return Ok(len);
        }
        *chain = next;
        len += (record.len() + line.len()) as u64;
        record.clear();
    }
}

/// Does the path refer to this file?
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let own = FileId::from_metadata(&file.metadata()?);
    Ok(fs::symlink_metadata(path).is_ok_and(|there| FileId::from_metadata(&there) == own))
}

/// Journal that records are added to.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: BufWriter<File>,
    algorithm: Algorithm,
    chain: Chain,
    record: Vec<u8>,
}

impl Journal {
    /// Adds a record.
    pub(super) fn add(&mut self, row: TableEntry<'_>) -> io::Result<()> {
        self.record.clear();
        write_file(&mut self.record, row, self.algorithm)?;
        self.chain = self.chain.next(&self.record);
        self.file.write_all(&self.record)?;
        self.file.write_all(self.chain.line().as_bytes())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    pub(super) fn id(&self) -> Option<FileId> {
        self.file.get_ref().metadata().ok().as_ref().and_then(FileId::from_metadata)
    }

    /// Removes it, once the list has all of its records. A journal that cannot be removed contains nothing
    /// new, and the next run removes it.
    pub(super) fn remove(self) {
        let file = self.file.get_ref();
        if is_at(file, &self.path).is_ok_and(|is_there| is_there) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::Time;

    const LIST: &str = "M";

    fn open(target: &Path) -> (Journal, ChecksumTable) {
        Locked::open(target).expect("no other run").begin(Algorithm::Blake3).expect("space")
    }

    fn row(number: u8, name: &str) -> TableEntry<'_> {
        const DIGESTS: [[u8; 32]; 4] = [[0; 32], [1; 32], [2; 32], [3; 32]];
        TableEntry {
            name: name.as_bytes(),
            digest: &DIGESTS[number as usize],
            size: Some(5),
            modified: Some(Time::from_nanos(number.into())),
        }
    }

    const NAMES: [&str; 4] = ["a", "odd\n#= 0123456789abcdef\n", "# 5 1.000000000", "d/c"];

    /// A journal of four records.
    fn written(target: &Path) -> Vec<u8> {
        let (mut journal, recent) = open(target);
        assert!(recent.is_empty());
        for (number, name) in (0..).zip(NAMES) {
            journal.add(row(number, name)).expect("space");
        }
        journal.flush().expect("space");
        fs::read(hashmill_atomic_file::beside(target, ".journal").expect("a name")).expect("a file")
    }

    fn rows(table: &ChecksumTable) -> usize {
        for (number, file) in (0..).zip(table.files()) {
            assert_eq!(file, row(number, NAMES[number as usize]), "a made-up record is valid_records_len");
        }
        table.len()
    }

    /// For any damage: the records before it are valid and no others, and appended records are found by the
    /// next run.
    #[test]
    fn a_damaged_record_is_not_believed_nor_is_any_behind_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = dir.path().join(LIST);
        let whole = written(&target);
        let path = dir.path().join(".M.journal");
        let text = String::from_utf8(whole.clone()).expect("text");
        let begin = text.find('\n').expect("a header") + 1;
        // Where each record ends, with its checksum.
        let ends: Vec<usize> = text.match_indices("\n#= ").map(|(at, _)| at + 21).collect();
        assert_eq!((ends.len(), ends.last()), (4, Some(&whole.len())), "{text}");
        let before = |at: usize| ends.iter().filter(|end| **end <= at).count();
        let read_back = |bytes: &[u8]| {
            fs::write(&path, bytes).expect("our file");
            let (mut journal, recent) = open(&target);
            let count = rows(&recent);
            if count < 4 {
                journal.add(row(count as u8, NAMES[count])).expect("space");
                journal.flush().expect("space");
                drop(journal);
                assert_eq!(rows(&open(&target).1), count + 1);
            }
            count
        };
        for at in begin..whole.len() {
            let mut damaged = whole.clone();
            match at % 3 {
                0 => damaged[at] ^= 1 << (at % 8),
                1 => damaged.truncate(at),
                _ => damaged[at..].fill(0),
            }
            assert_eq!(read_back(&damaged), before(at), "byte {at} of {text}");
        }
        // Records in another order, twice, or of another journal.
        let record = |number: usize| &whole[number.checked_sub(1).map_or(begin, |n| ends[n])..ends[number]];
        let head = &whole[..begin];
        assert_eq!(read_back(&[head, record(1), record(0)].concat()), 0);
        assert_eq!(read_back(&[head, record(0), record(0)].concat()), 1);
        assert_eq!(read_back(&[head, record(0), record(2)].concat()), 1);
        fs::remove_file(&path).expect("our file");
        let other = written(&target);
        assert_ne!(other[..begin], whole[..begin], "ids differ");
        assert_eq!(read_back(&[&other[..begin], &whole[begin..]].concat()), 0);
        assert_eq!(read_back(&other), 4);
    }

    #[test]
    fn a_header_that_was_cut_off_is_written_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = dir.path().join(LIST);
        let whole = written(&target);
        let begin = whole.iter().position(|&byte| byte == b'\n').expect("a header");
        for cut in 0..=begin {
            fs::write(dir.path().join(".M.journal"), &whole[..cut]).expect("our file");
            let (mut journal, recent) = open(&target);
            assert!(recent.is_empty());
            journal.add(row(0, NAMES[0])).expect("space");
            journal.flush().expect("space");
            drop(journal);
            assert_eq!(rows(&open(&target).1), 1, "cut at {cut}");
        }
    }

    #[test]
    fn files_that_are_no_journals_of_this_list_stay_as_they_are() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = dir.path().join(LIST);
        let path = dir.path().join(".M.journal");
        let header = format!("{MAGIC}1 blake3 00112233445566778899aabbccddeeff ");
        for (text, reason) in [
            ("my own notes\n".to_owned(), ForeignJournal::Content),
            ("my own notes, without a line end".to_owned(), ForeignJournal::Content),
            ("\n".to_owned(), ForeignJournal::Content),
            ("# hashmill manifest 1 blake3\n".to_owned(), ForeignJournal::Content),
            (format!("{MAGIC}1 blake3\n"), ForeignJournal::Content),
            ("x".repeat(2 * LINE_LIMIT), ForeignJournal::Content),
            (format!("{MAGIC}{}", "x".repeat(2 * LINE_LIMIT)), ForeignJournal::Content),
            (format!("{header}OTHER\n"), ForeignJournal::OtherList("OTHER".to_owned())),
            (header.replace(" 1 ", " 2 ") + "M\n", ForeignJournal::Version),
            (header.replace("blake3", "blake9") + "M\n", ForeignJournal::Version),
        ] {
            fs::write(&path, &text).expect("a file");
            match Locked::open(&target) {
                Err(LockError::Foreign(found)) => assert_eq!(found, reason, "{text:.60}"),
                other => panic!("{text:.60}: {other:?}"),
            }
            assert!(fs::read_to_string(&path).expect("a file") == text, "{text:.60}");
        }
    }

    #[test]
    fn a_journal_by_another_function_is_started_anew() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = dir.path().join(LIST);
        drop(written(&target));
        let locked = Locked::open(&target).expect("no other run");
        let (journal, recent) = locked.begin(Algorithm::Sha256).expect("space");
        assert!(recent.is_empty());
        assert!(matches!(Locked::open(&target), Err(LockError::Busy)));
        journal.remove();
        assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 0);
    }
}
