//! Documents: a map at the root, with methods for history, files and peers.
#![expect(clippy::needless_pass_by_value, reason = "converted arguments are passed by value")]

pub(super) mod change;
pub(super) mod edits;
pub(super) mod events;
pub(super) mod hashes;
pub(super) mod sync;
mod undo;

use std::sync::Arc;

use hashmill_doc::sync::{Message, SyncDoc};
use hashmill_doc::{
    AutoCommit, Literal, LoadOptions, ObjType, Observer, OnPartialLoad, SaveOptions, Transactable, Verify,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::documents::classes::{Document, Map};
use crate::documents::document::change::Change;
use crate::documents::document::edits::{Edits, options};
use crate::documents::document::events::{Events, events};
use crate::documents::document::hashes::{Actor, Hash, Heads, elements, texts};
use crate::documents::document::sync::{SyncState, decoded};
use crate::documents::errors;
use crate::documents::errors::DeferredError;
use crate::documents::objects::json;
use crate::documents::objects::repr;
use crate::documents::shared::{ObjectRef, Shared};
use crate::documents::values::literal;

/// Limits of the memory and work that a file may request, and of the size of a document.
#[pyclass(frozen, module = "hashmill.documents")]
pub(crate) struct Limits(hashmill_doc::Limits);

#[pymethods]
impl Limits {
    #[new]
    #[pyo3(signature = (*, inflated_bytes = None, operations = None, total = None, changes = None, steps = None))]
    fn new(
        inflated_bytes: Option<u64>,
        operations: Option<u64>,
        total: Option<u64>,
        changes: Option<u64>,
        steps: Option<u64>,
    ) -> Self {
        let default = hashmill_doc::Limits::default();
        Self(hashmill_doc::Limits {
            inflated_bytes: inflated_bytes.unwrap_or(default.inflated_bytes),
            operations: operations.unwrap_or(default.operations),
            total: total.unwrap_or(default.total),
            changes: changes.unwrap_or(default.changes),
            steps: steps.unwrap_or(default.steps),
            ..default
        })
    }

    /// Bytes that one part of a file may inflate to.
    #[getter]
    fn inflated_bytes(&self) -> u64 {
        self.0.inflated_bytes
    }

    /// Operations in one change.
    #[getter]
    fn operations(&self) -> u64 {
        self.0.operations
    }

    /// Operations of a document.
    #[getter]
    fn total(&self) -> u64 {
        self.0.total
    }

    /// Changes of a document, and changes that wait for their dependencies.
    #[getter]
    fn changes(&self) -> u64 {
        self.0.changes
    }

    /// Steps of work beyond those that bytes pay for.
    #[getter]
    fn steps(&self) -> u64 {
        self.0.steps
    }

    fn __repr__(&self) -> String {
        let hashmill_doc::Limits { inflated_bytes, operations, total, changes, steps, .. } = self.0;
        format!(
            "Limits(inflated_bytes={inflated_bytes}, operations={operations}, total={total}, changes={changes}, steps={steps})"
        )
    }
}

/// A new document with the entries of `contents`.
fn filled(py: Python<'_>, contents: Option<Literal>, actor: Option<Actor>) -> PyResult<AutoCommit> {
    let mut doc = AutoCommit::new();
    if let Some(Actor(actor)) = actor {
        doc.set_actor(actor);
    }
    if let Some(contents) = contents {
        if !matches!(contents, Literal::Map(_)) {
            return Err(PyTypeError::new_err("the contents of a document are a mapping"));
        }
        doc.init_root(&contents).map_err(|error| DeferredError::from(error).raise(py))?;
        doc.commit();
    }
    Ok(doc)
}

impl Document {
    fn create(py: Python<'_>, shared: Arc<Shared>) -> PyResult<Py<Self>> {
        let root = Map(ObjectRef::root(Arc::clone(&shared)));
        Py::new(py, PyClassInitializer::from(root).add_subclass(Self(shared)))
    }
}

#[pymethods]
impl Document {
    /// A new document, with the entries of an optional mapping.
    #[new]
    #[pyo3(signature = (contents = None, *, actor = None))]
    fn new(
        py: Python<'_>,
        contents: Option<&Bound<'_, PyAny>>,
        actor: Option<Actor>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let shared = Shared::new(filled(py, contents.map(literal).transpose()?, actor)?);
        Ok(PyClassInitializer::from(Map(ObjectRef::root(Arc::clone(&shared)))).add_subclass(Self(shared)))
    }

    /// Loads a saved document. With `partial`, the readable beginning of a damaged file is kept. With `verify=False` hashes are
    /// compared only by `verify()`.
    #[staticmethod]
    #[pyo3(signature = (data, *, actor = None, limits = None, partial = false, verify = true))]
    fn load(
        py: Python<'_>,
        data: &[u8],
        actor: Option<Actor>,
        limits: Option<&Limits>,
        partial: bool,
        verify: bool,
    ) -> PyResult<Py<Self>> {
        let mut options = LoadOptions::new()
            .limits(limits.map_or_else(hashmill_doc::Limits::default, |limits| limits.0))
            .on_partial_load(if partial { OnPartialLoad::Ignore } else { OnPartialLoad::Error })
            .verify(if verify { Verify::Now } else { Verify::Later });
        if let Some(Actor(actor)) = actor {
            options = options.actor(actor);
        }
        let doc = py.detach(|| AutoCommit::load_with(data, options));
        Self::create(py, Shared::new(doc.map_err(|error| errors::load(py, &error))?))
    }

    /// A new document from JSON. With `tagged` the form is that of `to_json(tagged=True)`. An integer that does not fit into 64
    /// bits becomes a float, which keeps about 16 digits.
    #[staticmethod]
    #[pyo3(signature = (data, *, tagged = false, actor = None))]
    fn from_json(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        tagged: bool,
        actor: Option<Actor>,
    ) -> PyResult<Py<Self>> {
        Self::create(py, Shared::new(filled(py, Some(json::read(data, tagged)?), actor)?))
    }

    /// The whole document as bytes.
    #[pyo3(signature = (*, deflate = true, retain_orphans = true))]
    fn save<'py>(
        &self,
        py: Python<'py>,
        deflate: bool,
        retain_orphans: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.0.whole(py, |doc| Ok(doc.save_with(SaveOptions { deflate, retain_orphans })))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The changes since the last save, to be appended to a file or passed to `load_incremental`.
    fn save_incremental<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.0.whole(py, |doc| Ok(doc.save_incremental()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The changes after some heads as bytes.
    fn save_after<'py>(&self, py: Python<'py>, heads: Heads) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.0.whole(py, |doc| Ok(doc.save_after(&heads.0)))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Applies saved bytes; returns the number of new operations.
    fn load_incremental(&self, py: Python<'_>, data: &[u8]) -> PyResult<usize> {
        self.0.change_whole(py, |doc| Ok(doc.load_incremental(data)?))
    }

    /// Compares the hashes of a document that was loaded with `verify=False`.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        self.0.whole(py, |doc| Ok(doc.document().verify()?))
    }

    /// Combines all edits inside into one change, which is rolled back after an exception:
    /// `with doc.change("Add a card") as doc:`. `time` is in seconds since 1970.
    #[pyo3(signature = (message = None, *, time = None, author = None))]
    fn change(
        slf: Bound<'_, Self>,
        message: Option<&str>,
        time: Option<i64>,
        author: Option<&[u8]>,
    ) -> Edits {
        Edits::new(slf.unbind(), options(message, time, author), None)
    }

    /// Makes a change that undoes others, of any author, as far as their effect is still visible; returns its hash, or `None` if
    /// nothing was left to undo. Reverting that change restores the others.
    #[pyo3(signature = (changes, message = None, *, time = None, author = None))]
    fn revert(
        &self,
        py: Python<'_>,
        changes: Heads,
        message: Option<&str>,
        time: Option<i64>,
        author: Option<&[u8]>,
    ) -> PyResult<Option<String>> {
        let options = options(message, time, author);
        self.0.change_whole(py, |doc| {
            let doc = doc.document();
            let commit = doc.revert(&changes.0, &options)?;
            Ok(commit.and_then(|commit| doc.hash(commit)).map(|hash| hash.to_string()))
        })
    }

    /// The actor that writes.
    #[getter]
    fn actor(&self, py: Python<'_>) -> PyResult<String> {
        self.0.read(py, |inner| Ok(inner.doc.get_actor().to_string()))
    }

    #[setter]
    fn set_actor(&self, py: Python<'_>, actor: Actor) -> PyResult<()> {
        self.0.change_whole(py, |doc| {
            doc.set_actor(actor.0);
            Ok(())
        })
    }

    /// The heads: changes without successors. Inside a change, those that it depends on.
    #[getter]
    fn heads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let heads = self.0.read_long(py, |inner| Ok(inner.doc.base_heads()))?;
        texts(py, &heads)
    }

    /// All changes except `since` and their ancestors, each after its dependencies.
    #[pyo3(signature = (since = None))]
    fn changes<'py>(&self, py: Python<'py>, since: Option<Heads>) -> PyResult<Bound<'py, PyList>> {
        let since = since.map_or_else(Vec::new, |heads| heads.0);
        let changes = self.0.whole(py, |doc| Ok(doc.get_changes(&since)))?;
        let list = PyList::empty(py);
        for change in changes {
            list.append(Py::new(py, Change(change))?)?;
        }
        Ok(list)
    }

    /// The change with this hash, or `None`.
    fn change_by_hash(&self, py: Python<'_>, hash: Hash) -> PyResult<Option<Change>> {
        Ok(self.0.whole(py, |doc| Ok(doc.get_change_by_hash(&hash.0)))?.map(Change))
    }

    /// Applies changes from other replicas, in any order: all of them, or none if one of them is invalid.
    fn apply(&self, py: Python<'_>, changes: &Bound<'_, PyAny>) -> PyResult<()> {
        let changes =
            elements(changes, "changes")?.map(|change| Ok(change?.cast::<Change>()?.get().0.clone()));
        let changes: Vec<_> = changes.collect::<PyResult<_>>()?;
        self.0.change_whole(py, |doc| Ok(doc.apply_changes(changes)?))
    }

    /// Hashes of missing changes: those that others wait for, and those of `heads` that are not here.
    #[pyo3(signature = (heads = None))]
    fn missing<'py>(&self, py: Python<'py>, heads: Option<Heads>) -> PyResult<Bound<'py, PyTuple>> {
        let heads = heads.map_or_else(Vec::new, |heads| heads.0);
        let missing = self.0.whole(py, |doc| Ok(doc.get_missing_deps(&heads)))?;
        texts(py, &missing)
    }

    /// A copy of the document with another actor, now or at some heads: both can be edited.
    #[pyo3(signature = (heads = None, *, actor = None))]
    fn fork(&self, py: Python<'_>, heads: Option<Heads>, actor: Option<Actor>) -> PyResult<Py<Self>> {
        let mut doc = self.0.whole(py, |doc| match &heads {
            Some(heads) => Ok(doc.fork_at(&heads.0)?),
            None => Ok(doc.fork()),
        })?;
        if let Some(Actor(actor)) = actor {
            doc.set_actor(actor);
        }
        Self::create(py, Shared::new(doc))
    }

    /// The document at some heads, for reading.
    fn at(&self, py: Python<'_>, heads: Heads) -> PyResult<Py<Self>> {
        let doc = self.0.whole(py, |doc| Ok(doc.fork_at(&heads.0)?))?;
        Self::create(py, Shared::frozen(doc))
    }

    /// Merges the changes of `other` into this document; returns the new heads.
    fn merge<'py>(&self, py: Python<'py>, other: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        // A cheap copy, so that no thread holds two locks.
        let mut other = other.get().0.whole(py, |doc| Ok(doc.fork()))?;
        let heads = self.0.change_whole(py, |doc| Ok(doc.merge(&mut other)?))?;
        texts(py, &heads)
    }

    /// The differences between two points of the history, as steps from `before` to `after`, or to now. An empty list of heads is
    /// the document before its first change.
    #[pyo3(signature = (before, after = None))]
    fn diff<'py>(
        &self,
        py: Python<'py>,
        before: Heads,
        after: Option<Heads>,
    ) -> PyResult<Bound<'py, PyList>> {
        let patches = self.0.whole(py, |doc| {
            let after = after.map_or_else(|| doc.get_heads(), |heads| heads.0);
            Ok(doc.diff(&before.0, &after)?)
        })?;
        events(py, &patches)
    }

    /// An observer of later changes; optionally it starts with the current contents.
    #[pyo3(signature = (*, from_start = false))]
    fn events(&self, py: Python<'_>, from_start: bool) -> PyResult<Events> {
        let observer = self.0.whole(py, |doc| {
            Ok(if from_start { Observer::new() } else { Observer::from_current(doc.document()) })
        })?;
        Ok(Events::new(Arc::clone(&self.0), observer))
    }

    /// The next message for the peer of `state`. `None` if both have the same heads, or while an answer is awaited.
    fn generate_sync_message<'py>(
        &self,
        py: Python<'py>,
        state: &SyncState,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let message = self.0.whole(py, |doc| {
            Ok(doc.sync().generate_sync_message(&mut *state.lock()?).as_ref().map(Message::encode))
        })?;
        Ok(message.map(|message| PyBytes::new(py, &message)))
    }

    /// Processes a message of the peer of `state`. A change that breaks a rule is refused alone: returns the hash of each such
    /// change, with the reason.
    fn receive_sync_message<'py>(
        &self,
        py: Python<'py>,
        state: &SyncState,
        message: &[u8],
    ) -> PyResult<Bound<'py, PyDict>> {
        let message = decoded(py, message)?;
        let received = self
            .0
            .change_whole(py, |doc| Ok(doc.sync().receive_sync_message(&mut *state.lock()?, message)?))?;
        let refused = PyDict::new(py);
        for (hash, reason) in received.refused {
            refused.set_item(hash.to_string(), reason.to_string())?;
        }
        Ok(refused)
    }

    /// Whether the peer is known to have all changes of this document.
    fn has_our_changes(&self, py: Python<'_>, state: &SyncState) -> PyResult<bool> {
        self.0.whole(py, |doc| Ok(doc.sync().has_our_changes(&*state.lock()?)))
    }

    /// The first values of a long document.
    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let object_ref = ObjectRef::root(Arc::clone(&slf.get().0));
        Ok(format!("Document({})", repr::object_repr(slf.py(), &object_ref, ObjType::Map)?))
    }

    /// A copy with another actor, because two copies with one actor would contradict each other.
    fn __copy__(&self, py: Python<'_>) -> PyResult<Py<Self>> {
        self.fork(py, None, None)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Py<Self>> {
        self.fork(py, None, None)
    }

    /// The saved document: an unpickled copy has another actor.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let bytes = slf.get().save(slf.py(), true, true)?;
        Ok((slf.get_type().getattr("load")?, (bytes,)))
    }
}
