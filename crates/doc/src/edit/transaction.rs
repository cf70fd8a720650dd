//! Transactions: edits as one change.

use crate::document::{Commit, Document};
use crate::edit::editor::{CommitOptions, Editor, PendingChange};
use crate::mark::{ExpandMark, Mark, Span, UpdateSpansConfig};
use crate::patch::Patch;
use crate::patch::text_fast_path::patches_since;
use crate::read::read_doc::ReadDoc;
use crate::read::view::View;
use crate::store::state::DocumentState;
use crate::types::error::EditError;
use crate::types::literal::Literal;
use crate::types::{ChangeHash, ObjId, ObjType, Prop, ScalarValue};

impl Document {
    /// Runs `edit` as one change on the document at `heads`: concurrent to all later changes. Committed if it returns
    /// `Ok`, discarded if it returns `Err`.
    ///
    /// Costs as much as [`Self::fork_at`].
    pub fn transact_at<T, E: From<EditError>>(
        &mut self,
        heads: &[ChangeHash],
        options: &CommitOptions,
        edit: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<(T, Option<Commit>), E> {
        let mut past = self.isolated(heads)?;
        let mut transaction = Transaction::isolated(&mut past);
        let value = edit(&mut transaction)?;
        let committed = transaction.commit_with(options).is_some();
        Ok((value, if committed { self.integrate(&past) } else { None }))
    }

    /// Starts a change. A leaked transaction (`mem::forget`) ends like a dropped one, only later: its edits are visible
    /// until the next edit, save or fork, which rolls them back.
    pub fn transaction(&mut self) -> Transaction<'_> {
        Transaction::new(self)
    }

    /// Runs `edit` as one change: committed if it returns `Ok`, rolled back if it returns `Err`.
    pub fn transact<T, E>(
        &mut self,
        edit: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut transaction = self.transaction();
        let value = edit(&mut transaction)?;
        transaction.commit();
        Ok(value)
    }

    /// As [`Self::transact`], with a message, a time or an author; also returns the change, if there is one.
    pub fn transact_with<T, E>(
        &mut self,
        options: &CommitOptions,
        edit: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<(T, Option<Commit>), E> {
        let mut transaction = self.transaction();
        let value = edit(&mut transaction)?;
        Ok((value, transaction.commit_with(options)))
    }

    /// As [`Self::transact`]; also returns the patches of the change, as [`Self::diff`] would.
    pub fn transact_with_patches<T, E>(
        &mut self,
        edit: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<(T, Vec<Patch>), E> {
        let first = self.state.history.next();
        let value = self.transact(edit)?;
        Ok((value, patches_since(&self.state, first)))
    }
}

/// Edits of a document. A call that returns an error has not changed the document.
pub trait Transactable: ReadDoc {
    /// The editor for the calls of this trait.
    fn editor(&mut self) -> Editor<'_>;

    /// Number of operations in the uncommitted change.
    fn pending_ops(&self) -> usize;

    /// The heads on which the uncommitted change builds.
    fn base_heads(&self) -> Vec<ChangeHash> {
        self.view().state.heads()
    }

    /// Puts a scalar at a key, or replaces an element. Putting the present value does nothing.
    ///
    /// A `&str` becomes a string that is replaced as a whole: of two concurrent ones, one wins. Collaborative text is
    /// an object, made by [`Self::put_object`] with [`ObjType::Text`], or by [`Self::put_literal`] with
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
    /// Costs O(log n), O(1) at the position of the last edit.
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

    /// Increments a counter.
    fn increment<'p>(
        &mut self,
        obj: impl AsRef<ObjId>,
        prop: impl Into<Prop<'p>>,
        by: i64,
    ) -> Result<(), EditError> {
        self.editor().increment(obj.as_ref(), &prop.into(), by)
    }

    /// Deletes a key or an element. A key without a value, or an index past the end of a text, is not an error.
    fn delete<'p>(&mut self, obj: impl AsRef<ObjId>, prop: impl Into<Prop<'p>>) -> Result<(), EditError> {
        self.editor().delete(obj.as_ref(), &prop.into())
    }

    /// Deletes `del` units of a text from `index` on (before it, if negative) and inserts `text` there. Stops deleting
    /// at the end of the text.
    ///
    /// Costs O(log n) for each deleted run of characters, O(1) at the position of the last edit.
    fn splice_text(
        &mut self,
        obj: impl AsRef<ObjId>,
        index: usize,
        del: isize,
        text: &str,
    ) -> Result<(), EditError> {
        self.editor().splice_text(obj.as_ref(), index, del, text)
    }

    /// Puts a value with its contents at a key or index; returns the object, if it is one.
    fn put_literal<'p>(
        &mut self,
        obj: impl AsRef<ObjId>,
        prop: impl Into<Prop<'p>>,
        value: impl Into<Literal>,
    ) -> Result<Option<ObjId>, EditError> {
        self.editor().put_literal(obj.as_ref(), &prop.into(), &value.into())
    }

    /// Inserts a value with its contents before `index`; returns the object, if it is one.
    fn insert_literal(
        &mut self,
        obj: impl AsRef<ObjId>,
        index: usize,
        value: impl Into<Literal>,
    ) -> Result<Option<ObjId>, EditError> {
        self.editor().insert_literal(obj.as_ref(), index, &value.into())
    }

    /// Fills the root of an empty document with the entries of a map.
    fn init_root(&mut self, value: &Literal) -> Result<(), EditError> {
        self.editor().init_root(value)
    }

    /// Deletes `del` elements of a list from `index` on (before it, if negative) and inserts values there. In a text,
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

    /// Turns a text into `new` with few edits, none of which splits a grapheme cluster.
    ///
    /// Costs up to the square of the length of the difference.
    fn update_text(&mut self, obj: impl AsRef<ObjId>, new: &str) -> Result<(), EditError> {
        self.editor().update_text(obj.as_ref(), new)
    }

    /// Puts a mark on a range of a text; `expand` tells whether text typed at its edges will belong to it. It replaces
    /// existing marks of the same name.
    ///
    /// Costs O(log n).
    fn mark(&mut self, obj: impl AsRef<ObjId>, mark: Mark<'_>, expand: ExpandMark) -> Result<(), EditError> {
        self.editor().mark(obj.as_ref(), &mark, expand)
    }

    /// Removes the marks of a name from a range of a text.
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

    /// Inserts a new block, an empty map, before unit `index` of a text. Blocks divide a rich text into paragraphs and
    /// similar parts; their properties are entries of the map.
    fn split_block(&mut self, obj: impl AsRef<ObjId>, index: usize) -> Result<ObjId, EditError> {
        self.editor().split_block(obj.as_ref(), index)
    }

    /// Deletes the block at unit `index` of a text, which joins the parts around it.
    fn join_block(&mut self, obj: impl AsRef<ObjId>, index: usize) -> Result<(), EditError> {
        self.editor().join_block(obj.as_ref(), index)
    }

    /// Replaces the block at unit `index` of a text by a new one.
    fn replace_block(&mut self, obj: impl AsRef<ObjId>, index: usize) -> Result<ObjId, EditError> {
        self.editor().replace_block(obj.as_ref(), index)
    }

    /// Turns a rich text into `spans` with few edits, none of which splits a grapheme cluster: characters are kept,
    /// updated blocks stay the same objects, and only different marks are written.
    ///
    /// Costs up to the square of the length of the difference.
    fn update_spans<'s>(
        &mut self,
        obj: impl AsRef<ObjId>,
        config: &UpdateSpansConfig,
        spans: impl IntoIterator<Item = Span<'s>>,
    ) -> Result<(), EditError> {
        let spans: Vec<Span<'s>> = spans.into_iter().collect();
        self.editor().update_spans(obj.as_ref(), &spans, config)
    }

    /// Makes an object equal to `value` with few edits: equal contents stay.
    fn update_object(&mut self, obj: impl AsRef<ObjId>, value: &Literal) -> Result<(), EditError> {
        self.editor().update_object(obj.as_ref(), value)
    }
}

/// An uncommitted change. Dropping it rolls all edits back.
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
    /// Not shared with any snapshot during the transaction, so that edits need not test for that.
    state: &'a mut DocumentState,
    open: Option<PendingChange>,
}

impl<'a> Transaction<'a> {
    pub(crate) fn new(doc: &'a mut Document) -> Self {
        let (open, state) = doc.open_change();
        Self { state, open: Some(open.alone()) }
    }

    /// A change that depends on the heads only.
    pub(crate) fn isolated(doc: &'a mut Document) -> Self {
        let (open, state) = doc.open_change();
        Self { state, open: Some(open.alone().isolated()) }
    }

    /// Commits the edits. `None` if there are none. The change is hashed on request.
    pub fn commit(self) -> Option<Commit> {
        self.commit_with(&CommitOptions::default())
    }

    /// As [`Self::commit`], with a message, a time or an author.
    pub fn commit_with(mut self, options: &CommitOptions) -> Option<Commit> {
        if self.open.as_ref().is_none_or(|open| open.len() == 0) {
            self.undo();
        }
        let open = self.open.take()?;
        Some(Commit::from_pending(open, self.state, options))
    }

    /// Rolls all edits back; returns the number of their operations.
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
        self.open.as_ref().map_or(0, PendingChange::len)
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        self.undo();
    }
}
