//! Patches applied to a plain value, as by a program that displays a document.

use unicode_segmentation::UnicodeSegmentation as _;

use super::{Patch, PatchAction};
use crate::store::state::PLACEHOLDER;
use crate::types::literal::{Elements, Entries, Literal};
use crate::types::{ObjId, ObjType, Prop, ScalarValue, TextEncoding, Value};

/// A patch that does not fit the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The path does not lead to the object, or it has another kind.
    #[error("step {step}: the path does not lead to object {obj}, or its kind is different")]
    NotThere {
        /// Index of the step, from 0.
        step: usize,
        /// The object.
        obj: ObjId,
    },
    /// The object has no such key or index.
    #[error("step {step}: object {obj} has no key or index {prop}")]
    MissingProp {
        /// Index of the step, from 0.
        step: usize,
        /// The object.
        obj: ObjId,
        /// The key or index.
        prop: Prop<'static>,
    },
}

/// Reason why a patch does not fit.
enum PatchMismatch {
    NotThere,
    MissingProp(Prop<'static>),
}

impl Literal {
    /// Applies the patches of a difference, so that a copy of the document before them becomes a copy of the document
    /// after them. Text positions count units of `encoding`, as in the document.
    ///
    /// A plain value has no conflicts and no marks, and contains a block of a text only as U+FFFC. Grapheme clusters
    /// formed by several elements are one unit here, but several in a document that counts clusters.
    ///
    /// If a patch cannot be applied, those before it were applied.
    pub fn apply_patches(&mut self, patches: &[Patch], encoding: TextEncoding) -> Result<(), PatchError> {
        for (step, patch) in patches.iter().enumerate() {
            apply_patch(self, patch, encoding).map_err(|misfit| {
                let obj = patch.obj.clone();
                match misfit {
                    PatchMismatch::NotThere => PatchError::NotThere { step, obj },
                    PatchMismatch::MissingProp(prop) => PatchError::MissingProp { step, obj, prop },
                }
            })?;
        }
        Ok(())
    }
}

fn apply_patch(root: &mut Literal, patch: &Patch, encoding: TextEncoding) -> Result<(), PatchMismatch> {
    let mut at = root;
    for (_, prop) in patch.path.iter() {
        at = match (at, prop) {
            (Literal::Map(entries), Prop::Map(key)) => {
                entries.get_mut(&**key).ok_or(PatchMismatch::NotThere)?
            }
            (Literal::List(elements), Prop::Seq(index)) => {
                elements.get_mut(*index).ok_or(PatchMismatch::NotThere)?
            }
            // The contents of blocks are not part of a plain text.
            (Literal::Text(_), Prop::Seq(_)) => return Ok(()),
            _ => return Err(PatchMismatch::NotThere),
        };
    }
    match at {
        Literal::Map(entries) => in_map(entries, &patch.action),
        Literal::List(elements) => in_list(elements, &patch.action),
        Literal::Text(text) => in_text(text, &patch.action, encoding),
        Literal::Scalar(_) => Err(PatchMismatch::NotThere),
    }
}

fn missing_target(prop: impl Into<Prop<'static>>) -> PatchMismatch {
    PatchMismatch::MissingProp(prop.into())
}

/// An empty value.
fn empty(value: &Value<'static>) -> Literal {
    match value {
        Value::Scalar(scalar) => Literal::Scalar(scalar.clone()),
        Value::Object(ObjType::Map | ObjType::Table) => Literal::Map(Entries::default()),
        Value::Object(ObjType::List) => Literal::List(Elements::default()),
        Value::Object(ObjType::Text) => Literal::Text(String::new()),
    }
}

fn in_map(entries: &mut Entries, action: &PatchAction) -> Result<(), PatchMismatch> {
    match action {
        PatchAction::PutMap { key, value, .. } => drop(entries.insert(key.clone(), empty(&value.0))),
        PatchAction::DeleteMap { key } => {
            entries.remove(key).ok_or_else(|| missing_target(key.clone()))?;
        }
        PatchAction::Increment { prop: Prop::Map(key), value } => {
            entries
                .get_mut(&**key)
                .and_then(|counter| grow(counter, *value))
                .ok_or_else(|| missing_target(key.clone().into_owned()))?;
        }
        PatchAction::Conflict { prop: Prop::Map(_) } => {}
        _ => return Err(PatchMismatch::NotThere),
    }
    Ok(())
}

fn in_list(elements: &mut Elements, action: &PatchAction) -> Result<(), PatchMismatch> {
    match action {
        PatchAction::PutSeq { index, value, .. } => {
            *elements.get_mut(*index).ok_or_else(|| missing_target(*index))? = empty(&value.0);
        }
        PatchAction::Insert { index, values } if *index <= elements.len() => {
            elements.splice(*index..*index, values.iter().map(|(value, ..)| empty(value)));
        }
        PatchAction::DeleteSeq { index, length }
            if index.checked_add(*length).is_some_and(|end| end <= elements.len()) =>
        {
            elements.drain(*index..*index + *length);
        }
        PatchAction::Insert { index, .. } | PatchAction::DeleteSeq { index, .. } => {
            return Err(missing_target(*index));
        }
        PatchAction::Increment { prop: Prop::Seq(index), value } => {
            elements
                .get_mut(*index)
                .and_then(|counter| grow(counter, *value))
                .ok_or_else(|| missing_target(*index))?;
        }
        PatchAction::Conflict { prop: Prop::Seq(_) } => {}
        _ => return Err(PatchMismatch::NotThere),
    }
    Ok(())
}

/// Adds to a counter. `None` if the value is not a counter.
fn grow(counter: &mut Literal, by: i64) -> Option<()> {
    let Literal::Scalar(ScalarValue::Counter(number)) = counter else { return None };
    *number = number.wrapping_add(by);
    Some(())
}

fn in_text(text: &mut String, action: &PatchAction, encoding: TextEncoding) -> Result<(), PatchMismatch> {
    let byte = |text: &str, unit: usize| byte_of(text, unit, encoding).ok_or_else(|| missing_target(unit));
    match action {
        PatchAction::SpliceText { index, value, .. } => {
            text.insert_str(byte(text, *index)?, value);
        }
        PatchAction::Insert { index, values } => {
            text.insert_str(byte(text, *index)?, &PLACEHOLDER.repeat(values.len()));
        }
        PatchAction::DeleteSeq { index, length } => {
            let start = byte(text, *index)?;
            let behind =
                byte(&text[start..], *length).map_err(|_| missing_target(index.saturating_add(*length)))?;
            text.replace_range(start..start + behind, "");
        }
        PatchAction::Mark { .. } => {}
        _ => return Err(PatchMismatch::NotThere),
    }
    Ok(())
}

/// Byte offset of a unit; `None` beyond the end or inside a character.
fn byte_of(text: &str, unit: usize, encoding: TextEncoding) -> Option<usize> {
    if encoding == TextEncoding::GraphemeCluster {
        let starts = text.grapheme_indices(true).map(|(at, _)| at);
        return starts.chain([text.len()]).nth(unit);
    }
    if encoding == TextEncoding::Utf8CodeUnit || text.is_ascii() {
        return text.is_char_boundary(unit).then_some(unit);
    }
    let mut left = unit;
    for (at, c) in text.char_indices() {
        if left == 0 {
            return Some(at);
        }
        let wide = encoding == TextEncoding::Utf16CodeUnit;
        left = left.checked_sub(if wide { c.len_utf16() } else { 1 })?;
    }
    (left == 0).then_some(text.len())
}
