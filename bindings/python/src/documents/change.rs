//! Changes of the history.

use hashmill_doc::Limits;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::errors;
use super::hashes::texts;
use super::values::seconds;

/// A change: what one commit did, who made it, and on which changes it builds.
#[pyclass(frozen, module = "hashmill.documents")]
pub(crate) struct Change(pub(super) hashmill_doc::Change);

#[pymethods]
impl Change {
    /// Reads a change from its bytes.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let change = hashmill_doc::Change::from_bytes_with(data, &Limits::default());
        change.map(Self).map_err(|error| errors::decode(py, &error))
    }

    /// Its name.
    #[getter]
    fn hash(&self) -> String {
        self.0.hash().to_string()
    }

    /// Who made it.
    #[getter]
    fn actor(&self) -> String {
        self.0.actor_id().to_string()
    }

    /// Its number among the changes of its actor, from 1 on.
    #[getter]
    fn seq(&self) -> u64 {
        self.0.seq()
    }

    /// The changes it builds on.
    #[getter]
    fn deps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        texts(py, self.0.deps())
    }

    /// What its author says of it.
    #[getter]
    fn message(&self) -> Option<&str> {
        self.0.message()
    }

    /// When it was made. Nothing if its author did not say.
    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Some(self.0.timestamp()).filter(|time| *time != 0).map(|time| seconds(py, time)).transpose()
    }

    /// Who stands behind the actor, if its first change says so.
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

    /// How many operations it has.
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
