//! Checksum table: digests, sizes and times of many files in compact memory; reading and writing of lists
//! with them.
//!
//! A list with sizes and times has a comment before each line, so that every checker accepts it:
//!
//! ```text
//! # hashmill manifest 1 FUNCTION
//! # SIZE SECONDS.NANOSECONDS           mtime; - if it does not prove that the file is unchanged
//! HEX  NAME
//! ```
//! Any other list of files can be read, too, without sizes and times.

use super::list_reader::{LIST_HEADER, ListReader};
use super::{Algorithm, Entry, LineError, LineTemplate, ListFormat, Mode, ParsedLine};
use crate::os;
use crate::stored::ExpectedDigest;
use crate::stored::Time;
use hashmill_hash::hex;
use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

/// Entry of one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableEntry<'a> {
    /// The bytes of the name.
    pub name: &'a [u8],
    /// The digest, by the function of the table.
    pub digest: &'a [u8],
    /// The size, if known.
    pub size: Option<u64>,
    /// The mtime, if known.
    pub modified: Option<Time>,
}

impl<'a> TableEntry<'a> {
    /// The values that a file is compared with.
    pub fn expected(&self) -> ExpectedDigest<'a> {
        ExpectedDigest { digest: self.digest, modified: self.modified }
    }
}

/// Table of files with their digests. A million entries take about 130 MB if names have 60 bytes.
#[derive(Debug, Default)]
pub struct ChecksumTable {
    /// All names, concatenated.
    names: Vec<u8>,
    /// All digests, concatenated; each has `digest_len` bytes.
    digests: Vec<u8>,
    digest_len: usize,
    rows: Vec<Row>,
    algorithm: Option<Algorithm>,
    /// Hash index of the names: a row number plus one, or 0. At least twice as many slots as rows.
    index: Vec<u32>,
    hasher: RandomState,
}

#[derive(Debug)]
struct Row {
    name_end: u64,
    size: u64,
    modified: i64,
}

/// Markers of unknown values.
const NO_SIZE: u64 = u64::MAX;
const NO_TIME: i64 = i64::MIN;

/// The reason why a file is not a valid list.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// It cannot be read.
    Io(io::Error),
    /// A line is invalid.
    Line(u64, LineError),
    /// Digests by several functions: the first line that differs.
    Mixed(u64),
    /// A digest under a key, or at an offset of the output.
    Special(u64),
    /// More than 2^32 - 1 files.
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

impl ChecksumTable {
    /// An empty table for digests of this function.
    pub fn new(algorithm: Algorithm) -> ChecksumTable {
        ChecksumTable {
            algorithm: Some(algorithm),
            digest_len: algorithm.digest_len(),
            ..ChecksumTable::default()
        }
    }

    /// Reads a list of any kind. For a repeated name the last line counts. Digests of directories are
    /// skipped.
    ///
    /// # Errors
    /// The first invalid or ambiguous line. With a partial table, every other file would look new.
    pub fn read(reader: impl BufRead, style: ListFormat) -> Result<ChecksumTable, ReadError> {
        let mut list = ListReader::new(reader, style);
        let mut table = ChecksumTable::default();
        while let Some((line, parsed)) = list.next_line()? {
            match parsed.map_err(|error| ReadError::Line(line, error))? {
                ParsedLine::Entry(entry) if entry.is_tree() => {}
                ParsedLine::Entry(entry) => table.add_entry(line, &entry)?,
                ParsedLine::Nothing(_) => {}
            }
        }
        table.algorithm = table.algorithm.or(list.declared_algorithm());
        Ok(table)
    }

    /// Reads a list up to its first incomplete line, as an interrupted run leaves it.
    pub(super) fn read_beginning(reader: impl BufRead, style: ListFormat) -> ChecksumTable {
        let mut list = ListReader::new(reader, style);
        let mut table = ChecksumTable::default();
        while let Ok(Some((line, Ok(parsed)))) = list.next_line() {
            if let ParsedLine::Entry(entry) = parsed
                && table.add_entry(line, &entry).is_err()
            {
                break;
            }
        }
        table.algorithm = table.algorithm.or(list.declared_algorithm());
        table
    }

    fn add_entry(&mut self, line: u64, entry: &Entry) -> Result<(), ReadError> {
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
        let name = normalize_name(entry.path.as_os_str().as_encoded_bytes());
        self.insert(TableEntry {
            name: &name,
            digest: &entry.digest,
            size: entry.size,
            modified: entry.modified,
        })
        .map_err(|_| ReadError::TooMany)
    }

    /// Adds a file, or replaces the entry of this name.
    ///
    /// # Errors
    /// More files than can be numbered.
    pub fn insert(&mut self, file: TableEntry<'_>) -> Result<(), TooMany> {
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
            self.index_row(number, file.name);
        }
        Ok(())
    }

    fn grow(&mut self) {
        let places = (self.rows.len() * 4).next_power_of_two().max(16);
        self.index = vec![0; places];
        for number in 0..self.rows.len() {
            let name = name(&self.names, &self.rows, number);
            let slot = free_slot(&self.index, self.hasher.hash_one(name));
            self.index[slot] = number as u32 + 1;
        }
    }

    fn index_row(&mut self, number: u32, name: &[u8]) {
        let slot = free_slot(&self.index, self.hasher.hash_one(name));
        self.index[slot] = number;
    }

    /// The row number of the file with this name.
    pub fn find(&self, name: &[u8]) -> Option<u32> {
        if self.index.is_empty() {
            return None;
        }
        let mask = self.index.len() - 1;
        let mut slot = self.hasher.hash_one(name) as usize & mask;
        loop {
            let number = self.index[slot].checked_sub(1)?;
            if self.name(number) == name {
                return Some(number);
            }
            slot = (slot + 1) & mask;
        }
    }

    pub(super) fn name(&self, number: u32) -> &[u8] {
        name(&self.names, &self.rows, number as usize)
    }

    /// The file with this row number. Numbers start at 0, in the order of the lines.
    pub fn file(&self, number: u32) -> TableEntry<'_> {
        let row = &self.rows[number as usize];
        let digest = number as usize * self.digest_len;
        TableEntry {
            name: self.name(number),
            digest: &self.digests[digest..digest + self.digest_len],
            size: (row.size != NO_SIZE).then_some(row.size),
            modified: (row.modified != NO_TIME).then(|| Time::from_nanos(row.modified)),
        }
    }

    /// All files, in the order of the lines.
    pub fn files(&self) -> impl Iterator<Item = TableEntry<'_>> {
        (0..self.rows.len() as u32).map(|number| self.file(number))
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Are there no files?
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The function of the digests, if known.
    pub fn algorithm(&self) -> Option<Algorithm> {
        self.algorithm
    }

    /// Bytes of each digest.
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

/// The first free slot at or after that of a hash. There always is one.
fn free_slot(index: &[u32], hash: u64) -> usize {
    let mask = index.len() - 1;
    let mut slot = hash as usize & mask;
    while index[slot] != 0 {
        slot = (slot + 1) & mask;
    }
    slot
}

/// Writes the first line of a list with sizes and times.
///
/// # Errors
/// Errors of the writer.
pub fn write_header(out: &mut dyn Write, algorithm: Algorithm) -> io::Result<()> {
    writeln!(out, "{LIST_HEADER}{}", algorithm.key())
}

/// Writes the lines of one file.
///
/// # Errors
/// Errors of the writer.
pub fn write_file(out: &mut dyn Write, file: TableEntry<'_>, algorithm: Algorithm) -> io::Result<()> {
    if let Some(size) = file.size {
        match file.modified {
            Some(time) => writeln!(out, "# {size} {time}")?,
            None => writeln!(out, "# {size} -")?,
        }
    }
    let style = ListFormat { algorithm, bytes: true, ..ListFormat::default() };
    let frame = LineTemplate::plain(&name_to_path(file.name), style);
    out.write_all(&frame.before)?;
    for &byte in file.digest {
        out.write_all(&hex::digits(byte))?;
    }
    out.write_all(&frame.after)
}

/// Normalizes a name: removes `.` components, repeated slashes and a final slash.
pub fn normalize_name(name: &[u8]) -> Cow<'_, [u8]> {
    let is_tidy = |part: &[u8]| !part.is_empty() && part != b".";
    let absolute = name.first() == Some(&b'/');
    let rest = if absolute { &name[1..] } else { name };
    if rest.split(|&byte| byte == b'/').all(is_tidy) {
        return Cow::Borrowed(name);
    }
    let parts: Vec<&[u8]> = rest.split(|&byte| byte == b'/').filter(|part| is_tidy(part)).collect();
    let mut tidied = if absolute { vec![b'/'] } else { Vec::new() };
    tidied.extend(parts.join(&b'/'));
    Cow::Owned(tidied)
}

/// The path of a name in a list.
pub fn name_to_path(name: &[u8]) -> PathBuf {
    // Where names are Unicode and this one is not, no file has the name with replacement characters, so it is missing.
    os::name(name.to_vec()).unwrap_or_else(|| String::from_utf8_lossy(name).into_owned().into()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, digest: u8) -> TableEntry<'_> {
        const DIGESTS: [[u8; 32]; 3] = [[0; 32], [1; 32], [2; 32]];
        TableEntry { name: name.as_bytes(), digest: &DIGESTS[digest as usize], size: None, modified: None }
    }

    #[test]
    fn names_are_found_however_many_there_are() {
        let mut table = ChecksumTable::new(Algorithm::Blake3);
        for n in 0..5000 {
            table.insert(file(&n.to_string(), (n % 3) as u8)).expect("few");
        }
        for n in (0..5000).rev() {
            let name = n.to_string();
            let number = table.find(name.as_bytes()).expect("it is there");
            assert_eq!((number, table.file(number)), (n, file(&name, (n % 3) as u8)));
        }
        assert_eq!(table.find(b"5000"), None);
        assert_eq!(ChecksumTable::default().find(b""), None);
        table.insert(file("7", 0)).expect("few");
        assert_eq!((table.len(), table.file(7).digest[0]), (5000, 0));
    }

    #[test]
    fn what_is_written_can_be_read() {
        let time = Some(Time::from_nanos(1_700_000_000_123_456_789));
        // Where a backslash separates directories, no name contains one.
        let odd = if os::BACKSLASH_SEPARATES { "d/b\n" } else { "d/b\n\\" };
        let files = [
            TableEntry { size: Some(7), modified: time, ..file("a", 0) },
            TableEntry { size: Some(0), ..file(odd, 1) },
            file("c", 2),
        ];
        let mut text = Vec::new();
        write_header(&mut text, Algorithm::Sha256).expect("memory does not fail");
        for file in files {
            write_file(&mut text, file, Algorithm::Sha256).expect("memory does not fail");
        }
        let table = ChecksumTable::read(&text[..], ListFormat::default()).expect("what was written");
        assert_eq!(table.algorithm(), Some(Algorithm::Sha256));
        assert_eq!(table.files().collect::<Vec<_>>(), files);
        // At any truncation, the entries before it are complete, or the list is invalid.
        for cut in 0..text.len() {
            let beginning = ChecksumTable::read_beginning(&text[..cut], ListFormat::default());
            assert!(beginning.files().zip(files).all(|(read, file)| read.digest == file.digest), "{cut}");
        }
    }

    #[test]
    fn ambiguous_lists_are_refused() {
        let hex = "ab".repeat(32);
        let read = |text: String| {
            ChecksumTable::read(text.as_bytes(), ListFormat::default()).map(|table| table.len())
        };
        assert_eq!(read(format!("{hex}  a\n{hex}  ./a\n{hex}  d/\n")).expect("one file"), 1);
        assert!(matches!(read(format!("{hex}  a\nhello\n")), Err(ReadError::Line(2, _))));
        assert!(matches!(read(format!("{hex}  a\n{}  b\n", &hex[..40])), Err(ReadError::Mixed(2))));
        let tagged = format!("BLAKE3 (a) = {hex}\nSHA256 (b) = {hex}\n");
        assert!(matches!(read(tagged), Err(ReadError::Mixed(2))));
        let keyed = format!(r#"{{"path":"a","algorithm":"blake3","mode":"keyed","digest":"{hex}"}}"#);
        assert!(matches!(read(keyed), Err(ReadError::Special(1))));
    }
}
