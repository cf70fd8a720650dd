//! Column section of a chunk: the list of columns, and their bytes.

use std::ops::Deref;
use std::sync::Arc;

use smallvec::SmallVec;

use super::deflate::{Effort, Inflate, inflate};
use crate::codec::bytes::byte_rope::ByteRope;
use crate::codec::bytes::leb::put_u64;
use crate::codec::bytes::reader::Reader;
use crate::codec::limits::Limits;
use crate::codec::parallel;
use crate::types::error::{DecodeError, FormatError, InputPosition, LimitError, Rule};

/// Bit of a specification that marks a deflated column.
const DEFLATED: u32 = 8;

/// Column of change messages.
pub(in crate::codec) const MESSAGE: u32 = 0x35;

/// Columns at least this long are deflated in documents and bundles.
pub(crate) const DEFLATE_FROM: usize = 256;

/// Compression effort for a column, as far as its specification tells its contents.
pub(crate) fn effort_of(spec: u32) -> Effort {
    match spec & 7 {
        kind::DELTA => Effort::Numbers,
        _ if spec == MESSAGE => Effort::Messages,
        _ => Effort::Texts,
    }
}

/// From this total size on, columns are deflated by several threads: below it, waking the threads takes longer.
pub(in crate::codec) const PARALLEL_FROM: usize = 1 << 14;

/// Maximum expansion factor of DEFLATE.
const MOST: u64 = 1032;

mod kind {
    pub(super) const GROUP: u32 = 0;
    pub(super) const DELTA: u32 = 3;
    pub(super) const META: u32 = 6;
    pub(super) const RAW: u32 = 7;
}

/// A broken rule in a chunk whose index is not known yet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FormatFault {
    pub(crate) column: Option<u32>,
    pub(crate) offset: usize,
    pub(crate) rule: Rule,
}

impl FormatFault {
    /// A fault outside columns, or without an exact position.
    pub(crate) fn at(offset: usize, rule: Rule) -> Self {
        Self { column: None, offset, rule }
    }

    pub(crate) fn in_column(column: u32, offset: usize, rule: Rule) -> Self {
        Self { column: Some(column), offset, rule }
    }
}

/// Errors of reading the contents of a chunk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ChunkError {
    Fault(FormatFault),
    Limit(LimitError),
}

impl From<FormatFault> for ChunkError {
    fn from(fault: FormatFault) -> Self {
        ChunkError::Fault(fault)
    }
}

impl From<LimitError> for ChunkError {
    fn from(limit: LimitError) -> Self {
        ChunkError::Limit(limit)
    }
}

impl ChunkError {
    pub(crate) fn limit(what: &'static str, limit: u64) -> Self {
        ChunkError::Limit(LimitError { what, limit })
    }

    /// The error at `offset` of a column, unless it has a position already.
    pub(crate) fn in_column(self, column: u32, offset: usize) -> Self {
        match self {
            ChunkError::Fault(FormatFault { column: None, offset: 0, rule }) => {
                ChunkError::Fault(FormatFault::in_column(column, offset, rule))
            }
            error => error,
        }
    }

    /// Adds the position of the chunk. Offsets in columns stay relative to the inflated column.
    pub(crate) fn at_chunk(self, chunk: usize, base: usize) -> DecodeError {
        match self {
            ChunkError::Fault(FormatFault { column, offset, rule }) => {
                let offset = if column.is_some() { offset } else { base + offset };
                DecodeError::Format(FormatError { position: InputPosition { chunk, offset, column }, rule })
            }
            ChunkError::Limit(limit) => DecodeError::Limit(limit),
        }
    }
}

/// The inflated columns of one section.
#[derive(Debug, Default)]
pub(crate) struct Columns<'a> {
    columns: Vec<(u32, Plain<'a>)>,
}

/// The bytes of a column.
#[derive(Debug)]
enum Plain<'a> {
    /// As stored in the file.
    Found(&'a [u8]),
    /// Inflated, shared: columns of a document are as long as all its texts, so callers can keep them without a copy.
    Inflated(Arc<Vec<u8>>),
}

impl Plain<'_> {
    fn share(&self) -> Arc<Vec<u8>> {
        match self {
            Self::Found(bytes) => Arc::new(bytes.to_vec()),
            Self::Inflated(bytes) => Arc::clone(bytes),
        }
    }
}

impl Deref for Plain<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Found(bytes) => bytes,
            Self::Inflated(bytes) => bytes,
        }
    }
}

impl Columns<'_> {
    /// The bytes of a column; empty if it is absent.
    pub(crate) fn get(&self, spec: u32) -> &[u8] {
        self.find(spec).map_or(&[], |i| &self.columns[i].1)
    }

    /// As [`Self::get`], as shared bytes.
    pub(crate) fn share(&self, spec: u32) -> Arc<Vec<u8>> {
        self.find(spec).map(|i| self.columns[i].1.share()).unwrap_or_default()
    }

    /// All columns except some, as shared bytes.
    pub(crate) fn all_but(&self, others: &[u32]) -> impl Iterator<Item = (u32, Arc<Vec<u8>>)> {
        let columns = self.columns.iter().filter(|(spec, _)| !others.contains(spec));
        columns.map(|(spec, bytes)| (*spec, bytes.share()))
    }

    /// Total length of all columns in bytes.
    pub(crate) fn len(&self) -> usize {
        self.columns.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// The first column that is not in `known`.
    pub(crate) fn unknown(&self, known: &[u32]) -> Option<u32> {
        self.columns.iter().map(|(spec, _)| *spec).find(|spec| !known.contains(spec))
    }

    fn find(&self, spec: u32) -> Option<usize> {
        self.columns.iter().position(|(found, _)| *found == spec)
    }
}

/// A column as stored in a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored<B> {
    /// Without the bit that marks deflated columns.
    pub(crate) spec: u32,
    pub(crate) deflated: bool,
    pub(crate) bytes: B,
}

/// Specifications and lengths, which precede the bytes.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Inline capacity: the number of columns of a document in this version.
    columns: SmallVec<[(u32, usize); 16]>,
}

impl Layout {
    /// Reads the layout of a change or document section.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, FormatFault> {
        Self::read_with(reader, kind::META)
    }

    /// Reads the layout of a bundle section, where a group of lengths may precede raw values.
    pub(crate) fn read_bundle(reader: &mut Reader<'_>) -> Result<Self, FormatFault> {
        Self::read_with(reader, kind::GROUP)
    }

    fn read_with(reader: &mut Reader<'_>, before_raw: u32) -> Result<Self, FormatFault> {
        let start = reader.offset();
        let mut read = || -> Result<Self, Rule> {
            let count = reader.len()?;
            // Each entry takes at least two bytes.
            if count > reader.rest().len() / 2 {
                return Err(Rule::Truncated);
            }
            let columns =
                (0..count).map(|_| Ok((reader.u32()?, reader.len()?))).collect::<Result<_, Rule>>()?;
            let layout = Self { columns };
            layout.check(before_raw)?;
            Ok(layout)
        };
        read().map_err(|rule| FormatFault::at(start, rule))
    }

    /// Checks that the specifications are sorted and unique, and values paired with their metadata.
    fn check(&self, before_raw: u32) -> Result<(), Rule> {
        let mut previous: Option<u32> = None;
        for &(spec, _) in &self.columns {
            let (spec, id, kind) = (spec & !DEFLATED, spec >> 4, spec & 7);
            match previous {
                Some(before) if spec < before => return Err(Rule::ColumnOrder),
                Some(before) if spec == before => return Err(Rule::ColumnTwice),
                _ => {}
            }
            let pair = [id << 4 | kind::META, id << 4 | before_raw];
            if kind == kind::RAW && !previous.is_some_and(|before| pair.contains(&before)) {
                return Err(Rule::LoneValue);
            }
            previous = Some(spec);
        }
        Ok(())
    }

    pub(crate) fn is_deflated(&self) -> bool {
        self.columns.iter().any(|(spec, _)| spec & DEFLATED != 0)
    }

    /// Reads the bytes of all columns as stored.
    fn stored<'a>(&self, reader: &mut Reader<'a>) -> Result<Vec<Stored<&'a [u8]>>, ChunkError> {
        let mut stored = Vec::with_capacity(self.columns.len());
        for &(spec, len) in &self.columns {
            let offset = reader.offset();
            let bytes = reader.read_bytes(len).map_err(|_| FormatFault::at(offset, Rule::ColumnRange))?;
            stored.push(Stored { spec: spec & !DEFLATED, deflated: spec & DEFLATED != 0, bytes });
        }
        Ok(stored)
    }

    /// Reads the bytes of all columns and inflates the deflated ones, whose length is subtracted from `inflatable`.
    pub(crate) fn read_columns<'a>(
        &self,
        reader: &mut Reader<'a>,
        inflatable: &mut u64,
        limits: &Limits,
    ) -> Result<Columns<'a>, ChunkError> {
        let stored = self.stored(reader)?;
        let too_long = || ChunkError::limit(crate::codec::limits::INFLATED, limits.inflated_bytes);
        let unpack = |Stored { spec, deflated, bytes }: Stored<&'a [u8]>, inflatable: u64| {
            if !deflated {
                return Ok((spec, Plain::Found(bytes)));
            }
            match inflate(bytes, inflatable) {
                Ok(bytes) => Ok((spec, Plain::Inflated(Arc::new(bytes)))),
                Err(Inflate::Corrupt) => Err(FormatFault::in_column(spec, 0, Rule::Deflate).into()),
                Err(Inflate::TooLong) => Err(too_long()),
            }
        };
        let packed: usize =
            stored.iter().filter(|column| column.deflated).map(|column| column.bytes.len()).sum();
        let columns: Vec<_> = if packed as u64 >= limits.parallel_from && packed as u64 * MOST <= *inflatable
        {
            // Their total is below the inflatable size, so each can be inflated independently.
            let columns = parallel::map(&stored, 1, |_, column| unpack(*column, *inflatable));
            columns.into_iter().collect::<Result<_, _>>()?
        } else {
            let (mut left, mut columns) = (*inflatable, Vec::with_capacity(stored.len()));
            for column in stored {
                let column = unpack(column, left)?;
                left = left.checked_sub(column.1.len() as u64).ok_or_else(too_long)?;
                columns.push(column);
            }
            columns
        };
        let all: u64 = columns.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        *inflatable = inflatable.checked_sub(all).ok_or_else(too_long)?;
        Ok(Columns { columns })
    }
}

/// Writes the specifications and lengths of columns.
pub(crate) fn write_layout(columns: &[Stored<ByteRope<'_>>], out: &mut Vec<u8>) {
    put_u64(out, columns.len() as u64);
    for &Stored { spec, deflated, bytes } in columns {
        put_u64(out, (if deflated { spec | DEFLATED } else { spec }).into());
        put_u64(out, bytes.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(specs: &[u32]) -> Result<(), Rule> {
        Layout { columns: specs.iter().map(|spec| (*spec, 1)).collect() }.check(kind::META)
    }

    #[test]
    fn layouts() {
        assert_eq!(check(&[0x01, 0x02, 0x13, 0x56, 0x57, 0x70, 0x71]), Ok(()));
        assert_eq!(check(&[0x02, 0x01]), Err(Rule::ColumnOrder));
        assert_eq!(check(&[0x02, 0x0a]), Err(Rule::ColumnTwice));
        assert_eq!(check(&[0x57]), Err(Rule::LoneValue));
        assert_eq!(check(&[0x46, 0x57]), Err(Rule::LoneValue));
    }
}
