//! Sync state of a peer.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hashmill_doc::sync::{Message, State};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::documents::document::hashes::texts;
use crate::documents::errors;
use crate::documents::errors::DeferredError;
use crate::documents::forks::LockOwnerProcess;

/// The sync state of one peer. It serves one connection at a time.
#[pyclass(frozen, module = "hashmill.documents")]
pub(crate) struct SyncState {
    state: Mutex<State>,
    home: LockOwnerProcess,
}

impl SyncState {
    /// Locked after the document, never before it.
    pub(in crate::documents) fn lock(&self) -> Result<MutexGuard<'_, State>, DeferredError> {
        self.home.check(|| self.state.try_lock())?;
        Ok(self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn from_state(state: State) -> Self {
        Self { state: Mutex::new(state), home: LockOwnerProcess::new() }
    }

    /// Reads.
    fn read<R>(&self, py: Python<'_>, read: impl FnOnce(&State) -> R + Send) -> PyResult<R>
    where
        R: Send,
    {
        py.detach(|| self.lock().map(|state| read(&state))).map_err(|failed| failed.raise(py))
    }
}

pub(crate) fn decoded(py: Python<'_>, message: &[u8]) -> PyResult<Message> {
    py.detach(|| Message::decode(message)).map_err(|error| errors::message(py, &error))
}

#[pymethods]
impl SyncState {
    #[new]
    #[pyo3(signature = (*, read_only = false))]
    fn new(read_only: bool) -> Self {
        Self::from_state(if read_only { State::new_read_only() } else { State::new() })
    }

    /// Decodes the output of [`Self::encode`], which does not include whether it is read-only.
    #[staticmethod]
    #[pyo3(signature = (data, read_only = false))]
    fn decode(py: Python<'_>, data: &[u8], read_only: bool) -> PyResult<Self> {
        let mut state = State::decode(data).map_err(|error| errors::state(py, &error))?;
        state.set_read_only(read_only);
        Ok(Self::from_state(state))
    }

    /// The part of the state that is useful for the next connection to this peer.
    fn encode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.read(py, State::encode)?))
    }

    /// The heads of the changes that both are known to have.
    #[getter]
    fn shared_heads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let heads = self.read(py, |state| state.shared_heads().to_vec())?;
        texts(py, &heads)
    }

    /// The heads in the last message of the peer.
    #[getter]
    fn their_heads<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let heads = self.read(py, |state| state.their_heads().map(<[_]>::to_vec))?;
        heads.map(|heads| texts(py, &heads)).transpose()
    }

    /// Whether changes of the peer are ignored.
    #[getter]
    fn read_only(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, State::is_read_only)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, this) = (slf.py(), slf.get());
        Ok((slf.get_type().getattr("decode")?, (this.encode(py)?, this.read_only(py)?).into_pyobject(py)?))
    }
}
