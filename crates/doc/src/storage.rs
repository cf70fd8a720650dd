//! Saving and loading.

use std::sync::Arc;

use crate::codec::bundle;
use crate::codec::change::{Change, Scratch, author_in};
use crate::codec::chunk::{Chunk, ChunkType, Sealed};
use crate::codec::column::ChunkError;
use crate::codec::document::DocumentView;
use crate::codec::limits::{Budget, Limits};
use crate::codec::reader::Reader;
use crate::codec::rules;
use crate::damage::{Kept, Loss, Passes, distance_to_next};
use crate::document::Document;
use crate::error::{ApplyError, EditError, LimitError, LoadError};
use crate::migrate::StringMigration;
use crate::opened::Opening;
use crate::queue::{Applied, Queue};
use crate::store::state::State;
use crate::threads;
use crate::types::{ActorId, ChangeHash, ChangeIdx, TextEncoding};

/// What to do with a file of which not all can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnPartialLoad {
    /// Refuse it.
    #[default]
    Error,
    /// Keep what can be read, also behind a damaged chunk; [`Document::load_reported`] says what cannot.
    Ignore,
}

/// Whether the changes of a file are rebuilt and hashed, and the result compared with the heads it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Verify {
    /// Before the document is given out: a damaged file is refused.
    #[default]
    Now,
    /// When [`Document::verify`] asks for it. Until then the heads are what the file says, and other hashes are computed when
    /// something needs them. The checksum of every chunk is compared all the same, and so are the hashes of a document that
    /// stands behind something else in the file: its changes are known by them.
    Later,
}

/// What came of loading bytes of which some may be damaged.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LoadReport {
    /// Operations that are new in the document.
    pub operations: usize,
    /// What is not in the document as it was written, in the order of the bytes.
    pub losses: Vec<Loss>,
}

/// How to load.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    pub(crate) encoding: TextEncoding,
    partial: OnPartialLoad,
    verify: Verify,
    pub(crate) limits: Limits,
    pub(crate) actor: Option<ActorId>,
    pub(crate) strings: StringMigration,
    pub(crate) opening: Opening,
}

impl LoadOptions {
    /// The defaults: nothing may be missing, everything is verified, indexes count Unicode scalar values.
    pub fn new() -> Self {
        Self::default()
    }

    /// How indexes into text are counted.
    #[must_use]
    pub fn text_encoding(mut self, encoding: TextEncoding) -> Self {
        self.encoding = encoding;
        self
    }

    /// What to do with a file of which not all can be read.
    #[must_use]
    pub fn on_partial_load(mut self, partial: OnPartialLoad) -> Self {
        self.partial = partial;
        self
    }

    /// When to verify hashes.
    #[must_use]
    pub fn verify(mut self, verify: Verify) -> Self {
        self.verify = verify;
        self
    }

    /// What [`Document::open`] looks at.
    #[must_use]
    pub fn opening(mut self, opening: Opening) -> Self {
        self.opening = opening;
        self
    }

    /// How much memory the file may ask for.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// What to do with strings that are scalars.
    #[must_use]
    pub fn migrate_strings(mut self, strings: StringMigration) -> Self {
        self.strings = strings;
        self
    }

    /// Who will write in the document. Random if not said.
    #[must_use]
    pub fn actor(mut self, actor: ActorId) -> Self {
        self.actor = Some(actor);
        self
    }
}

/// How to save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaveOptions {
    /// Whether long columns are deflated.
    pub deflate: bool,
    /// Whether changes that wait for others are written behind the document.
    pub retain_orphans: bool,
}

impl Default for SaveOptions {
    fn default() -> Self {
        Self { deflate: true, retain_orphans: true }
    }
}

/// What came from elsewhere and was read.
pub(crate) enum Part {
    Document(Arc<State>),
    Changes(Vec<Change>),
}

impl Document {
    /// Reads a file: a document, changes, or any sequence of them. Nothing at all is an empty document.
    pub fn load(bytes: &[u8]) -> Result<Self, LoadError> {
        Self::load_with(bytes, LoadOptions::default())
    }

    /// As [`Self::load`], with options.
    pub fn load_with(bytes: &[u8], options: LoadOptions) -> Result<Self, LoadError> {
        Self::load_reported(bytes, options).map(|(doc, _)| doc)
    }

    /// As [`Self::load_with`], with a report of the damage that [`OnPartialLoad::Ignore`] passes over.
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
        let mut doc = Self::of(State::new(options.encoding), options.limits);
        let starts_with_document = bytes.get(8) == Some(&(ChunkType::Document as u8));
        let mut losses = vec![];
        if let Err(stop) = doc.read(bytes, options.verify) {
            if options.partial == OnPartialLoad::Error {
                return Err(stop.why);
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

    /// Applies chunk after chunk until one is bad.
    fn read(&mut self, bytes: &[u8], verify: Verify) -> Result<(), Stop> {
        let mut reader = Reader::new(bytes);
        let (mut number, mut budget) = (0, Budget::of_call(&self.limits));
        while !reader.is_empty() {
            let at = reader.offset();
            self.read_chunk(&mut reader, number, verify, &mut budget).map_err(|why| Stop {
                why,
                at,
                number,
            })?;
            number += 1;
        }
        Ok(())
    }

    /// Applies the `number`-th chunk of a file.
    fn read_chunk(
        &mut self,
        reader: &mut Reader<'_>,
        number: usize,
        verify: Verify,
        budget: &mut Budget,
    ) -> Result<(), LoadError> {
        let base = reader.offset();
        let place = |error: ChunkError| LoadError::from(error.place(number, base));
        let sealed = Sealed::read(reader, &self.limits).map_err(place)?;
        let verify = if self.is_empty() { verify } else { Verify::Now };
        if sealed.kind == ChunkType::Document && sealed.body.len() as u64 >= self.limits.parallel_from {
            self.take_document(&sealed, number, base, verify, budget)
        } else {
            self.take_chunk(&sealed.open().map_err(place)?, number, base, verify, budget)
        }
    }

    /// As [`Self::take_chunk`], for a long document whose checksum is compared beside.
    fn take_document(
        &mut self,
        sealed: &Sealed<'_>,
        number: usize,
        base: usize,
        verify: Verify,
        budget: &mut Budget,
    ) -> Result<(), LoadError> {
        let (encoding, limits) = (self.state.encoding, &self.limits);
        // Loading is a task of the pool itself: it hands work to the other threads without waiting to be woken.
        let (state, sound) = threads::join(
            || load_chunk(&sealed.body, encoding, limits, verify, budget),
            || sealed.is_sound(),
        );
        if !sound {
            return Err(Sealed::broken().place(number, base).into());
        }
        let place = |error: ChunkError| error.place(number, base + sealed.header).into();
        self.take(Arc::new(state.map_err(|error| error.map_err(place))?), budget)?;
        Ok(())
    }

    /// Applies the `number`-th chunk of a file, which starts at `base`.
    pub(crate) fn take_chunk(
        &mut self,
        chunk: &Chunk<'_>,
        number: usize,
        base: usize,
        verify: Verify,
        budget: &mut Budget,
    ) -> Result<(), LoadError> {
        match self.part(chunk, number, base, verify, budget)? {
            Part::Document(state) => self.take(state, budget)?,
            Part::Changes(changes) => all_of(self.apply_metered(changes, budget))?,
        }
        Ok(())
    }

    /// Takes over a loaded state, or what is new in it.
    pub(crate) fn take(&mut self, mut state: Arc<State>, budget: &mut Budget) -> Result<(), ApplyError> {
        if self.is_empty() {
            self.fits(&state)?;
            Arc::make_mut(&mut state).set_limits(self.limits);
            self.state = state;
            return Ok(());
        }
        all_of(self.apply_metered(self.new_in(&state), budget))
    }

    /// Applies the good chunks of a stream; damaged ones are passed over, because streams are cut off anywhere. When a change
    /// of a good chunk cannot be applied, none is: the document is as it was. On an empty document a stream without any good
    /// chunk is an error. Gives how many operations are new; [`Self::load_incremental_reported`] says what was damaged.
    pub fn load_incremental(&mut self, bytes: &[u8]) -> Result<usize, LoadError> {
        self.load_incremental_reported(bytes).map(|report| report.operations)
    }

    /// As [`Self::load_incremental`], with a report of the damage that was passed over.
    pub fn load_incremental_reported(&mut self, bytes: &[u8]) -> Result<LoadReport, LoadError> {
        let before = self.operations();
        if !self.is_empty() {
            let losses = self.read_past_damage(bytes, 0, 0)?;
            return Ok(LoadReport { operations: self.operations() - before, losses });
        }
        let mut loaded = Self::of(State::new(self.state.encoding), self.limits);
        let mut losses = vec![];
        if let Err(Stop { why, at, number }) = loaded.read(bytes, Verify::Now) {
            if !is_damage(&why) {
                return Err(why);
            }
            losses = loaded.read_past_damage(bytes, at, number)?;
            if loaded.is_empty() {
                return Err(why);
            }
        }
        self.state = loaded.state;
        self.queue = loaded.queue;
        Ok(LoadReport { operations: self.operations(), losses })
    }

    /// Applies all changes of a stream of chunks from `at` on that are new here, but for those in damaged chunks, which are
    /// given.
    fn read_past_damage(
        &mut self,
        bytes: &[u8],
        mut at: usize,
        mut number: usize,
    ) -> Result<Vec<Loss>, LoadError> {
        let (mut budget, mut passes) = (Budget::of_call(&self.limits), Passes::over(bytes));
        let (mut changes, mut losses) = (vec![], vec![]);
        while at < bytes.len() {
            let rest = &bytes[at..];
            let mut reader = Reader::new(rest);
            let chunk = Chunk::read(&mut reader, &self.limits);
            passes.spend(reader.offset());
            let is_sound = chunk.is_ok();
            let chunk = chunk.map_err(|error| error.place(number, at).into());
            let part = chunk.and_then(|chunk| self.part(&chunk, number, at, Verify::Now, &mut budget));
            let len = if is_sound { reader.offset() } else { distance_to_next(rest) };
            match part {
                Ok(Part::Changes(more)) => changes.extend(more),
                Ok(Part::Document(state)) => changes.extend(self.new_in(&state)),
                Err(why) if is_damage(&why) => {
                    losses.push(Loss { bytes: at..at + len, why, kept: Kept::Nothing });
                }
                Err(error) => return Err(error),
            }
            number += 1;
            at += len;
            if let Some(why) = passes.are_over().filter(|_| at < bytes.len()) {
                losses.push(Loss { bytes: at..bytes.len(), why, kept: Kept::Nothing });
                break;
            }
        }
        self.apply_metered(changes, &mut budget)?;
        Ok(losses)
    }

    /// All that is in a stream of chunks, or the first thing that is wrong with one.
    pub(crate) fn parts(&self, bytes: &[u8], budget: &mut Budget) -> Result<Vec<Part>, LoadError> {
        let (mut reader, mut parts, mut number) = (Reader::new(bytes), vec![], 0);
        while !reader.is_empty() {
            let base = reader.offset();
            let chunk = Chunk::read(&mut reader, &self.limits)
                .map_err(|error| LoadError::from(error.place(number, base)))?;
            match (self.part(&chunk, number, base, Verify::Now, budget)?, parts.last_mut()) {
                (Part::Changes(changes), Some(Part::Changes(before))) => before.extend(changes),
                (part, _) => parts.push(part),
            }
            number += 1;
        }
        Ok(parts)
    }

    /// What is in one chunk.
    pub(crate) fn part(
        &self,
        chunk: &Chunk<'_>,
        number: usize,
        base: usize,
        verify: Verify,
        budget: &mut Budget,
    ) -> Result<Part, LoadError> {
        let at = |error: ChunkError| LoadError::from(error.place(number, base + chunk.header));
        let limits = &self.limits;
        Ok(match chunk.kind {
            ChunkType::Document => {
                let state = load_chunk(&chunk.body, self.state.encoding, limits, verify, budget);
                Part::Document(Arc::new(state.map_err(|error| error.map_err(at))?))
            }
            ChunkType::Change | ChunkType::Deflated => {
                let read = |scratch: &mut Scratch<'_>| Change::from_chunk(chunk, limits, budget, scratch);
                Part::Changes(vec![Scratch::with_kept(read).map_err(at)?])
            }
            ChunkType::Bundle => {
                let changes = bundle::read(&chunk.body, limits, budget, &mut Scratch::default());
                Part::Changes(changes.map_err(at)?)
            }
        })
    }

    /// Whether the changes of a loaded state, and all of them together, are within the limits.
    fn fits(&self, state: &State) -> Result<(), LimitError> {
        let operations = state.history.operations();
        self.limits.check_total(operations)?;
        if operations > self.limits.operations {
            state.history.runs().try_for_each(|run| self.limits.check_change(run.ops.into(), 0))?;
        }
        Ok(())
    }

    /// The changes of a part that came from elsewhere and was verified when it was read. A document is taken over as a whole
    /// if nothing stands against it; then no changes are left.
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

    /// As [`Self::apply_valid`], for a call that does other work, too.
    pub(crate) fn apply_valid_metered(
        &mut self,
        changes: impl IntoIterator<Item = Change>,
        budget: &mut Budget,
    ) -> Applied {
        let (state, queue, limits) = self.receiving();
        queue.apply_valid(state, changes, limits, budget)
    }

    /// The changes of a loaded state that are not here.
    fn new_in(&self, state: &State) -> Vec<Change> {
        let mut scratch = Scratch::default();
        let rows = ChangeIdx::each(ChangeIdx::default()..state.history.next());
        let rows = rows.filter(|row| self.state.row(&state.hash(*row)).is_none());
        rows.map(|row| state.change(row, &mut scratch)).collect()
    }

    fn operations(&self) -> usize {
        self.state.history.operations() as usize
    }

    /// The document as a file. What it found out about keys that were written again and again is kept for the next time.
    pub fn save(&mut self) -> Vec<u8> {
        self.save_with(SaveOptions::default())
    }

    /// The document as a file, with options.
    pub fn save_with(&mut self, options: SaveOptions) -> Vec<u8> {
        self.settle();
        let bytes = self.write(options);
        self.saved = self.state.history.heads.rows().to_vec();
        bytes
    }

    /// The document as a file, whatever is done with it.
    pub(crate) fn write(&self, options: SaveOptions) -> Vec<u8> {
        let mut bytes = self.settled().write_document(options.deflate);
        if options.retain_orphans {
            self.queue.changes().iter().for_each(|change| bytes.extend(change.raw_bytes()));
        }
        bytes
    }

    /// The document as a file without compression.
    pub fn save_nocompress(&mut self) -> Vec<u8> {
        self.save_with(SaveOptions { deflate: false, ..SaveOptions::default() })
    }

    /// The document as a file that was loaded again and compared.
    pub fn save_and_verify(&mut self) -> Result<Vec<u8>, LoadError> {
        let bytes = self.save();
        Self::load_with(&bytes, LoadOptions::default().limits(self.limits))?;
        Ok(bytes)
    }

    /// Every change that is not among `heads` and what came before them, as chunks one after the other.
    pub fn save_after(&self, heads: &[ChangeHash]) -> Vec<u8> {
        let known: Vec<ChangeIdx> = heads.iter().filter_map(|hash| self.state.row(hash)).collect();
        self.state.chunks(self.state.rows_since(&known)).concat()
    }

    /// Every change since this document was last saved, as chunks to append to the file. Nothing was saved yet right
    /// after loading: who knows where the bytes came from.
    pub fn save_incremental(&mut self) -> Vec<u8> {
        let bytes = self.state.chunks(self.state.rows_since(&self.saved)).concat();
        self.saved = self.state.history.heads.rows().to_vec();
        bytes
    }

    /// The document as it was at `heads`, with another actor.
    ///
    /// Costs as much as what came since `heads`, or as making the document anew from the changes before them, whichever is less.
    pub fn fork_at(&self, heads: &[ChangeHash]) -> Result<Self, EditError> {
        let rows = heads.iter().map(|hash| self.state.row(hash).ok_or(EditError::UnknownHash(*hash)));
        let rows = rows.collect::<Result<Vec<ChangeIdx>, _>>()?;
        let back = self.settled().back_at(&rows);
        let back = back.and_then(|(mut then, kept)| self.take_over(&kept, &mut then).then_some(then));
        if let Some(then) = back.filter(|then| self.limits.leave_plenty(then.size())) {
            return Ok(Self::of(then, self.limits));
        }
        let mut then = State::new(self.state.encoding);
        if !self.take_over(&self.state.ancestors(&rows), &mut then) {
            // They were applied before: what is missing is room for their bytes.
            return Err(EditError::Full);
        }
        Ok(Self::of(then, self.limits))
    }

    /// Lets a state take over rows of this document that it lacks; gives whether it had room.
    fn take_over(&self, rows: &[ChangeIdx], then: &mut State) -> bool {
        Queue::default().adopt_rows(then, &self.state, rows, &Limits::NONE)
    }
}

/// In a file, those that waited for a later chunk count as well.
fn all_of(applied: Result<Vec<(ChangeHash, ApplyError)>, ApplyError>) -> Result<(), ApplyError> {
    applied?.into_iter().next().map_or(Ok(()), |(_, why)| Err(why))
}

/// Where reading a file stopped, and why.
struct Stop {
    why: LoadError,
    at: usize,
    number: usize,
}

/// Whether a chunk is not what was written. Sound chunks that are beyond a limit or cannot be applied are.
fn is_damage(why: &LoadError) -> bool {
    matches!(why, LoadError::Format(_) | LoadError::Heads { .. })
}

/// What loading one chunk fails with: a fault to be placed in the file, or an error about the whole.
enum ChunkFault {
    Chunk(ChunkError),
    Load(LoadError),
}

impl ChunkFault {
    fn map_err(self, place: impl FnOnce(ChunkError) -> LoadError) -> LoadError {
        match self {
            ChunkFault::Chunk(error) => place(error),
            ChunkFault::Load(error) => error,
        }
    }
}

/// The document of a chunk whose heads are what they are, whatever it names.
pub(crate) fn load_unverified(
    chunk: &Chunk<'_>,
    encoding: TextEncoding,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<State, ChunkError> {
    State::load(&DocumentView::parse(&chunk.body, limits)?, encoding, limits, false, budget)
}

/// As [`load_unverified`], with ends of marks that never began. To look at, not to edit.
pub(crate) fn load_marks(
    chunk: &Chunk<'_>,
    encoding: TextEncoding,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<State, ChunkError> {
    State::load(&DocumentView::parse(&chunk.body, limits)?, encoding, limits, true, budget)
}

/// Asks of every change for its author.
fn authors(state: &State) -> Result<(), ApplyError> {
    for run in state.history.runs().filter(|run| author_in(state.heap.get(run.extra)).is_some()) {
        for n in 0..run.rows.min(2) {
            let fault = |fault| ApplyError::Fault { hash: state.hash(run.row.plus(n)), fault };
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
) -> Result<State, ChunkFault> {
    let view = DocumentView::parse(body, limits).map_err(ChunkFault::Chunk)?;
    let mut state = State::load(&view, encoding, limits, false, budget).map_err(ChunkFault::Chunk)?;
    authors(&state).map_err(|error| ChunkFault::Load(error.into()))?;
    let rows = view.head_rows.iter().flatten().filter_map(|row| u32::try_from(*row).ok());
    let rows: Vec<ChangeIdx> = rows.map(ChangeIdx::of).collect();
    let mut sorted = (rows.clone(), state.history.heads.rows().to_vec());
    sorted.0.sort_unstable();
    sorted.1.sort_unstable();
    if verify == Verify::Later && sorted.0 == sorted.1 && rows.len() == view.heads.len() {
        rows.iter().zip(&view.heads).for_each(|(row, hash)| state.history.promise(*row, *hash));
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
