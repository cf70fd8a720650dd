//! The class `Automerge`: edits of maps, lists and texts.

use hashmill_doc::{Literal, ObjType, ReadDoc as _, Transactable as _};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::document::Automerge;
use crate::values::arguments::{Js, MemoryBudget, index, needed_prop, refused, string, text, thrown};
use crate::values::literals::{literal, object};
use crate::values::scalars::{scalar, untyped};

fn object_id(obj: Option<hashmill_doc::ObjId>) -> Js<String> {
    obj.map(|obj| obj.to_string()).ok_or_else(|| thrown("the value must be an object"))
}

#[wasm_bindgen]
impl Automerge {
    /// Fills the root of an empty document.
    #[wasm_bindgen(js_name = initRootFromHydrate)]
    pub fn init_root(&self, value: &JsValue) -> Js<()> {
        let value = literal(value, &*self.types()?)?;
        if value.kind() != Some(ObjType::Map) {
            return Err(thrown("value must be a map/object"));
        }
        self.edit()?.doc.init_root(&value).map_err(refused)
    }

    /// Puts a scalar.
    pub fn put(&self, obj: &JsValue, prop: &JsValue, value: &JsValue, datatype: &JsValue) -> Js<()> {
        let (obj, prop, value) = (text(obj, "the object")?, needed_prop(prop)?, scalar(value, datatype)?);
        let mut inner = self.edit()?;
        let obj = inner.object(&obj)?.0;
        inner.doc.put(&obj, prop, value).map_err(refused)
    }

    /// Puts an object with its contents; returns its id.
    #[wasm_bindgen(js_name = putObject)]
    pub fn put_object(&self, obj: &JsValue, prop: &JsValue, value: &JsValue) -> Js<String> {
        self.put_literal(obj, prop, object(value)?)
    }

    /// As `putObject`, with the types of the caller.
    #[wasm_bindgen(js_name = putObjectFromHydrate)]
    pub fn put_hydrate(&self, obj: &JsValue, prop: &JsValue, value: &JsValue) -> Js<String> {
        self.put_literal(obj, prop, literal(value, &*self.types()?)?)
    }

    /// Inserts a scalar.
    pub fn insert(&self, obj: &JsValue, at: &JsValue, value: &JsValue, datatype: &JsValue) -> Js<()> {
        let (obj, at, value) = (text(obj, "the object")?, index(at, "the index")?, scalar(value, datatype)?);
        let mut inner = self.edit()?;
        let obj = inner.object(&obj)?.0;
        inner.doc.insert(&obj, at, value).map_err(refused)
    }

    /// Inserts an object with its contents; returns its id.
    #[wasm_bindgen(js_name = insertObject)]
    pub fn insert_object(&self, obj: &JsValue, at: &JsValue, value: &JsValue) -> Js<String> {
        self.insert_literal(obj, Some(index(at, "the index")?), object(value)?)
    }

    /// As `insertObject`, with the types of the caller.
    #[wasm_bindgen(js_name = insertObjectFromHydrate)]
    pub fn insert_hydrate(&self, obj: &JsValue, at: &JsValue, value: &JsValue) -> Js<String> {
        let value = literal(value, &*self.types()?)?;
        self.insert_literal(obj, Some(index(at, "the index")?), value)
    }

    /// Appends a scalar.
    pub fn push(&self, obj: &JsValue, value: &JsValue, datatype: &JsValue) -> Js<()> {
        let (obj, value) = (text(obj, "the object")?, scalar(value, datatype)?);
        let mut inner = self.edit()?;
        let obj = inner.object(&obj)?.0;
        let end = inner.doc.length(&obj);
        inner.doc.insert(&obj, end, value).map_err(refused)
    }

    /// Appends an object with its contents; returns its id.
    #[wasm_bindgen(js_name = pushObject)]
    pub fn push_object(&self, obj: &JsValue, value: &JsValue) -> Js<String> {
        self.insert_literal(obj, None, object(value)?)
    }

    /// Deletes units of a text and inserts text, or elements of a list and inserts scalars.
    pub fn splice(&self, obj: &JsValue, start: f64, delete: f64, new: &JsValue) -> Js<()> {
        let (obj, start, delete) = (text(obj, "the object")?, start as usize, delete as isize);
        let new_text = string(new)?;
        let budget = MemoryBudget::default();
        let values = match budget.elements(new)? {
            Some(values) => values.iter().map(|value| untyped(&value, &budget)).collect::<Js<Vec<_>>>()?,
            None => vec![],
        };
        let mut inner = self.edit()?;
        let (obj, kind) = inner.object(&obj)?;
        let edited = match (kind, new_text) {
            (ObjType::Text, Some(text)) => inner.doc.splice_text(&obj, start, delete, &text),
            (ObjType::Text, None) if values.is_empty() => inner.doc.splice_text(&obj, start, delete, ""),
            (_, Some(text)) => inner.doc.splice(&obj, start, delete, text.chars().map(|c| c.to_string())),
            (_, None) => inner.doc.splice(&obj, start, delete, values),
        };
        edited.map_err(refused)
    }

    /// Deletes elements of a list and inserts values there, with the types of the caller.
    #[wasm_bindgen(js_name = spliceFromHydrate)]
    pub fn splice_hydrate(&self, obj: &JsValue, start: f64, delete: f64, values: &JsValue) -> Js<()> {
        let (obj, types) = (text(obj, "the object")?, self.types()?);
        let budget = MemoryBudget::default();
        let values = budget.array(values, "values")?;
        let values = values.iter().map(|value| budget.literal(&value, &types)).collect::<Js<Vec<_>>>()?;
        let mut inner = self.edit()?;
        let obj = inner.object(&obj)?.0;
        inner.doc.splice(&obj, start as usize, delete as isize, values).map_err(refused)
    }

    /// Changes a text to another one with few edits.
    #[wasm_bindgen(js_name = updateText)]
    pub fn update_text(&self, obj: &JsValue, new: &JsValue) -> Js<()> {
        let (obj, new) = (text(obj, "the object")?, text(new, "the new text")?);
        let mut inner = self.edit()?;
        let obj = inner.object(&obj)?.0;
        inner.doc.update_text(&obj, &new).map_err(refused)
    }

    /// Increments a counter.
    pub fn increment(&self, obj: &JsValue, prop: &JsValue, by: &JsValue) -> Js<()> {
        let (obj, prop) = (text(obj, "the object")?, needed_prop(prop)?);
        let by = by.as_f64().ok_or_else(|| thrown("value was not numeric"))?;
        let mut inner = self.edit()?;
        let obj = inner.object(&obj)?.0;
        inner.doc.increment(&obj, prop, by as i64).map_err(refused)
    }

    /// Deletes a key or an element.
    pub fn delete(&self, obj: &JsValue, prop: &JsValue) -> Js<()> {
        let (obj, prop) = (text(obj, "the object")?, needed_prop(prop)?);
        let mut inner = self.edit()?;
        let obj = inner.object(&obj)?.0;
        inner.doc.delete(&obj, prop).map_err(refused)
    }
}

impl Automerge {
    fn put_literal(&self, obj: &JsValue, prop: &JsValue, value: Literal) -> Js<String> {
        let (obj, prop) = (text(obj, "the object")?, needed_prop(prop)?);
        let mut inner = self.edit()?;
        let obj = inner.object(&obj)?.0;
        object_id(inner.doc.put_literal(&obj, prop, value).map_err(refused)?)
    }

    /// At the end by default.
    fn insert_literal(&self, obj: &JsValue, at: Option<usize>, value: Literal) -> Js<String> {
        let obj = text(obj, "the object")?;
        let mut inner = self.edit()?;
        let obj = inner.object(&obj)?.0;
        let at = at.unwrap_or_else(|| inner.doc.length(&obj));
        object_id(inner.doc.insert_literal(&obj, at, value).map_err(refused)?)
    }
}
