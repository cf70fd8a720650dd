//! What went wrong, as exceptions of Python. Those that Python has no name for are in `hashmill/documents/errors.py`.

use hashmill_doc::json::ReadError;
use hashmill_doc::sync::{ReadMessageError, ReadStateError};
use hashmill_doc::{ApplyError, DecodeError, EditError, LimitError, LoadError};
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// What went wrong while a document was locked, to be told when it is not.
pub(super) enum Failed {
    Edit(EditError),
    Load(LoadError),
    Apply(ApplyError),
    /// Of Python.
    Python(PyErr),
    /// The change that made an object was taken back.
    TakenBack,
    /// A change was written to that has ended.
    Ended,
    /// This thread has a change open.
    Open,
    /// The document is one of the past.
    Frozen,
    /// A thread of the process that this one was forked from has it.
    Forked,
    /// A fault in this library stopped a call in its middle.
    Broken,
}

impl From<EditError> for Failed {
    fn from(error: EditError) -> Self {
        Self::Edit(error)
    }
}

impl From<LoadError> for Failed {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl From<ApplyError> for Failed {
    fn from(error: ApplyError) -> Self {
        Self::Apply(error)
    }
}

impl From<PyErr> for Failed {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl Failed {
    pub(super) fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Edit(error) => edit(py, &error),
            Self::Load(error) => load(py, &error),
            Self::Apply(error) => apply(py, &error),
            Self::Python(error) => error,
            Self::TakenBack => own(py, "StaleError", "the change that made this object was taken back"),
            Self::Ended => own(py, "StaleError", "the change has ended"),
            Self::Open => own(py, "ChangeOpenError", "a change is open: end it first"),
            Self::Frozen => own(py, "ReadOnlyError", "this is the document as it was: fork it to write"),
            Self::Forked => pyo3::exceptions::PyRuntimeError::new_err(
                "forked while another thread worked on this: it has no state here, load the document again",
            ),
            Self::Broken => broken(),
        }
    }
}

/// The exception of a lock that a fault of ours left behind.
pub(super) fn broken() -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err(
        "an earlier call on this document ended in its middle: please report it; load the document again",
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

fn limit(py: Python<'_>, error: &LimitError) -> PyErr {
    own(py, "LimitError", &error.to_string())
}
