//! The changes of a document and what each was made after, as runs: a chain of equal small changes is one entry.

pub(crate) mod branches;
pub(in crate::store) mod hashes;
pub(crate) mod heads;
pub(in crate::store) mod seen;

use smallvec::SmallVec;
use std::sync::{Arc, Mutex, OnceLock};

use crate::codec::limits::Budget;
use crate::error::LimitError;
use crate::store::history::hashes::Hashes;
use crate::store::history::heads::Heads;
use crate::store::history::seen::{Present, Recent, Seen};
use crate::store::memory::byte_arena::Bytes;
use crate::store::memory::cow_vec::CowVec;
use crate::store::memory::op_id_map::OpIdMap;
use crate::sync::Told;
use crate::types::{ActorIdx, ChangeHash, ChangeIdx, OpId};

/// Changes by one actor, each made right after the one before, with as many operations and at the same time.
#[derive(Clone, Debug)]
pub(crate) struct ChangeRun {
    /// Row of the first.
    pub(crate) row: ChangeIdx,
    pub(crate) rows: u32,
    /// They have all rows before them in their past.
    pub(crate) whole: bool,
    pub(crate) actor: ActorIdx,
    /// Of the first.
    pub(crate) seq: u32,
    /// Counter of the first operation of the first.
    pub(crate) start: u32,
    /// Operations of each.
    pub(crate) ops: u32,
    pub(crate) time: i64,
    pub(crate) message: Bytes,
    pub(crate) extra: Bytes,
    /// What the first was made after, in the order its bytes name them.
    pub(crate) deps: SmallVec<[ChangeIdx; 2]>,
    /// The run of the log that holds the first operation.
    pub(crate) log: u32,
}

impl ChangeRun {
    /// Row of the last.
    pub(crate) fn last(&self) -> ChangeIdx {
        self.row.plus(self.rows - 1)
    }

    /// The row after the last.
    pub(crate) fn end(&self) -> ChangeIdx {
        self.row.plus(self.rows)
    }

    /// How far its actor has come with the last.
    pub(in crate::store) fn reach(&self) -> Reach {
        Reach { seq: self.seq + self.rows - 1, end: self.start + self.ops * self.rows }
    }
}

/// How far the changes of an actor reach: the sequence number of the last, 0 before the first, and the counter after its last
/// operation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::store) struct Reach {
    pub(in crate::store) seq: u32,
    pub(in crate::store) end: u32,
}

/// One change, taken out of its run.
#[derive(Clone, Debug)]
pub(crate) struct ChangeAt<'a> {
    pub(crate) run: &'a ChangeRun,
    pub(crate) row: ChangeIdx,
    pub(crate) seq: u32,
    pub(crate) start: u32,
}

impl ChangeAt<'_> {
    /// Counter after its last operation.
    pub(crate) fn end(&self) -> u32 {
        self.start + self.run.ops
    }

    /// How far its actor has come with it.
    pub(in crate::store) fn reach(&self) -> Reach {
        Reach { seq: self.seq, end: self.end() }
    }

    pub(crate) fn deps(&self) -> SmallVec<[ChangeIdx; 2]> {
        if self.row == self.run.row {
            SmallVec::from_slice(&self.run.deps)
        } else {
            smallvec::smallvec![self.row.before()]
        }
    }
}

/// All changes.
#[derive(Debug, Default)]
pub(crate) struct History {
    runs: CowVec<ChangeRun>,
    rows: u32,
    /// Operations of all changes.
    ops: u64,
    /// Dependencies of all runs.
    deps: u64,
    /// From the first operation of a run to the run; runs without operations are not here.
    by_op: OpIdMap,
    by_seq: OpIdMap,
    /// By actor.
    last: Vec<Reach>,
    pub(crate) heads: Heads,
    /// Where the operations of the last change end in the log.
    pub(crate) log_len: u32,
    hashes: Mutex<Hashes>,
    recent: Recent,
    /// What strangers are told of these changes, once one was here.
    told: OnceLock<Box<Told>>,
}

impl Clone for History {
    fn clone(&self) -> Self {
        Self {
            runs: self.runs.clone(),
            rows: self.rows,
            ops: self.ops,
            deps: self.deps,
            by_op: self.by_op.clone(),
            by_seq: self.by_seq.clone(),
            last: self.last.clone(),
            heads: self.heads.clone(),
            log_len: self.log_len,
            hashes: Mutex::new(self.known().clone()),
            recent: self.recent.clone(),
            // A copy is made to be changed.
            told: OnceLock::new(),
        }
    }
}

impl History {
    /// The known hashes. Nobody panics while holding them.
    pub(crate) fn known(&self) -> std::sync::MutexGuard<'_, Hashes> {
        self.hashes.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn known_mut(&mut self) -> &mut Hashes {
        self.hashes.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// What strangers are told, if that was kept since the last change.
    #[inline]
    pub(crate) fn told(&self) -> Option<&Told> {
        self.told.get().map(|told| &**told)
    }

    /// Keeps what strangers are told until there is another change.
    pub(crate) fn keep_told(&self, told: Told) {
        // Somebody else may have kept the same.
        let _ = self.told.set(Box::new(told));
    }

    /// Learns the hash of a row.
    pub(crate) fn learn(&mut self, row: ChangeIdx, hash: ChangeHash) {
        let n = row.since(self.runs[self.run_of(row)].row);
        self.known_mut().set(row, n, hash);
    }

    /// As [`Self::learn`], on the word of a file.
    pub(crate) fn promise(&mut self, row: ChangeIdx, hash: ChangeHash) {
        let n = row.since(self.runs[self.run_of(row)].row);
        self.known_mut().promise(row, n, hash);
    }

    /// As [`Self::learn`], if it is the first row whose hash is not known.
    pub(crate) fn learn_next(&mut self, row: ChangeIdx, hash: ChangeHash) {
        if self.known_mut().done() == row {
            self.learn(row, hash);
        }
    }

    /// The head with this hash, if it is one of the last.
    pub(crate) fn head(&mut self, hash: &ChangeHash) -> Option<ChangeIdx> {
        let known = self.hashes.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.heads.named(|row| known.get(row).as_ref() == Some(hash))
    }

    /// How many changes there are.
    pub(crate) fn len(&self) -> u32 {
        self.rows
    }

    /// The row of the next change.
    pub(crate) fn next(&self) -> ChangeIdx {
        ChangeIdx::of(self.rows)
    }

    /// How many bytes the runs take.
    pub(in crate::store) fn bytes(&self) -> usize {
        self.number_of_runs() * size_of::<ChangeRun>()
    }

    /// How many operations all changes have.
    pub(crate) fn operations(&self) -> u64 {
        self.ops
    }

    pub(crate) fn dependencies(&self) -> u64 {
        self.deps
    }

    pub(crate) fn number_of_runs(&self) -> usize {
        self.runs.len()
    }

    pub(crate) fn runs(&self) -> impl Iterator<Item = &ChangeRun> {
        self.runs.iter()
    }

    /// The number of the run that holds a row.
    pub(crate) fn run_of(&self, row: ChangeIdx) -> usize {
        let (mut low, mut high) = (0, self.runs.len());
        // Most ask for what is new.
        for back in 1..=4.min(high) {
            if self.runs[high - back].row <= row {
                return high - back;
            }
        }
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if self.runs[middle].row <= row {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    pub(crate) fn run(&self, number: usize) -> Option<&ChangeRun> {
        self.runs.get(number)
    }

    pub(crate) fn at(&self, row: ChangeIdx) -> ChangeAt<'_> {
        let run = &self.runs[self.run_of(row)];
        let n = row.since(run.row);
        ChangeAt { run, row, seq: run.seq + n, start: run.start + n * run.ops }
    }

    /// The counter after the last operation of a change.
    #[inline]
    pub(in crate::store) fn end_of(&self, row: ChangeIdx) -> u32 {
        match self.runs.last() {
            // Most are made after the last one.
            Some(run) if row.plus(1) == self.next() => run.start + run.ops * run.rows,
            _ => self.at(row).end(),
        }
    }

    /// Sequence number of an actor's last change; 0 before the first.
    pub(crate) fn seq(&self, actor: ActorIdx) -> u32 {
        self.last.get(actor.place()).map_or(0, |last| last.seq)
    }

    /// The counter after an actor's last operation.
    pub(crate) fn end_by(&self, actor: ActorIdx) -> u32 {
        self.last.get(actor.place()).map_or(0, |last| last.end)
    }

    /// An actor's last change.
    pub(crate) fn last_of(&self, actor: ActorIdx) -> Option<ChangeIdx> {
        match self.runs.last() {
            Some(run) if run.actor == actor => Some(run.last()),
            _ => self.by_seq(actor, self.seq(actor)),
        }
    }

    /// The change with an actor's sequence number.
    pub(crate) fn by_seq(&self, actor: ActorIdx, seq: u32) -> Option<ChangeIdx> {
        let (first, run) = self.by_seq.floor(OpId::new(seq, actor))?;
        let run = &self.runs[run as usize];
        (seq - first < run.rows).then(|| run.row.plus(seq - first))
    }

    /// How far an actor had come up to a row, which is in run `number`.
    pub(in crate::store) fn last_upto(&self, actor: ActorIdx, number: u32, row: ChangeIdx) -> Option<Reach> {
        let (_, number) = self.by_seq.last_upto(actor, number)?;
        let run = &self.runs[number as usize];
        let n = row.since(run.row).min(run.rows - 1);
        Some(Reach { seq: run.seq + n, end: run.start + (n + 1) * run.ops })
    }

    /// The number of the run of changes with an operation, and the row.
    pub(crate) fn by_op(&self, id: OpId) -> Option<(usize, ChangeIdx)> {
        let (first, number) = self.by_op.floor(id)?;
        let run = &self.runs[number as usize];
        let row = (id.ctr - first) / run.ops;
        (row < run.rows).then(|| (number as usize, run.row.plus(row)))
    }

    /// The number of the last run of changes whose first operation is one of the actor of `id` before it.
    pub(crate) fn run_before(&self, id: OpId) -> Option<usize> {
        let (_, number) = self.by_op.floor(OpId::new(id.ctr.checked_sub(1)?, id.actor))?;
        Some(number as usize)
    }

    /// The operations of all changes from row `row` on, where these are of one run and have any: the first, and how many.
    #[inline]
    pub(crate) fn operations_from(&self, row: ChangeIdx) -> Option<(OpId, u32)> {
        let run = self.runs.last().filter(|run| run.row <= row)?;
        let before = row.since(run.row);
        let len = (run.rows - before) * run.ops;
        (len > 0).then(|| (OpId::new(run.start + before * run.ops, run.actor), len))
    }

    /// The runs of changes from that of row `row` on.
    pub(crate) fn runs_from(&self, row: ChangeIdx) -> impl Iterator<Item = &ChangeRun> {
        let first = if self.runs.len() == 0 { 0 } else { self.run_of(row) };
        self.runs.iter_from(first)
    }

    /// The past of a change that will be made after `deps`; nothing where it is all there is.
    #[inline]
    pub(in crate::store) fn past(
        &self,
        deps: &[ChangeIdx],
        budget: &mut Budget,
    ) -> Result<Option<Arc<Seen>>, LimitError> {
        if self.heads.within(deps) { Ok(None) } else { self.past_of(deps, budget) }
    }

    fn past_of(&self, deps: &[ChangeIdx], budget: &mut Budget) -> Result<Option<Arc<Seen>>, LimitError> {
        let there = Present { history: self, heads: self.heads.rows(), last: &self.last };
        self.recent.before(deps, there, budget).map(Some)
    }

    /// Some changes, and what they had seen.
    pub(in crate::store) fn seen(&self, rows: &[ChangeIdx]) -> Arc<Seen> {
        let there = Present { history: self, heads: self.heads.rows(), last: &self.last };
        let mut budget = Budget::UNLIMITED;
        self.recent.before(rows, there, &mut budget).expect("there is no limit")
    }

    /// Keeps the past of the last change, for those that will be made after it.
    pub(in crate::store) fn keep_past(&mut self, past: Arc<Seen>) {
        let Some(row) = self.rows.checked_sub(1).map(ChangeIdx::of) else { return };
        let change = self.at(row);
        let (actor, reach, deps) = (change.run.actor, change.reach(), change.deps());
        self.recent.learn(row, actor, reach, past, &deps);
    }

    /// Appends one change or a run of them. Gives the row of the first.
    pub(crate) fn push(&mut self, mut run: ChangeRun) -> ChangeIdx {
        self.told.take();
        let row = self.next();
        debug_assert_eq!(run.row, row);
        let (actor, last) = (run.actor.place(), run.last());
        if self.last.len() <= actor {
            self.last.resize(actor + 1, Reach::default());
        }
        self.last[actor] = run.reach();
        run.whole = self.heads.replace(&run.deps, last);
        self.rows += run.rows;
        self.ops += u64::from(run.ops) * u64::from(run.rows);
        if let Some(before) = self.runs.last()
            && continues(before, &run)
        {
            let at = self.runs.len() - 1;
            self.runs.get_mut(at).rows += run.rows;
            return row;
        }
        let number = self.runs.len() as u32;
        self.by_seq.insert(OpId::new(run.seq, run.actor), number);
        if run.ops > 0 {
            self.by_op.insert(OpId::new(run.start, run.actor), number);
        }
        self.deps += run.deps.len() as u64;
        self.runs.push(run);
        row
    }

    /// Adds a change without message that was made after the last one alone, when it goes on with the last run; gives its
    /// row. What [`Self::push`] would do, for the many who commit each keystroke.
    #[inline]
    pub(crate) fn extend_change(
        &mut self,
        actor: ActorIdx,
        start: u32,
        ops: u32,
        time: i64,
    ) -> Option<ChangeIdx> {
        let row = self.next();
        let before = self.runs.last().filter(|run| run.actor == actor && run.ops == ops)?;
        let seq = before.seq + before.rows;
        let extends = before.time == time
            && plain(before)
            && start == before.start + ops * before.rows
            && self.heads.advance(row);
        if !extends {
            return None;
        }
        self.told.take();
        self.runs.last_mut()?.rows += 1;
        *self.last.get_mut(actor.place())? = Reach { seq, end: start + ops };
        self.rows += 1;
        self.ops += u64::from(ops);
        Some(row)
    }

    /// Forgets the last changes, all but their place among the heads.
    pub(crate) fn cut(&mut self, from: ChangeIdx) {
        self.told.take();
        self.recent.cut(from);
        while self.next() > from {
            let number = self.runs.len() - 1;
            let run = self.runs.get_mut(number);
            let keep = from.max(run.row).since(run.row);
            let (actor, seq, start) = (run.actor, run.seq + keep, run.start + run.ops * keep);
            self.rows = run.row.get() + keep;
            self.ops -= u64::from(run.ops) * u64::from(run.rows - keep);
            run.rows = keep;
            if keep == 0 {
                self.deps -= run.deps.len() as u64;
                self.runs.truncate(number);
                self.by_seq.cut(OpId::new(seq, actor));
                self.by_op.cut(OpId::new(start, actor));
            }
            let seq = seq - 1;
            let end = self.by_seq(actor, seq).map_or(0, |row| self.at(row).end());
            self.last[actor.place()] = Reach { seq, end };
        }
    }

    /// The greatest counter of any operation.
    pub(crate) fn max_op(&self) -> u32 {
        self.last.iter().map(|last| last.end.saturating_sub(1)).max().unwrap_or(0)
    }
}

/// Nothing but operations, their actor and a time.
fn plain(run: &ChangeRun) -> bool {
    run.message.len == 0 && run.extra.len == 0
}

fn continues(before: &ChangeRun, next: &ChangeRun) -> bool {
    before.actor == next.actor
        && before.ops == next.ops
        && before.time == next.time
        && plain(before)
        && plain(next)
        && next.seq == before.seq + before.rows
        && next.start == before.start + before.ops * before.rows
        && next.deps[..] == [before.last()]
}
