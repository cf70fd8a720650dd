//! Document: a state with its actor, queue and limits.

use std::sync::Arc;

use crate::codec::chunks::change::{Change, Scratch};
use crate::codec::limits::{Budget, Limits};
use crate::edit::editor::{CommitOptions, PendingChange};
use crate::patch::Patch;
use crate::patch::diff::{Scope, diff};
use crate::read::read_doc::ReadDoc;
use crate::read::view::View;
use crate::store::history::branches::Branch;
use crate::store::incoming::dependency_queue::{Applied, DependencyQueue};
use crate::store::state::DocumentState;
use crate::store::versions::clock::Clock;
use crate::types::error::{ApplyError, EditError, LoadError};
use crate::types::{ActorId, ChangeHash, ChangeIdx, ObjId, TextEncoding, Writer};

/// A local change, possibly not hashed yet. Valid in the document that made it, and in forks and clones made from that
/// document afterwards; elsewhere a change is identified by its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Commit {
    branch: Branch,
    row: ChangeIdx,
}

impl Commit {
    /// Adds a change to the history.
    pub(crate) fn from_pending(
        open: PendingChange,
        state: &mut DocumentState,
        options: &CommitOptions,
    ) -> Self {
        Self { branch: open.branch(), row: open.commit(state, options) }
    }
}

/// A document with its whole history.
///
/// It is `Send` and `Sync`, for concurrent readers. [`Self::fork`] and [`Self::snapshot`] share all data and cost O(1).
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
    pub(crate) state: Arc<DocumentState>,
    pub(crate) branch: Branch,
    pub(crate) queue: DependencyQueue,
    pub(crate) writer: Writer,
    pub(crate) limits: Limits,
    /// Heads at the last [`Self::save_incremental`].
    pub(crate) saved: Vec<ChangeIdx>,
}

/// A copy with the same actor, in O(1). Only one of the two may be edited: use [`Self::fork`] to edit both.
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

    /// An empty document whose text indexes count units of `encoding`.
    pub fn with_encoding(encoding: TextEncoding) -> Self {
        Self::from_state(DocumentState::new(encoding), Limits::default())
    }

    pub(crate) fn from_state(mut state: DocumentState, limits: Limits) -> Self {
        state.set_limits(limits);
        Self {
            state: Arc::new(state),
            branch: Branch::new(),
            queue: DependencyQueue::default(),
            writer: Writer::default(),
            limits,
            saved: Vec::new(),
        }
    }

    /// This document with `actor` as its writer.
    #[must_use]
    #[inline]
    pub fn with_actor(mut self, actor: ActorId) -> Self {
        self.writer = actor.into();
        self
    }

    /// Sets the actor of later edits.
    pub fn set_actor(&mut self, actor: ActorId) -> &mut Self {
        self.writer = actor.into();
        self
    }

    /// The actor of edits.
    pub fn get_actor(&self) -> &ActorId {
        self.writer.id()
    }

    pub(crate) fn state_mut(&mut self) -> &mut DocumentState {
        Arc::make_mut(&mut self.state)
    }

    /// Rolls back the edits of a leaked transaction.
    pub(crate) fn roll_back_leaked(&mut self) {
        if self.state.open_change.is_some() {
            self.state_mut().roll_back_open_change();
        }
    }

    /// The state for other documents, without the edits of a leaked transaction.
    pub(crate) fn committed_state(&self) -> Arc<DocumentState> {
        let mut state = Arc::clone(&self.state);
        if state.open_change.is_some() {
            Arc::make_mut(&mut state).roll_back_open_change();
        }
        state
    }

    /// Starts a change; returns the state to edit, too.
    pub(crate) fn open_change(&mut self) -> (PendingChange, &mut DocumentState) {
        self.roll_back_leaked();
        let Self { state, branch, queue, writer, .. } = self;
        let state = Arc::make_mut(state);
        let actor = writer.id();
        let open = PendingChange::new(state, actor, *branch);
        queue.claim(actor, open.seq());
        (open, state)
    }

    /// A separate document at `heads`, to be edited without the later changes.
    pub(crate) fn isolated(&self, heads: &[ChangeHash]) -> Result<Self, EditError> {
        let mut past = self.fork_at(heads)?;
        self.lead(&mut past);
        Ok(past)
    }

    /// Prepares `past`, a document made by [`Self::isolated`], for edits that this document can apply: with counters
    /// after all known ones, and with this document's actor, or with a derived one if the actor has changes that are
    /// not in `past`.
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
        let limits = self.limits.for_part(state.fixed_size(), self.state.measured_size());
        state.set_limits(limits);
    }

    /// Applies the last change by the actor of `past`, a document made by [`Self::isolated`].
    pub(crate) fn integrate(&mut self, past: &Self) -> Option<Commit> {
        let change = past.get_last_local_change()?;
        let hash = change.hash();
        self.queue.claim(change.actor_id(), change.seq());
        // Its limits were checked when it was made.
        let (state, queue, _) = self.receiving();
        let applied = queue.apply(state, [change], &Limits::NONE, &mut Budget::of_call(&Limits::NONE));
        assert!(applied.is_ok(), "the change was made from this document: {applied:?}");
        self.state.row(&hash).map(|row| Commit { branch: self.branch, row })
    }

    /// Makes a change without operations.
    pub fn empty_commit(&mut self, options: &CommitOptions) -> Commit {
        let (open, state) = self.open_change();
        Commit::from_pending(open, state, options)
    }

    /// The hash of a local change, computed on first request. `None` for a commit that is not valid in this document:
    /// see [`Commit`].
    pub fn hash(&self, commit: Commit) -> Option<ChangeHash> {
        self.row(commit).map(|row| self.state.hash(row))
    }

    /// The row of a local change.
    pub(crate) fn row(&self, commit: Commit) -> Option<ChangeIdx> {
        let known = commit.row < self.state.history.next();
        (known && self.state.branches.added(commit.row, commit.branch)).then_some(commit.row)
    }

    /// A copy with another actor, in O(1): both share all data until one of them is edited.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self {
            state: self.committed_state(),
            branch: Branch::new(),
            queue: self.queue.clone(),
            writer: Writer::default(),
            limits: self.limits,
            saved: Vec::new(),
        }
    }

    /// An immutable copy of the current document, in O(1), to be read while the document is edited.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { state: self.committed_state() }
    }

    /// Is the document without changes, edits and queued changes?
    pub fn is_empty(&self) -> bool {
        self.state.history.len() == 0 && self.queue.changes().is_empty()
    }

    /// The changes without descendants, in ascending order.
    ///
    /// Computes the missing hashes of changes made or loaded since the last call.
    pub fn get_heads(&self) -> Vec<ChangeHash> {
        self.state.heads()
    }

    /// All changes that are neither among `have` nor their ancestors, each after its dependencies. Unknown hashes are
    /// ignored.
    pub fn get_changes(&self, have: &[ChangeHash]) -> Vec<Change> {
        let known: Vec<ChangeIdx> = have.iter().filter_map(|hash| self.state.row(hash)).collect();
        let mut scratch = Scratch::default();
        let rows = self.state.rows_since(&known);
        rows.into_iter().map(|row| self.state.change(row, &mut scratch)).collect()
    }

    /// The changes of `other` that are missing in this document, each after its dependencies.
    pub fn get_changes_added(&self, other: &Self) -> Vec<Change> {
        let mut scratch = Scratch::default();
        let heads = self.get_heads();
        let known: Vec<ChangeIdx> = heads.iter().filter_map(|hash| other.state.row(hash)).collect();
        let rows = other.state.rows_since(&known).into_iter();
        let missing = rows.filter(|row| self.state.row(&other.state.hash(*row)).is_none());
        missing.map(|row| other.state.change(row, &mut scratch)).collect()
    }

    /// The change with this hash.
    pub fn get_change_by_hash(&self, hash: &ChangeHash) -> Option<Change> {
        let row = self.state.row(hash)?;
        Some(self.state.change(row, &mut Scratch::default()))
    }

    /// The change of an operation, which tells who wrote a value, and when. Ids of values are ids of operations.
    ///
    /// Costs O(log n) if hashes were computed before.
    pub fn change_of(&self, operation: &ObjId) -> Option<ChangeHash> {
        let ObjId::Id { counter, actor, .. } = operation else { return None };
        let id = crate::types::OpId::new(u32::try_from(*counter).ok()?, self.state.actors.find(actor)?);
        let (_, row) = self.state.history.by_op(id)?;
        Some(self.state.hash(row))
    }

    /// The last change by this document's actor.
    pub fn get_last_local_change(&self) -> Option<Change> {
        let actor = self.state.actors.find(self.writer.id())?;
        let row = self.state.history.by_seq(actor, self.state.history.seq(actor))?;
        Some(self.state.change(row, &mut Scratch::default()))
    }

    /// Applies remote changes in any order. Changes with missing dependencies are queued.
    ///
    /// If one of them cannot be applied, none is, and the document is unchanged. Queued changes of earlier calls that
    /// turn out to break a rule are dropped, without an effect on the others: [`Self::apply_valid`] reports them.
    pub fn apply_changes(&mut self, changes: impl IntoIterator<Item = Change>) -> Result<(), ApplyError> {
        let mut budget = Budget::of_call(&self.limits);
        self.apply_metered(changes, &mut budget).map(drop)
    }

    /// Applies the valid ones of some remote changes in any order, and reports the outcome of each. Changes with
    /// missing dependencies are queued; those that break a rule are refused, with all their dependents. For changes
    /// from several sources, some of which may be wrong.
    pub fn apply_valid(&mut self, changes: impl IntoIterator<Item = Change>) -> Applied {
        let mut budget = Budget::of_call(&self.limits);
        self.apply_valid_metered(changes, &mut budget)
    }

    /// As [`Self::apply_changes`], within the budget of a larger call. Returns the dropped changes of earlier calls.
    pub(crate) fn apply_metered(
        &mut self,
        changes: impl IntoIterator<Item = Change>,
        budget: &mut Budget,
    ) -> Result<Vec<(ChangeHash, ApplyError)>, ApplyError> {
        let (state, queue, limits) = self.receiving();
        queue.apply(state, changes, limits, budget)
    }

    /// The parts that process remote changes.
    pub(crate) fn receiving(&mut self) -> (&mut DocumentState, &mut DependencyQueue, &Limits) {
        self.roll_back_leaked();
        let Self { state, branch, queue, limits, .. } = self;
        let state = Arc::make_mut(state);
        state.branches.advance(state.history.next(), *branch);
        (state, queue, limits)
    }

    /// The patches between the states at `before` and `after`, which may be the earlier one; empty heads stand for the
    /// document before its first change.
    ///
    /// Finding the two states costs one step per later change or per run of earlier changes, whichever is less. The
    /// comparison costs O(operations between them) and, unless `after` is the current or a recent state, O(length of
    /// the touched sequences). Texts with marks are compared as a whole.
    pub fn diff(&self, before: &[ChangeHash], after: &[ChangeHash]) -> Result<Vec<Patch>, EditError> {
        self.committed_state().diff(before, after, Scope::ALL)
    }

    /// As [`Self::diff`], for one object, with its contents if `deep`.
    pub fn diff_obj(
        &self,
        obj: impl AsRef<ObjId>,
        before: &[ChangeHash],
        after: &[ChangeHash],
        deep: bool,
    ) -> Result<Vec<Patch>, EditError> {
        let state = self.committed_state();
        state.diff(before, after, Scope { obj: state.resolve(obj.as_ref())?, deep, ..Scope::ALL })
    }

    /// The patches from the empty document to the current state.
    pub fn current_state(&self) -> Vec<Patch> {
        let state = self.committed_state();
        diff(&state, &Clock::default(), &state.clock_now(), Scope::ALL)
    }

    /// Applies all changes of `other` that are missing here. Returns the new heads.
    pub fn merge(&mut self, other: &Self) -> Result<Vec<ChangeHash>, ApplyError> {
        if !self.adopt(&other.committed_state(), false) {
            // As remote changes: errors are reported, and changes with missing dependencies are queued.
            self.apply_changes(self.get_changes_added(other))?;
        }
        Ok(self.get_heads())
    }

    /// Copies the operations that `other` has and this document lacks, if there is no conflict or queued change. See
    /// [`DependencyQueue::adopt`].
    pub(crate) fn adopt(&mut self, other: &DocumentState, computed: bool) -> bool {
        self.roll_back_leaked();
        let Self { state, branch, queue, limits, .. } = self;
        let next = state.history.next();
        let adopted = queue.adopt(state, other, limits, computed);
        if state.history.next() > next {
            Arc::make_mut(state).branches.advance(next, *branch);
        }
        adopted
    }

    /// Hashes that are neither present nor queued, among `heads` and the dependencies of queued changes.
    pub fn get_missing_deps(&self, heads: &[ChangeHash]) -> Vec<ChangeHash> {
        self.queue.missing(&self.state, heads)
    }

    /// Performs the verification that [`crate::Verify::Later`] deferred: all changes are rebuilt and hashed, and the
    /// result is compared with the heads named in the file. The error is the one that loading would have returned. Free
    /// if nothing is deferred.
    ///
    /// It blocks no other thread: it can run on another thread, for a [`Self::snapshot`] or the document itself, while
    /// the document is read and edited.
    pub fn verify(&self) -> Result<(), LoadError> {
        self.state.verify()
    }

    /// Panics if the document's structures are inconsistent. With `deep`, every element is visited.
    pub fn check(&self, deep: bool) {
        self.committed_state().check(deep);
    }
}

impl ReadDoc for Document {
    #[inline]
    fn view(&self) -> View<'_> {
        View::now(&self.state)
    }
}

/// An immutable document, readable without locks. Cheap to clone and to send.
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
    state: Arc<DocumentState>,
}

impl DocumentState {
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
    /// [`Document::get_heads`] as a small list.
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
