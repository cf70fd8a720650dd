//! The history of a document, changes and sync messages, as in the package `automerge`.

use hashmill_doc::Mark as MarkOf;
use hashmill_doc::sync::Message as SyncMessage;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use super::values::{ScalarType, hash_bytes, hash_list, local_time, typed};
use crate::documents::document::sync::decoded;

/// A sync message.
#[pyclass(frozen, module = "hashmill.documents.automerge.core")]
pub(crate) struct Message(pub(super) SyncMessage);

#[pymethods]
impl Message {
    /// Decodes a message.
    #[staticmethod]
    fn decode(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        decoded(py, data).map(Self)
    }

    /// The message as bytes.
    fn encode<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.encode())
    }
}

/// A change of the history.
#[pyclass(frozen, module = "hashmill.documents.automerge.core")]
pub(crate) struct Change(pub(super) hashmill_doc::Change);

#[pymethods]
impl Change {
    /// Its actor.
    #[getter]
    fn actor_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.actor_id().as_bytes())
    }

    /// Other actors whose operations it refers to.
    #[getter]
    fn other_actor_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.0.other_actor_ids().iter().map(|actor| PyBytes::new(py, actor.as_bytes())))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __bool__(&self) -> bool {
        true
    }

    /// The counter of the last operation.
    #[getter]
    fn max_op(&self) -> u64 {
        self.0.max_op()
    }

    /// The counter of the first operation.
    #[getter]
    fn start_op(&self) -> u64 {
        self.0.start_op()
    }

    /// Its message.
    #[getter]
    fn message(&self) -> Option<&str> {
        self.0.message()
    }

    /// The changes that it depends on.
    #[getter]
    fn deps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        hash_list(py, self.0.deps())
    }

    /// Its hash, 32 bytes.
    #[getter]
    fn hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        hash_bytes(py, &self.0.hash())
    }

    /// Its number among the changes of its actor, from 1 on.
    #[getter]
    fn seq(&self) -> u64 {
        self.0.seq()
    }

    /// Its time, in local time.
    #[getter]
    fn timestamp<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        local_time(py, self.0.timestamp() as f64)
    }

    /// The encoded change, not deflated.
    #[getter]
    fn bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.bytes())
    }

    /// The encoded change.
    #[getter]
    fn raw_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.raw_bytes())
    }

    /// Extra bytes, which later versions of the format may use.
    #[getter]
    fn extra_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.extra_bytes())
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// A mark on a range of a text.
#[pyclass(frozen, module = "hashmill.documents.automerge.core")]
pub(crate) struct Mark(pub(super) MarkOf<'static>);

#[pymethods]
impl Mark {
    /// Its start.
    #[getter]
    fn start(&self) -> usize {
        self.0.start
    }

    /// Its end.
    #[getter]
    fn end(&self) -> usize {
        self.0.end
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Its value, with its type.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<(ScalarType, Bound<'py, PyAny>)> {
        typed(py, &self.0.value)
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// A patch, for inspection.
#[pyclass(frozen, module = "hashmill.documents.automerge.core")]
pub(crate) struct Patch(pub(super) hashmill_doc::Patch);

#[pymethods]
impl Patch {
    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}
