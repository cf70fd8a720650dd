//! A document that shows what happened and not what was written, to be sent with a report of a defect.

use std::collections::{BTreeSet, HashMap};

use crate::codec::change::Change;
use crate::document::Document;
use crate::error::{ApplyError, DecodeError};
use crate::legacy::{self, ElementId, Key, ObjectId, Op, OpId, OpType};
use crate::store::state::State;
use crate::types::{ActorId, ChangeHash, ScalarValue};

/// Why there is no such document.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AnonymiseError {
    /// A change without what was written in it is none.
    #[error(transparent)]
    Change(#[from] DecodeError),
    /// Its changes do not go into a document.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

impl Document {
    /// A document with the same history in which nothing is to be read: as many changes by as many actors, each with
    /// the same operations at the same places, of which the same win.
    ///
    /// Characters become others of the same length in UTF-8 and UTF-16; keys, names of marks and values of marks become
    /// numbers, equal ones the same number and others another one; bytes become zeros, and a number keeps its sign and its
    /// highest bit. Actors are numbered in their order. Times and authors go. Booleans and nulls stay, and line feeds.
    /// Changes that wait for others are left out.
    pub fn anonymise(&self) -> Result<Self, AnonymiseError> {
        let changes = self.get_changes(&[]);
        let mut mask = Mask::of(&changes);
        let mut masked = Vec::with_capacity(changes.len());
        for change in &changes {
            let made = Change::try_from(&mask.change(change.decode()))?;
            mask.hashes.insert(change.hash(), made.hash());
            masked.push(made);
        }
        let mut doc = Self::of(State::new(self.state.encoding), self.limits);
        doc.apply_changes(masked)?;
        Ok(doc)
    }
}

/// What stands for what.
struct Mask {
    actors: HashMap<ActorId, ActorId>,
    names: HashMap<String, String>,
    mark_values: MarkValues,
    /// Of the changes so far.
    hashes: HashMap<ChangeHash, ChangeHash>,
}

impl Mask {
    fn of(changes: &[Change]) -> Self {
        let others = changes.iter().flat_map(Change::other_actor_ids);
        let actors: BTreeSet<ActorId> =
            others.chain(changes.iter().map(|change| change.actor_id().clone())).collect();
        // All of one length, so that they compare as those before: of two values at one time the same one wins.
        let numbered = actors.into_iter().zip(1_u128..);
        let actors = numbered.map(|(actor, number)| (actor, ActorId::from(number.to_be_bytes())));
        Self {
            actors: actors.collect(),
            names: HashMap::new(),
            mark_values: MarkValues::default(),
            hashes: HashMap::new(),
        }
    }

    fn change(&mut self, change: legacy::Change) -> legacy::Change {
        legacy::Change {
            operations: change.operations.into_iter().map(|op| self.op(op)).collect(),
            actor_id: self.actors[&change.actor_id].clone(),
            hash: None,
            seq: change.seq,
            start_op: change.start_op,
            time: 0,
            message: change.message.as_deref().map(text),
            // A change comes after those it was made after.
            deps: change.deps.iter().map(|hash| self.hashes[hash]).collect(),
            extra_bytes: Vec::new(),
            author: None,
        }
    }

    fn op(&mut self, op: Op) -> Op {
        Op {
            action: match op.action {
                OpType::Put(value) => OpType::Put(scalar(value)),
                OpType::Increment(by) => OpType::Increment(magnitude(by)),
                OpType::MarkBegin(mut mark) => {
                    mark.name = self.name(mark.name);
                    mark.value = self.mark_values.mask(mark.value);
                    OpType::MarkBegin(mark)
                }
                action @ (OpType::Make(_) | OpType::Delete | OpType::MarkEnd(_)) => action,
            },
            obj: match op.obj {
                ObjectId::Root => ObjectId::Root,
                ObjectId::Id(id) => ObjectId::Id(self.id(&id)),
            },
            key: match op.key {
                Key::Map(key) => Key::Map(self.name(key)),
                Key::Seq(ElementId::Head) => Key::Seq(ElementId::Head),
                Key::Seq(ElementId::Id(id)) => Key::Seq(ElementId::Id(self.id(&id))),
            },
            pred: op.pred.iter().map(|id| self.id(id)).collect(),
            insert: op.insert,
        }
    }

    fn id(&self, id: &OpId) -> OpId {
        OpId::new(id.counter(), &self.actors[id.actor()])
    }

    fn name(&mut self, name: String) -> String {
        let number = self.names.len() + 1;
        self.names.entry(name).or_insert_with(|| format!("name {number}")).clone()
    }
}

/// Numbers that stand for values of marks. Of neighbours with one name equal values are one mark and others are two, so values
/// are not made equal here as they are elsewhere.
#[derive(Default)]
struct MarkValues {
    /// By type and value in words.
    numbers: HashMap<String, u32>,
}

impl MarkValues {
    fn mask(&mut self, value: ScalarValue<'static>) -> ScalarValue<'static> {
        let next = self.numbers.len() as u32 + 1;
        let mut number = || *self.numbers.entry(format!("{value:?}")).or_insert(next);
        match value {
            ScalarValue::Null | ScalarValue::Boolean(_) => value,
            ScalarValue::Int(_) => ScalarValue::Int(number().into()),
            ScalarValue::Counter(_) => ScalarValue::Counter(number().into()),
            ScalarValue::Timestamp(_) => ScalarValue::Timestamp(number().into()),
            ScalarValue::Uint(_) => ScalarValue::Uint(number().into()),
            ScalarValue::F64(float) if float.is_finite() && float != 0.0 => ScalarValue::F64(number().into()),
            ScalarValue::F64(_) => value,
            ScalarValue::Str(_) => ScalarValue::Str(format!("value {}", number()).into()),
            ScalarValue::Bytes(_) => ScalarValue::Bytes(number().to_be_bytes().to_vec().into()),
            ScalarValue::Unknown { type_code, .. } => {
                ScalarValue::Unknown { type_code, bytes: number().to_be_bytes().to_vec().into() }
            }
        }
    }
}

fn text(text: &str) -> String {
    let other = |c: char| match (c, c.len_utf8()) {
        ('\n', _) => '\n',
        (_, 1) => 'x',
        (_, 2) => 'ß',
        (_, 3) => '字',
        _ => '😀',
    };
    text.chars().map(other).collect()
}

fn scalar(value: ScalarValue<'static>) -> ScalarValue<'static> {
    match value {
        ScalarValue::Null | ScalarValue::Boolean(_) => value,
        ScalarValue::Int(value) => ScalarValue::Int(magnitude(value)),
        ScalarValue::Counter(value) => ScalarValue::Counter(magnitude(value)),
        ScalarValue::Timestamp(value) => ScalarValue::Timestamp(magnitude(value)),
        ScalarValue::Uint(value) => ScalarValue::Uint(highest_bit(value)),
        ScalarValue::F64(value) if value.is_finite() && value != 0.0 => ScalarValue::F64(value.signum()),
        ScalarValue::F64(value) => ScalarValue::F64(value),
        ScalarValue::Str(value) => ScalarValue::Str(text(&value).into()),
        ScalarValue::Bytes(bytes) => ScalarValue::Bytes(vec![0; bytes.len()].into()),
        ScalarValue::Unknown { type_code, bytes } => {
            ScalarValue::Unknown { type_code, bytes: vec![0; bytes.len()].into() }
        }
    }
}

fn highest_bit(value: u64) -> u64 {
    value.checked_ilog2().map_or(0, |bit| 1 << bit)
}

/// The highest bit with the sign.
fn magnitude(value: i64) -> i64 {
    let bit = highest_bit(value.unsigned_abs());
    if value < 0 { bit.wrapping_neg().cast_signed() } else { bit.cast_signed() }
}
