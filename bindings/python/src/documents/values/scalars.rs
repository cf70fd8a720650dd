//! Scalars of documents without a Python type.

use pyo3::IntoPyObjectExt;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::documents::shared::ObjectRef;

/// A number that adds up concurrent increments. Putting `Counter(3)` into a document creates a counter. A counter that was read
/// and changed by `+=` or `-=` becomes an increment if it is put back at the same key or index, and a new counter elsewhere.
#[pyclass(frozen, module = "hashmill.documents")]
pub(crate) struct Counter {
    /// The number.
    #[pyo3(get)]
    pub(crate) value: i64,
    /// `None` for a counter that is not from a document.
    pub(crate) read: Option<ReadCounter>,
}

/// A counter that was read.
#[derive(Clone)]
pub(crate) struct ReadCounter {
    /// The id of the operation that made it, like that of an object.
    pub(in crate::documents) counter: ObjectRef,
    /// The increment since it was read.
    pub(crate) sum: i64,
}

impl Counter {
    fn plus(&self, by: Option<i64>) -> PyResult<Self> {
        let too_large = || PyOverflowError::new_err("a counter holds 64 bits");
        let by = by.ok_or_else(too_large)?;
        let value = self.value.checked_add(by).ok_or_else(too_large)?;
        let read = match &self.read {
            Some(ReadCounter { counter, sum }) => {
                let sum = sum.checked_add(by).ok_or_else(too_large)?;
                Some(ReadCounter { counter: counter.clone(), sum })
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

    /// Adds a number: `doc["votes"] += 1`.
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

/// A time outside of the range of `datetime`, in milliseconds since 1970.
#[pyclass(frozen, eq, hash, module = "hashmill.documents")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Timestamp {
    /// Milliseconds since 1970.
    #[pyo3(get)]
    pub(crate) milliseconds: i64,
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

/// A value of a type from a later version of the format, kept unchanged.
#[pyclass(frozen, eq, hash, module = "hashmill.documents")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Unknown {
    /// Its number, 10 to 15.
    #[pyo3(get)]
    pub(crate) type_code: u8,
    pub(crate) bytes: Vec<u8>,
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

/// The error for an unsupported value.
pub(crate) fn unfit(value: &Bound<'_, PyAny>) -> PyErr {
    match value.get_type().name() {
        Ok(name) => PyTypeError::new_err(format!("a document cannot hold a value of type {name}")),
        Err(error) => error,
    }
}
