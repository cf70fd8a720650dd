//! History views: which operations precede given heads, and which values were visible there.

use std::collections::BinaryHeap;

use smallvec::{SmallVec, smallvec};

use crate::codec::row::Action;
use crate::store::log::key_op::KeyOp;
use crate::store::register::{Values, Visible};
use crate::store::seq::{Seq, Span};
use crate::store::state::DocumentState;
use crate::store::versions::clock::Clock;
use crate::types::{ChangeIdx, KeyOpIdx, OpId};

/// Number of runs of changes that are searched before cached ancestors are used.
const FEW: usize = 16;

/// Is the `n`-th element of a span without updates visible at a clock?
pub(crate) fn is_visible_at(span: &Span, n: u32, clock: &Clock) -> bool {
    let gone = !span.deleted_by.is_none() && clock.covers(span.deletion_of(n));
    clock.covers(span.id.plus(n)) && !gone
}

impl DocumentState {
    /// Clock of all changes.
    pub(crate) fn clock_now(&self) -> Clock {
        Clock::from_ends(self.actors.numbers().map(|actor| self.history.next_counter_of(actor)).collect())
    }

    /// Clock of all changes before row `row`, whether or not that row exists. Costs one step per run of changes since.
    pub(crate) fn clock_before(&self, row: ChangeIdx) -> Clock {
        let mut clock = self.clock_now();
        for run in self.history.runs_from(row).filter(|run| run.end() > row) {
            let first = row.max(run.first_row).since(run.first_row);
            let end = &mut clock.ends[run.actor.index()];
            *end = (run.first_counter + first * run.ops_per_change).min(*end);
        }
        clock
    }

    /// Clock of some changes and their ancestors. Costs a step for each later change, or for each run of changes before
    /// them back to one whose ancestors were all earlier rows, whichever is less: writers who alternate make one run
    /// per change.
    pub(crate) fn clock(&self, rows: &[ChangeIdx]) -> Clock {
        self.clock_of_few(rows).unwrap_or_else(|| {
            let ancestors = self.history.ancestors_including(rows);
            Clock::from_ends(self.actors.numbers().map(|actor| ancestors.end(actor)).collect())
        })
    }

    /// As [`Self::clock`], if few runs lead to the rows. Uses only what is already computed.
    fn clock_of_few(&self, rows: &[ChangeIdx]) -> Option<Clock> {
        let mut ends = smallvec![0; self.actors.len()];
        let mut todo = BinaryHeap::new();
        // Most changes have a single dependency, so only the others are sorted.
        let mut next = None;
        match rows {
            [row] => next = Some(*row),
            _ => todo.extend(rows.iter().copied()),
        }
        let (mut before, mut runs) = (None, 0);
        while let Some(row) = next.take().or_else(|| todo.pop()) {
            // Rows come in descending order: the first row of a run is the last that counts.
            let run = self.history.run_index(row);
            if before.replace(run) == Some(run) {
                continue;
            }
            runs += 1;
            if runs > FEW {
                return None;
            }
            let change = self.history.at(row);
            let end = &mut ends[change.run.actor.index()];
            *end = change.end().max(*end);
            match change.run.deps[..] {
                [dep] if todo.is_empty() => next = Some(dep),
                _ => todo.extend(change.run.deps.iter().copied()),
            }
        }
        Some(Clock::from_ends(ends))
    }

    /// The rows that are neither among `known` nor their ancestors, ascending.
    pub(crate) fn rows_since(&self, known: &[ChangeIdx]) -> Vec<ChangeIdx> {
        if known.is_empty() {
            return ChangeIdx::each(ChangeIdx::default()..self.history.next()).collect();
        }
        self.few_since(known, usize::MAX).expect("no limit is exceeded")
    }

    /// As [`Self::rows_since`], if there are at most `most`. Finding more costs no more than `most`.
    pub(in crate::store) fn few_since(&self, known: &[ChangeIdx], most: usize) -> Option<Vec<ChangeIdx>> {
        let mut todo = AncestorQueue::new(self.history.next());
        self.history.heads.rows().iter().for_each(|row| todo.add(*row, false));
        known.iter().for_each(|row| todo.add(*row, true));
        let mut rows = vec![];
        let mut number = self.history.run_count().saturating_sub(1);
        while todo.new > 0 {
            let Some((row, is_known)) = todo.pop() else { break };
            if !is_known {
                if rows.len() == most {
                    return None;
                }
                rows.push(row);
            }
            // Often the row is in the run before the last one found.
            let mut run = self.history.run(number).filter(|run| run.first_row <= row);
            if run.is_none() && number > 0 {
                number -= 1;
                run = self.history.run(number).filter(|run| run.first_row <= row);
            }
            let run = run.unwrap_or_else(|| {
                number = self.history.run_index(row);
                self.history.at(row).run
            });
            match run.first_row == row {
                true => run.deps.iter().for_each(|dep| todo.add(*dep, is_known)),
                false => todo.add(row.before(), is_known),
            }
        }
        rows.reverse();
        Some(rows)
    }

    /// Some rows and all their ancestors, ascending.
    pub(crate) fn ancestors(&self, rows: &[ChangeIdx]) -> Vec<ChangeIdx> {
        let mut todo: BinaryHeap<ChangeIdx> = rows.iter().copied().collect();
        let mut found = vec![];
        while let Some(row) = todo.pop() {
            if found.last() != Some(&row) {
                found.push(row);
                todo.extend(self.history.at(row).deps());
            }
        }
        found.reverse();
        found
    }

    /// Values visible at a key whose newest operation is `last`.
    pub(crate) fn values_at(&self, last: Option<KeyOpIdx>, clock: &Clock) -> Values {
        self.chain_at(last, clock).0
    }

    /// The newest operation of a chain that `clock` covers; `last` is the newest of all.
    fn newest(&self, mut last: Option<KeyOpIdx>, clock: &Clock) -> Option<KeyOpIdx> {
        let op = |last: Option<KeyOpIdx>| self.log.keyed.get(last?);
        while let Some(newest) = op(last).filter(|op| !clock.covers(op.id)) {
            // A skipped operation may be covered, if the clock only leaves out its neighbours.
            let over = clock.without.is_empty() && op(newest.jump()).is_some_and(|op| !clock.covers(op.id));
            last = if over { newest.jump() } else { newest.before() };
        }
        last
    }

    /// The visible values, the superseded operations, and whether no older operation can be visible.
    fn chain_at(&self, last: Option<KeyOpIdx>, clock: &Clock) -> (Values, SmallVec<[OpId; 8]>, bool) {
        let mut values = Values::new();
        let mut superseded: SmallVec<[OpId; 8]> = SmallVec::new();
        let mut added: SmallVec<[(OpId, i64); 2]> = SmallVec::new();
        let mut done = false;
        for op in self.chain(self.newest(last, clock)).filter(|op| clock.covers(op.id)) {
            self.visit(op, &mut values, &mut superseded, &mut added);
            if op.clears() {
                done = true;
                break;
            }
        }
        values.sort_unstable_by(|a, b| self.actors.cmp(a.id, b.id));
        superseded.extend(added.iter().map(|(id, _)| *id));
        (values, superseded, done)
    }

    /// Visits one operation of a chain, after all newer ones.
    fn visit(
        &self,
        op: &KeyOp,
        values: &mut Values,
        superseded: &mut SmallVec<[OpId; 8]>,
        added: &mut SmallVec<[(OpId, i64); 2]>,
    ) {
        if op.action == Action::Increment {
            added.extend(self.log.preds(op).iter().map(|pred| (*pred, self.increment_of(op))));
            return;
        }
        let sum = added.iter().filter(|(id, _)| *id == op.id);
        let hidden = superseded.contains(&op.id) || (!op.val().is_counter() && sum.clone().next().is_some());
        if op.action != Action::Delete && !hidden {
            let added = sum.fold(0i64, |sum, (_, more)| sum.wrapping_add(*more));
            values.push(Visible { id: op.id, val: op.val(), added });
        }
        superseded.extend_from_slice(self.log.preds(op));
    }

    /// Values visible at an element with a register.
    pub(crate) fn element_at(&self, seq: &Seq, span: &Span, clock: &Clock) -> Values {
        let Some(reg) = seq.reg(span) else { return Values::new() };
        if !clock.covers(span.id) {
            return Values::new();
        }
        let (mut values, superseded, done) = self.chain_at(reg.last, clock);
        let val = self.inserted(span, 0);
        let gone = |id: &OpId| !id.is_none() && clock.covers(*id);
        let named = superseded.contains(&span.id) && !val.is_counter();
        if !done
            && !named
            && !gone(&span.deleted_by)
            && !reg.dels.iter().any(gone)
            && !self.replaced(reg.last, span.id, clock)
        {
            let added = self.chain(reg.last).filter(|op| {
                op.action == Action::Increment && clock.covers(op.id) && self.log.preds(op).contains(&span.id)
            });
            let added = added.fold(0i64, |sum, op| sum.wrapping_add(self.increment_of(op)));
            values.insert(0, Visible { id: span.id, val, added });
        }
        values
    }

    /// Did an operation other than an increment supersede `id`?
    fn replaced(&self, last: Option<KeyOpIdx>, id: OpId, clock: &Clock) -> bool {
        self.chain(last).any(|op| {
            op.action != Action::Increment && clock.covers(op.id) && self.log.preds(op).contains(&id)
        })
    }

    /// The spans visible at a clock, cut to size, with the values of those that have registers. Widths and texts of
    /// elements that are not characters must be taken from their values.
    pub(crate) fn spans_at<'a>(
        &'a self,
        seq: &'a Seq,
        clock: &'a Clock,
    ) -> impl Iterator<Item = (Span, Option<Values>)> + 'a {
        seq.spans().flat_map(move |span| self.parts_at(seq, span, clock))
    }

    /// The visible parts of a span.
    #[inline]
    pub(crate) fn parts_at(
        &self,
        seq: &Seq,
        span: &Span,
        clock: &Clock,
    ) -> SmallVec<[(Span, Option<Values>); 2]> {
        let mut parts = SmallVec::new();
        if !clock.covers(span.id) || span.kind == crate::store::seq::Kind::Mark {
            return parts;
        }
        if span.reg.is_some() {
            let values = self.element_at(seq, span, clock);
            if !values.is_empty() {
                parts.push((*span, Some(values)));
            }
            return parts;
        }
        let (mut span, ctx) = (*span, self.ctx());
        if !clock.without.is_empty() {
            let parts = span.divided(&ctx, |span, n| is_visible_at(span, n, clock)).into_iter();
            return parts
                .filter(|part| is_visible_at(part, 0, clock))
                .map(|part| (Span { visible: true, ..part }, None))
                .collect();
        }
        let covered = clock.covered(span.id, span.len);
        if covered < span.len {
            span.cut(covered, &ctx);
        }
        let gone = |id: OpId| !id.is_none() && clock.covers(id);
        let there = span.divided_by_deletion(&ctx, gone).into_iter().filter(|part| !gone(part.deleted_by));
        parts.extend(there.map(|part| (Span { visible: true, ..part }, None)));
        parts
    }
}

/// Unvisited rows, the last first. Concurrent changes name many rows, mostly recent ones and mostly several times, so
/// the recent rows have a flag each instead of a heap entry.
struct AncestorQueue {
    /// The row after the last one.
    end: ChangeIdx,
    near: [VisitState; NEAR],
    /// Flags below this index are not visited yet.
    at: usize,
    far: BinaryHeap<(ChangeIdx, bool)>,
    /// Unvisited ancestor rows; may contain duplicates.
    new: usize,
}

/// Number of recent rows with a flag.
const NEAR: usize = 512;

#[derive(Clone, Copy, PartialEq)]
enum VisitState {
    Nothing,
    New,
    Known,
}

impl AncestorQueue {
    fn new(end: ChangeIdx) -> Self {
        Self { end, near: [VisitState::Nothing; NEAR], at: 0, far: BinaryHeap::new(), new: 0 }
    }

    /// Adds a row that precedes all visited rows.
    fn add(&mut self, row: ChangeIdx, is_known: bool) {
        let Some(state) = self.near.get_mut(self.end.since(row) as usize - 1) else {
            self.new += usize::from(!is_known);
            self.far.push((row, is_known));
            return;
        };
        match (*state, is_known) {
            (VisitState::Nothing, false) => {
                *state = VisitState::New;
                self.new += 1;
            }
            (VisitState::New, true) => {
                *state = VisitState::Known;
                self.new -= 1;
            }
            (VisitState::Nothing, true) => *state = VisitState::Known,
            (VisitState::New, false) | (VisitState::Known, _) => {}
        }
    }

    /// Removes the last row; returns it and whether it is known.
    fn pop(&mut self) -> Option<(ChangeIdx, bool)> {
        if let Some(skip) = self.near[self.at..].iter().position(|state| *state != VisitState::Nothing) {
            self.at += skip + 1;
            let is_known = self.near[self.at - 1] == VisitState::Known;
            self.new -= usize::from(!is_known);
            return Some((ChangeIdx::from_u32(self.end.get() - self.at as u32), is_known));
        }
        self.at = NEAR;
        let (row, mut is_known) = self.far.pop()?;
        self.new -= usize::from(!is_known);
        while let Some((_, other)) = self.far.peek().filter(|(other, _)| *other == row) {
            is_known |= other;
            self.new -= usize::from(!other);
            self.far.pop();
        }
        Some((row, is_known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ActorId, Document, ROOT, Transactable as _};

    /// A document of several actors who write concurrently, sometimes merge, and sometimes are away for long.
    fn written_at_once(people: usize, changes: usize, mut seed: u64) -> Document {
        let mut next = move |below: usize| {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (seed >> 33) as usize % below
        };
        let mut docs: Vec<Document> =
            (0..people).map(|who| Document::new().with_actor(ActorId::from([who as u8 + 1]))).collect();
        for change in 0..changes {
            let who = next(people);
            docs[who].transact(|tx| tx.put(ROOT, "key", change as i64)).expect("there is room");
            if next(3) > 0 {
                let (from, other) = (next(people), docs[next(people)].fork());
                docs[from].merge(&other).expect("sound");
            }
        }
        let (first, rest) = docs.split_first_mut().expect("at least one document");
        rest.iter().for_each(|other| drop(first.merge(other).expect("sound")));
        first.clone()
    }

    #[test]
    fn ancestors_and_new_rows_are_found_for_many_concurrent_actors() {
        for (people, changes) in [(1, 40), (3, 200), (12, 400), (6, 2500)] {
            let doc = written_at_once(people, changes, changes as u64);
            let state = &doc.state;
            let all: Vec<ChangeIdx> = ChangeIdx::each(ChangeIdx::default()..state.history.next()).collect();
            for back in [1, 2, 3, 7, 20, 39, 150, 399, 1000, 2499] {
                let Some(row) = all.len().checked_sub(back).map(|at| all[at]) else { continue };
                let far = all[all.len() / (back + 1)];
                for rows in [vec![row], vec![far], vec![row, far], vec![far, row, row]] {
                    let past = state.ancestors(&rows);
                    let since: Vec<ChangeIdx> =
                        all.iter().copied().filter(|row| past.binary_search(row).is_err()).collect();
                    assert_eq!(state.rows_since(&rows), since, "{people} {back} {rows:?}");
                    let mut ends: SmallVec<[u32; 6]> = smallvec![0; state.actors.len()];
                    for row in past {
                        let change = state.history.at(row);
                        ends[change.run.actor.index()] = change.end();
                    }
                    assert_eq!(state.clock(&rows), Clock::from_ends(ends), "{people} {back} {rows:?}");
                }
            }
            assert_eq!(state.clock(state.history.heads.rows()), state.clock_now());
            assert_eq!(state.clock(&[]), Clock::from_ends(smallvec![0; state.actors.len()]));
        }
    }
}
