//! Steps, taken by a plain value: how somebody who shows a document keeps up with it.

use unicode_segmentation::UnicodeSegmentation as _;

use super::{Patch, PatchAction};
use crate::literal::{Elements, Entries, Literal};
use crate::store::state::PLACEHOLDER;
use crate::types::{ObjId, ObjType, Prop, ScalarValue, TextEncoding, Value};

/// A step that a value cannot take: it is not what the step counts on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// No way leads to the object, or it is of another kind.
    #[error("step {step} is about {obj}, which is not where the step says, or not of its kind")]
    NotThere {
        /// Which step, counted from 0.
        step: usize,
        /// The object.
        obj: ObjId,
    },
    /// The object has no such place.
    #[error("step {step} is about {prop} of {obj}, which is not there")]
    NoPlace {
        /// Which step, counted from 0.
        step: usize,
        /// The object.
        obj: ObjId,
        /// The place.
        prop: Prop<'static>,
    },
}

/// Why a step cannot be taken.
enum Misfit {
    NotThere,
    NoPlace(Prop<'static>),
}

impl Literal {
    /// Takes the steps of a difference, so that a value that was what the document was is what it is then. Texts count in
    /// `encoding`, as in the document.
    ///
    /// A plain value knows no conflicts, no marks, and of a block in a text only that it is there, as U+FFFC. Clusters that
    /// grew together from elements are one unit here where a document that counts clusters has several.
    ///
    /// When a step cannot be taken, those before it were.
    pub fn apply_patches(&mut self, patches: &[Patch], encoding: TextEncoding) -> Result<(), PatchError> {
        for (step, patch) in patches.iter().enumerate() {
            take(self, patch, encoding).map_err(|misfit| {
                let obj = patch.obj.clone();
                match misfit {
                    Misfit::NotThere => PatchError::NotThere { step, obj },
                    Misfit::NoPlace(prop) => PatchError::NoPlace { step, obj, prop },
                }
            })?;
        }
        Ok(())
    }
}

fn take(root: &mut Literal, patch: &Patch, encoding: TextEncoding) -> Result<(), Misfit> {
    let mut at = root;
    for (_, prop) in patch.path.iter() {
        at = match (at, prop) {
            (Literal::Map(entries), Prop::Map(key)) => entries.get_mut(&**key).ok_or(Misfit::NotThere)?,
            (Literal::List(elements), Prop::Seq(index)) => {
                elements.get_mut(*index).ok_or(Misfit::NotThere)?
            }
            // What is in a block is not shown.
            (Literal::Text(_), Prop::Seq(_)) => return Ok(()),
            _ => return Err(Misfit::NotThere),
        };
    }
    match at {
        Literal::Map(entries) => in_map(entries, &patch.action),
        Literal::List(elements) => in_list(elements, &patch.action),
        Literal::Text(text) => in_text(text, &patch.action, encoding),
        Literal::Scalar(_) => Err(Misfit::NotThere),
    }
}

fn no_place(prop: impl Into<Prop<'static>>) -> Misfit {
    Misfit::NoPlace(prop.into())
}

/// A value without anything in it.
fn empty(value: &Value<'static>) -> Literal {
    match value {
        Value::Scalar(scalar) => Literal::Scalar(scalar.clone()),
        Value::Object(ObjType::Map | ObjType::Table) => Literal::Map(Entries::default()),
        Value::Object(ObjType::List) => Literal::List(Elements::default()),
        Value::Object(ObjType::Text) => Literal::Text(String::new()),
    }
}

fn in_map(entries: &mut Entries, action: &PatchAction) -> Result<(), Misfit> {
    match action {
        PatchAction::PutMap { key, value, .. } => drop(entries.insert(key.clone(), empty(&value.0))),
        PatchAction::DeleteMap { key } => {
            entries.remove(key).ok_or_else(|| no_place(key.clone()))?;
        }
        PatchAction::Increment { prop: Prop::Map(key), value } => {
            entries
                .get_mut(&**key)
                .and_then(|counter| grow(counter, *value))
                .ok_or_else(|| no_place(key.clone().into_owned()))?;
        }
        PatchAction::Conflict { prop: Prop::Map(_) } => {}
        _ => return Err(Misfit::NotThere),
    }
    Ok(())
}

fn in_list(elements: &mut Elements, action: &PatchAction) -> Result<(), Misfit> {
    match action {
        PatchAction::PutSeq { index, value, .. } => {
            *elements.get_mut(*index).ok_or_else(|| no_place(*index))? = empty(&value.0);
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
            return Err(no_place(*index));
        }
        PatchAction::Increment { prop: Prop::Seq(index), value } => {
            elements
                .get_mut(*index)
                .and_then(|counter| grow(counter, *value))
                .ok_or_else(|| no_place(*index))?;
        }
        PatchAction::Conflict { prop: Prop::Seq(_) } => {}
        _ => return Err(Misfit::NotThere),
    }
    Ok(())
}

/// Nothing where there is no counter.
fn grow(counter: &mut Literal, by: i64) -> Option<()> {
    let Literal::Scalar(ScalarValue::Counter(number)) = counter else { return None };
    *number = number.wrapping_add(by);
    Some(())
}

fn in_text(text: &mut String, action: &PatchAction, encoding: TextEncoding) -> Result<(), Misfit> {
    let byte = |text: &str, unit: usize| byte_of(text, unit, encoding).ok_or_else(|| no_place(unit));
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
                byte(&text[start..], *length).map_err(|_| no_place(index.saturating_add(*length)))?;
            text.replace_range(start..start + behind, "");
        }
        PatchAction::Mark { .. } => {}
        _ => return Err(Misfit::NotThere),
    }
    Ok(())
}

/// The byte that a unit starts at; nothing for one that is beyond the end or inside a character.
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
