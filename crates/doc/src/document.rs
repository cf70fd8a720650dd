//! The document: what the outside world holds.

use std::sync::Arc;

use crate::codec::change::{Change, Scratch};
use crate::codec::limits::{Budget, Limits};
use crate::edit::{CommitOptions, Open};
use crate::error::{ApplyError, EditError, LoadError};
use crate::patch::Patch;
use crate::patch::diff::{Scope, diff};
use crate::queue::{Applied, Queue};
use crate::read::ReadDoc;
use crate::store::history::branches::Branch;
use crate::store::past::Clock;
use crate::store::state::State;
use crate::types::{ActorId, ChangeHash, ChangeIdx, ObjId, TextEncoding, Writer};
use crate::view::View;

/// A change that was made here and may not have been hashed yet. It is known to the document that made it, and to forks
/// and clones made of that document afterwards; elsewhere a change is known by its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Commit {
    branch: Branch,
    row: ChangeIdx,
}

impl Commit {
    /// Makes a change part of the history.
    pub(crate) fn of(open: Open, state: &mut State, options: &CommitOptions) -> Self {
        Self { branch: open.branch(), row: open.commit(state, options) }
    }
}

/// A document with its whole history.
///
/// It is `Send` and `Sync`; many may read at once. [`Self::fork`] and [`Self::snapshot`] share everything and cost O(1).
///
/// ```
/// use hashmill_doc::{Document, ReadDoc, Transactable, ROOT};
///
/// let mut ours = Document::new();
/// ours.transact(|tx| tx.put(ROOT, "title", "Groceries"))?;
/// let mut theirs = ours.fork();
/// theirs.transact(|tx| tx.put(ROOT, "done", false))?;
/// ours.merge(&theirs)?;
/// let again = Document::load(&ours.save())?;
/// assert_eq!(again.keys(ROOT).count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Document {
    pub(crate) state: Arc<State>,
    pub(crate) branch: Branch,
    pub(crate) queue: Queue,
    pub(crate) writer: Writer,
    pub(crate) limits: Limits,
    /// What [`Self::save_incremental`] gave out.
    pub(crate) saved: Vec<ChangeIdx>,
}

/// The same document with the same actor, in O(1). Only one of the two may write: [`Self::fork`] is for both.
impl Clone for Document {
    fn clone(&self) -> Self {
        Self {
            state: Arc::clone(&self.state),
            branch: Branch::new(),
            queue: self.queue.clone(),
            writer: self.writer.clone(),
            limits: self.limits,
            saved: self.saved.clone(),
        }
    }
}

impl Default for Document {
    fn default() -> Self {
        Self::with_encoding(TextEncoding::default())
    }
}

impl Document {
    /// An empty document with a random actor.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty document that counts indexes into text in `encoding`.
    pub fn with_encoding(encoding: TextEncoding) -> Self {
        Self::of(State::new(encoding), Limits::default())
    }

    pub(crate) fn of(mut state: State, limits: Limits) -> Self {
        state.set_limits(limits);
        Self {
            state: Arc::new(state),
            branch: Branch::new(),
            queue: Queue::default(),
            writer: Writer::default(),
            limits,
            saved: Vec::new(),
        }
    }

    /// The same document, writing as `actor`.
    #[must_use]
    #[inline]
    pub fn with_actor(mut self, actor: ActorId) -> Self {
        self.writer = actor.into();
        self
    }

    /// Writes as `actor` from now on.
    pub fn set_actor(&mut self, actor: ActorId) -> &mut Self {
        self.writer = actor.into();
        self
    }

    /// Who writes here.
    pub fn get_actor(&self) -> &ActorId {
        self.writer.id()
    }

    pub(crate) fn state_mut(&mut self) -> &mut State {
        Arc::make_mut(&mut self.state)
    }

    /// Takes back what a leaked transaction left.
    pub(crate) fn settle(&mut self) {
        if self.state.unfinished.is_some() {
            self.state_mut().take_back();
        }
    }

    /// What others may have of this document: nothing that a leaked transaction left.
    pub(crate) fn settled(&self) -> Arc<State> {
        let mut state = Arc::clone(&self.state);
        if state.unfinished.is_some() {
            Arc::make_mut(&mut state).take_back();
        }
        state
    }

    /// Opens a change; gives the state it changes, too.
    pub(crate) fn open_change(&mut self) -> (Open, &mut State) {
        self.settle();
        let Self { state, branch, queue, writer, .. } = self;
        let state = Arc::make_mut(state);
        let actor = writer.id();
        let open = Open::new(state, actor, *branch);
        queue.claim(actor, open.seq());
        (open, state)
    }

    /// A document of its own that is this one as it was at `heads`, to write in as if nothing else had happened.
    pub(crate) fn isolated(&self, heads: &[ChangeHash]) -> Result<Self, EditError> {
        let mut past = self.fork_at(heads)?;
        self.lead(&mut past);
        Ok(past)
    }

    /// Lets `past`, a document made by [`Self::isolated`], write what can be taken over: with counters after all that is
    /// known here, as this document's actor, or as one derived from it when that has written what `past` does not
    /// contain.
    pub(crate) fn lead(&self, past: &mut Self) {
        let written = |doc: &Self, actor: &ActorId| {
            doc.state.actors.find(actor).map_or(0, |actor| doc.state.history.seq(actor))
        };
        let mut actor = self.writer.id().clone();
        let mut level = 0;
        while written(self, &actor) > written(past, &actor) {
            level += 1;
            actor = self.writer.id().at_level(level);
        }
        past.writer = actor.into();
        let state = past.state_mut();
        state.max_op = self.state.max_op;
        state.actors.add_longest(&self.state.actors);
        state.set_limits(self.limits.for_part(state.measured_size(), self.state.measured_size()));
    }

    /// Takes over what the actor of `past`, a document made by [`Self::isolated`], wrote last.
    pub(crate) fn integrate(&mut self, past: &Self) -> Option<Commit> {
        let change = past.get_last_local_change()?;
        let hash = change.hash();
        self.queue.claim(change.actor_id(), change.seq());
        // Its limits were asked when it was made.
        let (state, queue, _) = self.receiving();
        let applied = queue.apply(state, [change], &Limits::NONE, &mut Budget::of_call(&Limits::NONE));
        assert!(applied.is_ok(), "the change was made from this document: {applied:?}");
        self.state.row(&hash).map(|row| Commit { branch: self.branch, row })
    }

    /// Makes a change without operations.
    pub fn empty_commit(&mut self, options: &CommitOptions) -> Commit {
        let (open, state) = self.open_change();
        Commit::of(open, state, options)
    }

    /// The hash of a change that was made here, computed now if it was not before. Nothing for a commit that this document
    /// does not know: see [`Commit`].
    pub fn hash(&self, commit: Commit) -> Option<ChangeHash> {
        self.row(commit).map(|row| self.state.hash(row))
    }

    /// The row of a change that was made here.
    pub(crate) fn row(&self, commit: Commit) -> Option<ChangeIdx> {
        let known = commit.row < self.state.history.next();
        (known && self.state.branches.added(commit.row, commit.branch)).then_some(commit.row)
    }

    /// The same document with another actor, in O(1): both share everything until one of them changes it.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self {
            state: self.settled(),
            branch: Branch::new(),
            queue: self.queue.clone(),
            writer: Writer::default(),
            limits: self.limits,
            saved: Vec::new(),
        }
    }

    /// The document as it is now, to be read while this one is written, in O(1).
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { state: self.settled() }
    }

    /// Whether nothing was ever written here and nothing waits.
    pub fn is_empty(&self) -> bool {
        self.state.history.len() == 0 && self.queue.changes().is_empty()
    }

    /// The changes that no other change was made after, in ascending order.
    ///
    /// Hashes of changes made or loaded since the last time are computed now.
    pub fn get_heads(&self) -> Vec<ChangeHash> {
        self.state.heads()
    }

    /// All changes that are not among `have` and what came before them, each after those it depends on. Unknown hashes
    /// are ignored.
    pub fn get_changes(&self, have: &[ChangeHash]) -> Vec<Change> {
        let known: Vec<ChangeIdx> = have.iter().filter_map(|hash| self.state.row(hash)).collect();
        let mut scratch = Scratch::default();
        let rows = self.state.rows_since(&known);
        rows.into_iter().map(|row| self.state.change(row, &mut scratch)).collect()
    }

    /// The changes of `other` that this document lacks, each after those it depends on.
    pub fn get_changes_added(&self, other: &Self) -> Vec<Change> {
        let mut scratch = Scratch::default();
        let heads = self.get_heads();
        let known: Vec<ChangeIdx> = heads.iter().filter_map(|hash| other.state.row(hash)).collect();
        let rows = other.state.rows_since(&known).into_iter();
        let missing = rows.filter(|row| self.state.row(&other.state.hash(*row)).is_none());
        missing.map(|row| other.state.change(row, &mut scratch)).collect()
    }

    /// One change.
    pub fn get_change_by_hash(&self, hash: &ChangeHash) -> Option<Change> {
        let row = self.state.row(hash)?;
        Some(self.state.change(row, &mut Scratch::default()))
    }

    /// The change that an operation belongs to: who put a value there, and when. Ids of values are ids of operations.
    ///
    /// Costs O(log n) when hashes were computed before.
    pub fn change_of(&self, operation: &ObjId) -> Option<ChangeHash> {
        let ObjId::Id { counter, actor, .. } = operation else { return None };
        let id = crate::types::OpId::new(u32::try_from(*counter).ok()?, self.state.actors.find(actor)?);
        let (_, row) = self.state.history.by_op(id)?;
        Some(self.state.hash(row))
    }

    /// The last change this document's actor made.
    pub fn get_last_local_change(&self) -> Option<Change> {
        let actor = self.state.actors.find(self.writer.id())?;
        let row = self.state.history.by_seq(actor, self.state.history.seq(actor))?;
        Some(self.state.change(row, &mut Scratch::default()))
    }

    /// Applies changes from elsewhere, in any order. Those whose dependencies are missing wait for them.
    ///
    /// When one of them cannot be applied, none of this call is: the document is as it was. Changes of earlier calls that
    /// waited for these and turn out to break a rule are dropped, and keep nothing back: [`Self::apply_valid`] tells them.
    pub fn apply_changes(&mut self, changes: impl IntoIterator<Item = Change>) -> Result<(), ApplyError> {
        let mut budget = Budget::of_call(&self.limits);
        self.apply_metered(changes, &mut budget).map(drop)
    }

    /// Applies those changes from elsewhere that can be, in any order, and tells what became of each. Those whose
    /// dependencies are missing wait for them; those that break a rule are refused, with all that depend on them, and keep
    /// nothing else back. For changes from several sources, of which some may be wrong.
    pub fn apply_valid(&mut self, changes: impl IntoIterator<Item = Change>) -> Applied {
        let mut budget = Budget::of_call(&self.limits);
        self.apply_valid_metered(changes, &mut budget)
    }

    /// As [`Self::apply_changes`], for a call that does other work, too. Gives which changes of earlier calls were dropped.
    pub(crate) fn apply_metered(
        &mut self,
        changes: impl IntoIterator<Item = Change>,
        budget: &mut Budget,
    ) -> Result<Vec<(ChangeHash, ApplyError)>, ApplyError> {
        let (state, queue, limits) = self.receiving();
        queue.apply(state, changes, limits, budget)
    }

    /// What takes changes from elsewhere.
    pub(crate) fn receiving(&mut self) -> (&mut State, &mut Queue, &Limits) {
        self.settle();
        let Self { state, branch, queue, limits, .. } = self;
        let state = Arc::make_mut(state);
        state.branches.advance(state.history.next(), *branch);
        (state, queue, limits)
    }

    /// The steps that lead from the document as it was at `before` to what it was at `after`, which may be earlier: no
    /// heads at all stand for the document before its first change.
    ///
    /// Costs one step per change since or per run of changes before them, whichever are less, to find the two, then as much
    /// as there are operations between them and, unless `after` is now or not long ago, as the sequences are long that these
    /// touched. In texts with marks the whole text is looked at.
    pub fn diff(&self, before: &[ChangeHash], after: &[ChangeHash]) -> Result<Vec<Patch>, EditError> {
        self.settled().diff(before, after, Scope::ALL)
    }

    /// The same for one object, with what is in it if `deep`.
    pub fn diff_obj(
        &self,
        obj: impl AsRef<ObjId>,
        before: &[ChangeHash],
        after: &[ChangeHash],
        deep: bool,
    ) -> Result<Vec<Patch>, EditError> {
        let state = self.settled();
        state.diff(before, after, Scope { obj: state.resolve(obj.as_ref())?, deep, ..Scope::ALL })
    }

    /// The steps that lead from nothing to the document as it is.
    pub fn current_state(&self) -> Vec<Patch> {
        let state = self.settled();
        diff(&state, &Clock::default(), &state.clock_now(), Scope::ALL)
    }

    /// Takes over everything `other` has and this document lacks. Gives the new heads.
    pub fn merge(&mut self, other: &Self) -> Result<Vec<ChangeHash>, ApplyError> {
        if !self.adopt(&other.settled(), false) {
            // As if they came from elsewhere: what is wrong is told, what can wait waits.
            self.apply_changes(self.get_changes_added(other))?;
        }
        Ok(self.get_heads())
    }

    /// Takes over what `other` has and this document lacks, operation by operation, if nothing stands against it. See
    /// [`Queue::adopt`].
    pub(crate) fn adopt(&mut self, other: &State, computed: bool) -> bool {
        self.settle();
        let Self { state, branch, queue, limits, .. } = self;
        let next = state.history.next();
        let adopted = queue.adopt(state, other, limits, computed);
        if state.history.next() > next {
            Arc::make_mut(state).branches.advance(next, *branch);
        }
        adopted
    }

    /// Hashes among `heads`, and among what waiting changes depend on, of changes that are neither here nor waiting.
    pub fn get_missing_deps(&self, heads: &[ChangeHash]) -> Vec<ChangeHash> {
        self.queue.missing(&self.state, heads)
    }

    /// Does what [`crate::Verify::Later`] put off: all changes are rebuilt and hashed, and the result is compared with the heads
    /// that the file named. The error is the one that loading would have given. Costs nothing where nothing is put off.
    ///
    /// Nobody waits for it: on another thread, of a [`Self::snapshot`] or of the document itself, it goes on beside
    /// whoever reads and edits.
    pub fn verify(&self) -> Result<(), LoadError> {
        self.state.verify()
    }

    /// Panics where the document's structures contradict themselves. With `deep`, every element is looked at.
    pub fn check(&self, deep: bool) {
        self.settled().check(deep);
    }
}

impl ReadDoc for Document {
    #[inline]
    fn view(&self) -> View<'_> {
        View::now(&self.state)
    }
}

/// A document that never changes: an immutable reader that needs no locks. Cheap to clone and to send.
///
/// ```
/// use hashmill_doc::{Document, ReadDoc, Transactable, ROOT};
///
/// let mut doc = Document::new();
/// let before = doc.snapshot();
/// doc.transact(|tx| tx.put(ROOT, "a", 1))?;
/// let reader = std::thread::spawn(move || before.keys(ROOT).count());
/// assert_eq!((reader.join().unwrap(), doc.keys(ROOT).count()), (0, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Snapshot {
    state: Arc<State>,
}

impl State {
    fn diff(
        &self,
        before: &[ChangeHash],
        after: &[ChangeHash],
        scope: Scope,
    ) -> Result<Vec<Patch>, EditError> {
        Ok(diff(self, &self.moment(before)?, &self.moment(after)?, scope))
    }
}

impl Snapshot {
    /// As [`Document::get_heads`].
    pub fn get_heads(&self) -> Vec<ChangeHash> {
        self.state.heads()
    }

    /// As [`Document::verify`].
    pub fn verify(&self) -> Result<(), LoadError> {
        self.state.verify()
    }
}

impl ReadDoc for Snapshot {
    #[inline]
    fn view(&self) -> View<'_> {
        View::now(&self.state)
    }
}
