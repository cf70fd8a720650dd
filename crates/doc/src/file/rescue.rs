//! Rescue of damaged files: recovers all valid chunks and what remains readable of damaged documents, and reports the
//! rest.

use std::ops::Range;

use crate::codec::bytes::reader::Reader;
use crate::codec::chunks::container::{Chunk, ChunkType};
use crate::codec::limits::Budget;
use crate::document::Document;
use crate::edit::transaction::Transactable as _;
use crate::file::damage::{Loss, RecoveryLevel, ScanBudget, distance_to_next};
use crate::file::load_save::{LoadOptions, Verify, load_marks, load_unverified};
use crate::read::view::View;
use crate::store::state::DocumentState;
use crate::types::error::{FormatError, LoadError, Rule};
use crate::types::literal::Literal;
use crate::types::{ChangeHash, ROOT};

/// Result of [`Document::rescue`].
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
    /// The recovered document. It can be saved and loaded.
    pub document: Document,
    /// Parts that are missing or differ from the file, in the order of the file.
    pub losses: Vec<Loss>,
    /// Dependencies that are not in the file. The changes that depend on them are queued in the document.
    pub missing: Vec<ChangeHash>,
}

impl Document {
    /// Reads the readable parts of a damaged file, and reports the others with the reason. The options for partial
    /// loads and verification are ignored: everything is verified, and doubtful parts are in the report.
    pub fn rescue(bytes: &[u8], options: LoadOptions) -> Rescue {
        let mut salvage =
            Salvage::new(Self::from_state(DocumentState::new(options.encoding), options.limits), bytes);
        salvage.takes_values = true;
        salvage.chunks(bytes, 0, 0);
        salvage.finish(options)
    }

    /// Applies the valid chunks of a file from `at` on; returns the losses, too.
    pub(crate) fn salvage(self, bytes: &[u8], at: usize, number: usize) -> (Self, Vec<Loss>) {
        let mut salvage = Salvage::new(self, bytes);
        salvage.chunks(bytes, at, number);
        (salvage.doc, salvage.losses)
    }
}

struct Salvage {
    doc: Document,
    /// Visible contents of a document whose history cannot be read.
    values: Option<Literal>,
    /// Are such contents wanted?
    takes_values: bool,
    losses: Vec<Loss>,
    passes: ScanBudget,
    /// Budget for reading.
    budget: Budget,
}

impl Salvage {
    fn new(doc: Document, bytes: &[u8]) -> Self {
        let (budget, passes) = (Budget::of_call(&doc.limits), ScanBudget::over(bytes));
        Self { doc, values: None, takes_values: false, losses: Vec::new(), passes, budget }
    }

    fn chunks(&mut self, bytes: &[u8], mut at: usize, mut number: usize) {
        while at < bytes.len() {
            at += self.chunk(bytes, at, number);
            number += 1;
        }
    }

    /// Recovers the chunk at `at`, or the bytes before the next one; returns the length.
    fn chunk(&mut self, bytes: &[u8], at: usize, number: usize) -> usize {
        let rest = &bytes[at..];
        if let Some(reason) = self.passes.are_over() {
            self.lose(at..bytes.len(), reason, RecoveryLevel::Nothing);
            return rest.len();
        }
        let mut reader = Reader::new(rest);
        let read = Chunk::read_any(&mut reader, &self.doc.limits);
        self.passes.spend(reader.offset());
        let (chunk, sound) = match read {
            Ok(read) => read,
            Err(error) => {
                let len = distance_to_next(rest);
                self.lose(at..at + len, error.at_chunk(number, at).into(), RecoveryLevel::Nothing);
                return len;
            }
        };
        if !sound {
            return self.unsound(&chunk, rest, at, number, reader.offset());
        }
        let len = reader.offset();
        if let Err(reason) = self.doc.take_chunk(&chunk, number, at, Verify::Now, &mut self.budget) {
            let recovered = self.remains(&chunk, &reason);
            self.lose(at..at + len, reason, recovered);
        }
        len
    }

    /// Recovers a chunk with a wrong checksum. A document is accepted if its heads prove its contents. A change has no
    /// such proof, and its end is uncertain.
    fn unsound(&mut self, chunk: &Chunk<'_>, rest: &[u8], at: usize, number: usize, len: usize) -> usize {
        let proven = chunk.kind == ChunkType::Document
            && self.doc.take_chunk(chunk, number, at, Verify::Now, &mut self.budget).is_ok();
        let (len, recovered) = if proven {
            (len, RecoveryLevel::Contents)
        } else {
            (distance_to_next(rest), RecoveryLevel::Nothing)
        };
        let position = crate::types::error::InputPosition { chunk: number, offset: at, column: None };
        let reason = FormatError { position, rule: Rule::Checksum };
        self.lose(at..at + len, reason.into(), recovered);
        len
    }

    /// Recovers what is possible from a valid chunk that was refused.
    fn remains(&mut self, chunk: &Chunk<'_>, reason: &LoadError) -> RecoveryLevel {
        if chunk.kind != ChunkType::Document {
            return RecoveryLevel::Nothing;
        }
        let (encoding, limits) = (self.doc.state.encoding, self.doc.limits);
        if let LoadError::Heads { .. } = reason
            && let Ok(state) = load_unverified(chunk, encoding, &limits, &mut self.budget)
            && self.doc.adopt_state(state.into(), &mut self.budget).is_ok()
        {
            return RecoveryLevel::Contents;
        }
        if self.takes_values
            && self.values.is_none()
            && let Ok(state) = load_marks(chunk, encoding, &limits, &mut self.budget)
        {
            self.values = View::now(&state).hydrate(ROOT).ok();
            return if self.values.is_some() { RecoveryLevel::Values } else { RecoveryLevel::Nothing };
        }
        RecoveryLevel::Nothing
    }

    fn lose(&mut self, bytes: Range<usize>, reason: LoadError, recovered: RecoveryLevel) {
        self.losses.push(Loss { bytes, reason, recovered });
    }

    fn finish(mut self, options: LoadOptions) -> Rescue {
        let missing = self.doc.get_missing_deps(&[]);
        if let Some(actor) = options.actor {
            self.doc.set_actor(actor);
        }
        if let Some(values) = self.values {
            let whole = self.doc.state.history.len() == 0 && {
                let fresh = Document::from_state(DocumentState::new(options.encoding), options.limits);
                self.doc = fresh.with_actor(self.doc.get_actor().clone());
                self.doc.transact(|tx| tx.init_root(&values)).is_ok()
            };
            if !whole {
                let values = self.losses.iter_mut().filter(|loss| loss.recovered == RecoveryLevel::Values);
                values.for_each(|loss| loss.recovered = RecoveryLevel::Nothing);
            }
        }
        Rescue { document: self.doc, losses: self.losses, missing }
    }
}
