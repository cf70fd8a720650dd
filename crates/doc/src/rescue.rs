//! What can be had of a file that does not load: every chunk that is good, of a damaged document what still means
//! something, and a report of the rest.

use std::ops::Range;

use crate::codec::chunk::{Chunk, ChunkType, MAGIC};
use crate::codec::limits::Budget;
use crate::codec::reader::Reader;
use crate::document::Document;
use crate::error::{FormatError, LimitError, LoadError, Rule};
use crate::literal::Literal;
use crate::storage::{LoadOptions, Verify, load_marks, load_unverified};
use crate::store::state::State;
use crate::transaction::Transactable as _;
use crate::types::{ChangeHash, ROOT};
use crate::view::View;

/// How often all bytes of a file may be read while looking for where a chunk starts.
const PASSES: usize = 32;

/// What [`Document::rescue`] found.
///
/// ```
/// use hashmill_doc::{Document, LoadOptions, ReadDoc, Transactable, ROOT};
///
/// let mut doc = Document::new();
/// doc.transact(|tx| tx.put(ROOT, "a", 1))?;
/// let mut file = doc.save();
/// file.extend_from_slice(b"what a disk wrote there");
/// assert!(Document::load(&file).is_err());
/// let rescued = Document::rescue(&file, LoadOptions::new());
/// assert_eq!(rescued.document.keys(ROOT).count(), 1);
/// assert!(!rescued.losses.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Rescue {
    /// What could be had. It can be saved and loaded.
    pub document: Document,
    /// What is not in the document as it was written, in the order of the file.
    pub losses: Vec<Loss>,
    /// Changes that are nowhere in the file, though others build on them. Those others wait in the document.
    pub missing: Vec<ChangeHash>,
}

/// A part of a file that could not be loaded.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Loss {
    /// Where in the file.
    pub bytes: Range<usize>,
    /// Why.
    pub why: LoadError,
    /// What of it is in the document all the same.
    pub kept: Kept,
}

/// What was kept of a part that could not be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Nothing.
    Nothing,
    /// What can be seen in it, without its history: other copies of the document cannot be merged with it.
    Values,
    /// Everything, under the names that follow from the contents and not under those that the file gives.
    Contents,
}

impl Document {
    /// Reads what can be read of a damaged file, and says what cannot and why. Of the options, those for partial loads and
    /// verification mean nothing here: everything is verified, and what is in doubt is in the report.
    pub fn rescue(bytes: &[u8], options: LoadOptions) -> Rescue {
        let mut salvage = Salvage {
            doc: Self::of(State::new(options.encoding), options.limits),
            values: None,
            losses: Vec::new(),
            bytes_left: bytes.len().saturating_mul(PASSES),
            budget: Budget::of_call(&options.limits),
        };
        let (mut at, mut number) = (0, 0);
        while at < bytes.len() {
            at += salvage.chunk(bytes, at, number);
            number += 1;
        }
        salvage.finish(options)
    }
}

struct Salvage {
    doc: Document,
    /// What can be seen in a document whose history cannot be read.
    values: Option<Literal>,
    losses: Vec<Loss>,
    /// Bytes that may still be read.
    bytes_left: usize,
    /// What reading them may cost.
    budget: Budget,
}

impl Salvage {
    /// Takes what can be had of the chunk at `at`, or of what lies before the next one; gives its length.
    fn chunk(&mut self, bytes: &[u8], at: usize, number: usize) -> usize {
        let rest = &bytes[at..];
        if self.bytes_left == 0 {
            let why = LimitError { what: "passes over a damaged file", limit: PASSES as u64 };
            self.lose(at..bytes.len(), why.into(), Kept::Nothing);
            return rest.len();
        }
        let mut reader = Reader::new(rest);
        let read = Chunk::read_any(&mut reader, &self.doc.limits);
        self.bytes_left = self.bytes_left.saturating_sub(reader.offset());
        let (chunk, sound) = match read {
            Ok(read) => read,
            Err(error) => {
                let len = next(rest);
                self.lose(at..at + len, error.place(number, at).into(), Kept::Nothing);
                return len;
            }
        };
        if !sound {
            return self.unsound(&chunk, rest, at, number, reader.offset());
        }
        let len = reader.offset();
        if let Err(why) = self.doc.take_chunk(&chunk, number, at, Verify::Now, &mut self.budget) {
            let kept = self.remains(&chunk, &why);
            self.lose(at..at + len, why, kept);
        }
        len
    }

    /// A chunk whose checksum is wrong: the heads that a document names may prove it right all the same. Of a change
    /// nothing does, and where it ends is not sure either.
    fn unsound(&mut self, chunk: &Chunk<'_>, rest: &[u8], at: usize, number: usize, len: usize) -> usize {
        let proven = chunk.kind == ChunkType::Document
            && self.doc.take_chunk(chunk, number, at, Verify::Now, &mut self.budget).is_ok();
        let (len, kept) = if proven { (len, Kept::Contents) } else { (next(rest), Kept::Nothing) };
        let place = crate::error::Place { chunk: number, offset: at, column: None };
        let why = FormatError { place, rule: Rule::Checksum };
        self.lose(at..at + len, why.into(), kept);
        len
    }

    /// What can be had of a sound chunk that was refused.
    fn remains(&mut self, chunk: &Chunk<'_>, why: &LoadError) -> Kept {
        if chunk.kind != ChunkType::Document {
            return Kept::Nothing;
        }
        let (encoding, limits) = (self.doc.state.encoding, self.doc.limits);
        if let LoadError::Heads { .. } = why
            && let Ok(state) = load_unverified(chunk, encoding, &limits, &mut self.budget)
            && self.doc.take(state.into(), &mut self.budget).is_ok()
        {
            return Kept::Contents;
        }
        if self.values.is_none()
            && let Ok(state) = load_marks(chunk, encoding, &limits, &mut self.budget)
        {
            self.values = View::now(&state).hydrate(ROOT).ok();
            return if self.values.is_some() { Kept::Values } else { Kept::Nothing };
        }
        Kept::Nothing
    }

    fn lose(&mut self, bytes: Range<usize>, why: LoadError, kept: Kept) {
        self.losses.push(Loss { bytes, why, kept });
    }

    fn finish(mut self, options: LoadOptions) -> Rescue {
        let missing = self.doc.get_missing_deps(&[]);
        if let Some(actor) = options.actor {
            self.doc.set_actor(actor);
        }
        if let Some(values) = self.values {
            let whole = self.doc.state.history.len() == 0 && {
                let fresh = Document::of(State::new(options.encoding), options.limits);
                self.doc = fresh.with_actor(self.doc.get_actor().clone());
                self.doc.transact(|tx| tx.init_root(&values)).is_ok()
            };
            if !whole {
                let values = self.losses.iter_mut().filter(|loss| loss.kept == Kept::Values);
                values.for_each(|loss| loss.kept = Kept::Nothing);
            }
        }
        Rescue { document: self.doc, losses: self.losses, missing }
    }
}

/// How far the next chunk is at least.
fn next(rest: &[u8]) -> usize {
    let start = rest.windows(MAGIC.len()).skip(1).position(|bytes| bytes == MAGIC);
    start.map_or(rest.len(), |at| at + 1)
}
