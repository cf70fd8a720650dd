//! JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386), applied atomically.

use serde_json::{Map, Value as Json};

use super::pointer::{Pointer, PointerError, WriteTarget};
use super::read::{ReadError, literal};
use super::{ScalarEncoding, equal::equal};
use crate::document::{Commit, Document};
use crate::edit::editor::CommitOptions;
use crate::edit::transaction::{Transactable as _, Transaction};
use crate::read::read_doc::ReadDoc as _;
use crate::types::error::EditError;
use crate::types::literal::Literal;
use crate::types::{ObjId, ObjType, Prop, ROOT, ScalarValue, Value};

/// A JSON Patch: operations, each applied to the result of those before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    steps: Vec<Step>,
    /// Form of its values.
    form: ScalarEncoding,
}

/// One operation of a patch.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Add { path: Pointer, value: Literal },
    Remove { path: Pointer },
    Replace { path: Pointer, value: Literal },
    Move { from: Pointer, path: Pointer },
    Copy { from: Pointer, path: Pointer },
    Test { path: Pointer, value: Json },
}

/// Reason why JSON is not a patch.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PatchFormError {
    /// Not valid JSON.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Not a list of objects.
    #[error("a patch must be a list of objects")]
    NoList,
    /// A required member is missing or has the wrong type.
    #[error("step {step}: member '{member}' is missing or has the wrong type")]
    Missing {
        /// Index of the operation, from 0.
        step: usize,
        /// The member.
        member: &'static str,
    },
    /// An unknown operation.
    #[error("step {step}: unknown operation '{op}', expected add, remove, replace, move, copy or test")]
    Op {
        /// Index of the operation, from 0.
        step: usize,
        /// Its name.
        op: String,
    },
    /// An invalid pointer.
    #[error("step {step}: {reason}")]
    Pointer {
        /// Index of the operation, from 0.
        step: usize,
        /// The error in the pointer.
        reason: PointerError,
    },
    /// A value that a document cannot hold.
    #[error("step {step}: {reason}")]
    Value {
        /// Index of the operation, from 0.
        step: usize,
        /// The error in the value.
        reason: ReadError,
    },
}

/// Reason why a patch was not applied. The document is unchanged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("step {step}: {reason}")]
pub struct PatchError {
    /// Index of the operation, from 0.
    pub step: usize,
    /// What failed.
    pub reason: PatchFault,
}

/// Failure of an operation of a patch.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchFault {
    /// The pointer leads to no place.
    #[error(transparent)]
    Pointer(#[from] PointerError),
    /// A test found a different value.
    #[error("the value at {0} differs from the tested one")]
    Test(Pointer),
    /// A value would be moved into itself.
    #[error("{0} cannot be moved into itself")]
    Inside(Pointer),
    /// The whole document would be removed or become something other than a map.
    #[error("a document is a map")]
    Root,
    /// A pointer to a position in a text.
    #[error("a pointer cannot lead into a text")]
    Text,
}

impl From<EditError> for PatchFault {
    fn from(error: EditError) -> Self {
        Self::Pointer(error.into())
    }
}

impl Patch {
    /// Parses a patch with values in the given form.
    pub fn read(json: &[u8], form: ScalarEncoding) -> Result<Self, PatchFormError> {
        let json: Json = serde_json::from_slice(json).map_err(ReadError::from)?;
        let Json::Array(steps) = json else { return Err(PatchFormError::NoList) };
        let steps = (0..).zip(steps).map(|(step, json)| parse(step, json, form));
        Ok(Self { steps: steps.collect::<Result<_, _>>()?, form })
    }

    /// Applies all operations as one change, or none; returns the change, if there is one.
    ///
    /// Moved and copied values become new values: the format has no moves. A text that is replaced by a text keeps its
    /// identity and gets new contents; with [`ScalarEncoding::Plain`], where texts are strings, the same holds for a string.
    pub fn apply(&self, doc: &mut Document, options: &CommitOptions) -> Result<Option<Commit>, PatchError> {
        let steps = |tx: &mut Transaction<'_>| {
            (0..).zip(&self.steps).try_for_each(|(number, step)| {
                step.apply(tx, self.form).map_err(|reason| PatchError { step: number, reason })
            })
        };
        doc.transact_with(options, steps).map(|((), commit)| commit)
    }
}

fn parse(step: usize, json: Json, form: ScalarEncoding) -> Result<Step, PatchFormError> {
    let Json::Object(mut members) = json else { return Err(PatchFormError::NoList) };
    let text = |members: &Map<String, Json>, member: &'static str| match members.get(member) {
        Some(Json::String(text)) => Ok(text.clone()),
        _ => Err(PatchFormError::Missing { step, member }),
    };
    let pointer = |members: &Map<String, Json>, member| {
        text(members, member)?.parse().map_err(|reason| PatchFormError::Pointer { step, reason })
    };
    let op = text(&members, "op")?;
    let path = pointer(&members, "path")?;
    let mut value_member =
        || members.remove("value").ok_or(PatchFormError::Missing { step, member: "value" });
    let value = |json| literal(json, form).map_err(|reason| PatchFormError::Value { step, reason });
    Ok(match &*op {
        "add" => Step::Add { path, value: value(value_member()?)? },
        "remove" => Step::Remove { path },
        "replace" => Step::Replace { path, value: value(value_member()?)? },
        "move" => Step::Move { from: pointer(&members, "from")?, path },
        "copy" => Step::Copy { from: pointer(&members, "from")?, path },
        "test" => Step::Test { path, value: value_member()? },
        _ => return Err(PatchFormError::Op { step, op }),
    })
}

impl Step {
    fn apply(&self, tx: &mut Transaction<'_>, form: ScalarEncoding) -> Result<(), PatchFault> {
        match self {
            Self::Add { path, value } => add(tx, path, value.clone()),
            Self::Remove { path } => remove(tx, path),
            Self::Replace { path, value } => replace(tx, path, value.clone(), form),
            Self::Move { from, path } => {
                let value = copy_of(tx, from)?;
                if from == path {
                    return Ok(());
                }
                if path.starts_with(from) {
                    return Err(PatchFault::Inside(from.clone()));
                }
                remove(tx, from)?;
                add(tx, path, value)
            }
            Self::Copy { from, path } => {
                let value = copy_of(tx, from)?;
                add(tx, path, value)
            }
            Self::Test { path, value } => {
                let view = tx.view();
                let found = path.find(&view)?;
                if equal(&view, &found, value) { Ok(()) } else { Err(PatchFault::Test(path.clone())) }
            }
        }
    }
}

fn copy_of(tx: &Transaction<'_>, from: &Pointer) -> Result<Literal, PatchFault> {
    match from.find(&tx.view())? {
        (Value::Scalar(value), _) => Ok(Literal::Scalar(value.into_owned())),
        (Value::Object(_), id) => Ok(tx.hydrate(id)?),
    }
}

/// A place in a map or a list, which may be free.
fn write_target(tx: &Transaction<'_>, path: &Pointer) -> Result<WriteTarget, PatchFault> {
    let target = path.write_target(&tx.view())?;
    if target.kind == ObjType::Text { Err(PatchFault::Text) } else { Ok(target) }
}

/// A place with a value.
fn taken(tx: &Transaction<'_>, path: &Pointer) -> Result<WriteTarget, PatchFault> {
    let target = write_target(tx, path)?;
    if target.taken { Ok(target) } else { Err(PointerError::Nothing(path.clone()).into()) }
}

/// Replaces the contents of the whole document.
fn replace_document(tx: &mut Transaction<'_>, value: &Literal) -> Result<(), PatchFault> {
    match value {
        Literal::Map(_) => Ok(tx.update_object(ROOT, value)?),
        _ => Err(PatchFault::Root),
    }
}

fn add(tx: &mut Transaction<'_>, path: &Pointer, value: Literal) -> Result<(), PatchFault> {
    if path.is_whole() {
        return replace_document(tx, &value);
    }
    let WriteTarget { obj, prop, .. } = write_target(tx, path)?;
    match prop {
        Prop::Seq(index) => tx.insert_literal(&obj, index, value)?,
        key @ Prop::Map(_) => tx.put_literal(&obj, key, value)?,
    };
    Ok(())
}

fn remove(tx: &mut Transaction<'_>, path: &Pointer) -> Result<(), PatchFault> {
    if path.is_whole() {
        return Err(PatchFault::Root);
    }
    let WriteTarget { obj, prop, .. } = taken(tx, path)?;
    Ok(tx.delete(&obj, prop)?)
}

fn replace(
    tx: &mut Transaction<'_>,
    path: &Pointer,
    value: Literal,
    form: ScalarEncoding,
) -> Result<(), PatchFault> {
    if path.is_whole() {
        return replace_document(tx, &value);
    }
    let WriteTarget { obj, prop, .. } = taken(tx, path)?;
    put(tx, &obj, prop, value, form)
}

/// Puts a value at a place. A text that is replaced by a text keeps its identity; in the plain form a string replaces
/// it, too.
fn put(
    tx: &mut Transaction<'_>,
    obj: &ObjId,
    prop: Prop<'_>,
    value: Literal,
    form: ScalarEncoding,
) -> Result<(), PatchFault> {
    let there = tx.get(obj, prop.clone())?.map(|(value, id)| (value.as_object(), id));
    match (there, &value) {
        (Some((Some(ObjType::Text), text)), Literal::Text(new)) => tx.update_text(&text, new)?,
        (Some((Some(ObjType::Text), text)), Literal::Scalar(ScalarValue::Str(new)))
            if form == ScalarEncoding::Plain =>
        {
            tx.update_text(&text, new)?;
        }
        (_, Literal::Scalar(value)) => tx.editor().put_exactly(obj, &prop, value)?,
        _ => drop(tx.put_literal(obj, prop, value)?),
    }
    Ok(())
}

/// Applies a JSON Merge Patch as one change, or nothing; returns the change, if there is one. Maps are merged, null
/// deletes, and all other values replace the old ones, texts as in [`Patch::apply`].
pub fn merge(
    json: &[u8],
    form: ScalarEncoding,
    doc: &mut Document,
    options: &CommitOptions,
) -> Result<Option<Commit>, MergePatchError> {
    let json: Json = serde_json::from_slice(json).map_err(ReadError::from)?;
    let Json::Object(members) = json else { return Err(MergePatchError::Root) };
    let merge = |tx: &mut Transaction<'_>| merge_into(tx, &ROOT, members, form);
    doc.transact_with(options, merge).map(|((), commit)| commit)
}

/// Reason why a merge patch was not applied. The document is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergePatchError {
    /// Not JSON, or a value that a document cannot hold.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The root would not be a map.
    #[error("a document is a map: its merge patch is an object")]
    Root,
    /// The document refused the edit.
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// Recursive: the parser has limited the depth.
fn merge_into(
    tx: &mut Transaction<'_>,
    map: &ObjId,
    members: Map<String, Json>,
    form: ScalarEncoding,
) -> Result<(), MergePatchError> {
    for (key, json) in members {
        let is_value = form == ScalarEncoding::Tagged && json.get(super::TYPE).is_some();
        match json {
            Json::Null => tx.delete(map, key)?,
            Json::Object(inside) if !is_value => {
                let there = match tx.get(map, &*key)? {
                    Some((Value::Object(ObjType::Map | ObjType::Table), id)) => id,
                    _ => tx.put_object(map, &*key, ObjType::Map)?,
                };
                merge_into(tx, &there, inside, form)?;
            }
            json => match put(tx, map, Prop::from(key), literal(json, form)?, form) {
                Ok(()) => {}
                Err(PatchFault::Pointer(PointerError::Edit(error))) => return Err(error.into()),
                Err(other) => unreachable!("a key of a map is a place: {other}"),
            },
        }
    }
    Ok(())
}
