//! The changes that made the visible parts of an object.

use hashmill_doc::{BlamedPart, ReadDoc as _};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::documents::shared::ObjectRef;

/// Parts of an object, each with the hash of the change that made it.
fn parts<T: Send>(
    py: Python<'_>,
    object_ref: &ObjectRef,
    part: impl Fn(BlamedPart<'_>) -> Option<T> + Send + Sync,
) -> PyResult<Vec<(T, Option<String>)>> {
    object_ref.read_long(py, |doc, obj| {
        let blamed = doc.blame(obj)?.into_iter();
        let named = blamed.filter_map(|blame| Some((part(blame.blamed)?, blame.change)));
        Ok(named.map(|(part, change)| (part, change.map(|hash| hash.to_string()))).collect())
    })
}

/// For a map: changes by key.
pub(crate) fn blame_map<'py>(py: Python<'py>, object_ref: &ObjectRef) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let key = |part: BlamedPart<'_>| match part {
        BlamedPart::Key(key) => Some(key.to_owned()),
        BlamedPart::Range(_) => None,
    };
    for (key, change) in parts(py, object_ref, key)? {
        dict.set_item(key, change)?;
    }
    Ok(dict)
}

/// For a list or text: start, end and change of each part, in order.
pub(crate) fn blame_sequence<'py>(py: Python<'py>, object_ref: &ObjectRef) -> PyResult<Bound<'py, PyList>> {
    let range = |part: BlamedPart<'_>| match part {
        BlamedPart::Range(range) => Some(range),
        BlamedPart::Key(_) => None,
    };
    let parts = parts(py, object_ref, range)?;
    PyList::new(py, parts.into_iter().map(|(range, change)| (range.start, range.end, change)))
}
