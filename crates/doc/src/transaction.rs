//! Editing as one change: transactions.

use crate::document::{Commit, Document};
use crate::edit::{CommitOptions, Editor, Open};
use crate::error::EditError;
use crate::literal::Literal;
use crate::mark::{ExpandMark, Mark, Span, UpdateSpansConfig};
use crate::patch::{Patch, since};
use crate::read::ReadDoc;
use crate::store::state::State;
use crate::types::{ChangeHash, ObjId, ObjType, Prop, ScalarValue};
use crate::view::View;

impl Document {
    /// Runs `edit` as one change on the document as it was at `heads`: concurrent to everything since. Committed when it
    /// gives `Ok`, forgotten when it gives `Err`.
    ///
    /// Costs as [`Self::fork_at`].
    pub fn transact_at<T, E: From<EditError>>(
        &mut self,
        heads: &[ChangeHash],
        options: &CommitOptions,
        edit: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<(T, Option<Commit>), E> {
        let mut past = self.isolated(heads)?;
        let mut transaction = Transaction::isolated(&mut past);
        let value = edit(&mut transaction)?;
        let made = transaction.commit_with(options).is_some();
        Ok((value, if made { self.integrate(&past) } else { None }))
    }

    /// Starts a change. One that is leaked (`mem::forget`) ends as one that is dropped does, only later: what it did is
    /// seen until something else is written, saved or forked, and taken back then.
    pub fn transaction(&mut self) -> Transaction<'_> {
        Transaction::new(self)
    }

    /// Runs `edit` as one change: committed when it gives `Ok`, taken back when it gives `Err`.
    pub fn transact<T, E>(
        &mut self,
        edit: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut transaction = self.transaction();
        let value = edit(&mut transaction)?;
        transaction.commit();
        Ok(value)
    }

    /// As [`Self::transact`], with a message, a time or an author; gives the change too, if there is one.
    pub fn transact_with<T, E>(
        &mut self,
        options: &CommitOptions,
        edit: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<(T, Option<Commit>), E> {
        let mut transaction = self.transaction();
        let value = edit(&mut transaction)?;
        Ok((value, transaction.commit_with(options)))
    }

    /// As [`Self::transact`]; tells what the change did, too, as [`Self::diff`] would.
    pub fn transact_with_patches<T, E>(
        &mut self,
        edit: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<(T, Vec<Patch>), E> {
        let first = self.state.history.next();
        let value = self.transact(edit)?;
        Ok((value, since(&self.state, first)))
    }
}

/// Editing a document. Every call either does what it says or leaves the document as it was.
pub trait Transactable: ReadDoc {
    /// What edits go to.
    fn editor(&mut self) -> Editor<'_>;

    /// How many operations the open change has.
    fn pending_ops(&self) -> usize;

    /// The heads the open change builds on.
    fn base_heads(&self) -> Vec<ChangeHash> {
        self.view().state.heads()
    }

    /// Puts a scalar at a key, or replaces an element. Putting what is there already does nothing.
    ///
    /// A `&str` becomes a string that is replaced as a whole: of two that are written at once, one wins. Text that people edit
    /// together is an object, made by [`Self::put_object`] with [`ObjType::Text`], or by [`Self::put_literal`] with
    /// [`Literal::text`], and edited with [`Self::splice_text`].
    ///
    /// Costs O(1) for a key, O(log n) for an index.
    fn put<'p, 'v>(
        &mut self,
        obj: impl AsRef<ObjId>,
        prop: impl Into<Prop<'p>>,
        value: impl Into<ScalarValue<'v>>,
    ) -> Result<(), EditError> {
        self.editor().put(obj.as_ref(), &prop.into(), &value.into())
    }

    /// Puts a new object at a key, or replaces an element with one.
    fn put_object<'p>(
        &mut self,
        obj: impl AsRef<ObjId>,
        prop: impl Into<Prop<'p>>,
        kind: ObjType,
    ) -> Result<ObjId, EditError> {
        self.editor().put_object(obj.as_ref(), &prop.into(), kind)
    }

    /// Inserts a scalar before `index`.
    ///
    /// Costs O(log n), O(1) where the last edit was.
    fn insert<'v>(
        &mut self,
        obj: impl AsRef<ObjId>,
        index: usize,
        value: impl Into<ScalarValue<'v>>,
    ) -> Result<(), EditError> {
        self.editor().insert(obj.as_ref(), index, &value.into())
    }

    /// Inserts a new object before `index`.
    fn insert_object(
        &mut self,
        obj: impl AsRef<ObjId>,
        index: usize,
        kind: ObjType,
    ) -> Result<ObjId, EditError> {
        self.editor().insert_object(obj.as_ref(), index, kind)
    }

    /// Adds to a counter.
    fn increment<'p>(
        &mut self,
        obj: impl AsRef<ObjId>,
        prop: impl Into<Prop<'p>>,
        by: i64,
    ) -> Result<(), EditError> {
        self.editor().increment(obj.as_ref(), &prop.into(), by)
    }

    /// Deletes a key or an element. A key without a value, or an index past the end of a text, is no error.
    fn delete<'p>(&mut self, obj: impl AsRef<ObjId>, prop: impl Into<Prop<'p>>) -> Result<(), EditError> {
        self.editor().delete(obj.as_ref(), &prop.into())
    }

    /// Deletes `del` units of a text from `index` on (before it, when negative) and inserts `text` there. Deleting past
    /// the end stops at the end.
    ///
    /// Costs O(log n) for each run of characters it deletes, O(1) where the last edit was.
    fn splice_text(
        &mut self,
        obj: impl AsRef<ObjId>,
        index: usize,
        del: isize,
        text: &str,
    ) -> Result<(), EditError> {
        self.editor().splice_text(obj.as_ref(), index, del, text)
    }

    /// Puts a value with everything inside it at a place; gives the object, if it is one.
    fn put_literal<'p>(
        &mut self,
        obj: impl AsRef<ObjId>,
        prop: impl Into<Prop<'p>>,
        value: impl Into<Literal>,
    ) -> Result<Option<ObjId>, EditError> {
        self.editor().put_literal(obj.as_ref(), &prop.into(), &value.into())
    }

    /// Inserts a value with everything inside it before `index`; gives the object, if it is one.
    fn insert_literal(
        &mut self,
        obj: impl AsRef<ObjId>,
        index: usize,
        value: impl Into<Literal>,
    ) -> Result<Option<ObjId>, EditError> {
        self.editor().insert_literal(obj.as_ref(), index, &value.into())
    }

    /// Fills the root of a document that has nothing in it with the entries of a map.
    fn init_root(&mut self, value: &Literal) -> Result<(), EditError> {
        self.editor().init_root(value)
    }

    /// Deletes `del` elements of a list from `index` on (before it, when negative) and inserts values there. In a text,
    /// where only strings can be inserted, `del` counts units.
    fn splice(
        &mut self,
        obj: impl AsRef<ObjId>,
        index: usize,
        del: isize,
        values: impl IntoIterator<Item = impl Into<Literal>>,
    ) -> Result<(), EditError> {
        let values: Vec<Literal> = values.into_iter().map(Into::into).collect();
        self.editor().splice(obj.as_ref(), index, del, &values)
    }

    /// Turns a text into `new` with few edits, none of which divides a grapheme cluster.
    ///
    /// Costs up to the square of the length where the two differ.
    fn update_text(&mut self, obj: impl AsRef<ObjId>, new: &str) -> Result<(), EditError> {
        self.editor().update_text(obj.as_ref(), new)
    }

    /// Puts a mark on a range of a text; `expand` says whether what is typed at its edges will belong to it. Marks of the
    /// same name that are there already give way.
    ///
    /// Costs O(log n).
    fn mark(&mut self, obj: impl AsRef<ObjId>, mark: Mark<'_>, expand: ExpandMark) -> Result<(), EditError> {
        self.editor().mark(obj.as_ref(), &mark, expand)
    }

    /// Takes the marks of a name off a range of a text.
    fn unmark(
        &mut self,
        obj: impl AsRef<ObjId>,
        name: &str,
        start: usize,
        end: usize,
        expand: ExpandMark,
    ) -> Result<(), EditError> {
        self.editor().mark(obj.as_ref(), &Mark::new(name, ScalarValue::Null, start, end), expand)
    }

    /// Puts a new block, an empty map, before unit `index` of a text. Blocks divide a rich text into paragraphs and the
    /// like; what they are stands in the map.
    fn split_block(&mut self, obj: impl AsRef<ObjId>, index: usize) -> Result<ObjId, EditError> {
        self.editor().split_block(obj.as_ref(), index)
    }

    /// Deletes the block at unit `index` of a text, so that what it divided is joined.
    fn join_block(&mut self, obj: impl AsRef<ObjId>, index: usize) -> Result<(), EditError> {
        self.editor().join_block(obj.as_ref(), index)
    }

    /// Puts a new block in the place of that at unit `index` of a text.
    fn replace_block(&mut self, obj: impl AsRef<ObjId>, index: usize) -> Result<ObjId, EditError> {
        self.editor().replace_block(obj.as_ref(), index)
    }

    /// Turns a rich text into `spans` with few edits, none of which divides a grapheme cluster: characters stay, blocks
    /// that become others stay the same objects, and only what is to be marked otherwise is.
    ///
    /// Costs up to the square of the length where the two differ.
    fn update_spans<'s>(
        &mut self,
        obj: impl AsRef<ObjId>,
        config: &UpdateSpansConfig,
        spans: impl IntoIterator<Item = Span<'s>>,
    ) -> Result<(), EditError> {
        let spans: Vec<Span<'s>> = spans.into_iter().collect();
        self.editor().update_spans(obj.as_ref(), &spans, config)
    }

    /// Makes an object equal to `value` with few edits: what is equal stays as it is.
    fn update_object(&mut self, obj: impl AsRef<ObjId>, value: &Literal) -> Result<(), EditError> {
        self.editor().update_object(obj.as_ref(), value)
    }
}

/// One change in the making. Dropping it takes every edit back.
///
/// ```
/// use hashmill_doc::{Document, ReadDoc, Transactable, ROOT};
///
/// let mut doc = Document::new();
/// let mut tx = doc.transaction();
/// tx.put(ROOT, "a", 1)?;
/// drop(tx);
/// assert_eq!(doc.keys(ROOT).count(), 0);
/// let mut tx = doc.transaction();
/// tx.put(ROOT, "a", 1)?;
/// tx.commit();
/// assert_eq!(doc.keys(ROOT).count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Transaction<'a> {
    /// Shared with no snapshot while the transaction lasts, so that edits need not ask.
    state: &'a mut State,
    open: Option<Open>,
}

impl<'a> Transaction<'a> {
    pub(crate) fn new(doc: &'a mut Document) -> Self {
        let (open, state) = doc.open_change();
        Self { state, open: Some(open.alone()) }
    }

    /// A change that builds on the heads alone.
    pub(crate) fn isolated(doc: &'a mut Document) -> Self {
        let (open, state) = doc.open_change();
        Self { state, open: Some(open.alone().isolated()) }
    }

    /// Makes the edits a change. Nothing when there were none. The change's hash is computed when somebody asks.
    pub fn commit(self) -> Option<Commit> {
        self.commit_with(&CommitOptions::default())
    }

    /// As [`Self::commit`], with a message, a time or an author.
    pub fn commit_with(mut self, options: &CommitOptions) -> Option<Commit> {
        if self.open.as_ref().is_none_or(|open| open.len() == 0) {
            self.undo();
        }
        let open = self.open.take()?;
        Some(Commit::of(open, self.state, options))
    }

    /// Takes every edit back; gives how many operations there were.
    pub fn rollback(mut self) -> usize {
        self.undo()
    }

    fn undo(&mut self) -> usize {
        self.open.take().map_or(0, |open| open.rollback(self.state))
    }
}

impl ReadDoc for Transaction<'_> {
    fn view(&self) -> View<'_> {
        View::now(self.state)
    }
}

impl Transactable for Transaction<'_> {
    fn editor(&mut self) -> Editor<'_> {
        let open = self.open.as_mut().expect("the transaction is open until it is consumed");
        Editor { state: self.state, open }
    }

    fn pending_ops(&self) -> usize {
        self.open.as_ref().map_or(0, Open::len)
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        self.undo();
    }
}
