//! Manifests: what many files were, in little memory; how they are read, written, and compared with what the files are.
//!
//! A manifest is a list that says more of each file, in a comment before its line, so that whatever checks lists checks it:
//!
//! ```text
//! # hashmill manifest 1 FUNCTION
//! # SIZE SECONDS.NANOSECONDS           when the file was last changed; - if that proves nothing
//! HEX  NAME
//! ```
//! Every other list of files is one, too, without sizes and times.

mod audit;
mod journal;
mod scope;
mod shut;
mod update;

pub use audit::{Audit, Finding, Rest};
pub use journal::ForeignJournal;
pub use scope::{Scope, tidy};
pub use shut::Shut;
pub use update::{Update, UpdateError, leftovers};

use crate::checkfile::{Algorithm, Entry, Frame, LineError, List, MANIFEST, Mode, Parsed, Style};
use crate::os;
use crate::time::Time;
use crate::verdict::Stored;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

/// What is known of one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct File<'a> {
    /// The bytes of its name.
    pub name: &'a [u8],
    /// Its digest, by the function of the manifest.
    pub digest: &'a [u8],
    /// Its size, if the manifest has it.
    pub size: Option<u64>,
    /// When it was last changed, if the manifest has it.
    pub modified: Option<Time>,
}

impl<'a> File<'a> {
    /// The part of a row that files are compared with.
    pub fn stored(&self) -> Stored<'a> {
        Stored { digest: self.digest, modified: self.modified }
    }
}

/// What many files were. A million of them take about 130 MB if their names have 60 bytes.
#[derive(Debug, Default)]
pub struct Manifest {
    /// All names, one after the other.
    names: Vec<u8>,
    /// All digests, as many bytes each.
    digests: Vec<u8>,
    digest_len: usize,
    rows: Vec<Row>,
    algorithm: Option<Algorithm>,
    /// Places of rows by their names' hashes: a row's number plus one, or 0. Twice as many as rows at least.
    index: Vec<u32>,
    hasher: RandomState,
}

#[derive(Debug)]
struct Row {
    name_end: u64,
    size: u64,
    modified: i64,
}

/// In the place of what is not known.
const NO_SIZE: u64 = u64::MAX;
const NO_TIME: i64 = i64::MIN;

/// Why a file is no manifest.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// It cannot be read.
    Io(io::Error),
    /// A line says nothing.
    Line(u64, LineError),
    /// Digests by several functions: line, and what it has, beside what those before have.
    Mixed(u64),
    /// Digests under a key, or of another part of the output than its beginning.
    Special(u64),
    /// More than four thousand million files.
    TooMany,
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReadError::Io(error) => error.fmt(f),
            ReadError::Line(line, error) => write!(f, "line {line}: {error}"),
            ReadError::Mixed(line) => {
                write!(f, "line {line}: a digest by another function than those before")
            }
            ReadError::Special(line) => {
                write!(f, "line {line}: a digest that needs a key or an offset, which only --check takes")
            }
            ReadError::TooMany => f.write_str("too many files"),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        ReadError::Io(error)
    }
}

impl Manifest {
    /// One without files, whose digests are by this function.
    pub fn new(algorithm: Algorithm) -> Manifest {
        Manifest { algorithm: Some(algorithm), digest_len: algorithm.digest_len(), ..Manifest::default() }
    }

    /// Reads a list of whatever kind. Of a name that comes twice, the last line counts. Digests of directories are passed
    /// over.
    ///
    /// # Errors
    /// The first line that says nothing, or cannot be meant. Half a manifest would make every other file look new.
    pub fn read(reader: impl BufRead, style: Style) -> Result<Manifest, ReadError> {
        let mut list = List::new(reader, style);
        let mut manifest = Manifest::default();
        while let Some((line, parsed)) = list.next_line()? {
            match parsed.map_err(|error| ReadError::Line(line, error))? {
                Parsed::Entry(entry) if entry.is_tree() => {}
                Parsed::Entry(entry) => manifest.take(line, &entry)?,
                Parsed::Nothing(_) => {}
            }
        }
        manifest.algorithm = manifest.algorithm.or(list.manifest());
        Ok(manifest)
    }

    /// Reads as much of a list as there is: up to the first line that is not whole, as of a run that was interrupted.
    pub(crate) fn read_beginning(reader: impl BufRead, style: Style) -> Manifest {
        let mut list = List::new(reader, style);
        let mut manifest = Manifest::default();
        while let Ok(Some((line, Ok(parsed)))) = list.next_line() {
            if let Parsed::Entry(entry) = parsed
                && manifest.take(line, &entry).is_err()
            {
                break;
            }
        }
        manifest.algorithm = manifest.algorithm.or(list.manifest());
        manifest
    }

    fn take(&mut self, line: u64, entry: &Entry) -> Result<(), ReadError> {
        let special = entry.seek.is_some_and(|seek| seek > 0)
            || matches!(entry.mode, Some(Mode::Keyed | Mode::DeriveKey));
        if special {
            return Err(ReadError::Special(line));
        }
        if self.rows.is_empty() {
            (self.algorithm, self.digest_len) = (entry.algorithm, entry.digest.len());
        }
        let other =
            entry.algorithm.is_some() && self.algorithm.is_some() && entry.algorithm != self.algorithm;
        if other || entry.digest.len() != self.digest_len {
            return Err(ReadError::Mixed(line));
        }
        self.algorithm = self.algorithm.or(entry.algorithm);
        let name = tidy(entry.path.as_os_str().as_encoded_bytes());
        self.insert(File { name: &name, digest: &entry.digest, size: entry.size, modified: entry.modified })
            .map_err(|_| ReadError::TooMany)
    }

    /// Adds a file, or replaces what is known of one of this name.
    ///
    /// # Errors
    /// That there are more than can be numbered.
    pub fn insert(&mut self, file: File<'_>) -> Result<(), TooMany> {
        if self.rows.is_empty() {
            self.digest_len = file.digest.len();
        }
        debug_assert_eq!(file.digest.len(), self.digest_len);
        let (size, modified) = (file.size.unwrap_or(NO_SIZE), file.modified.map_or(NO_TIME, Time::nanos));
        if let Some(row) = self.find(file.name) {
            let digest = row as usize * self.digest_len;
            self.digests[digest..digest + self.digest_len].copy_from_slice(file.digest);
            let row = &mut self.rows[row as usize];
            (row.size, row.modified) = (size, modified);
            return Ok(());
        }
        let number = u32::try_from(self.rows.len() + 1).map_err(|_| TooMany)?;
        self.names.extend(file.name);
        self.digests.extend(file.digest);
        self.rows.push(Row { name_end: self.names.len() as u64, size, modified });
        if self.rows.len() * 2 > self.index.len() {
            self.grow();
        } else {
            self.place(number, file.name);
        }
        Ok(())
    }

    fn grow(&mut self) {
        let places = (self.rows.len() * 4).next_power_of_two().max(16);
        self.index = vec![0; places];
        for number in 0..self.rows.len() {
            let name = name(&self.names, &self.rows, number);
            let place = free(&self.index, self.hasher.hash_one(name));
            self.index[place] = number as u32 + 1;
        }
    }

    fn place(&mut self, number: u32, name: &[u8]) {
        let place = free(&self.index, self.hasher.hash_one(name));
        self.index[place] = number;
    }

    /// The number of the file with this name.
    pub fn find(&self, name: &[u8]) -> Option<u32> {
        if self.index.is_empty() {
            return None;
        }
        let mask = self.index.len() - 1;
        let mut place = self.hasher.hash_one(name) as usize & mask;
        loop {
            let number = self.index[place].checked_sub(1)?;
            if self.name(number) == name {
                return Some(number);
            }
            place = (place + 1) & mask;
        }
    }

    fn name(&self, number: u32) -> &[u8] {
        name(&self.names, &self.rows, number as usize)
    }

    /// The file with this number. Numbers count from 0, in the order of the lines.
    pub fn file(&self, number: u32) -> File<'_> {
        let row = &self.rows[number as usize];
        let digest = number as usize * self.digest_len;
        File {
            name: self.name(number),
            digest: &self.digests[digest..digest + self.digest_len],
            size: (row.size != NO_SIZE).then_some(row.size),
            modified: (row.modified != NO_TIME).then(|| Time::from_nanos(row.modified)),
        }
    }

    /// All files, in the order of the lines.
    pub fn files(&self) -> impl Iterator<Item = File<'_>> {
        (0..self.rows.len() as u32).map(|number| self.file(number))
    }

    /// How many files.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// By which function the digests are, if that is known.
    pub fn algorithm(&self) -> Option<Algorithm> {
        self.algorithm
    }

    /// Says by which function the digests are.
    pub fn set_algorithm(&mut self, algorithm: Algorithm) {
        self.algorithm = Some(algorithm);
    }

    /// How many bytes each digest has.
    pub fn digest_len(&self) -> usize {
        self.digest_len
    }
}

/// More files than can be numbered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMany;

fn name<'a>(names: &'a [u8], rows: &[Row], number: usize) -> &'a [u8] {
    let start = number.checked_sub(1).map_or(0, |before| rows[before].name_end);
    &names[start as usize..rows[number].name_end as usize]
}

/// The first free place from that of a hash on. There always is one.
fn free(index: &[u32], hash: u64) -> usize {
    let mask = index.len() - 1;
    let mut place = hash as usize & mask;
    while index[place] != 0 {
        place = (place + 1) & mask;
    }
    place
}

/// Writes the first line of a manifest.
///
/// # Errors
/// What the writer reports.
pub fn write_header(out: &mut dyn Write, algorithm: Algorithm) -> io::Result<()> {
    writeln!(out, "{MANIFEST}{}", algorithm.key())
}

/// Writes what a manifest has about one file.
///
/// # Errors
/// What the writer reports.
pub fn write_file(out: &mut dyn Write, file: File<'_>, algorithm: Algorithm) -> io::Result<()> {
    if let Some(size) = file.size {
        match file.modified {
            Some(time) => writeln!(out, "# {size} {time}")?,
            None => writeln!(out, "# {size} -")?,
        }
    }
    let style = Style { algorithm, bytes: true, ..Style::default() };
    let frame = Frame::plain(&path(file.name), style);
    out.write_all(&frame.before)?;
    for byte in file.digest {
        write!(out, "{byte:02x}")?;
    }
    out.write_all(&frame.after)
}

/// The path that a name in a manifest stands for.
pub fn path(name: &[u8]) -> PathBuf {
    // Names come from paths of this system, or were held to its rules when they were read.
    os::name(name.to_vec()).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, digest: u8) -> File<'_> {
        const DIGESTS: [[u8; 32]; 3] = [[0; 32], [1; 32], [2; 32]];
        File { name: name.as_bytes(), digest: &DIGESTS[digest as usize], size: None, modified: None }
    }

    #[test]
    fn names_are_found_however_many_there_are() {
        let mut manifest = Manifest::new(Algorithm::Blake3);
        for n in 0..5000 {
            manifest.insert(file(&n.to_string(), (n % 3) as u8)).expect("few");
        }
        for n in (0..5000).rev() {
            let name = n.to_string();
            let number = manifest.find(name.as_bytes()).expect("it is there");
            assert_eq!((number, manifest.file(number)), (n, file(&name, (n % 3) as u8)));
        }
        assert_eq!(manifest.find(b"5000"), None);
        assert_eq!(Manifest::default().find(b""), None);
        manifest.insert(file("7", 0)).expect("few");
        assert_eq!((manifest.len(), manifest.file(7).digest[0]), (5000, 0));
    }

    #[test]
    fn what_is_written_can_be_read() {
        let time = Some(Time::from_nanos(1_700_000_000_123_456_789));
        // Where a backslash stands between names, none is in one.
        let odd = if os::BACKSLASH_SEPARATES { "d/b\n" } else { "d/b\n\\" };
        let files = [
            File { size: Some(7), modified: time, ..file("a", 0) },
            File { size: Some(0), ..file(odd, 1) },
            file("c", 2),
        ];
        let mut text = Vec::new();
        write_header(&mut text, Algorithm::Sha256).expect("memory does not fail");
        for file in files {
            write_file(&mut text, file, Algorithm::Sha256).expect("memory does not fail");
        }
        let manifest = Manifest::read(&text[..], Style::default()).expect("what was written");
        assert_eq!(manifest.algorithm(), Some(Algorithm::Sha256));
        assert_eq!(manifest.files().collect::<Vec<_>>(), files);
        // Whatever is cut off: what comes before is whole, or it is no manifest.
        for cut in 0..text.len() {
            let beginning = Manifest::read_beginning(&text[..cut], Style::default());
            assert!(beginning.files().zip(files).all(|(read, file)| read.digest == file.digest), "{cut}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let hex = "ab".repeat(32);
        let read =
            |text: String| Manifest::read(text.as_bytes(), Style::default()).map(|manifest| manifest.len());
        assert_eq!(read(format!("{hex}  a\n{hex}  ./a\n{hex}  d/\n")).expect("one file"), 1);
        assert!(matches!(read(format!("{hex}  a\nhello\n")), Err(ReadError::Line(2, _))));
        assert!(matches!(read(format!("{hex}  a\n{}  b\n", &hex[..40])), Err(ReadError::Mixed(2))));
        let tagged = format!("BLAKE3 (a) = {hex}\nSHA256 (b) = {hex}\n");
        assert!(matches!(read(tagged), Err(ReadError::Mixed(2))));
        let keyed = format!(r#"{{"path":"a","algorithm":"blake3","mode":"keyed","digest":"{hex}"}}"#);
        assert!(matches!(read(keyed), Err(ReadError::Special(1))));
    }
}
