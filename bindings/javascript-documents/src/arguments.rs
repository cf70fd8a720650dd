//! What JavaScript gives: values, checked.

use std::cell::Cell;
use std::fmt::Display;
use std::hint::black_box;

use hashmill_doc::{ChangeHash, EditError, ExpandMark, Literal, ObjId, Prop};
use js_sys::{Array, Date, JsString, Object, RangeError, Reflect, Uint8Array};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsValue};

use crate::scalars::{self, Types};

/// What may be thrown instead.
pub(crate) type Js<T = JsValue> = Result<T, JsValue>;

/// Values may be nested as deep as this: what is deeper than the stack of the module would end it.
const DEEPEST: usize = 1000;

/// What a proxy, or an object that has no more than a prototype of such objects, may answer with an exception: it would leave a
/// call that does not catch it with what it borrowed.
#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = Object, js_name = keys)]
    fn keys_of(object: &JsValue) -> Js<Array>;
    #[wasm_bindgen(catch, js_namespace = Object, js_name = entries)]
    fn entries_of(object: &Object) -> Js<Array>;
    #[wasm_bindgen(catch, js_namespace = Array, js_name = isArray)]
    fn is_array(value: &JsValue) -> Js<bool>;
    #[wasm_bindgen(catch, js_namespace = Array, js_name = from)]
    fn array_from(value: &JsValue) -> Js<Array>;
    #[wasm_bindgen(catch, js_namespace = Date, js_name = "prototype.getTime.call")]
    pub(crate) fn time_of(date: &Date) -> Js<f64>;
    #[wasm_bindgen(catch, js_namespace = Uint8Array, js_name = "prototype.set.call")]
    fn set_from(bytes: &mut [u8], array: &Uint8Array) -> Js<()>;

    /// An array whose length is not what somebody put in front of it.
    #[wasm_bindgen(js_name = Uint8Array)]
    type Honest;
    #[wasm_bindgen(catch, method, final, getter, js_class = Uint8Array)]
    fn length(this: &Honest) -> Js<f64>;
}

/// A plain array of the elements, where it is an array.
pub(crate) fn elements(value: &JsValue) -> Js<Option<Array>> {
    if is_array(value)? { array_from(value).map(Some) } else { Ok(None) }
}

/// A plain object or array with the same in it. Assigning would take one key for what the copy inherits from.
pub(crate) fn copied(object: &Object) -> Js<Object> {
    match elements(object)? {
        Some(list) => Ok(list.into()),
        None => Object::from_entries(&entries_of(object)?.into()),
    }
}

/// The exception that says `error`.
pub(crate) fn thrown(error: impl Display) -> JsValue {
    RangeError::new(&error.to_string()).into()
}

/// As [`thrown`], in the words of the original where its users look for them.
pub(crate) fn refused(error: EditError) -> JsValue {
    match error {
        EditError::Index { index, len } => {
            thrown(format_args!("index {index} is out of bounds: past the end, {len}"))
        }
        error => thrown(error),
    }
}

/// The property of an object, or of nothing at all, which has none.
pub(crate) fn property(object: &JsValue, name: &str) -> Js {
    if object.is_undefined() || object.is_null() {
        return Ok(JsValue::UNDEFINED);
    }
    Reflect::get(object, &JsValue::from_str(name))
}

/// Whether a property is true; not being there is not.
pub(crate) fn flag(object: &JsValue, name: &str) -> Js<bool> {
    Ok(property(object, name)?.as_bool().unwrap_or(false))
}

/// Nothing for what says nothing.
pub(crate) fn given(value: JsValue) -> Option<JsValue> {
    (!value.is_undefined() && !value.is_null()).then_some(value)
}

/// Whenever so many bytes more were taken it is asked whether there is room for them. A module that lacks memory ends.
const LARGE: f64 = 16_777_216.0;
/// What is left for the document besides, and for what was not asked for.
const RESERVE: f64 = 4.0 * LARGE;
/// What an element of an array takes, besides what is in it.
const ELEMENT: f64 = 64.0;

/// How many bytes a call has taken: many that are small are as large as one.
#[derive(Default)]
pub(crate) struct Room(Cell<f64>);

impl Room {
    /// An exception where there is no room for so many bytes more and what is made of all.
    fn take(&self, bytes: f64) -> Js<()> {
        let before = self.0.get();
        let all = before + bytes;
        self.0.set(all);
        if (before / LARGE).floor() == (all / LARGE).floor() {
            return Ok(());
        }
        let wanted = all * 4.0 + RESERVE;
        // Taken in fact, and given back: what nobody looks at would be left out.
        let mut probe = Vec::<u8>::new();
        let taken = probe.try_reserve_exact(wanted as usize);
        black_box(&probe);
        if wanted > usize::MAX as f64 || taken.is_err() {
            return Err(thrown(format_args!("the module has no room for {all} more bytes")));
        }
        Ok(())
    }

    /// What a string says, if it is one; what has no meaning in Unicode is replaced.
    pub(crate) fn string(&self, value: &JsValue) -> Js<Option<String>> {
        let Some(text) = value.dyn_ref::<JsString>() else { return Ok(None) };
        // Each unit is up to three bytes.
        self.take(f64::from(text.length()) * 3.0)?;
        Ok(value.as_string())
    }

    pub(crate) fn text(&self, value: &JsValue, what: &str) -> Js<String> {
        self.string(value)?.ok_or_else(|| thrown(format_args!("{what} must be a string")))
    }

    /// A plain array of the elements, where it is an array.
    pub(crate) fn elements(&self, value: &JsValue) -> Js<Option<Array>> {
        let elements = elements(value)?;
        elements.iter().try_for_each(|array| self.take(f64::from(array.length()) * ELEMENT))?;
        Ok(elements)
    }

    pub(crate) fn array(&self, value: &JsValue, what: &str) -> Js<Array> {
        self.elements(value)?.ok_or_else(|| thrown(format_args!("{what} must be an array")))
    }

    pub(crate) fn bytes(&self, value: &JsValue, what: &str) -> Js<Vec<u8>> {
        let array = value.dyn_ref().ok_or_else(|| thrown(format_args!("{what} must be a Uint8Array")))?;
        self.copy(array)
    }

    /// The bytes of an array. What is one by its prototype only has none, and is refused, as is one whose buffer went elsewhere.
    pub(crate) fn copy(&self, array: &Uint8Array) -> Js<Vec<u8>> {
        let length = array.unchecked_ref::<Honest>().length()?;
        self.take(length)?;
        let mut bytes = vec![0; length as usize];
        set_from(&mut bytes, array)?;
        Ok(bytes)
    }

    pub(crate) fn hashes(&self, value: &JsValue, what: &str) -> Js<Vec<ChangeHash>> {
        self.array(value, what)?.iter().map(|value| hash(&value)).collect()
    }

    /// The entries of an object that are its own, with keys that are text.
    pub(crate) fn entries(&self, object: &JsValue) -> Js<Vec<(String, JsValue)>> {
        if !object.is_object() {
            return Err(thrown("the value must be an object"));
        }
        let keys = keys_of(object)?;
        self.take(f64::from(keys.length()) * ELEMENT)?;
        let entries = keys.into_iter().map(|key| {
            let value = Reflect::get(object, &key)?;
            Ok((self.text(&key, "a key")?, value))
        });
        entries.collect()
    }

    /// A value with everything in it. Strings become texts, unless a type of the caller's says otherwise.
    pub(crate) fn literal(&self, value: &JsValue, types: &Types) -> Js<Literal> {
        self.literal_in(value, Some(types), DEEPEST)
    }

    fn literal_in(&self, value: &JsValue, types: Option<&Types>, levels: usize) -> Js<Literal> {
        if types.is_some()
            && let Some(text) = self.string(value)?
        {
            return Ok(Literal::Text(text));
        }
        if !value.is_object() {
            return scalars::untyped(value, self).map(Literal::Scalar);
        }
        if let Some(types) = types
            && let Some((datatype, inner)) = types.deconstruct(value)?
        {
            return scalars::typed(&inner, &datatype, self).map(Literal::Scalar);
        }
        if scalars::is_scalar_object(value) {
            return scalars::untyped(value, self).map(Literal::Scalar);
        }
        let levels = levels.checked_sub(1).ok_or_else(|| {
            thrown(format_args!("the value is nested more than {DEEPEST} levels deep, or contains itself"))
        })?;
        if let Some(array) = self.elements(value)? {
            let elements = array.iter().map(|element| self.literal_in(&element, types, levels));
            return elements.collect::<Js<_>>().map(Literal::List);
        }
        let entries = self.entries(value)?.into_iter();
        let entries = entries.map(|(key, value)| Ok((key, self.literal_in(&value, types, levels)?)));
        entries.collect::<Js<_>>().map(Literal::Map)
    }
}

/// As [`Room::string`], of a call that takes one.
pub(crate) fn string(value: &JsValue) -> Js<Option<String>> {
    Room::default().string(value)
}

pub(crate) fn text(value: &JsValue, what: &str) -> Js<String> {
    Room::default().text(value, what)
}

pub(crate) fn array(value: &JsValue, what: &str) -> Js<Array> {
    Room::default().array(value, what)
}

/// A string, if there is one.
pub(crate) fn maybe_text(value: &JsValue, what: &str) -> Js<Option<String>> {
    if value.is_undefined() || value.is_null() { Ok(None) } else { text(value, what).map(Some) }
}

pub(crate) fn bytes(value: &JsValue, what: &str) -> Js<Vec<u8>> {
    Room::default().bytes(value, what)
}

/// Numbers below zero are zero, as the original has it.
pub(crate) fn index(value: &JsValue, what: &str) -> Js<usize> {
    value
        .as_f64()
        .map(|number| number as usize)
        .ok_or_else(|| thrown(format_args!("{what} must be a number")))
}

/// A key or an index.
pub(crate) fn prop(value: &JsValue) -> Js<Option<Prop<'static>>> {
    Ok(match string(value)? {
        Some(key) => Some(key.into()),
        None => value.as_f64().map(|index| Prop::Seq(index as usize)),
    })
}

pub(crate) fn needed_prop(value: &JsValue) -> Js<Prop<'static>> {
    prop(value)?.ok_or_else(|| thrown("given property was not a string or integer"))
}

pub(crate) fn hash(value: &JsValue) -> Js<ChangeHash> {
    text(value, "a change hash")?.parse().map_err(thrown)
}

pub(crate) fn hashes(value: &JsValue, what: &str) -> Js<Vec<ChangeHash>> {
    Room::default().hashes(value, what)
}

/// Heads, if there are any.
pub(crate) fn heads(value: JsValue) -> Js<Option<Vec<ChangeHash>>> {
    given(value).map(|value| hashes(&value, "heads")).transpose()
}

/// An actor or an author.
pub(crate) fn hex(text: &str) -> Js<Vec<u8>> {
    // Any bytes are an actor.
    let actor: hashmill_doc::ActorId =
        text.parse().map_err(|error| thrown(format_args!("not a hex string: {error}")))?;
    Ok(actor.as_bytes().to_vec())
}

/// The name of an object, and the keys and indexes that lead on from it: `_root`, `1@ab`, `1@ab/key/0` or `/key/0`.
pub(crate) fn object_and_path(text: &str) -> Js<(ObjId, impl Iterator<Item = &str>)> {
    let (first, rest) = text.split_once('/').unwrap_or((text, ""));
    let obj = if first.is_empty() && text.starts_with('/') { Some(ObjId::Root) } else { ObjId::parse(first) };
    let obj = obj.ok_or_else(|| thrown(format_args!("invalid object ID: {text}")))?;
    Ok((obj, rest.split('/').take_while(|step| !step.is_empty())))
}

pub(crate) fn expand(value: &JsValue) -> Js<ExpandMark> {
    if value.is_undefined() || value.is_null() {
        return Ok(ExpandMark::default());
    }
    match value.as_string().as_deref() {
        Some("before") => Ok(ExpandMark::Before),
        Some("after") => Ok(ExpandMark::After),
        Some("both") => Ok(ExpandMark::Both),
        Some("none") => Ok(ExpandMark::None),
        _ => Err(thrown("expand must be 'before', 'after', 'both' or 'none'")),
    }
}

/// As [`Room::entries`], of a call that takes one object.
pub(crate) fn entries(object: &JsValue) -> Js<Vec<(String, JsValue)>> {
    Room::default().entries(object)
}

/// As [`Room::literal`], of a call that takes one value.
pub(crate) fn literal(value: &JsValue, types: &Types) -> Js<Literal> {
    Room::default().literal(value, types)
}

/// An object with everything in it, or a text. Strings in it are scalars, and the caller's types are not asked.
pub(crate) fn object(value: &JsValue) -> Js<Literal> {
    if let Some(text) = string(value)? {
        return Ok(Literal::Text(text));
    }
    match Room::default().literal_in(value, None, DEEPEST)? {
        Literal::Scalar(_) => Err(thrown("the value to insert must be an object")),
        object => Ok(object),
    }
}
