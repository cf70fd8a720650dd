//! The plain objects that show a document, and how they follow it. Each carries, where nobody sees it, the name of the
//! object in the document, its type, and what the caller wants to find there.

use std::collections::HashMap;

use hashmill_doc::{ObjId, ObjType, Patch, PatchAction, Prop, ReadDoc as _, ScalarValue, Value, View};
use js_sys::{Array, Function, JsString, Object, Reflect, Symbol};
use wasm_bindgen::{JsCast as _, JsValue};

use crate::arguments::{Js, Room, copied, thrown};
use crate::document::Inner;
use crate::exports::{object, set, set_key, set_prop};
use crate::scalars::{self, Types};

/// What stands in a text for what is no character.
const PLACEHOLDER: &str = "\u{fffc}";
/// So many elements are inserted by one call: each is an argument.
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
pub(crate) struct Show<'a> {
    view: View<'a>,
    types: &'a Types,
    freeze: bool,
    meta: &'a JsValue,
    /// What defines a property that nobody sees, but for its value.
    definition: Object,
    /// Objects that are there and have nothing in them yet.
    todo: Vec<(Object, ObjId, ObjType)>,
    /// To be frozen at the end.
    made: Vec<Object>,
}

impl<'a> Show<'a> {
    pub(crate) fn new(view: View<'a>, types: &'a Types, freeze: bool, meta: &'a JsValue) -> Js<Self> {
        let no = || JsValue::FALSE;
        let definition = object([("writable", no()), ("enumerable", no()), ("configurable", no())])?;
        Ok(Self { view, types, freeze, meta, definition, todo: vec![], made: vec![] })
    }

    /// An object with everything in it. Objects are filled one after the other: they may be nested deeper than the stack.
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

    /// A value: objects are empty, and noted to be filled.
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

    /// As in a patch: what is in it comes with others.
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

    /// Hides in an object what it shows.
    fn label(&mut self, object: &Object, obj: &JsValue, datatype: &JsValue) -> Js<()> {
        HIDDEN.with(|hidden| {
            self.hide(object, &hidden.object, obj)?;
            self.hide(object, &hidden.datatype, datatype)?;
            self.hide(object, &hidden.meta, self.meta)
        })?;
        if self.freeze {
            self.made.push(object.clone());
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
        self.made.drain(..).for_each(|object| drop(Object::freeze(&object)));
    }
}

/// What follows the document without having followed it so far, or is not what a step counts on, is made anew.
enum Misfit {
    NotThere,
    Thrown(JsValue),
}

impl From<JsValue> for Misfit {
    fn from(thrown: JsValue) -> Self {
        Self::Thrown(thrown)
    }
}

/// The objects that show the document, after all that is new: those that change are copies, the others are the same as
/// before.
pub(crate) fn follow(inner: &mut Inner, shown: &JsValue, meta: &JsValue) -> Js<(JsValue, Vec<Patch>)> {
    let shown: &Object = shown.dyn_ref().ok_or_else(|| thrown("patch was not an object"))?;
    let first = inner.doc.diff_cursor().is_empty();
    let patches = inner.doc.diff_incremental();
    let show = || Show::new(inner.doc.view(), &inner.types, inner.freeze, meta);
    if !first {
        if meta.is_undefined() && patches.is_empty() {
            return Ok((shown.clone().into(), patches));
        }
        let mut follow = Follow { show: show()?, copies: HashMap::new() };
        match follow.all(shown, &patches) {
            Ok(root) => return Ok((root.into(), patches)),
            Err(Misfit::Thrown(error)) => return Err(error),
            Err(Misfit::NotThere) => {}
        }
    }
    Ok((show()?.whole(ObjId::Root)?, patches))
}

struct Follow<'a> {
    show: Show<'a>,
    /// What was copied or made, and may be changed.
    copies: HashMap<ObjId, Object>,
}

impl Follow<'_> {
    fn all(&mut self, root: &Object, patches: &[Patch]) -> Result<Object, Misfit> {
        let root = self.mine(root, &ObjId::Root)?.0;
        for patch in patches {
            self.one(&root, patch)?;
        }
        self.show.done();
        Ok(root)
    }

    /// The copy of an object, and whether it was made now.
    fn mine(&mut self, object: &Object, obj: &ObjId) -> Result<(Object, bool), Misfit> {
        if let Some(copy) = self.copies.get(obj) {
            return Ok((copy.clone(), false));
        }
        let (name, datatype) = HIDDEN.with(|hidden| {
            Js::Ok((Reflect::get(object, &hidden.object)?, Reflect::get(object, &hidden.datatype)?))
        })?;
        if name.as_string().is_none_or(|name| name != obj.to_string()) {
            return Err(Misfit::NotThere);
        }
        let copy = copied(object)?;
        self.show.label(&copy, &name, &datatype)?;
        self.copies.insert(obj.clone(), copy.clone());
        Ok((copy, true))
    }

    fn one(&mut self, root: &Object, patch: &Patch) -> Result<(), Misfit> {
        let path: Vec<_> = patch.path.iter().collect();
        let mut current = root.clone();
        for (at, (_, prop)) in path.iter().enumerate() {
            let found = Reflect::get(&current, &crate::exports::prop(prop))?;
            if let Some(text) = found.dyn_ref::<JsString>() {
                // What is in a block is not shown.
                if at + 1 == path.len()
                    && let Some(new) = in_text(text, &patch.action)
                {
                    set_prop(&current, prop, &new)?;
                }
                return Ok(());
            }
            let obj = path.get(at + 1).map_or(&patch.obj, |(obj, _)| *obj);
            let (mine, new) = self.mine(found.dyn_ref().ok_or(Misfit::NotThere)?, obj)?;
            if new {
                set_prop(&current, prop, &mine)?;
            }
            current = mine;
        }
        match current.dyn_ref::<Array>() {
            Some(list) => self.in_list(list, &patch.action),
            None => self.in_map(&current, &patch.action),
        }
    }

    /// A new value, which may be changed from now on if it is an object.
    fn put(&mut self, (value, obj): (&Value<'_>, &ObjId)) -> Js {
        let shown = self.show.value_alone(value, obj)?;
        if let (Value::Object(_), Some(object)) = (value, shown.dyn_ref::<Object>()) {
            self.copies.insert(obj.clone(), object.clone());
        }
        Ok(shown)
    }

    fn in_map(&mut self, map: &Object, action: &PatchAction) -> Result<(), Misfit> {
        match action {
            PatchAction::PutMap { key, value: (value, obj), .. } => {
                set_key(map, key, &self.put((value, obj))?)?;
            }
            PatchAction::DeleteMap { key } => {
                Reflect::delete_property(map, &JsValue::from_str(key))?;
            }
            PatchAction::Increment { prop: Prop::Map(key), value } => {
                let grown = self.grown(&Reflect::get(map, &JsValue::from_str(key))?, *value)?;
                set_key(map, key, &grown)?;
            }
            PatchAction::Conflict { .. } => {}
            _ => return Err(Misfit::NotThere),
        }
        Ok(())
    }

    fn in_list(&mut self, list: &Array, action: &PatchAction) -> Result<(), Misfit> {
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
                list.set(*index as u32, self.grown(&list.get(*index as u32), *value)?);
            }
            PatchAction::Conflict { .. } => {}
            _ => return Err(Misfit::NotThere),
        }
        Ok(())
    }

    /// A counter that grew.
    fn grown(&self, old: &JsValue, by: i64) -> Result<JsValue, Misfit> {
        let raw =
            if old.is_object() { HIDDEN.with(|hidden| Reflect::get(old, &hidden.raw))? } else { old.clone() };
        let ScalarValue::Counter(old) = scalars::typed(&raw, "counter", &Room::default())? else {
            return Err(Misfit::NotThere);
        };
        Ok(self.show.scalar(&ScalarValue::Counter(old.wrapping_add(by)))?)
    }
}

fn splice(list: &Array, args: &Array) -> Js<()> {
    let splice: Function = Reflect::get(list, &JsValue::from_str("splice"))?.unchecked_into();
    Reflect::apply(&splice, list, args).map(drop)
}

/// A text after a step; nothing for one that does not change it.
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
