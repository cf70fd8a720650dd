//! Texts for concurrent edits: indexes and slices count code points, as in `str`.

use std::borrow::Cow;
use std::collections::HashMap;

use hashmill_doc::{
    AutoCommit, CursorPosition, ExpandMark, Literal, Mark, MarkSet, MoveCursor, ObjId, ReadDoc, ScalarValue,
    Span, Transactable, UpdateSpansConfig, Value,
};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::documents::classes::{Map, Text, TextSource};
use crate::documents::document::events::{marks_dict, new_mark};
use crate::documents::document::hashes::elements;
use crate::documents::errors::DeferredError;
use crate::documents::objects::slices::{IndexOrSlice, Indexes, at, gap_in, index_in};
use crate::documents::objects::{blame, repr};
use crate::documents::values::{literal, only_scalar, plain};

impl Text {
    /// Its contents.
    pub(crate) fn read(&self, py: Python<'_>) -> PyResult<Cow<'_, str>> {
        match &self.0 {
            TextSource::New(text) => Ok(Cow::Borrowed(text)),
            TextSource::At(object_ref) => {
                object_ref.read(py, |inner, obj| Ok(Cow::Owned(inner.doc.text(obj)?)))
            }
        }
    }

    fn splice_run(
        &self,
        py: Python<'_>,
        indexes: impl FnOnce(usize) -> Result<(usize, usize), DeferredError>,
        text: &str,
    ) -> PyResult<()> {
        self.object_ref()?.edit(py, |doc, obj| {
            let (index, count) = indexes(doc.length(obj))?;
            Ok(doc.splice_text(obj, index, count.cast_signed(), text)?)
        })
    }
}

/// The range of a contiguous slice.
fn run(indexes: Indexes) -> Result<(usize, usize), DeferredError> {
    indexes.run().ok_or_else(|| PyValueError::new_err("a slice that is written to has step 1").into())
}

/// The string of one element, if it is the only value there.
fn one_character(doc: &AutoCommit, obj: &ObjId, index: usize) -> Result<Option<char>, DeferredError> {
    let Some((Value::Scalar(value), _)) = doc.get(obj, index)? else { return Ok(None) };
    let mut characters = value.as_str().unwrap_or_default().chars();
    Ok(characters.next().filter(|_| characters.next().is_none()))
}

fn expand_of(name: &str) -> PyResult<ExpandMark> {
    match name {
        "before" => Ok(ExpandMark::Before),
        "after" => Ok(ExpandMark::After),
        "both" => Ok(ExpandMark::Both),
        "none" => Ok(ExpandMark::None),
        _ => Err(PyValueError::new_err(r#"a mark expands "before", "after", "both" or "none""#)),
    }
}

/// A pair of a string and its marks, or of a block's map and `None`.
fn span_of(span: &Bound<'_, PyAny>) -> PyResult<Span<'static>> {
    let (part, marks): (Bound<'_, PyAny>, Bound<'_, PyAny>) = span.extract()?;
    let marks: HashMap<String, Bound<'_, PyAny>> = marks.extract()?;
    let marks = marks.into_iter().map(|(name, value)| Ok((name, only_scalar(&value)?.into_owned())));
    let marks = marks.collect::<PyResult<MarkSet<'static>>>()?;
    match literal(&part)? {
        Literal::Scalar(ScalarValue::Str(text)) => Ok(Span::Text { text, marks }),
        Literal::Text(text) => Ok(Span::Text { text: text.into(), marks }),
        Literal::Map(entries) if marks.is_empty() => Ok(Span::Block(entries)),
        Literal::Map(_) => Err(PyValueError::new_err("a block has no marks")),
        _ => Err(PyTypeError::new_err("a span is text with marks, or the mapping of a block")),
    }
}

#[pymethods]
impl Text {
    #[new]
    #[pyo3(signature = (value = "", /))]
    fn new(value: &str) -> Self {
        Self::new_of(value)
    }

    fn __str__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        Ok(PyString::new(py, &self.read(py)?))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Text({})", repr::text_repr(py, &self.read(py)?)?))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        match &self.0 {
            TextSource::New(text) => Ok(text.chars().count()),
            TextSource::At(object_ref) => object_ref.read(py, |inner, obj| Ok(inner.doc.length(obj))),
        }
    }

    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        if let (IndexOrSlice::Index(index), TextSource::At(object_ref)) = (at(key)?, &self.0) {
            let found = object_ref.read(py, |inner, obj| {
                let index = index_in(inner.doc.length(obj), index)?;
                one_character(&inner.doc, obj, index)
            })?;
            if let Some(character) = found {
                return Ok(character.into_pyobject(py)?.into_any());
            }
        }
        self.__str__(py)?.get_item(key)
    }

    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &str) -> PyResult<()> {
        let at = at(key)?;
        self.splice_run(
            py,
            |len| match at {
                IndexOrSlice::Index(index) => Ok((index_in(len, index)?, 1)),
                IndexOrSlice::Slice(slice) => run(slice.within(len)),
            },
            value,
        )
    }

    fn __delitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        self.__setitem__(key.py(), key, "")
    }

    fn __contains__(&self, py: Python<'_>, part: &str) -> PyResult<bool> {
        Ok(self.read(py)?.contains(part))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.__str__(py)?.try_iter()?.into_any())
    }

    fn __richcmp__<'py>(&self, other: &Bound<'py, PyAny>, op: CompareOp) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        let text = self.__str__(py)?;
        match other.cast::<Self>() {
            Ok(other) => text.rich_compare(other.get().__str__(py)?, op),
            Err(_) => text.rich_compare(other, op),
        }
    }

    /// Appends to the text in the document.
    fn __iadd__(&self, py: Python<'_>, text: &str) -> PyResult<()> {
        self.append(py, text)
    }

    fn __add__<'py>(&self, py: Python<'py>, text: &str) -> PyResult<String> {
        Ok(self.read(py)?.into_owned() + text)
    }

    /// Inserts text before an index.
    fn insert(&self, py: Python<'_>, index: isize, text: &str) -> PyResult<()> {
        self.splice_run(py, |len| Ok((gap_in(len, index), 0)), text)
    }

    /// Appends text.
    fn append(&self, py: Python<'_>, text: &str) -> PyResult<()> {
        self.splice_run(py, |len| Ok((len, 0)), text)
    }

    /// Deletes `delete` code points from `index` on and inserts text there.
    #[pyo3(signature = (index, delete, text = ""))]
    fn splice(&self, py: Python<'_>, index: usize, delete: isize, text: &str) -> PyResult<()> {
        self.object_ref()?.edit(py, |doc, obj| Ok(doc.splice_text(obj, index, delete, text)?))
    }

    /// Changes the text to `text` with few edits, none of which divides a grapheme cluster.
    fn assign(&self, py: Python<'_>, text: &str) -> PyResult<()> {
        self.object_ref()?.edit(py, |doc, obj| Ok(doc.update_text(obj, text)?))
    }

    /// Marks a range. `expand` selects the ends at which typed text will belong to the mark: "before", "after", "both" or "none".
    #[pyo3(signature = (start, end, name, value = None, *, expand = "after"))]
    fn mark(
        &self,
        py: Python<'_>,
        start: usize,
        end: usize,
        name: &str,
        value: Option<&Bound<'_, PyAny>>,
        expand: &str,
    ) -> PyResult<()> {
        let (value, expand) =
            (value.map(only_scalar).transpose()?.unwrap_or(true.into()), expand_of(expand)?);
        self.object_ref()?
            .edit(py, |doc, obj| Ok(doc.mark(obj, Mark::new(name, value, start, end), expand)?))
    }

    /// Removes the marks with a name from a range.
    #[pyo3(signature = (start, end, name, *, expand = "after"))]
    fn unmark(&self, py: Python<'_>, start: usize, end: usize, name: &str, expand: &str) -> PyResult<()> {
        let expand = expand_of(expand)?;
        self.object_ref()?.edit(py, |doc, obj| Ok(doc.unmark(obj, name, start, end, expand)?))
    }

    /// All marks.
    fn marks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let marks = self.object_ref()?.read(py, |inner, obj| {
            Ok(inner.doc.marks(obj)?.into_iter().map(Mark::into_owned).collect::<Vec<_>>())
        })?;
        let list = PyList::empty(py);
        for mark in marks {
            list.append(new_mark(py, &mark)?)?;
        }
        Ok(list)
    }

    /// The marks at an index: values by name.
    fn marks_at<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyDict>> {
        let marks = self.object_ref()?.read(py, |inner, obj| {
            let index = index_in(inner.doc.length(obj), index)?;
            Ok(inner.doc.get_marks(obj, index)?.into_owned())
        })?;
        marks_dict(py, &marks)
    }

    /// The text in pieces with equal marks: pairs of a string and its marks, and for each block a pair of its map and `None`.
    fn spans<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let spans = self
            .object_ref()?
            .read(py, |inner, obj| Ok(inner.doc.spans(obj)?.map(Span::into_owned).collect::<Vec<_>>()))?;
        let list = PyList::empty(py);
        for span in spans {
            match span {
                Span::Text { text, marks } => list.append((&*text, marks_dict(py, &marks)?))?,
                Span::Block(entries) => list.append((plain(py, &Literal::Map(entries))?, PyDict::new(py)))?,
            }
        }
        Ok(list)
    }

    /// Changes the text to `spans`, in the form of `spans()`, with few edits: characters stay, and blocks stay the same objects.
    /// `expand` is how new marks expand, and `expands` overrides it by name.
    #[pyo3(signature = (spans, *, expand = "after", expands = None))]
    fn update_spans(
        &self,
        py: Python<'_>,
        spans: &Bound<'_, PyAny>,
        expand: &str,
        expands: Option<HashMap<String, String>>,
    ) -> PyResult<()> {
        let spans: Vec<Span<'static>> =
            elements(spans, "spans")?.map(|span| span_of(&span?)).collect::<PyResult<_>>()?;
        let mut config = UpdateSpansConfig::default().with_default_expand(expand_of(expand)?);
        for (name, expand) in expands.into_iter().flatten() {
            config = config.with_mark_expand(name, expand_of(&expand)?);
        }
        self.object_ref()?.edit(py, |doc, obj| Ok(doc.update_spans(obj, &config, spans)?))
    }

    /// Start, end and change hash of each part of the text. `Document.change_by_hash` gives the actor.
    fn blame<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        blame::blame_sequence(py, self.object_ref()?)
    }

    /// Inserts a block, a new map, before an index: blocks divide a rich text into paragraphs and similar parts.
    fn split_block(&self, py: Python<'_>, index: isize) -> PyResult<Map> {
        self.object_ref()?
            .make(py, |doc, obj| Ok(doc.split_block(obj, gap_in(doc.length(obj), index))?))
            .map(Map)
    }

    /// Deletes the block at an index.
    fn join_block(&self, py: Python<'_>, index: isize) -> PyResult<()> {
        self.object_ref()?.edit(py, |doc, obj| Ok(doc.join_block(obj, index_in(doc.length(obj), index)?)?))
    }

    /// A cursor that stays with the code point at an index during all edits, as text to be stored or sent. `move` is its
    /// direction when the code point is deleted: "after" or "before". An index at the end stays at the end.
    #[pyo3(signature = (index, *, r#move = "after"))]
    fn cursor(&self, py: Python<'_>, index: isize, r#move: &str) -> PyResult<String> {
        let moving = match r#move {
            "after" => MoveCursor::After,
            "before" => MoveCursor::Before,
            _ => return Err(PyValueError::new_err(r#"a cursor moves "after" or "before""#)),
        };
        self.object_ref()?.read(py, |inner, obj| {
            let len = inner.doc.length(obj);
            let position = if index.unsigned_abs() == len && index >= 0 {
                CursorPosition::End
            } else {
                CursorPosition::Index(index_in(len, index)?)
            };
            Ok(inner.doc.get_cursor_moving(obj, position, moving)?.to_string())
        })
    }

    /// The current index of a cursor.
    fn position(&self, py: Python<'_>, cursor: &str) -> PyResult<usize> {
        let cursor = cursor.parse().map_err(|error| PyValueError::new_err(format!("a cursor: {error}")))?;
        self.object_ref()?.read(py, |inner, obj| Ok(inner.doc.get_cursor_position(obj, &cursor)?))
    }

    /// The id of this object, the same in every copy of the document.
    #[getter]
    fn object_id(&self) -> PyResult<String> {
        Ok(self.object_ref()?.obj.to_string())
    }
}
