//! Documents: a map at the root, and everything about history, files and peers.
#![expect(clippy::needless_pass_by_value, reason = "what was read of an argument is handed over")]

use std::sync::{Arc, Mutex, PoisonError};

use hashmill_doc::sync::{Message, SyncDoc};
use hashmill_doc::{
    AutoCommit, CommitOptions, Literal, LoadOptions, ObjType, Observer, OnPartialLoad, SaveOptions,
    Transactable, Verify,
};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use super::change::Change;
use super::errors::{self, Failed};
use super::events::{Events, events};
use super::hashes::{Actor, Hash, Heads, elements, texts};
use super::json;
use super::map::Map;
use super::repr;
use super::shared::{Life, Place, Shared};
use super::sync::{SyncState, decoded};
use super::undo::Undo;
use super::values::literal;

/// How much memory and work a file may ask for, and how large a document may become.
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

    /// Changes of a document, and changes that wait for others.
    #[getter]
    fn changes(&self) -> u64 {
        self.0.changes
    }

    /// Steps of work beyond what bytes pay for.
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

pub(super) fn options(message: Option<&str>, time: Option<i64>, author: Option<&[u8]>) -> CommitOptions {
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

/// Edits that are one change: `with doc.change("why"):`.
#[pyclass(frozen, module = "hashmill.documents")]
pub(crate) struct Edits {
    document: Py<Document>,
    options: CommitOptions,
    /// Who remembers the change, and whether as a part of the last one.
    undo: Option<(Py<Undo>, bool)>,
    open: Mutex<Option<Life>>,
}

impl Edits {
    pub(super) fn new(
        document: Py<Document>,
        options: CommitOptions,
        undo: Option<(Py<Undo>, bool)>,
    ) -> Self {
        Self { document, options, undo, open: Mutex::new(None) }
    }

    fn take(&self) -> Option<Life> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl Edits {
    fn __enter__(&self, py: Python<'_>) -> PyResult<Py<Document>> {
        let life = self.document.get().0.begin(py, true)?;
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(life);
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
        let life = self.take().ok_or_else(|| PyRuntimeError::new_err("this change was not entered"))?;
        let record = |commit| {
            if let Some((undo, join)) = &self.undo {
                undo.get().record(commit, *join);
            }
        };
        self.document.get().0.end(py, &life, kind.is_none().then_some(&self.options), record)?;
        Ok(false)
    }
}

/// Whoever enters a change and forgets it loses it.
impl Drop for Edits {
    fn drop(&mut self) {
        if let Some(life) = self.take() {
            // There is nobody to tell: a lock that a fault left behind is told to the next call.
            Python::try_attach(|py| drop(self.document.get().0.end(py, &life, None, drop)));
        }
    }
}

/// A document that several people edit at once, each at their own pace. It is the map at its root.
#[pyclass(frozen, extends = Map, subclass, module = "hashmill.documents")]
pub(crate) struct Document(pub(super) Arc<Shared>);

/// A new document with what `contents` holds.
fn filled(py: Python<'_>, contents: Option<Literal>, actor: Option<Actor>) -> PyResult<AutoCommit> {
    let mut doc = AutoCommit::new();
    if let Some(Actor(actor)) = actor {
        doc.set_actor(actor);
    }
    if let Some(contents) = contents {
        if !matches!(contents, Literal::Map(_)) {
            return Err(PyTypeError::new_err("a document is made of a mapping"));
        }
        doc.init_root(&contents).map_err(|error| Failed::from(error).raise(py))?;
        doc.commit();
    }
    Ok(doc)
}

impl Document {
    fn made(py: Python<'_>, shared: Arc<Shared>) -> PyResult<Py<Self>> {
        let root = Map(Place::root(Arc::clone(&shared)));
        Py::new(py, PyClassInitializer::from(root).add_subclass(Self(shared)))
    }
}

#[pymethods]
impl Document {
    /// A new document, with the entries of a mapping if there is one.
    #[new]
    #[pyo3(signature = (contents = None, *, actor = None))]
    fn new(
        py: Python<'_>,
        contents: Option<&Bound<'_, PyAny>>,
        actor: Option<Actor>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let shared = Shared::new(filled(py, contents.map(literal).transpose()?, actor)?);
        Ok(PyClassInitializer::from(Map(Place::root(Arc::clone(&shared)))).add_subclass(Self(shared)))
    }

    /// Reads a saved document. `partial` keeps what can be read of a file whose end cannot. With `verify=False` hashes are
    /// compared when `verify()` asks for it.
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
        Self::made(py, Shared::new(doc.map_err(|error| errors::load(py, &error))?))
    }

    /// A new document with what stands in JSON. With `tagged` it is read as `to_json(tagged=True)` writes it. An integer
    /// that 64 bits do not hold becomes a float, which keeps about 16 digits.
    #[staticmethod]
    #[pyo3(signature = (data, *, tagged = false, actor = None))]
    fn from_json(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        tagged: bool,
        actor: Option<Actor>,
    ) -> PyResult<Py<Self>> {
        Self::made(py, Shared::new(filled(py, Some(json::read(data, tagged)?), actor)?))
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

    /// What came since the last save, to be added to a file or given to `load_incremental`.
    fn save_incremental<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.0.whole(py, |doc| Ok(doc.save_incremental()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The changes after some heads as bytes.
    fn save_after<'py>(&self, py: Python<'py>, heads: Heads) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.0.whole(py, |doc| Ok(doc.save_after(&heads.0)))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Takes over what is in saved bytes; gives how many operations are new.
    fn load_incremental(&self, py: Python<'_>, data: &[u8]) -> PyResult<usize> {
        self.0.change_whole(py, |doc| Ok(doc.load_incremental(data)?))
    }

    /// Compares the hashes of a document that was loaded without.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        self.0.whole(py, |doc| Ok(doc.document().verify()?))
    }

    /// Makes all edits inside one change, which is taken back if they end with an exception:
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

    /// Makes a change that takes others back, whoever made them, as far as their effect is still to be seen; gives its name, or
    /// nothing if there is none. To take back that change does the others again.
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
            let made = doc.revert(&changes.0, &options)?;
            Ok(made.and_then(|commit| doc.hash(commit)).map(|hash| hash.to_string()))
        })
    }

    /// Who writes here.
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

    /// The changes that no other change was made after. Inside a change, those it builds on.
    #[getter]
    fn heads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let heads = self.0.read_long(py, |inner| Ok(inner.doc.base_heads()))?;
        texts(py, &heads)
    }

    /// All changes that are not among `since` and what came before them, each after those it depends on.
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

    /// One change, if it is here.
    fn change_by_hash(&self, py: Python<'_>, hash: Hash) -> PyResult<Option<Change>> {
        Ok(self.0.whole(py, |doc| Ok(doc.get_change_by_hash(&hash.0)))?.map(Change))
    }

    /// Takes over changes from elsewhere, in any order: all of them, or none if one of them is wrong.
    fn apply(&self, py: Python<'_>, changes: &Bound<'_, PyAny>) -> PyResult<()> {
        let changes =
            elements(changes, "changes")?.map(|change| Ok(change?.cast::<Change>()?.get().0.clone()));
        let changes: Vec<_> = changes.collect::<PyResult<_>>()?;
        self.0.change_whole(py, |doc| Ok(doc.apply_changes(changes)?))
    }

    /// Changes that are missing here: those that others wait for, and those of `heads` that are not here.
    #[pyo3(signature = (heads = None))]
    fn missing<'py>(&self, py: Python<'py>, heads: Option<Heads>) -> PyResult<Bound<'py, PyTuple>> {
        let heads = heads.map_or_else(Vec::new, |heads| heads.0);
        let missing = self.0.whole(py, |doc| Ok(doc.get_missing_deps(&heads)))?;
        texts(py, &missing)
    }

    /// The same document with another actor, now or as it was at some heads: both are written from now on.
    #[pyo3(signature = (heads = None, *, actor = None))]
    fn fork(&self, py: Python<'_>, heads: Option<Heads>, actor: Option<Actor>) -> PyResult<Py<Self>> {
        let mut doc = self.0.whole(py, |doc| match &heads {
            Some(heads) => Ok(doc.fork_at(&heads.0)?),
            None => Ok(doc.fork()),
        })?;
        if let Some(Actor(actor)) = actor {
            doc.set_actor(actor);
        }
        Self::made(py, Shared::new(doc))
    }

    /// The document as it was at some heads, to be read.
    fn at(&self, py: Python<'_>, heads: Heads) -> PyResult<Py<Self>> {
        let doc = self.0.whole(py, |doc| Ok(doc.fork_at(&heads.0)?))?;
        Self::made(py, Shared::frozen(doc))
    }

    /// Takes over everything that `other` has and this document lacks; gives the new heads.
    fn merge<'py>(&self, py: Python<'py>, other: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        // A copy, which costs nothing: so nobody holds two locks.
        let mut other = other.get().0.whole(py, |doc| Ok(doc.fork()))?;
        let heads = self.0.change_whole(py, |doc| Ok(doc.merge(&mut other)?))?;
        texts(py, &heads)
    }

    /// What is different between two moments, as steps from `before` to `after`, or to now. No heads at all stand for the
    /// document before its first change.
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

    /// Somebody who tells what is new: from now on, or with everything that is there already.
    #[pyo3(signature = (*, from_start = false))]
    fn events(&self, py: Python<'_>, from_start: bool) -> PyResult<Events> {
        let observer = self
            .0
            .whole(py, |doc| Ok(if from_start { Observer::new() } else { Observer::of(doc.document()) }))?;
        Ok(Events::new(Arc::clone(&self.0), observer))
    }

    /// The next message for the peer of `state`. Nothing when all is said, or while an answer is awaited.
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

    /// Takes a message of the peer of `state`. A change that breaks a rule is refused alone: gives the hash of each such
    /// change, and why.
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
        for (hash, why) in received.refused {
            refused.set_item(hash.to_string(), why.to_string())?;
        }
        Ok(refused)
    }

    /// Whether the peer has all changes that are here, as far as is known.
    fn has_our_changes(&self, py: Python<'_>, state: &SyncState) -> PyResult<bool> {
        self.0.whole(py, |doc| Ok(doc.sync().has_our_changes(&*state.lock()?)))
    }

    /// The first values of a long document.
    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let place = Place::root(Arc::clone(&slf.get().0));
        Ok(format!("Document({})", repr::of(slf.py(), &place, ObjType::Map)?))
    }

    /// A copy that is written by another actor, as two with one actor would contradict each other.
    fn __copy__(&self, py: Python<'_>) -> PyResult<Py<Self>> {
        self.fork(py, None, None)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Py<Self>> {
        self.fork(py, None, None)
    }

    /// As saved: what is unpickled is written by another actor.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let bytes = slf.get().save(slf.py(), true, true)?;
        Ok((slf.get_type().getattr("load")?, (bytes,)))
    }
}
