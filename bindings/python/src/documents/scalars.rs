//! Scalars of documents that Python has no type for.

use pyo3::IntoPyObjectExt;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::shared::Place;

/// A number to which concurrent increments add up. `Counter(3)` is put into a document as a new counter; one that was read
/// and grew by `+=` or `-=` is put back to where it is as an increment, and elsewhere as a new counter.
#[pyclass(frozen, module = "hashmill.documents")]
pub(crate) struct Counter {
    /// The number.
    #[pyo3(get)]
    pub(super) value: i64,
    /// Nothing of a counter that is not from a document.
    pub(super) read: Option<ReadCounter>,
}

/// A counter that was read.
#[derive(Clone)]
pub(super) struct ReadCounter {
    /// The operation that made it names it, as it does an object.
    pub(super) counter: Place,
    /// By how much it grew since.
    pub(super) grown: i64,
}

impl Counter {
    fn plus(&self, by: Option<i64>) -> PyResult<Self> {
        let too_large = || PyOverflowError::new_err("a counter holds 64 bits");
        let by = by.ok_or_else(too_large)?;
        let value = self.value.checked_add(by).ok_or_else(too_large)?;
        let read = match &self.read {
            Some(ReadCounter { counter, grown }) => {
                let grown = grown.checked_add(by).ok_or_else(too_large)?;
                Some(ReadCounter { counter: counter.clone(), grown })
            }
            None => None,
        };
        Ok(Self { value, read })
    }
}

#[pymethods]
impl Counter {
    #[new]
    #[pyo3(signature = (value = 0))]
    fn new(value: i64) -> Self {
        Self { value, read: None }
    }

    fn __int__(&self) -> i64 {
        self.value
    }

    fn __index__(&self) -> i64 {
        self.value
    }

    fn __bool__(&self) -> bool {
        self.value != 0
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.value.into_bound_py_any(py)?.hash()
    }

    fn __richcmp__<'py>(&self, other: &Bound<'py, PyAny>, op: CompareOp) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        let value = self.value.into_bound_py_any(py)?;
        match other.cast::<Self>() {
            Ok(other) => value.rich_compare(other.get().value, op),
            Err(_) => value.rich_compare(other, op),
        }
    }

    /// Grows by a number: `doc["votes"] += 1`.
    fn __add__(&self, by: i64) -> PyResult<Self> {
        self.plus(Some(by))
    }

    fn __sub__(&self, by: i64) -> PyResult<Self> {
        self.plus(by.checked_neg())
    }

    fn __repr__(&self) -> String {
        format!("Counter({})", self.value)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (i64,))> {
        Ok((slf.get_type().into_any(), (slf.get().value,)))
    }
}

/// A moment that `datetime` cannot hold, in milliseconds since 1970.
#[pyclass(frozen, eq, hash, module = "hashmill.documents")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Timestamp {
    /// Since 1970.
    #[pyo3(get)]
    pub(super) milliseconds: i64,
}

#[pymethods]
impl Timestamp {
    #[new]
    fn new(milliseconds: i64) -> Self {
        Self { milliseconds }
    }

    fn __repr__(&self) -> String {
        format!("Timestamp({})", self.milliseconds)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (i64,))> {
        Ok((slf.get_type().into_any(), (slf.get().milliseconds,)))
    }
}

/// A value of a type from a later version of the format, kept as it came.
#[pyclass(frozen, eq, hash, module = "hashmill.documents")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Unknown {
    /// Its number, 10 to 15.
    #[pyo3(get)]
    pub(super) type_code: u8,
    pub(super) bytes: Vec<u8>,
}

#[pymethods]
impl Unknown {
    #[new]
    fn new(type_code: u8, data: Vec<u8>) -> PyResult<Self> {
        if (10..=15).contains(&type_code) {
            Ok(Self { type_code, bytes: data })
        } else {
            Err(PyValueError::new_err("unknown types have the numbers 10 to 15"))
        }
    }

    /// Its bytes.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes)
    }

    fn __repr__(&self) -> String {
        format!("Unknown({}, {} bytes)", self.type_code, self.bytes.len())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, this) = (slf.py(), slf.get());
        Ok((slf.get_type().into_any(), (this.type_code, PyBytes::new(py, &this.bytes)).into_pyobject(py)?))
    }
}

/// What is no value of a document.
pub(super) fn unfit(value: &Bound<'_, PyAny>) -> PyErr {
    match value.get_type().name() {
        Ok(name) => PyTypeError::new_err(format!("a document cannot hold a value of type {name}")),
        Err(error) => error,
    }
}
