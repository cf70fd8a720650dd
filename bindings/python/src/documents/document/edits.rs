//! Context managers for the edits of one change.

use std::sync::{Mutex, PoisonError};

use hashmill_doc::CommitOptions;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::documents::classes::{Document, Undo};
use crate::documents::shared::ChangeLiveness;

pub(crate) fn options(message: Option<&str>, time: Option<i64>, author: Option<&[u8]>) -> CommitOptions {
    let mut options = CommitOptions::default();
    if let Some(message) = message {
        options = options.with_message(message);
    }
    if let Some(time) = time {
        options = options.with_time(time);
    }
    if let Some(author) = author {
        options = options.with_author(author);
    }
    options
}

/// Edits that form one change: `with doc.change("why"):`.
#[pyclass(frozen, module = "hashmill.documents")]
pub(crate) struct Edits {
    document: Py<Document>,
    options: CommitOptions,
    /// The undo history that records the change, and whether it joins the last one.
    undo: Option<(Py<Undo>, bool)>,
    open: Mutex<Option<ChangeLiveness>>,
}

impl Edits {
    pub(crate) fn new(
        document: Py<Document>,
        options: CommitOptions,
        undo: Option<(Py<Undo>, bool)>,
    ) -> Self {
        Self { document, options, undo, open: Mutex::new(None) }
    }

    fn take(&self) -> Option<ChangeLiveness> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl Edits {
    fn __enter__(&self, py: Python<'_>) -> PyResult<Py<Document>> {
        let liveness = self.document.get().0.begin(py, true)?;
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(liveness);
        Ok(self.document.clone_ref(py))
    }

    #[pyo3(signature = (kind, _value, _traceback, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let liveness = self.take().ok_or_else(|| PyRuntimeError::new_err("this change was not entered"))?;
        let record = |commit| {
            if let Some((undo, join)) = &self.undo {
                undo.get().record(commit, *join);
            }
        };
        self.document.get().0.end(py, &liveness, kind.is_none().then_some(&self.options), record)?;
        Ok(false)
    }
}

/// A change that is entered and leaked is lost.
impl Drop for Edits {
    fn drop(&mut self) {
        if let Some(liveness) = self.take() {
            // An error cannot be reported here: a lock poisoned by a bug is reported to the next call.
            Python::try_attach(|py| drop(self.document.get().0.end(py, &liveness, None, drop)));
        }
    }
}
