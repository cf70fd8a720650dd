//! Merge of changes from another document in memory. The other document has checked them, so no bytes are written,
//! hashed and read again: runs of operations are copied from log to log.

use std::ops::Range;

use smallvec::SmallVec;

use crate::codec::limits::Budget;
use crate::codec::row::{Action, RawKey, Row};
use crate::store::history::ChangeRun;
use crate::store::incoming::apply::{Deletes, IncomingChange, OpResult, Refusal};
use crate::store::log::key_op::{Key, KeyOp};
use crate::store::log::value::StoredValue;
use crate::store::log::{LogRun, RunAction};
use crate::store::state::DocumentState;
use crate::store::versions::savepoint::Savepoint;
use crate::types::error::{Fault, LimitError, OpFault};
use crate::types::{ActorIdx, ChangeIdx, OpId};

/// Not the number of any actor.
const NOBODY: ActorIdx = ActorIdx::NOBODY;

/// Minimum number of bytes that a change pays for: its author and its dependencies.
const BODY: usize = 64;

impl DocumentState {
    /// The rows of `other` that are missing here, ascending. `None` if an actor made different changes in the two
    /// documents.
    ///
    /// Changes with equal actors and sequence numbers are compared by hash, the last ones of an actor first. Changes
    /// that cannot be present here are not hashed.
    pub(crate) fn lacks(&self, other: &DocumentState) -> Option<Vec<ChangeIdx>> {
        let same = |actor: ActorIdx, seq: u32| {
            let here = self.actors.find(other.actors.id(actor))?;
            let (here, there) = (self.history.by_seq(here, seq)?, other.history.by_seq(actor, seq)?);
            Some((there, self.hash(here) == other.hash(there)))
        };
        let mut known = vec![];
        for actor in other.actors.numbers() {
            let here = self.actors.find(other.actors.id(actor)).map_or(0, |here| self.history.seq(here));
            let last = here.min(other.history.seq(actor));
            if last > 0 {
                let (row, same) = same(actor, last)?;
                known.push(same.then_some(row)?);
            }
        }
        let mut rows = other.rows_since(&known);
        let mut clash = false;
        rows.retain(|row| {
            let change = other.history.at(*row);
            let here = same(change.run.actor, change.seq);
            clash |= here.is_some_and(|(_, same)| !same);
            here.is_none()
        });
        (!clash).then_some(rows)
    }

    /// Ascending rows, grouped by runs of changes.
    pub(crate) fn runs_of(&self, rows: &[ChangeIdx]) -> impl Iterator<Item = Range<ChangeIdx>> {
        let mut rows = rows;
        std::iter::from_fn(move || {
            let first = *rows.first()?;
            let run = self.history.at(first).run;
            let end =
                ChangeIdx::each(first..run.end()).zip(rows).take_while(|(row, there)| row == *there).count();
            rows = &rows[end..];
            Some(first..first.plus(end as u32))
        })
    }

    /// The actor numbers here for the actors of `other`; adds the authors of `rows`.
    pub(crate) fn numbers_for(&mut self, other: &DocumentState, rows: &[ChangeIdx]) -> Vec<ActorIdx> {
        let mut authors = vec![false; other.actors.len()];
        rows.iter().for_each(|row| authors[other.history.at(*row).run.actor.index()] = true);
        let ids = || other.actors.numbers().map(|actor| other.actors.id(actor));
        let new = ids().zip(&authors).filter(|(id, writes)| **writes && self.actors.find(id).is_none());
        let new: Vec<_> = new.map(|(id, _)| id).collect();
        if !new.is_empty() {
            self.actors.add_all(new);
        }
        ids().map(|id| self.actors.find(id).unwrap_or(NOBODY)).collect()
    }

    /// Copies rows of `other` that are in one run of changes there. If that fails, the caller rolls back to `mark`,
    /// which is extended to include them.
    pub(crate) fn adopt(
        &mut self,
        other: &DocumentState,
        rows: Range<ChangeIdx>,
        numbers: &[ActorIdx],
        budget: &mut Budget,
        mark: &mut Option<Savepoint>,
    ) -> Result<(), Refusal<Fault>> {
        let change = other.history.at(rows.start);
        let (run, count) = (change.run, rows.end.since(rows.start));
        let actor = numbers[run.actor.index()];
        let here = |row: &ChangeIdx| {
            let dep = other.history.at(*row);
            self.history.by_seq(numbers[dep.run.actor.index()], dep.seq)
        };
        let deps: SmallVec<[ChangeIdx; 2]> = change.deps().iter().filter_map(here).collect();
        self.history.heads.pay(budget)?;
        self.check_next_of_actor(actor, change.seq, change.start, &deps, None)?;
        self.savepoint_in(mark, OpId::new(change.start, actor));
        let latest = self.history.heads.within(&deps);
        let first_run = self.log.runs.len().saturating_sub(1);
        let actors = SmallVec::from_slice(numbers);
        // The other document checked that their references are to ancestors.
        let incoming =
            IncomingChange { author: actor, actors, start: change.start, first_run, latest, ancestors: None };
        let end = change.start + run.ops_per_change * count;
        budget.pay(BODY * count as usize);
        self.room_for(run.message.len as usize + run.extra.len as usize, budget)?;
        let result = self.adopt_runs(other, run, change.start..end, &incoming, budget);
        result.map_err(|reason| {
            reason.map(|(counter, rule)| Fault::Operation { counter: counter.into(), rule })
        })?;
        self.max_op = self.max_op.max(end - 1);
        self.spend_all();
        let log = self.log_of(first_run, change.start, actor);
        let message = self.heap.name(other.heap.text(run.message));
        let extra = self.heap.push(other.heap.get(run.extra));
        let (seq, start) = (change.seq, change.start);
        self.push_changes(ChangeRun {
            first_row: self.history.next(),
            row_count: count,
            actor,
            seq,
            first_counter: start,
            deps,
            message,
            extra,
            log,
            ..run.clone()
        });
        Ok(())
    }

    /// Copies the operations of a run of changes with the counters `counters`.
    fn adopt_runs(
        &mut self,
        other: &DocumentState,
        run: &ChangeRun,
        counters: Range<u32>,
        incoming: &IncomingChange,
        budget: &mut Budget,
    ) -> Result<(), Refusal<(u32, OpFault)>> {
        if counters.is_empty() {
            return Ok(());
        }
        let (from, end) = other.log_range(other.history.run_index(run.first_row));
        let mut at = other.log.find(counters.start, from, end);
        let mut ctr = counters.start;
        while ctr < counters.end {
            let run = &other.log.runs[at];
            // Operations on keys are copied individually.
            let end = if let RunAction::KeyOp(_) = run.what { ctr + 1 } else { counters.end };
            let part = other.clip(run, ctr, end);
            self.adopt_run(other, &part, incoming, budget)
                .map_err(|reason| reason.map(|rule| (ctr, rule)))?;
            ctr += part.len;
            at += usize::from(ctr == run.id.ctr + run.len);
        }
        Ok(())
    }

    fn adopt_run(
        &mut self,
        other: &DocumentState,
        part: &LogRun,
        incoming: &IncomingChange,
        budget: &mut Budget,
    ) -> OpResult {
        let there = &other.objects[part.obj];
        let obj = self.number(incoming.id(there.id)).ok_or(OpFault::Object)?;
        let id = incoming.id(part.id);
        match part.what {
            RunAction::Text { origin, bytes } => {
                self.room_for(bytes.len as usize, budget)?;
                let origin = incoming.id(origin);
                let gap = self.gap(obj, origin, id, incoming, budget)?;
                self.insert_text(obj, gap, origin, id, other.heap.text(bytes));
                Ok(())
            }
            RunAction::Values { origin, at } => {
                let values = (at..at + part.len).map(|at| other.log.values[at as usize]);
                self.room_for(values.clone().map(|val| other.raw(val).bytes.len()).sum(), budget)?;
                let origin = incoming.id(origin);
                let gap = self.gap(obj, origin, id, incoming, budget)?;
                let keep = |(n, val): (u32, StoredValue)| match val.as_object() {
                    Some((kind, _)) => self.make(id.plus(n), kind, obj),
                    None => self.keep_raw(other.raw(val)),
                };
                let values: Vec<StoredValue> = (0..).zip(values).map(keep).collect();
                self.insert_values(obj, gap, origin, id, &values);
                Ok(())
            }
            RunAction::Delete { elem, step } => {
                let deletes = Deletes { elem: incoming.id(elem), step, rows: part.len };
                self.apply_deletes(obj, deletes, id, incoming, budget)
            }
            RunAction::Mark(number) => {
                let row = other.mark_row(part, number);
                self.room_for(row.value.bytes.len() + row.mark.map_or(0, str::len), budget)?;
                self.apply_row(&row, &[], incoming, budget)
            }
            RunAction::KeyOp(number) => {
                let op = &other.log.keyed[number];
                let row = other.keyed_row(op);
                // The encoding of a change contains a repeated key once.
                let before = number.before().map(|before| other.log.keyed[before].key());
                let key = match row.key {
                    RawKey::Map(key) if before != Some(op.key()) => key.len(),
                    _ => 0,
                };
                self.room_for(key + row.value.bytes.len(), budget)?;
                let preds: SmallVec<[OpId; 4]> =
                    other.log.preds(op).iter().map(|pred| incoming.id(*pred)).collect();
                self.apply_row(&row, &preds, incoming, budget)
            }
        }
    }

    /// The mark boundary as a row of columns.
    fn mark_row(&self, op: &LogRun, number: u32) -> Row<'_> {
        let mark = &self.log.marks[number as usize];
        Row {
            id: op.id,
            obj: self.objects[op.obj].id,
            key: RawKey::Elem(mark.origin),
            insert: true,
            action: Action::Mark,
            value: self.raw(mark.val),
            expand: mark.expand,
            mark: mark.name.map(|name| self.heap.text(name)),
        }
    }

    /// An operation on a key or an update of an element as a row of columns.
    fn keyed_row(&self, op: &KeyOp) -> Row<'_> {
        let key = match op.key() {
            Key::Map(key) => RawKey::Map(self.heap.text(key)),
            Key::Elem(elem) => RawKey::Elem(elem),
        };
        let (id, obj) = (op.id, self.objects[op.obj].id);
        let value = self.raw(op.val());
        Row { id, obj, key, insert: false, action: op.action, value, expand: false, mark: None }
    }

    /// Refuses bytes that exceed the heap; charges the budget for the others.
    fn room_for(&self, bytes: usize, budget: &mut Budget) -> Result<(), LimitError> {
        budget.pay(bytes);
        // Chunks of the heap may be half empty.
        let full = LimitError { what: "bytes of values", limit: u32::MAX.into() };
        self.heap.room(3 * (bytes + BODY)).map_err(|_| full)
    }
}
