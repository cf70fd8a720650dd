//! Undo and redo of a document's changes, with concurrent edits by others.

use std::sync::Mutex;

use hashmill_doc::{Commit, Document as Doc, EditError};
use pyo3::prelude::*;

use crate::documents::classes::{Document, Undo};
use crate::documents::document::edits::{Edits, options};

impl Undo {
    /// Makes one step, and returns the hash of its change.
    fn make_step(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&mut hashmill_doc::UndoManager, &mut Doc) -> Result<Option<Commit>, EditError> + Send,
    ) -> PyResult<Option<String>> {
        self.document.get().0.change_whole(py, |doc| {
            let doc = doc.document();
            let commit = step(&mut self.steps(), doc)?;
            Ok(commit.and_then(|commit| doc.hash(commit)).map(|hash| hash.to_string()))
        })
    }

    fn query(
        &self,
        py: Python<'_>,
        query: impl FnOnce(&hashmill_doc::UndoManager) -> bool + Send,
    ) -> PyResult<bool> {
        self.document.get().0.read_long(py, |_| Ok(query(&self.steps())))
    }
}

#[pymethods]
impl Undo {
    #[new]
    fn new(document: Py<Document>) -> Self {
        Self { document, steps: Mutex::default() }
    }

    /// As `Document.change`, for a change that can be undone. With `join` it becomes a part of the last one, for instance while a
    /// user types a word.
    #[pyo3(signature = (message = None, *, time = None, author = None, join = false))]
    fn change(
        slf: Bound<'_, Self>,
        message: Option<&str>,
        time: Option<i64>,
        author: Option<&[u8]>,
        join: bool,
    ) -> Edits {
        let document = slf.get().document.clone_ref(slf.py());
        Edits::new(document, options(message, time, author), Some((slf.unbind(), join)))
    }

    /// Undoes the last change that still has an effect; returns the hash of the new change, or `None`.
    fn undo(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.make_step(py, hashmill_doc::UndoManager::undo)
    }

    /// Redoes the last undone change; returns the hash of the new change, or `None`.
    fn redo(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.make_step(py, hashmill_doc::UndoManager::redo)
    }

    /// Whether there may be something to undo.
    #[getter]
    fn can_undo(&self, py: Python<'_>) -> PyResult<bool> {
        self.query(py, hashmill_doc::UndoManager::can_undo)
    }

    /// Whether there may be something to redo.
    #[getter]
    fn can_redo(&self, py: Python<'_>) -> PyResult<bool> {
        self.query(py, hashmill_doc::UndoManager::can_redo)
    }
}
