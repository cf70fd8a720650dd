//! Lists. The methods of `collections.abc.MutableSequence` are added in Python.

use hashmill_doc::{AutoCommit, Literal, ObjId, ObjType, ReadDoc, Transactable};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::documents::classes::List;
use crate::documents::errors::DeferredError;
use crate::documents::objects::slices::{IndexOrSlice, Slice, at, gap_in, index_in, out_of_range};
use crate::documents::objects::{blame, json, repr};
use crate::documents::values::{FoundValue, conflicts, input, literal, literals, plain};

/// Replaces the elements of a slice.
fn put_slice(
    doc: &mut AutoCommit,
    obj: &ObjId,
    slice: Slice,
    values: Vec<Literal>,
) -> Result<(), DeferredError> {
    let indexes = slice.within(doc.length(obj));
    if let Some((start, count)) = indexes.run() {
        return Ok(doc.splice(obj, start, count.cast_signed(), values)?);
    }
    if values.len() != indexes.count {
        let message = format!("{} values for an extended slice of {}", values.len(), indexes.count);
        return Err(PyValueError::new_err(message).into());
    }
    indexes.iter().zip(values).try_for_each(|(index, value)| doc.put_literal(obj, index, value).map(drop))?;
    Ok(())
}

fn delete_slice(doc: &mut AutoCommit, obj: &ObjId, slice: Slice) -> Result<(), DeferredError> {
    let indexes = slice.within(doc.length(obj));
    if let Some((start, count)) = indexes.run() {
        return Ok(doc.splice(obj, start, count.cast_signed(), NOTHING)?);
    }
    let mut indexes: Vec<usize> = indexes.iter().collect();
    indexes.sort_unstable();
    indexes.into_iter().rev().try_for_each(|index| doc.delete(obj, index))?;
    Ok(())
}

const NOTHING: [Literal; 0] = [];

#[pymethods]
impl List {
    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        match at(key)? {
            IndexOrSlice::Index(index) => self
                .0
                .read(py, |inner, obj| {
                    let index = index_in(inner.doc.length(obj), index)?;
                    let found = inner.doc.get(obj, index)?;
                    let found = found.ok_or_else(out_of_range)?;
                    FoundValue::read(py, inner, &self.0.doc, found)
                })?
                .into_py(py),
            IndexOrSlice::Slice(slice) => {
                let found = self.0.read(py, |inner, obj| {
                    let indexes = slice.within(inner.doc.length(obj)).iter();
                    let found = indexes.filter_map(|index| inner.doc.get(obj, index).transpose());
                    found.map(|found| FoundValue::read(py, inner, &self.0.doc, found?)).collect::<Result<
                        Vec<_>,
                        DeferredError,
                    >>(
                    )
                })?;
                let list = PyList::empty(py);
                for found in found {
                    list.append(found.into_py(py)?)?;
                }
                Ok(list.into_any())
            }
        }
    }

    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = key.py();
        let index = match at(key)? {
            IndexOrSlice::Index(index) => index,
            IndexOrSlice::Slice(slice) => {
                let values = literals(value)?;
                return self.0.edit(py, |doc, obj| put_slice(doc, obj, slice, values));
            }
        };
        let now = self.0.read(py, |inner, obj| index_in(inner.doc.length(obj), index))?;
        if self.0.is_there(py, now.into(), value)? {
            return Ok(());
        }
        let input = input(&self.0, value)?;
        self.0.edit(py, |doc, obj| {
            let index = index_in(doc.length(obj), index)?;
            input.put(doc, obj, &index.into())
        })
    }

    fn __delitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let at = at(key)?;
        self.0.edit(key.py(), |doc, obj| match at {
            IndexOrSlice::Slice(slice) => delete_slice(doc, obj, slice),
            IndexOrSlice::Index(index) => Ok(doc.delete(obj, index_in(doc.length(obj), index)?)?),
        })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.0.read(py, |inner, obj| Ok(inner.doc.length(obj)))
    }

    fn __iter__(slf: Bound<'_, Self>) -> ElementIterator {
        ElementIterator { list: slf.unbind(), next: Some(0) }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("List({})", repr::object_repr(py, &self.0, ObjType::List)?))
    }

    /// Inserts a value before an index.
    fn insert(&self, py: Python<'_>, index: isize, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = literal(value)?;
        self.0.edit(py, |doc, obj| {
            Ok(doc.insert_literal(obj, gap_in(doc.length(obj), index), value).map(drop)?)
        })
    }

    /// Appends all values, as one edit.
    #[pyo3(signature = (values, /))]
    fn extend(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let values = literals(values)?;
        self.0.edit(py, |doc, obj| Ok(doc.splice(obj, doc.length(obj), 0, values)?))
    }

    /// Deletes all elements.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.0.edit(py, |doc, obj| delete_slice(doc, obj, Slice::FULL))
    }

    /// Increments a counter.
    #[pyo3(signature = (index, by = 1))]
    fn increment(&self, py: Python<'_>, index: isize, by: i64) -> PyResult<()> {
        self.0.edit(py, |doc, obj| Ok(doc.increment(obj, index_in(doc.length(obj), index)?, by)?))
    }

    /// All values of an element if there are several, by the id of the operation that wrote each: reads return the last one.
    fn conflicts<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyDict>> {
        let index = self.0.read(py, |inner, obj| index_in(inner.doc.length(obj), index))?;
        conflicts(py, &self.0, index.into())
    }

    /// Makes the list equal to a sequence with few edits: equal parts stay unchanged.
    fn assign(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let literal = literal(value)?;
        self.0.edit(value.py(), |doc, obj| Ok(doc.update_object(obj, &literal)?))
    }

    /// The list with its contents as dictionaries, lists, strings and numbers.
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        plain(py, &self.0.read_long(py, |doc, obj| Ok(doc.hydrate(obj)?))?)
    }

    /// The list with its contents as JSON. With `tagged` the kinds of values are marked, so that it can be read back; otherwise
    /// it is plain JSON for other programs. With `pretty` each value has its own line.
    #[pyo3(signature = (*, tagged = false, pretty = false))]
    fn to_json(&self, py: Python<'_>, tagged: bool, pretty: bool) -> PyResult<String> {
        json::written(py, &self.0, ObjType::List, tagged, pretty)
    }

    /// Start, end and change hash of each part of the list. `Document.change_by_hash` gives the actor.
    fn blame<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        blame::blame_sequence(py, &self.0)
    }

    /// The id of this object, the same in every copy of the document.
    #[getter]
    fn object_id(&self) -> String {
        self.0.obj.to_string()
    }
}

/// Iterator over the elements, which sees edits during the iteration.
#[pyclass]
pub(crate) struct ElementIterator {
    list: Py<List>,
    /// `None` after the end was reached.
    next: Option<usize>,
}

#[pymethods]
impl ElementIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(index) = self.next else { return Ok(None) };
        let object_ref = &self.list.get().0;
        let inside = object_ref.read(py, |inner, obj| Ok(index < inner.doc.length(obj)))?;
        let found = if inside { object_ref.get(py, index.into())? } else { None };
        self.next = found.is_some().then_some(index + 1);
        Ok(found)
    }
}
