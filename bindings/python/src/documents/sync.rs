//! Syncs: what is known of a peer, and what to tell it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hashmill_doc::sync::{Message, State};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::errors::{self, Failed};
use super::forks::Home;
use super::hashes::texts;

/// What is known of one peer. One of them serves one conversation at a time.
#[pyclass(frozen, module = "hashmill.documents")]
pub(crate) struct SyncState {
    state: Mutex<State>,
    home: Home,
}

impl SyncState {
    /// Locked after the document, never before it.
    pub(super) fn lock(&self) -> Result<MutexGuard<'_, State>, Failed> {
        self.home.check(|| self.state.try_lock())?;
        Ok(self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn of(state: State) -> Self {
        Self { state: Mutex::new(state), home: Home::new() }
    }

    /// Reads.
    fn read<R>(&self, py: Python<'_>, read: impl FnOnce(&State) -> R + Send) -> PyResult<R>
    where
        R: Send,
    {
        py.detach(|| self.lock().map(|state| read(&state))).map_err(|failed| failed.raise(py))
    }
}

pub(super) fn decoded(py: Python<'_>, message: &[u8]) -> PyResult<Message> {
    py.detach(|| Message::decode(message)).map_err(|error| errors::message(py, &error))
}

#[pymethods]
impl SyncState {
    #[new]
    #[pyo3(signature = (*, read_only = false))]
    fn new(read_only: bool) -> Self {
        Self::of(if read_only { State::new_read_only() } else { State::new() })
    }

    /// Reads what [`Self::encode`] wrote, which is not whether it is read-only.
    #[staticmethod]
    #[pyo3(signature = (data, read_only = false))]
    fn decode(py: Python<'_>, data: &[u8], read_only: bool) -> PyResult<Self> {
        let mut state = State::decode(data).map_err(|error| errors::state(py, &error))?;
        state.set_read_only(read_only);
        Ok(Self::of(state))
    }

    /// What is worth keeping for the next conversation with this peer.
    fn encode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.read(py, State::encode)?))
    }

    /// Heads of what both have, as far as is known.
    #[getter]
    fn shared_heads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let heads = self.read(py, |state| state.shared_heads().to_vec())?;
        texts(py, &heads)
    }

    /// The heads that the peer named last.
    #[getter]
    fn their_heads<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let heads = self.read(py, |state| state.their_heads().map(<[_]>::to_vec))?;
        heads.map(|heads| texts(py, &heads)).transpose()
    }

    /// Whether changes of the peer are left alone.
    #[getter]
    fn read_only(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, State::is_read_only)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, this) = (slf.py(), slf.get());
        Ok((slf.get_type().getattr("decode")?, (this.encode(py)?, this.read_only(py)?).into_pyobject(py)?))
    }
}
