//! New changes of a document, as steps: the classes are in `hashmill/documents/events.py`.

use std::sync::{Arc, Mutex, PoisonError};

use hashmill_doc::{Mark, MarkSet, ObjType, Observer, Patch, PatchAction, Prop, Value};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::documents::classes::Text;
use crate::documents::errors::DeferredError;
use crate::documents::forks::LockOwnerProcess;
use crate::documents::shared::Shared;
use crate::documents::values::from_scalar;

/// An instance of a class of `hashmill.documents.events`.
fn new_event<'py>(
    py: Python<'py>,
    name: &str,
    parts: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("hashmill.documents.events").map(Bound::unbind))?;
    module.bind(py).getattr(name)?.call1(parts)
}

pub(crate) fn new_mark<'py>(py: Python<'py>, mark: &Mark<'_>) -> PyResult<Bound<'py, PyAny>> {
    new_event(py, "Mark", (mark.start, mark.end, &*mark.name, from_scalar(py, &mark.value)?))
}

/// Marks as a dictionary of values by name.
pub(crate) fn marks_dict<'py>(py: Python<'py>, marks: &MarkSet<'_>) -> PyResult<Bound<'py, PyDict>> {
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
    let parents: Vec<Bound<'py, PyAny>> =
        patch.path.iter().map(|(_, step)| prop(py, step)).collect::<PyResult<_>>()?;
    let path = |last| PyTuple::new(py, parents.iter().cloned().chain([last]).collect::<Vec<_>>());
    let at = |index: usize| path(index.into_bound_py_any(py)?);
    let key = |key: &str| path(key.into_bound_py_any(py)?);
    match &patch.action {
        PatchAction::PutMap { key: name, value: (new, _), conflict } => {
            new_event(py, "Put", (key(name)?, value(py, new)?, *conflict))
        }
        PatchAction::PutSeq { index, value: (new, _), conflict } => {
            new_event(py, "Put", (at(*index)?, value(py, new)?, *conflict))
        }
        PatchAction::Insert { index, values } => {
            let values: Vec<_> = values.iter().map(|(new, ..)| value(py, new)).collect::<PyResult<_>>()?;
            new_event(py, "Insert", (at(*index)?, PyTuple::new(py, values)?))
        }
        PatchAction::SpliceText { index, value, marks } => {
            new_event(py, "Splice", (at(*index)?, value, marks_dict(py, marks)?))
        }
        PatchAction::Increment { prop: last, value } => {
            new_event(py, "Increment", (path(prop(py, last)?)?, *value))
        }
        PatchAction::Conflict { prop: last } => new_event(py, "Conflict", (path(prop(py, last)?)?,)),
        PatchAction::DeleteMap { key: name } => new_event(py, "Delete", (key(name)?, 1)),
        PatchAction::DeleteSeq { index, length } => new_event(py, "Delete", (at(*index)?, *length)),
        PatchAction::Mark { marks } => {
            let marks: Vec<_> = marks.iter().map(|mark| new_mark(py, mark)).collect::<PyResult<_>>()?;
            new_event(py, "Marked", (PyTuple::new(py, &parents)?, PyTuple::new(py, marks)?))
        }
    }
}

/// Steps in their order.
pub(crate) fn events<'py>(py: Python<'py>, patches: &[Patch]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for patch in patches {
        list.append(event(py, patch)?)?;
    }
    Ok(list)
}

/// Reports new changes of a document, from any source.
#[pyclass(frozen, module = "hashmill.documents")]
pub(crate) struct Events {
    doc: Arc<Shared>,
    observer: Mutex<Observer>,
    home: LockOwnerProcess,
}

impl Events {
    pub(in crate::documents) fn new(doc: Arc<Shared>, observer: Observer) -> Self {
        Self { doc, observer: Mutex::new(observer), home: LockOwnerProcess::new() }
    }
}

#[pymethods]
impl Events {
    /// The steps since the last call, in the order in which they must be applied.
    fn news<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let patches = self.doc.whole(py, |doc| {
            self.home.check(|| self.observer.try_lock())?;
            let mut observer = self.observer.lock().unwrap_or_else(PoisonError::into_inner);
            Ok::<_, DeferredError>(observer.patches_since_last(doc.document()).to_vec())
        })?;
        events(py, &patches)
    }
}
