//! Pages of one column chunk, each refused before it is decoded if it is larger than its rows can be.

use std::fs::File;
use std::io::Read as _;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader as _;

use super::budget::Budget;
use super::delta;
use super::page_header::{self, HeaderError, PageHeader, PageKind};

/// Bytes that a chunk or page may have besides its values: levels, headers, unused values of a dictionary.
const SLACK: u64 = 1 << 20;

/// Bytes for the length and levels of each value.
const BESIDE_VALUE: u64 = 8;

/// Memory of a dictionary entry besides its value, in bytes.
const DICTIONARY_ENTRY: u64 = 40;

/// Memory of the lengths of a value in a delta encoding, in bytes.
const DELTA_LENGTHS: u64 = 8;

/// Bytes read for a header: most are shorter than the first length, but statistics may be longer.
const HEADER: [u64; 2] = [4 << 10, 1 << 20];

/// Source of the bytes of a chunk.
pub(super) enum Source {
    /// A file of this machine.
    File(File),
    /// All bytes of the chunk, with their offset in the file.
    Memory(u64, Bytes),
}

impl Source {
    fn read(&self, at: u64, len: u64) -> Result<Bytes, ParquetError> {
        let truncated = || ParquetError::EOF("the file ends in a page".to_owned());
        let size = usize::try_from(len).map_err(|_| truncated())?;
        match self {
            Source::File(file) => file.get_bytes(at, size),
            Source::Memory(start, bytes) => {
                let first = at.checked_sub(*start).and_then(|first| usize::try_from(first).ok());
                let end = first.and_then(|first| first.checked_add(size)).filter(|end| *end <= bytes.len());
                let (first, end) = first.zip(end).ok_or_else(truncated)?;
                Ok(bytes.slice(first..end))
            }
        }
    }
}

/// Limits of a column chunk.
#[derive(Clone, Copy)]
pub(super) struct ChunkLimits {
    /// Rows of the group.
    pub(super) rows: u64,
    /// Bytes of the longest accepted value.
    pub(super) value_len: u64,
}

impl ChunkLimits {
    /// Upper bound of the bytes of `values` values.
    fn bytes_of(self, values: u64) -> u64 {
        values.saturating_mul(self.value_len + BESIDE_VALUE).saturating_add(SLACK)
    }

    /// Offset and length of a chunk in the file.
    ///
    /// # Errors
    /// If it states more bytes than its rows can have.
    pub(super) fn range(self, chunk: &ColumnChunkMetaData) -> Result<(u64, u64), ParquetError> {
        let most = self.bytes_of(self.rows);
        for size in [chunk.uncompressed_size(), chunk.compressed_size()] {
            if u64::try_from(size).ok().is_none_or(|size| size > most) {
                return Err(refused(format!(
                    "the column {} says it has {size} bytes in {} rows, where at most {most} are read",
                    chunk.column_path(),
                    self.rows
                )));
            }
        }
        let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
        let start =
            u64::try_from(start).map_err(|_| refused("a column before the file's start".to_owned()))?;
        Ok((start, chunk.compressed_size() as u64))
    }
}

fn refused(what: String) -> ParquetError {
    ParquetError::General(what)
}

/// Reader of the pages of one chunk, in their order.
pub(super) struct Pages {
    source: Source,
    /// Offset of the next header, or of the body of the page whose header was read.
    at: u64,
    end: u64,
    header: Option<PageHeader>,
    compression: Compression,
    physical_type: Type,
    type_len: u64,
    max_definition_level: i16,
    limits: ChunkLimits,
    values_left: u64,
    budget: Budget,
}

impl Pages {
    /// # Errors
    /// As [`ChunkLimits::range`].
    pub(super) fn new(
        source: Source,
        chunk: &ColumnChunkMetaData,
        limits: ChunkLimits,
        budget: Budget,
    ) -> Result<Pages, ParquetError> {
        let (at, len) = limits.range(chunk)?;
        let column = chunk.column_descr();
        Ok(Pages {
            source,
            at,
            end: at.saturating_add(len),
            header: None,
            compression: chunk.compression(),
            physical_type: column.physical_type(),
            type_len: u64::try_from(column.type_length()).unwrap_or_default(),
            max_definition_level: column.max_def_level(),
            limits,
            values_left: limits.rows,
            budget,
        })
    }

    /// Header of the next page, without consuming it.
    fn peek(&mut self) -> Result<Option<PageHeader>, ParquetError> {
        while self.header.is_none() {
            if self.at >= self.end {
                return Ok(None);
            }
            let header = self.read_header()?;
            if header.kind == PageKind::Index {
                self.at = self.at.saturating_add(header.compressed_len as u64);
                continue;
            }
            self.header = Some(header);
        }
        Ok(self.header)
    }

    fn read_header(&mut self) -> Result<PageHeader, ParquetError> {
        let left = self.end - self.at;
        for window in HEADER.map(|len| len.min(left)) {
            let bytes = self.source.read(self.at, window)?;
            match page_header::parse(&bytes) {
                Ok((header, len)) => {
                    self.at += len as u64;
                    self.check(&header)?;
                    return Ok(header);
                }
                Err(HeaderError::Truncated) if window < left => {}
                Err(_) => break,
            }
        }
        Err(refused("a page header is damaged".to_owned()))
    }

    /// Refuses a page whose header is outside the limits.
    fn check(&self, header: &PageHeader) -> Result<(), ParquetError> {
        let (values, is_dictionary) = match header.kind {
            PageKind::Data { values, .. } | PageKind::DataV2 { values, .. } => (u64::from(values), false),
            PageKind::Dictionary { values, .. } => (u64::from(values), true),
            PageKind::Index => return Ok(()),
        };
        let possible = if is_dictionary { self.limits.rows } else { self.values_left };
        if values > possible {
            return Err(refused(format!(
                "a page says it has {values} values, where {possible} are possible"
            )));
        }
        let most = self.limits.bytes_of(values);
        let len = header.uncompressed_len.max(header.compressed_len) as u64;
        if len > most {
            return Err(refused(format!(
                "a page says it has {len} bytes in {values} values, where at most {most} are read"
            )));
        }
        Ok(())
    }

    /// The body of a page whose first `levels` bytes are never compressed.
    fn body(
        &mut self,
        header: &PageHeader,
        levels: usize,
        is_compressed: bool,
    ) -> Result<Bytes, ParquetError> {
        let PageHeader { compressed_len, uncompressed_len, .. } = *header;
        let damaged = || refused("the lengths of a page are damaged".to_owned());
        let in_file = self.budget.lease(compressed_len as u64)?;
        let body = self.source.read(self.at, compressed_len as u64)?;
        self.at += compressed_len as u64;
        if levels > body.len().min(uncompressed_len) {
            return Err(damaged());
        }
        if !is_compressed || self.compression == Compression::UNCOMPRESSED {
            return Ok(in_file.hold(body));
        }
        let lease = self.budget.lease(uncompressed_len as u64)?;
        let mut page = vec![0; uncompressed_len];
        page[..levels].copy_from_slice(&body[..levels]);
        decompress(self.compression, &body[levels..], &mut page[levels..])?;
        Ok(lease.hold(page))
    }

    fn page(&mut self, header: &PageHeader) -> Result<Page, ParquetError> {
        match header.kind {
            PageKind::Data { values, encoding, definition_levels, repetition_levels } => {
                self.values_left -= u64::from(values);
                let buf = self.body(header, 0, true)?;
                let first = self.first_value(&buf, values, definition_levels);
                let buf = self.with_values(buf, first, encoding, values)?;
                Ok(Page::DataPage {
                    buf,
                    num_values: values,
                    encoding,
                    def_level_encoding: definition_levels,
                    rep_level_encoding: repetition_levels,
                    statistics: None,
                })
            }
            PageKind::DataV2 {
                values,
                nulls,
                rows,
                encoding,
                definition_levels_len,
                repetition_levels_len,
                is_compressed,
            } => {
                self.values_left -= u64::from(values);
                let levels = definition_levels_len as usize + repetition_levels_len as usize;
                let buf = self.body(header, levels, is_compressed)?;
                let buf = self.with_values(buf, levels, encoding, values)?;
                Ok(Page::DataPageV2 {
                    buf,
                    num_values: values,
                    encoding,
                    num_nulls: nulls,
                    num_rows: rows,
                    def_levels_byte_len: definition_levels_len,
                    rep_levels_byte_len: repetition_levels_len,
                    is_compressed,
                    statistics: None,
                })
            }
            PageKind::Dictionary { values, encoding, is_sorted } => {
                let entries = self.budget.lease(u64::from(values) * DICTIONARY_ENTRY)?;
                let buf = entries.hold(self.body(header, 0, true)?);
                // A decoder allocates by the number of values, which only the header states.
                let least = match self.physical_type {
                    Type::INT64 | Type::DOUBLE => 8,
                    Type::INT96 => 12,
                    Type::FIXED_LEN_BYTE_ARRAY => self.type_len,
                    _ => 4,
                };
                if u64::from(values).saturating_mul(least) > buf.len() as u64 {
                    return Err(refused(format!(
                        "a dictionary says it has {values} values in {} bytes",
                        buf.len()
                    )));
                }
                Ok(Page::DictionaryPage { buf, num_values: values, encoding, is_sorted })
            }
            PageKind::Index => Err(refused("an index page among data".to_owned())),
        }
    }

    /// The page, with a lease for the memory of values in delta encodings, which are built when they are decoded.
    fn with_values(
        &self,
        page: Bytes,
        first: usize,
        encoding: Encoding,
        values: u32,
    ) -> Result<Bytes, ParquetError> {
        if !matches!(encoding, Encoding::DELTA_BYTE_ARRAY | Encoding::DELTA_LENGTH_BYTE_ARRAY) {
            return Ok(page);
        }
        let values = u64::from(values);
        let lengths = self.budget.lease(values * DELTA_LENGTHS)?;
        let data = page.get(first..).unwrap_or_default();
        let len = delta::decoded_len(encoding, data, values)
            .ok_or_else(|| refused("the lengths of values in a page are damaged".to_owned()))?;
        let most = self.limits.bytes_of(values);
        if len > most {
            let what = format!("a page has {len} bytes in {values} values, where at most {most} are read");
            return Err(refused(what));
        }
        Ok(lengths.hold(self.budget.lease(len)?.hold(page)))
    }

    /// Offset of the values of a v1 page. Damaged levels leave no values, as in the decoder.
    fn first_value(&self, page: &[u8], values: u32, encoding: Encoding) -> usize {
        if self.max_definition_level == 0 {
            return 0;
        }
        let len = match encoding {
            Encoding::RLE => {
                page.first_chunk().and_then(|len| (u32::from_le_bytes(*len) as usize).checked_add(4))
            }
            // One bit each: there are at most two levels.
            _ => Some((values as usize).div_ceil(8)),
        };
        len.unwrap_or(usize::MAX)
    }
}

/// Fills `page`, which has the length that the header states. Fails if the data has another length.
fn decompress(compression: Compression, body: &[u8], page: &mut [u8]) -> Result<(), ParquetError> {
    // A page of nulls may have no body.
    if page.is_empty() {
        return Ok(());
    }
    let other = || refused("a page has another length than its header says".to_owned());
    let external = |error: std::io::Error| refused(format!("a page cannot be decompressed: {error}"));
    let len = match compression {
        Compression::SNAPPY => {
            snap::raw::Decoder::new().decompress(body, page).map_err(|error| external(error.into()))?
        }
        Compression::GZIP(_) => {
            let mut decoder = MultiGzDecoder::new(body);
            decoder.read_exact(page).map_err(external)?;
            if decoder.read(&mut [0]).map_err(external)? > 0 {
                return Err(other());
            }
            page.len()
        }
        Compression::ZSTD(_) => zstd::bulk::decompress_to_buffer(body, page).map_err(external)?,
        compression => return Err(refused(format!("compression by {compression} is not read"))),
    };
    if len == page.len() { Ok(()) } else { Err(other()) }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let Some(header) = self.peek()? else { return Ok(None) };
        self.header = None;
        self.page(&header).map(Some)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        Ok(self.peek()?.map(|header| match header.kind {
            PageKind::Data { values, .. } => {
                PageMetadata { num_rows: None, num_levels: Some(values as usize), is_dict: false }
            }
            PageKind::DataV2 { values, .. } => PageMetadata {
                num_rows: Some(values as usize),
                num_levels: Some(values as usize),
                is_dict: false,
            },
            PageKind::Dictionary { .. } | PageKind::Index => {
                PageMetadata { num_rows: None, num_levels: None, is_dict: true }
            }
        }))
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        if let Some(header) = self.peek()? {
            if let PageKind::Data { values, .. } | PageKind::DataV2 { values, .. } = header.kind {
                self.values_left -= u64::from(values);
            }
            self.header = None;
            self.at = self.at.saturating_add(header.compressed_len as u64);
        }
        Ok(())
    }
}

impl Iterator for Pages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Result<Page, ParquetError>> {
        self.get_next_page().transpose()
    }
}
