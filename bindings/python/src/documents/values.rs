//! Values of Python as values of documents, and back.

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

use super::errors::Failed;
use super::list::List;
use super::map::Map;
use super::scalars::{Counter, ReadCounter, Timestamp, Unknown, unfit};
use super::shared::{Inner, Place, Shared};
use super::text::Text;

/// How deep values may be nested that are given or asked for as a whole. What holds itself is deeper.
const MOST_LEVELS: usize = 500;
/// How many values may be given at once: a few lists that hold each other stand for any number.
const MOST_VALUES: usize = 1 << 22;

/// Something to be written.
pub(super) enum Input {
    Value(Literal),
    /// A counter of this document, and what it has grown to.
    Grown(ReadCounter, i64),
}

/// What may be written into `place`.
pub(super) fn input(place: &Place, value: &Bound<'_, PyAny>) -> PyResult<Input> {
    if let Ok(counter) = value.cast::<Counter>()
        && let Counter { value, read: Some(read) } = counter.get()
        && Arc::ptr_eq(&read.counter.doc, &place.doc)
    {
        return Ok(Input::Grown(read.clone(), *value));
    }
    literal(value).map(Input::Value)
}

impl Input {
    /// Writes it. A counter that comes back to where it is grows there, together with what others add.
    pub(super) fn put(self, doc: &mut AutoCommit, obj: &ObjId, prop: &Prop<'_>) -> Result<(), Failed> {
        let value = match self {
            Self::Grown(ReadCounter { counter, grown }, value) => {
                if counter.is_at(doc, obj, prop)? {
                    return if grown == 0 { Ok(()) } else { Ok(doc.increment(obj, prop.clone(), grown)?) };
                }
                Literal::Scalar(ScalarValue::Counter(value))
            }
            Self::Value(value) => value,
        };
        Ok(doc.put_literal(obj, prop.clone(), value).map(drop)?)
    }
}

/// A value with everything in it.
pub(super) fn literal(value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    Reading { left: MOST_VALUES }.value(value, 0)
}

/// Values with everything in them.
pub(super) fn literals(values: &Bound<'_, PyAny>) -> PyResult<Vec<Literal>> {
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
        if let Some(place) = place_of(value) {
            return place.read_long(value.py(), |doc, obj| Ok(doc.hydrate(obj)?));
        }
        if let Ok(text) = value.cast::<Text>() {
            return Ok(Literal::Text(text.get().read(value.py())?.into_owned()));
        }
        if level == MOST_LEVELS {
            let message =
                format!("values are nested more than {MOST_LEVELS} levels deep, or hold themselves");
            return Err(PyRecursionError::new_err(message));
        }
        // Lists of what is there now: looking at values may run code that changes what holds them.
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
        // At once where the length is sure, so that nothing is made of what is too long.
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

/// The object of a document that `value` stands for.
pub(super) fn place_of<'a>(value: &'a Bound<'_, PyAny>) -> Option<&'a Place> {
    if let Ok(map) = value.cast::<Map>() {
        return Some(&map.get().0);
    }
    if let Ok(list) = value.cast::<List>() {
        return Some(&list.get().0);
    }
    value.cast::<Text>().ok().and_then(|text| text.get().in_document())
}

/// A value that is no object. Nothing if it is one, or no value at all.
pub(super) fn scalar<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Option<ScalarValue<'a>>> {
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

/// The same for a value that must be one.
pub(super) fn only_scalar<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<ScalarValue<'a>> {
    scalar(value)?.ok_or_else(|| unfit(value))
}

/// Signed where it fits, as it does nearly always.
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

/// What times are counted from, and in.
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

/// Milliseconds since 1970; what is less is left out.
fn milliseconds(time: &Bound<'_, PyAny>) -> PyResult<i64> {
    let py = time.py();
    if time.getattr("tzinfo")?.is_none() {
        return Err(PyValueError::new_err(
            "a datetime without a time zone names no moment: say datetime.now(timezone.utc)",
        ));
    }
    let clock = clock(py)?;
    time.sub(&clock.epoch)?.floor_div(&clock.millisecond)?.extract()
}

/// A moment, in UTC.
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

/// A moment that is counted in seconds.
pub(super) fn seconds(py: Python<'_>, seconds: i64) -> PyResult<Bound<'_, PyAny>> {
    datetime(py, seconds.saturating_mul(1000))
}

/// What was found while a document was locked.
pub(super) enum Found {
    Made(Py<PyAny>),
    Scalar(ScalarValue<'static>),
    Counter(i64, Place),
    Object(ObjType, Place),
}

impl Found {
    pub(super) fn of(
        py: Python<'_>,
        inner: &Inner,
        doc: &Arc<Shared>,
        (value, id): (Value<'_>, ObjId),
    ) -> Result<Self, Failed> {
        Ok(match value {
            Value::Object(kind) => Self::Object(kind, inner.place(doc, id)),
            Value::Scalar(ScalarValue::Counter(value)) => Self::Counter(value, inner.place(doc, id)),
            Value::Scalar(scalar) => match at_once(py, &scalar)? {
                Some(made) => Self::Made(made.unbind()),
                None => Self::Scalar(scalar.into_owned()),
            },
        })
    }

    pub(super) fn into_py(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        match self {
            Self::Made(made) => Ok(made.into_bound(py)),
            Self::Scalar(scalar) => from_scalar(py, &scalar),
            Self::Counter(value, counter) => {
                Counter { value, read: Some(ReadCounter { counter, grown: 0 }) }.into_bound_py_any(py)
            }
            Self::Object(ObjType::List, place) => List(place).into_bound_py_any(py),
            Self::Object(ObjType::Text, place) => Text::at(place).into_bound_py_any(py),
            Self::Object(ObjType::Map | ObjType::Table, place) => Map(place).into_bound_py_any(py),
        }
    }
}

/// What can be made while a document is locked: see [`super::shared`].
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
pub(super) fn from_scalar<'py>(py: Python<'py>, scalar: &ScalarValue<'_>) -> PyResult<Bound<'py, PyAny>> {
    match scalar {
        ScalarValue::Counter(value) => Counter { value: *value, read: None }.into_bound_py_any(py),
        ScalarValue::Timestamp(value) => datetime(py, *value),
        ScalarValue::Unknown { type_code, bytes } => {
            Unknown { type_code: *type_code, bytes: bytes.to_vec() }.into_bound_py_any(py)
        }
        plain => Ok(at_once(py, plain)?.unwrap_or_else(|| py.None().into_bound(py))),
    }
}

/// All values at a place if there are several, in the order of their ids, the winner last.
pub(super) fn conflicts<'py>(py: Python<'py>, place: &Place, prop: Prop<'_>) -> PyResult<Bound<'py, PyDict>> {
    let found = place.read(py, |inner, obj| {
        let all = inner.doc.get_all(obj, prop)?;
        let all = if all.len() > 1 { all } else { vec![] };
        let found = all.into_iter().map(|(value, id)| {
            let name = id.to_string();
            Ok((name, Found::of(py, inner, &place.doc, (value, id))?))
        });
        found.collect::<Result<Vec<_>, Failed>>()
    })?;
    let dict = PyDict::new(py);
    for (id, found) in found {
        dict.set_item(id, found.into_py(py)?)?;
    }
    Ok(dict)
}

/// Plain Python: dictionaries, lists, strings, numbers. A counter is its number.
pub(super) fn plain<'py>(py: Python<'py>, value: &Literal) -> PyResult<Bound<'py, PyAny>> {
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
