//! Change history: the changes of a document and their dependencies, run-length encoded.

pub(in crate::store) mod ancestor_search;
pub(in crate::store) mod ancestry;
pub(crate) mod branches;
pub(in crate::store) mod hashes;
pub(crate) mod heads;

use smallvec::SmallVec;
use std::sync::{Mutex, OnceLock};

use crate::codec::bloom::BloomFilter;
use crate::store::history::ancestry::{ActorPosition, AncestorCache};
use crate::store::history::hashes::Hashes;
use crate::store::history::heads::Heads;
use crate::store::memory::byte_arena::Bytes;
use crate::store::memory::cow_vec::CowVec;
use crate::store::memory::op_id_map::OpIdMap;
use crate::types::small_list::SmallList;
use crate::types::{ActorIdx, ChangeHash, ChangeIdx, OpId};

/// Run of changes by one actor, each depending only on the one before, with equal operation counts and times.
#[derive(Clone, Debug)]
pub(crate) struct ChangeRun {
    /// Row of the first change.
    pub(crate) first_row: ChangeIdx,
    pub(crate) row_count: u32,
    /// Is every earlier row an ancestor?
    pub(crate) follows_all: bool,
    pub(crate) actor: ActorIdx,
    /// Sequence number of the first change.
    pub(crate) seq: u32,
    /// Counter of the first operation of the first change.
    pub(crate) first_counter: u32,
    /// Operations per change.
    pub(crate) ops_per_change: u32,
    pub(crate) time: i64,
    pub(crate) message: Bytes,
    pub(crate) extra: Bytes,
    /// Dependencies of the first change, in the order in which its encoding lists them.
    pub(crate) deps: SmallVec<[ChangeIdx; 2]>,
    /// Log run that holds the first operation.
    pub(crate) log: u32,
}

impl ChangeRun {
    /// Row of the last change.
    pub(crate) fn last(&self) -> ChangeIdx {
        self.first_row.plus(self.row_count - 1)
    }

    /// Row after the last change.
    pub(crate) fn end(&self) -> ChangeIdx {
        self.first_row.plus(self.row_count)
    }

    /// Position of the actor after the last change.
    pub(in crate::store) fn position(&self) -> ActorPosition {
        ActorPosition {
            seq: self.seq + self.row_count - 1,
            next_counter: self.first_counter + self.ops_per_change * self.row_count,
        }
    }
}

/// One change of a run.
#[derive(Clone, Debug)]
pub(crate) struct ChangeRef<'a> {
    pub(crate) run: &'a ChangeRun,
    pub(crate) row: ChangeIdx,
    pub(crate) seq: u32,
    pub(crate) start: u32,
}

impl ChangeRef<'_> {
    /// Counter after the change's last operation.
    pub(crate) fn end(&self) -> u32 {
        self.start + self.run.ops_per_change
    }

    /// Position of the actor after this change.
    pub(in crate::store) fn position(&self) -> ActorPosition {
        ActorPosition { seq: self.seq, next_counter: self.end() }
    }

    pub(crate) fn deps(&self) -> SmallVec<[ChangeIdx; 2]> {
        if self.row == self.run.first_row {
            SmallVec::from_slice(&self.run.deps)
        } else {
            smallvec::smallvec![self.row.before()]
        }
    }
}

/// Heads and Bloom filter of all changes: the first sync message to a peer with no shared history.
#[derive(Debug)]
pub(crate) struct SyncSummary {
    pub(crate) heads: SmallList<ChangeHash>,
    pub(crate) bloom: BloomFilter,
}

/// All changes of a document.
#[derive(Debug, Default)]
pub(crate) struct History {
    runs: CowVec<ChangeRun>,
    rows: u32,
    /// Operations of all changes.
    ops: u64,
    /// Dependencies of all runs.
    deps: u64,
    /// From the first operation of a run to the run. Runs without operations are not included.
    by_op: OpIdMap,
    by_seq: OpIdMap,
    /// Position of each actor.
    last: Vec<ActorPosition>,
    pub(crate) heads: Heads,
    /// End of the last change's operations in the log.
    pub(crate) log_len: u32,
    hashes: Mutex<Hashes>,
    recent: AncestorCache,
    /// Cached first sync message summary for a peer with no shared history.
    sync_summary: OnceLock<Box<SyncSummary>>,
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
            hashes: Mutex::new(self.lock_hashes().clone()),
            recent: self.recent.clone(),
            // A copy is made to be changed.
            sync_summary: OnceLock::new(),
        }
    }
}

impl History {
    /// Locks the known hashes. No code panics while it holds the lock.
    pub(crate) fn lock_hashes(&self) -> std::sync::MutexGuard<'_, Hashes> {
        self.hashes.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn hashes_mut(&mut self) -> &mut Hashes {
        self.hashes.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The cached summary for a peer with no shared history, if nothing changed since.
    #[inline]
    pub(crate) fn sync_summary(&self) -> Option<&SyncSummary> {
        self.sync_summary.get().map(|summary| &**summary)
    }

    /// Caches the summary for a peer with no shared history until the next change.
    pub(crate) fn cache_sync_summary(&self, summary: SyncSummary) {
        // Another thread may have stored the same value.
        let _ = self.sync_summary.set(Box::new(summary));
    }

    /// Stores the hash of a row.
    pub(crate) fn set_hash(&mut self, row: ChangeIdx, hash: ChangeHash) {
        let n = row.since(self.runs[self.run_index(row)].first_row);
        self.hashes_mut().set(row, n, hash);
    }

    /// Stores a hash that a file states and that was not verified.
    pub(crate) fn set_unverified_hash(&mut self, row: ChangeIdx, hash: ChangeHash) {
        let n = row.since(self.runs[self.run_index(row)].first_row);
        self.hashes_mut().promise(row, n, hash);
    }

    /// As [`Self::set_hash`], if `row` is the first without a hash.
    pub(crate) fn set_next_hash(&mut self, row: ChangeIdx, hash: ChangeHash) {
        if self.hashes_mut().done() == row {
            self.set_hash(row, hash);
        }
    }

    /// The head with this hash, if it is among the last.
    pub(crate) fn head(&mut self, hash: &ChangeHash) -> Option<ChangeIdx> {
        let known = self.hashes.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.heads.named(|row| known.get(row).as_ref() == Some(hash))
    }

    /// Number of changes.
    pub(crate) fn len(&self) -> u32 {
        self.rows
    }

    /// Row of the next change.
    pub(crate) fn next(&self) -> ChangeIdx {
        ChangeIdx::from_u32(self.rows)
    }

    /// Memory size of the runs in bytes.
    pub(in crate::store) fn bytes(&self) -> usize {
        self.run_count() * size_of::<ChangeRun>()
    }

    /// Operations of all changes.
    pub(crate) fn operations(&self) -> u64 {
        self.ops
    }

    pub(crate) fn dependencies(&self) -> u64 {
        self.deps
    }

    pub(crate) fn run_count(&self) -> usize {
        self.runs.len()
    }

    pub(crate) fn runs(&self) -> impl Iterator<Item = &ChangeRun> {
        self.runs.iter()
    }

    /// Index of the run that contains a row.
    pub(crate) fn run_index(&self, row: ChangeIdx) -> usize {
        let (mut low, mut high) = (0, self.runs.len());
        // Most lookups are for recent rows.
        for back in 1..=4.min(high) {
            if self.runs[high - back].first_row <= row {
                return high - back;
            }
        }
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if self.runs[middle].first_row <= row {
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

    pub(crate) fn at(&self, row: ChangeIdx) -> ChangeRef<'_> {
        let run = &self.runs[self.run_index(row)];
        let n = row.since(run.first_row);
        ChangeRef { run, row, seq: run.seq + n, start: run.first_counter + n * run.ops_per_change }
    }

    /// Counter after the last operation of a change.
    #[inline]
    pub(in crate::store) fn next_counter_after(&self, row: ChangeIdx) -> u32 {
        match self.runs.last() {
            // Most requests are for the last change.
            Some(run) if row.plus(1) == self.next() => run.first_counter + run.ops_per_change * run.row_count,
            _ => self.at(row).end(),
        }
    }

    /// Sequence number of an actor's last change; 0 before the first.
    pub(crate) fn seq(&self, actor: ActorIdx) -> u32 {
        self.last.get(actor.index()).map_or(0, |last| last.seq)
    }

    /// Counter after an actor's last operation.
    pub(crate) fn next_counter_of(&self, actor: ActorIdx) -> u32 {
        self.last.get(actor.index()).map_or(0, |last| last.next_counter)
    }

    /// Last change of an actor.
    pub(crate) fn last_change_of(&self, actor: ActorIdx) -> Option<ChangeIdx> {
        match self.runs.last() {
            Some(run) if run.actor == actor => Some(run.last()),
            _ => self.by_seq(actor, self.seq(actor)),
        }
    }

    /// The change with a sequence number of an actor.
    pub(crate) fn by_seq(&self, actor: ActorIdx, seq: u32) -> Option<ChangeIdx> {
        let (first, run) = self.by_seq.floor(OpId::new(seq, actor))?;
        let run = &self.runs[run as usize];
        (seq - first < run.row_count).then(|| run.first_row.plus(seq - first))
    }

    /// Position of an actor at row `row`, which is in run `number`.
    pub(in crate::store) fn position_at_row(
        &self,
        actor: ActorIdx,
        number: u32,
        row: ChangeIdx,
    ) -> Option<ActorPosition> {
        let (_, number) = self.by_seq.last_upto(actor, number)?;
        let run = &self.runs[number as usize];
        let n = row.since(run.first_row).min(run.row_count - 1);
        Some(ActorPosition {
            seq: run.seq + n,
            next_counter: run.first_counter + (n + 1) * run.ops_per_change,
        })
    }

    /// The row of the change with an operation, and the index of its run.
    pub(crate) fn by_op(&self, id: OpId) -> Option<(usize, ChangeIdx)> {
        let (first, number) = self.by_op.floor(id)?;
        let run = &self.runs[number as usize];
        let row = (id.ctr - first) / run.ops_per_change;
        (row < run.row_count).then(|| (number as usize, run.first_row.plus(row)))
    }

    /// Index of the last run of changes whose first operation is by the actor of `id` and precedes `id`.
    pub(crate) fn run_before(&self, id: OpId) -> Option<usize> {
        let (_, number) = self.by_op.floor(OpId::new(id.ctr.checked_sub(1)?, id.actor))?;
        Some(number as usize)
    }

    /// The operations of all changes from row `row` on, if these are in one run and have any: the first, and their
    /// number.
    #[inline]
    pub(crate) fn operations_from(&self, row: ChangeIdx) -> Option<(OpId, u32)> {
        let run = self.runs.last().filter(|run| run.first_row <= row)?;
        let before = row.since(run.first_row);
        let len = (run.row_count - before) * run.ops_per_change;
        (len > 0).then(|| (OpId::new(run.first_counter + before * run.ops_per_change, run.actor), len))
    }

    /// The runs of changes from the run of row `row` on.
    pub(crate) fn runs_from(&self, row: ChangeIdx) -> impl Iterator<Item = &ChangeRun> {
        let first = if self.runs.len() == 0 { 0 } else { self.run_index(row) };
        self.runs.iter_from(first)
    }

    /// Appends a change or a run of changes. Returns the row of the first.
    pub(crate) fn push(&mut self, mut run: ChangeRun) -> ChangeIdx {
        self.sync_summary.take();
        let row = self.next();
        debug_assert_eq!(run.first_row, row);
        let (actor, last) = (run.actor.index(), run.last());
        if self.last.len() <= actor {
            self.last.resize(actor + 1, ActorPosition::default());
        }
        self.last[actor] = run.position();
        run.follows_all = self.heads.replace(&run.deps, last);
        self.rows += run.row_count;
        self.ops += u64::from(run.ops_per_change) * u64::from(run.row_count);
        if let Some(before) = self.runs.last()
            && can_extend(before, &run)
        {
            let at = self.runs.len() - 1;
            self.runs.get_mut(at).row_count += run.row_count;
            return row;
        }
        let number = self.runs.len() as u32;
        self.by_seq.insert(OpId::new(run.seq, run.actor), number);
        if run.ops_per_change > 0 {
            self.by_op.insert(OpId::new(run.first_counter, run.actor), number);
        }
        self.deps += run.deps.len() as u64;
        self.runs.push(run);
        row
    }

    /// Fast path of [`Self::push`] for one commit per keystroke: adds a change without a message that depends only on
    /// the last change, if it continues the last run. Returns its row.
    #[inline]
    pub(crate) fn extend_change(
        &mut self,
        actor: ActorIdx,
        start: u32,
        ops: u32,
        time: i64,
    ) -> Option<ChangeIdx> {
        let row = self.next();
        let before = self.runs.last().filter(|run| run.actor == actor && run.ops_per_change == ops)?;
        let seq = before.seq + before.row_count;
        let extends = before.time == time
            && has_only_operations(before)
            && start == before.first_counter + ops * before.row_count
            && self.heads.advance(row);
        if !extends {
            return None;
        }
        self.sync_summary.take();
        self.runs.last_mut()?.row_count += 1;
        *self.last.get_mut(actor.index())? = ActorPosition { seq, next_counter: start + ops };
        self.rows += 1;
        self.ops += u64::from(ops);
        Some(row)
    }

    /// Removes the changes from `from` on. The caller restores the heads.
    pub(crate) fn truncate(&mut self, from: ChangeIdx) {
        self.sync_summary.take();
        self.recent.truncate(from);
        while self.next() > from {
            let number = self.runs.len() - 1;
            let run = self.runs.get_mut(number);
            let keep = from.max(run.first_row).since(run.first_row);
            let (actor, seq, start) =
                (run.actor, run.seq + keep, run.first_counter + run.ops_per_change * keep);
            self.rows = run.first_row.get() + keep;
            self.ops -= u64::from(run.ops_per_change) * u64::from(run.row_count - keep);
            run.row_count = keep;
            if keep == 0 {
                self.deps -= run.deps.len() as u64;
                self.runs.truncate(number);
                self.by_seq.cut(OpId::new(seq, actor));
                self.by_op.cut(OpId::new(start, actor));
            }
            let seq = seq - 1;
            let end = self.by_seq(actor, seq).map_or(0, |row| self.at(row).end());
            self.last[actor.index()] = ActorPosition { seq, next_counter: end };
        }
    }

    /// Greatest counter of any operation.
    pub(crate) fn max_op(&self) -> u32 {
        self.last.iter().map(|last| last.next_counter.saturating_sub(1)).max().unwrap_or(0)
    }
}

/// Has the run only operations, an actor and a time?
fn has_only_operations(run: &ChangeRun) -> bool {
    run.message.len == 0 && run.extra.len == 0
}

fn can_extend(before: &ChangeRun, next: &ChangeRun) -> bool {
    before.actor == next.actor
        && before.ops_per_change == next.ops_per_change
        && before.time == next.time
        && has_only_operations(before)
        && has_only_operations(next)
        && next.seq == before.seq + before.row_count
        && next.first_counter == before.first_counter + before.ops_per_change * before.row_count
        && next.deps[..] == [before.last()]
}
