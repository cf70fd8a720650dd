//! Conversion of results to JavaScript objects, arrays and strings.

use hashmill_doc::{
    ChangeHash, ChangeMetadata, Literal, Mark, MarkSet, Patch, PatchAction, Prop, Span, Value,
};
use js_sys::{Array, Object, Reflect, Uint8Array};
use wasm_bindgen::JsValue;

use crate::values::arguments::{Js, thrown};
use crate::values::scalars;
use crate::values::scalars::Types;

/// An object with these properties.
pub(crate) fn object<const N: usize>(properties: [(&str, JsValue); N]) -> Js<Object> {
    let object = Object::new();
    for (name, value) in properties {
        Reflect::set(&object, &JsValue::from_str(name), &value)?;
    }
    Ok(object)
}

pub(crate) fn set(object: &Object, name: &str, value: &JsValue) -> Js<()> {
    Reflect::set(object, &JsValue::from_str(name), value).map(drop)
}

/// Sets the key of a map. Assigning the key `__proto__` would change the prototype instead.
pub(crate) fn set_key(object: &Object, key: &str, value: &JsValue) -> Js<()> {
    if key != "__proto__" {
        return set(object, key, value);
    }
    let yes = JsValue::TRUE;
    let own = self::object([
        ("value", value.clone()),
        ("writable", yes.clone()),
        ("enumerable", yes.clone()),
        ("configurable", yes),
    ])?;
    Reflect::define_property(object, &JsValue::from_str(key), &own).map(drop)
}

/// As [`set_key`] in a map; in a list, the element.
pub(crate) fn set_prop(object: &Object, prop: &Prop<'_>, value: &JsValue) -> Js<()> {
    match prop {
        Prop::Map(key) => set_key(object, key, value),
        Prop::Seq(index) => Reflect::set_u32(object, *index as u32, value).map(drop),
    }
}

pub(crate) fn hash(hash: &ChangeHash) -> JsValue {
    JsValue::from_str(&hash.to_string())
}

pub(crate) fn hashes(hashes: &[ChangeHash]) -> JsValue {
    hashes.iter().map(hash).collect::<Array>().into()
}

pub(crate) fn bytes(bytes: &[u8]) -> JsValue {
    Uint8Array::from(bytes).into()
}

pub(crate) fn maybe_text(text: Option<&str>) -> JsValue {
    text.map_or(JsValue::NULL, JsValue::from_str)
}

/// Bytes in hexadecimal, the form of authors.
pub(crate) fn hex(bytes: Option<&[u8]>) -> JsValue {
    bytes.map_or(JsValue::NULL, |bytes| JsValue::from_str(&hashmill_doc::ActorId::from(bytes).to_hex()))
}

pub(crate) fn prop(prop: &Prop<'_>) -> JsValue {
    match prop {
        Prop::Map(key) => JsValue::from_str(key),
        Prop::Seq(index) => JsValue::from_f64(*index as f64),
    }
}

pub(crate) fn metadata(change: &ChangeMetadata<'_>) -> Js<JsValue> {
    let object = object([
        ("actor", JsValue::from_str(&change.actor.to_hex())),
        ("author", hex(change.author)),
        ("seq", JsValue::from_f64(change.seq as f64)),
        ("startOp", JsValue::from_f64(change.start_op as f64)),
        ("maxOp", JsValue::from_f64(change.max_op as f64)),
        ("time", JsValue::from_f64(change.timestamp as f64)),
        ("message", maybe_text(change.message)),
        ("deps", hashes(&change.deps)),
        ("hash", hash(&change.hash)),
    ])?;
    if !change.extra.is_empty() {
        set(&object, "extraBytes", &hex(Some(change.extra)))?;
    }
    Ok(object.into())
}

/// A scalar, converted by the caller's type for its kind.
pub(crate) fn scalar(value: &hashmill_doc::ScalarValue<'_>, types: &Types) -> Js {
    let plain = scalars::plain(value);
    types.construct(scalars::name(value), &plain).unwrap_or(Ok(plain))
}

/// A value in a patch: objects are empty.
fn value(value: &Value<'_>, types: &Types) -> Js {
    use hashmill_doc::ObjType;
    Ok(match value {
        Value::Scalar(value) => scalar(value, types)?,
        Value::Object(ObjType::Map | ObjType::Table) => Object::new().into(),
        Value::Object(ObjType::List) => Array::new().into(),
        Value::Object(ObjType::Text) => JsValue::from_str(""),
    })
}

/// A value with its contents, level by level, because it may be deeper than the stack.
pub(crate) fn literal(literal: Literal, types: &Types) -> Js {
    let root = Array::new();
    let mut todo = vec![(Object::from(root.clone()), Prop::Seq(0), literal)];
    while let Some((parent, at, literal)) = todo.pop() {
        let value = match literal {
            Literal::Scalar(value) => scalar(&value, types)?,
            Literal::Text(text) => JsValue::from_str(&text),
            Literal::Map(entries) => {
                let map = Object::new();
                todo.extend(entries.into_iter().rev().map(|(key, value)| (map.clone(), key.into(), value)));
                map.into()
            }
            Literal::List(elements) => {
                let list = Object::from(Array::new());
                let elements = elements.into_iter().enumerate().rev();
                todo.extend(elements.map(|(at, value)| (list.clone(), Prop::Seq(at), value)));
                list.into()
            }
        };
        set_prop(&parent, &at, &value)?;
    }
    Ok(root.get(0))
}

pub(crate) fn mark_set(marks: &MarkSet<'_>) -> Js<Object> {
    let object = Object::new();
    for (name, value) in marks.iter() {
        set_key(&object, name, &scalars::plain(value))?;
    }
    Ok(object)
}

pub(crate) fn marks(marks: &[Mark<'_>]) -> Js {
    let array = Array::new();
    for mark in marks {
        let mark = object([
            ("name", JsValue::from_str(&mark.name)),
            ("value", scalars::plain(&mark.value)),
            ("start", JsValue::from_f64(mark.start as f64)),
            ("end", JsValue::from_f64(mark.end as f64)),
        ])?;
        array.push(&mark);
    }
    Ok(array.into())
}

pub(crate) fn span(span: Span<'_>, types: &Types) -> Js {
    let object = match span {
        Span::Text { text, marks } => {
            let object = object([("type", "text".into()), ("value", JsValue::from_str(&text))])?;
            if !marks.is_empty() {
                let marks = mark_set(&marks)?;
                set(&object, "marks", &marks)?;
            }
            object
        }
        Span::Block(entries) => {
            object([("type", "block".into()), ("value", literal(Literal::Map(entries), types)?)])?
        }
    };
    Ok(object.into())
}

pub(crate) fn patches(patches: &[Patch], types: &Types) -> Js<Array> {
    patches.iter().map(|one| patch(one, types)).collect()
}

fn patch(patch: &Patch, types: &Types) -> Js {
    let path: Array = patch.path.iter().map(|(_, at)| prop(at)).collect();
    let add_to_path = |at: JsValue| path.push(&at);
    let number = |number: usize| JsValue::from_f64(number as f64);
    let key = JsValue::from_str;
    let (action, properties): (&str, Vec<(&str, JsValue)>) = match &patch.action {
        PatchAction::PutMap { key: at, value: (put, _), conflict } => {
            add_to_path(key(at));
            ("put", put_properties(value(put, types)?, *conflict))
        }
        PatchAction::PutSeq { index, value: (put, _), conflict } => {
            add_to_path(number(*index));
            ("put", put_properties(value(put, types)?, *conflict))
        }
        PatchAction::Insert { index, values } => {
            add_to_path(number(*index));
            let inserted =
                values.iter().map(|(inserted, ..)| value(inserted, types)).collect::<Js<Array>>()?;
            let mut properties = vec![("values", inserted.into())];
            if values.iter().any(|(.., conflict)| *conflict) {
                let conflicts: Array =
                    values.iter().map(|(.., conflict)| JsValue::from_bool(*conflict)).collect();
                properties.push(("conflicts", conflicts.into()));
            }
            ("insert", properties)
        }
        PatchAction::SpliceText { index, value, marks } => {
            add_to_path(number(*index));
            let mut properties = vec![("value", key(value))];
            if !marks.is_empty() {
                properties.push(("marks", mark_set(marks)?.into()));
            }
            ("splice", properties)
        }
        PatchAction::Increment { prop: at, value } => {
            add_to_path(prop(at));
            ("inc", vec![("value", JsValue::from_f64(*value as f64))])
        }
        PatchAction::Conflict { prop: at } => {
            add_to_path(prop(at));
            ("conflict", vec![])
        }
        PatchAction::DeleteMap { key: at } => {
            add_to_path(key(at));
            ("del", vec![])
        }
        PatchAction::DeleteSeq { index, length } => {
            add_to_path(number(*index));
            ("del", if *length > 1 { vec![("length", number(*length))] } else { vec![] })
        }
        PatchAction::Mark { marks: changed } => ("mark", vec![("marks", marks(changed)?)]),
    };
    let object = object([("action", action.into()), ("path", path.into())])?;
    for (name, value) in properties {
        set(&object, name, &value)?;
    }
    Ok(object.into())
}

fn put_properties(value: JsValue, conflict: bool) -> Vec<(&'static str, JsValue)> {
    let mut properties = vec![("value", value)];
    if conflict {
        properties.push(("conflict", JsValue::TRUE));
    }
    properties
}

/// A decoded change or similar value, in the form of serde.
pub(crate) fn parsed(value: &impl serde::Serialize) -> Js {
    js_sys::JSON::parse(&serde_json::to_string(value).map_err(thrown)?)
}
