//! The class `Automerge`: making, loading, saving, committing.

use std::cell::{Ref, RefCell, RefMut};
use std::rc::Rc;

use hashmill_doc::{
    ActorId, AutoCommit, ChangeHash, CommitOptions, EditError, LoadOptions, ObjId, ObjType, OnPartialLoad,
    Patch, ReadDoc as _, StringMigration, TextEncoding, Transactable as _, Verify, View,
};
use js_sys::Array;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsValue};

use crate::arguments::{
    Js, bytes, flag, heads, hex, index, maybe_text, object_and_path, property, text, thrown,
};
use crate::exports;
use crate::limits::limits;
use crate::scalars::Types;
use crate::shown::{Show, follow};

/// A document with what its caller wants to see of it.
pub(crate) struct Inner {
    pub(crate) doc: AutoCommit,
    pub(crate) types: Rc<Types>,
    /// Whether what is shown is frozen.
    pub(crate) freeze: bool,
    /// Who stands behind the actor.
    pub(crate) author: Option<Vec<u8>>,
}

impl Inner {
    fn of(mut doc: AutoCommit) -> Self {
        doc.record_order();
        Self { doc, types: Rc::default(), freeze: false, author: None }
    }

    pub(crate) fn view(&self, heads: Option<&[ChangeHash]>) -> Js<View<'_>> {
        match heads {
            None => Ok(self.doc.view()),
            Some(heads) => self.doc.at(heads).map_err(thrown),
        }
    }

    /// The object that a name and a path lead to.
    pub(crate) fn object(&self, text: &str) -> Js<(ObjId, ObjType)> {
        let (mut obj, path) = object_and_path(text)?;
        let view = self.doc.view();
        let unknown = || thrown(format_args!("invalid object ID: {text} leads to no object"));
        let mut kind = view.object_type(&obj).map_err(|_| unknown())?;
        for step in path {
            let found = match step.parse::<usize>() {
                Ok(index) if kind.is_sequence() => view.get(&obj, index),
                _ => view.get(&obj, step),
            };
            let (value, id) = found.ok().flatten().ok_or_else(unknown)?;
            kind = value.as_object().ok_or_else(unknown)?;
            obj = id;
        }
        Ok((obj, kind))
    }

    fn options(&self, message: Option<String>, time: Option<f64>) -> CommitOptions {
        let mut options = CommitOptions::default().with_time(time.map_or(0, |time| time as i64));
        if let Some(message) = message {
            options = options.with_message(message);
        }
        match &self.author {
            Some(author) => options.with_author(author.clone()),
            None => options,
        }
    }

    /// What the caller did not get for an exception, it has not seen: the next time all is shown anew.
    fn told(&mut self, told: Js) -> Js {
        if told.is_err() {
            self.doc.reset_diff_cursor();
        }
        told
    }

    /// Makes what is open a change before something else does, which would not know the author.
    pub(crate) fn settle(&mut self) {
        if self.author.is_some() && self.doc.pending_ops() > 0 {
            let options = self.options(None, None);
            self.doc.commit_with(&options);
        }
    }
}

/// A document. Whoever calls it while it is at work, as functions of registered types could, is told so.
#[wasm_bindgen]
pub struct Automerge(RefCell<Inner>);

impl Automerge {
    fn of(inner: Inner) -> Self {
        Self(RefCell::new(inner))
    }

    pub(crate) fn read(&self) -> Js<Ref<'_, Inner>> {
        self.0.try_borrow().map_err(|_| thrown("the document is being changed"))
    }

    /// To be edited.
    pub(crate) fn edit(&self) -> Js<RefMut<'_, Inner>> {
        self.0.try_borrow_mut().map_err(|_| thrown("the document is in use"))
    }

    /// To be asked for what takes all edits to be committed.
    pub(crate) fn whole(&self) -> Js<RefMut<'_, Inner>> {
        let mut inner = self.edit()?;
        inner.settle();
        Ok(inner)
    }

    /// The types, to call functions of the caller while the document is free.
    pub(crate) fn types(&self) -> Js<Rc<Types>> {
        Ok(Rc::clone(&self.read()?.types))
    }

    /// Another document that is shown as this one.
    fn like(&self, doc: AutoCommit, actor: Option<ActorId>) -> Js<Self> {
        let inner = self.read()?;
        let (types, author) = (Rc::clone(&inner.types), inner.author.clone());
        let mut other = Inner { types, freeze: inner.freeze, author, ..Inner::of(doc) };
        if let Some(actor) = actor {
            other.doc.set_actor(actor);
        }
        Ok(Self::of(other))
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
    let mut load = options_of(actor(&property(options, "actor")?)?);
    if flag(options, "unchecked")? {
        load = load.verify(Verify::Later);
    }
    if flag(options, "allowMissingDeps")? {
        load = load.on_partial_load(OnPartialLoad::Ignore);
    }
    if flag(options, "convertImmutableStringsToText")? {
        load = load.migrate_strings(StringMigration::ConvertToText);
    }
    Ok(Automerge::of(Inner::of(AutoCommit::load_with(&data, load).map_err(thrown)?)))
}

#[wasm_bindgen]
impl Automerge {
    /// An empty document.
    pub fn new(actor: &JsValue) -> Js<Automerge> {
        // Nothing at all is an empty document, within the same limits as another.
        let doc = AutoCommit::load_with(&[], options_of(self::actor(actor)?)).map_err(thrown)?;
        Ok(Self::of(Inner::of(doc)))
    }

    /// The same document with the same actor, or another.
    #[allow(clippy::should_implement_trait, reason = "the name it has in JavaScript")]
    pub fn clone(&self, actor: &JsValue) -> Js<Automerge> {
        let actor = self::actor(actor)?;
        let doc = self.whole()?.doc.document().clone();
        self.like(doc.into(), actor)
    }

    /// The same document, or what it was, with another actor.
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

    /// The same document without what it says.
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

    /// As `save`; the file is loaded again before it is given out.
    #[wasm_bindgen(js_name = saveAndVerify)]
    pub fn save_and_verify(&self) -> Js {
        Ok(exports::bytes(&self.whole()?.doc.save_and_verify().map_err(thrown)?))
    }

    /// What is new since the last save.
    #[wasm_bindgen(js_name = saveIncremental)]
    pub fn save_incremental(&self) -> Js {
        Ok(exports::bytes(&self.whole()?.doc.save_incremental()))
    }

    /// What is new since some heads.
    #[wasm_bindgen(js_name = saveSince)]
    pub fn save_since(&self, since: JsValue) -> Js {
        let since = heads(since)?.unwrap_or_default();
        Ok(exports::bytes(&self.whole()?.doc.save_after(&since)))
    }

    /// Takes what a file has; gives how many changes are new.
    #[wasm_bindgen(js_name = loadIncremental)]
    pub fn load_incremental(&self, data: &JsValue) -> Js<f64> {
        let data = bytes(data, "the data")?;
        Ok(self.whole()?.doc.load_incremental(&data).map_err(thrown)? as f64)
    }

    /// Takes over what another document has; gives the heads.
    pub fn merge(&self, other: &Automerge) -> Js {
        let (mut ours, mut theirs) = (self.whole()?, other.whole()?);
        Ok(exports::hashes(&ours.doc.merge(&mut theirs.doc).map_err(thrown)?))
    }

    /// How many operations are not committed.
    #[wasm_bindgen(js_name = pendingOps)]
    pub fn pending_ops(&self) -> Js<f64> {
        Ok(self.read()?.doc.pending_ops() as f64)
    }

    /// Makes what was edited a change; gives its hash, or null where nothing was.
    pub fn commit(&self, message: &JsValue, time: Option<f64>) -> Js {
        let message = maybe_text(message, "the message")?;
        let mut inner = self.edit()?;
        let options = inner.options(message, time);
        let commit = inner.doc.commit_with(&options);
        let hash = commit.and_then(|commit| inner.doc.hash(commit));
        Ok(hash.as_ref().map_or(JsValue::NULL, exports::hash))
    }

    /// Makes a change without operations; gives its hash.
    #[wasm_bindgen(js_name = emptyChange)]
    pub fn empty_change(&self, message: &JsValue, time: Option<f64>) -> Js {
        let message = maybe_text(message, "the message")?;
        let mut inner = self.whole()?;
        let options = inner.options(message, time);
        let commit = inner.doc.empty_commit(&options);
        let hash = inner.doc.hash(commit).ok_or_else(|| thrown("the change is not there"))?;
        Ok(exports::hash(&hash))
    }

    /// Takes back what was edited; gives how many operations there were.
    pub fn rollback(&self) -> Js<f64> {
        Ok(self.edit()?.doc.rollback() as f64)
    }

    /// Reads and writes the document as it was, until `integrate`.
    pub fn isolate(&self, at: JsValue) -> Js<()> {
        let at = heads(at)?.ok_or_else(|| thrown("no heads specified"))?;
        self.whole()?.doc.isolate(&at).map_err(thrown)
    }

    /// Goes back to the whole document.
    pub fn integrate(&self) -> Js<()> {
        self.whole()?.doc.integrate();
        Ok(())
    }

    /// Whether what is shown is frozen from now on; gives whether it was so far.
    #[wasm_bindgen(js_name = enableFreeze)]
    pub fn enable_freeze(&self, enable: &JsValue) -> Js<bool> {
        let enable = enable.as_bool().ok_or_else(|| thrown("must pass a bool to enableFreeze"))?;
        Ok(std::mem::replace(&mut self.edit()?.freeze, enable))
    }

    /// How scalars of a type are shown and read.
    #[wasm_bindgen(js_name = registerDatatype)]
    pub fn register_datatype(&self, datatype: &JsValue, construct: JsValue, deconstruct: JsValue) -> Js<()> {
        let name = text(datatype, "the datatype")?;
        Rc::make_mut(&mut self.edit()?.types).register(name, construct, deconstruct);
        Ok(())
    }

    /// An object with everything in it, now or at heads.
    pub fn materialize(&self, obj: &JsValue, at: JsValue, meta: &JsValue) -> Js {
        let at = heads(at)?;
        let mut inner = self.whole()?;
        let obj = match obj.as_string() {
            Some(obj) => inner.object(&obj)?.0,
            None => ObjId::Root,
        };
        let shown = Show::new(inner.view(at.as_deref())?, &inner.types, inner.freeze, meta)?.whole(obj)?;
        inner.doc.update_diff_cursor();
        Ok(shown)
    }

    /// The document with everything in it.
    #[wasm_bindgen(js_name = toJS)]
    pub fn to_js(&self, meta: &JsValue) -> Js {
        let inner = self.read()?;
        Show::new(inner.view(None)?, &inner.types, inner.freeze, meta)?.whole(ObjId::Root)
    }

    /// What shows the document, after all that is new.
    #[wasm_bindgen(js_name = applyPatches)]
    pub fn apply_patches(&self, object: &JsValue, meta: &JsValue) -> Js {
        let mut inner = self.whole()?;
        let told = follow(&mut inner, object, meta).map(|(shown, _)| shown);
        inner.told(told)
    }

    /// As `applyPatches`; gives what is new, too.
    #[wasm_bindgen(js_name = applyAndReturnPatches)]
    pub fn apply_and_return_patches(&self, object: &JsValue, meta: &JsValue) -> Js {
        let mut inner = self.whole()?;
        let recorded = inner.doc.recorded_patches();
        let told = follow(&mut inner, object, meta).and_then(|(shown, patches)| {
            let patches = recorded.unwrap_or(patches);
            let patches = exports::patches(&patches, &inner.types)?;
            Ok(exports::object([("value", shown), ("patches", patches.into())])?.into())
        });
        inner.told(told)
    }

    /// What is new since the last time.
    #[wasm_bindgen(js_name = diffIncremental)]
    pub fn diff_incremental(&self) -> Js<Array> {
        let mut inner = self.whole()?;
        let Inner { doc, types, .. } = &mut *inner;
        if let Some(recorded) = doc.recorded_patches() {
            let told = exports::patches(&recorded, types)?;
            doc.update_diff_cursor();
            return Ok(told);
        }
        doc.try_diff_incremental(|patches| exports::patches(&patches, types))
    }

    /// What is new counts from now on.
    #[wasm_bindgen(js_name = updateDiffCursor)]
    pub fn update_diff_cursor(&self) -> Js<()> {
        self.whole()?.doc.update_diff_cursor();
        Ok(())
    }

    /// All is new.
    #[wasm_bindgen(js_name = resetDiffCursor)]
    pub fn reset_diff_cursor(&self) -> Js<()> {
        self.edit()?.doc.reset_diff_cursor();
        Ok(())
    }

    /// The steps between two moments.
    pub fn diff(&self, before: JsValue, after: JsValue) -> Js<Array> {
        let (before, after) = (needed(before, "before")?, needed(after, "after")?);
        let mut inner = self.whole()?;
        let patches = known(inner.doc.diff(&before, &after))?;
        exports::patches(&patches, &inner.types)
    }

    /// The steps between two moments of one object, with what is in it unless `recursive` is false.
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

    /// The element of a text that is a block, with everything in it; null for another.
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

fn options_of(actor: Option<ActorId>) -> LoadOptions {
    let load = LoadOptions::new().text_encoding(TextEncoding::Utf16CodeUnit).limits(limits());
    match actor {
        Some(actor) => load.actor(actor),
        None => load,
    }
}

fn actor(value: &JsValue) -> Js<Option<ActorId>> {
    maybe_text(value, "the actor")?.map(|actor| hex(&actor).map(ActorId::from)).transpose()
}

/// Between heads of which one is not here there are no steps: what `diff` of the package promises.
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
