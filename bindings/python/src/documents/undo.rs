//! Taking back what was done in a document, while others go on.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hashmill_doc::{Commit, Document as Doc, EditError};
use pyo3::prelude::*;

use super::document::{Document, Edits, options};

/// What was done through it in a document, to be taken back and done again: `with undo.change("Add a card"):`, then
/// `undo.undo()`. What others did meanwhile stays.
#[pyclass(frozen, module = "hashmill.documents")]
pub(crate) struct Undo {
    document: Py<Document>,
    /// Locked by who has the document, and by nobody else.
    steps: Mutex<hashmill_doc::Undo>,
}

impl Undo {
    fn steps(&self) -> MutexGuard<'_, hashmill_doc::Undo> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a change of the document, which is locked.
    pub(super) fn record(&self, commit: Option<Commit>, join: bool) {
        let mut steps = self.steps();
        if join { steps.join(commit) } else { steps.record(commit) }
    }

    /// Goes a step, and gives the name of the change that does so.
    fn go(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&mut hashmill_doc::Undo, &mut Doc) -> Result<Option<Commit>, EditError> + Send,
    ) -> PyResult<Option<String>> {
        self.document.get().0.change_whole(py, |doc| {
            let doc = doc.document();
            let made = step(&mut self.steps(), doc)?;
            Ok(made.and_then(|commit| doc.hash(commit)).map(|hash| hash.to_string()))
        })
    }

    fn ask(&self, py: Python<'_>, ask: impl FnOnce(&hashmill_doc::Undo) -> bool + Send) -> PyResult<bool> {
        self.document.get().0.read_long(py, |_| Ok(ask(&self.steps())))
    }
}

#[pymethods]
impl Undo {
    #[new]
    fn new(document: Py<Document>) -> Self {
        Self { document, steps: Mutex::default() }
    }

    /// As `Document.change`, for a change that can be taken back. With `join` it is a part of the last one, as when somebody goes
    /// on typing a word.
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

    /// Takes the last change back that still has an effect: the name of the change that does so, or nothing.
    fn undo(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.go(py, hashmill_doc::Undo::undo)
    }

    /// Does again what was taken back last: the name of the change that does so, or nothing.
    fn redo(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.go(py, hashmill_doc::Undo::redo)
    }

    /// Whether there may be something to take back.
    #[getter]
    fn can_undo(&self, py: Python<'_>) -> PyResult<bool> {
        self.ask(py, hashmill_doc::Undo::can_undo)
    }

    /// Whether there may be something to do again.
    #[getter]
    fn can_redo(&self, py: Python<'_>) -> PyResult<bool> {
        self.ask(py, hashmill_doc::Undo::can_redo)
    }
}
