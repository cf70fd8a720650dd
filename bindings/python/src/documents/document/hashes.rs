//! Hashes of changes and ids of actors: hexadecimal text in Python, bytes in the `automerge` interface.

use hashmill_doc::{ActorId, ChangeHash};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyIterator, PyMapping, PyMemoryView, PyString, PyTuple};

/// The hash of a change, given as text or as bytes.
pub(crate) struct Hash(pub(crate) ChangeHash);

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

/// The elements of `values`. A string, bytes or a mapping is one value, not a list of its characters, numbers or keys.
pub(crate) fn elements<'py>(values: &Bound<'py, PyAny>, what: &str) -> PyResult<Bound<'py, PyIterator>> {
    if values.is_instance_of::<PyString>()
        || values.is_instance_of::<PyBytes>()
        || values.is_instance_of::<PyByteArray>()
        || values.is_instance_of::<PyMemoryView>()
        || values.cast::<PyMapping>().is_ok()
    {
        let given = values.get_type().name()?;
        return Err(PyTypeError::new_err(format!("{what}: a list is needed, and {given} is one value")));
    }
    values.try_iter()
}

/// Some heads.
pub(crate) struct Heads(pub(crate) Vec<ChangeHash>);

impl<'a, 'py> FromPyObject<'a, 'py> for Heads {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let hashes = elements(&value, "heads")?.map(|hash| Ok(hash?.extract::<Hash>()?.0));
        Ok(Self(hashes.collect::<PyResult<_>>()?))
    }
}

/// An actor, given as text or as bytes.
pub(crate) struct Actor(pub(crate) ActorId);

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
pub(crate) fn texts<'py>(py: Python<'py>, hashes: &[ChangeHash]) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, hashes.iter().map(ToString::to_string))
}
