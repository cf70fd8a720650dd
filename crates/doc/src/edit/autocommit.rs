//! Documents with automatic commits.

use std::borrow::Cow;
use std::convert::Infallible;

use smallvec::SmallVec;

use crate::codec::chunks::change::Change;
use crate::document::{Commit, Document};
use crate::edit::editor::{CommitOptions, Editor, PendingChange};
use crate::edit::transaction::Transactable;
use crate::file::bundle::Bundle;
use crate::file::load_save::{LoadOptions, SaveOptions};
use crate::patch::Patch;
use crate::patch::diff::{Scope, diff};
use crate::patch::recorded::{RecordPoint, recorded_patches};
use crate::patch::text_fast_path::patches_since;
use crate::read::change_metadata::{ChangeMetadata, Stats};
use crate::read::read_doc::ReadDoc;
use crate::read::view::View;
use crate::store::history::branches::Branch;
use crate::store::state::DocumentState;
use crate::store::versions::clock::Clock;
use crate::types::error::{ApplyError, BundleError, EditError, LoadError};
use crate::types::{ActorId, ChangeHash, ChangeIdx, ObjId, TextEncoding};

/// A document that starts a change at the first edit and commits it when needed: before saving, merging, or returning
/// heads or changes.
///
/// ```
/// use hashmill_doc::{AutoCommit, ObjType, ReadDoc, Transactable, ROOT};
///
/// let mut doc = AutoCommit::new();
/// let list = doc.put_object(ROOT, "shopping", ObjType::List)?;
/// doc.insert(&list, 0, "milk")?;
/// assert_eq!(doc.get_heads().len(), 1, "asking commits");
/// assert_eq!(doc.length(&list), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AutoCommit {
    doc: Document,
    open: Option<PendingChange>,
    /// While isolated: the document at the given heads, with the edits since.
    isolated: Option<Box<Document>>,
    /// Point of the history at the last call of `diff_incremental`.
    reported: KnownHeads,
    /// Points between calls since then, while the order of edits is recorded.
    edges: Option<Vec<RecordPoint>>,
}

/// Some heads and their ancestors, in one copy of a document.
#[derive(Debug, Default)]
struct KnownHeads {
    of: Option<Branch>,
    rows: SmallVec<[ChangeIdx; 2]>,
    moment: HistoryPoint,
}

/// A point of the history.
#[derive(Debug)]
enum HistoryPoint {
    /// All changes before this one.
    Before(ChangeIdx),
    /// Some changes.
    At(Clock),
}

impl Default for HistoryPoint {
    fn default() -> Self {
        Self::Before(ChangeIdx::default())
    }
}

impl HistoryPoint {
    fn clock(&self, state: &DocumentState) -> Cow<'_, Clock> {
        match self {
            Self::Before(row) => Cow::Owned(state.clock_before(*row)),
            Self::At(clock) => Cow::Borrowed(clock),
        }
    }
}

impl Default for AutoCommit {
    fn default() -> Self {
        Self::from(Document::new())
    }
}

impl From<Document> for AutoCommit {
    fn from(doc: Document) -> Self {
        Self { doc, open: None, isolated: None, reported: KnownHeads::default(), edges: None }
    }
}

impl AutoCommit {
    /// An empty document with a random actor.
    pub fn new() -> Self {
        Self::default()
    }

    /// Commits the edits since the last commit. `None` if there are none.
    pub fn commit(&mut self) -> Option<Commit> {
        self.commit_with(&CommitOptions::default())
    }

    /// As [`Self::commit`], with a message, a time or an author.
    pub fn commit_with(&mut self, options: &CommitOptions) -> Option<Commit> {
        let open = self.open.take().filter(|open| open.len() > 0)?;
        let Some(past) = &mut self.isolated else {
            return Some(Commit::from_pending(open, self.doc.state_mut(), options));
        };
        Commit::from_pending(open.isolated(), past.state_mut(), options);
        self.doc.integrate(past)
    }

    /// Commits pending edits, then makes a change without operations: it records the heads as its dependencies.
    pub fn empty_commit(&mut self, options: &CommitOptions) -> Commit {
        self.commit();
        self.doc.empty_commit(options)
    }

    /// Rolls back the edits since the last commit; returns the number of their operations.
    pub fn rollback(&mut self) -> usize {
        let next = self.doc.state.history.next();
        if let Some(edges) = &mut self.edges {
            edges.retain(|edge| edge.row < next || edge.open.is_none());
        }
        let doc = self.isolated.as_deref_mut().unwrap_or(&mut self.doc);
        self.open.take().map_or(0, |open| open.rollback(doc.state_mut()))
    }

    /// Counter of the first operation since the last commit, if there is one. After a [`Self::rollback`], objects with
    /// this actor and a counter from this one on do not exist, and their ids may be used again.
    pub fn pending_from(&self) -> Option<u64> {
        self.open.as_ref().map(PendingChange::first_counter)
    }

    /// Reads and edits the document at `heads` until [`Self::integrate`]: edits are concurrent to all later changes.
    /// Commits pending edits first.
    ///
    /// Costs as much as [`Document::fork_at`].
    pub fn isolate(&mut self, heads: &[ChangeHash]) -> Result<(), EditError> {
        self.commit();
        self.isolated = Some(Box::new(self.doc.isolated(heads)?));
        Ok(())
    }

    /// Commits pending edits and returns to the whole document.
    pub fn integrate(&mut self) {
        self.commit();
        self.isolated = None;
    }

    /// Commits pending edits and returns the heads of the document that is read and edited, which may be isolated.
    pub fn get_heads(&mut self) -> Vec<ChangeHash> {
        self.commit();
        self.isolated.as_deref().unwrap_or(&self.doc).get_heads()
    }

    /// Commits pending edits and returns the patches since the last call, or since the beginning: from the state read
    /// and edited then to the current one, whatever the origin of the changes. A program that displays the document
    /// shows it once completely, and then applies these patches after each edit, merge or sync.
    ///
    /// Costs as much as [`Document::diff`]; finding the two points is free while the document is not isolated.
    pub fn diff_incremental(&mut self) -> Vec<Patch> {
        let Ok(patches) = self.try_diff_incremental(Ok::<_, Infallible>);
        patches
    }

    /// As [`Self::diff_incremental`], for fallible processing: if `tell` fails, the same patches are returned again the
    /// next time.
    pub fn try_diff_incremental<T, E>(
        &mut self,
        tell: impl FnOnce(Vec<Patch>) -> Result<T, E>,
    ) -> Result<T, E> {
        let now = self.now();
        // If another document was assigned to this variable, none of it was reported yet.
        let none = HistoryPoint::default();
        let before = if self.reported.of == now.of { &self.reported.moment } else { &none };
        let state = self.doc.committed_state();
        let patches = match (before, &now.moment) {
            (HistoryPoint::Before(row), HistoryPoint::Before(_)) => patches_since(&state, *row),
            (before, HistoryPoint::Before(_)) => {
                diff(&state, &before.clock(&state), &state.clock_now(), Scope::ALL)
            }
            (before, HistoryPoint::At(now)) => diff(&state, &before.clock(&state), now, Scope::ALL),
        };
        drop(state);
        let result = tell(patches)?;
        self.see(now);
        Ok(result)
    }

    /// Records the points between calls from now on, for [`Self::recorded_patches`]. Costs a few bytes for each call
    /// that edits, until the next difference.
    pub fn record_order(&mut self) {
        self.edges.get_or_insert_default();
    }

    /// The patches of [`Self::diff_incremental`] in the order of the calls that edited, merged or applied: an
    /// overwritten value is put twice, a counter that was put and incremented is put and incremented. Adjacent patches
    /// in one list or text are merged.
    ///
    /// Patches of one object are grouped, after those of its parent object.
    ///
    /// `None` if there was at most one call since the last difference, if the document was empty then, if it is
    /// isolated, or if the order is not recorded: then there is no other order. Also `None` if very many calls edited
    /// large lists or texts, so that the patches would cost more than the edits. The patches stay pending.
    pub fn recorded_patches(&mut self) -> Option<Vec<Patch>> {
        let now = self.now();
        let (edges, HistoryPoint::Before(_)) = (self.edges.as_deref()?, &now.moment) else { return None };
        if edges.is_empty() || self.reported.of != now.of {
            return None;
        }
        let state = self.doc.committed_state();
        recorded_patches(&state, &self.reported.moment.clock(&state), edges, &state.clock_now())
    }

    /// Records the point before a call, if there were operations since the last recorded one.
    fn note_edge(&mut self) {
        let Some(edges) = &mut self.edges else { return };
        if self.isolated.is_some() || self.reported.rows.is_empty() {
            return;
        }
        let row = self.doc.state.history.next();
        let open = self.open.as_ref().filter(|open| open.len() > 0).map(PendingChange::next_op);
        let edge = RecordPoint { row, open };
        let is_reported =
            matches!(self.reported.moment, HistoryPoint::Before(known) if known == row) && open.is_none();
        if edges.last() != Some(&edge) && !(edges.is_empty() && is_reported) {
            edges.push(edge);
        }
    }

    fn see(&mut self, known: KnownHeads) {
        self.reported = known;
        if let Some(edges) = &mut self.edges {
            edges.clear();
        }
    }

    /// Marks the current state as reported by [`Self::diff_incremental`].
    pub fn update_diff_cursor(&mut self) {
        let now = self.now();
        self.see(now);
    }

    /// Makes [`Self::diff_incremental`] report everything again.
    pub fn reset_diff_cursor(&mut self) {
        self.see(KnownHeads::default());
    }

    /// The heads since which [`Self::diff_incremental`] would report changes.
    pub fn diff_cursor(&self) -> Vec<ChangeHash> {
        if self.reported.of != Some(self.doc.branch) {
            return vec![];
        }
        let mut heads: Vec<ChangeHash> =
            self.reported.rows.iter().map(|row| self.doc.state.hash(*row)).collect();
        heads.sort_unstable();
        heads
    }

    /// The current state that is read and edited, as a point of the whole document.
    fn now(&mut self) -> KnownHeads {
        self.commit();
        let (of, state) = (Some(self.doc.branch), &self.doc.state);
        let Some(past) = &self.isolated else {
            let rows = SmallVec::from_slice(state.history.heads.rows());
            return KnownHeads { of, rows, moment: HistoryPoint::Before(state.history.next()) };
        };
        let row = |hash| state.row(&hash).expect("the whole document has what was committed while isolated");
        let rows: SmallVec<[ChangeIdx; 2]> = past.get_heads().into_iter().map(row).collect();
        KnownHeads { of, moment: HistoryPoint::At(state.clock(&rows)), rows }
    }

    /// Commits pending edits and returns the whole document.
    pub fn document(&mut self) -> &mut Document {
        self.commit();
        self.note_edge();
        &mut self.doc
    }

    /// Commits pending edits and returns the whole document for a [sync](crate::sync).
    pub fn sync(&mut self) -> &mut Document {
        self.document()
    }

    /// Commits pending edits and returns the whole document.
    pub fn into_document(mut self) -> Document {
        self.commit();
        self.doc
    }
}

/// Methods of [`Document`], applied to the whole document after committing pending edits.
impl AutoCommit {
    /// As [`Document::with_encoding`].
    pub fn with_encoding(encoding: TextEncoding) -> Self {
        Document::with_encoding(encoding).into()
    }

    /// As [`Document::with_actor`].
    #[must_use]
    pub fn with_actor(mut self, actor: ActorId) -> Self {
        self.set_actor(actor);
        self
    }

    /// As [`Document::set_actor`].
    pub fn set_actor(&mut self, actor: ActorId) -> &mut Self {
        self.document().set_actor(actor);
        self
    }

    /// As [`Document::get_actor`].
    pub fn get_actor(&self) -> &ActorId {
        self.doc.get_actor()
    }

    /// As [`Document::hash`].
    pub fn hash(&self, commit: Commit) -> Option<ChangeHash> {
        self.doc.hash(commit)
    }

    /// As [`Document::is_empty`].
    pub fn is_empty(&mut self) -> bool {
        self.document().is_empty()
    }

    /// As [`Document::load`].
    pub fn load(bytes: &[u8]) -> Result<Self, LoadError> {
        Document::load(bytes).map(Self::from)
    }

    /// As [`Document::load_with`].
    pub fn load_with(bytes: &[u8], options: LoadOptions) -> Result<Self, LoadError> {
        Document::load_with(bytes, options).map(Self::from)
    }

    /// As [`Document::load_incremental`].
    pub fn load_incremental(&mut self, bytes: &[u8]) -> Result<usize, LoadError> {
        self.document().load_incremental(bytes)
    }

    /// As [`Document::save`].
    pub fn save(&mut self) -> Vec<u8> {
        self.document().save()
    }

    /// As [`Document::save_with`].
    pub fn save_with(&mut self, options: SaveOptions) -> Vec<u8> {
        self.document().save_with(options)
    }

    /// As [`Document::save_nocompress`].
    pub fn save_nocompress(&mut self) -> Vec<u8> {
        self.document().save_nocompress()
    }

    /// As [`Document::save_and_verify`].
    pub fn save_and_verify(&mut self) -> Result<Vec<u8>, LoadError> {
        self.document().save_and_verify()
    }

    /// As [`Document::save_after`].
    pub fn save_after(&mut self, heads: &[ChangeHash]) -> Vec<u8> {
        self.document().save_after(heads)
    }

    /// As [`Document::save_incremental`].
    pub fn save_incremental(&mut self) -> Vec<u8> {
        self.document().save_incremental()
    }

    /// As [`Document::bundle`].
    pub fn bundle(&mut self, hashes: impl IntoIterator<Item = ChangeHash>) -> Result<Bundle, BundleError> {
        self.document().bundle(hashes)
    }

    /// As [`Document::fork`].
    pub fn fork(&mut self) -> Self {
        self.document().fork().into()
    }

    /// As [`Document::fork_at`].
    pub fn fork_at(&mut self, heads: &[ChangeHash]) -> Result<Self, EditError> {
        self.document().fork_at(heads).map(Self::from)
    }

    /// As [`Document::merge`]; commits pending edits of the other document, too.
    pub fn merge(&mut self, other: &mut Self) -> Result<Vec<ChangeHash>, ApplyError> {
        self.document().merge(other.document())
    }

    /// As [`Document::apply_changes`].
    pub fn apply_changes(&mut self, changes: impl IntoIterator<Item = Change>) -> Result<(), ApplyError> {
        self.document().apply_changes(changes)
    }

    /// As [`Document::get_changes`].
    pub fn get_changes(&mut self, have: &[ChangeHash]) -> Vec<Change> {
        self.document().get_changes(have)
    }

    /// As [`Document::get_changes_meta`].
    pub fn get_changes_meta(&mut self, have: &[ChangeHash]) -> Vec<ChangeMetadata<'_>> {
        self.document().get_changes_meta(have)
    }

    /// As [`Document::get_changes_added`]; commits pending edits of the other document, too.
    pub fn get_changes_added(&mut self, other: &mut Self) -> Vec<Change> {
        self.document().get_changes_added(other.document())
    }

    /// As [`Document::get_change_by_hash`].
    pub fn get_change_by_hash(&mut self, hash: &ChangeHash) -> Option<Change> {
        self.document().get_change_by_hash(hash)
    }

    /// As [`Document::get_change_meta_by_hash`].
    pub fn get_change_meta_by_hash(&mut self, hash: &ChangeHash) -> Option<ChangeMetadata<'_>> {
        self.document().get_change_meta_by_hash(hash)
    }

    /// As [`Document::get_last_local_change`].
    pub fn get_last_local_change(&mut self) -> Option<Change> {
        self.document().get_last_local_change()
    }

    /// As [`Document::get_missing_deps`].
    pub fn get_missing_deps(&mut self, heads: &[ChangeHash]) -> Vec<ChangeHash> {
        self.document().get_missing_deps(heads)
    }

    /// As [`Document::stats`], without committing: pending edits are not counted.
    pub fn stats(&self) -> Stats {
        self.doc.stats()
    }

    /// As [`Document::get_authors`], without committing.
    pub fn get_authors(&self) -> Vec<&[u8]> {
        self.doc.get_authors()
    }

    /// As [`Document::get_author_for_actor`], without committing.
    pub fn get_author_for_actor(&self, actor: &ActorId) -> Option<&[u8]> {
        self.doc.get_author_for_actor(actor)
    }

    /// As [`Document::get_actors_for_author`], without committing.
    pub fn get_actors_for_author(&self, author: &[u8]) -> Vec<ActorId> {
        self.doc.get_actors_for_author(author)
    }

    /// As [`Document::diff`].
    pub fn diff(&mut self, before: &[ChangeHash], after: &[ChangeHash]) -> Result<Vec<Patch>, EditError> {
        self.document().diff(before, after)
    }

    /// As [`Document::diff_obj`].
    pub fn diff_obj(
        &mut self,
        obj: impl AsRef<ObjId>,
        before: &[ChangeHash],
        after: &[ChangeHash],
        deep: bool,
    ) -> Result<Vec<Patch>, EditError> {
        self.document().diff_obj(obj, before, after, deep)
    }

    /// As [`Document::current_state`].
    pub fn current_state(&mut self) -> Vec<Patch> {
        self.document().current_state()
    }
}

impl ReadDoc for AutoCommit {
    fn view(&self) -> View<'_> {
        self.isolated.as_deref().unwrap_or(&self.doc).view()
    }

    /// While isolated, other heads can still be read.
    fn at(&self, heads: &[ChangeHash]) -> Result<View<'_>, EditError> {
        self.doc.at(heads)
    }
}

impl Transactable for AutoCommit {
    fn editor(&mut self) -> Editor<'_> {
        self.note_edge();
        let Self { doc: whole, isolated: past, open, .. } = self;
        let doc = match past.as_deref_mut() {
            Some(past) => {
                if open.is_none() {
                    whole.lead(past);
                }
                past
            }
            None => whole,
        };
        let open = open.get_or_insert_with(|| doc.open_change().0);
        Editor { state: doc.state_mut(), open }
    }

    fn pending_ops(&self) -> usize {
        self.open.as_ref().map_or(0, PendingChange::len)
    }
}
