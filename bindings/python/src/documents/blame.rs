//! Which changes made what can be seen of an object.

use hashmill_doc::{BlamedPlace, ReadDoc as _};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::shared::Place;

/// Parts of an object, each with the name of the change that made it.
fn parts<T: Send>(
    py: Python<'_>,
    place: &Place,
    part: impl Fn(BlamedPlace<'_>) -> Option<T> + Send + Sync,
) -> PyResult<Vec<(T, Option<String>)>> {
    place.read_long(py, |doc, obj| {
        let blamed = doc.blame(obj)?.into_iter();
        let named = blamed.filter_map(|blame| Some((part(blame.place)?, blame.change)));
        Ok(named.map(|(part, change)| (part, change.map(|hash| hash.to_string()))).collect())
    })
}

/// Of a map: changes by keys.
pub(super) fn of_keys<'py>(py: Python<'py>, place: &Place) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let key = |place: BlamedPlace<'_>| match place {
        BlamedPlace::Key(key) => Some(key.to_owned()),
        BlamedPlace::Range(_) => None,
    };
    for (key, change) in parts(py, place, key)? {
        dict.set_item(key, change)?;
    }
    Ok(dict)
}

/// Of a list or text: start, end and change of each part, in order.
pub(super) fn of_ranges<'py>(py: Python<'py>, place: &Place) -> PyResult<Bound<'py, PyList>> {
    let range = |place: BlamedPlace<'_>| match place {
        BlamedPlace::Range(range) => Some(range),
        BlamedPlace::Key(_) => None,
    };
    let parts = parts(py, place, range)?;
    PyList::new(py, parts.into_iter().map(|(range, change)| (range.start, range.end, change)))
}
