//! Inventories: Parquet files whose rows name objects.
//!
//! A file may be hostile. `pages` refuses pages that are larger than their rows can be, `budget` bounds the pages in memory, and
//! `batches` truncates values that are longer than any name.

mod batches;
mod budget;
mod columns;
mod delta;
mod page_header;
mod pages;
mod panics;

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::vec;

use arrow_array::RecordBatch;
use bytes::Bytes;
use hashmill_hash::blake3;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::column::page::PageReader;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;

pub use crate::row::{ObjectRequest, Row};
pub use columns::{Columns, rows};

use crate::error::Error;
use crate::hasher::Hasher;
use crate::location::Location;
use crate::output::dir::OutputDir;
use crate::sources::allow_list::Origin;
use crate::sources::remote::{Remote, RemoteFile};
use batches::{Batches, ColumnPlan};
use budget::Budget;
use columns::Used;
use pages::{ChunkLimits, Pages, Source};

/// Rows of a batch: few, as a small file may repeat a long value in each row.
const BATCH: usize = 256;

/// Maximum bytes of the columns of one row group in a store, which are fetched together.
const FETCHED: u64 = 512 << 20;

/// The Parquet files of an inventory, one after the other.
#[derive(Debug)]
pub struct Inventory {
    files: Vec<Part>,
    columns: Columns,
}

/// Bytes read first from the end of a file in a store: most metadata is shorter.
const TAIL: u64 = 64 << 10;

/// Maximum bytes of metadata, as a parser needs many times as much: 100,000 row groups have less.
const METADATA: u64 = 64 << 20;

#[derive(Debug)]
struct Part {
    /// Path of the file, or name of an object in a store.
    path: PathBuf,
    remote: Option<RemoteFile>,
    metadata: ArrowReaderMetadata,
    /// Digest of the file's length and of its metadata, which has the offset, size and bounds of all data.
    fingerprint: [u8; 32],
    rows: u64,
}

impl Inventory {
    /// Opens files, and all Parquet files in folders, in the order of their names: on disks, and by URLs of stores and web
    /// servers, whose clients `hasher` has.
    ///
    /// # Errors
    /// [`Error::Io`], and [`Error::Inventory`] if a file is not Parquet, or lacks columns.
    pub fn open<P: AsRef<Path>>(hasher: &Hasher, paths: &[P], columns: Columns) -> Result<Inventory, Error> {
        let mut files = Vec::new();
        for path in paths {
            match Location::from_path(path.as_ref()).map_err(|failure| Error::Refused(failure.words))? {
                Location::File(path) => {
                    let before = files.len();
                    for path in listed(&path)? {
                        files.push(Part::open(path, &columns)?);
                    }
                    if path.is_dir() {
                        OutputDir::Disk(path).check_complete(rows_of(&files[before..]))?;
                    }
                }
                Location::Object(object) => {
                    let refused = |failure: crate::Failure| Error::Refused(failure.words);
                    let remote = hasher.remote(object).map_err(refused)?;
                    let file = if remote.is_bucket() { None } else { remote.open()? };
                    let Some(file) = file else {
                        let before = files.len();
                        for (name, file) in in_folder(&remote)? {
                            files.push(Part::open_remote(name, file, &columns)?);
                        }
                        OutputDir::Store(remote).check_complete(rows_of(&files[before..]))?;
                        continue;
                    };
                    files.push(Part::open_remote(remote.name(), file, &columns)?);
                }
            }
        }
        if files.is_empty() {
            return Err(Error::Refused("an inventory without a Parquet file".to_owned()));
        }
        Ok(Inventory { files, columns })
    }

    /// Number of rows.
    pub fn len(&self) -> u64 {
        rows_of(&self.files)
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether each file lists digests.
    pub(crate) fn lists_digests(&self) -> bool {
        self.files.iter().all(|file| self.columns.list_digests(file.metadata.schema()))
    }

    /// Fingerprint of the files' metadata, independent of their location.
    pub(crate) fn fingerprint(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        for file in &self.files {
            hasher.update(&file.fingerprint);
        }
        hasher.finalize()
    }

    /// The rows of a range, in their order.
    ///
    /// # Errors
    /// As [`Inventory::open`], for the first row that cannot be read; the iterator ends there.
    pub fn rows(&self, range: Range<u64>) -> impl Iterator<Item = Result<Row, Error>> {
        self.rows_from(range).map(|row| row.map(|(row, _)| row))
    }

    /// As `rows`, each row with the origin of its file.
    pub(crate) fn rows_from(&self, range: Range<u64>) -> impl Iterator<Item = Result<(Row, Origin), Error>> {
        let mut next = 0;
        let mut files = VecDeque::new();
        for file in &self.files {
            let own = next..next + file.rows;
            next = own.end;
            let (start, end) = (range.start.max(own.start), range.end.min(own.end));
            if start < end {
                files.push_back((file, start - own.start..end - own.start));
            }
        }
        Rows {
            columns: &self.columns,
            files,
            reader: None,
            rows: Vec::new().into_iter(),
            origin: Origin::Local,
        }
    }
}

fn rows_of(files: &[Part]) -> u64 {
    files.iter().map(|file| file.rows).sum()
}

struct Rows<'a> {
    columns: &'a Columns,
    files: VecDeque<(&'a Part, Range<u64>)>,
    reader: Option<Reader<'a>>,
    rows: vec::IntoIter<Row>,
    /// Origin of `rows`.
    origin: Origin,
}

impl Rows<'_> {
    /// `None` at the end.
    fn read(&mut self) -> Result<Option<(Row, Origin)>, Error> {
        loop {
            if let Some(row) = self.rows.next() {
                return Ok(Some((row, self.origin)));
            }
            if let Some(reader) = &mut self.reader {
                if let Some(batch) = reader.next()? {
                    let rows = rows(&batch, self.columns);
                    self.rows =
                        rows.map_err(|what| Error::Inventory(reader.part.path.clone(), what))?.into_iter();
                    continue;
                }
                self.reader = None;
            }
            let Some((file, range)) = self.files.pop_front() else { return Ok(None) };
            self.origin = if file.remote.is_some() { Origin::Store } else { Origin::Local };
            self.reader = Some(Reader::new(file, &range, self.columns));
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<(Row, Origin), Error>;

    fn next(&mut self) -> Option<Result<(Row, Origin), Error>> {
        let row = self.read().transpose();
        if matches!(row, Some(Err(_))) {
            (self.rows, self.reader) = (Vec::new().into_iter(), None);
            self.files.clear();
        }
        row
    }
}

impl Part {
    fn open(path: PathBuf, columns: &Columns) -> Result<Part, Error> {
        let mut file = File::open(&path).map_err(Error::io(&path))?;
        let len = file.metadata().map_err(Error::io(&path))?.len();
        let metadata_len = metadata_len(&mut file).map_err(Error::io(&path))?;
        check_metadata(&path, metadata_len)?;
        let fingerprint = end(&mut file, len).map_err(Error::io(&path))?;
        // The Arrow schema in the metadata is not needed, and may be damaged.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = guarded(&path, || ArrowReaderMetadata::load(&file, options))?;
        Part::new(path, None, metadata, fingerprint, columns)
    }

    fn open_remote(path: PathBuf, file: RemoteFile, columns: &Columns) -> Result<Part, Error> {
        let mut tail = file.tail(TAIL)?;
        let parse = |tail: &Bytes| {
            let mut reader = ParquetMetaDataReader::new();
            reader.try_parse_sized(tail, file.len())?;
            reader.finish()
        };
        let metadata = guarded(&path, || match parse(&tail) {
            Err(ParquetError::NeedMoreData(needed)) => Ok(Err(needed as u64)),
            metadata => metadata.map(Ok),
        })?;
        let metadata = match metadata {
            Ok(metadata) => metadata,
            Err(needed) => {
                check_metadata(&path, needed)?;
                tail = file.tail(needed)?;
                guarded(&path, || parse(&tail))?
            }
        };
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = guarded(&path, || ArrowReaderMetadata::try_new(Arc::new(metadata), options))?;
        let fingerprint = end(&mut Cursor::new(&tail[..]), file.len()).map_err(Error::io(&path))?;
        Part::new(path, Some(file), metadata, fingerprint, columns)
    }

    fn new(
        path: PathBuf,
        remote: Option<RemoteFile>,
        metadata: ArrowReaderMetadata,
        fingerprint: [u8; 32],
        columns: &Columns,
    ) -> Result<Part, Error> {
        columns.check(metadata.schema()).map_err(|what| Error::Inventory(path.clone(), what))?;
        let rows = metadata.metadata().file_metadata().num_rows();
        let groups =
            metadata.metadata().row_groups().iter().map(|group| u64::try_from(group.num_rows()).ok());
        let groups = groups.sum::<Option<u64>>();
        let rows = u64::try_from(rows).ok().filter(|rows| Some(*rows) == groups);
        let rows = rows.ok_or_else(|| {
            Error::Inventory(path.clone(), "its rows are not those of its groups".to_owned())
        })?;
        Ok(Part { path, remote, metadata, fingerprint, rows })
    }

    /// Opens the used columns of one row group, for `rows` rows after the first `skipped`.
    fn batches(
        &self,
        group: usize,
        skipped: u64,
        rows: u64,
        columns: &Columns,
        budget: &Budget,
    ) -> Result<Batches, ParquetError> {
        let schema = self.metadata.schema();
        let metadata = self.metadata.metadata();
        let (group, leaves) = (metadata.row_group(group), self.metadata.parquet_schema());
        let mut plans = Vec::new();
        for Used { index, value_len } in columns.used(schema) {
            let leaf = (0..leaves.num_columns()).find(|leaf| leaves.get_column_root_idx(*leaf) == index);
            let leaf = leaf.ok_or_else(|| ParquetError::General("a column without values".to_owned()))?;
            let (field, chunk) = (schema.field(index), group.column(leaf));
            let limits = ChunkLimits { rows: group.num_rows() as u64, value_len: value_len as u64 };
            let plan = ColumnPlan {
                name: field.name().clone(),
                data_type: field.data_type().clone(),
                descriptor: leaves.column(leaf),
                // Four more bytes, as text is truncated between characters: they show that it is too long.
                value_len: value_len + 4,
            };
            plans.push((plan, chunk, limits));
        }
        let ranges = plans.iter().map(|(_, chunk, limits)| limits.range(chunk));
        let ranges = ranges.collect::<Result<Vec<_>, _>>()?;
        let sources = self.sources(&ranges)?;
        let open = |((plan, chunk, limits), source)| {
            let pages = Pages::new(source, chunk, limits, budget.clone())?;
            Ok((plan, Box::new(pages) as Box<dyn PageReader>))
        };
        let columns = plans.into_iter().zip(sources).map(open).collect::<Result<Vec<_>, ParquetError>>()?;
        Batches::new(columns, skipped, rows)
    }

    /// Sources of column chunks, by the offset and length of each.
    fn sources(&self, ranges: &[(u64, u64)]) -> Result<Vec<Source>, ParquetError> {
        let Some(file) = &self.remote else {
            let open = |_: &(u64, u64)| Ok(Source::File(File::open(&self.path)?));
            return ranges.iter().map(open).collect();
        };
        let sum = ranges.iter().fold(0_u64, |sum, (_, len)| sum.saturating_add(*len));
        if sum > FETCHED {
            let what = format!("a row group has {sum} bytes in the columns that are used");
            return Err(ParquetError::General(format!("{what}, where at most {FETCHED} are fetched")));
        }
        let chunks = file.ranges(ranges.iter().map(|(start, len)| *start..start.saturating_add(*len)));
        let source = |(chunk, (start, _)): (Bytes, &(u64, u64))| Source::Memory(*start, chunk);
        Ok(file.wait(chunks)?.into_iter().zip(ranges).map(source).collect())
    }
}

/// Batches of a range of a file's rows. Reads only the row groups of the range.
struct Reader<'a> {
    part: &'a Part,
    columns: &'a Columns,
    /// Remaining row groups, each with the rows to skip and to read.
    groups: VecDeque<(usize, u64, u64)>,
    batches: Option<Batches>,
    budget: Budget,
}

impl<'a> Reader<'a> {
    fn new(part: &'a Part, range: &Range<u64>, columns: &'a Columns) -> Reader<'a> {
        let (mut groups, mut next) = (VecDeque::new(), 0);
        for (index, group) in part.metadata.metadata().row_groups().iter().enumerate() {
            let own = next..next + group.num_rows() as u64;
            next = own.end;
            let (start, end) = (own.start.max(range.start), own.end.min(range.end));
            if start < end {
                groups.push_back((index, start - own.start, end - start));
            }
        }
        Reader { part, columns, groups, batches: None, budget: Budget::default() }
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, Error> {
        loop {
            if let Some(batches) = &mut self.batches {
                if let Some(batch) = guarded(&self.part.path, || batches.next(BATCH))? {
                    return Ok(Some(batch));
                }
                self.batches = None;
            }
            let Some((group, skipped, rows)) = self.groups.pop_front() else { return Ok(None) };
            let open = || self.part.batches(group, skipped, rows, self.columns, &self.budget);
            self.batches = Some(guarded(&self.part.path, open)?);
        }
    }
}

/// Result of `read`. A panic in the crate `parquet` becomes an error of the file.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, Error> {
    match panics::caught(read) {
        Some(result) => result.map_err(|error| Error::reading(path, error)),
        None => Err(Error::Inventory(path.to_owned(), "it is damaged".to_owned())),
    }
}

/// Refuses too large metadata before it is read.
fn check_metadata(path: &Path, len: u64) -> Result<(), Error> {
    if len <= METADATA {
        return Ok(());
    }
    let what = format!("it says it has {len} bytes of metadata, where at most {METADATA} are read");
    Err(Error::Inventory(path.to_owned(), what))
}

/// Length of a file's metadata, from its last eight bytes; 0 if the file is shorter.
fn metadata_len(file: &mut (impl Read + Seek)) -> std::io::Result<u64> {
    let len = file.seek(SeekFrom::End(0))?;
    if len < 8 {
        return Ok(0);
    }
    file.seek(SeekFrom::Start(len - 8))?;
    let mut tail = [0; 4];
    file.read_exact(&mut tail)?;
    Ok(u64::from(u32::from_le_bytes(tail)))
}

/// The file itself, or the Parquet files of a folder.
fn listed(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if !fs::metadata(path).map_err(Error::io(path))?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(Error::io(path))? {
        let entry = entry.map_err(Error::io(path))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if is_data(&name) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Parquet files of a folder in a store. An empty folder does not exist.
fn in_folder(folder: &Remote) -> Result<Vec<(PathBuf, RemoteFile)>, Error> {
    let files = folder.list()?;
    if files.is_empty() {
        return Err(Error::Io(folder.name(), ErrorKind::NotFound.into()));
    }
    let files = files.into_iter().filter(|(name, _)| is_data(name)).map(|(_, file)| file);
    // An object that was deleted meanwhile is missing like any other.
    let open = |file: Remote| {
        Ok((file.name(), file.open()?.ok_or_else(|| Error::Io(file.name(), ErrorKind::NotFound.into()))?))
    };
    files.map(open).collect()
}

/// Whether a file of a folder belongs to the inventory. By convention, names that begin with a dot or an underscore are not data.
fn is_data(name: &str) -> bool {
    name.ends_with(".parquet") && !name.starts_with(['.', '_'])
}

/// Digest of a file's length and of its metadata, whose length is in the last eight bytes. For a file in a store, `file` is only
/// the end.
fn end(file: &mut (impl Read + Seek), len: u64) -> std::io::Result<[u8; 32]> {
    let there = file.seek(SeekFrom::End(0))?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(&len.to_le_bytes());
    let mut tail = [0; 8];
    file.seek(SeekFrom::Start(there.saturating_sub(8)))?;
    let read = file.by_ref().take(8).read(&mut tail)?;
    let metadata = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]])) + read as u64;
    file.seek(SeekFrom::Start(there.saturating_sub(metadata)))?;
    let mut rest = file.take(metadata);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match rest.read(&mut buffer)? {
            0 => return Ok(*hasher.finalize().as_bytes()),
            read => hasher.update(&buffer[..read]),
        };
    }
}
