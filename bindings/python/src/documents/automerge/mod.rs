//! What the core of the package `automerge` consists of, under its names: documents and transactions that are told objects by
//! their ids, and values by their types.
#![expect(clippy::needless_pass_by_value, reason = "what was read of an argument is handed over")]

mod history;
mod values;

use std::sync::Arc;

use hashmill_doc::sync::SyncDoc;
use hashmill_doc::{
    ActorId, AutoCommit, CommitOptions, Mark as MarkOf, ObjId, ObjType as Kind, ReadDoc, Transactable, View,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use super::errors::{self, Failed};
use super::hashes::Heads;
use super::shared::{By, Inner, Life, Shared};
use super::sync::SyncState;
use history::{Change, Mark, Message, Patch};
use values::{ExpandMark, ObjType, ObjectId, Place, ScalarType, hash_list, pair, scalar};

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

/// Reads a document, as it is or as it was.
fn view<'a>(doc: &'a AutoCommit, heads: Option<&Heads>) -> Result<View<'a>, Failed> {
    Ok(match heads {
        Some(heads) => doc.at(&heads.0)?,
        None => doc.view(),
    })
}

/// What documents and transactions read from.
trait Reads {
    fn reading<R>(&self, py: Python<'_>, read: impl FnOnce(&Inner) -> Result<R, Failed>) -> PyResult<R>;

    fn kind(&self, py: Python<'_>, obj: &ObjectId) -> PyResult<ObjType> {
        self.reading(py, |inner| Ok(inner.doc.object_type(&obj.0)?.into()))
    }

    fn value<'py>(
        &self,
        py: Python<'py>,
        obj: &ObjectId,
        place: Place<'_>,
        heads: Option<&Heads>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.reading(py, |inner| {
            let found = view(&inner.doc, heads)?.get(&obj.0, place)?;
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
    fn reading<R>(&self, py: Python<'_>, read: impl FnOnce(&Inner) -> Result<R, Failed>) -> PyResult<R> {
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

    /// Who writes here.
    fn get_actor<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let actor = self.0.whole(py, |doc| Ok(doc.get_actor().clone()))?;
        Ok(PyBytes::new(py, actor.as_bytes()))
    }

    /// Says who writes from now on.
    fn set_actor(&self, py: Python<'_>, actor_id: &[u8]) -> PyResult<()> {
        self.0.change_whole(py, |doc| {
            doc.set_actor(ActorId::from(actor_id));
            Ok(())
        })
    }

    /// Opens the one transaction that there can be at a time.
    fn transaction(&self, py: Python<'_>) -> PyResult<Transaction> {
        Ok(Transaction { doc: Arc::clone(&self.0), life: self.0.begin(py, false)? })
    }

    /// The whole document as bytes.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.0.whole(py, |doc| Ok(doc.save()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Reads a saved document.
    #[staticmethod]
    fn load(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let doc = py.detach(|| AutoCommit::load(data)).map_err(|error| errors::load(py, &error))?;
        Ok(Self(Shared::new(doc)))
    }

    /// The same document with another actor, now or as it was at some heads.
    #[pyo3(signature = (heads = None))]
    fn fork(&self, py: Python<'_>, heads: Option<Heads>) -> PyResult<Self> {
        let fork = self.0.whole(py, |doc| match heads {
            Some(heads) => Ok(doc.fork_at(&heads.0)?),
            None => Ok(doc.fork()),
        })?;
        Ok(Self(Shared::new(fork)))
    }

    /// Takes over what another document has and this one lacks; gives the new heads.
    fn merge<'py>(&self, py: Python<'py>, other: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        let mut other = other.get().0.whole(py, |doc| Ok(doc.fork()))?;
        hash_list(py, &self.0.change_whole(py, |doc| Ok(doc.merge(&mut other)?))?)
    }

    /// What is different between two moments.
    fn diff(&self, py: Python<'_>, before_heads: Heads, after_heads: Heads) -> PyResult<Vec<Patch>> {
        let patches = self.0.whole(py, |doc| Ok(doc.diff(&before_heads.0, &after_heads.0)?))?;
        Ok(patches.into_iter().map(Patch).collect())
    }

    /// What to tell a peer next; nothing if there is nothing.
    fn generate_sync_message(&self, py: Python<'_>, state: &SyncState) -> PyResult<Option<Message>> {
        let message = self.0.whole(py, |doc| Ok(doc.sync().generate_sync_message(&mut *state.lock()?)))?;
        Ok(message.map(Message))
    }

    /// Takes what a peer tells.
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

    /// The hashes of the changes that no other change was made after.
    fn get_heads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        hash_list(py, &self.0.read_long(py, |inner| Ok(inner.doc.base_heads()))?)
    }

    /// The last change that was made here, if there is one.
    fn get_last_local_change(&self, py: Python<'_>) -> PyResult<Option<Change>> {
        Ok(self.0.whole(py, |doc| Ok(doc.get_last_local_change()))?.map(Change))
    }

    /// All changes but those that are named and what came before them.
    fn get_changes(&self, py: Python<'_>, have_deps: Heads) -> PyResult<Vec<Change>> {
        let changes = self.0.whole(py, |doc| Ok(doc.get_changes(&have_deps.0)))?;
        Ok(changes.into_iter().map(Change).collect())
    }

    /// The kind of an object.
    fn object_type(&self, py: Python<'_>, obj_id: ObjectId) -> PyResult<ObjType> {
        self.kind(py, &obj_id)
    }

    /// The value at a place of an object and its id, now or at some heads; nothing if there is none.
    #[pyo3(signature = (obj_id, prop, heads = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        obj_id: ObjectId,
        prop: Place<'_>,
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

    /// How many keys, elements or code points an object has, now or at some heads.
    #[pyo3(signature = (obj_id, heads = None))]
    fn length(&self, py: Python<'_>, obj_id: ObjectId, heads: Option<Heads>) -> PyResult<usize> {
        self.len(py, &obj_id, heads.as_ref())
    }

    /// What a text says, now or at some heads.
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

/// A change in the making: committed at the end of its `with`, taken back if that is an exception.
#[pyclass(frozen, module = "hashmill.documents.automerge.core")]
pub(crate) struct Transaction {
    doc: Arc<Shared>,
    life: Life,
}

impl Transaction {
    fn edit<R>(
        &self,
        py: Python<'_>,
        edit: impl FnOnce(&mut AutoCommit) -> Result<R, hashmill_doc::EditError>,
    ) -> PyResult<R> {
        self.doc.edit(py, By::Change(&self.life), |inner| Ok(edit(&mut inner.doc)?))
    }
}

impl Reads for Transaction {
    fn reading<R>(&self, py: Python<'_>, read: impl FnOnce(&Inner) -> Result<R, Failed>) -> PyResult<R> {
        self.doc.read(py, |inner| {
            inner.check_open(&self.life)?;
            read(inner)
        })
    }
}

/// One that was forgotten is taken back.
impl Drop for Transaction {
    fn drop(&mut self) {
        // There is nobody to tell: a lock that a fault left behind is told to the next call.
        Python::try_attach(|py| drop(self.doc.end(py, &self.life, None, drop)));
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
        let ended = self.doc.end(py, &self.life, kind.is_none().then_some(&options), drop)?;
        if ended { Ok(()) } else { Err(Failed::Ended.raise(py)) }
    }

    /// The hashes of the changes that no other change was made after.
    fn get_heads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        hash_list(py, &self.reading(py, |inner| Ok(inner.doc.base_heads()))?)
    }

    /// The kind of an object.
    fn object_type(&self, py: Python<'_>, obj_id: ObjectId) -> PyResult<ObjType> {
        self.kind(py, &obj_id)
    }

    /// The value at a place of an object and its id, now or at some heads; nothing if there is none.
    #[pyo3(signature = (obj_id, prop, heads = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        obj_id: ObjectId,
        prop: Place<'_>,
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

    /// How many keys, elements or code points an object has, now or at some heads.
    #[pyo3(signature = (obj_id, heads = None))]
    fn length(&self, py: Python<'_>, obj_id: ObjectId, heads: Option<Heads>) -> PyResult<usize> {
        self.len(py, &obj_id, heads.as_ref())
    }

    /// What a text says, now or at some heads.
    #[pyo3(signature = (obj_id, heads = None))]
    fn text(&self, py: Python<'_>, obj_id: ObjectId, heads: Option<Heads>) -> PyResult<String> {
        self.whole_text(py, &obj_id, heads.as_ref())
    }

    /// All marks of a text, now or at some heads.
    #[pyo3(signature = (obj_id, heads = None))]
    fn marks(&self, py: Python<'_>, obj_id: ObjectId, heads: Option<Heads>) -> PyResult<Vec<Mark>> {
        self.all_marks(py, &obj_id, heads.as_ref())
    }

    /// Puts a value of a type at a place.
    fn put(
        &self,
        py: Python<'_>,
        obj_id: ObjectId,
        prop: Place<'_>,
        scalar_type: ScalarType,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let value = scalar(scalar_type, value)?;
        self.edit(py, |doc| doc.put(&obj_id.0, prop, value))
    }

    /// Puts a new object at a place, and gives its id.
    fn put_object(
        &self,
        py: Python<'_>,
        obj_id: ObjectId,
        prop: Place<'_>,
        obj_type: ObjType,
    ) -> PyResult<ObjectId> {
        self.edit(py, |doc| doc.put_object(&obj_id.0, prop, obj_type.into())).map(ObjectId)
    }

    /// Inserts a value of a type before an index.
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

    /// Inserts a new object before an index, and gives its id.
    fn insert_object(
        &self,
        py: Python<'_>,
        obj_id: ObjectId,
        index: usize,
        obj_type: ObjType,
    ) -> PyResult<ObjectId> {
        self.edit(py, |doc| doc.insert_object(&obj_id.0, index, obj_type.into())).map(ObjectId)
    }

    /// Adds to a counter.
    fn increment(&self, py: Python<'_>, obj_id: ObjectId, prop: Place<'_>, amount: i64) -> PyResult<()> {
        self.edit(py, |doc| doc.increment(&obj_id.0, prop, amount))
    }

    /// Deletes what is at a place.
    fn delete(&self, py: Python<'_>, obj_id: ObjectId, prop: Place<'_>) -> PyResult<()> {
        self.edit(py, |doc| doc.delete(&obj_id.0, prop))
    }

    /// Puts a mark on a range of a text.
    #[expect(clippy::too_many_arguments, reason = "the call is that of the other package")]
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

    /// Takes the marks of a name off a range of a text.
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
