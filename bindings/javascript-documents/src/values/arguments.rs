//! Conversion and checks of values from JavaScript.

use std::cell::Cell;
use std::fmt::Display;
use std::hint::black_box;

use hashmill_doc::{ChangeHash, EditError, ExpandMark, ObjId, Prop};
use js_sys::{Array, Date, JsString, Object, RangeError, Reflect, Uint8Array};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsValue};

/// A result, or the exception to throw.
pub(crate) type Js<T = JsValue> = Result<T, JsValue>;

/// Functions that may throw for a proxy, or for an object with only the prototype of its class. An uncaught exception would
/// leave a call with its borrows.
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

    /// An array with its true length, not one that an object has shadowed.
    #[wasm_bindgen(js_name = Uint8Array)]
    type Honest;
    #[wasm_bindgen(catch, method, final, getter, js_class = Uint8Array)]
    fn length(this: &Honest) -> Js<f64>;
}

/// A plain array of the elements, if it is an array.
pub(crate) fn elements(value: &JsValue) -> Js<Option<Array>> {
    if is_array(value)? { array_from(value).map(Some) } else { Ok(None) }
}

/// A plain object or array with the same contents. Assigning would treat the key `__proto__` as the prototype.
pub(crate) fn copied(object: &Object) -> Js<Object> {
    match elements(object)? {
        Some(list) => Ok(list.into()),
        None => Object::from_entries(&entries_of(object)?.into()),
    }
}

/// The exception for `error`.
pub(crate) fn thrown(error: impl Display) -> JsValue {
    RangeError::new(&error.to_string()).into()
}

/// As [`thrown`], with the message of the original if its users check for it.
pub(crate) fn refused(error: EditError) -> JsValue {
    match error {
        EditError::Index { index, len } => {
            thrown(format_args!("index {index} is out of bounds: past the end, {len}"))
        }
        error => thrown(error),
    }
}

/// A property of an object, or undefined for undefined and null.
pub(crate) fn property(object: &JsValue, name: &str) -> Js {
    if object.is_undefined() || object.is_null() {
        return Ok(JsValue::UNDEFINED);
    }
    Reflect::get(object, &JsValue::from_str(name))
}

/// Whether a property is true; a missing one is not.
pub(crate) fn flag(object: &JsValue, name: &str) -> Js<bool> {
    Ok(property(object, name)?.as_bool().unwrap_or(false))
}

/// `None` for undefined and null.
pub(crate) fn given(value: JsValue) -> Option<JsValue> {
    (!value.is_undefined() && !value.is_null()).then_some(value)
}

/// Number of bytes after which the available memory is checked. A module without memory would abort.
const LARGE: f64 = 16_777_216.0;
/// Memory reserved for the document, and for untracked allocations.
const RESERVE: f64 = 4.0 * LARGE;
/// Memory of an array element, without its contents.
const ELEMENT: f64 = 64.0;

/// The number of bytes that a call has taken, as a sum over many small values.
#[derive(Default)]
pub(crate) struct MemoryBudget(Cell<f64>);

impl MemoryBudget {
    /// An exception if there is not enough memory for `bytes` more and for the values made from them.
    fn reserve(&self, bytes: f64) -> Js<()> {
        let before = self.0.get();
        let all = before + bytes;
        self.0.set(all);
        if (before / LARGE).floor() == (all / LARGE).floor() {
            return Ok(());
        }
        let wanted = all * 4.0 + RESERVE;
        // Really allocated, and freed; `black_box` keeps the compiler from removing it.
        let mut probe = Vec::<u8>::new();
        let taken = probe.try_reserve_exact(wanted as usize);
        black_box(&probe);
        if wanted > usize::MAX as f64 || taken.is_err() {
            return Err(thrown(format_args!("the module has no memory for {all} more bytes")));
        }
        Ok(())
    }

    /// A string, if the value is one; invalid Unicode is replaced.
    pub(crate) fn string(&self, value: &JsValue) -> Js<Option<String>> {
        let Some(text) = value.dyn_ref::<JsString>() else { return Ok(None) };
        // Each unit is up to three bytes.
        self.reserve(f64::from(text.length()) * 3.0)?;
        Ok(value.as_string())
    }

    pub(crate) fn text(&self, value: &JsValue, what: &str) -> Js<String> {
        self.string(value)?.ok_or_else(|| thrown(format_args!("{what} must be a string")))
    }

    /// A plain array of the elements, if it is an array.
    pub(crate) fn elements(&self, value: &JsValue) -> Js<Option<Array>> {
        let elements = elements(value)?;
        elements.iter().try_for_each(|array| self.reserve(f64::from(array.length()) * ELEMENT))?;
        Ok(elements)
    }

    pub(crate) fn array(&self, value: &JsValue, what: &str) -> Js<Array> {
        self.elements(value)?.ok_or_else(|| thrown(format_args!("{what} must be an array")))
    }

    pub(crate) fn bytes(&self, value: &JsValue, what: &str) -> Js<Vec<u8>> {
        let array = value.dyn_ref().ok_or_else(|| thrown(format_args!("{what} must be a Uint8Array")))?;
        self.copy(array)
    }

    /// The bytes of an array. An object with only the prototype of one is refused, and so is a transferred buffer.
    pub(crate) fn copy(&self, array: &Uint8Array) -> Js<Vec<u8>> {
        let length = array.unchecked_ref::<Honest>().length()?;
        self.reserve(length)?;
        let mut bytes = vec![0; length as usize];
        set_from(&mut bytes, array)?;
        Ok(bytes)
    }

    pub(crate) fn hashes(&self, value: &JsValue, what: &str) -> Js<Vec<ChangeHash>> {
        self.array(value, what)?.iter().map(|value| hash(&value)).collect()
    }

    /// The own entries of an object with string keys.
    pub(crate) fn entries(&self, object: &JsValue) -> Js<Vec<(String, JsValue)>> {
        if !object.is_object() {
            return Err(thrown("the value must be an object"));
        }
        let keys = keys_of(object)?;
        self.reserve(f64::from(keys.length()) * ELEMENT)?;
        let entries = keys.into_iter().map(|key| {
            let value = Reflect::get(object, &key)?;
            Ok((self.text(&key, "a key")?, value))
        });
        entries.collect()
    }
}

/// As [`MemoryBudget::string`], for a call with one string.
pub(crate) fn string(value: &JsValue) -> Js<Option<String>> {
    MemoryBudget::default().string(value)
}

pub(crate) fn text(value: &JsValue, what: &str) -> Js<String> {
    MemoryBudget::default().text(value, what)
}

pub(crate) fn array(value: &JsValue, what: &str) -> Js<Array> {
    MemoryBudget::default().array(value, what)
}

/// A string, if present.
pub(crate) fn maybe_text(value: &JsValue, what: &str) -> Js<Option<String>> {
    if value.is_undefined() || value.is_null() { Ok(None) } else { text(value, what).map(Some) }
}

pub(crate) fn bytes(value: &JsValue, what: &str) -> Js<Vec<u8>> {
    MemoryBudget::default().bytes(value, what)
}

/// Numbers below zero become zero, as in the original.
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
    MemoryBudget::default().hashes(value, what)
}

/// Heads, if given.
pub(crate) fn heads(value: JsValue) -> Js<Option<Vec<ChangeHash>>> {
    given(value).map(|value| hashes(&value, "heads")).transpose()
}

/// An actor or an author.
pub(crate) fn hex(text: &str) -> Js<Vec<u8>> {
    // Any bytes are a valid actor.
    let actor: hashmill_doc::ActorId =
        text.parse().map_err(|error| thrown(format_args!("not a hex string: {error}")))?;
    Ok(actor.as_bytes().to_vec())
}

/// The id of an object, with an optional path of keys and indexes: `_root`, `1@ab`, `1@ab/key/0` or `/key/0`.
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

/// As [`MemoryBudget::entries`], for a call with one object.
pub(crate) fn entries(object: &JsValue) -> Js<Vec<(String, JsValue)>> {
    MemoryBudget::default().entries(object)
}
