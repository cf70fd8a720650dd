//! Decoded changes: their operations as plain values, with the names of the official crate; and changes from such
//! parts.

use std::fmt;
use std::str::FromStr;

use smallvec::SmallVec;

use crate::codec::chunks::change::{Change as Packed, ChangeHead, Scratch};
use crate::codec::limits::{Budget, Limits};
use crate::codec::ops::op_reader::RowKind;
use crate::codec::raw_value::RawValue;
use crate::codec::row::{Action, RawKey, Row};
use crate::types::error::{DecodeError, FormatError, InputPosition, Rule};
use crate::types::{self, ActorId, ChangeHash, ObjType, ScalarValue};

#[cfg(feature = "serde")]
mod serde_impls;

/// Id of an operation: its counter and its actor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(pub u64, pub ActorId);

impl OpId {
    /// The id with this counter and actor.
    pub fn new(counter: u64, actor: &ActorId) -> Self {
        Self(counter, actor.clone())
    }

    /// The counter.
    pub fn counter(&self) -> u64 {
        self.0
    }

    /// The actor.
    pub fn actor(&self) -> &ActorId {
        &self.1
    }
}

/// Text that is not an operation id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an operation id has the form <counter>@<actor in hexadecimal>")]
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

/// The object of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ObjectId {
    /// Created by an operation.
    Id(OpId),
    /// The root map of a document.
    Root,
}

/// The element of a list or text to which an operation refers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ElementId {
    /// Before the first element, for insertions at the start.
    Head,
    /// Inserted by an operation.
    Id(OpId),
}

/// The key or element of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A key of a map.
    Map(String),
    /// An element; an insertion is placed after it.
    Seq(ElementId),
}

/// The begin of a mark.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkData {
    /// Name of the mark.
    pub name: String,
    /// Value of the mark.
    pub value: ScalarValue<'static>,
    /// Does text inserted at this edge belong to the mark?
    pub expand: bool,
}

/// Action of an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum OpType {
    /// Creates an object.
    Make(ObjType),
    /// Deletes the values of its predecessors.
    Delete,
    /// Increments counters.
    Increment(i64),
    /// Writes a scalar.
    Put(ScalarValue<'static>),
    /// Begins a mark.
    MarkBegin(MarkData),
    /// Ends the mark that the previous operation began. The flag tells whether text inserted at this edge belongs to
    /// it.
    MarkEnd(bool),
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// The action.
    pub action: OpType,
    /// The object.
    pub obj: ObjectId,
    /// The key or element.
    pub key: Key,
    /// Its predecessors, ascending: counters first, then actors bytewise.
    pub pred: Vec<OpId>,
    /// Does it insert an element after the one in `key`?
    pub insert: bool,
}

/// A decoded change, see [`Change::decode`](Packed::decode).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Change {
    /// The operations. The counter of the first is [`Self::start_op`]; the others follow contiguously.
    #[cfg_attr(feature = "serde", serde(rename = "ops"))]
    pub operations: Vec<Op>,
    /// The actor.
    #[cfg_attr(feature = "serde", serde(rename = "actor"))]
    pub actor_id: ActorId,
    /// The hash, which follows from the other fields; `None` if they were assembled by hand.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none", default))]
    pub hash: Option<ChangeHash>,
    /// Sequence number among the changes of its actor, from 1.
    pub seq: u64,
    /// Counter of the first operation.
    #[cfg_attr(feature = "serde", serde(rename = "startOp"))]
    pub start_op: u64,
    /// Seconds since 1970 by the author's clock.
    pub time: i64,
    /// The message.
    pub message: Option<String>,
    /// The dependencies.
    pub deps: Vec<ChangeHash>,
    /// Bytes after the operations, including the author.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty", default))]
    pub extra_bytes: Vec<u8>,
    /// The author recorded in the extra bytes. Ignored when a change is built: the extra bytes determine it.
    #[cfg_attr(
        feature = "serde",
        serde(with = "serde_impls::author", skip_serializing_if = "Option::is_none", default)
    )]
    pub author: Option<Vec<u8>>,
}

impl Packed {
    /// Decodes the change with all operations.
    ///
    /// Takes about two hundred bytes per operation: a change of a hundred bytes may have as many operations as the
    /// limits allowed when it was read, see [`Self::len`].
    pub fn decode(&self) -> Change {
        let view = self.view();
        let actors: Vec<ActorId> =
            std::iter::once(self.actor_id().clone()).chain(self.other_actor_ids()).collect();
        let id = |id: types::OpId| OpId::new(id.ctr.into(), &actors[id.actor.index()]);
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

/// Actors of a change to be encoded: its own, and the others it refers to, sorted by id.
struct Actors<'a> {
    own: &'a ActorId,
    others: Vec<&'a ActorId>,
}

impl<'a> Actors<'a> {
    fn from_change(change: &'a Change) -> Self {
        let mut others: Vec<&ActorId> = change.operations.iter().flat_map(ids).map(OpId::actor).collect();
        others.retain(|actor| **actor != change.actor_id);
        others.sort_unstable();
        others.dedup();
        Self { own: &change.actor_id, others }
    }

    /// An id with the actor index of the chunk.
    fn id(&self, id: &OpId) -> Result<types::OpId, Rule> {
        let counter = u32::try_from(id.0).map_err(|_| Rule::CounterRange)?;
        if counter == 0 {
            return Err(Rule::Zero);
        }
        let other = self.others.binary_search(&&id.1).map(|at| types::ActorIdx::from_u32(at as u32 + 1));
        let actor = if id.1 == *self.own {
            types::ActorIdx::FIRST
        } else {
            other.expect("every actor was collected")
        };
        Ok(types::OpId::new(counter, actor))
    }
}

/// The ids to which an operation refers.
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

/// Builds a change from its parts. For parts from [`Change::decode`](Packed::decode) the bytes are the original ones,
/// except for increments by unsigned numbers, which no writer produces. The hash in the parts is ignored.
impl TryFrom<&Change> for Packed {
    type Error = DecodeError;

    fn try_from(change: &Change) -> Result<Self, DecodeError> {
        let fault = |rule| DecodeError::from(FormatError { position: InputPosition::default(), rule });
        let actors = Actors::from_change(change);
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
            .map_err(|error| error.at_chunk(0, 0))
    }
}

/// The scalar of an operation.
fn value(op: &Op) -> Option<ScalarValue<'_>> {
    match &op.action {
        OpType::Put(value) => Some(value.clone()),
        OpType::Increment(by) => Some(ScalarValue::Int(*by)),
        OpType::MarkBegin(mark) => Some(mark.value.clone()),
        OpType::Make(_) | OpType::Delete | OpType::MarkEnd(_) => None,
    }
}

/// The operation as a row of columns.
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
