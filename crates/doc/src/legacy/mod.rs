//! A change taken apart: its operations as values that programs look into, with the names that users of the official crate
//! know. Also the way back: a change from its parts.

use std::fmt;
use std::str::FromStr;

use smallvec::SmallVec;

use crate::codec::change::{Change as Packed, ChangeHead, Scratch};
use crate::codec::limits::{Budget, Limits};
use crate::codec::ops::RowKind;
use crate::codec::row::{Action, RawKey, Row};
use crate::codec::value::RawValue;
use crate::error::{DecodeError, FormatError, Place, Rule};
use crate::types::{self, ActorId, ChangeHash, ObjType, ScalarValue};

#[cfg(feature = "serde")]
mod serde_impls;

/// The name of an operation: its counter and its actor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(pub u64, pub ActorId);

impl OpId {
    /// The operation of an actor with a counter.
    pub fn new(counter: u64, actor: &ActorId) -> Self {
        Self(counter, actor.clone())
    }

    /// Its counter.
    pub fn counter(&self) -> u64 {
        self.0
    }

    /// Who made it.
    pub fn actor(&self) -> &ActorId {
        &self.1
    }
}

/// A text that names no operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an operation is named <counter>@<actor in hexadecimal>")]
pub struct ParseOpIdError;

impl FromStr for OpId {
    type Err = ParseOpIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (counter, actor) = text.split_once('@').ok_or(ParseOpIdError)?;
        let counter = counter.parse().map_err(|_| ParseOpIdError)?;
        Ok(Self(counter, actor.parse().map_err(|_| ParseOpIdError)?))
    }
}

impl fmt::Display for OpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.0, self.1)
    }
}

/// The object that an operation is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ObjectId {
    /// Made by an operation.
    Id(OpId),
    /// The map that every document begins with.
    Root,
}

/// The element of a list or text that an operation is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ElementId {
    /// Before the first: what is inserted after it comes first.
    Head,
    /// Inserted by an operation.
    Id(OpId),
}

/// The place in its object that an operation is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A key of a map.
    Map(String),
    /// An element; an insertion comes after it.
    Seq(ElementId),
}

/// The begin of a mark.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkData {
    /// Its name.
    pub name: String,
    /// What it says about the text.
    pub value: ScalarValue<'static>,
    /// Whether what is inserted at this edge belongs to it.
    pub expand: bool,
}

/// What an operation does.
#[derive(Clone, Debug, PartialEq)]
pub enum OpType {
    /// Makes an object.
    Make(ObjType),
    /// Deletes what its predecessors put there.
    Delete,
    /// Adds to counters.
    Increment(i64),
    /// Puts a scalar.
    Put(ScalarValue<'static>),
    /// Begins a mark.
    MarkBegin(MarkData),
    /// Ends the mark that the operation before it began; whether what is inserted at this edge belongs to it.
    MarkEnd(bool),
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// What it does.
    pub action: OpType,
    /// In which object.
    pub obj: ObjectId,
    /// Where in it.
    pub key: Key,
    /// The operations it replaces, ascending: counters first, then actors bytewise.
    pub pred: Vec<OpId>,
    /// Whether it inserts an element after the one it names.
    pub insert: bool,
}

/// A change taken apart, see [`Change::decode`](Packed::decode).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Change {
    /// What it does. The counter of the first is [`Self::start_op`], each other's is one more than that before.
    #[cfg_attr(feature = "serde", serde(rename = "ops"))]
    pub operations: Vec<Op>,
    /// Who made it.
    #[cfg_attr(feature = "serde", serde(rename = "actor"))]
    pub actor_id: ActorId,
    /// Its name, which follows from everything else: none for what was put together by hand.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none", default))]
    pub hash: Option<ChangeHash>,
    /// Its number among the changes of its actor, from 1.
    pub seq: u64,
    /// Counter of the first operation.
    #[cfg_attr(feature = "serde", serde(rename = "startOp"))]
    pub start_op: u64,
    /// When, in seconds since 1970, as its maker said.
    pub time: i64,
    /// What its maker said about it.
    pub message: Option<String>,
    /// The changes it was made after.
    pub deps: Vec<ChangeHash>,
    /// Bytes behind the operations, the author among them.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty", default))]
    pub extra_bytes: Vec<u8>,
    /// The author that the extra bytes record. On the way back nobody asks: the extra bytes say it.
    #[cfg_attr(
        feature = "serde",
        serde(with = "serde_impls::author", skip_serializing_if = "Option::is_none", default)
    )]
    pub author: Option<Vec<u8>>,
}

impl Packed {
    /// The change with each of its operations.
    ///
    /// Takes some two hundred bytes an operation: a change of a hundred bytes may have as many operations as the limits
    /// allow under which it was read, see [`Self::len`].
    pub fn decode(&self) -> Change {
        let view = self.view();
        let actors: Vec<ActorId> =
            std::iter::once(self.actor_id().clone()).chain(self.other_actor_ids()).collect();
        let id = |id: types::OpId| OpId::new(id.ctr.into(), &actors[id.actor.place()]);
        let mut reader = view.ops().metered(Budget::UNLIMITED);
        let mut operations = Vec::new();
        while let Some(row) = reader.next().expect("the body was checked when the change was made") {
            operations.push(Op {
                action: action(&row),
                obj: if row.obj.is_none() { ObjectId::Root } else { ObjectId::Id(id(row.obj)) },
                key: match row.key {
                    RawKey::Map(key) => Key::Map(key.to_owned()),
                    RawKey::Elem(elem) if elem.is_none() => Key::Seq(ElementId::Head),
                    RawKey::Elem(elem) => Key::Seq(ElementId::Id(id(elem))),
                },
                pred: reader.refs.iter().map(|pred| id(*pred)).collect(),
                insert: row.insert,
            });
        }
        Change {
            operations,
            hash: Some(self.hash()),
            seq: self.seq(),
            start_op: self.start_op(),
            time: self.timestamp(),
            message: self.message().map(str::to_owned),
            deps: self.deps().to_vec(),
            extra_bytes: self.extra_bytes().to_vec(),
            author: self.author().map(<[u8]>::to_vec),
            actor_id: self.actor_id().clone(),
        }
    }
}

fn action(row: &Row<'_>) -> OpType {
    let value = || row.value.decode().expect("values were checked when the change was made").into_owned();
    match (row.action, row.action.makes(), row.mark) {
        (_, Some(kind), _) => OpType::Make(kind),
        (Action::Delete, ..) => OpType::Delete,
        (Action::Increment, ..) => {
            OpType::Increment(row.value.increment().expect("an increment is by a number"))
        }
        (Action::Mark, _, Some(name)) => {
            OpType::MarkBegin(MarkData { name: name.to_owned(), value: value(), expand: row.expand })
        }
        (Action::Mark, _, None) => OpType::MarkEnd(row.expand),
        _ => OpType::Put(value()),
    }
}

impl From<&Packed> for Change {
    fn from(change: &Packed) -> Self {
        change.decode()
    }
}

/// The actors of a change being written: its own, and in the order of their bytes those it names besides.
struct Actors<'a> {
    own: &'a ActorId,
    others: Vec<&'a ActorId>,
}

impl<'a> Actors<'a> {
    fn of(change: &'a Change) -> Self {
        let mut others: Vec<&ActorId> = change.operations.iter().flat_map(ids).map(OpId::actor).collect();
        others.retain(|actor| **actor != change.actor_id);
        others.sort_unstable();
        others.dedup();
        Self { own: &change.actor_id, others }
    }

    /// A name as it stands in the chunk.
    fn id(&self, id: &OpId) -> Result<types::OpId, Rule> {
        let counter = u32::try_from(id.0).map_err(|_| Rule::CounterRange)?;
        if counter == 0 {
            return Err(Rule::Zero);
        }
        let other = self.others.binary_search(&&id.1).map(|at| types::ActorIdx::of(at as u32 + 1));
        let actor = if id.1 == *self.own {
            types::ActorIdx::FIRST
        } else {
            other.expect("every actor was collected")
        };
        Ok(types::OpId::new(counter, actor))
    }
}

/// The operations that an operation names.
fn ids(op: &Op) -> impl Iterator<Item = &OpId> {
    let obj = match &op.obj {
        ObjectId::Id(id) => Some(id),
        ObjectId::Root => None,
    };
    let elem = match &op.key {
        Key::Seq(ElementId::Id(id)) => Some(id),
        Key::Seq(ElementId::Head) | Key::Map(_) => None,
    };
    obj.into_iter().chain(elem).chain(&op.pred)
}

/// A change from its parts: the same bytes as before when they came from [`Change::decode`](Packed::decode), unless an
/// increment was by an unsigned number, which nobody writes. The hash that the parts name is not looked at.
impl TryFrom<&Change> for Packed {
    type Error = DecodeError;

    fn try_from(change: &Change) -> Result<Self, DecodeError> {
        let fault = |rule| DecodeError::from(FormatError { place: Place::default(), rule });
        let actors = Actors::of(change);
        let mut values: Vec<(Option<ScalarValue<'_>>, Vec<u8>)> =
            change.operations.iter().map(|op| (value(op), Vec::new())).collect();
        let mut scratch = Scratch::default();
        for (op, (value, bytes)) in change.operations.iter().zip(&mut values) {
            let value = match value {
                Some(value) => RawValue::encode(value, bytes).map_err(fault)?,
                None => RawValue::NULL,
            };
            let (row, refs) = row(op, value, &actors).map_err(fault)?;
            scratch.writer.row(&row, &refs, RowKind::Change);
        }
        let others: SmallVec<[&[u8]; 4]> = actors.others.iter().map(|actor| actor.as_bytes()).collect();
        let head = ChangeHead {
            deps: &change.deps,
            actor: change.actor_id.as_bytes(),
            seq: change.seq,
            start_op: change.start_op,
            time: change.time,
            message: change.message.as_deref().unwrap_or_default(),
            others: &others,
            extra: &change.extra_bytes,
        };
        let mut body = Vec::new();
        head.write(&scratch.writer.columns(RowKind::Change), &mut body);
        let (hash, limits) = (Self::hash_body(&body), Limits::default());
        let mut budget = Budget::UNLIMITED;
        Self::from_body(&body, hash, &limits, &mut budget, &mut Scratch::default())
            .map_err(|error| error.place(0, 0))
    }
}

/// The scalar that an operation carries.
fn value(op: &Op) -> Option<ScalarValue<'_>> {
    match &op.action {
        OpType::Put(value) => Some(value.clone()),
        OpType::Increment(by) => Some(ScalarValue::Int(*by)),
        OpType::MarkBegin(mark) => Some(mark.value.clone()),
        OpType::Make(_) | OpType::Delete | OpType::MarkEnd(_) => None,
    }
}

/// An operation as the columns say it.
fn row<'a>(
    op: &'a Op,
    value: RawValue<'a>,
    actors: &Actors<'_>,
) -> Result<(Row<'a>, SmallVec<[types::OpId; 2]>), Rule> {
    let (action, expand, mark) = match &op.action {
        OpType::Make(kind) => (Action::make(*kind), false, None),
        OpType::Delete => (Action::Delete, false, None),
        OpType::Increment(_) => (Action::Increment, false, None),
        OpType::Put(_) => (Action::Set, false, None),
        OpType::MarkBegin(mark) => (Action::Mark, mark.expand, Some(mark.name.as_str())),
        OpType::MarkEnd(expand) => (Action::Mark, *expand, None),
    };
    let key = match &op.key {
        Key::Map(key) => RawKey::Map(key),
        Key::Seq(ElementId::Head) => RawKey::Elem(types::OpId::NONE),
        Key::Seq(ElementId::Id(id)) => RawKey::Elem(actors.id(id)?),
    };
    let obj = match &op.obj {
        ObjectId::Root => types::OpId::NONE,
        ObjectId::Id(id) => actors.id(id)?,
    };
    let refs = op.pred.iter().map(|pred| actors.id(pred)).collect::<Result<_, _>>()?;
    Ok((Row { id: types::OpId::NONE, obj, key, insert: op.insert, action, value, expand, mark }, refs))
}
