//! Conversion of errors to Python exceptions. Those without a built-in class are in `hashmill/documents/errors.py`.

use hashmill_doc::json::ReadError;
use hashmill_doc::sync::{ReadMessageError, ReadStateError};
use hashmill_doc::{ApplyError, DecodeError, EditError, LimitError, LoadError};
use hashmill_repo::PresenceError;
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// An error that occurred while a document was locked, to be raised after the lock is released.
pub(super) enum DeferredError {
    Edit(EditError),
    Load(LoadError),
    Apply(ApplyError),
    /// A Python exception.
    Python(PyErr),
    /// The change that made an object was rolled back.
    RolledBack,
    /// A write to a change that has ended.
    Ended,
    /// This thread has a change open.
    Open,
    /// The document is a read-only view of the history.
    Frozen,
    /// A thread of the parent process holds the lock.
    Forked,
    /// A call panicked, which is a bug of this library.
    Broken,
}

impl From<EditError> for DeferredError {
    fn from(error: EditError) -> Self {
        Self::Edit(error)
    }
}

impl From<LoadError> for DeferredError {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl From<ApplyError> for DeferredError {
    fn from(error: ApplyError) -> Self {
        Self::Apply(error)
    }
}

impl From<PyErr> for DeferredError {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl DeferredError {
    pub(super) fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Edit(error) => edit(py, &error),
            Self::Load(error) => load(py, &error),
            Self::Apply(error) => apply(py, &error),
            Self::Python(error) => error,
            Self::RolledBack => own(py, "StaleError", "the change that made this object was rolled back"),
            Self::Ended => own(py, "StaleError", "the change has ended"),
            Self::Open => own(py, "ChangeOpenError", "a change is open: end it first"),
            Self::Frozen => {
                own(py, "ReadOnlyError", "this is a read-only view of the history: fork it to write")
            }
            Self::Forked => pyo3::exceptions::PyRuntimeError::new_err(
                "forked while another thread used this document: load it again in this process",
            ),
            Self::Broken => poisoned(),
        }
    }
}

/// The exception for a lock that a panic of this library poisoned.
pub(super) fn poisoned() -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err(
        "an earlier call on this document panicked: please report it, and load the document again",
    )
}

/// An exception of `hashmill.documents.errors`.
fn own(py: Python<'_>, name: &str, message: &str) -> PyErr {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let class = MODULE
        .get_or_try_init(py, || py.import("hashmill.documents.errors").map(Bound::unbind))
        .and_then(|module| module.bind(py).getattr(name))
        .and_then(|class| Ok(class.cast_into::<PyType>()?));
    match class {
        Ok(class) => PyErr::from_type(class, (message.to_owned(),)),
        Err(error) => error,
    }
}

fn edit(py: Python<'_>, error: &EditError) -> PyErr {
    let message = error.to_string();
    match error {
        EditError::UnknownObject(_) => own(py, "StaleError", &message),
        EditError::UnknownHash(_) => own(py, "UnknownChangeError", &message),
        EditError::WrongType { .. } | EditError::NotSequence { .. } | EditError::NotCounter(_) => {
            PyTypeError::new_err(message)
        }
        EditError::Index { .. } | EditError::Underflow { .. } => PyIndexError::new_err(message),
        EditError::Full => PyOverflowError::new_err(message),
        EditError::Limit(_) => own(py, "LimitError", &message),
        _ => PyValueError::new_err(message),
    }
}

pub(super) fn load(py: Python<'_>, error: &LoadError) -> PyErr {
    match error {
        LoadError::Limit(error) => limit(py, error),
        LoadError::Apply(error) => apply(py, error),
        _ => own(py, "FormatError", &error.to_string()),
    }
}

pub(super) fn apply(py: Python<'_>, error: &ApplyError) -> PyErr {
    match error {
        ApplyError::Limit(error) => limit(py, error),
        _ => own(py, "ApplyError", &error.to_string()),
    }
}

pub(super) fn decode(py: Python<'_>, error: &DecodeError) -> PyErr {
    match error {
        DecodeError::Limit(error) => limit(py, error),
        _ => own(py, "FormatError", &error.to_string()),
    }
}

pub(super) fn message(py: Python<'_>, error: &ReadMessageError) -> PyErr {
    match error {
        ReadMessageError::Limit(error) => limit(py, error),
        _ => own(py, "FormatError", &error.to_string()),
    }
}

pub(super) fn json(py: Python<'_>, error: &ReadError) -> PyErr {
    own(py, "FormatError", &error.to_string())
}

pub(super) fn state(py: Python<'_>, error: &ReadStateError) -> PyErr {
    own(py, "FormatError", &error.to_string())
}

pub(super) fn presence(py: Python<'_>, error: &PresenceError) -> PyErr {
    match error {
        PresenceError::Decode(reason) => own(py, "FormatError", &format!("{error}: {reason}")),
        PresenceError::Limit { .. } => own(py, "LimitError", &error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

fn limit(py: Python<'_>, error: &LimitError) -> PyErr {
    own(py, "LimitError", &error.to_string())
}
