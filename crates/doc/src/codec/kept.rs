//! A document chunk as it was read, to be written again as long as nothing came to it.

use std::sync::Arc;

use rayon::prelude::*;

use super::chunk::{ChunkType, frame};
use super::column::{ChunkError, ColumnsOut, DEFLATE_FROM, Fault, Layout, PARALLEL_FROM, Stored, inflate};
use super::document::COLUMNS;
use super::reader::Reader;

/// The body of a chunk whose long columns are deflated: it takes a small part of what is made of it.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    body: Arc<[u8]>,
    /// How many changes it holds.
    rows: u32,
}

/// A body taken apart.
struct Parts<'a> {
    /// Actors and heads.
    names: &'a [u8],
    /// Columns of changes and of operations.
    sections: [Vec<Stored<'a>>; 2],
    /// Rows of the heads.
    rows: &'a [u8],
}

impl<'a> Parts<'a> {
    fn of(body: &'a [u8]) -> Result<Self, ChunkError> {
        let mut reader = Reader::new(body);
        let mut names = || {
            reader.actors()?;
            reader.hashes()
        };
        names().map_err(|rule| Fault::at(0, rule))?;
        let names = &body[..reader.offset()];
        let layouts = [Layout::read(&mut reader)?, Layout::read(&mut reader)?];
        let [changes, ops] = layouts.each_ref().map(|layout| layout.stored(&mut reader));
        Ok(Self { names, sections: [changes?, ops?], rows: reader.rest() })
    }
}

impl Kept {
    /// Keeps the body of a chunk that was read and holds so many changes, unless it is long for what it says, or says what
    /// this version of the format does not know.
    pub(crate) fn of(body: &[u8], rows: u32) -> Result<Option<Self>, ChunkError> {
        let parts = Parts::of(body)?;
        let short = |column: &Stored<'_>| column.deflated || column.bytes.len() < DEFLATE_FROM;
        let mut sections = parts.sections.iter().zip(COLUMNS);
        let keep = sections.all(|(section, known)| {
            section.iter().all(|column| short(column) && known.contains(&column.spec))
        });
        Ok(keep.then(|| Self { body: body.into(), rows }))
    }

    /// How many changes it holds.
    pub(crate) fn rows(&self) -> u32 {
        self.rows
    }

    /// The chunk, with its long columns deflated or none.
    pub(crate) fn write(&self, compress: bool) -> Vec<u8> {
        const READ: &str = "the body was read before it was kept";
        if compress {
            return frame(ChunkType::Document, &[&self.body]);
        }
        let Parts { names, sections: [changes, ops], rows } = Parts::of(&self.body).expect(READ);
        let plain = |column: &Stored<'_>| {
            let inflated = column.deflated.then(|| inflate(column.bytes, u64::MAX).expect(READ));
            (column.spec, inflated)
        };
        let stored: Vec<&Stored<'_>> = changes.iter().chain(&ops).collect();
        let inflated: Vec<_> = if self.body.len() < PARALLEL_FROM {
            stored.iter().map(|column| plain(column)).collect()
        } else {
            stored.par_iter().with_max_len(1).map(|column| plain(column)).collect()
        };
        let mut sections = [ColumnsOut::default(), ColumnsOut::default()];
        for (i, (column, (spec, inflated))) in stored.iter().zip(&inflated).enumerate() {
            let bytes = inflated.as_deref().unwrap_or(column.bytes);
            sections[usize::from(i >= changes.len())].push(*spec, bytes);
        }
        let mut head = names.to_vec();
        sections.iter().for_each(|section| section.write_layout(&mut head));
        frame(ChunkType::Document, &[&head, sections[0].data(), sections[1].data(), rows])
    }
}
