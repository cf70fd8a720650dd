//! Inspection of a file, chunk by chunk, including damaged ones.

use std::ops::Range;

use crate::codec::bytes::reader::Reader;
use crate::codec::chunks::change::Change;
use crate::codec::chunks::container::{Chunk, MAGIC};
use crate::codec::limits::{Budget, Limits};
use crate::document::Document;
use crate::file::load_save::{Part as Loaded, Verify};
use crate::store::state::DocumentState;
use crate::types::TextEncoding;
use crate::types::error::{FormatError, InputPosition, LoadError, Rule};

/// A part of a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Part {
    /// Range of bytes.
    pub bytes: Range<usize>,
    /// The stated type of the chunk; `None` if no chunk starts here.
    pub kind: Option<PartKind>,
    /// The changes in it, or the reason why they cannot be read.
    pub changes: Result<Vec<Change>, LoadError>,
}

/// Type of a part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// All changes of a document, with their current result.
    Document,
    /// One change.
    Change,
    /// One change, deflated.
    CompressedChange,
    /// Some changes, without their result.
    Bundle,
}

/// Reads each part of a file, or of an entry of a sync message, separately. After a part with unknown end, the rest is
/// one more part; see [`Document::rescue`].
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
                let position = InputPosition { chunk: number, offset: at, column: None };
                (kind, reader.offset(), Err(FormatError { position, rule: Rule::Checksum }.into()))
            }
            Err(error) => {
                let kind = kind.filter(|_| bytes[at..].starts_with(&MAGIC));
                (kind, bytes.len(), Err(error.at_chunk(number, at).into()))
            }
        };
        parts.push(Part { bytes: at..end, kind, changes });
        if end == bytes.len() {
            break;
        }
    }
    parts
}

/// The changes of a chunk with a valid checksum.
fn changes(
    chunk: &Chunk<'_>,
    number: usize,
    at: usize,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<Vec<Change>, LoadError> {
    let doc = Document::from_state(DocumentState::new(TextEncoding::default()), *limits);
    match doc.part(chunk, number, at, Verify::Now, budget)? {
        Loaded::Changes(changes) => Ok(changes),
        Loaded::Document(state) => {
            Ok(Document::from_state(std::sync::Arc::unwrap_or_clone(state), *limits).get_changes(&[]))
        }
    }
}
