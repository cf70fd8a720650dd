//! Changes to a document that others say in JSON: JSON Patch, RFC 6902, and JSON Merge Patch, RFC 7386. All of it or nothing.

use serde_json::{Map, Value as Json};

use super::pointer::{Place, Pointer, PointerError};
use super::read::{ReadError, literal};
use super::{Form, equal::equal};
use crate::document::{Commit, Document};
use crate::edit::CommitOptions;
use crate::error::EditError;
use crate::literal::Literal;
use crate::read::ReadDoc as _;
use crate::transaction::{Transactable as _, Transaction};
use crate::types::{ObjId, ObjType, Prop, ROOT, ScalarValue, Value};

/// A JSON Patch: steps, of which each sees what those before it did.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    steps: Vec<Step>,
    /// What its values were read as.
    form: Form,
}

/// One step of a patch.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Add { path: Pointer, value: Literal },
    Remove { path: Pointer },
    Replace { path: Pointer, value: Literal },
    Move { from: Pointer, path: Pointer },
    Copy { from: Pointer, path: Pointer },
    Test { path: Pointer, value: Json },
}

/// Why a text is no patch.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PatchFormError {
    /// It is no JSON.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It is no list of objects.
    #[error("a patch is a list of objects")]
    NoList,
    /// A step without a member that it needs.
    #[error("step {step}: there is no '{member}' that says something")]
    Missing {
        /// Its number, from 0.
        step: usize,
        /// The member.
        member: &'static str,
    },
    /// A step that does what no step does.
    #[error("step {step}: '{op}' is none of add, remove, replace, move, copy, test")]
    Op {
        /// Its number, from 0.
        step: usize,
        /// What it says.
        op: String,
    },
    /// A pointer that is none.
    #[error("step {step}: {why}")]
    Pointer {
        /// Its number, from 0.
        step: usize,
        /// Why.
        why: PointerError,
    },
    /// A value that a document cannot hold.
    #[error("step {step}: {why}")]
    Value {
        /// Its number, from 0.
        step: usize,
        /// Why.
        why: ReadError,
    },
}

/// Why a patch was not applied. The document is as it was.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("step {step}: {why}")]
pub struct PatchError {
    /// The number of the step, from 0.
    pub step: usize,
    /// What was wrong.
    pub why: PatchFault,
}

/// What a step of a patch met.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchFault {
    /// A place that is not there.
    #[error(transparent)]
    Pointer(#[from] PointerError),
    /// Something else stands there than the step says.
    #[error("{0} is something else")]
    Test(Pointer),
    /// A value was to be moved into itself.
    #[error("{0} cannot be moved into itself")]
    Inside(Pointer),
    /// The whole document was to go, or to become something else than a map.
    #[error("a document is a map")]
    Root,
    /// A place between the characters of a text.
    #[error("what is in a text has no places of its own")]
    Text,
}

impl From<EditError> for PatchFault {
    fn from(error: EditError) -> Self {
        Self::Pointer(error.into())
    }
}

impl Patch {
    /// Reads a patch, its values in a form.
    pub fn read(json: &[u8], form: Form) -> Result<Self, PatchFormError> {
        let json: Json = serde_json::from_slice(json).map_err(ReadError::from)?;
        let Json::Array(steps) = json else { return Err(PatchFormError::NoList) };
        let steps = (0..).zip(steps).map(|(step, json)| parse(step, json, form));
        Ok(Self { steps: steps.collect::<Result<_, _>>()?, form })
    }

    /// Applies all steps as one change, or none; gives the change, if there is one.
    ///
    /// What is moved or copied becomes a new value: the format has no moves. A text that is replaced with a text stays the
    /// same and says something else; so it does for a string in [`Form::Plain`], which says texts so.
    pub fn apply(&self, doc: &mut Document, options: &CommitOptions) -> Result<Option<Commit>, PatchError> {
        let steps = |tx: &mut Transaction<'_>| {
            (0..).zip(&self.steps).try_for_each(|(number, step)| {
                step.apply(tx, self.form).map_err(|why| PatchError { step: number, why })
            })
        };
        doc.transact_with(options, steps).map(|((), commit)| commit)
    }
}

fn parse(step: usize, json: Json, form: Form) -> Result<Step, PatchFormError> {
    let Json::Object(mut members) = json else { return Err(PatchFormError::NoList) };
    let text = |members: &Map<String, Json>, member: &'static str| match members.get(member) {
        Some(Json::String(text)) => Ok(text.clone()),
        _ => Err(PatchFormError::Missing { step, member }),
    };
    let pointer = |members: &Map<String, Json>, member| {
        text(members, member)?.parse().map_err(|why| PatchFormError::Pointer { step, why })
    };
    let op = text(&members, "op")?;
    let path = pointer(&members, "path")?;
    let mut said = || members.remove("value").ok_or(PatchFormError::Missing { step, member: "value" });
    let value = |json| literal(json, form).map_err(|why| PatchFormError::Value { step, why });
    Ok(match &*op {
        "add" => Step::Add { path, value: value(said()?)? },
        "remove" => Step::Remove { path },
        "replace" => Step::Replace { path, value: value(said()?)? },
        "move" => Step::Move { from: pointer(&members, "from")?, path },
        "copy" => Step::Copy { from: pointer(&members, "from")?, path },
        "test" => Step::Test { path, value: said()? },
        _ => return Err(PatchFormError::Op { step, op }),
    })
}

impl Step {
    fn apply(&self, tx: &mut Transaction<'_>, form: Form) -> Result<(), PatchFault> {
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

/// A place in a map or a list.
fn place(tx: &Transaction<'_>, path: &Pointer) -> Result<Place, PatchFault> {
    let place = path.place(&tx.view())?;
    if place.kind == ObjType::Text { Err(PatchFault::Text) } else { Ok(place) }
}

/// A place where something is.
fn taken(tx: &Transaction<'_>, path: &Pointer) -> Result<Place, PatchFault> {
    let place = place(tx, path)?;
    if place.taken { Ok(place) } else { Err(PointerError::Nothing(path.clone()).into()) }
}

/// Makes the whole document something else.
fn become_whole(tx: &mut Transaction<'_>, value: &Literal) -> Result<(), PatchFault> {
    match value {
        Literal::Map(_) => Ok(tx.update_object(ROOT, value)?),
        _ => Err(PatchFault::Root),
    }
}

fn add(tx: &mut Transaction<'_>, path: &Pointer, value: Literal) -> Result<(), PatchFault> {
    if path.is_whole() {
        return become_whole(tx, &value);
    }
    let Place { obj, prop, .. } = place(tx, path)?;
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
    let Place { obj, prop, .. } = taken(tx, path)?;
    Ok(tx.delete(&obj, prop)?)
}

fn replace(tx: &mut Transaction<'_>, path: &Pointer, value: Literal, form: Form) -> Result<(), PatchFault> {
    if path.is_whole() {
        return become_whole(tx, &value);
    }
    let Place { obj, prop, .. } = taken(tx, path)?;
    put(tx, &obj, prop, value, form)
}

/// Puts a value where one may be. A text that becomes a text stays the same one; in the plain form strings say texts, too.
fn put(
    tx: &mut Transaction<'_>,
    obj: &ObjId,
    prop: Prop<'_>,
    value: Literal,
    form: Form,
) -> Result<(), PatchFault> {
    let there = tx.get(obj, prop.clone())?.map(|(value, id)| (value.as_object(), id));
    match (there, &value) {
        (Some((Some(ObjType::Text), text)), Literal::Text(new)) => tx.update_text(&text, new)?,
        (Some((Some(ObjType::Text), text)), Literal::Scalar(ScalarValue::Str(new)))
            if form == Form::Plain =>
        {
            tx.update_text(&text, new)?;
        }
        (_, Literal::Scalar(value)) => tx.editor().put_exactly(obj, &prop, value)?,
        _ => drop(tx.put_literal(obj, prop, value)?),
    }
    Ok(())
}

/// Applies a JSON Merge Patch as one change, or nothing; gives the change, if there is one: maps are merged, null deletes,
/// and everything else replaces what is there, texts as in [`Patch::apply`].
pub fn merge(
    json: &[u8],
    form: Form,
    doc: &mut Document,
    options: &CommitOptions,
) -> Result<Option<Commit>, MergePatchError> {
    let json: Json = serde_json::from_slice(json).map_err(ReadError::from)?;
    let Json::Object(members) = json else { return Err(MergePatchError::Root) };
    let merge = |tx: &mut Transaction<'_>| merge_into(tx, &ROOT, members, form);
    doc.transact_with(options, merge).map(|((), commit)| commit)
}

/// Why a merge patch was not applied. The document is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergePatchError {
    /// It is no JSON, or holds a value that a document cannot.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It would make something else than a map of the document.
    #[error("a document is a map: its merge patch is an object")]
    Root,
    /// The document takes no more.
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// The parser has made sure that there are few levels.
fn merge_into(
    tx: &mut Transaction<'_>,
    map: &ObjId,
    members: Map<String, Json>,
    form: Form,
) -> Result<(), MergePatchError> {
    for (key, json) in members {
        let is_value = form == Form::Tagged && json.get(super::TYPE).is_some();
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
