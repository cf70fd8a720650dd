//! The class `Automerge`: creating, loading, saving, committing.

use std::cell::{Ref, RefCell, RefMut};
use std::rc::Rc;

use hashmill_doc::{
    ActorId, AutoCommit, ChangeHash, EditError, LoadOptions, ObjId, ObjType, OnPartialLoad, Patch,
    ReadDoc as _, StringMigration, TextEncoding, Transactable as _, Verify,
};
use js_sys::Array;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsValue};

use crate::materialize::{Materializer, follow};
use crate::state::Inner;
use crate::values::arguments::{Js, bytes, flag, heads, hex, index, maybe_text, property, text, thrown};
use crate::values::exports;
use crate::values::limits::limits;
use crate::values::scalars::Types;

/// A document. A call while another one is running, as from functions of registered types, is an error.
#[wasm_bindgen]
pub struct Automerge(RefCell<Inner>);

impl Automerge {
    fn from_inner(inner: Inner) -> Self {
        Self(RefCell::new(inner))
    }

    pub(crate) fn read(&self) -> Js<Ref<'_, Inner>> {
        self.0.try_borrow().map_err(|_| thrown("the document is being changed"))
    }

    /// Access for edits.
    pub(crate) fn edit(&self) -> Js<RefMut<'_, Inner>> {
        self.0.try_borrow_mut().map_err(|_| thrown("the document is in use"))
    }

    /// Access for operations that need all edits to be committed.
    pub(crate) fn whole(&self) -> Js<RefMut<'_, Inner>> {
        let mut inner = self.edit()?;
        inner.commit_pending();
        Ok(inner)
    }

    /// The types, so that functions of the caller are called while the document is not borrowed.
    pub(crate) fn types(&self) -> Js<Rc<Types>> {
        Ok(Rc::clone(&self.read()?.types))
    }

    /// Another document with the same display settings.
    fn like(&self, doc: AutoCommit, actor: Option<ActorId>) -> Js<Self> {
        let inner = self.read()?;
        let (types, author) = (Rc::clone(&inner.types), inner.author.clone());
        let mut other = Inner { types, freeze: inner.freeze, author, ..Inner::from_doc(doc) };
        if let Some(actor) = actor {
            other.doc.set_actor(actor);
        }
        Ok(Self::from_inner(other))
    }
}

/// An empty document.
#[wasm_bindgen(js_name = create, skip_typescript)]
pub fn create(options: &JsValue) -> Js<Automerge> {
    Automerge::new(&property(options, "actor")?)
}

/// A document from a file.
#[wasm_bindgen(js_name = load, skip_typescript)]
pub fn load(data: &JsValue, options: &JsValue) -> Js<Automerge> {
    let data = bytes(data, "the document")?;
    let mut load = load_options(actor(&property(options, "actor")?)?);
    if flag(options, "unchecked")? {
        load = load.verify(Verify::Later);
    }
    if flag(options, "allowMissingDeps")? {
        load = load.on_partial_load(OnPartialLoad::Ignore);
    }
    if flag(options, "convertImmutableStringsToText")? {
        load = load.migrate_strings(StringMigration::ConvertToText);
    }
    Ok(Automerge::from_inner(Inner::from_doc(AutoCommit::load_with(&data, load).map_err(thrown)?)))
}

#[wasm_bindgen]
impl Automerge {
    /// An empty document.
    pub fn new(actor: &JsValue) -> Js<Automerge> {
        // No bytes are an empty document, with the same limits.
        let doc = AutoCommit::load_with(&[], load_options(self::actor(actor)?)).map_err(thrown)?;
        Ok(Self::from_inner(Inner::from_doc(doc)))
    }

    /// A copy of the document with the same actor, or another.
    #[allow(clippy::should_implement_trait, reason = "the name it has in JavaScript")]
    pub fn clone(&self, actor: &JsValue) -> Js<Automerge> {
        let actor = self::actor(actor)?;
        let doc = self.whole()?.doc.document().clone();
        self.like(doc.into(), actor)
    }

    /// A copy of the document, now or at heads, with another actor.
    pub fn fork(&self, actor: &JsValue, at: JsValue) -> Js<Automerge> {
        let (actor, at) = (self::actor(actor)?, heads(at)?);
        let mut inner = self.whole()?;
        let doc = match at {
            None => inner.doc.fork(),
            Some(at) => inner.doc.fork_at(&at).map_err(thrown)?,
        };
        drop(inner);
        self.like(doc, actor)
    }

    /// A copy of the document without its contents.
    pub fn anonymize(&self) -> Js<Automerge> {
        let doc = self.whole()?.doc.document().anonymise().map_err(thrown)?;
        self.like(doc.into(), None)
    }

    /// The whole document as a file.
    pub fn save(&self) -> Js {
        Ok(exports::bytes(&self.whole()?.doc.save()))
    }

    /// As `save`, without compression.
    #[wasm_bindgen(js_name = saveNoCompress)]
    pub fn save_nocompress(&self) -> Js {
        Ok(exports::bytes(&self.whole()?.doc.save_nocompress()))
    }

    /// As `save`; the file is loaded again before it is returned.
    #[wasm_bindgen(js_name = saveAndVerify)]
    pub fn save_and_verify(&self) -> Js {
        Ok(exports::bytes(&self.whole()?.doc.save_and_verify().map_err(thrown)?))
    }

    /// The changes since the last save.
    #[wasm_bindgen(js_name = saveIncremental)]
    pub fn save_incremental(&self) -> Js {
        Ok(exports::bytes(&self.whole()?.doc.save_incremental()))
    }

    /// The changes since some heads.
    #[wasm_bindgen(js_name = saveSince)]
    pub fn save_since(&self, since: JsValue) -> Js {
        let since = heads(since)?.unwrap_or_default();
        Ok(exports::bytes(&self.whole()?.doc.save_after(&since)))
    }

    /// Applies the changes of a file; returns the number of new ones.
    #[wasm_bindgen(js_name = loadIncremental)]
    pub fn load_incremental(&self, data: &JsValue) -> Js<f64> {
        let data = bytes(data, "the data")?;
        Ok(self.whole()?.doc.load_incremental(&data).map_err(thrown)? as f64)
    }

    /// Merges the changes of another document; returns the heads.
    pub fn merge(&self, other: &Automerge) -> Js {
        let (mut own, mut other) = (self.whole()?, other.whole()?);
        Ok(exports::hashes(&own.doc.merge(&mut other.doc).map_err(thrown)?))
    }

    /// The number of uncommitted operations.
    #[wasm_bindgen(js_name = pendingOps)]
    pub fn pending_ops(&self) -> Js<f64> {
        Ok(self.read()?.doc.pending_ops() as f64)
    }

    /// Commits the pending edits; returns the hash of the change, or null without edits.
    pub fn commit(&self, message: &JsValue, time: Option<f64>) -> Js {
        let message = maybe_text(message, "the message")?;
        let mut inner = self.edit()?;
        let options = inner.options(message, time);
        let commit = inner.doc.commit_with(&options);
        let hash = commit.and_then(|commit| inner.doc.hash(commit));
        Ok(hash.as_ref().map_or(JsValue::NULL, exports::hash))
    }

    /// Makes a change without operations; returns its hash.
    #[wasm_bindgen(js_name = emptyChange)]
    pub fn empty_change(&self, message: &JsValue, time: Option<f64>) -> Js {
        let message = maybe_text(message, "the message")?;
        let mut inner = self.whole()?;
        let options = inner.options(message, time);
        let commit = inner.doc.empty_commit(&options);
        let hash = inner.doc.hash(commit).ok_or_else(|| thrown("the change is not there"))?;
        Ok(exports::hash(&hash))
    }

    /// Rolls back the pending edits; returns their number of operations.
    pub fn rollback(&self) -> Js<f64> {
        Ok(self.edit()?.doc.rollback() as f64)
    }

    /// Reads and writes the document at some heads, until `integrate`.
    pub fn isolate(&self, at: JsValue) -> Js<()> {
        let at = heads(at)?.ok_or_else(|| thrown("no heads specified"))?;
        self.whole()?.doc.isolate(&at).map_err(thrown)
    }

    /// Returns to the whole document.
    pub fn integrate(&self) -> Js<()> {
        self.whole()?.doc.integrate();
        Ok(())
    }

    /// Sets whether shown objects are frozen; returns the previous setting.
    #[wasm_bindgen(js_name = enableFreeze)]
    pub fn enable_freeze(&self, enable: &JsValue) -> Js<bool> {
        let enable = enable.as_bool().ok_or_else(|| thrown("must pass a bool to enableFreeze"))?;
        Ok(std::mem::replace(&mut self.edit()?.freeze, enable))
    }

    /// Registers how scalars of a type are shown and read.
    #[wasm_bindgen(js_name = registerDatatype)]
    pub fn register_datatype(&self, datatype: &JsValue, construct: JsValue, deconstruct: JsValue) -> Js<()> {
        let name = text(datatype, "the datatype")?;
        Rc::make_mut(&mut self.edit()?.types).register(name, construct, deconstruct);
        Ok(())
    }

    /// An object with its contents, now or at heads.
    pub fn materialize(&self, obj: &JsValue, at: JsValue, meta: &JsValue) -> Js {
        let at = heads(at)?;
        let mut inner = self.whole()?;
        let obj = match obj.as_string() {
            Some(obj) => inner.object(&obj)?.0,
            None => ObjId::Root,
        };
        let shown =
            Materializer::new(inner.view(at.as_deref())?, &inner.types, inner.freeze, meta)?.whole(obj)?;
        inner.doc.update_diff_cursor();
        Ok(shown)
    }

    /// The document with its contents.
    #[wasm_bindgen(js_name = toJS)]
    pub fn to_js(&self, meta: &JsValue) -> Js {
        let inner = self.read()?;
        Materializer::new(inner.view(None)?, &inner.types, inner.freeze, meta)?.whole(ObjId::Root)
    }

    /// The objects that show the document, updated with all new changes.
    #[wasm_bindgen(js_name = applyPatches)]
    pub fn apply_patches(&self, object: &JsValue, meta: &JsValue) -> Js {
        let mut inner = self.whole()?;
        let shown = follow(&mut inner, object, meta).map(|(shown, _)| shown);
        inner.record_shown(shown)
    }

    /// As `applyPatches`; also returns the patches.
    #[wasm_bindgen(js_name = applyAndReturnPatches)]
    pub fn apply_and_return_patches(&self, object: &JsValue, meta: &JsValue) -> Js {
        let mut inner = self.whole()?;
        let recorded = inner.doc.recorded_patches();
        let shown = follow(&mut inner, object, meta).and_then(|(shown, patches)| {
            let patches = recorded.unwrap_or(patches);
            let patches = exports::patches(&patches, &inner.types)?;
            Ok(exports::object([("value", shown), ("patches", patches.into())])?.into())
        });
        inner.record_shown(shown)
    }

    /// The patches since the last call.
    #[wasm_bindgen(js_name = diffIncremental)]
    pub fn diff_incremental(&self) -> Js<Array> {
        let mut inner = self.whole()?;
        let Inner { doc, types, .. } = &mut *inner;
        if let Some(recorded) = doc.recorded_patches() {
            let shown = exports::patches(&recorded, types)?;
            doc.update_diff_cursor();
            return Ok(shown);
        }
        doc.try_diff_incremental(|patches| exports::patches(&patches, types))
    }

    /// Later patches start from the current state.
    #[wasm_bindgen(js_name = updateDiffCursor)]
    pub fn update_diff_cursor(&self) -> Js<()> {
        self.whole()?.doc.update_diff_cursor();
        Ok(())
    }

    /// Later patches start from the empty document.
    #[wasm_bindgen(js_name = resetDiffCursor)]
    pub fn reset_diff_cursor(&self) -> Js<()> {
        self.edit()?.doc.reset_diff_cursor();
        Ok(())
    }

    /// The patches between two points of the history.
    pub fn diff(&self, before: JsValue, after: JsValue) -> Js<Array> {
        let (before, after) = (needed(before, "before")?, needed(after, "after")?);
        let mut inner = self.whole()?;
        let patches = known(inner.doc.diff(&before, &after))?;
        exports::patches(&patches, &inner.types)
    }

    /// The patches of one object between two points of the history, with its contents unless `recursive` is false.
    #[wasm_bindgen(js_name = diffPath)]
    pub fn diff_path(&self, path: &JsValue, before: JsValue, after: JsValue, options: &JsValue) -> Js<Array> {
        let path = text(path, "the path")?;
        let (before, after) = (needed(before, "before")?, needed(after, "after")?);
        let deep = property(options, "recursive")?.as_bool().unwrap_or(true);
        let mut inner = self.whole()?;
        let obj = inner.object(&path)?.0;
        let patches = known(inner.doc.diff_obj(&obj, &before, &after, deep))?;
        exports::patches(&patches, &inner.types)
    }

    /// A block of a text with its contents; null for another element.
    #[wasm_bindgen(js_name = getBlock)]
    pub fn get_block(&self, obj: &JsValue, at: &JsValue, then: JsValue) -> Js {
        let (obj, at, then) = (text(obj, "the object")?, index(at, "the index")?, heads(then)?);
        let inner = self.read()?;
        let obj = inner.object(&obj)?.0;
        let found = inner.doc.get(&obj, at).map_err(thrown)?;
        let Some((hashmill_doc::Value::Object(ObjType::Map), block)) = found else {
            return Ok(JsValue::NULL);
        };
        let block = inner.view(then.as_deref())?.hydrate(&block).map_err(thrown)?;
        exports::literal(block, &inner.types)
    }
}

fn load_options(actor: Option<ActorId>) -> LoadOptions {
    let load = LoadOptions::new().text_encoding(TextEncoding::Utf16CodeUnit).limits(limits());
    match actor {
        Some(actor) => load.actor(actor),
        None => load,
    }
}

fn actor(value: &JsValue) -> Js<Option<ActorId>> {
    maybe_text(value, "the actor")?.map(|actor| hex(&actor).map(ActorId::from)).transpose()
}

/// With unknown heads there are no patches, as `diff` of the package promises.
fn known(steps: Result<Vec<Patch>, EditError>) -> Js<Vec<Patch>> {
    match steps {
        Err(EditError::UnknownHash(_)) => Ok(vec![]),
        steps => steps.map_err(thrown),
    }
}

fn needed(at: JsValue, which: &str) -> Js<Vec<ChangeHash>> {
    let wrong = |error: JsValue| {
        let message = error.dyn_ref::<js_sys::Error>().map(|error| String::from(error.message()));
        thrown(format_args!("invalid {which} heads: {}", message.unwrap_or_default()))
    };
    let at = heads(at).map_err(wrong)?;
    at.ok_or_else(|| thrown(format_args!("{which} heads were null or undefined")))
}
