//! Anonymised copy of a document for defect reports: the same history without its contents.

use std::collections::{BTreeSet, HashMap};

use crate::codec::chunks::change::Change;
use crate::document::Document;
use crate::interop::legacy;
use crate::interop::legacy::{ElementId, Key, ObjectId, Op, OpId, OpType};
use crate::store::state::DocumentState;
use crate::types::error::{ApplyError, DecodeError};
use crate::types::{ActorId, ChangeHash, ScalarValue};

/// Reason why no anonymised copy exists.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AnonymiseError {
    /// A masked change could not be encoded.
    #[error(transparent)]
    Change(#[from] DecodeError),
    /// The masked changes could not be applied.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

impl Document {
    /// A document with the same history without its contents: as many changes by as many actors, each with the same
    /// operations at the same positions and with the same winners.
    ///
    /// Characters are replaced by others of the same length in UTF-8 and UTF-16. Keys and names and values of marks are
    /// replaced by numbers, equal ones by equal numbers. Bytes become zeros, and a number keeps its sign and its
    /// highest bit. Actors are numbered in their order. Times and authors are removed. Booleans, nulls and line feeds
    /// stay. Queued changes are left out.
    pub fn anonymise(&self) -> Result<Self, AnonymiseError> {
        let changes = self.get_changes(&[]);
        let mut mask = Mask::from_changes(&changes);
        let mut masked = Vec::with_capacity(changes.len());
        for change in &changes {
            let masked_change = Change::try_from(&mask.change(change.decode()))?;
            mask.hashes.insert(change.hash(), masked_change.hash());
            masked.push(masked_change);
        }
        let mut doc = Self::from_state(DocumentState::new(self.state.encoding), self.limits);
        doc.apply_changes(masked)?;
        Ok(doc)
    }
}

/// Mapping from original to masked data.
struct Mask {
    actors: HashMap<ActorId, ActorId>,
    names: HashMap<String, String>,
    mark_values: MarkValues,
    /// Original to masked hashes of the changes so far.
    hashes: HashMap<ChangeHash, ChangeHash>,
}

impl Mask {
    fn from_changes(changes: &[Change]) -> Self {
        let others = changes.iter().flat_map(Change::other_actor_ids);
        let actors: BTreeSet<ActorId> =
            others.chain(changes.iter().map(|change| change.actor_id().clone())).collect();
        // All of one length, so that they compare as the originals: the same one of two concurrent values wins.
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
            // Dependencies precede their dependents.
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

/// Numbers for values of marks. Neighbouring marks of one name are merged if their values are equal, so different
/// values must stay different here.
#[derive(Default)]
struct MarkValues {
    /// By the type and textual form of the value.
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

/// Highest bit, with the sign.
fn magnitude(value: i64) -> i64 {
    let bit = highest_bit(value.unsigned_abs());
    if value < 0 { bit.wrapping_neg().cast_signed() } else { bit.cast_signed() }
}
