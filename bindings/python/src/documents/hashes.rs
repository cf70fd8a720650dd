//! Names of changes and of actors: hexadecimal text in Python, bytes under the names of `automerge`.

use hashmill_doc::{ActorId, ChangeHash};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};

/// The hash of a change, given as text or as bytes.
pub(super) struct Hash(pub(super) ChangeHash);

impl<'a, 'py> FromPyObject<'a, 'py> for Hash {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = value.cast::<PyBytes>() {
            let hash = bytes.as_bytes().try_into();
            return hash.map(|hash| Self(ChangeHash(hash))).map_err(|_| {
                PyValueError::new_err(format!("a hash has 32 bytes, not {}", bytes.as_bytes().len()))
            });
        }
        let text = value.cast::<PyString>().map_err(|_| PyTypeError::new_err("a hash is text or bytes"))?;
        text.to_str()?.parse().map(Self).map_err(|error| PyValueError::new_err(format!("a hash: {error}")))
    }
}

/// Some heads.
pub(super) struct Heads(pub(super) Vec<ChangeHash>);

impl<'a, 'py> FromPyObject<'a, 'py> for Heads {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err("heads are a sequence of hashes, not one"));
        }
        let hashes = value.try_iter()?.map(|hash| Ok(hash?.extract::<Hash>()?.0));
        Ok(Self(hashes.collect::<PyResult<_>>()?))
    }
}

/// An actor, given as text or as bytes.
pub(super) struct Actor(pub(super) ActorId);

impl<'a, 'py> FromPyObject<'a, 'py> for Actor {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = value.cast::<PyBytes>() {
            return Ok(Self(ActorId::from(bytes.as_bytes())));
        }
        let text = value.cast::<PyString>().map_err(|_| PyTypeError::new_err("an actor is text or bytes"))?;
        text.to_str()?.parse().map(Self).map_err(|error| PyValueError::new_err(format!("an actor: {error}")))
    }
}

/// Heads as a tuple of text.
pub(super) fn texts<'py>(py: Python<'py>, hashes: &[ChangeHash]) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, hashes.iter().map(ToString::to_string))
}
