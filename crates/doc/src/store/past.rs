//! The past: which operations are in it, and what was visible then.

use std::collections::BinaryHeap;
use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use crate::codec::row::Action;
use crate::store::log::key_op::KeyOp;
use crate::store::register::{Values, Visible};
use crate::store::seq::{Seq, Span};
use crate::store::state::State;
use crate::types::{ActorIdx, ChangeIdx, KeyOpIdx, OpId};

/// So many runs of changes are looked at before what is known of the past is.
const FEW: usize = 16;

/// What a set of changes and everything before them contains: for each actor the counter after its last operation. Or
/// that without some operations, as if they had never been made.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Clock {
    ends: SmallVec<[u32; 6]>,
    without: Vec<(ActorIdx, Range<u32>)>,
}

impl Clock {
    pub(in crate::store) fn of(ends: SmallVec<[u32; 6]>) -> Self {
        Self { ends, without: Vec::new() }
    }

    #[inline]
    pub(crate) fn covers(&self, id: OpId) -> bool {
        self.ends.get(id.actor.place()).is_some_and(|end| id.ctr < *end)
            && (self.without.is_empty() || !self.lacks(id))
    }

    #[cold]
    fn lacks(&self, id: OpId) -> bool {
        self.without.iter().any(|(actor, counters)| *actor == id.actor && counters.contains(&id.ctr))
    }

    /// Whether it lacks operations though it has others that were made after them.
    pub(crate) fn lacks_some(&self) -> bool {
        !self.without.is_empty()
    }

    /// The counter after the last operation of an actor.
    #[inline]
    pub(crate) fn end(&self, actor: ActorIdx) -> u32 {
        self.ends.get(actor.place()).copied().unwrap_or(0)
    }

    /// The operations it lacks though they were made before others that it has.
    pub(crate) fn without(&self) -> &[(ActorIdx, Range<u32>)] {
        &self.without
    }

    /// The same without some operations of an actor.
    #[must_use]
    pub(crate) fn leaving_out(mut self, actor: ActorIdx, counters: Range<u32>) -> Self {
        self.without.push((actor, counters));
        self
    }

    /// The same with the operations before `next` of its actor, and none behind.
    pub(crate) fn up_to(mut self, next: OpId) -> Self {
        let place = next.actor.place();
        self.ends.resize(self.ends.len().max(place + 1), 0);
        self.ends[place] = next.ctr;
        self
    }

    /// How many operations lie between this moment and another, at most.
    pub(crate) fn distance(&self, other: &Self) -> u64 {
        let actors = (0..self.ends.len().max(other.ends.len()) as u32).map(ActorIdx::of);
        let ends = actors.map(|actor| u64::from(self.end(actor).abs_diff(other.end(actor))));
        let without = self.without.iter().chain(&other.without).map(|(_, range)| range.len() as u64);
        ends.chain(without).sum()
    }

    /// How many of `len` operations from `id` on it covers, where it lacks none between others.
    pub(crate) fn covered(&self, id: OpId, len: u32) -> u32 {
        self.end(id.actor).saturating_sub(id.ctr).min(len)
    }
}

/// Whether the `n`-th element of a span without updates was there at a moment.
pub(crate) fn there(span: &Span, n: u32, clock: &Clock) -> bool {
    let gone = !span.deleted_by.is_none() && clock.covers(span.deletion_of(n));
    clock.covers(span.id.plus(n)) && !gone
}

impl State {
    /// The clock of all changes.
    pub(crate) fn clock_now(&self) -> Clock {
        Clock::of(self.actors.numbers().map(|actor| self.history.end_by(actor)).collect())
    }

    /// The clock of all changes before row `row`, wherever that row is. Costs one step per run of changes since.
    pub(crate) fn clock_before(&self, row: ChangeIdx) -> Clock {
        let mut clock = self.clock_now();
        for run in self.history.runs_from(row).filter(|run| run.end() > row) {
            let first = row.max(run.row).since(run.row);
            let end = &mut clock.ends[run.actor.place()];
            *end = (run.start + first * run.ops).min(*end);
        }
        clock
    }

    /// The clock of some changes. Costs a step for each change since, or for each run of changes before them up to one that
    /// came after all there was, whichever are less: people who write in turn make a run with every change.
    pub(crate) fn clock(&self, rows: &[ChangeIdx]) -> Clock {
        self.clock_of_few(rows).unwrap_or_else(|| {
            let seen = self.history.seen(rows);
            Clock::of(self.actors.numbers().map(|actor| seen.end(actor)).collect())
        })
    }

    /// The same where few runs lead to them: nothing is asked for that would have to be made.
    fn clock_of_few(&self, rows: &[ChangeIdx]) -> Option<Clock> {
        let mut ends = smallvec![0; self.actors.len()];
        let mut todo = BinaryHeap::new();
        // Most changes were made after one other: only the rest is sorted.
        let mut next = None;
        match rows {
            [row] => next = Some(*row),
            _ => todo.extend(rows.iter().copied()),
        }
        let (mut before, mut runs) = (None, 0);
        while let Some(row) = next.take().or_else(|| todo.pop()) {
            // Rows come in descending order: those of a run one after another, the first being the last that counts.
            let run = self.history.run_of(row);
            if before.replace(run) == Some(run) {
                continue;
            }
            runs += 1;
            if runs > FEW {
                return None;
            }
            let change = self.history.at(row);
            let end = &mut ends[change.run.actor.place()];
            *end = change.end().max(*end);
            match change.run.deps[..] {
                [dep] if todo.is_empty() => next = Some(dep),
                _ => todo.extend(change.run.deps.iter().copied()),
            }
        }
        Some(Clock::of(ends))
    }

    /// The rows that are not among `known` and what came before them, ascending.
    pub(crate) fn rows_since(&self, known: &[ChangeIdx]) -> Vec<ChangeIdx> {
        if known.is_empty() {
            return ChangeIdx::each(ChangeIdx::default()..self.history.next()).collect();
        }
        self.few_since(known, usize::MAX).expect("there are no more than can be counted")
    }

    /// The same where they are at most so many. More cost no more than these.
    pub(in crate::store) fn few_since(&self, known: &[ChangeIdx], most: usize) -> Option<Vec<ChangeIdx>> {
        let mut todo = Todo::new(self.history.next());
        self.history.heads.rows().iter().for_each(|row| todo.add(*row, false));
        known.iter().for_each(|row| todo.add(*row, true));
        let mut rows = vec![];
        let mut number = self.history.number_of_runs().saturating_sub(1);
        while todo.new > 0 {
            let Some((row, is_known)) = todo.pop() else { break };
            if !is_known {
                if rows.len() == most {
                    return None;
                }
                rows.push(row);
            }
            // Often it is in the run before that of the last one.
            let mut run = self.history.run(number).filter(|run| run.row <= row);
            if run.is_none() && number > 0 {
                number -= 1;
                run = self.history.run(number).filter(|run| run.row <= row);
            }
            let run = run.unwrap_or_else(|| {
                number = self.history.run_of(row);
                self.history.at(row).run
            });
            match run.row == row {
                true => run.deps.iter().for_each(|dep| todo.add(*dep, is_known)),
                false => todo.add(row.before(), is_known),
            }
        }
        rows.reverse();
        Some(rows)
    }

    /// Some rows and everything before them, ascending.
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

    /// What was visible at a key whose newest operation is `last`.
    pub(crate) fn values_at(&self, last: Option<KeyOpIdx>, clock: &Clock) -> Values {
        self.chain_at(last, clock).0
    }

    /// The newest operation of a chain that `clock` covers. `last` is the newest of all.
    fn newest(&self, mut last: Option<KeyOpIdx>, clock: &Clock) -> Option<KeyOpIdx> {
        let op = |last: Option<KeyOpIdx>| self.log.keyed.get(last?);
        while let Some(newest) = op(last).filter(|op| !clock.covers(op.id)) {
            // What is jumped over may be there if only what is around it is left out.
            let over = clock.without.is_empty() && op(newest.jump()).is_some_and(|op| !clock.covers(op.id));
            last = if over { newest.jump() } else { newest.before() };
        }
        last
    }

    /// The visible values, what was superseded, and whether nothing older can be visible.
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

    /// One operation of a chain, of which all newer ones were visited.
    fn visit(
        &self,
        op: &KeyOp,
        values: &mut Values,
        superseded: &mut SmallVec<[OpId; 8]>,
        added: &mut SmallVec<[(OpId, i64); 2]>,
    ) {
        if op.action == Action::Increment {
            added.extend(self.log.preds(op).iter().map(|pred| (*pred, self.amount(op))));
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

    /// What was visible at an element with a register.
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
            let added = added.fold(0i64, |sum, op| sum.wrapping_add(self.amount(op)));
            values.insert(0, Visible { id: span.id, val, added });
        }
        values
    }

    /// Whether an operation other than an increment superseded `id`.
    fn replaced(&self, last: Option<KeyOpIdx>, id: OpId, clock: &Clock) -> bool {
        self.chain(last).any(|op| {
            op.action != Action::Increment && clock.covers(op.id) && self.log.preds(op).contains(&id)
        })
    }

    /// The spans that were visible, cut to size, with the values of those that have registers. Widths and texts of
    /// elements that are no characters are to be taken from their values.
    pub(crate) fn spans_at<'a>(
        &'a self,
        seq: &'a Seq,
        clock: &'a Clock,
    ) -> impl Iterator<Item = (Span, Option<Values>)> + 'a {
        seq.spans().flat_map(move |span| self.parts_at(seq, span, clock))
    }

    /// What was visible of a span.
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
            let parts = span.divided(&ctx, |span, n| there(span, n, clock)).into_iter();
            return parts
                .filter(|part| there(part, 0, clock))
                .map(|part| (Span { visible: true, ..part }, None))
                .collect();
        }
        let covered = clock.covered(span.id, span.len);
        if covered < span.len {
            span.cut(covered, &ctx);
        }
        let gone = |id: OpId| !id.is_none() && clock.covers(id);
        let there = span.by_fate(&ctx, gone).into_iter().filter(|part| !gone(part.deleted_by));
        parts.extend(there.map(|part| (Span { visible: true, ..part }, None)));
        parts
    }
}

/// Rows to look at, the last first. Where people write at the same time every change names many, most of them again and
/// again, and all of a moment ago: for the last rows there is a place for what is said of each.
struct Todo {
    /// The row after the last.
    end: ChangeIdx,
    near: [Said; NEAR],
    /// Of the near ones, those before this place were looked at.
    at: usize,
    far: BinaryHeap<(ChangeIdx, bool)>,
    /// Rows that are to be looked at and of which nobody said that they are known, some of them several times.
    new: usize,
}

/// So many of the last rows are near.
const NEAR: usize = 512;

#[derive(Clone, Copy, PartialEq)]
enum Said {
    Nothing,
    New,
    Known,
}

impl Todo {
    fn new(end: ChangeIdx) -> Self {
        Self { end, near: [Said::Nothing; NEAR], at: 0, far: BinaryHeap::new(), new: 0 }
    }

    /// A row that is before all that were looked at.
    fn add(&mut self, row: ChangeIdx, is_known: bool) {
        let Some(said) = self.near.get_mut(self.end.since(row) as usize - 1) else {
            self.new += usize::from(!is_known);
            self.far.push((row, is_known));
            return;
        };
        match (*said, is_known) {
            (Said::Nothing, false) => {
                *said = Said::New;
                self.new += 1;
            }
            (Said::New, true) => {
                *said = Said::Known;
                self.new -= 1;
            }
            (Said::Nothing, true) => *said = Said::Known,
            (Said::New, false) | (Said::Known, _) => {}
        }
    }

    /// The last row, and whether it is known.
    fn pop(&mut self) -> Option<(ChangeIdx, bool)> {
        if let Some(skip) = self.near[self.at..].iter().position(|said| *said != Said::Nothing) {
            self.at += skip + 1;
            let is_known = self.near[self.at - 1] == Said::Known;
            self.new -= usize::from(!is_known);
            return Some((ChangeIdx::of(self.end.get() - self.at as u32), is_known));
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

    /// A document of several people who write at once, now and then take over what another has, and are away for long.
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
        let (first, rest) = docs.split_first_mut().expect("somebody");
        rest.iter().for_each(|other| drop(first.merge(other).expect("sound")));
        first.clone()
    }

    #[test]
    fn what_is_before_and_after_is_found_however_many_wrote_at_once() {
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
                        ends[change.run.actor.place()] = change.end();
                    }
                    assert_eq!(state.clock(&rows), Clock::of(ends), "{people} {back} {rows:?}");
                }
            }
            assert_eq!(state.clock(state.history.heads.rows()), state.clock_now());
            assert_eq!(state.clock(&[]), Clock::of(smallvec![0; state.actors.len()]));
        }
    }
}
