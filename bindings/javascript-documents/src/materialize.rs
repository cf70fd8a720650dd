//! The plain objects that show a document, and their updates. Each has hidden properties: the id of the object in the document,
//! its type, and metadata of the caller.

use std::collections::HashMap;

use hashmill_doc::{ObjId, ObjType, Patch, PatchAction, Prop, ReadDoc as _, ScalarValue, Value, View};
use js_sys::{Array, Function, JsString, Object, Reflect, Symbol};
use wasm_bindgen::{JsCast as _, JsValue};

use crate::state::Inner;
use crate::values::arguments::{Js, MemoryBudget, copied, thrown};
use crate::values::exports::{object, set, set_key, set_prop};
use crate::values::scalars;
use crate::values::scalars::Types;

/// Placeholder for elements of a text that are not characters.
const PLACEHOLDER: &str = "\u{fffc}";
/// Maximum number of elements per insertion: each is an argument of a call.
const AT_ONCE: usize = 4096;

/// The names of hidden properties.
struct Hidden {
    object: Symbol,
    datatype: Symbol,
    meta: Symbol,
    raw: Symbol,
}

thread_local! {
    static HIDDEN: Hidden = Hidden {
        object: Symbol::for_("_am_objectId"),
        datatype: Symbol::for_("_am_datatype_"),
        meta: Symbol::for_("_am_meta"),
        raw: Symbol::for_("_am_raw_value_"),
    };
}

/// Shows parts of a document.
pub(crate) struct Materializer<'a> {
    view: View<'a>,
    types: &'a Types,
    freeze: bool,
    meta: &'a JsValue,
    /// The descriptor of a hidden property, without its value.
    definition: Object,
    /// Objects that are created but not filled yet.
    todo: Vec<(Object, ObjId, ObjType)>,
    /// Objects to be frozen at the end.
    to_freeze: Vec<Object>,
}

impl<'a> Materializer<'a> {
    pub(crate) fn new(view: View<'a>, types: &'a Types, freeze: bool, meta: &'a JsValue) -> Js<Self> {
        let no = || JsValue::FALSE;
        let definition = object([("writable", no()), ("enumerable", no()), ("configurable", no())])?;
        Ok(Self { view, types, freeze, meta, definition, todo: vec![], to_freeze: vec![] })
    }

    /// An object with its contents. Objects are filled one after the other, because they may be nested deeper than the stack.
    pub(crate) fn whole(mut self, obj: ObjId) -> Js {
        let kind = self.view.object_type(&obj).map_err(thrown)?;
        let shown = self.value(&Value::Object(kind), obj)?;
        while let Some((object, obj, kind)) = self.todo.pop() {
            if kind == ObjType::List {
                let list: &Array = object.unchecked_ref();
                for item in self.view.list_range(&obj, ..) {
                    list.push(&self.value(&item.value, item.id)?);
                }
            } else {
                for item in self.view.map_range(&obj, ..) {
                    set_key(&object, item.key, &self.value(&item.value, item.id)?)?;
                }
            }
        }
        self.done();
        Ok(shown)
    }

    /// A value: objects are empty, and queued to be filled.
    fn value(&mut self, value: &Value<'_>, obj: ObjId) -> Js {
        let kind = match value {
            Value::Scalar(value) => return self.scalar(value),
            Value::Object(ObjType::Text) => {
                return Ok(JsValue::from_str(&self.view.text(&obj).map_err(thrown)?));
            }
            Value::Object(kind) => *kind,
        };
        let object = self.empty(kind, &obj)?;
        self.todo.push((object.clone(), obj, kind));
        Ok(object.into())
    }

    /// A value in a patch: its contents come with other patches.
    fn value_alone(&mut self, value: &Value<'_>, obj: &ObjId) -> Js {
        match value {
            Value::Scalar(value) => self.scalar(value),
            Value::Object(ObjType::Text) => Ok(JsValue::from_str("")),
            Value::Object(kind) => self.empty(*kind, obj).map(JsValue::from),
        }
    }

    fn empty(&mut self, kind: ObjType, obj: &ObjId) -> Js<Object> {
        let object = if kind == ObjType::List { Array::new().into() } else { Object::new() };
        self.label(&object, &JsValue::from_str(&obj.to_string()), &JsValue::from_str(&kind.to_string()))?;
        Ok(object)
    }

    /// Adds hidden properties to an object.
    fn label(&mut self, object: &Object, obj: &JsValue, datatype: &JsValue) -> Js<()> {
        HIDDEN.with(|hidden| {
            self.hide(object, &hidden.object, obj)?;
            self.hide(object, &hidden.datatype, datatype)?;
            self.hide(object, &hidden.meta, self.meta)
        })?;
        if self.freeze {
            self.to_freeze.push(object.clone());
        }
        Ok(())
    }

    fn hide(&self, object: &Object, name: &Symbol, value: &JsValue) -> Js<()> {
        set(&self.definition, "value", value)?;
        Reflect::define_property(object, name, &self.definition).map(drop)
    }

    fn scalar(&self, value: &ScalarValue<'_>) -> Js {
        let (plain, name) = (scalars::plain(value), scalars::name(value));
        let Some(wrapped) = self.types.construct(name, &plain) else { return Ok(plain) };
        let wrapped = wrapped?;
        if let Some(object) = wrapped.dyn_ref::<Object>() {
            HIDDEN.with(|hidden| {
                self.hide(object, &hidden.raw, &plain)?;
                self.hide(object, &hidden.datatype, &JsValue::from_str(name))
            })?;
        }
        Ok(wrapped)
    }

    fn done(&mut self) {
        self.to_freeze.drain(..).for_each(|object| drop(Object::freeze(&object)));
    }
}

/// Objects that were not updated with the document so far, or do not fit a patch, are created anew.
enum ApplyFailure {
    NotThere,
    Thrown(JsValue),
}

impl From<JsValue> for ApplyFailure {
    fn from(thrown: JsValue) -> Self {
        Self::Thrown(thrown)
    }
}

/// The objects that show the document, after all patches: changed objects are copies, the others are the same as before.
pub(crate) fn follow(inner: &mut Inner, shown: &JsValue, meta: &JsValue) -> Js<(JsValue, Vec<Patch>)> {
    let shown: &Object = shown.dyn_ref().ok_or_else(|| thrown("patch was not an object"))?;
    let first = inner.doc.diff_cursor().is_empty();
    let patches = inner.doc.diff_incremental();
    let show = || Materializer::new(inner.doc.view(), &inner.types, inner.freeze, meta);
    if !first {
        if meta.is_undefined() && patches.is_empty() {
            return Ok((shown.clone().into(), patches));
        }
        let mut follow = PatchApplier { show: show()?, copies: HashMap::new() };
        match follow.apply_patches(shown, &patches) {
            Ok(root) => return Ok((root.into(), patches)),
            Err(ApplyFailure::Thrown(error)) => return Err(error),
            Err(ApplyFailure::NotThere) => {}
        }
    }
    Ok((show()?.whole(ObjId::Root)?, patches))
}

struct PatchApplier<'a> {
    show: Materializer<'a>,
    /// Copied or new objects, which may be modified.
    copies: HashMap<ObjId, Object>,
}

impl PatchApplier<'_> {
    fn apply_patches(&mut self, root: &Object, patches: &[Patch]) -> Result<Object, ApplyFailure> {
        let root = self.owned_copy(root, &ObjId::Root)?.0;
        for patch in patches {
            self.apply_patch(&root, patch)?;
        }
        self.show.done();
        Ok(root)
    }

    /// The copy of an object, and whether it is new.
    fn owned_copy(&mut self, object: &Object, obj: &ObjId) -> Result<(Object, bool), ApplyFailure> {
        if let Some(copy) = self.copies.get(obj) {
            return Ok((copy.clone(), false));
        }
        let (name, datatype) = HIDDEN.with(|hidden| {
            Js::Ok((Reflect::get(object, &hidden.object)?, Reflect::get(object, &hidden.datatype)?))
        })?;
        if name.as_string().is_none_or(|name| name != obj.to_string()) {
            return Err(ApplyFailure::NotThere);
        }
        let copy = copied(object)?;
        self.show.label(&copy, &name, &datatype)?;
        self.copies.insert(obj.clone(), copy.clone());
        Ok((copy, true))
    }

    fn apply_patch(&mut self, root: &Object, patch: &Patch) -> Result<(), ApplyFailure> {
        let path: Vec<_> = patch.path.iter().collect();
        let mut current = root.clone();
        for (at, (_, prop)) in path.iter().enumerate() {
            let found = Reflect::get(&current, &crate::values::exports::prop(prop))?;
            if let Some(text) = found.dyn_ref::<JsString>() {
                // The contents of a block are not shown.
                if at + 1 == path.len()
                    && let Some(new) = in_text(text, &patch.action)
                {
                    set_prop(&current, prop, &new)?;
                }
                return Ok(());
            }
            let obj = path.get(at + 1).map_or(&patch.obj, |(obj, _)| *obj);
            let (owned_copy, new) = self.owned_copy(found.dyn_ref().ok_or(ApplyFailure::NotThere)?, obj)?;
            if new {
                set_prop(&current, prop, &owned_copy)?;
            }
            current = owned_copy;
        }
        match current.dyn_ref::<Array>() {
            Some(list) => self.in_list(list, &patch.action),
            None => self.in_map(&current, &patch.action),
        }
    }

    /// A new value, which may be modified later if it is an object.
    fn put(&mut self, (value, obj): (&Value<'_>, &ObjId)) -> Js {
        let shown = self.show.value_alone(value, obj)?;
        if let (Value::Object(_), Some(object)) = (value, shown.dyn_ref::<Object>()) {
            self.copies.insert(obj.clone(), object.clone());
        }
        Ok(shown)
    }

    fn in_map(&mut self, map: &Object, action: &PatchAction) -> Result<(), ApplyFailure> {
        match action {
            PatchAction::PutMap { key, value: (value, obj), .. } => {
                set_key(map, key, &self.put((value, obj))?)?;
            }
            PatchAction::DeleteMap { key } => {
                Reflect::delete_property(map, &JsValue::from_str(key))?;
            }
            PatchAction::Increment { prop: Prop::Map(key), value } => {
                let incremented = self.incremented(&Reflect::get(map, &JsValue::from_str(key))?, *value)?;
                set_key(map, key, &incremented)?;
            }
            PatchAction::Conflict { .. } => {}
            _ => return Err(ApplyFailure::NotThere),
        }
        Ok(())
    }

    fn in_list(&mut self, list: &Array, action: &PatchAction) -> Result<(), ApplyFailure> {
        match action {
            PatchAction::PutSeq { index, value: (value, obj), .. } => {
                list.set(*index as u32, self.put((value, obj))?);
            }
            PatchAction::Insert { index, values } => {
                let mut at = *index;
                for chunk in values.chunks(AT_ONCE) {
                    let args = Array::of2(&JsValue::from_f64(at as f64), &JsValue::from_f64(0.0));
                    for (value, obj, _) in chunk {
                        args.push(&self.put((value, obj))?);
                    }
                    splice(list, &args)?;
                    at += chunk.len();
                }
            }
            PatchAction::DeleteSeq { index, length } => {
                let args = Array::of2(&JsValue::from_f64(*index as f64), &JsValue::from_f64(*length as f64));
                splice(list, &args)?;
            }
            PatchAction::Increment { prop: Prop::Seq(index), value } => {
                list.set(*index as u32, self.incremented(&list.get(*index as u32), *value)?);
            }
            PatchAction::Conflict { .. } => {}
            _ => return Err(ApplyFailure::NotThere),
        }
        Ok(())
    }

    /// An incremented counter.
    fn incremented(&self, old: &JsValue, by: i64) -> Result<JsValue, ApplyFailure> {
        let raw =
            if old.is_object() { HIDDEN.with(|hidden| Reflect::get(old, &hidden.raw))? } else { old.clone() };
        let ScalarValue::Counter(old) = scalars::typed(&raw, "counter", &MemoryBudget::default())? else {
            return Err(ApplyFailure::NotThere);
        };
        Ok(self.show.scalar(&ScalarValue::Counter(old.wrapping_add(by)))?)
    }
}

fn splice(list: &Array, args: &Array) -> Js<()> {
    let splice: Function = Reflect::get(list, &JsValue::from_str("splice"))?.unchecked_into();
    Reflect::apply(&splice, list, args).map(drop)
}

/// A text after a patch; `None` for a patch that does not change it.
fn in_text(text: &JsString, action: &PatchAction) -> Option<JsValue> {
    let cut = |index: usize, length: usize, new: &str| {
        let (before, after) =
            (text.slice(0, index as u32), text.slice((index + length) as u32, text.length()));
        before.concat(&JsValue::from_str(new)).concat(&after).into()
    };
    match action {
        PatchAction::SpliceText { index, value, .. } => Some(cut(*index, 0, value)),
        PatchAction::Insert { index, values } => Some(cut(*index, 0, &PLACEHOLDER.repeat(values.len()))),
        PatchAction::DeleteSeq { index, length } => Some(cut(*index, *length, "")),
        _ => None,
    }
}
