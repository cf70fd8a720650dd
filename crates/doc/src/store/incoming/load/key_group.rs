//! The rows of one key or element of a document chunk. Rows name successors; the log needs predecessors.

use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::codec::row::Action;
use crate::store::actors::Actors;
use crate::store::log::key_op::{Key, KeyOp};
use crate::store::log::value::StoredValue;
use crate::store::memory::byte_arena::{ByteArena, Bytes};
use crate::store::register::{Values, Visible};
use crate::store::seq::Span;
use crate::types::{ObjIdx, OpId};

/// One row.
pub(in crate::store) struct Op {
    pub(in crate::store) id: OpId,
    pub(in crate::store) action: Action,
    pub(in crate::store) val: StoredValue,
    pub(in crate::store) succ: SmallVec<[OpId; 2]>,
}

/// The rows of a key, or of an element after its insertion.
pub(in crate::store) struct Group {
    pub(in crate::store) obj: ObjIdx,
    pub(in crate::store) key: Key,
    /// The inserted element.
    pub(in crate::store) span: Option<Span>,
    /// Value with which the element was inserted.
    inserted: StoredValue,
    /// The operations that superseded the insertion.
    succ: SmallVec<[OpId; 2]>,
    pub(in crate::store) ops: Vec<Op>,
}

/// Operations and visible values of a group.
pub(in crate::store) struct Resolved {
    /// Ascending, with deletions after the others, each with its predecessors.
    pub(in crate::store) ops: Vec<(KeyOp, SmallVec<[OpId; 1]>)>,
    pub(in crate::store) values: Values,
    /// The first deletion of only the insertion, and the other deletions.
    pub(in crate::store) deleted_by: OpId,
    pub(in crate::store) dels: SmallVec<[OpId; 2]>,
}

impl Group {
    /// `room` is an empty list.
    pub(in crate::store) fn of_key(obj: ObjIdx, key: Bytes, mut room: Vec<Op>) -> Self {
        room.clear();
        let (inserted, succ) = (StoredValue::NULL, SmallVec::new());
        Self { obj, key: Key::Map(key), span: None, inserted, succ, ops: room }
    }

    pub(in crate::store) fn of_element(
        obj: ObjIdx,
        span: Span,
        inserted: StoredValue,
        succ: SmallVec<[OpId; 2]>,
    ) -> Self {
        Self { obj, key: Key::Elem(span.id), span: Some(span), inserted, succ, ops: Vec::new() }
    }

    pub(in crate::store) fn element(&self) -> Option<OpId> {
        self.span.map(|span| span.id)
    }

    pub(in crate::store) fn is_key(&self, key: &str, heap: &ByteArena) -> bool {
        matches!(self.key, Key::Map(bytes) if heap.get(bytes) == key.as_bytes())
    }

    /// Does this group's key precede `key`?
    pub(in crate::store) fn before_key(&self, key: &str, heap: &ByteArena) -> bool {
        matches!(self.key, Key::Map(bytes) if heap.get(bytes) < key.as_bytes())
    }

    /// The common case: a key that was written once, or repeatedly with each value superseding the one before. Returns
    /// the visible value.
    pub(in crate::store) fn chain(&self) -> Option<Values> {
        let over = |pair: &[Op]| pair[0].succ[..] == [pair[1].id] && pair[1].action != Action::Increment;
        let last = self.ops.last().filter(|last| last.succ.is_empty() && self.span.is_none())?;
        if self.ops[0].action == Action::Increment || !self.ops.windows(2).all(over) {
            return None;
        }
        Some(std::iter::once(Visible { id: last.id, val: last.val, added: 0 }).collect())
    }

    /// Determines which successors are deletions, the predecessors of each operation, and the visible values. `None`
    /// for an increment without predecessors, which no correct writer produces.
    pub(in crate::store) fn resolve(
        &self,
        actors: &Actors,
        amount: impl Fn(StoredValue) -> i64,
    ) -> Option<Resolved> {
        let rows: HashMap<OpId, usize> = if self.ops.len() > 8 {
            self.ops.iter().enumerate().map(|(i, op)| (op.id, i)).collect()
        } else {
            HashMap::new()
        };
        let row = |id: OpId| {
            if self.ops.len() > 8 {
                rows.get(&id).copied()
            } else {
                self.ops.iter().position(|op| op.id == id)
            }
        };
        let mut preds: Vec<SmallVec<[OpId; 1]>> = vec![SmallVec::new(); self.ops.len()];
        let mut deletes: Vec<(OpId, SmallVec<[OpId; 1]>)> = vec![];
        let mut deleted: HashMap<OpId, usize> = HashMap::new();
        let inserted = self.span.map(|span| (span.id, &self.succ));
        for (id, succ) in inserted.into_iter().chain(self.ops.iter().map(|op| (op.id, &op.succ))) {
            for next in succ {
                match row(*next) {
                    Some(at) => preds[at].push(id),
                    None => {
                        let at = *deleted.entry(*next).or_insert_with(|| {
                            deletes.push((*next, SmallVec::new()));
                            deletes.len() - 1
                        });
                        deletes[at].1.push(id);
                    }
                }
            }
        }
        let lonely =
            |(op, preds): (&Op, &SmallVec<[OpId; 1]>)| op.action == Action::Increment && preds.is_empty();
        if self.ops.iter().zip(&preds).any(lonely) {
            return None;
        }
        let values = self.values(&row, amount);
        let (mut gone, mut dels) = (OpId::NONE, SmallVec::new());
        let mut ops: Vec<_> = self.ops.iter().zip(preds).map(|(op, preds)| (self.keyed(op), preds)).collect();
        deletes.sort_unstable_by(|a, b| actors.cmp(a.0, b.0));
        for (id, preds) in deletes {
            let only_insertion = self.span.is_some_and(|span| preds[..] == [span.id]);
            if only_insertion && gone.is_none() {
                gone = id;
            } else if only_insertion {
                dels.push(id);
            } else {
                let op = Op { id, action: Action::Delete, val: StoredValue::NULL, succ: SmallVec::new() };
                ops.push((self.keyed(&op), preds));
            }
        }
        Some(Resolved { ops, values, deleted_by: gone, dels })
    }

    pub(in crate::store) fn keyed(&self, op: &Op) -> KeyOp {
        KeyOp::new(op.id, self.obj, self.key, op.action, op.val)
    }

    /// The values that nothing superseded, counters with the sum of their increments.
    fn values(&self, row: &impl Fn(OpId) -> Option<usize>, amount: impl Fn(StoredValue) -> i64) -> Values {
        let mut values = Values::new();
        let mut look = |id: OpId, val: StoredValue, succ: &[OpId]| {
            let mut added = 0i64;
            for next in succ {
                match row(*next).map(|at| &self.ops[at]) {
                    Some(op) if op.action == Action::Increment && val.is_counter() => {
                        added = added.wrapping_add(amount(op.val));
                    }
                    _ => return,
                }
            }
            values.push(Visible { id, val, added });
        };
        if let Some(span) = self.span {
            look(span.id, self.inserted, &self.succ);
        }
        for op in self.ops.iter().filter(|op| op.action != Action::Increment) {
            look(op.id, op.val, &op.succ);
        }
        values
    }
}
