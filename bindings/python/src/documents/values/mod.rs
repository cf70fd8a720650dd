//! Conversion between values of Python and of documents.

pub(super) mod scalars;

use std::borrow::Cow;
use std::sync::Arc;

use hashmill_doc::{AutoCommit, Literal, ObjId, ObjType, Prop, ReadDoc, ScalarValue, Transactable, Value};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOverflowError, PyRecursionError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDateTime, PyDict, PyFloat, PyInt, PyList, PyMapping, PyMemoryView,
    PySequence, PyString, PyTuple,
};

use crate::documents::classes::{List, Map, Text};
use crate::documents::errors::DeferredError;
use crate::documents::shared::{Inner, ObjectRef, Shared};
use crate::documents::values::scalars::{Counter, ReadCounter, Timestamp, Unknown, unfit};

/// Maximum depth of nested values that are passed or returned as a whole. A value that contains itself exceeds it.
const MOST_LEVELS: usize = 500;
/// Maximum number of values in one call: a few lists that contain each other can represent any number.
const MOST_VALUES: usize = 1 << 22;

/// A value to write.
pub(crate) enum Input {
    Value(Literal),
    /// A counter of this document, and its new value.
    Grown(ReadCounter, i64),
}

/// Converts a value to be written into `object_ref`.
pub(crate) fn input(object_ref: &ObjectRef, value: &Bound<'_, PyAny>) -> PyResult<Input> {
    if let Ok(counter) = value.cast::<Counter>()
        && let Counter { value, read: Some(read) } = counter.get()
        && Arc::ptr_eq(&read.counter.doc, &object_ref.doc)
    {
        return Ok(Input::Grown(read.clone(), *value));
    }
    literal(value).map(Input::Value)
}

impl Input {
    /// Writes it. A counter that is put back at the same key or index is incremented, so concurrent increments add up.
    pub(crate) fn put(self, doc: &mut AutoCommit, obj: &ObjId, prop: &Prop<'_>) -> Result<(), DeferredError> {
        let value = match self {
            Self::Grown(ReadCounter { counter, sum }, value) => {
                if counter.is_at(doc, obj, prop)? {
                    return if sum == 0 { Ok(()) } else { Ok(doc.increment(obj, prop.clone(), sum)?) };
                }
                Literal::Scalar(ScalarValue::Counter(value))
            }
            Self::Value(value) => value,
        };
        Ok(doc.put_literal(obj, prop.clone(), value).map(drop)?)
    }
}

/// A value with its contents.
pub(crate) fn literal(value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    Reading { left: MOST_VALUES }.value(value, 0)
}

/// Values with their contents.
pub(crate) fn literals(values: &Bound<'_, PyAny>) -> PyResult<Vec<Literal>> {
    let mut reading = Reading { left: MOST_VALUES };
    values.try_iter()?.map(|value| reading.count(1).and_then(|()| reading.value(&value?, 0))).collect()
}

struct Reading {
    left: usize,
}

impl Reading {
    fn value(&mut self, value: &Bound<'_, PyAny>, level: usize) -> PyResult<Literal> {
        if let Some(scalar) = scalar(value)? {
            return Ok(Literal::Scalar(scalar.into_owned()));
        }
        if let Some(object_ref) = object_ref_of(value) {
            return object_ref.read_long(value.py(), |doc, obj| Ok(doc.hydrate(obj)?));
        }
        if let Ok(text) = value.cast::<Text>() {
            return Ok(Literal::Text(text.get().read(value.py())?.into_owned()));
        }
        if level == MOST_LEVELS {
            let message =
                format!("values are nested more than {MOST_LEVELS} levels deep, or contain themselves");
            return Err(PyRecursionError::new_err(message));
        }
        // Copies of the lists: converting values may run code that changes their containers.
        if let Ok(dict) = value.cast::<PyDict>() {
            return self.entries(&dict.items(), level);
        }
        if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            return self.elements(value, level);
        }
        if let Ok(mapping) = value.cast::<PyMapping>() {
            return self.entries(&mapping.items()?, level);
        }
        if value.is_instance_of::<PySequence>() {
            return self.elements(value, level);
        }
        Err(unfit(value))
    }

    fn entries(&mut self, items: &Bound<'_, PyList>, level: usize) -> PyResult<Literal> {
        self.count(items.len())?;
        let entries = items.iter().map(|item| {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            let key =
                key.cast::<PyString>().map_err(|_| PyTypeError::new_err("the keys of a map are strings"))?;
            Ok((key.to_str()?.to_owned(), self.value(&value, level + 1)?))
        });
        Ok(Literal::Map(entries.collect::<PyResult<_>>()?))
    }

    fn elements(&mut self, values: &Bound<'_, PyAny>, level: usize) -> PyResult<Literal> {
        // Checked first if the length is known, so that nothing is built from a value that is too long.
        let sure = values.is_instance_of::<PyList>() || values.is_instance_of::<PyTuple>();
        self.count(if sure { values.len()? } else { 0 })?;
        let elements = values.try_iter()?.map(|value| {
            self.count(usize::from(!sure))?;
            self.value(&value?, level + 1)
        });
        Ok(Literal::List(elements.collect::<PyResult<_>>()?))
    }

    fn count(&mut self, values: usize) -> PyResult<()> {
        let too_many = || PyValueError::new_err(format!("more than {MOST_VALUES} values at once"));
        self.left = self.left.checked_sub(values).ok_or_else(too_many)?;
        Ok(())
    }
}

/// The object of a document that `value` refers to.
pub(crate) fn object_ref_of<'a>(value: &'a Bound<'_, PyAny>) -> Option<&'a ObjectRef> {
    if let Ok(map) = value.cast::<Map>() {
        return Some(&map.get().0);
    }
    if let Ok(list) = value.cast::<List>() {
        return Some(&list.get().0);
    }
    value.cast::<Text>().ok().and_then(|text| text.get().in_document())
}

/// A scalar. `None` if the value is an object, or unsupported.
pub(crate) fn scalar<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Option<ScalarValue<'a>>> {
    Ok(Some(if let Ok(text) = value.cast::<PyString>() {
        ScalarValue::Str(Cow::Borrowed(text.to_str()?))
    } else if let Ok(value) = value.cast::<PyBool>() {
        ScalarValue::Boolean(value.is_true())
    } else if value.is_instance_of::<PyInt>() {
        integer(value)?
    } else if let Ok(value) = value.cast::<PyFloat>() {
        ScalarValue::F64(value.value())
    } else if value.is_none() {
        ScalarValue::Null
    } else if let Ok(bytes) = value.cast::<PyBytes>() {
        ScalarValue::Bytes(Cow::Borrowed(bytes.as_bytes()))
    } else if let Ok(bytes) = value.cast::<PyByteArray>() {
        ScalarValue::Bytes(Cow::Owned(bytes.to_vec()))
    } else if value.is_instance_of::<PyMemoryView>() {
        let bytes = value.call_method0("tobytes")?;
        ScalarValue::Bytes(Cow::Owned(bytes.cast::<PyBytes>()?.as_bytes().to_vec()))
    } else if let Ok(counter) = value.cast::<Counter>() {
        ScalarValue::Counter(counter.get().value)
    } else if value.is_instance_of::<PyDateTime>() {
        ScalarValue::Timestamp(milliseconds(value)?)
    } else if let Ok(time) = value.cast::<Timestamp>() {
        ScalarValue::Timestamp(time.get().milliseconds)
    } else if let Ok(unknown) = value.cast::<Unknown>() {
        let Unknown { type_code, bytes } = unknown.get();
        ScalarValue::Unknown { type_code: *type_code, bytes: Cow::Borrowed(bytes) }
    } else if value.hasattr("__index__")? {
        integer(value)?
    } else {
        return Ok(None);
    }))
}

/// The same for a value that must be a scalar.
pub(crate) fn only_scalar<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<ScalarValue<'a>> {
    scalar(value)?.ok_or_else(|| unfit(value))
}

/// Signed if it fits, as it nearly always does.
fn integer(value: &Bound<'_, PyAny>) -> PyResult<ScalarValue<'static>> {
    if let Ok(number) = value.extract::<i64>() {
        return Ok(ScalarValue::Int(number));
    }
    value.extract::<u64>().map(ScalarValue::Uint).map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(value.py()) {
            PyOverflowError::new_err("a document holds integers from -2**63 to 2**64 - 1")
        } else {
            error
        }
    })
}

/// The epoch and the unit of times.
struct Clock {
    epoch: Py<PyAny>,
    delta: Py<PyAny>,
    millisecond: Py<PyAny>,
}

fn clock(py: Python<'_>) -> PyResult<&Clock> {
    static CLOCK: PyOnceLock<Clock> = PyOnceLock::new();
    CLOCK.get_or_try_init(py, || {
        let module = py.import("datetime")?;
        let delta = module.getattr("timedelta")?;
        let utc = module.getattr("timezone")?.getattr("utc")?;
        let epoch = module.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, utc))?;
        let millisecond = delta.call1((0, 0, 1000))?;
        Ok(Clock { epoch: epoch.unbind(), delta: delta.unbind(), millisecond: millisecond.unbind() })
    })
}

/// Milliseconds since 1970; smaller units are truncated.
fn milliseconds(time: &Bound<'_, PyAny>) -> PyResult<i64> {
    let py = time.py();
    if time.getattr("tzinfo")?.is_none() {
        return Err(PyValueError::new_err(
            "a datetime without a time zone is ambiguous: use datetime.now(timezone.utc)",
        ));
    }
    let clock = clock(py)?;
    time.sub(&clock.epoch)?.floor_div(&clock.millisecond)?.extract()
}

/// A time, in UTC.
fn datetime(py: Python<'_>, milliseconds: i64) -> PyResult<Bound<'_, PyAny>> {
    let clock = clock(py)?;
    let (seconds, rest) = (milliseconds.div_euclid(1000), milliseconds.rem_euclid(1000));
    let time = clock
        .delta
        .bind(py)
        .call1((seconds.div_euclid(86_400), seconds.rem_euclid(86_400), rest * 1000))
        .and_then(|delta| clock.epoch.bind(py).add(delta));
    match time {
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
            Timestamp { milliseconds }.into_bound_py_any(py)
        }
        time => time,
    }
}

/// A time in seconds.
pub(crate) fn seconds(py: Python<'_>, seconds: i64) -> PyResult<Bound<'_, PyAny>> {
    datetime(py, seconds.saturating_mul(1000))
}

/// A value found while a document was locked.
pub(crate) enum FoundValue {
    Python(Py<PyAny>),
    Scalar(ScalarValue<'static>),
    Counter(i64, ObjectRef),
    Object(ObjType, ObjectRef),
}

impl FoundValue {
    pub(crate) fn read(
        py: Python<'_>,
        inner: &Inner,
        doc: &Arc<Shared>,
        (value, id): (Value<'_>, ObjId),
    ) -> Result<Self, DeferredError> {
        Ok(match value {
            Value::Object(kind) => Self::Object(kind, inner.object_ref(doc, id)),
            Value::Scalar(ScalarValue::Counter(value)) => Self::Counter(value, inner.object_ref(doc, id)),
            Value::Scalar(scalar) => match at_once(py, &scalar)? {
                Some(object) => Self::Python(object.unbind()),
                None => Self::Scalar(scalar.into_owned()),
            },
        })
    }

    pub(crate) fn into_py(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        match self {
            Self::Python(object) => Ok(object.into_bound(py)),
            Self::Scalar(scalar) => from_scalar(py, &scalar),
            Self::Counter(value, counter) => {
                Counter { value, read: Some(ReadCounter { counter, sum: 0 }) }.into_bound_py_any(py)
            }
            Self::Object(ObjType::List, object_ref) => List(object_ref).into_bound_py_any(py),
            Self::Object(ObjType::Text, object_ref) => Text::at(object_ref).into_bound_py_any(py),
            Self::Object(ObjType::Map | ObjType::Table, object_ref) => Map(object_ref).into_bound_py_any(py),
        }
    }
}

/// The values that can be created while a document is locked: see [`crate::documents::shared`].
fn at_once<'py>(py: Python<'py>, scalar: &ScalarValue<'_>) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(Some(match scalar {
        ScalarValue::Null => py.None().into_bound(py),
        ScalarValue::Boolean(value) => value.into_bound_py_any(py)?,
        ScalarValue::Int(value) => value.into_bound_py_any(py)?,
        ScalarValue::Uint(value) => value.into_bound_py_any(py)?,
        ScalarValue::F64(value) => value.into_bound_py_any(py)?,
        ScalarValue::Str(text) => PyString::new(py, text).into_any(),
        ScalarValue::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        ScalarValue::Counter(_) | ScalarValue::Timestamp(_) | ScalarValue::Unknown { .. } => return Ok(None),
    }))
}

/// A scalar of a document.
pub(crate) fn from_scalar<'py>(py: Python<'py>, scalar: &ScalarValue<'_>) -> PyResult<Bound<'py, PyAny>> {
    match scalar {
        ScalarValue::Counter(value) => Counter { value: *value, read: None }.into_bound_py_any(py),
        ScalarValue::Timestamp(value) => datetime(py, *value),
        ScalarValue::Unknown { type_code, bytes } => {
            Unknown { type_code: *type_code, bytes: bytes.to_vec() }.into_bound_py_any(py)
        }
        plain => Ok(at_once(py, plain)?.unwrap_or_else(|| py.None().into_bound(py))),
    }
}

/// All values of a key or element if there are several, in the order of their ids, the winner last.
pub(crate) fn conflicts<'py>(
    py: Python<'py>,
    object_ref: &ObjectRef,
    prop: Prop<'_>,
) -> PyResult<Bound<'py, PyDict>> {
    let found = object_ref.read(py, |inner, obj| {
        let all = inner.doc.get_all(obj, prop)?;
        let all = if all.len() > 1 { all } else { vec![] };
        let found = all.into_iter().map(|(value, id)| {
            let name = id.to_string();
            Ok((name, FoundValue::read(py, inner, &object_ref.doc, (value, id))?))
        });
        found.collect::<Result<Vec<_>, DeferredError>>()
    })?;
    let dict = PyDict::new(py);
    for (id, found) in found {
        dict.set_item(id, found.into_py(py)?)?;
    }
    Ok(dict)
}

/// Plain Python: dictionaries, lists, strings, numbers. A counter is its number.
pub(crate) fn plain<'py>(py: Python<'py>, value: &Literal) -> PyResult<Bound<'py, PyAny>> {
    plain_at(py, value, 0)
}

fn plain_at<'py>(py: Python<'py>, value: &Literal, level: usize) -> PyResult<Bound<'py, PyAny>> {
    if level > MOST_LEVELS {
        let message = format!("the document is nested more than {MOST_LEVELS} levels deep");
        return Err(PyRecursionError::new_err(message));
    }
    match value {
        Literal::Scalar(ScalarValue::Counter(value)) => value.into_bound_py_any(py),
        Literal::Scalar(scalar) => from_scalar(py, scalar),
        Literal::Text(text) => Ok(PyString::new(py, text).into_any()),
        Literal::Map(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries {
                dict.set_item(key, plain_at(py, value, level + 1)?)?;
            }
            Ok(dict.into_any())
        }
        Literal::List(elements) => {
            let list = PyList::empty(py);
            for value in elements {
                list.append(plain_at(py, value, level + 1)?)?;
            }
            Ok(list.into_any())
        }
    }
}

impl ObjectRef {
    /// The value at a key or index of the object.
    pub(crate) fn get<'py>(&self, py: Python<'py>, prop: Prop<'_>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.read(py, |inner, obj| {
            let found = inner.doc.get(obj, prop)?;
            found.map(|found| FoundValue::read(py, inner, &self.doc, found)).transpose()
        })?;
        found.map(|found| found.into_py(py)).transpose()
    }

    /// Whether `value` is the object at this key or index: `object[key] += …` puts the changed object back.
    pub(crate) fn is_there(
        &self,
        py: Python<'_>,
        prop: Prop<'_>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let Some(object_ref) =
            object_ref_of(value).filter(|object_ref| Arc::ptr_eq(&object_ref.doc, &self.doc))
        else {
            return Ok(false);
        };
        self.read(py, |inner, obj| {
            object_ref.check()?;
            Ok(inner.doc.get(obj, prop)?.is_some_and(|(_, id)| id == object_ref.obj))
        })
    }
}
