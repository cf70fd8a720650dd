//! Save and load.

use std::sync::Arc;

use crate::codec::bytes::reader::Reader;
use crate::codec::chunks::bundle;
use crate::codec::chunks::change::{Change, Scratch, author_in};
use crate::codec::chunks::container::{Chunk, ChunkType, UncheckedChunk};
use crate::codec::chunks::document::DocumentView;
use crate::codec::columns::section::ChunkError;
use crate::codec::limits::{Budget, Limits};
use crate::codec::parallel;
use crate::codec::rules;
use crate::document::Document;
use crate::file::damage::{Loss, RecoveryLevel, ScanBudget, distance_to_next};
use crate::file::migrate_strings::StringMigration;
use crate::store::incoming::dependency_queue::{Applied, DependencyQueue};
use crate::store::state::DocumentState;
use crate::types::error::{ApplyError, EditError, LimitError, LoadError};
use crate::types::{ActorId, ChangeHash, ChangeIdx, TextEncoding};

/// Treatment of a file that cannot be read completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnPartialLoad {
    /// An error.
    #[default]
    Error,
    /// Loads what can be read, also after a damaged chunk; [`Document::load_reported`] reports the rest.
    Ignore,
}

/// Time of verification: all changes of a file are rebuilt and hashed, and the result is compared with the heads named
/// in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Verify {
    /// During the load: a damaged file is refused.
    #[default]
    Now,
    /// When [`Document::verify`] is called. Until then the heads are those named in the file, and other hashes are
    /// computed on request. The checksum of every chunk is compared in any case, and so are the hashes of a document
    /// that follows other chunks in the file: its changes are identified by them.
    Later,
}

/// Check of a file when it is opened. Without effect on [`Document::load`], which checks everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OpenCheck {
    /// The checksum of every chunk: damage by a disk or a transmission is found at once.
    #[default]
    Checksums,
    /// The end of each chunk: damage inside chunks is found on first access to the document.
    Frames,
}

/// Outcome of a load of possibly damaged bytes.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LoadReport {
    /// Number of new operations.
    pub operations: usize,
    /// Parts that are missing or differ from the bytes, in their order.
    pub losses: Vec<Loss>,
}

/// Options of a load.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    pub(crate) encoding: TextEncoding,
    partial: OnPartialLoad,
    verify: Verify,
    pub(crate) limits: Limits,
    pub(crate) actor: Option<ActorId>,
    pub(crate) strings: StringMigration,
    pub(crate) open_check: OpenCheck,
}

impl LoadOptions {
    /// The defaults: nothing may be missing, everything is verified, indexes count Unicode scalar values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the unit of text indexes.
    #[must_use]
    pub fn text_encoding(mut self, encoding: TextEncoding) -> Self {
        self.encoding = encoding;
        self
    }

    /// Sets the treatment of a file that cannot be read completely.
    #[must_use]
    pub fn on_partial_load(mut self, partial: OnPartialLoad) -> Self {
        self.partial = partial;
        self
    }

    /// Sets the time of verification.
    #[must_use]
    pub fn verify(mut self, verify: Verify) -> Self {
        self.verify = verify;
        self
    }

    /// Sets the check of [`Document::open`].
    #[must_use]
    pub fn open_check(mut self, open_check: OpenCheck) -> Self {
        self.open_check = open_check;
        self
    }

    /// Sets the limits for the file.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the treatment of scalar strings.
    #[must_use]
    pub fn migrate_strings(mut self, strings: StringMigration) -> Self {
        self.strings = strings;
        self
    }

    /// Sets the actor of later edits. Random by default.
    #[must_use]
    pub fn actor(mut self, actor: ActorId) -> Self {
        self.actor = Some(actor);
        self
    }
}

/// Options of a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaveOptions {
    /// Deflate long columns?
    pub deflate: bool,
    /// Write queued changes after the document?
    pub retain_orphans: bool,
}

impl Default for SaveOptions {
    fn default() -> Self {
        Self { deflate: true, retain_orphans: true }
    }
}

/// Decoded data from outside.
pub(crate) enum Part {
    Document(Arc<DocumentState>),
    Changes(Vec<Change>),
}

impl Document {
    /// Loads a file: a document, changes, or any sequence of them. Empty input is an empty document.
    pub fn load(bytes: &[u8]) -> Result<Self, LoadError> {
        Self::load_with(bytes, LoadOptions::default())
    }

    /// As [`Self::load`], with options.
    pub fn load_with(bytes: &[u8], options: LoadOptions) -> Result<Self, LoadError> {
        Self::load_reported(bytes, options).map(|(doc, _)| doc)
    }

    /// As [`Self::load_with`], with a report of the damage that [`OnPartialLoad::Ignore`] skips.
    ///
    /// ```
    /// use hashmill_doc::{Document, LoadOptions, OnPartialLoad, Transactable, ROOT};
    ///
    /// let mut doc = Document::new();
    /// doc.transact(|tx| tx.put(ROOT, "a", 1))?;
    /// let mut file = doc.save();
    /// doc.transact(|tx| tx.put(ROOT, "b", 1))?;
    /// file.extend(b"half of a chunk");
    /// file.extend(doc.save_incremental());
    /// let options = LoadOptions::new().on_partial_load(OnPartialLoad::Ignore);
    /// let (loaded, report) = Document::load_reported(&file, options)?;
    /// assert_eq!(loaded.get_heads(), doc.get_heads());
    /// assert_eq!(report.losses.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load_reported(bytes: &[u8], options: LoadOptions) -> Result<(Self, LoadReport), LoadError> {
        let mut doc = Self::from_state(DocumentState::new(options.encoding), options.limits);
        let starts_with_document = bytes.get(8) == Some(&(ChunkType::Document as u8));
        let mut losses = vec![];
        if let Err(stop) = doc.read(bytes, options.verify) {
            if options.partial == OnPartialLoad::Error {
                return Err(stop.reason);
            }
            (doc, losses) = doc.salvage(bytes, stop.at, stop.number);
        }
        let missing = doc.get_missing_deps(&[]);
        if !missing.is_empty() && !starts_with_document && options.partial == OnPartialLoad::Error {
            return Err(LoadError::MissingDeps { missing });
        }
        if let Some(actor) = options.actor {
            doc.set_actor(actor);
        }
        if options.strings == StringMigration::ConvertToText {
            let full = LimitError { what: "operations", limit: u32::MAX.into() };
            doc.convert_strings_to_text().map_err(|_| full)?;
        }
        let operations = doc.operations();
        Ok((doc, LoadReport { operations, losses }))
    }

    /// Applies the chunks up to the first invalid one.
    fn read(&mut self, bytes: &[u8], verify: Verify) -> Result<(), Stop> {
        let mut reader = Reader::new(bytes);
        let (mut number, mut budget) = (0, Budget::of_call(&self.limits));
        while !reader.is_empty() {
            let at = reader.offset();
            self.read_chunk(&mut reader, number, verify, &mut budget).map_err(|reason| Stop {
                reason,
                at,
                number,
            })?;
            number += 1;
        }
        Ok(())
    }

    /// Applies chunk number `number` of a file.
    fn read_chunk(
        &mut self,
        reader: &mut Reader<'_>,
        number: usize,
        verify: Verify,
        budget: &mut Budget,
    ) -> Result<(), LoadError> {
        let base = reader.offset();
        let locate = |error: ChunkError| LoadError::from(error.at_chunk(number, base));
        let sealed = UncheckedChunk::read(reader, &self.limits).map_err(locate)?;
        let verify = if self.is_empty() { verify } else { Verify::Now };
        if sealed.kind == ChunkType::Document && sealed.body.len() as u64 >= self.limits.parallel_from {
            self.take_document(&sealed, number, base, verify, budget)
        } else {
            self.take_chunk(&sealed.open().map_err(locate)?, number, base, verify, budget)
        }
    }

    /// As [`Self::take_chunk`], for a long document whose checksum is compared on another thread.
    fn take_document(
        &mut self,
        sealed: &UncheckedChunk<'_>,
        number: usize,
        base: usize,
        verify: Verify,
        budget: &mut Budget,
    ) -> Result<(), LoadError> {
        let (encoding, limits) = (self.state.encoding, &self.limits);
        // The load is a task of the pool itself: it distributes work to the other threads without waking this one.
        let (state, sound) = parallel::join(
            || load_chunk(&sealed.body, encoding, limits, verify, budget),
            || sealed.is_sound(),
        );
        if !sound {
            return Err(UncheckedChunk::broken().at_chunk(number, base).into());
        }
        let locate = |error: ChunkError| error.at_chunk(number, base + sealed.header).into();
        self.adopt_state(Arc::new(state.map_err(|error| error.map_err(locate))?), budget)?;
        Ok(())
    }

    /// Applies chunk number `number` of a file, which starts at `base`.
    pub(crate) fn take_chunk(
        &mut self,
        chunk: &Chunk<'_>,
        number: usize,
        base: usize,
        verify: Verify,
        budget: &mut Budget,
    ) -> Result<(), LoadError> {
        match self.part(chunk, number, base, verify, budget)? {
            Part::Document(state) => self.adopt_state(state, budget)?,
            Part::Changes(changes) => all_of(self.apply_metered(changes, budget))?,
        }
        Ok(())
    }

    /// Adopts a loaded state, or applies what is new in it.
    pub(crate) fn adopt_state(
        &mut self,
        mut state: Arc<DocumentState>,
        budget: &mut Budget,
    ) -> Result<(), ApplyError> {
        if self.is_empty() {
            self.fits(&state)?;
            Arc::make_mut(&mut state).set_limits(self.limits);
            self.state = state;
            return Ok(());
        }
        all_of(self.apply_metered(self.new_in(&state), budget))
    }

    /// Applies the valid chunks of a stream and skips damaged ones, because a stream may be cut off anywhere. If a
    /// change of a valid chunk cannot be applied, none is, and the document is unchanged. On an empty document, a
    /// stream without any valid chunk is an error. Returns the number of new operations;
    /// [`Self::load_incremental_reported`] also reports the damage.
    pub fn load_incremental(&mut self, bytes: &[u8]) -> Result<usize, LoadError> {
        self.load_incremental_reported(bytes).map(|report| report.operations)
    }

    /// As [`Self::load_incremental`], with a report of the skipped damage.
    pub fn load_incremental_reported(&mut self, bytes: &[u8]) -> Result<LoadReport, LoadError> {
        let before = self.operations();
        if !self.is_empty() {
            let losses = self.read_past_damage(bytes, 0, 0)?;
            return Ok(LoadReport { operations: self.operations() - before, losses });
        }
        let mut loaded = Self::from_state(DocumentState::new(self.state.encoding), self.limits);
        let mut losses = vec![];
        if let Err(Stop { reason, at, number }) = loaded.read(bytes, Verify::Now) {
            if !is_damage(&reason) {
                return Err(reason);
            }
            losses = loaded.read_past_damage(bytes, at, number)?;
            if loaded.is_empty() {
                return Err(reason);
            }
        }
        self.state = loaded.state;
        self.queue = loaded.queue;
        Ok(LoadReport { operations: self.operations(), losses })
    }

    /// Applies all new changes of a stream of chunks from `at` on, except those in damaged chunks, which are returned.
    fn read_past_damage(
        &mut self,
        bytes: &[u8],
        mut at: usize,
        mut number: usize,
    ) -> Result<Vec<Loss>, LoadError> {
        let (mut budget, mut passes) = (Budget::of_call(&self.limits), ScanBudget::over(bytes));
        let (mut changes, mut losses) = (vec![], vec![]);
        while at < bytes.len() {
            let rest = &bytes[at..];
            let mut reader = Reader::new(rest);
            let chunk = Chunk::read(&mut reader, &self.limits);
            passes.spend(reader.offset());
            let is_sound = chunk.is_ok();
            let chunk = chunk.map_err(|error| error.at_chunk(number, at).into());
            let part = chunk.and_then(|chunk| self.part(&chunk, number, at, Verify::Now, &mut budget));
            let len = if is_sound { reader.offset() } else { distance_to_next(rest) };
            match part {
                Ok(Part::Changes(more)) => changes.extend(more),
                Ok(Part::Document(state)) => changes.extend(self.new_in(&state)),
                Err(reason) if is_damage(&reason) => {
                    losses.push(Loss { bytes: at..at + len, reason, recovered: RecoveryLevel::Nothing });
                }
                Err(error) => return Err(error),
            }
            number += 1;
            at += len;
            if let Some(reason) = passes.are_over().filter(|_| at < bytes.len()) {
                losses.push(Loss { bytes: at..bytes.len(), reason, recovered: RecoveryLevel::Nothing });
                break;
            }
        }
        self.apply_metered(changes, &mut budget)?;
        Ok(losses)
    }

    /// All parts of a stream of chunks, or the first error.
    pub(crate) fn parts(&self, bytes: &[u8], budget: &mut Budget) -> Result<Vec<Part>, LoadError> {
        let (mut reader, mut parts, mut number) = (Reader::new(bytes), vec![], 0);
        while !reader.is_empty() {
            let base = reader.offset();
            let chunk = Chunk::read(&mut reader, &self.limits)
                .map_err(|error| LoadError::from(error.at_chunk(number, base)))?;
            match (self.part(&chunk, number, base, Verify::Now, budget)?, parts.last_mut()) {
                (Part::Changes(changes), Some(Part::Changes(before))) => before.extend(changes),
                (part, _) => parts.push(part),
            }
            number += 1;
        }
        Ok(parts)
    }

    /// The contents of one chunk.
    pub(crate) fn part(
        &self,
        chunk: &Chunk<'_>,
        number: usize,
        base: usize,
        verify: Verify,
        budget: &mut Budget,
    ) -> Result<Part, LoadError> {
        let at = |error: ChunkError| LoadError::from(error.at_chunk(number, base + chunk.header));
        let limits = &self.limits;
        Ok(match chunk.kind {
            ChunkType::Document => {
                let state = load_chunk(&chunk.body, self.state.encoding, limits, verify, budget);
                Part::Document(Arc::new(state.map_err(|error| error.map_err(at))?))
            }
            ChunkType::Change | ChunkType::Deflated => {
                let read = |scratch: &mut Scratch<'_>| Change::from_chunk(chunk, limits, budget, scratch);
                Part::Changes(vec![Scratch::with_thread_buffers(read).map_err(at)?])
            }
            ChunkType::Bundle => {
                let changes = bundle::read(&chunk.body, limits, budget, &mut Scratch::default());
                Part::Changes(changes.map_err(at)?)
            }
        })
    }

    /// Checks the changes of a loaded state, individually and in total, against the limits.
    fn fits(&self, state: &DocumentState) -> Result<(), LimitError> {
        let operations = state.history.operations();
        self.limits.check_total(operations)?;
        if operations > self.limits.operations {
            state
                .history
                .runs()
                .try_for_each(|run| self.limits.check_change(run.ops_per_change.into(), 0))?;
        }
        Ok(())
    }

    /// The changes of a decoded and verified part. A document is copied as a whole if there is no conflict; then no
    /// changes remain.
    pub(crate) fn changes_of(&mut self, part: Part) -> Vec<Change> {
        match part {
            Part::Changes(changes) => changes,
            Part::Document(mut state) if self.is_empty() && self.fits(&state).is_ok() => {
                Arc::make_mut(&mut state).set_limits(self.limits);
                self.state = state;
                vec![]
            }
            Part::Document(state) if self.adopt(&state, true) => vec![],
            Part::Document(state) => self.new_in(&state),
        }
    }

    /// As [`Self::apply_valid`], within the budget of a larger call.
    pub(crate) fn apply_valid_metered(
        &mut self,
        changes: impl IntoIterator<Item = Change>,
        budget: &mut Budget,
    ) -> Applied {
        let (state, queue, limits) = self.receiving();
        queue.apply_valid(state, changes, limits, budget)
    }

    /// The changes of a loaded state that are missing here.
    fn new_in(&self, state: &DocumentState) -> Vec<Change> {
        let mut scratch = Scratch::default();
        let rows = ChangeIdx::each(ChangeIdx::default()..state.history.next());
        let rows = rows.filter(|row| self.state.row(&state.hash(*row)).is_none());
        rows.map(|row| state.change(row, &mut scratch)).collect()
    }

    fn operations(&self) -> usize {
        self.state.history.operations() as usize
    }

    /// Encodes the document as a file. Caches the history of overwritten keys for the next save.
    pub fn save(&mut self) -> Vec<u8> {
        self.save_with(SaveOptions::default())
    }

    /// Encodes the document as a file, with options.
    pub fn save_with(&mut self, options: SaveOptions) -> Vec<u8> {
        self.roll_back_leaked();
        let bytes = self.write(options);
        self.saved = self.state.history.heads.rows().to_vec();
        bytes
    }

    /// Encodes the document as a file.
    pub(crate) fn write(&self, options: SaveOptions) -> Vec<u8> {
        let mut bytes = self.committed_state().write_document(options.deflate);
        if options.retain_orphans {
            self.queue.changes().iter().for_each(|change| bytes.extend(change.raw_bytes()));
        }
        bytes
    }

    /// Encodes the document as a file without compression.
    pub fn save_nocompress(&mut self) -> Vec<u8> {
        self.save_with(SaveOptions { deflate: false, ..SaveOptions::default() })
    }

    /// Encodes the document as a file, and verifies it by loading and comparing it.
    pub fn save_and_verify(&mut self) -> Result<Vec<u8>, LoadError> {
        let bytes = self.save();
        Self::load_with(&bytes, LoadOptions::default().limits(self.limits))?;
        Ok(bytes)
    }

    /// Every change that is neither among `heads` nor their ancestors, as consecutive chunks.
    pub fn save_after(&self, heads: &[ChangeHash]) -> Vec<u8> {
        let known: Vec<ChangeIdx> = heads.iter().filter_map(|hash| self.state.row(hash)).collect();
        self.state.chunks(self.state.rows_since(&known)).concat()
    }

    /// Every change since the last save of this document, as chunks to append to the file. A loaded document counts as
    /// not saved, because the origin of its bytes is unknown.
    pub fn save_incremental(&mut self) -> Vec<u8> {
        let bytes = self.state.chunks(self.state.rows_since(&self.saved)).concat();
        self.saved = self.state.history.heads.rows().to_vec();
        bytes
    }

    /// The document at `heads`, with another actor.
    ///
    /// Costs O(changes after `heads`), or as much as rebuilding the document from the changes before them, whichever is
    /// less.
    pub fn fork_at(&self, heads: &[ChangeHash]) -> Result<Self, EditError> {
        let rows = heads.iter().map(|hash| self.state.row(hash).ok_or(EditError::UnknownHash(*hash)));
        let rows = rows.collect::<Result<Vec<ChangeIdx>, _>>()?;
        let back = self.committed_state().rewind_to(&rows);
        let back =
            back.and_then(|(mut then, later_rows)| self.take_over(&later_rows, &mut then).then_some(then));
        if let Some(then) = back.filter(|then| self.limits.leave_plenty(then.size())) {
            return Ok(Self::from_state(then, self.limits));
        }
        let mut then = DocumentState::new(self.state.encoding);
        if !self.take_over(&self.state.ancestors(&rows), &mut then) {
            // They were applied before, so only room for their bytes can be missing.
            return Err(EditError::Full);
        }
        Ok(Self::from_state(then, self.limits))
    }

    /// Copies rows of this document that a state lacks into the state; returns whether it had room.
    fn take_over(&self, rows: &[ChangeIdx], then: &mut DocumentState) -> bool {
        DependencyQueue::default().adopt_rows(then, &self.state, rows, &Limits::NONE)
    }
}

/// In a file, queued changes that waited for a later chunk are included.
fn all_of(applied: Result<Vec<(ChangeHash, ApplyError)>, ApplyError>) -> Result<(), ApplyError> {
    applied?.into_iter().next().map_or(Ok(()), |(_, reason)| Err(reason))
}

/// Position and reason at which reading a file stopped.
struct Stop {
    reason: LoadError,
    at: usize,
    number: usize,
}

/// Is a chunk damaged? Valid chunks that exceed a limit or cannot be applied are not.
fn is_damage(reason: &LoadError) -> bool {
    matches!(reason, LoadError::Format(_) | LoadError::Heads { .. })
}

/// Error of loading one chunk: a fault whose position in the file is to be added, or an error of the whole.
enum ChunkFault {
    Chunk(ChunkError),
    Load(LoadError),
}

impl ChunkFault {
    fn map_err(self, locate: impl FnOnce(ChunkError) -> LoadError) -> LoadError {
        match self {
            ChunkFault::Chunk(error) => locate(error),
            ChunkFault::Load(error) => error,
        }
    }
}

/// The document of a chunk, with heads computed from its changes, whatever the chunk names.
pub(crate) fn load_unverified(
    chunk: &Chunk<'_>,
    encoding: TextEncoding,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<DocumentState, ChunkError> {
    DocumentState::load(&DocumentView::parse(&chunk.body, limits)?, encoding, limits, false, budget)
}

/// As [`load_unverified`], allowing ends of marks without a begin. For reading, not for editing.
pub(crate) fn load_marks(
    chunk: &Chunk<'_>,
    encoding: TextEncoding,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<DocumentState, ChunkError> {
    DocumentState::load(&DocumentView::parse(&chunk.body, limits)?, encoding, limits, true, budget)
}

/// Checks the author of every change.
fn authors(state: &DocumentState) -> Result<(), ApplyError> {
    for run in state.history.runs().filter(|run| author_in(state.heap.get(run.extra)).is_some()) {
        for n in 0..run.row_count.min(2) {
            let fault = |fault| ApplyError::Fault { hash: state.hash(run.first_row.plus(n)), fault };
            rules::author((run.seq + n).into(), true).map_err(fault)?;
        }
    }
    Ok(())
}

fn load_chunk(
    body: &[u8],
    encoding: TextEncoding,
    limits: &Limits,
    verify: Verify,
    budget: &mut Budget,
) -> Result<DocumentState, ChunkFault> {
    let view = DocumentView::parse(body, limits).map_err(ChunkFault::Chunk)?;
    let mut state = DocumentState::load(&view, encoding, limits, false, budget).map_err(ChunkFault::Chunk)?;
    authors(&state).map_err(|error| ChunkFault::Load(error.into()))?;
    let rows = view.head_rows.iter().flatten().filter_map(|row| u32::try_from(*row).ok());
    let rows: Vec<ChangeIdx> = rows.map(ChangeIdx::from_u32).collect();
    let mut sorted = (rows.clone(), state.history.heads.rows().to_vec());
    sorted.0.sort_unstable();
    sorted.1.sort_unstable();
    if verify == Verify::Later && sorted.0 == sorted.1 && rows.len() == view.heads.len() {
        rows.iter().zip(&view.heads).for_each(|(row, hash)| state.history.set_unverified_hash(*row, *hash));
        return Ok(state);
    }
    if body.len() as u64 >= limits.parallel_from {
        state.hash_all();
    }
    let computed = state.heads();
    if computed != view.heads {
        return Err(ChunkFault::Load(LoadError::Heads { named: view.heads, computed }));
    }
    Ok(state)
}
