//! A document chunk as it was read, to be written again as long as nothing came to it.

use std::sync::Arc;

use super::chunk::{ChunkType, frame, frame_of};
use super::column::{ChunkError, ColumnsOut, DEFLATE_FROM, Fault, Inflater, Layout, Stored};
use super::document::{COLUMNS, DocumentView};
use super::reader::Reader;

/// The body of a chunk whose long columns are deflated: it takes a small part of what is made of it.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    body: Arc<[u8]>,
    /// How many bytes each column inflates to.
    lens: Arc<[usize]>,
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
    pub(crate) fn of(body: &[u8], view: &DocumentView<'_>, rows: u32) -> Result<Option<Self>, ChunkError> {
        let parts = Parts::of(body)?;
        let short = |column: &Stored<'_>| column.deflated || column.bytes.len() < DEFLATE_FROM;
        let mut sections = parts.sections.iter().zip(COLUMNS);
        let keep = sections.all(|(section, known)| {
            section.iter().all(|column| short(column) && known.contains(&column.spec))
        });
        let lens = || view.changes.lens().chain(view.ops.lens()).collect();
        Ok(keep.then(|| Self { body: body.into(), lens: lens(), rows }))
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
        let mut head = names.to_vec();
        let (changes_lens, ops_lens) = self.lens.split_at(changes.len());
        for (section, lens) in [(&changes, changes_lens), (&ops, ops_lens)] {
            let specs = section.iter().map(|column| column.spec);
            ColumnsOut::layout_of(specs.zip(lens.iter().copied()), &mut head);
        }
        let len = head.len() + self.lens.iter().sum::<usize>() + rows.len();
        frame_of(ChunkType::Document, len, |body| {
            let (start, mut rest) = body.split_at_mut(head.len());
            start.copy_from_slice(&head);
            let mut inflater = Inflater::default();
            for (column, len) in changes.iter().chain(&ops).zip(&*self.lens) {
                let (room, behind) = rest.split_at_mut(*len);
                match column.deflated {
                    true => inflater.fill(column.bytes, room).expect(READ),
                    false => room.copy_from_slice(column.bytes),
                }
                rest = behind;
            }
            rest.copy_from_slice(rows);
        })
    }
}
