//! What is new in a document, as steps: the classes are in `hashmill/documents/events.py`.

use std::sync::{Arc, Mutex, PoisonError};

use hashmill_doc::{Mark, MarkSet, ObjType, Observer, Patch, PatchAction, Prop, Value};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::errors::Failed;
use super::forks::Home;
use super::shared::Shared;
use super::text::Text;
use super::values::from_scalar;

/// A class of `hashmill.documents.events`, called.
fn made<'py>(
    py: Python<'py>,
    name: &str,
    parts: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("hashmill.documents.events").map(Bound::unbind))?;
    module.bind(py).getattr(name)?.call1(parts)
}

pub(super) fn made_mark<'py>(py: Python<'py>, mark: &Mark<'_>) -> PyResult<Bound<'py, PyAny>> {
    made(py, "Mark", (mark.start, mark.end, &*mark.name, from_scalar(py, &mark.value)?))
}

/// Marks as values by names.
pub(super) fn marks_dict<'py>(py: Python<'py>, marks: &MarkSet<'_>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in marks.iter() {
        dict.set_item(name, from_scalar(py, value)?)?;
    }
    Ok(dict)
}

/// A value of a step; objects are empty.
fn value<'py>(py: Python<'py>, value: &Value<'_>) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Scalar(scalar) => from_scalar(py, scalar),
        Value::Object(ObjType::Map | ObjType::Table) => PyDict::new(py).into_bound_py_any(py),
        Value::Object(ObjType::List) => PyList::empty(py).into_bound_py_any(py),
        Value::Object(ObjType::Text) => Text::new_of("").into_bound_py_any(py),
    }
}

fn prop<'py>(py: Python<'py>, prop: &Prop<'_>) -> PyResult<Bound<'py, PyAny>> {
    match prop {
        Prop::Map(key) => key.into_bound_py_any(py),
        Prop::Seq(index) => index.into_bound_py_any(py),
    }
}

/// A step.
fn event<'py>(py: Python<'py>, patch: &Patch) -> PyResult<Bound<'py, PyAny>> {
    let way: Vec<Bound<'py, PyAny>> =
        patch.path.iter().map(|(_, step)| prop(py, step)).collect::<PyResult<_>>()?;
    let path = |last| PyTuple::new(py, way.iter().cloned().chain([last]).collect::<Vec<_>>());
    let at = |index: usize| path(index.into_bound_py_any(py)?);
    let key = |key: &str| path(key.into_bound_py_any(py)?);
    match &patch.action {
        PatchAction::PutMap { key: name, value: (new, _), conflict } => {
            made(py, "Put", (key(name)?, value(py, new)?, *conflict))
        }
        PatchAction::PutSeq { index, value: (new, _), conflict } => {
            made(py, "Put", (at(*index)?, value(py, new)?, *conflict))
        }
        PatchAction::Insert { index, values } => {
            let values: Vec<_> = values.iter().map(|(new, ..)| value(py, new)).collect::<PyResult<_>>()?;
            made(py, "Insert", (at(*index)?, PyTuple::new(py, values)?))
        }
        PatchAction::SpliceText { index, value, marks } => {
            made(py, "Splice", (at(*index)?, value, marks_dict(py, marks)?))
        }
        PatchAction::Increment { prop: place, value } => {
            made(py, "Increment", (path(prop(py, place)?)?, *value))
        }
        PatchAction::Conflict { prop: place } => made(py, "Conflict", (path(prop(py, place)?)?,)),
        PatchAction::DeleteMap { key: name } => made(py, "Delete", (key(name)?, 1)),
        PatchAction::DeleteSeq { index, length } => made(py, "Delete", (at(*index)?, *length)),
        PatchAction::Mark { marks } => {
            let marks: Vec<_> = marks.iter().map(|mark| made_mark(py, mark)).collect::<PyResult<_>>()?;
            made(py, "Marked", (PyTuple::new(py, &way)?, PyTuple::new(py, marks)?))
        }
    }
}

/// Steps in their order.
pub(super) fn events<'py>(py: Python<'py>, patches: &[Patch]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for patch in patches {
        list.append(event(py, patch)?)?;
    }
    Ok(list)
}

/// Tells what is new in a document, whatever brought it.
#[pyclass(frozen, module = "hashmill.documents")]
pub(crate) struct Events {
    doc: Arc<Shared>,
    observer: Mutex<Observer>,
    home: Home,
}

impl Events {
    pub(super) fn new(doc: Arc<Shared>, observer: Observer) -> Self {
        Self { doc, observer: Mutex::new(observer), home: Home::new() }
    }
}

#[pymethods]
impl Events {
    /// The steps since the last call, in the order in which they are to be taken.
    fn news<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let patches = self.doc.whole(py, |doc| {
            self.home.check(|| self.observer.try_lock())?;
            let mut observer = self.observer.lock().unwrap_or_else(PoisonError::into_inner);
            Ok::<_, Failed>(observer.news(doc.document()).to_vec())
        })?;
        events(py, &patches)
    }
}
