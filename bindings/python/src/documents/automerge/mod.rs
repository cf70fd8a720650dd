//! The core of the package `automerge`, with its names: documents and transactions that take ids of objects and types of values.
#![expect(clippy::needless_pass_by_value, reason = "converted arguments are passed by value")]

mod history;
mod values;

use std::sync::Arc;

use hashmill_doc::sync::SyncDoc;
use hashmill_doc::{
    ActorId, AutoCommit, CommitOptions, Mark as MarkOf, ObjId, ObjType as Kind, ReadDoc, Transactable, View,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use super::errors::{self, DeferredError};
use super::shared::{ChangeLiveness, EditOrigin, Inner, Shared};
use crate::documents::document::hashes::Heads;
use crate::documents::document::sync::SyncState;
use history::{Change, Mark, Message, Patch};
use values::{ExpandMark, ObjType, ObjectId, PropArg, ScalarType, hash_list, pair, scalar};

/// Adds the module `automerge` to `parent`.
pub(super) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = parent.py();
    let module = PyModule::new(py, "automerge")?;
    module.add_class::<Document>()?;
    module.add_class::<Transaction>()?;
    module.add_class::<Message>()?;
    module.add_class::<Change>()?;
    module.add_class::<Patch>()?;
    module.add_class::<Mark>()?;
    module.add_class::<ObjType>()?;
    module.add_class::<ScalarType>()?;
    module.add_class::<ExpandMark>()?;
    module.add_class::<SyncState>()?;
    module.add("ROOT", ObjectId(ObjId::Root))?;
    module.add_function(wrap_pyfunction!(random_actor_id, &module)?)?;
    parent.add_submodule(&module)?;
    py.import("sys")?.getattr("modules")?.set_item("hashmill._hashmill.documents.automerge", &module)
}

/// A random actor.
#[pyfunction]
fn random_actor_id(py: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, ActorId::random().as_bytes())
}

/// Reads a document, now or at some heads.
fn view<'a>(doc: &'a AutoCommit, heads: Option<&Heads>) -> Result<View<'a>, DeferredError> {
    Ok(match heads {
        Some(heads) => doc.at(&heads.0)?,
        None => doc.view(),
    })
}

/// The source of reads for documents and transactions.
trait Reads {
    fn reading<R>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&Inner) -> Result<R, DeferredError>,
    ) -> PyResult<R>;

    fn kind(&self, py: Python<'_>, obj: &ObjectId) -> PyResult<ObjType> {
        self.reading(py, |inner| Ok(inner.doc.object_type(&obj.0)?.into()))
    }

    fn value<'py>(
        &self,
        py: Python<'py>,
        obj: &ObjectId,
        prop: PropArg<'_>,
        heads: Option<&Heads>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.reading(py, |inner| {
            let found = view(&inner.doc, heads)?.get(&obj.0, prop)?;
            Ok(found.map(|(value, id)| (value.into_owned(), id)))
        })?;
        found.map(|found| pair(py, found)).transpose()
    }

    fn all_keys(&self, py: Python<'_>, obj: &ObjectId, heads: Option<&Heads>) -> PyResult<Vec<String>> {
        self.reading(py, |inner| {
            let view = view(&inner.doc, heads)?;
            Ok(match view.object_type(&obj.0)? {
                Kind::Map | Kind::Table => view.keys(&obj.0).map(str::to_owned).collect(),
                Kind::List | Kind::Text => {
                    view.list_range(&obj.0, ..).map(|item| item.id.to_string()).collect()
                }
            })
        })
    }

    fn all_values<'py>(
        &self,
        py: Python<'py>,
        obj: &ObjectId,
        heads: Option<&Heads>,
    ) -> PyResult<Bound<'py, PyList>> {
        let found: Vec<_> = self.reading(py, |inner| {
            let values = view(&inner.doc, heads)?.values_of(&obj.0).into_iter();
            Ok(values.map(|(value, id)| (value.into_owned(), id)).collect())
        })?;
        let list = PyList::empty(py);
        for found in found {
            list.append(pair(py, found)?)?;
        }
        Ok(list)
    }

    fn len(&self, py: Python<'_>, obj: &ObjectId, heads: Option<&Heads>) -> PyResult<usize> {
        self.reading(py, |inner| Ok(view(&inner.doc, heads)?.length(&obj.0)))
    }

    fn whole_text(&self, py: Python<'_>, obj: &ObjectId, heads: Option<&Heads>) -> PyResult<String> {
        self.reading(py, |inner| Ok(view(&inner.doc, heads)?.text(&obj.0)?))
    }

    fn all_marks(&self, py: Python<'_>, obj: &ObjectId, heads: Option<&Heads>) -> PyResult<Vec<Mark>> {
        self.reading(py, |inner| {
            let marks = view(&inner.doc, heads)?.marks(&obj.0)?;
            Ok(marks.into_iter().map(|mark| Mark(mark.into_owned())).collect())
        })
    }
}

/// A document.
#[pyclass(frozen, module = "hashmill.documents.automerge.core")]
pub(crate) struct Document(Arc<Shared>);

impl Reads for Document {
    fn reading<R>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&Inner) -> Result<R, DeferredError>,
    ) -> PyResult<R> {
        self.0.read(py, read)
    }
}

#[pymethods]
impl Document {
    #[new]
    #[pyo3(signature = (actor_id = None))]
    fn new(actor_id: Option<&[u8]>) -> Self {
        let mut doc = AutoCommit::new();
        if let Some(actor) = actor_id {
            doc.set_actor(ActorId::from(actor));
        }
        Self(Shared::new(doc))
    }

    /// The actor that writes.
    fn get_actor<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let actor = self.0.whole(py, |doc| Ok(doc.get_actor().clone()))?;
        Ok(PyBytes::new(py, actor.as_bytes()))
    }

    /// Sets the actor of later changes.
    fn set_actor(&self, py: Python<'_>, actor_id: &[u8]) -> PyResult<()> {
        self.0.change_whole(py, |doc| {
            doc.set_actor(ActorId::from(actor_id));
            Ok(())
        })
    }

    /// Opens a transaction; there can be only one at a time.
    fn transaction(&self, py: Python<'_>) -> PyResult<Transaction> {
        Ok(Transaction { doc: Arc::clone(&self.0), liveness: self.0.begin(py, false)? })
    }

    /// The whole document as bytes.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.0.whole(py, |doc| Ok(doc.save()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Loads a saved document.
    #[staticmethod]
    fn load(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let doc = py.detach(|| AutoCommit::load(data)).map_err(|error| errors::load(py, &error))?;
        Ok(Self(Shared::new(doc)))
    }

    /// A copy of the document with another actor, now or at some heads.
    #[pyo3(signature = (heads = None))]
    fn fork(&self, py: Python<'_>, heads: Option<Heads>) -> PyResult<Self> {
        let fork = self.0.whole(py, |doc| match heads {
            Some(heads) => Ok(doc.fork_at(&heads.0)?),
            None => Ok(doc.fork()),
        })?;
        Ok(Self(Shared::new(fork)))
    }

    /// Merges the changes of another document; returns the new heads.
    fn merge<'py>(&self, py: Python<'py>, other: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        let mut other = other.get().0.whole(py, |doc| Ok(doc.fork()))?;
        hash_list(py, &self.0.change_whole(py, |doc| Ok(doc.merge(&mut other)?))?)
    }

    /// The patches between two points of the history.
    fn diff(&self, py: Python<'_>, before_heads: Heads, after_heads: Heads) -> PyResult<Vec<Patch>> {
        let patches = self.0.whole(py, |doc| Ok(doc.diff(&before_heads.0, &after_heads.0)?))?;
        Ok(patches.into_iter().map(Patch).collect())
    }

    /// The next message for a peer, or `None`.
    fn generate_sync_message(&self, py: Python<'_>, state: &SyncState) -> PyResult<Option<Message>> {
        let message = self.0.whole(py, |doc| Ok(doc.sync().generate_sync_message(&mut *state.lock()?)))?;
        Ok(message.map(Message))
    }

    /// Processes a message of a peer.
    fn receive_sync_message(
        &self,
        py: Python<'_>,
        state: &SyncState,
        message: &Bound<'_, Message>,
    ) -> PyResult<()> {
        let message = message.get().0.clone();
        self.0.change_whole(py, |doc| {
            Ok(doc.sync().receive_sync_message(&mut *state.lock()?, message).map(drop)?)
        })
    }

    /// The heads: hashes of the changes without successors.
    fn get_heads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        hash_list(py, &self.0.read_long(py, |inner| Ok(inner.doc.base_heads()))?)
    }

    /// The last change that was made here, or `None`.
    fn get_last_local_change(&self, py: Python<'_>) -> PyResult<Option<Change>> {
        Ok(self.0.whole(py, |doc| Ok(doc.get_last_local_change()))?.map(Change))
    }

    /// All changes except the given ones and their ancestors.
    fn get_changes(&self, py: Python<'_>, have_deps: Heads) -> PyResult<Vec<Change>> {
        let changes = self.0.whole(py, |doc| Ok(doc.get_changes(&have_deps.0)))?;
        Ok(changes.into_iter().map(Change).collect())
    }

    /// The kind of an object.
    fn object_type(&self, py: Python<'_>, obj_id: ObjectId) -> PyResult<ObjType> {
        self.kind(py, &obj_id)
    }

    /// The value at a key or index of an object and its id, now or at some heads; `None` if there is none.
    #[pyo3(signature = (obj_id, prop, heads = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        obj_id: ObjectId,
        prop: PropArg<'_>,
        heads: Option<Heads>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.value(py, &obj_id, prop, heads.as_ref())
    }

    /// The keys of a map, now or at some heads.
    #[pyo3(signature = (obj_id, heads = None))]
    fn keys(&self, py: Python<'_>, obj_id: ObjectId, heads: Option<Heads>) -> PyResult<Vec<String>> {
        self.all_keys(py, &obj_id, heads.as_ref())
    }

    /// All values of an object and their ids, now or at some heads.
    #[pyo3(signature = (obj_id, heads = None))]
    fn values<'py>(
        &self,
        py: Python<'py>,
        obj_id: ObjectId,
        heads: Option<Heads>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.all_values(py, &obj_id, heads.as_ref())
    }

    /// The number of keys, elements or code points of an object, now or at some heads.
    #[pyo3(signature = (obj_id, heads = None))]
    fn length(&self, py: Python<'_>, obj_id: ObjectId, heads: Option<Heads>) -> PyResult<usize> {
        self.len(py, &obj_id, heads.as_ref())
    }

    /// The contents of a text, now or at some heads.
    #[pyo3(signature = (obj_id, heads = None))]
    fn text(&self, py: Python<'_>, obj_id: ObjectId, heads: Option<Heads>) -> PyResult<String> {
        self.whole_text(py, &obj_id, heads.as_ref())
    }

    /// All marks of a text, now or at some heads.
    #[pyo3(signature = (obj_id, heads = None))]
    fn marks(&self, py: Python<'_>, obj_id: ObjectId, heads: Option<Heads>) -> PyResult<Vec<Mark>> {
        self.all_marks(py, &obj_id, heads.as_ref())
    }
}

/// An open change: committed at the end of its `with`, rolled back after an exception.
#[pyclass(frozen, module = "hashmill.documents.automerge.core")]
pub(crate) struct Transaction {
    doc: Arc<Shared>,
    liveness: ChangeLiveness,
}

impl Transaction {
    fn edit<R>(
        &self,
        py: Python<'_>,
        edit: impl FnOnce(&mut AutoCommit) -> Result<R, hashmill_doc::EditError>,
    ) -> PyResult<R> {
        self.doc.edit(py, EditOrigin::Change(&self.liveness), |inner| Ok(edit(&mut inner.doc)?))
    }
}

impl Reads for Transaction {
    fn reading<R>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&Inner) -> Result<R, DeferredError>,
    ) -> PyResult<R> {
        self.doc.read(py, |inner| {
            inner.check_open(&self.liveness)?;
            read(inner)
        })
    }
}

/// A leaked transaction is rolled back.
impl Drop for Transaction {
    fn drop(&mut self) {
        // An error cannot be reported here: a lock poisoned by a bug is reported to the next call.
        Python::try_attach(|py| drop(self.doc.end(py, &self.liveness, None, drop)));
    }
}

#[pymethods]
impl Transaction {
    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (kind, _value, _traceback, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let options = CommitOptions::default();
        let ended = self.doc.end(py, &self.liveness, kind.is_none().then_some(&options), drop)?;
        if ended { Ok(()) } else { Err(DeferredError::Ended.raise(py)) }
    }

    /// The heads: hashes of the changes without successors.
    fn get_heads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        hash_list(py, &self.reading(py, |inner| Ok(inner.doc.base_heads()))?)
    }

    /// The kind of an object.
    fn object_type(&self, py: Python<'_>, obj_id: ObjectId) -> PyResult<ObjType> {
        self.kind(py, &obj_id)
    }

    /// The value at a key or index of an object and its id, now or at some heads; `None` if there is none.
    #[pyo3(signature = (obj_id, prop, heads = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        obj_id: ObjectId,
        prop: PropArg<'_>,
        heads: Option<Heads>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.value(py, &obj_id, prop, heads.as_ref())
    }

    /// The keys of a map, now or at some heads.
    #[pyo3(signature = (obj_id, heads = None))]
    fn keys(&self, py: Python<'_>, obj_id: ObjectId, heads: Option<Heads>) -> PyResult<Vec<String>> {
        self.all_keys(py, &obj_id, heads.as_ref())
    }

    /// All values of an object and their ids, now or at some heads.
    #[pyo3(signature = (obj_id, heads = None))]
    fn values<'py>(
        &self,
        py: Python<'py>,
        obj_id: ObjectId,
        heads: Option<Heads>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.all_values(py, &obj_id, heads.as_ref())
    }

    /// The number of keys, elements or code points of an object, now or at some heads.
    #[pyo3(signature = (obj_id, heads = None))]
    fn length(&self, py: Python<'_>, obj_id: ObjectId, heads: Option<Heads>) -> PyResult<usize> {
        self.len(py, &obj_id, heads.as_ref())
    }

    /// The contents of a text, now or at some heads.
    #[pyo3(signature = (obj_id, heads = None))]
    fn text(&self, py: Python<'_>, obj_id: ObjectId, heads: Option<Heads>) -> PyResult<String> {
        self.whole_text(py, &obj_id, heads.as_ref())
    }

    /// All marks of a text, now or at some heads.
    #[pyo3(signature = (obj_id, heads = None))]
    fn marks(&self, py: Python<'_>, obj_id: ObjectId, heads: Option<Heads>) -> PyResult<Vec<Mark>> {
        self.all_marks(py, &obj_id, heads.as_ref())
    }

    /// Puts a value with a type at a key or index.
    fn put(
        &self,
        py: Python<'_>,
        obj_id: ObjectId,
        prop: PropArg<'_>,
        scalar_type: ScalarType,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let value = scalar(scalar_type, value)?;
        self.edit(py, |doc| doc.put(&obj_id.0, prop, value))
    }

    /// Puts a new object at a key or index, and returns its id.
    fn put_object(
        &self,
        py: Python<'_>,
        obj_id: ObjectId,
        prop: PropArg<'_>,
        obj_type: ObjType,
    ) -> PyResult<ObjectId> {
        self.edit(py, |doc| doc.put_object(&obj_id.0, prop, obj_type.into())).map(ObjectId)
    }

    /// Inserts a value with a type before an index.
    fn insert(
        &self,
        py: Python<'_>,
        obj_id: ObjectId,
        index: usize,
        scalar_type: ScalarType,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let value = scalar(scalar_type, value)?;
        self.edit(py, |doc| doc.insert(&obj_id.0, index, value))
    }

    /// Inserts a new object before an index, and returns its id.
    fn insert_object(
        &self,
        py: Python<'_>,
        obj_id: ObjectId,
        index: usize,
        obj_type: ObjType,
    ) -> PyResult<ObjectId> {
        self.edit(py, |doc| doc.insert_object(&obj_id.0, index, obj_type.into())).map(ObjectId)
    }

    /// Increments a counter.
    fn increment(&self, py: Python<'_>, obj_id: ObjectId, prop: PropArg<'_>, amount: i64) -> PyResult<()> {
        self.edit(py, |doc| doc.increment(&obj_id.0, prop, amount))
    }

    /// Deletes the value at a key or index.
    fn delete(&self, py: Python<'_>, obj_id: ObjectId, prop: PropArg<'_>) -> PyResult<()> {
        self.edit(py, |doc| doc.delete(&obj_id.0, prop))
    }

    /// Marks a range of a text.
    #[expect(clippy::too_many_arguments, reason = "the signature of the other package")]
    fn mark(
        &self,
        py: Python<'_>,
        obj_id: ObjectId,
        start: usize,
        end: usize,
        name: &str,
        scalar_type: ScalarType,
        value: &Bound<'_, PyAny>,
        expand: ExpandMark,
    ) -> PyResult<()> {
        let value = scalar(scalar_type, value)?;
        self.edit(py, |doc| doc.mark(&obj_id.0, MarkOf::new(name, value, start, end), expand.into()))
    }

    /// Removes the marks with a name from a range of a text.
    #[pyo3(signature = (obj_id, start, end, name, expand = ExpandMark::Neither))]
    fn unmark(
        &self,
        py: Python<'_>,
        obj_id: ObjectId,
        start: usize,
        end: usize,
        name: &str,
        expand: ExpandMark,
    ) -> PyResult<()> {
        self.edit(py, |doc| doc.unmark(&obj_id.0, name, start, end, expand.into()))
    }

    /// Deletes some code points of a text and inserts others.
    fn splice_text(
        &self,
        py: Python<'_>,
        obj_id: ObjectId,
        pos: usize,
        delete_count: isize,
        text: &str,
    ) -> PyResult<()> {
        self.edit(py, |doc| doc.splice_text(&obj_id.0, pos, delete_count, text))
    }
}
