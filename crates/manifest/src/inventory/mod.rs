//! Inventories: Parquet files whose rows name objects.

mod row;

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::vec;

use arrow_schema::Schema;
use hashmill_hash::blake3;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;

pub use row::{Ask, Columns, Row, rows};

use crate::error::Error;

/// Rows that are read at a time: few, as a small file may say a long value as often as there are rows.
const BATCH: usize = 256;

/// The Parquet files of an inventory, one after the other.
#[derive(Debug)]
pub struct Inventory {
    files: Vec<Part>,
    columns: Columns,
}

#[derive(Debug)]
struct Part {
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    /// The digest of the file's length and of its end, which has the place, the size and the bounds of everything in it.
    fingerprint: [u8; 32],
    rows: u64,
}

impl Inventory {
    /// Opens files, and all Parquet files in folders, in the order of their names.
    ///
    /// # Errors
    /// [`Error::Io`], and [`Error::Inventory`] if a file is not Parquet, or lacks columns.
    pub fn open<P: AsRef<Path>>(paths: &[P], columns: Columns) -> Result<Inventory, Error> {
        let mut files = Vec::new();
        for path in paths {
            for path in listed(path.as_ref())? {
                files.push(Part::open(path, &columns)?);
            }
        }
        if files.is_empty() {
            return Err(Error::Refused("an inventory without a Parquet file".to_owned()));
        }
        Ok(Inventory { files, columns })
    }

    /// How many rows there are.
    pub fn len(&self) -> u64 {
        self.files.iter().map(|file| file.rows).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether each file lists digests that rows may be compared with.
    pub(crate) fn lists_digests(&self) -> bool {
        self.files.iter().all(|file| self.columns.list_digests(file.metadata.schema()))
    }

    /// What is another one where the files are others, wherever they lie.
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
    /// As [`Inventory::open`], for each row that cannot be read; there are no rows after it.
    pub fn rows(&self, range: Range<u64>) -> impl Iterator<Item = Result<Row, Error>> {
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
        Rows { columns: &self.columns, files, reader: None, rows: Vec::new().into_iter() }
    }
}

struct Rows<'a> {
    columns: &'a Columns,
    files: VecDeque<(&'a Part, Range<u64>)>,
    /// And how many rows it has to give.
    reader: Option<(&'a Part, ParquetRecordBatchReader, u64)>,
    rows: vec::IntoIter<Row>,
}

impl Rows<'_> {
    /// `None` at the end.
    fn read(&mut self) -> Result<Option<Row>, Error> {
        loop {
            if let Some(row) = self.rows.next() {
                return Ok(Some(row));
            }
            if let Some((file, reader, missing)) = &mut self.reader {
                if let Some(batch) = guarded(&file.path, || Ok(reader.next().transpose()?))? {
                    *missing = missing.saturating_sub(batch.num_rows() as u64);
                    let rows = rows(&batch, self.columns);
                    self.rows = rows.map_err(|what| Error::Inventory(file.path.clone(), what))?.into_iter();
                    continue;
                }
                if *missing > 0 {
                    let what = format!("{missing} rows that it says it has are not there");
                    return Err(Error::Inventory(file.path.clone(), what));
                }
                self.reader = None;
            }
            let Some((file, range)) = self.files.pop_front() else { return Ok(None) };
            let rows = range.end - range.start;
            self.reader = Some((file, file.reader(range, self.columns)?, rows));
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Result<Row, Error>> {
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
        let fingerprint = end(&mut file).map_err(Error::io(&path))?;
        // What Arrow wrote beside Parquet's own schema says nothing that is needed here, and may be anything.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = guarded(&path, || ArrowReaderMetadata::load(&file, options))?;
        columns.check(metadata.schema()).map_err(|what| Error::Inventory(path.clone(), what))?;
        let rows = metadata.metadata().file_metadata().num_rows();
        let groups =
            metadata.metadata().row_groups().iter().map(|group| u64::try_from(group.num_rows()).ok());
        let groups = groups.sum::<Option<u64>>();
        let rows = u64::try_from(rows).ok().filter(|rows| Some(*rows) == groups);
        let rows = rows.ok_or_else(|| {
            Error::Inventory(path.clone(), "its rows are not those of its groups".to_owned())
        })?;
        Ok(Part { path, metadata, fingerprint, rows })
    }

    /// Of the row groups that have rows of `range`, nothing but these.
    fn reader(&self, range: Range<u64>, columns: &Columns) -> Result<ParquetRecordBatchReader, Error> {
        let file = File::open(&self.path).map_err(Error::io(&self.path))?;
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
        let (mut groups, mut first, mut next) = (Vec::new(), 0, 0);
        for (index, group) in builder.metadata().row_groups().iter().enumerate() {
            let own = next..next + group.num_rows() as u64;
            next = own.end;
            if own.start < range.end && range.start < own.end {
                first = if groups.is_empty() { own.start } else { first };
                groups.push(index);
            }
        }
        let schema: &Schema = self.metadata.schema();
        let mask = ProjectionMask::roots(builder.parquet_schema(), columns.indices(schema));
        builder = builder.with_row_groups(groups).with_projection(mask).with_batch_size(BATCH);
        builder = builder
            .with_offset((range.start - first) as usize)
            .with_limit((range.end - range.start) as usize);
        guarded(&self.path, || builder.build())
    }
}

/// What `read` makes of a file. The crate `parquet` panics at some that are damaged: this, too, is an error of the file.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, Error> {
    match panic::catch_unwind(AssertUnwindSafe(read)) {
        Ok(result) => result.map_err(|error| Error::reading(path, error)),
        Err(_) => Err(Error::Inventory(path.to_owned(), "it is damaged".to_owned())),
    }
}

/// The file, or the Parquet files of the folder. Names with a dot or a line before them are not data: so do others have it.
fn listed(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if !fs::metadata(path).map_err(Error::io(path))?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(Error::io(path))? {
        let entry = entry.map_err(Error::io(path))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".parquet") && !name.starts_with(['.', '_']) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// The digest of a file's length and of its metadata: eight bytes at its end say how long these are.
fn end(file: &mut File) -> std::io::Result<[u8; 32]> {
    let len = file.seek(SeekFrom::End(0))?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(&len.to_le_bytes());
    let mut tail = [0; 8];
    file.seek(SeekFrom::Start(len.saturating_sub(8)))?;
    let read = file.take(8).read(&mut tail)?;
    let metadata = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]])) + read as u64;
    let start = len.saturating_sub(metadata);
    file.seek(SeekFrom::Start(start))?;
    let mut rest = file.take(metadata);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match rest.read(&mut buffer)? {
            0 => return Ok(*hasher.finalize().as_bytes()),
            read => hasher.update(&buffer[..read]),
        };
    }
}
