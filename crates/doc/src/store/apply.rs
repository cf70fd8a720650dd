//! Making a change that came from elsewhere part of the state. Everything is checked before it counts: a change that
//! breaks a rule leaves nothing behind.

use smallvec::SmallVec;

use super::history::ChangeRun;
use super::keyed::{Key, Keyed};
use super::log::{MarkOp, Val};
use super::seq::{At, Gap, Kind, Seq};
use super::state::State;
use super::undo::Mark;
use crate::codec::change::{Change, Names, run_after, step_from};
use crate::codec::column::ChunkError;
use crate::codec::limits::{Meter, cost};
use crate::codec::ops::{Action, OpReader, RawKey, Row, RunKind, char_len};
use crate::codec::single::Single;
use crate::codec::stroke::Stroke;
use crate::codec::value::code;
use crate::error::{Fault, LimitError, OpFault};
use crate::types::{ActorId, ObjType, OpId};

/// The change being applied.
pub(super) struct Incoming {
    pub(super) author: u32,
    /// The numbers here of the actors that its operations name.
    pub(super) actors: SmallVec<[u32; 4]>,
    pub(super) start: u32,
    /// The last run of the log before it.
    pub(super) first_run: usize,
}

/// Why a change is not applied.
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
    pub(super) fn map<G>(self, fault: impl FnOnce(F) -> G) -> Refusal<G> {
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

/// What applying an operation gives.
pub(super) type Applied = Result<(), Refusal<OpFault>>;

impl Incoming {
    #[inline]
    pub(super) fn id(&self, id: OpId) -> OpId {
        if id.is_none() { id } else { OpId::new(id.ctr, self.actors[id.actor as usize]) }
    }
}

impl State {
    /// Applies a change whose dependencies are the rows `deps`. When it fails, the caller undoes it by `mark`, which goes
    /// before it from now on.
    pub(crate) fn apply(
        &mut self,
        change: &Change,
        deps: SmallVec<[u32; 2]>,
        (meter, mark): (&mut Meter, &mut Option<Mark>),
    ) -> Result<(), Refusal<Fault>> {
        let actor = self.actors.add(change.actor_id());
        let (start, len) = (change.start_op() as u32, change.len() as u32);
        self.comes_next(actor, (change.seq() as u32, start), &deps)?;
        let names = change.names();
        let actors = self.numbers_of(actor, &names);
        self.mark_in(mark, OpId::new(start, actor));
        self.latest = self.history.heads.iter().all(|head| deps.contains(head));
        let incoming =
            Incoming { author: actor, actors, start, first_run: self.log.runs.len().saturating_sub(1) };
        let single = change.single().and_then(|single| self.apply_single(&single, &incoming, meter));
        let result = match single {
            Some(result) => result.map_err(|why| why.map(|rule| (start, rule))),
            None => {
                let view = change.view();
                let mut reader = view.ops().metered(*meter);
                let result = self.apply_ops(&mut reader, &incoming);
                *meter = reader.meter;
                result
            }
        };
        self.latest = true;
        result
            .map_err(|why| why.map(|(counter, rule)| Fault::Operation { counter: counter.into(), rule }))?;
        self.max_op = self.max_op.max(start - 1 + len);
        let message = self.heap.name(names.message);
        let extra = self.heap.push(change.extra_bytes());
        let run = ChangeRun {
            row: 0,
            rows: 1,
            actor,
            seq: change.seq() as u32,
            start,
            ops: len,
            time: change.timestamp(),
            message,
            extra,
            deps,
            log: self.log_of(incoming.first_run, start, actor),
        };
        let row = self.push_changes(run);
        self.history.learn(row, change.hash());
        Ok(())
    }

    /// Whether a change can be the next one of its actor, by its sequence number and the counter of its first operation.
    pub(super) fn comes_next(&self, actor: u32, (seq, start): (u32, u32), deps: &[u32]) -> Result<(), Fault> {
        let (last, found) = (u64::from(self.history.seq(actor)), u64::from(seq));
        if found != last + 1 {
            return Err(Fault::Seq { last, found });
        }
        let known = deps.iter().map(|row| self.history.at(*row).end()).max().unwrap_or(0);
        let known = u64::from(known.max(self.history.end(actor)));
        if u64::from(start) < known {
            return Err(Fault::StartOp { start: start.into(), known: known - 1 });
        }
        Ok(())
    }

    /// The numbers of a change's actors: the author, then the others.
    fn numbers_of(&mut self, author: u32, names: &Names<'_>) -> SmallVec<[u32; 4]> {
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

    /// The run of the log that holds the first operation of a change, appended after run `first_run` was the last.
    pub(crate) fn log_of(&self, first_run: usize, start: u32, actor: u32) -> u32 {
        match self.log.runs.get(first_run) {
            Some(run) if run.id.actor == actor && run.id.ctr + run.len > start => first_run as u32,
            Some(_) => first_run as u32 + 1,
            None => 0,
        }
    }

    /// Applies the only operation of a change; nothing where it is no keystroke in a text and none on a key.
    fn apply_single(
        &mut self,
        single: &Single<'_>,
        incoming: &Incoming,
        meter: &mut Meter,
    ) -> Option<Applied> {
        match single {
            Single::Stroke(stroke) => self.apply_stroke(stroke, incoming, meter),
            Single::Put(put) => {
                let pred = (!put.pred.is_none()).then(|| incoming.id(put.pred));
                // Number 0 is the author in the chunk.
                let row = put.row(OpId::new(incoming.start, 0));
                Some(self.apply_row(&row, pred.as_slice(), incoming, meter))
            }
        }
    }

    /// Applies a keystroke in a text; nothing where it is not one.
    fn apply_stroke(
        &mut self,
        stroke: &Stroke<'_>,
        incoming: &Incoming,
        meter: &mut Meter,
    ) -> Option<Applied> {
        let obj = self.number(incoming.id(stroke.obj))?;
        let seq = self.seq(obj).filter(|seq| seq.is_text)?;
        let (elem, id) = (incoming.id(stroke.elem), OpId::new(incoming.start, incoming.author));
        let Some(text) = stroke.text else { return Some(self.apply_deletes(obj, elem, 0, id, 1, meter)) };
        let gap = match self.gap_in(seq, elem, id, meter) {
            Ok(gap) => gap,
            Err(why) => return Some(Err(why)),
        };
        self.insert_text(obj, gap, elem, id, std::str::from_utf8(text).unwrap_or_default());
        Some(Ok(()))
    }

    fn apply_ops(
        &mut self,
        reader: &mut OpReader<'_>,
        incoming: &Incoming,
    ) -> Result<(), Refusal<(u32, OpFault)>> {
        // The codec read every row when the change was made, at the same cost.
        while let Some(row) = reader.next().ok().flatten() {
            let refs: SmallVec<[OpId; 4]> = reader.refs.iter().map(|pred| incoming.id(*pred)).collect();
            let at = |ctr: u32| move |why: Refusal<OpFault>| why.map(|rule| (ctr, rule));
            self.apply_row(&row, &refs, incoming, &mut reader.meter).map_err(at(row.id.ctr))?;
            let Some(mut run) = run_after(&row, &reader.refs) else { continue };
            let obj = self.number(incoming.id(row.obj)).ok_or(OpFault::Object.into());
            let obj = obj.map_err(at(row.id.ctr))?;
            loop {
                let before = run;
                let Some(rows) = reader.extend(&mut run).ok().filter(|rows| *rows > 0) else { break };
                let id = incoming.id(before.id).plus(1);
                match run.kind {
                    RunKind::Insert => {
                        self.apply_inserts(obj, id, rows, reader).map_err(at(id.ctr))?;
                    }
                    RunKind::Delete => {
                        let first = incoming.id(step_from(before.elem, run.step));
                        let (step, rows) = (run.step as i8, rows as u32);
                        self.apply_deletes(obj, first, step, id, rows, &mut reader.meter)
                            .map_err(at(id.ctr))?;
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn apply_row(
        &mut self,
        row: &Row<'_>,
        refs: &[OpId],
        incoming: &Incoming,
        meter: &mut Meter,
    ) -> Applied {
        let obj = self.number(incoming.id(row.obj)).ok_or(OpFault::Object)?;
        let sequence = self.objects[obj as usize].kind.is_sequence();
        let id = incoming.id(row.id);
        match row.key {
            RawKey::Map(_) if sequence => Err(OpFault::KeyKind.into()),
            RawKey::Elem(_) if !sequence => {
                Err(if row.insert { OpFault::InsertMap } else { OpFault::KeyKind }.into())
            }
            RawKey::Map(key) => self.apply_key(obj, key, row, id, refs, (incoming, meter)),
            RawKey::Elem(elem) if row.insert => {
                if !refs.is_empty() {
                    return Err(OpFault::InsertPred.into());
                }
                self.apply_insert(obj, incoming.id(elem), row, id, meter)
            }
            RawKey::Elem(elem) => self.apply_update(obj, incoming.id(elem), row, id, refs, (incoming, meter)),
        }
    }

    fn needs_preds(row: &Row<'_>, refs: &[OpId]) -> Result<(), OpFault> {
        let needs = matches!(row.action, Action::Delete | Action::Increment);
        if needs && refs.is_empty() { Err(OpFault::NoPred) } else { Ok(()) }
    }

    fn apply_key(
        &mut self,
        obj: u32,
        key: &str,
        row: &Row<'_>,
        id: OpId,
        refs: &[OpId],
        (incoming, meter): (&Incoming, &mut Meter),
    ) -> Applied {
        Self::needs_preds(row, refs)?;
        if row.action == Action::Mark {
            return Err(OpFault::Mark.into());
        }
        let entry = self.map(obj).and_then(|map| map.get(key, &self.heap));
        conflict(meter, entry.map_or(0, |entry| entry.values.len()), refs)?;
        for pred in refs {
            let visible = entry.is_some_and(|entry| entry.values.iter().any(|value| value.id == *pred));
            let there = |op: &Keyed| match op.key() {
                Key::Map(bytes) => op.obj == obj && self.heap.get(bytes) == key.as_bytes(),
                Key::Elem(_) => false,
            };
            if !visible && !self.preceding(*pred, incoming).is_some_and(there) {
                return Err(OpFault::Pred.into());
            }
        }
        let val = self.value_of(row, id, obj);
        self.put_key(obj, key, &keyed(id, obj, row.action, val), refs);
        Ok(())
    }

    fn value_of(&mut self, row: &Row<'_>, id: OpId, obj: u32) -> Val {
        match row.action.makes() {
            Some(kind) => self.make(id, kind, obj),
            None => self.keep_raw(row.value),
        }
    }

    fn apply_insert(
        &mut self,
        obj: u32,
        origin: OpId,
        row: &Row<'_>,
        id: OpId,
        meter: &mut Meter,
    ) -> Applied {
        let gap = self.gap(obj, origin, id, meter)?;
        let text = self.seq(obj).is_some_and(|seq| seq.is_text);
        match row.action {
            Action::Mark if !text => return Err(OpFault::Mark.into()),
            Action::Mark => {
                let name = row.mark.map(|name| self.heap.name(name));
                let val = self.keep_raw(row.value);
                self.insert_mark(obj, gap, id, MarkOp { origin, name, val, expand: row.expand });
                if name.is_none() {
                    self.mark_order(obj, id)?;
                }
            }
            Action::Set if text && is_char(row.value.code, row.value.bytes) => {
                let text = std::str::from_utf8(row.value.bytes).unwrap_or_default();
                self.insert_text(obj, gap, origin, id, text);
            }
            _ => {
                let val = self.value_of(row, id, obj);
                self.insert_values(obj, gap, origin, id, &[val]);
            }
        }
        Ok(())
    }

    /// Where an element goes that was inserted after another one.
    pub(super) fn gap(
        &self,
        obj: u32,
        origin: OpId,
        id: OpId,
        meter: &mut Meter,
    ) -> Result<Gap, Refusal<OpFault>> {
        self.gap_in(self.seq(obj).ok_or(OpFault::InsertMap)?, origin, id, meter)
    }

    fn gap_in(&self, seq: &Seq, origin: OpId, id: OpId, meter: &mut Meter) -> Result<Gap, Refusal<OpFault>> {
        let at = if origin.is_none() { None } else { Some(seq.find(origin).ok_or(OpFault::Element)?) };
        Ok(seq.place(at, id, &self.ctx(), meter)?)
    }

    /// The end of a mark stands behind its begin, whose id is one less.
    fn mark_order(&self, obj: u32, end: OpId) -> Result<(), OpFault> {
        let seq = self.seq(obj).ok_or(OpFault::Mark)?;
        let begin = seq.find(OpId::new(end.ctr - 1, end.actor)).ok_or(OpFault::MarkOrder)?;
        let end = seq.find(end).ok_or(OpFault::Mark)?;
        if seq.span(begin).kind == Kind::Mark && seq.before(begin, end) {
            Ok(())
        } else {
            Err(OpFault::MarkOrder)
        }
    }

    fn apply_inserts(&mut self, obj: u32, id: OpId, rows: u64, reader: &mut OpReader<'_>) -> Applied {
        let text = self.seq(obj).ok_or(OpFault::InsertMap)?.is_text;
        let mut next = id;
        // In a text each of them is an element of its own.
        let empty = if text { cost::STEP } else { cost::GLANCE };
        let read = reader.take_values(rows, empty, |code, len, bytes, rows| {
            self.insert_piece(obj, next, (code, len, bytes), rows as u32, text);
            next = next.plus(rows as u32);
            Ok(())
        });
        match read {
            Err(ChunkError::Limit(limit)) => Err(limit.into()),
            read => {
                debug_assert!(read.is_ok(), "the codec read these values before");
                Ok(())
            }
        }
    }

    /// Inserts `rows` values of one type and length, the first after the element before `id`.
    fn insert_piece(
        &mut self,
        obj: u32,
        id: OpId,
        (code, len, bytes): (u8, usize, &[u8]),
        rows: u32,
        text: bool,
    ) {
        let origin = OpId::new(id.ctr - 1, id.actor);
        let Some(seq) = self.seq(obj) else { return };
        let Some(at) = seq.find(origin) else { return };
        // Behind an element of this change stands nothing newer: nothing is passed over.
        let mut free = Meter::UNLIMITED;
        let Ok(gap) = seq.place(Some(at), id, &self.ctx(), &mut free) else { return };
        let chars = text && len > 0 && bytes.chunks_exact(len).all(|bytes| is_char(code, bytes));
        if chars && let Ok(text) = std::str::from_utf8(bytes) {
            self.insert_text(obj, gap, origin, id, text);
            return;
        }
        let values: Vec<Val> = (0..rows as usize)
            .map(|n| self.keep_raw(crate::codec::value::RawValue { code, bytes: &bytes[n * len..][..len] }))
            .collect();
        self.insert_values(obj, gap, origin, id, &values);
    }

    fn apply_update(
        &mut self,
        obj: u32,
        elem: OpId,
        row: &Row<'_>,
        id: OpId,
        refs: &[OpId],
        (incoming, meter): (&Incoming, &mut Meter),
    ) -> Applied {
        Self::needs_preds(row, refs)?;
        if row.action == Action::Delete && refs == [elem] {
            return self.apply_deletes(obj, elem, 0, id, 1, meter);
        }
        let at = self.element(obj, elem)?;
        let seq = self.seq(obj).ok_or(OpFault::KeyKind)?;
        let values = seq.reg(seq.span(at)).map(|reg| &reg.values);
        conflict(meter, values.map_or(0, |values| values.len()), refs)?;
        for pred in refs.iter().filter(|pred| **pred != elem) {
            let visible = values.is_some_and(|values| values.iter().any(|value| value.id == *pred));
            let there = |op: &Keyed| op.obj == obj && op.key() == Key::Elem(elem);
            if !visible && !self.preceding(*pred, incoming).is_some_and(there) {
                return Err(OpFault::Pred.into());
            }
        }
        if row.action == Action::Mark {
            return Err(OpFault::Mark.into());
        }
        let val = self.value_of(row, id, obj);
        self.put_elem(obj, at, &keyed(id, obj, row.action, val), refs);
        Ok(())
    }

    /// Where an element is that can be changed.
    fn element(&self, obj: u32, elem: OpId) -> Result<At, OpFault> {
        let seq = self.seq(obj).ok_or(OpFault::KeyKind)?;
        let at = seq.find(elem).ok_or(OpFault::Element)?;
        if seq.span(at).kind == Kind::Mark { Err(OpFault::Element) } else { Ok(at) }
    }

    pub(super) fn apply_deletes(
        &mut self,
        obj: u32,
        elem: OpId,
        step: i8,
        id: OpId,
        rows: u32,
        meter: &mut Meter,
    ) -> Applied {
        let (mut elem, mut id, mut left) = (elem, id, rows);
        while left > 0 {
            meter.spend(1, cost::GLANCE)?;
            let at = self.element(obj, elem)?;
            let span = self.seq(obj).map(|seq| *seq.span(at)).ok_or(OpFault::KeyKind)?;
            let n = if !span.visible || span.reg > 0 {
                let reg = self.seq(obj).and_then(|seq| seq.reg(&span));
                meter.spend(1, cost::STEP)?;
                conflict(meter, reg.map_or(0, |reg| reg.values.len()), &[])?;
                self.delete_again(obj, at, id);
                1
            } else if step < 0 {
                let n = left.min(at.off + 1);
                self.delete_run(obj, at.back(n - 1), n, id, -1);
                n
            } else {
                let n = left.min(span.len - at.off);
                self.delete_run(obj, at, n, id, 1);
                n
            };
            elem = super::log::stepped(elem, step, n);
            id = id.plus(n);
            left -= n;
        }
        Ok(())
    }

    /// The operation `id` on a key or element, from the past or from the change being applied.
    fn preceding(&self, id: OpId, incoming: &Incoming) -> Option<&Keyed> {
        let at = if id.actor == incoming.author && id.ctr >= incoming.start {
            let from = self.log_of(incoming.first_run, incoming.start, id.actor) as usize;
            self.log.find(id.ctr, from, self.log.runs.len().max(from + 1))
        } else {
            let (number, _) = self.history.by_op(id)?;
            let (from, end) = self.log_range(number);
            self.log.find(id.ctr, from, end)
        };
        self.log.keyed.get(self.log.runs.get(at)?.keyed(id)? as usize)
    }
}

/// So many values are moved at a glance.
const MOVED: u64 = 32;

/// Pays for comparing the values in conflict at one place with predecessors, and for making room among them.
fn conflict(meter: &mut Meter, values: usize, refs: &[OpId]) -> Result<(), LimitError> {
    let compared = (values as u64).saturating_mul(refs.len() as u64);
    meter.spend(compared.saturating_add(values as u64 / MOVED), cost::GLANCE)
}

/// An operation whose key the state knows when it is put there.
fn keyed(id: OpId, obj: u32, action: Action, val: Val) -> Keyed {
    Keyed::new(id, obj, Key::Elem(OpId::NONE), (action, val))
}

/// Whether a value is text of exactly one character.
fn is_char(kind: u8, bytes: &[u8]) -> bool {
    kind == code::STR && bytes.first().is_some_and(|first| char_len(*first) == bytes.len())
}

impl ObjType {
    /// Maps and tables: addressed by key.
    pub(crate) fn is_map(self) -> bool {
        !self.is_sequence()
    }
}
