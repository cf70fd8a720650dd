//! Changes of the history.

use hashmill_doc::Limits;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::documents::document::hashes::texts;
use crate::documents::errors;
use crate::documents::values::seconds;

/// A change: the operations of one commit, with its actor and dependencies.
#[pyclass(frozen, module = "hashmill.documents")]
pub(crate) struct Change(pub(crate) hashmill_doc::Change);

#[pymethods]
impl Change {
    /// Decodes a change from its bytes.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let change = hashmill_doc::Change::from_bytes_with(data, &Limits::default());
        change.map(Self).map_err(|error| errors::decode(py, &error))
    }

    /// Its hash.
    #[getter]
    fn hash(&self) -> String {
        self.0.hash().to_string()
    }

    /// Its actor.
    #[getter]
    fn actor(&self) -> String {
        self.0.actor_id().to_string()
    }

    /// Its number among the changes of its actor, from 1 on.
    #[getter]
    fn seq(&self) -> u64 {
        self.0.seq()
    }

    /// The changes that it depends on.
    #[getter]
    fn deps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        texts(py, self.0.deps())
    }

    /// Its message.
    #[getter]
    fn message(&self) -> Option<&str> {
        self.0.message()
    }

    /// Its time, or `None`.
    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Some(self.0.timestamp()).filter(|time| *time != 0).map(|time| seconds(py, time)).transpose()
    }

    /// The author of the actor, if its first change records one.
    #[getter]
    fn author<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.author().map(|author| PyBytes::new(py, author))
    }

    /// The counter of its first operation.
    #[getter]
    fn start_op(&self) -> u64 {
        self.0.start_op()
    }

    /// The counter of its last operation.
    #[getter]
    fn max_op(&self) -> u64 {
        self.0.max_op()
    }

    /// The number of its operations.
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.bytes())
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0.hash() == other.0.hash()
    }

    fn __hash__(&self) -> u64 {
        let mut start = [0; 8];
        start.copy_from_slice(&self.0.hash().as_bytes()[..8]);
        u64::from_le_bytes(start)
    }

    fn __repr__(&self) -> String {
        format!("Change({}, actor {}, {} operations)", self.0.hash(), self.0.actor_id(), self.0.len())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.get_type().getattr("from_bytes")?, (slf.get().__bytes__(slf.py()),)))
    }
}
