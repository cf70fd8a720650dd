//! What a file is made of: chunk by chunk, good or bad.

use std::ops::Range;

use crate::codec::change::Change;
use crate::codec::chunk::{Chunk, MAGIC};
use crate::codec::limits::{Budget, Limits};
use crate::codec::reader::Reader;
use crate::document::Document;
use crate::error::{FormatError, LoadError, Place, Rule};
use crate::storage::{Part as Loaded, Verify};
use crate::store::state::State;
use crate::types::TextEncoding;

/// A part of a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Part {
    /// Where.
    pub bytes: Range<usize>,
    /// What it says it is; nothing where no chunk begins.
    pub kind: Option<PartKind>,
    /// The changes in it, or why there are none.
    pub changes: Result<Vec<Change>, LoadError>,
}

/// What a part of a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// Changes with what became of them.
    Document,
    /// One change.
    Change,
    /// One change, deflated.
    CompressedChange,
    /// Changes without what became of them.
    Bundle,
}

/// Reads each part of a file, or of an entry of a sync message, for itself. What follows a part of which nobody knows where it
/// ends is one more part, see [`Document::rescue`].
pub fn examine(bytes: &[u8], limits: &Limits) -> Vec<Part> {
    let (mut parts, mut reader) = (Vec::new(), Reader::new(bytes));
    let mut budget = Budget::of_call(limits);
    while !reader.is_empty() {
        let (at, number) = (reader.offset(), parts.len());
        let kind = reader.rest().get(8).and_then(|kind| match kind {
            0 => Some(PartKind::Document),
            1 => Some(PartKind::Change),
            2 => Some(PartKind::CompressedChange),
            3 => Some(PartKind::Bundle),
            _ => None,
        });
        let (kind, end, changes) = match Chunk::read_any(&mut reader, limits) {
            Ok((chunk, true)) => (kind, reader.offset(), changes(&chunk, number, at, limits, &mut budget)),
            Ok((_, false)) => {
                let place = Place { chunk: number, offset: at, column: None };
                (kind, reader.offset(), Err(FormatError { place, rule: Rule::Checksum }.into()))
            }
            Err(error) => {
                let kind = kind.filter(|_| bytes[at..].starts_with(&MAGIC));
                (kind, bytes.len(), Err(error.place(number, at).into()))
            }
        };
        parts.push(Part { bytes: at..end, kind, changes });
        if end == bytes.len() {
            break;
        }
    }
    parts
}

/// The changes of a chunk whose checksum is right.
fn changes(
    chunk: &Chunk<'_>,
    number: usize,
    at: usize,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<Vec<Change>, LoadError> {
    let doc = Document::of(State::new(TextEncoding::default()), *limits);
    match doc.part(chunk, number, at, Verify::Now, budget)? {
        Loaded::Changes(changes) => Ok(changes),
        Loaded::Document(state) => {
            Ok(Document::of(std::sync::Arc::unwrap_or_clone(state), *limits).get_changes(&[]))
        }
    }
}
