//! Documents that commit by themselves.

use std::borrow::Cow;
use std::convert::Infallible;

use smallvec::SmallVec;

use crate::bundle::Bundle;
use crate::codec::change::Change;
use crate::document::{Commit, Document};
use crate::edit::{CommitOptions, Editor, Open};
use crate::error::{ApplyError, BundleError, EditError, LoadError};
use crate::meta::{ChangeMetadata, Stats};
use crate::patch::diff::{Scope, diff};
use crate::patch::{Edge, Patch, recorded, since};
use crate::read::ReadDoc;
use crate::storage::{LoadOptions, SaveOptions};
use crate::store::history::branches::Branch;
use crate::store::past::Clock;
use crate::store::state::State;
use crate::transaction::Transactable;
use crate::types::{ActorId, ChangeHash, ChangeIdx, ObjId, TextEncoding};
use crate::view::View;

/// A document that opens a change at the first edit and commits it when something needs it: saving, merging, or
/// asking for heads or changes.
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
    open: Option<Open>,
    /// While isolated, the document as it was at the heads, with what was written since.
    past: Option<Box<Document>>,
    /// What was there when somebody asked last what is new.
    seen: Seen,
    /// The moments between calls since then, where the order of edits is asked for.
    edges: Option<Vec<Edge>>,
}

/// Some heads and everything before them, in one copy of a document.
#[derive(Debug, Default)]
struct Seen {
    of: Option<Branch>,
    rows: SmallVec<[ChangeIdx; 2]>,
    moment: Moment,
}

/// What was there.
#[derive(Debug)]
enum Moment {
    /// All changes before this one.
    Before(ChangeIdx),
    /// Some of them.
    At(Clock),
}

impl Default for Moment {
    fn default() -> Self {
        Self::Before(ChangeIdx::default())
    }
}

impl Moment {
    fn clock(&self, state: &State) -> Cow<'_, Clock> {
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
        Self { doc, open: None, past: None, seen: Seen::default(), edges: None }
    }
}

impl AutoCommit {
    /// An empty document with a random actor.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the edits since the last commit a change. Nothing when there were none.
    pub fn commit(&mut self) -> Option<Commit> {
        self.commit_with(&CommitOptions::default())
    }

    /// As [`Self::commit`], with a message, a time or an author.
    pub fn commit_with(&mut self, options: &CommitOptions) -> Option<Commit> {
        let open = self.open.take().filter(|open| open.len() > 0)?;
        let Some(past) = &mut self.past else { return Some(Commit::of(open, self.doc.state_mut(), options)) };
        Commit::of(open.isolated(), past.state_mut(), options);
        self.doc.integrate(past)
    }

    /// Makes a change without operations after committing what is open: it records that its author saw the heads.
    pub fn empty_commit(&mut self, options: &CommitOptions) -> Commit {
        self.commit();
        self.doc.empty_commit(options)
    }

    /// Takes the edits since the last commit back; gives how many operations there were.
    pub fn rollback(&mut self) -> usize {
        let next = self.doc.state.history.next();
        if let Some(edges) = &mut self.edges {
            edges.retain(|edge| edge.row < next || edge.open.is_none());
        }
        let doc = self.past.as_deref_mut().unwrap_or(&mut self.doc);
        self.open.take().map_or(0, |open| open.rollback(doc.state_mut()))
    }

    /// The counter of the first operation since the last commit, if there was an edit. An object with this actor and this
    /// counter or a later one is gone after a [`Self::rollback`], and its name may be given to another one.
    pub fn pending_from(&self) -> Option<u64> {
        self.open.as_ref().map(Open::first_counter)
    }

    /// Reads and writes the document as it was at `heads` until [`Self::integrate`]: what is written is concurrent to
    /// everything since. Commits what is open first.
    ///
    /// Costs as [`Document::fork_at`].
    pub fn isolate(&mut self, heads: &[ChangeHash]) -> Result<(), EditError> {
        self.commit();
        self.past = Some(Box::new(self.doc.isolated(heads)?));
        Ok(())
    }

    /// Goes back to the whole document, after committing what is open.
    pub fn integrate(&mut self) {
        self.commit();
        self.past = None;
    }

    /// The heads of what is read and written, after committing what is open: while isolated, those of the isolated
    /// document.
    pub fn get_heads(&mut self) -> Vec<ChangeHash> {
        self.commit();
        self.past.as_deref().unwrap_or(&self.doc).get_heads()
    }

    /// What is new since the last call, or since the beginning: the steps that lead from what was read and written then to
    /// what is now, wherever it came from. Commits what is open first. This is what keeps somebody informed who shows the
    /// document: to show it whole once, then after each edit, merge or sync what this tells.
    ///
    /// Costs as [`Document::diff`], and nothing for finding the two moments while the document is not isolated.
    pub fn diff_incremental(&mut self) -> Vec<Patch> {
        let Ok(patches) = self.try_diff_incremental(Ok::<_, Infallible>);
        patches
    }

    /// As [`Self::diff_incremental`], for whom telling may fail: what `tell` failed at is new the next time, too.
    pub fn try_diff_incremental<T, E>(
        &mut self,
        tell: impl FnOnce(Vec<Patch>) -> Result<T, E>,
    ) -> Result<T, E> {
        let now = self.now();
        // Who put another document in the place of this one has not seen any of it.
        let none = Moment::default();
        let before = if self.seen.of == now.of { &self.seen.moment } else { &none };
        let state = self.doc.settled();
        let patches = match (before, &now.moment) {
            (Moment::Before(row), Moment::Before(_)) => since(&state, *row),
            (before, Moment::Before(_)) => {
                diff(&state, &before.clock(&state), &state.clock_now(), Scope::ALL)
            }
            (before, Moment::At(now)) => diff(&state, &before.clock(&state), now, Scope::ALL),
        };
        drop(state);
        let told = tell(patches)?;
        self.see(now);
        Ok(told)
    }

    /// Notes from now on where one call ends and the next one begins, for [`Self::recorded_patches`]. Costs a few bytes for each call
    /// that edits, until the next difference.
    pub fn record_order(&mut self) {
        self.edges.get_or_insert_default();
    }

    /// As what [`Self::diff_incremental`] would give, in the order of the calls that edited, merged or applied: an overwritten value
    /// is put and put again, a counter that was put and grew is put and incremented. Steps side by side in one list or text are one.
    ///
    /// Those of one object stand together, behind those of the object that it is in.
    ///
    /// `None` if no more than one call is new since the last difference, the document was empty then, it is isolated, or the order
    /// is not recorded: then what is new has no other order. Also if very many calls edited large lists or texts, which would take
    /// longer to tell than it took to edit. What is new stays new.
    pub fn recorded_patches(&mut self) -> Option<Vec<Patch>> {
        let now = self.now();
        let (edges, Moment::Before(_)) = (self.edges.as_deref()?, &now.moment) else { return None };
        if edges.is_empty() || self.seen.of != now.of {
            return None;
        }
        let state = self.doc.settled();
        recorded(&state, &self.seen.moment.clock(&state), edges, &state.clock_now())
    }

    /// Notes the moment before a call, if something was done since the last one that was noted.
    fn note_edge(&mut self) {
        let Some(edges) = &mut self.edges else { return };
        if self.past.is_some() || self.seen.rows.is_empty() {
            return;
        }
        let row = self.doc.state.history.next();
        let open = self.open.as_ref().filter(|open| open.len() > 0).map(Open::next_op);
        let edge = Edge { row, open };
        let is_seen = matches!(self.seen.moment, Moment::Before(seen) if seen == row) && open.is_none();
        if edges.last() != Some(&edge) && !(edges.is_empty() && is_seen) {
            edges.push(edge);
        }
    }

    fn see(&mut self, seen: Seen) {
        self.seen = seen;
        if let Some(edges) = &mut self.edges {
            edges.clear();
        }
    }

    /// Lets [`Self::diff_incremental`] tell what is new from now on.
    pub fn update_diff_cursor(&mut self) {
        let now = self.now();
        self.see(now);
    }

    /// Lets [`Self::diff_incremental`] tell everything, as if nothing had been seen.
    pub fn reset_diff_cursor(&mut self) {
        self.see(Seen::default());
    }

    /// The heads from which on [`Self::diff_incremental`] would tell what is new.
    pub fn diff_cursor(&self) -> Vec<ChangeHash> {
        if self.seen.of != Some(self.doc.branch) {
            return vec![];
        }
        let mut heads: Vec<ChangeHash> = self.seen.rows.iter().map(|row| self.doc.state.hash(*row)).collect();
        heads.sort_unstable();
        heads
    }

    /// What is read and written now, as the whole document knows it.
    fn now(&mut self) -> Seen {
        self.commit();
        let (of, state) = (Some(self.doc.branch), &self.doc.state);
        let Some(past) = &self.past else {
            let rows = SmallVec::from_slice(state.history.heads.rows());
            return Seen { of, rows, moment: Moment::Before(state.history.next()) };
        };
        let row = |hash| state.row(&hash).expect("the whole document has what was committed while isolated");
        let rows: SmallVec<[ChangeIdx; 2]> = past.get_heads().into_iter().map(row).collect();
        Seen { of, moment: Moment::At(state.clock(&rows)), rows }
    }

    /// The whole document, after committing what is open.
    pub fn document(&mut self) -> &mut Document {
        self.commit();
        self.note_edge();
        &mut self.doc
    }

    /// The whole document for a [sync](crate::sync), after committing what is open.
    pub fn sync(&mut self) -> &mut Document {
        self.document()
    }

    /// The whole document, after committing what is open.
    pub fn into_document(mut self) -> Document {
        self.commit();
        self.doc
    }
}

/// What a [`Document`] does, of the whole document, after committing what is open.
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

    /// As [`Document::merge`]; what is open in the other one is committed, too.
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

    /// As [`Document::get_changes_added`]; what is open in the other one is committed, too.
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

    /// As [`Document::stats`], without committing: what is open does not count.
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
        self.past.as_deref().unwrap_or(&self.doc).view()
    }

    /// While isolated, other heads can be asked for all the same.
    fn at(&self, heads: &[ChangeHash]) -> Result<View<'_>, EditError> {
        self.doc.at(heads)
    }
}

impl Transactable for AutoCommit {
    fn editor(&mut self) -> Editor<'_> {
        self.note_edge();
        let Self { doc: whole, past, open, .. } = self;
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
        self.open.as_ref().map_or(0, Open::len)
    }
}
