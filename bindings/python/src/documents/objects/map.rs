//! Maps. The methods of `collections.abc.MutableMapping` are added in Python.

use std::vec::IntoIter;

use hashmill_doc::{ObjType, ReadDoc, Transactable};
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::documents::classes::Map;
use crate::documents::objects::{blame, json, repr};
use crate::documents::shared::ObjectRef;
use crate::documents::values::{Input, conflicts, input, literal, plain};

impl Map {
    fn is_present(&self, py: Python<'_>, key: &str) -> PyResult<bool> {
        self.0.read(py, |inner, obj| Ok(inner.doc.get(obj, key)?.is_some()))
    }
}

/// A key for a look-up. A value that is not a string, or a string that is not Unicode, is never a key of a map.
fn wanted<'a>(key: &'a Bound<'_, PyAny>) -> Option<&'a str> {
    key.cast::<PyString>().ok()?.to_str().ok()
}

fn no_key(key: &Bound<'_, PyAny>) -> PyErr {
    PyKeyError::new_err(key.clone().unbind())
}

/// A key for a write.
fn key_of<'a>(key: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    key.cast::<PyString>().map_err(|_| PyTypeError::new_err("the keys of a map are strings"))?.to_str()
}

#[pymethods]
impl Map {
    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let found = wanted(key).map(|text| self.0.get(key.py(), text.into())).transpose()?.flatten();
        found.ok_or_else(|| no_key(key))
    }

    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, name) = (key.py(), key_of(key)?);
        if self.0.is_there(py, name.into(), value)? {
            return Ok(());
        }
        let input = input(&self.0, value)?;
        self.0.edit(py, |doc, obj| input.put(doc, obj, &name.into()))
    }

    /// Puts the entries of a mapping, or pairs of keys and values, as one edit.
    #[pyo3(signature = (other = None, /, **more))]
    fn update(
        &self,
        py: Python<'_>,
        other: Option<&Bound<'_, PyAny>>,
        more: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let all = PyDict::new(py);
        for other in other.into_iter().chain(more.map(Bound::as_any)) {
            all.call_method1("update", (other,))?;
        }
        let inputs = all.items().iter().map(|item| {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            let key = key_of(&key)?.to_owned();
            Ok((key, input(&self.0, &value)?))
        });
        let inputs: Vec<(String, Input)> = inputs.collect::<PyResult<_>>()?;
        self.0.edit(py, |doc, obj| {
            inputs.into_iter().try_for_each(|(key, input)| input.put(doc, obj, &key.as_str().into()))
        })
    }

    /// Deletes all keys.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.0.edit(py, |doc, obj| {
            let keys: Vec<String> = doc.keys(obj).map(str::to_owned).collect();
            Ok(keys.iter().try_for_each(|key| doc.delete(obj, key))?)
        })
    }

    fn __delitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let Some(name) = wanted(key) else { return Err(no_key(key)) };
        let was = self.0.edit(key.py(), |doc, obj| {
            let was = doc.get(obj, name)?.is_some();
            doc.delete(obj, name)?;
            Ok(was)
        })?;
        if was { Ok(()) } else { Err(no_key(key)) }
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        wanted(key).map_or(Ok(false), |name| self.is_present(key.py(), name))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.0.read(py, |inner, obj| Ok(inner.doc.length(obj)))
    }

    /// The keys in the order of their UTF-8 bytes.
    fn __iter__(&self, py: Python<'_>) -> PyResult<KeyIterator> {
        let keys: Vec<String> =
            self.0.read(py, |inner, obj| Ok(inner.doc.keys(obj).map(str::to_owned).collect()))?;
        Ok(KeyIterator { object_ref: self.0.clone(), count: keys.len(), keys: keys.into_iter() })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Map({})", repr::object_repr(py, &self.0, ObjType::Map)?))
    }

    /// The value at a key, or `default`.
    #[pyo3(signature = (key, default = None, /))]
    fn get<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        let found = wanted(key).map(|name| self.0.get(py, name.into())).transpose()?.flatten();
        Ok(found.or(default).unwrap_or_else(|| py.None().into_bound(py)))
    }

    /// Increments a counter.
    #[pyo3(signature = (key, by = 1))]
    fn increment(&self, py: Python<'_>, key: &str, by: i64) -> PyResult<()> {
        self.0.edit(py, |doc, obj| Ok(doc.increment(obj, key, by)?))
    }

    /// All values at a key if there are several, by the id of the operation that wrote each: reads return the last one.
    fn conflicts<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyDict>> {
        conflicts(py, &self.0, key.into())
    }

    /// Makes the map equal to a mapping with few edits: equal parts stay unchanged.
    fn assign(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let literal = literal(value)?;
        self.0.edit(value.py(), |doc, obj| Ok(doc.update_object(obj, &literal)?))
    }

    /// The map with its contents as dictionaries, lists, strings and numbers.
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        plain(py, &self.0.read_long(py, |doc, obj| Ok(doc.hydrate(obj)?))?)
    }

    /// The map with its contents as JSON. With `tagged` the kinds of values are marked, so that it can be read back; otherwise it
    /// is plain JSON for other programs. With `pretty` each value has its own line.
    #[pyo3(signature = (*, tagged = false, pretty = false))]
    fn to_json(&self, py: Python<'_>, tagged: bool, pretty: bool) -> PyResult<String> {
        json::written(py, &self.0, ObjType::Map, tagged, pretty)
    }

    /// The hash of the change that wrote the value at each key. `Document.change_by_hash` gives the actor.
    fn blame<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        blame::blame_map(py, &self.0)
    }

    /// The id of this object, the same in every copy of the document.
    #[getter]
    fn object_id(&self) -> String {
        self.0.obj.to_string()
    }
}

/// Iterator over keys; adding or removing keys ends it with an error.
#[pyclass]
pub(crate) struct KeyIterator {
    object_ref: ObjectRef,
    keys: IntoIter<String>,
    count: usize,
}

#[pymethods]
impl KeyIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<String>> {
        let count = self.object_ref.read(py, |inner, obj| Ok(inner.doc.length(obj)))?;
        if count != self.count {
            return Err(PyRuntimeError::new_err("the map changed size during iteration"));
        }
        Ok(self.keys.next())
    }

    fn __length_hint__(&self) -> usize {
        self.keys.len()
    }
}
