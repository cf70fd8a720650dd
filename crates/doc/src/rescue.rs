//! What can be had of a file that does not load: every chunk that is good, of a damaged document what still means
//! something, and a report of the rest.

use std::ops::Range;

use crate::codec::chunk::{Chunk, ChunkType};
use crate::codec::limits::Budget;
use crate::codec::reader::Reader;
use crate::damage::{Kept, Loss, Passes, distance_to_next};
use crate::document::Document;
use crate::error::{FormatError, LoadError, Rule};
use crate::literal::Literal;
use crate::storage::{LoadOptions, Verify, load_marks, load_unverified};
use crate::store::state::State;
use crate::transaction::Transactable as _;
use crate::types::{ChangeHash, ROOT};
use crate::view::View;

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

impl Document {
    /// Reads what can be read of a damaged file, and says what cannot and why. Of the options, those for partial loads and
    /// verification mean nothing here: everything is verified, and what is in doubt is in the report.
    pub fn rescue(bytes: &[u8], options: LoadOptions) -> Rescue {
        let mut salvage = Salvage::of(Self::of(State::new(options.encoding), options.limits), bytes);
        salvage.takes_values = true;
        salvage.chunks(bytes, 0, 0);
        salvage.finish(options)
    }

    /// Takes the good chunks of a file from `at` on; gives the damage, too.
    pub(crate) fn salvage(self, bytes: &[u8], at: usize, number: usize) -> (Self, Vec<Loss>) {
        let mut salvage = Salvage::of(self, bytes);
        salvage.chunks(bytes, at, number);
        (salvage.doc, salvage.losses)
    }
}

struct Salvage {
    doc: Document,
    /// What can be seen in a document whose history cannot be read.
    values: Option<Literal>,
    /// Whether they are wanted.
    takes_values: bool,
    losses: Vec<Loss>,
    passes: Passes,
    /// What reading may cost.
    budget: Budget,
}

impl Salvage {
    fn of(doc: Document, bytes: &[u8]) -> Self {
        let (budget, passes) = (Budget::of_call(&doc.limits), Passes::over(bytes));
        Self { doc, values: None, takes_values: false, losses: Vec::new(), passes, budget }
    }

    fn chunks(&mut self, bytes: &[u8], mut at: usize, mut number: usize) {
        while at < bytes.len() {
            at += self.chunk(bytes, at, number);
            number += 1;
        }
    }

    /// Takes what can be had of the chunk at `at`, or of what lies before the next one; gives its length.
    fn chunk(&mut self, bytes: &[u8], at: usize, number: usize) -> usize {
        let rest = &bytes[at..];
        if let Some(why) = self.passes.are_over() {
            self.lose(at..bytes.len(), why, Kept::Nothing);
            return rest.len();
        }
        let mut reader = Reader::new(rest);
        let read = Chunk::read_any(&mut reader, &self.doc.limits);
        self.passes.spend(reader.offset());
        let (chunk, sound) = match read {
            Ok(read) => read,
            Err(error) => {
                let len = distance_to_next(rest);
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
        let (len, kept) =
            if proven { (len, Kept::Contents) } else { (distance_to_next(rest), Kept::Nothing) };
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
        if self.takes_values
            && self.values.is_none()
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
