//! What that package tells of the past of a document, and sends to others.

use hashmill_doc::Mark as MarkOf;
use hashmill_doc::sync::Message as SyncMessage;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use super::super::sync::decoded;
use super::values::{ScalarType, hash_bytes, hash_list, local_time, typed};

/// A message of a sync.
#[pyclass(frozen, module = "hashmill.documents.automerge.core")]
pub(crate) struct Message(pub(super) SyncMessage);

#[pymethods]
impl Message {
    /// Reads a message.
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
    /// Who made it.
    #[getter]
    fn actor_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.actor_id().as_bytes())
    }

    /// Other actors whose operations it names.
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

    /// What its author says of it.
    #[getter]
    fn message(&self) -> Option<&str> {
        self.0.message()
    }

    /// The changes it builds on.
    #[getter]
    fn deps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        hash_list(py, self.0.deps())
    }

    /// Its name, 32 bytes.
    #[getter]
    fn hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        hash_bytes(py, &self.0.hash())
    }

    /// Its number among the changes of its actor, from 1 on.
    #[getter]
    fn seq(&self) -> u64 {
        self.0.seq()
    }

    /// In local time.
    #[getter]
    fn timestamp<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        local_time(py, self.0.timestamp() as f64)
    }

    /// The change as it is stored, not deflated.
    #[getter]
    fn bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.bytes())
    }

    /// The change as it is stored.
    #[getter]
    fn raw_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.raw_bytes())
    }

    /// What a later version of the format may add.
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
    /// Where it begins.
    #[getter]
    fn start(&self) -> usize {
        self.0.start
    }

    /// Where it ends.
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

/// A step of a difference, to be looked at.
#[pyclass(frozen, module = "hashmill.documents.automerge.core")]
pub(crate) struct Patch(pub(super) hashmill_doc::Patch);

#[pymethods]
impl Patch {
    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}
