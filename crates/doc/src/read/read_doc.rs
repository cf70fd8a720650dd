//! `ReadDoc`: the trait of all readable documents.

use std::ops::RangeBounds;

use crate::mark::{Mark, MarkSet, Spans};
use crate::read::blame::Blame;
use crate::read::from_value::FromValue;
use crate::read::iter::DocIter;
use crate::read::range_items::{ListRangeItem, MapRangeItem};
use crate::read::view::{Keys, View};
use crate::types::error::EditError;
use crate::types::literal::Literal;
use crate::types::{
    ChangeHash, Cursor, CursorPosition, MoveCursor, ObjId, ObjType, Prop, TextEncoding, Value,
};

/// Read access to a document. All reads are available at earlier heads, too: `X_at(…, heads)` is `at(heads)?.X(…)`.
///
/// ```
/// use hashmill_doc::{Document, ReadDoc, Transactable, ROOT};
///
/// let mut doc = Document::new();
/// doc.transact(|tx| tx.put(ROOT, "a", 1))?;
/// let then = doc.get_heads();
/// doc.transact(|tx| tx.put(ROOT, "b", 2))?;
/// assert_eq!((doc.keys(ROOT).count(), doc.at(&then)?.keys(ROOT).count()), (2, 1));
/// assert!(doc.get_path(["a"])?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ReadDoc {
    /// The current state.
    fn view(&self) -> View<'_>;

    /// The state at `heads`.
    ///
    /// Costs one step per run of changes before `heads`.
    fn at(&self, heads: &[ChangeHash]) -> Result<View<'_>, EditError> {
        View::at_heads(self.view().state, heads)
    }

    /// See [`View::get`].
    #[inline]
    fn get<'p>(
        &self,
        obj: impl AsRef<ObjId>,
        prop: impl Into<Prop<'p>>,
    ) -> Result<Option<(Value<'_>, ObjId)>, EditError> {
        self.view().get(obj, prop)
    }

    /// See [`View::get`].
    fn get_at<'p>(
        &self,
        obj: impl AsRef<ObjId>,
        prop: impl Into<Prop<'p>>,
        heads: &[ChangeHash],
    ) -> Result<Option<(Value<'_>, ObjId)>, EditError> {
        self.at(heads)?.get(obj, prop)
    }

    /// See [`View::get_as`].
    fn get_as<'p, T: FromValue>(
        &self,
        obj: impl AsRef<ObjId>,
        prop: impl Into<Prop<'p>>,
    ) -> Result<Option<T>, EditError> {
        self.view().get_as(obj, prop)
    }

    /// See [`View::get_path`].
    fn get_path<'p>(
        &self,
        path: impl IntoIterator<Item = impl Into<Prop<'p>>>,
    ) -> Result<Option<(Value<'_>, ObjId)>, EditError> {
        self.view().get_path(path)
    }

    /// See [`View::get_all`].
    fn get_all<'p>(
        &self,
        obj: impl AsRef<ObjId>,
        prop: impl Into<Prop<'p>>,
    ) -> Result<Vec<(Value<'_>, ObjId)>, EditError> {
        self.view().get_all(obj, prop)
    }

    /// See [`View::get_all`].
    fn get_all_at<'p>(
        &self,
        obj: impl AsRef<ObjId>,
        prop: impl Into<Prop<'p>>,
        heads: &[ChangeHash],
    ) -> Result<Vec<(Value<'_>, ObjId)>, EditError> {
        self.at(heads)?.get_all(obj, prop)
    }

    /// See [`View::keys`].
    #[inline]
    fn keys(&self, obj: impl AsRef<ObjId>) -> Keys<'_> {
        self.view().keys(obj)
    }

    /// See [`View::keys`].
    fn keys_at(&self, obj: impl AsRef<ObjId>, heads: &[ChangeHash]) -> Result<Vec<String>, EditError> {
        Ok(self.at(heads)?.keys(obj).map(str::to_owned).collect())
    }

    /// See [`View::iter_from`].
    fn iter(&self) -> DocIter<'_> {
        self.view().iter()
    }

    /// See [`View::iter_from`].
    fn iter_at(&self, obj: impl AsRef<ObjId>, heads: &[ChangeHash]) -> Result<DocIter<'_>, EditError> {
        self.at(heads)?.iter_from(obj)
    }

    /// See [`View::map_range`].
    fn map_range<'a>(
        &'a self,
        obj: impl AsRef<ObjId>,
        range: impl RangeBounds<&'a str>,
    ) -> impl Iterator<Item = MapRangeItem<'a>> {
        self.view().map_range(obj, range)
    }

    /// See [`View::map_range`].
    fn map_range_at<'a>(
        &'a self,
        obj: impl AsRef<ObjId>,
        range: impl RangeBounds<&'a str>,
        heads: &[ChangeHash],
    ) -> Result<impl Iterator<Item = MapRangeItem<'a>>, EditError> {
        Ok(self.at(heads)?.map_range(obj, range))
    }

    /// See [`View::list_range`].
    fn list_range(
        &self,
        obj: impl AsRef<ObjId>,
        range: impl RangeBounds<usize>,
    ) -> impl Iterator<Item = ListRangeItem<'_>> {
        self.view().list_range(obj, range)
    }

    /// See [`View::list_range`].
    fn list_range_at(
        &self,
        obj: impl AsRef<ObjId>,
        range: impl RangeBounds<usize>,
        heads: &[ChangeHash],
    ) -> Result<impl Iterator<Item = ListRangeItem<'_>>, EditError> {
        Ok(self.at(heads)?.list_range(obj, range))
    }

    /// See [`View::values_of`].
    fn values(&self, obj: impl AsRef<ObjId>) -> Vec<(Value<'_>, ObjId)> {
        self.view().values_of(obj)
    }

    /// See [`View::values_of`].
    fn values_at(
        &self,
        obj: impl AsRef<ObjId>,
        heads: &[ChangeHash],
    ) -> Result<Vec<(Value<'_>, ObjId)>, EditError> {
        Ok(self.at(heads)?.values_of(obj))
    }

    /// See [`View::hydrate`].
    fn hydrate(&self, obj: impl AsRef<ObjId>) -> Result<Literal, EditError> {
        self.view().hydrate(obj)
    }

    /// See [`View::length`].
    fn length(&self, obj: impl AsRef<ObjId>) -> usize {
        self.view().length(obj)
    }

    /// See [`View::length`].
    fn length_at(&self, obj: impl AsRef<ObjId>, heads: &[ChangeHash]) -> Result<usize, EditError> {
        Ok(self.at(heads)?.length(obj))
    }

    /// See [`View::object_type`].
    fn object_type(&self, obj: impl AsRef<ObjId>) -> Result<ObjType, EditError> {
        self.view().object_type(obj)
    }

    /// See [`View::text`].
    fn text(&self, obj: impl AsRef<ObjId>) -> Result<String, EditError> {
        self.view().text(obj)
    }

    /// See [`View::text`].
    fn text_at(&self, obj: impl AsRef<ObjId>, heads: &[ChangeHash]) -> Result<String, EditError> {
        self.at(heads)?.text(obj)
    }

    /// See [`View::marks`].
    fn marks(&self, obj: impl AsRef<ObjId>) -> Result<Vec<Mark<'_>>, EditError> {
        self.view().marks(obj)
    }

    /// See [`View::marks`].
    fn marks_at(&self, obj: impl AsRef<ObjId>, heads: &[ChangeHash]) -> Result<Vec<Mark<'_>>, EditError> {
        self.at(heads)?.marks(obj)
    }

    /// See [`View::get_marks`].
    fn get_marks(&self, obj: impl AsRef<ObjId>, index: usize) -> Result<MarkSet<'_>, EditError> {
        self.view().get_marks(obj, index)
    }

    /// See [`View::get_marks`].
    fn get_marks_at(
        &self,
        obj: impl AsRef<ObjId>,
        index: usize,
        heads: &[ChangeHash],
    ) -> Result<MarkSet<'_>, EditError> {
        self.at(heads)?.get_marks(obj, index)
    }

    /// See [`View::spans`].
    fn spans(&self, obj: impl AsRef<ObjId>) -> Result<Spans<'_>, EditError> {
        self.view().spans(obj)
    }

    /// See [`View::spans`].
    fn spans_at(&self, obj: impl AsRef<ObjId>, heads: &[ChangeHash]) -> Result<Spans<'_>, EditError> {
        self.at(heads)?.spans(obj)
    }

    /// See [`View::blame`].
    fn blame(&self, obj: impl AsRef<ObjId>) -> Result<Vec<Blame<'_>>, EditError> {
        self.view().blame(obj)
    }

    /// See [`View::blame`].
    fn blame_at(&self, obj: impl AsRef<ObjId>, heads: &[ChangeHash]) -> Result<Vec<Blame<'_>>, EditError> {
        self.at(heads)?.blame(obj)
    }

    /// See [`View::path`].
    fn parents(&self, obj: impl AsRef<ObjId>) -> Result<Vec<(ObjId, Prop<'static>)>, EditError> {
        self.view().path(obj)
    }

    /// See [`View::path`].
    fn parents_at(
        &self,
        obj: impl AsRef<ObjId>,
        heads: &[ChangeHash],
    ) -> Result<Vec<(ObjId, Prop<'static>)>, EditError> {
        self.at(heads)?.path(obj)
    }

    /// See [`View::get_cursor`].
    #[inline]
    fn get_cursor(
        &self,
        obj: impl AsRef<ObjId>,
        position: impl Into<CursorPosition>,
    ) -> Result<Cursor, EditError> {
        self.view().get_cursor(obj, position)
    }

    /// See [`View::get_cursor`].
    fn get_cursor_at(
        &self,
        obj: impl AsRef<ObjId>,
        position: impl Into<CursorPosition>,
        heads: &[ChangeHash],
    ) -> Result<Cursor, EditError> {
        self.at(heads)?.get_cursor(obj, position)
    }

    /// See [`View::get_cursor_moving`].
    #[inline]
    fn get_cursor_moving(
        &self,
        obj: impl AsRef<ObjId>,
        position: impl Into<CursorPosition>,
        moving: MoveCursor,
    ) -> Result<Cursor, EditError> {
        self.view().get_cursor_moving(obj, position, moving)
    }

    /// See [`View::get_cursor_moving`].
    fn get_cursor_moving_at(
        &self,
        obj: impl AsRef<ObjId>,
        position: impl Into<CursorPosition>,
        moving: MoveCursor,
        heads: &[ChangeHash],
    ) -> Result<Cursor, EditError> {
        self.at(heads)?.get_cursor_moving(obj, position, moving)
    }

    /// See [`View::get_cursor_position`].
    #[inline]
    fn get_cursor_position(&self, obj: impl AsRef<ObjId>, cursor: &Cursor) -> Result<usize, EditError> {
        self.view().get_cursor_position(obj, cursor)
    }

    /// See [`View::get_cursor_position`].
    fn get_cursor_position_at(
        &self,
        obj: impl AsRef<ObjId>,
        cursor: &Cursor,
        heads: &[ChangeHash],
    ) -> Result<usize, EditError> {
        self.at(heads)?.get_cursor_position(obj, cursor)
    }

    /// Unit of text indexes.
    fn text_encoding(&self) -> TextEncoding {
        self.view().text_encoding()
    }
}
