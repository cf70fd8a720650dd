//! The class `Automerge`: marks, blocks, spans and cursors.

use hashmill_doc::{
    Cursor, CursorPosition, Literal, Mark, MarkSet, MoveCursor, ObjId, ObjType, ScalarValue, Span,
    Transactable as _, UpdateSpansConfig,
};
use js_sys::Array;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::document::Automerge;
use crate::state::Inner;
use crate::values::arguments::{
    Js, MemoryBudget, entries, expand, given, heads, index, property, text, thrown,
};
use crate::values::exports;
use crate::values::scalars::{Types, scalar, untyped};

/// A text object.
fn text_object(inner: &Inner, obj: &str) -> Js<ObjId> {
    match inner.object(obj)? {
        (obj, ObjType::Text) => Ok(obj),
        (_, kind) => Err(thrown(format_args!("object was not a text object - obj type: {kind}"))),
    }
}

fn block(value: &JsValue, types: &Types, budget: &MemoryBudget) -> Js<Literal> {
    let value = budget.literal(value, types)?;
    if value.kind() == Some(ObjType::Map) { Ok(value) } else { Err(thrown("the block value must be a map")) }
}

fn span(value: &JsValue, types: &Types, budget: &MemoryBudget) -> Js<Span<'static>> {
    let inner = property(value, "value")?;
    match property(value, "type")?.as_string().as_deref() {
        Some("text") => {
            let marks = match given(property(value, "marks")?) {
                Some(marks) => {
                    let marks = budget.entries(&marks)?;
                    let marks = marks.into_iter().map(|(name, value)| Ok((name, untyped(&value, budget)?)));
                    marks.collect::<Js<MarkSet<'static>>>()?
                }
                None => MarkSet::default(),
            };
            Ok(Span::marked(budget.text(&inner, "the value of a span of text")?, marks))
        }
        Some("block") => match block(&inner, types, budget)? {
            Literal::Map(entries) => Ok(Span::Block(entries)),
            _ => Err(thrown("block must be an object")),
        },
        _ => Err(thrown("the 'type' of a span must be 'text' or 'block'")),
    }
}

fn config(value: &JsValue) -> Js<UpdateSpansConfig> {
    let mut config =
        UpdateSpansConfig::default().with_default_expand(expand(&property(value, "defaultExpand")?)?);
    if let Some(each) = given(property(value, "perMarkExpand")?) {
        for (name, how) in entries(&each)? {
            config = config.with_mark_expand(name, expand(&how)?);
        }
    }
    Ok(config)
}

#[wasm_bindgen]
impl Automerge {
    /// Marks a range of a text.
    pub fn mark(
        &self,
        obj: &JsValue,
        range: &JsValue,
        name: &JsValue,
        value: &JsValue,
        datatype: &JsValue,
    ) -> Js<()> {
        self.mark_as(obj, range, name, scalar(value, datatype)?)
    }

    /// Removes the marks with a name from a range of a text.
    pub fn unmark(&self, obj: &JsValue, range: &JsValue, name: &JsValue) -> Js<()> {
        self.mark_as(obj, range, name, ScalarValue::Null)
    }

    /// The marks of a text.
    pub fn marks(&self, obj: &JsValue, then: JsValue) -> Js {
        let (obj, then) = (text(obj, "the object")?, heads(then)?);
        let inner = self.read()?;
        let obj = inner.object(&obj)?.0;
        exports::marks(&inner.view(then.as_deref())?.marks(&obj).map_err(thrown)?)
    }

    /// The marks at an index.
    #[wasm_bindgen(js_name = marksAt)]
    pub fn marks_at(&self, obj: &JsValue, at: &JsValue, then: JsValue) -> Js {
        let (obj, at, then) = (text(obj, "the object")?, index(at, "the index")?, heads(then)?);
        let inner = self.read()?;
        let obj = inner.object(&obj)?.0;
        let marks = inner.view(then.as_deref())?.get_marks(&obj, at).map_err(thrown)?;
        Ok(exports::mark_set(&marks)?.into())
    }

    /// A text as parts with equal marks, and blocks.
    pub fn spans(&self, obj: &JsValue, then: JsValue) -> Js<Array> {
        let (obj, then) = (text(obj, "the object")?, heads(then)?);
        let inner = self.read()?;
        let obj = inner.object(&obj)?.0;
        let spans = inner.view(then.as_deref())?.spans(&obj).map_err(thrown)?;
        spans.map(|span| exports::span(span, &inner.types)).collect()
    }

    /// Changes a rich text to another one with few edits.
    #[wasm_bindgen(js_name = updateSpans)]
    pub fn update_spans(&self, obj: &JsValue, spans: &JsValue, how: &JsValue) -> Js<()> {
        let (obj, types, how) = (text(obj, "the object")?, self.types()?, config(how)?);
        let budget = MemoryBudget::default();
        let spans = budget.array(spans, "updateSpans args")?;
        let spans = spans.iter().map(|value| span(&value, &types, &budget)).collect::<Js<Vec<_>>>()?;
        let mut inner = self.edit()?;
        let obj = text_object(&inner, &obj)?;
        inner.doc.update_spans(&obj, &how, spans).map_err(thrown)
    }

    /// Inserts a block.
    #[wasm_bindgen(js_name = splitBlock)]
    pub fn split_block(&self, obj: &JsValue, at: &JsValue, value: &JsValue) -> Js<()> {
        let (obj, at) = (text(obj, "the object")?, index(at, "the index")?);
        let value = block(value, &*self.types()?, &MemoryBudget::default())?;
        let mut inner = self.edit()?;
        let obj = inner.object(&obj)?.0;
        let block = inner.doc.split_block(&obj, at).map_err(thrown)?;
        inner.doc.update_object(&block, &value).map_err(thrown)
    }

    /// Deletes a block.
    #[wasm_bindgen(js_name = joinBlock)]
    pub fn join_block(&self, obj: &JsValue, at: &JsValue) -> Js<()> {
        let (obj, at) = (text(obj, "the object")?, index(at, "the index")?);
        let mut inner = self.edit()?;
        let obj = inner.object(&obj)?.0;
        inner.doc.join_block(&obj, at).map_err(thrown)
    }

    /// Replaces a block.
    #[wasm_bindgen(js_name = updateBlock)]
    pub fn update_block(&self, obj: &JsValue, at: &JsValue, value: &JsValue) -> Js<()> {
        let (obj, at) = (text(obj, "the object")?, index(at, "the index")?);
        let value = block(value, &*self.types()?, &MemoryBudget::default())?;
        let mut inner = self.edit()?;
        let obj = inner.object(&obj)?.0;
        let block = inner.doc.replace_block(&obj, at).map_err(thrown)?;
        inner.doc.update_object(&block, &value).map_err(thrown)
    }

    /// A cursor in a text. An index past the end means the end, one below zero the start.
    #[wasm_bindgen(js_name = getCursor)]
    pub fn get_cursor(&self, obj: &JsValue, at: &JsValue, then: JsValue, moving: &JsValue) -> Js<String> {
        let (obj, then) = (text(obj, "the object")?, heads(then)?);
        let moving = match moving.as_string().as_deref() {
            None if moving.is_undefined() => MoveCursor::default(),
            Some("before") => MoveCursor::Before,
            Some("after") => MoveCursor::After,
            _ => return Err(thrown("invalid move - must be 'before' or 'after'")),
        };
        let inner = self.read()?;
        let obj = text_object(&inner, &obj)?;
        let view = inner.view(then.as_deref())?;
        let at = match (at.as_f64(), at.as_string().as_deref()) {
            (_, Some("start")) => CursorPosition::Start,
            (_, Some("end")) => CursorPosition::End,
            (Some(at), _) if at < 0.0 => CursorPosition::Start,
            (Some(at), _) if at as usize >= view.length(&obj) => CursorPosition::End,
            (Some(at), _) => CursorPosition::Index(at as usize),
            _ => return Err(thrown("invalid position - must be an index, 'start' or 'end'")),
        };
        Ok(view.get_cursor_moving(&obj, at, moving).map_err(thrown)?.to_string())
    }

    /// The index of a cursor.
    #[wasm_bindgen(js_name = getCursorPosition)]
    pub fn get_cursor_position(&self, obj: &JsValue, cursor: &JsValue, then: JsValue) -> Js<f64> {
        let (obj, then) = (text(obj, "the object")?, heads(then)?);
        let cursor: Cursor = text(cursor, "the cursor")?.parse().map_err(thrown)?;
        let inner = self.read()?;
        let obj = text_object(&inner, &obj)?;
        let view = inner.view(then.as_deref())?;
        Ok(view.get_cursor_position(&obj, &cursor).map_err(thrown)? as f64)
    }
}

impl Automerge {
    fn mark_as(&self, obj: &JsValue, range: &JsValue, name: &JsValue, value: ScalarValue<'_>) -> Js<()> {
        let obj = text(obj, "the object")?;
        let (start, end) =
            (index(&property(range, "start")?, "start")?, index(&property(range, "end")?, "end")?);
        let how = expand(&property(range, "expand")?)?;
        let mark = Mark::new(text(name, "the name of a mark")?, value, start, end);
        let mut inner = self.edit()?;
        let obj = inner.object(&obj)?.0;
        inner.doc.mark(&obj, mark, how).map_err(thrown)
    }
}
