//! Application of one remote change to the state. Every rule is checked; a change that breaks one leaves the state as
//! it was.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::codec::chunks::change::{Change, ChangeStrings, run_after, step_from};
use crate::codec::columns::section::ChunkError;
use crate::codec::limits::{Budget, Limits, cost};
use crate::codec::ops::op_reader::{OpReader, RunKind, is_char};
use crate::codec::raw_value::RawValue;
use crate::codec::row::{Action, RawKey, Row};
use crate::codec::rules;
use crate::codec::shortcuts::keystroke::SingleCharOp;
use crate::codec::shortcuts::single::Single;
use crate::store::history::ChangeRun;
use crate::store::history::ancestry::AncestorClock;
use crate::store::log::MarkOp;
use crate::store::log::key_op::{Key, KeyOp};
use crate::store::log::value::StoredValue;
use crate::store::register::is_visible;
use crate::store::seq::{ElementPos, InsertPos, Kind, Seq};
use crate::store::state::{DocumentState, More};
use crate::store::versions::savepoint::Savepoint;
use crate::types::error::{Fault, LimitError, OpFault};
use crate::types::{ActorId, ActorIdx, ChangeIdx, ObjIdx, ObjType, OpId};

/// The change being applied.
pub(in crate::store) struct IncomingChange {
    pub(in crate::store) author: ActorIdx,
    /// Actor numbers here for the actors that its operations name.
    pub(in crate::store) actors: SmallVec<[ActorIdx; 4]>,
    pub(in crate::store) start: u32,
    /// Last run of the log before the change.
    pub(in crate::store) first_run: usize,
    /// Are all other changes its ancestors?
    pub(in crate::store) latest: bool,
    /// Its ancestors, if they are not the whole history and a check needs them.
    pub(in crate::store) ancestors: Option<Arc<AncestorClock>>,
}

/// Reason why a change is not applied.
#[derive(Debug)]
pub(crate) enum Refusal<F> {
    Fault(F),
    Limit(LimitError),
}

impl<F> From<LimitError> for Refusal<F> {
    fn from(limit: LimitError) -> Self {
        Refusal::Limit(limit)
    }
}

impl<F> Refusal<F> {
    pub(in crate::store) fn map<G>(self, fault: impl FnOnce(F) -> G) -> Refusal<G> {
        match self {
            Refusal::Fault(found) => Refusal::Fault(fault(found)),
            Refusal::Limit(limit) => Refusal::Limit(limit),
        }
    }
}

impl From<Fault> for Refusal<Fault> {
    fn from(fault: Fault) -> Self {
        Refusal::Fault(fault)
    }
}

impl From<OpFault> for Refusal<OpFault> {
    fn from(fault: OpFault) -> Self {
        Refusal::Fault(fault)
    }
}

/// Elements that operations delete, one each: the first, and the distance to the next.
#[derive(Clone, Copy)]
pub(in crate::store) struct Deletes {
    pub(in crate::store) elem: OpId,
    pub(in crate::store) step: i8,
    pub(in crate::store) rows: u32,
}

impl Deletes {
    fn one(elem: OpId) -> Self {
        Self { elem, step: 0, rows: 1 }
    }
}

/// Values of one type and length.
#[derive(Clone, Copy)]
struct Piece<'a> {
    code: u8,
    /// Length of each value.
    len: usize,
    bytes: &'a [u8],
    rows: u32,
}

/// Result of applying an operation.
pub(in crate::store) type OpResult = Result<(), Refusal<OpFault>>;

impl IncomingChange {
    #[inline]
    pub(in crate::store) fn id(&self, id: OpId) -> OpId {
        if id.is_none() { id } else { OpId::new(id.ctr, self.actors[id.actor.index()]) }
    }

    /// Checks that a reference is to an ancestor or to an earlier operation of the change.
    #[inline]
    fn check_ancestor(&self, id: OpId) -> Result<(), OpFault> {
        rules::ancestor(self.ancestors.as_ref().is_none_or(|past| id.actor == self.author || past.covers(id)))
    }
}

impl DocumentState {
    /// Applies a change whose dependencies are the rows `deps`. If that fails, the caller rolls back to `mark`, which
    /// is extended to include the change.
    pub(crate) fn apply(
        &mut self,
        change: &Change,
        deps: SmallVec<[ChangeIdx; 2]>,
        limits: &Limits,
        budget: &mut Budget,
        mark: &mut Option<Savepoint>,
    ) -> Result<(), Refusal<Fault>> {
        // A new actor gets this number, if nothing is wrong so far.
        let actor = self.actors.find(change.actor_id()).unwrap_or(self.actors.next());
        let (start, len) = (change.start_op() as u32, change.len() as u32);
        let past = self.history.ancestors_unless_all(&deps, budget)?;
        self.check_next_of_actor(actor, change.seq() as u32, start, &deps, past.as_deref())?;
        let names = change.names();
        self.savepoint_in(mark, OpId::new(start, actor));
        let actors = self.numbers_of(actor, change.actor_id(), &names);
        let first_run = self.log.runs.len().saturating_sub(1);
        let incoming = IncomingChange {
            author: actor,
            actors,
            start,
            first_run,
            latest: past.is_none(),
            ancestors: past,
        };
        let single = change.single().and_then(|single| self.apply_single(&single, &incoming, budget));
        let result = match single {
            Some(result) => result.map_err(|reason| reason.map(|rule| operation(start, rule))),
            None => {
                let view = change.view();
                self.apply_ops(&mut view.ops(), &incoming, budget)
            }
        };
        result?;
        let bytes = (names.message.len() + change.extra_bytes().len()) as u64;
        let named = deps.len() as u64;
        let more = More { operations: len.into(), changes: 1, deps: named, bytes, ..More::default() };
        self.afford(more, limits)?;
        self.max_op = self.max_op.max(start - 1 + len);
        let message = self.heap.name(names.message);
        let extra = self.heap.push(change.extra_bytes());
        let run = ChangeRun {
            first_row: self.history.next(),
            follows_all: false,
            row_count: 1,
            actor,
            seq: change.seq() as u32,
            first_counter: start,
            ops_per_change: len,
            time: change.timestamp(),
            message,
            extra,
            deps,
            log: self.log_of(first_run, start, actor),
        };
        let row = self.push_changes(run);
        if let Some(past) = incoming.ancestors {
            self.history.cache_ancestors_of_last(past);
        }
        self.history.set_hash(row, change.hash());
        Ok(())
    }

    /// Can a change be the next one of its actor, by its sequence number and the counter of its first operation?
    pub(in crate::store) fn check_next_of_actor(
        &self,
        actor: ActorIdx,
        seq: u32,
        start: u32,
        deps: &[ChangeIdx],
        past: Option<&AncestorClock>,
    ) -> Result<(), Fault> {
        rules::sequence(past.map_or(self.history.seq(actor), |past| past.seq(actor)), seq)?;
        rules::start(start, deps.iter().map(|row| self.history.next_counter_after(*row)).max().unwrap_or(0))
    }

    /// Numbers of a change's actors: the author, whose number and name are given, then the others.
    fn numbers_of(
        &mut self,
        author: ActorIdx,
        name: &ActorId,
        names: &ChangeStrings<'_>,
    ) -> SmallVec<[ActorIdx; 4]> {
        if author == self.actors.next() {
            self.actors.add_all([name]);
        }
        let mut numbers = smallvec::smallvec![author];
        numbers.extend(names.others.iter().map_while(|other| self.actors.find(&ActorId::from(*other))));
        if numbers.len() <= names.others.len() {
            let others: Vec<ActorId> = names.others.iter().map(|other| ActorId::from(*other)).collect();
            self.actors.add_all(&others);
            numbers.truncate(1);
            numbers.extend(others.iter().filter_map(|other| self.actors.find(other)));
        }
        numbers
    }

    /// The log run with the first operation of a change that was appended when `first_run` was the last run.
    pub(crate) fn log_of(&self, first_run: usize, start: u32, actor: ActorIdx) -> u32 {
        match self.log.runs.get(first_run) {
            Some(run) if run.id.actor == actor && run.id.ctr + run.len > start => first_run as u32,
            Some(_) => first_run as u32 + 1,
            None => 0,
        }
    }

    /// Applies the only operation of a change. `None` unless it is a keystroke in a text or an operation on a key.
    fn apply_single(
        &mut self,
        single: &Single<'_>,
        incoming: &IncomingChange,
        budget: &mut Budget,
    ) -> Option<OpResult> {
        match single {
            Single::SingleCharOp(char_op) => self.apply_char_op(char_op, incoming, budget),
            Single::Put(put) => {
                let pred = (!put.pred.is_none()).then(|| incoming.id(put.pred));
                // Number 0 is the author in the chunk.
                let row = put.row(OpId::new(incoming.start, ActorIdx::FIRST));
                Some(self.apply_row(&row, pred.as_slice(), incoming, budget))
            }
        }
    }

    /// Applies a keystroke in a text. `None` for other operations.
    fn apply_char_op(
        &mut self,
        char_op: &SingleCharOp<'_>,
        incoming: &IncomingChange,
        budget: &mut Budget,
    ) -> Option<OpResult> {
        let object = incoming.id(char_op.obj);
        let obj = self.number(object)?;
        let seq = self.seq(obj).filter(|seq| seq.is_text)?;
        let (elem, id) = (incoming.id(char_op.elem), OpId::new(incoming.start, incoming.author));
        if let Err(rule) = incoming.check_ancestor(object) {
            return Some(Err(rule.into()));
        }
        let Some(text) = char_op.text else {
            return Some(self.apply_deletes(obj, Deletes::one(elem), id, incoming, budget));
        };
        let gap = match self.gap_in(seq, elem, id, incoming, budget) {
            Ok(gap) => gap,
            Err(reason) => return Some(Err(reason)),
        };
        Some(utf8(text).map(|text| self.insert_text(obj, gap, elem, id, text)))
    }

    /// Applies all operations of a change. Reading them was paid for when the change was decoded; `budget` pays for
    /// costs that depend on the document.
    fn apply_ops(
        &mut self,
        reader: &mut OpReader<'_>,
        incoming: &IncomingChange,
        budget: &mut Budget,
    ) -> Result<(), Refusal<Fault>> {
        while let Some(row) = reader.next().map_err(unreadable)? {
            let refs: SmallVec<[OpId; 4]> = reader.refs.iter().map(|pred| incoming.id(*pred)).collect();
            let at = |ctr: u32| move |reason: Refusal<OpFault>| reason.map(|rule| operation(ctr, rule));
            self.apply_row(&row, &refs, incoming, budget).map_err(at(row.id.ctr))?;
            let Some(mut run) = run_after(&row, &reader.refs) else { continue };
            let obj = self.number(incoming.id(row.obj)).ok_or(OpFault::Object.into());
            let obj = obj.map_err(at(row.id.ctr))?;
            loop {
                let before = run;
                let rows = reader.extend(&mut run).map_err(|fault| unreadable(fault.into()))?;
                if rows == 0 {
                    break;
                }
                let id = incoming.id(before.id).plus(1);
                match run.kind {
                    RunKind::Insert => self.apply_inserts(obj, id, rows, reader, incoming, budget)?,
                    RunKind::Delete => {
                        let elem = incoming.id(step_from(before.elem, run.step));
                        let deletes = Deletes { elem, step: run.step as i8, rows: rows as u32 };
                        self.apply_deletes(obj, deletes, id, incoming, budget).map_err(at(id.ctr))?;
                    }
                }
            }
        }
        Ok(())
    }

    pub(in crate::store) fn apply_row(
        &mut self,
        row: &Row<'_>,
        refs: &[OpId],
        incoming: &IncomingChange,
        budget: &mut Budget,
    ) -> OpResult {
        let object = incoming.id(row.obj);
        let obj = self.number(object).ok_or(OpFault::Object)?;
        incoming.check_ancestor(object)?;
        let kind = self.objects[obj].kind;
        rules::key_kind(kind, row)?;
        rules::text_alone_has_marks(row.action, kind == ObjType::Text)?;
        rules::supersedes(row.action, row.insert, refs.len())?;
        match row.key {
            RawKey::Map(key) => self.apply_key(obj, key, row, refs, incoming, budget),
            RawKey::Elem(elem) if row.insert => {
                self.apply_insert(obj, incoming.id(elem), row, incoming, budget)
            }
            RawKey::Elem(elem) => self.apply_update(obj, incoming.id(elem), row, refs, incoming, budget),
        }
    }

    fn apply_key(
        &mut self,
        obj: ObjIdx,
        key: &str,
        row: &Row<'_>,
        refs: &[OpId],
        incoming: &IncomingChange,
        budget: &mut Budget,
    ) -> OpResult {
        let entry = self.map(obj).and_then(|map| map.get(key, &self.heap));
        conflict(budget, entry.map_or(0, |entry| entry.values.len()), refs)?;
        for pred in refs {
            incoming.check_ancestor(*pred)?;
            let visible = entry.is_some_and(|entry| is_visible(&entry.values, *pred, &self.actors));
            let there = |op: &KeyOp| match op.key() {
                Key::Map(bytes) => op.obj == obj && self.heap.get(bytes) == key.as_bytes(),
                Key::Elem(_) => false,
            };
            if !visible {
                let op = self.preceding(*pred, incoming).filter(|op| there(op));
                rules::predecessor(op.map(|op| op.action))?;
            }
        }
        let id = incoming.id(row.id);
        let val = self.value_of(row, id, obj);
        self.put_key_in(obj, key, &keyed(id, obj, row.action, val), refs, incoming.latest);
        Ok(())
    }

    fn value_of(&mut self, row: &Row<'_>, id: OpId, obj: ObjIdx) -> StoredValue {
        match row.action.makes() {
            Some(kind) => self.make(id, kind, obj),
            None => self.keep_raw(row.value),
        }
    }

    fn apply_insert(
        &mut self,
        obj: ObjIdx,
        origin: OpId,
        row: &Row<'_>,
        incoming: &IncomingChange,
        budget: &mut Budget,
    ) -> OpResult {
        let id = incoming.id(row.id);
        let gap = self.gap(obj, origin, id, incoming, budget)?;
        let text = self.seq(obj).is_some_and(|seq| seq.is_text);
        match row.action {
            Action::Mark => {
                let name = row.mark.map(|name| self.heap.name(name));
                let val = self.keep_raw(row.value);
                self.insert_mark(obj, gap, id, MarkOp { origin, name, val, expand: row.expand });
                if name.is_none() {
                    self.mark_order(obj, id)?;
                }
            }
            Action::Set if text && is_char(row.value.code, row.value.bytes) => {
                self.insert_text(obj, gap, origin, id, utf8(row.value.bytes)?);
            }
            _ => {
                let val = self.value_of(row, id, obj);
                self.insert_values(obj, gap, origin, id, &[val]);
            }
        }
        Ok(())
    }

    /// The gap for an element inserted after another one.
    pub(in crate::store) fn gap(
        &self,
        obj: ObjIdx,
        origin: OpId,
        id: OpId,
        incoming: &IncomingChange,
        budget: &mut Budget,
    ) -> Result<InsertPos, Refusal<OpFault>> {
        self.gap_in(self.seq(obj).ok_or(OpFault::InsertMap)?, origin, id, incoming, budget)
    }

    #[inline]
    fn gap_in(
        &self,
        seq: &Seq,
        origin: OpId,
        id: OpId,
        incoming: &IncomingChange,
        budget: &mut Budget,
    ) -> Result<InsertPos, Refusal<OpFault>> {
        let at = if origin.is_none() {
            None
        } else {
            let at = seq.find(origin).ok_or(OpFault::Element)?;
            incoming.check_ancestor(origin)?;
            Some(at)
        };
        Ok(seq.insertion_gap(at, id, &self.ctx(), budget)?)
    }

    /// The end of a mark must follow its begin, whose id is one less.
    fn mark_order(&self, obj: ObjIdx, end: OpId) -> Result<(), OpFault> {
        let seq = self.seq(obj).ok_or(OpFault::Mark)?;
        let begin = seq.find(OpId::new(end.ctr - 1, end.actor)).ok_or(OpFault::MarkOrder)?;
        let end = seq.find(end).ok_or(OpFault::Mark)?;
        rules::mark_end(seq.span(begin).kind == Kind::Mark && seq.before(begin, end))
    }

    /// Inserts the values that the reader skipped, the first after the element before `id`.
    fn apply_inserts(
        &mut self,
        obj: ObjIdx,
        id: OpId,
        rows: u64,
        reader: &mut OpReader<'_>,
        incoming: &IncomingChange,
        budget: &mut Budget,
    ) -> Result<(), Refusal<Fault>> {
        let at = |reason: Refusal<OpFault>| reason.map(|rule| operation(id.ctr, rule));
        self.seq(obj).ok_or(at(OpFault::InsertMap.into()))?;
        let (mut next, mut refused) = (id, None);
        let read = reader.take_values(rows, cost::GLANCE, |code, len, bytes, rows| {
            if refused.is_none() {
                let piece = Piece { code, len, bytes, rows: rows as u32 };
                refused = self.insert_piece(obj, next, piece, incoming, &mut *budget).err();
            }
            next = next.plus(rows as u32);
            Ok(())
        });
        read.map_err(unreadable)?;
        refused.map_or(Ok(()), |reason| Err(at(reason)))
    }

    /// Inserts values, the first after the element before `id`.
    fn insert_piece(
        &mut self,
        obj: ObjIdx,
        id: OpId,
        piece: Piece<'_>,
        incoming: &IncomingChange,
        budget: &mut Budget,
    ) -> OpResult {
        let origin = OpId::new(id.ctr - 1, id.actor);
        // No newer element can follow an element of this change, so nothing is skipped.
        let gap = self.gap(obj, origin, id, incoming, &mut *budget)?;
        let Piece { code, len, bytes, rows } = piece;
        let text = self.objects[obj].kind == ObjType::Text;
        let chars = text && len > 0 && bytes.chunks_exact(len).all(|bytes| is_char(code, bytes));
        if chars {
            self.insert_text(obj, gap, origin, id, utf8(bytes)?);
            return Ok(());
        }
        if text {
            // Each of them is an element of its own.
            budget.spend(rows.into(), cost::STEP)?;
        }
        let values: Vec<StoredValue> = (0..rows as usize)
            .map(|n| self.keep_raw(RawValue { code, bytes: &bytes[n * len..][..len] }))
            .collect();
        self.insert_values(obj, gap, origin, id, &values);
        Ok(())
    }

    fn apply_update(
        &mut self,
        obj: ObjIdx,
        elem: OpId,
        row: &Row<'_>,
        refs: &[OpId],
        incoming: &IncomingChange,
        budget: &mut Budget,
    ) -> OpResult {
        let id = incoming.id(row.id);
        if row.action == Action::Delete && refs == [elem] {
            return self.apply_deletes(obj, Deletes::one(elem), id, incoming, budget);
        }
        let at = self.element(obj, elem)?;
        incoming.check_ancestor(elem)?;
        let seq = self.seq(obj).ok_or(OpFault::KeyKind)?;
        let values = seq.reg(seq.span(at)).map(|reg| &reg.values);
        conflict(budget, values.map_or(0, |values| values.len()), refs)?;
        for pred in refs.iter().filter(|pred| **pred != elem) {
            incoming.check_ancestor(*pred)?;
            let visible = values.is_some_and(|values| is_visible(values, *pred, &self.actors));
            let there = |op: &KeyOp| op.obj == obj && op.key() == Key::Elem(elem);
            if !visible {
                let op = self.preceding(*pred, incoming).filter(|op| there(op));
                rules::predecessor(op.map(|op| op.action))?;
            }
        }
        let val = self.value_of(row, id, obj);
        self.put_elem_in(obj, at, &keyed(id, obj, row.action, val), refs, incoming.latest);
        Ok(())
    }

    /// Position of an element that can be changed.
    fn element(&self, obj: ObjIdx, elem: OpId) -> Result<ElementPos, OpFault> {
        let seq = self.seq(obj).ok_or(OpFault::KeyKind)?;
        let at = seq.find(elem).ok_or(OpFault::Element)?;
        if seq.span(at).kind == Kind::Mark { Err(OpFault::Element) } else { Ok(at) }
    }

    pub(in crate::store) fn apply_deletes(
        &mut self,
        obj: ObjIdx,
        deletes: Deletes,
        id: OpId,
        incoming: &IncomingChange,
        budget: &mut Budget,
    ) -> OpResult {
        let Deletes { mut elem, step, rows: mut left } = deletes;
        let mut id = id;
        while left > 0 {
            budget.spend(1, cost::GLANCE)?;
            let at = self.element(obj, elem)?;
            incoming.check_ancestor(elem)?;
            let span = self.seq(obj).map(|seq| *seq.span(at)).ok_or(OpFault::KeyKind)?;
            let n = if !span.visible || span.reg.is_some() {
                let reg = self.seq(obj).and_then(|seq| seq.reg(&span));
                budget.spend(1, cost::STEP)?;
                conflict(budget, reg.map_or(0, |reg| reg.values.len()), &[])?;
                self.delete_again(obj, at, id);
                1
            } else if step < 0 {
                let n = left.min(at.off + 1);
                self.delete_run(obj, at.minus(n - 1), n, id, -1);
                n
            } else {
                let n = left.min(span.len - at.off);
                self.delete_run(obj, at, n, id, 1);
                n
            };
            incoming.check_ancestor(crate::store::log::stepped(elem, step, n - 1))?;
            elem = crate::store::log::stepped(elem, step, n);
            id = id.plus(n);
            left -= n;
        }
        Ok(())
    }

    /// The operation `id` on a key or element, among the ancestors or in the change being applied.
    fn preceding(&self, id: OpId, incoming: &IncomingChange) -> Option<&KeyOp> {
        let at = if id.actor == incoming.author && id.ctr >= incoming.start {
            let from = self.log_of(incoming.first_run, incoming.start, id.actor) as usize;
            self.log.find(id.ctr, from, self.log.runs.len().max(from + 1))
        } else {
            let (number, _) = self.history.by_op(id)?;
            let (from, end) = self.log_range(number);
            self.log.find(id.ctr, from, end)
        };
        self.log.keyed.get(self.log.runs.get(at)?.keyed(id)?)
    }
}

/// Fault of the operation with this counter.
fn operation(counter: u32, rule: OpFault) -> Fault {
    Fault::Operation { counter: counter.into(), rule }
}

/// A change that was decoded before and cannot be decoded again.
fn unreadable(error: ChunkError) -> Refusal<Fault> {
    match error {
        ChunkError::Fault(fault) => Refusal::Fault(Fault::Unreadable(fault.rule)),
        ChunkError::Limit(limit) => Refusal::Limit(limit),
    }
}

/// Characters, which were checked when they were decoded.
fn utf8(text: &[u8]) -> Result<&str, Refusal<OpFault>> {
    std::str::from_utf8(text).map_err(|_| OpFault::Text.into())
}

/// Number of values that one glance of the budget moves.
const MOVED: u64 = 32;

/// Charges the budget for finding the predecessors among the conflicting values, if any are named, and for inserting
/// between them.
fn conflict(budget: &mut Budget, values: usize, refs: &[OpId]) -> Result<(), LimitError> {
    let looked = if refs.is_empty() { 0 } else { values as u64 };
    budget.spend(looked + values as u64 / MOVED, cost::GLANCE)
}

/// An operation whose key is set when it is stored.
fn keyed(id: OpId, obj: ObjIdx, action: Action, val: StoredValue) -> KeyOp {
    KeyOp::new(id, obj, Key::Elem(OpId::NONE), action, val)
}
