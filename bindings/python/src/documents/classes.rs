//! Classes of documents and their objects. The files of this folder have their methods.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashmill_doc::Commit;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::shared::{ObjectRef, Shared};

/// A map in a document. `json.dumps` accepts only `dict`, so pass `to_python()`, or call `to_json()`.
#[pyclass(frozen, subclass, module = "hashmill.documents")]
pub(crate) struct Map(pub(super) ObjectRef);

/// A list in a document. `json.dumps` accepts only `list`, so pass `to_python()`, or call `to_json()`.
#[pyclass(frozen, sequence, module = "hashmill.documents")]
pub(crate) struct List(pub(super) ObjectRef);

/// A text. `Text("…")` is a new one for a document. A text that was read from a document can be edited and shows the current
/// contents.
#[pyclass(frozen, sequence, module = "hashmill.documents")]
pub(crate) struct Text(pub(super) TextSource);

pub(super) enum TextSource {
    New(String),
    At(ObjectRef),
}

impl Text {
    pub(super) fn at(object_ref: ObjectRef) -> Self {
        Self(TextSource::At(object_ref))
    }

    pub(super) fn new_of(text: impl Into<String>) -> Self {
        Self(TextSource::New(text.into()))
    }

    /// Its object in the document, for edits and history.
    pub(super) fn object_ref(&self) -> PyResult<&ObjectRef> {
        match &self.0 {
            TextSource::At(object_ref) => Ok(object_ref),
            TextSource::New(_) => Err(PyTypeError::new_err(
                "this text is not in a document: put it into one, and edit the text that is read from it",
            )),
        }
    }

    pub(super) fn in_document(&self) -> Option<&ObjectRef> {
        match &self.0 {
            TextSource::At(object_ref) => Some(object_ref),
            TextSource::New(_) => None,
        }
    }
}

/// A document that several people edit concurrently. It is the map at its root.
#[pyclass(frozen, extends = Map, subclass, module = "hashmill.documents")]
pub(crate) struct Document(pub(super) Arc<Shared>);

/// The undo history of changes made through it: `with undo.change("Add a card"):`, then `undo.undo()`. Concurrent edits by others
/// stay.
#[pyclass(frozen, module = "hashmill.documents")]
pub(crate) struct Undo {
    pub(super) document: Py<Document>,
    /// Locked only while the document is locked.
    pub(super) steps: Mutex<hashmill_doc::UndoManager>,
}

impl Undo {
    pub(super) fn steps(&self) -> MutexGuard<'_, hashmill_doc::UndoManager> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a change of the locked document.
    pub(super) fn record(&self, commit: Option<Commit>, join: bool) {
        let mut steps = self.steps();
        if join { steps.join(commit) } else { steps.record(commit) }
    }
}
