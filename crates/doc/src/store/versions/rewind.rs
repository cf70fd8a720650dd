//! The state at earlier heads, made from the current state by reverting later changes. Going back a few changes in a
//! long document costs only those few.
//!
//! Rows are in order of arrival. All rows from the first one outside the requested history on are reverted. Later rows
//! that do belong to that history are then applied again. The heap keeps the bytes of reverted operations; the copies
//! share it.

use crate::codec::limits::Size;
use crate::codec::shortcuts::Shortcuts;
use crate::store::history::branches::Branches;
use crate::store::history::heads::Heads;
use crate::store::log::key_op::Key;
use crate::store::log::value::StoredValue;
use crate::store::log::{LogEnd, RunAction, named_besides};
use crate::store::outgoing::save_cache::SaveCache;
use crate::store::state::DocumentState;
use crate::store::versions::savepoint::Savepoint;
use crate::types::{ChangeHash, ChangeIdx, Number as _, ObjIdx, OpId};

/// Upper bound of the cost of reverting a run of operations or a change, relative to applying it.
const DEARER: usize = 3;

/// Contribution of some operations to limits and lengths.
#[derive(Default)]
struct Contribution {
    /// Bytes of values and of footers of changes.
    bytes: usize,
    /// Keys may disappear with them; and how many bytes these keys paid for.
    keys: bool,
    paid: usize,
    apart: u32,
    /// Number of objects that they created, and the first of these.
    objects: usize,
    first: Option<ObjIdx>,
}

impl Contribution {
    fn value(&mut self, val: StoredValue) {
        match val.as_object() {
            Some((_, obj)) => {
                self.objects += 1;
                self.first = Some(self.first.map_or(obj, |first| first.min(obj)));
            }
            None => self.bytes += val.bytes.len as usize,
        }
    }
}

impl DocumentState {
    /// This state at `rows`, except for the returned rows: they belong to that history and must be applied again.
    /// `None` if a rebuild costs less, or if files order objects differently from changes.
    pub(crate) fn rewind_to(&self, rows: &[ChangeIdx]) -> Option<(Self, Vec<ChangeIdx>)> {
        let all = self.log.runs.len() + self.log.keyed.len() + self.history.run_count();
        let most = match self.limits.shortcuts {
            Shortcuts::Usual => all / DEARER,
            Shortcuts::Always => usize::MAX,
            Shortcuts::Never => return None,
        };
        let gone = self.few_since(rows, most)?;
        let Some(first) = gone.first().copied() else { return Some((self.copied(), vec![])) };
        let end = self.log_before(first);
        let runs = self.log.runs.len() - end.runs as usize;
        let keyed = self.log.keyed.len() - end.keyed.index();
        let changes = self.history.next().since(first) as usize;
        if runs + keyed + changes > most {
            return None;
        }
        let mut left = gone.iter().peekable();
        let later = ChangeIdx::each(first..self.history.next());
        let remaining_rows: Vec<ChangeIdx> = later.filter(|row| left.next_if_eq(&row).is_none()).collect();
        let heads = self.heads_before(first, rows, &remaining_rows);
        let mut then = self.copied();
        // Cached data of the whole document is not valid for a part.
        (then.original, then.save_cache) = (None, SaveCache::default());
        then.cut(first, end, heads).then_some((then, remaining_rows))
    }

    /// A copy for a new writer, without changes of its own.
    fn copied(&self) -> Self {
        let mut copy = self.clone();
        copy.branches = Branches::default();
        copy
    }

    /// End of the log before a row.
    fn log_before(&self, row: ChangeIdx) -> LogEnd {
        let first = self.history.run_index(row);
        let mut runs = (first..).zip(self.history.runs_from(row));
        let Some((number, run)) = runs.find(|(_, run)| run.ops_per_change > 0) else { return self.log.end() };
        let start = run.first_counter + row.max(run.first_row).since(run.first_row) * run.ops_per_change;
        let (from, to) = self.log_range(number);
        let at = self.log.find(start, from, to);
        let run = &self.log.runs[at];
        self.log.end_before(at, &self.clip(run, run.id.ctr, start))
    }

    /// The heads of all rows before `first`. The caller guarantees that these rows are ancestors of `rows` and `remaining_rows`,
    /// and that those are all later rows.
    fn heads_before(&self, first: ChangeIdx, rows: &[ChangeIdx], remaining_rows: &[ChangeIdx]) -> Heads {
        // Each head is a dependency of a later row, or is requested itself.
        let named =
            remaining_rows.iter().flat_map(|row| self.history.at(*row).deps()).chain(rows.iter().copied());
        let mut heads: Vec<ChangeIdx> = named.filter(|row| *row < first).collect();
        heads.sort_unstable();
        heads.dedup();
        if heads.len() > 1 {
            let before: Vec<ChangeIdx> = heads.iter().flat_map(|row| self.history.at(*row).deps()).collect();
            let ancestors = self.history.ancestors_including(&before);
            heads.retain(|row| {
                let change = self.history.at(*row);
                change.seq > ancestors.seq(change.run.actor)
            });
        }
        Heads::from_rows(heads)
    }

    /// Reverts all rows from `first` on. Before them the log ended at `end` and the heads were `heads`. Returns whether
    /// this was possible.
    fn cut(&mut self, first: ChangeIdx, end: LogEnd, heads: Heads) -> bool {
        let mut savepoint = self.savepoint();
        savepoint.ends.log = end;
        for run in self.history.runs_from(first).filter(|run| run.ops_per_change > 0) {
            let start =
                run.first_counter + first.max(run.first_row).since(run.first_row) * run.ops_per_change;
            savepoint.extend(OpId::new(start, run.actor));
        }
        let contribution = self.contribution_since(&savepoint, first);
        let objects = self.objects.len() - contribution.objects;
        if contribution.first.is_some_and(|first| first.index() != objects) {
            return false;
        }
        savepoint.ends.objects = ObjIdx::new(objects);
        let hashes = self.hashes_from(first);
        self.history.truncate(first);
        self.history.heads = heads;
        for (row, hash) in hashes.iter().rev() {
            self.history.hashes_mut().forget(*row, hash);
        }
        savepoint.ends.max_op = self.history.max_op();
        self.undo_operations(&savepoint);
        self.log.apart = self.log.apart.saturating_sub(contribution.apart);
        self.heap.take_payment(contribution.bytes + contribution.paid, contribution.keys);
        self.history.log_len = self.log.runs.len() as u32;
        self.spend_all();
        true
    }

    /// The known hashes of the rows from `first` on.
    fn hashes_from(&self, first: ChangeIdx) -> Vec<(ChangeIdx, ChangeHash)> {
        let done = self.history.lock_hashes().done();
        let hash = |row| if row < done { Some(self.hash(row)) } else { self.history.lock_hashes().get(row) };
        ChangeIdx::each(first..self.history.next()).filter_map(|row| Some((row, hash(row)?))).collect()
    }

    /// Contribution of the operations since `savepoint` and the changes from row `first` on.
    fn contribution_since(&self, savepoint: &Savepoint, first: ChangeIdx) -> Contribution {
        let mut contribution = Contribution::default();
        for run in self.history.runs_from(first).filter(|run| run.first_row >= first) {
            contribution.bytes += run.extra.len as usize;
        }
        let from = (savepoint.ends.log.runs as usize).saturating_sub(1);
        for number in from..self.log.runs.len() {
            let Some(run) = self.run_after(number, savepoint) else { continue };
            match run.what {
                RunAction::Text { bytes, .. } => contribution.bytes += bytes.len as usize,
                RunAction::Values { at, .. } => {
                    let values = self.log.values.iter_from(at as usize).take(run.len as usize);
                    values.for_each(|val| contribution.value(*val));
                    if self.seq(run.obj).is_some_and(|seq| seq.is_text) {
                        contribution.apart =
                            contribution.apart.saturating_add(run.len.saturating_mul(Size::ENTRY));
                    }
                }
                RunAction::Mark(number) => contribution.value(self.log.marks[number as usize].val),
                RunAction::Delete { .. } => {}
                RunAction::KeyOp(first) => {
                    for op in self.log.keyed.iter_from(first).take(run.len as usize) {
                        contribution.value(op.val());
                        contribution.apart =
                            contribution.apart.saturating_add(named_besides(self.log.preds(op)));
                        if let Key::Map(key) = op.key() {
                            contribution.keys = true;
                            contribution.paid += if op.before().is_none() { key.len as usize / 2 } else { 0 };
                        }
                    }
                }
            }
        }
        // A saturated count cannot be reduced: the remainder is unknown.
        contribution.apart = if self.log.apart == u32::MAX { 0 } else { contribution.apart };
        contribution
    }
}
