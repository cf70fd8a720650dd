//! The class `Automerge`: reading, now and at heads.

use hashmill_doc::{ObjId, Value};
use js_sys::Array;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::document::Automerge;
use crate::values::arguments::{Js, heads, prop, text, thrown};
use crate::values::exports;
use crate::values::scalars;

#[wasm_bindgen]
impl Automerge {
    /// The value at a key or index; for an object its id.
    pub fn get(&self, obj: &JsValue, at: &JsValue, then: JsValue) -> Js {
        let (obj, then) = (text(obj, "the object")?, heads(then)?);
        let inner = self.read()?;
        let obj = inner.object(&obj)?.0;
        let Some(at) = prop(at)? else { return Ok(JsValue::UNDEFINED) };
        let found = inner.view(then.as_deref())?.get(&obj, at).map_err(thrown)?;
        Ok(match found {
            None => JsValue::UNDEFINED,
            Some((Value::Object(_), id)) => JsValue::from_str(&id.to_string()),
            Some((Value::Scalar(value), _)) => scalars::plain(&value),
        })
    }

    /// The type and the value at a key or index.
    #[wasm_bindgen(js_name = getWithType)]
    pub fn get_with_type(&self, obj: &JsValue, at: &JsValue, then: JsValue) -> Js {
        let (obj, then) = (text(obj, "the object")?, heads(then)?);
        let inner = self.read()?;
        let obj = inner.object(&obj)?.0;
        let Some(at) = prop(at)? else { return Ok(JsValue::NULL) };
        let found = inner.view(then.as_deref())?.get(&obj, at).map_err(thrown)?;
        Ok(match found {
            None => JsValue::NULL,
            Some((Value::Object(kind), id)) => {
                Array::of2(&JsValue::from_str(&kind.to_string()), &JsValue::from_str(&id.to_string())).into()
            }
            Some((Value::Scalar(value), _)) => {
                Array::of2(&JsValue::from_str(scalars::name(&value)), &scalars::plain(&value)).into()
            }
        })
    }

    /// All visible values at a key or index: type, value unless it is an object, id.
    #[wasm_bindgen(js_name = getAll)]
    pub fn get_all(&self, obj: &JsValue, at: &JsValue, then: JsValue) -> Js<Array> {
        let (obj, then) = (text(obj, "the object")?, heads(then)?);
        let inner = self.read()?;
        let obj = inner.object(&obj)?.0;
        let Some(at) = prop(at)? else { return Ok(Array::new()) };
        let found = inner.view(then.as_deref())?.get_all(&obj, at).map_err(thrown)?;
        let all = found.into_iter().map(|(value, id)| {
            let id = JsValue::from_str(&id.to_string());
            match value {
                Value::Object(kind) => Array::of2(&JsValue::from_str(&kind.to_string()), &id),
                Value::Scalar(value) => {
                    Array::of3(&JsValue::from_str(scalars::name(&value)), &scalars::plain(&value), &id)
                }
            }
        });
        Ok(all.collect())
    }

    /// The keys of a map.
    pub fn keys(&self, obj: &JsValue, then: JsValue) -> Js<Array> {
        let (obj, then) = (text(obj, "the object")?, heads(then)?);
        let inner = self.read()?;
        let obj = inner.object(&obj)?.0;
        Ok(inner.view(then.as_deref())?.keys(&obj).map(JsValue::from_str).collect())
    }

    /// The number of keys, elements or units.
    pub fn length(&self, obj: &JsValue, then: JsValue) -> Js<f64> {
        let (obj, then) = (text(obj, "the object")?, heads(then)?);
        let inner = self.read()?;
        let obj = inner.object(&obj)?.0;
        Ok(inner.view(then.as_deref())?.length(&obj) as f64)
    }

    /// A text.
    pub fn text(&self, obj: &JsValue, then: JsValue) -> Js<String> {
        let (obj, then) = (text(obj, "the object")?, heads(then)?);
        let inner = self.read()?;
        let obj = inner.object(&obj)?.0;
        inner.view(then.as_deref())?.text(&obj).map_err(thrown)
    }

    /// The type and the path of an object.
    #[wasm_bindgen(js_name = objInfo)]
    pub fn obj_info(&self, obj: &JsValue, then: JsValue) -> Js {
        let (obj, then) = (text(obj, "the object")?, heads(then)?);
        let inner = self.read()?;
        let (obj, kind) = inner.object(&obj)?;
        let info = exports::object([
            ("id", JsValue::from_str(&obj.to_string())),
            ("type", JsValue::from_str(&kind.to_string())),
        ])?;
        let path = inner.view(then.as_deref())?.path(&obj).map_err(thrown)?;
        // A deleted object has no path.
        if path.first().map_or(&obj, |(first, _)| first) == &ObjId::Root {
            let path: Array = path.iter().map(|(_, at)| exports::prop(at)).collect();
            exports::set(&info, "path", &path)?;
        }
        Ok(info.into())
    }
}
