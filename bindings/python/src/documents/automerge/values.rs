//! Conversion of objects, keys, indexes, hashes and values to the forms of the package `automerge`.

use hashmill_doc::{
    ActorId, ChangeHash, ExpandMark as Expand, ObjId, ObjType as Kind, Prop, ScalarValue, Value,
};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

/// An object as bytes: 0 for the root, else 1, counter, hint and actor.
pub(super) struct ObjectId(pub(super) ObjId);

impl<'a, 'py> FromPyObject<'a, 'py> for ObjectId {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let bytes = value.cast::<PyBytes>().map_err(|_| PyTypeError::new_err("an object id is bytes"))?;
        match bytes.as_bytes() {
            [0] => Some(ObjId::Root),
            [1, rest @ ..] => parsed(rest),
            _ => None,
        }
        .map(Self)
        .ok_or_else(|| PyValueError::new_err("these bytes are not an object id"))
    }
}

pub(super) fn parsed(bytes: &[u8]) -> Option<ObjId> {
    let (counter, rest) = bytes.split_first_chunk()?;
    let (hint, actor) = rest.split_first_chunk()?;
    Some(ObjId::Id {
        counter: u64::from_le_bytes(*counter),
        actor: ActorId::from(actor),
        hint: u32::from_le_bytes(*hint),
    })
}

impl<'py> IntoPyObject<'py> for ObjectId {
    type Target = PyBytes;
    type Output = Bound<'py, PyBytes>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        Ok(match self.0 {
            ObjId::Root => PyBytes::new(py, &[0]),
            ObjId::Id { counter, actor, hint } => {
                let parts = [&[1], &counter.to_le_bytes()[..], &hint.to_le_bytes(), actor.as_bytes()];
                PyBytes::new(py, &parts.concat())
            }
        })
    }
}

/// A key or an index.
pub(super) enum PropArg<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a, 'py> FromPyObject<'a, 'py> for PropArg<'a> {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if value.is_instance_of::<PyString>() {
            value.extract().map(PropArg::Key)
        } else {
            value.extract().map(PropArg::Index)
        }
    }
}

impl<'a> From<PropArg<'a>> for Prop<'a> {
    fn from(prop: PropArg<'a>) -> Self {
        match prop {
            PropArg::Key(key) => key.into(),
            PropArg::Index(index) => index.into(),
        }
    }
}

pub(super) fn hash_bytes<'py>(py: Python<'py>, hash: &ChangeHash) -> Bound<'py, PyBytes> {
    PyBytes::new(py, hash.as_bytes())
}

pub(super) fn hash_list<'py>(py: Python<'py>, hashes: &[ChangeHash]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, hashes.iter().map(|hash| hash_bytes(py, hash)))
}

/// The kinds of object.
#[pyclass(frozen, eq, eq_int, hash, from_py_object, module = "hashmill.documents.automerge.core")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ObjType {
    Map,
    List,
    Text,
}

impl From<Kind> for ObjType {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Map | Kind::Table => Self::Map,
            Kind::List => Self::List,
            Kind::Text => Self::Text,
        }
    }
}

impl From<ObjType> for Kind {
    fn from(kind: ObjType) -> Self {
        match kind {
            ObjType::Map => Self::Map,
            ObjType::List => Self::List,
            ObjType::Text => Self::Text,
        }
    }
}

/// The types of scalar.
#[pyclass(frozen, eq, eq_int, hash, from_py_object, module = "hashmill.documents.automerge.core")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ScalarType {
    Bytes,
    Str,
    Int,
    Uint,
    F64,
    Counter,
    Timestamp,
    Boolean,
    Unknown,
    Null,
}

/// The ends of a mark at which typed text belongs to it.
#[pyclass(frozen, eq, eq_int, hash, from_py_object, module = "hashmill.documents.automerge.core")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ExpandMark {
    Before,
    After,
    Both,
    Neither,
}

impl From<ExpandMark> for Expand {
    fn from(expand: ExpandMark) -> Self {
        match expand {
            ExpandMark::Before => Self::Before,
            ExpandMark::After => Self::After,
            ExpandMark::Both => Self::Both,
            ExpandMark::Neither => Self::None,
        }
    }
}

/// A scalar with an explicit type. Its times are local times.
pub(super) fn scalar<'a>(kind: ScalarType, value: &'a Bound<'_, PyAny>) -> PyResult<ScalarValue<'a>> {
    Ok(match kind {
        ScalarType::Bytes => value.extract::<&[u8]>()?.into(),
        ScalarType::Str => value.extract::<&str>()?.into(),
        ScalarType::Int => ScalarValue::Int(value.extract()?),
        ScalarType::Uint => ScalarValue::Uint(value.extract()?),
        ScalarType::F64 => ScalarValue::F64(value.extract()?),
        ScalarType::Counter => ScalarValue::Counter(value.extract()?),
        ScalarType::Timestamp => {
            let seconds: f64 = value.call_method0("timestamp")?.extract()?;
            ScalarValue::Timestamp((seconds * 1000.0).round() as i64)
        }
        ScalarType::Boolean => ScalarValue::Boolean(value.extract()?),
        ScalarType::Unknown => {
            return Err(PyValueError::new_err("a value of an unknown type cannot be created"));
        }
        ScalarType::Null => ScalarValue::Null,
    })
}

pub(super) fn local_time(py: Python<'_>, seconds: f64) -> PyResult<Bound<'_, PyAny>> {
    py.import("datetime")?.getattr("datetime")?.call_method1("fromtimestamp", (seconds,))
}

pub(super) fn typed<'py>(
    py: Python<'py>,
    value: &ScalarValue<'_>,
) -> PyResult<(ScalarType, Bound<'py, PyAny>)> {
    Ok(match value {
        ScalarValue::Bytes(bytes) => (ScalarType::Bytes, PyBytes::new(py, bytes).into_any()),
        ScalarValue::Str(text) => (ScalarType::Str, PyString::new(py, text).into_any()),
        ScalarValue::Int(value) => (ScalarType::Int, value.into_bound_py_any(py)?),
        ScalarValue::Uint(value) => (ScalarType::Uint, value.into_bound_py_any(py)?),
        ScalarValue::F64(value) => (ScalarType::F64, value.into_bound_py_any(py)?),
        ScalarValue::Counter(value) => (ScalarType::Counter, value.into_bound_py_any(py)?),
        ScalarValue::Timestamp(value) => (ScalarType::Timestamp, local_time(py, *value as f64 / 1000.0)?),
        ScalarValue::Boolean(value) => (ScalarType::Boolean, value.into_bound_py_any(py)?),
        ScalarValue::Unknown { bytes, .. } => (ScalarType::Unknown, PyBytes::new(py, bytes).into_any()),
        ScalarValue::Null => (ScalarType::Null, py.None().into_bound(py)),
    })
}

/// A value and its id, as reads return them.
pub(super) fn pair<'py>(
    py: Python<'py>,
    (value, id): (Value<'static>, ObjId),
) -> PyResult<Bound<'py, PyAny>> {
    let value = match value {
        Value::Object(kind) => ObjType::from(kind).into_bound_py_any(py)?,
        Value::Scalar(scalar) => typed(py, &scalar)?.into_bound_py_any(py)?,
    };
    (value, ObjectId(id)).into_bound_py_any(py)
}
