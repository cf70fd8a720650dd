//! The state as it was at some changes, made out of what is there now: what came since is taken back. Whoever goes back a few
//! changes in a long document pays for those few.
//!
//! Rows stand in the order in which changes came. From the first row on that was not there everything is taken back; what was
//! there and came later is then to be taken over once more. The heap keeps the bytes of both, which copies share.

use crate::codec::limits::Size;
use crate::codec::shortcuts::Shortcuts;
use crate::store::history::branches::Branches;
use crate::store::history::heads::Heads;
use crate::store::log::key_op::Key;
use crate::store::log::{LogEnd, Val, What, named_besides};
use crate::store::outgoing::save_cache::SaveCache;
use crate::store::savepoint::Savepoint;
use crate::store::state::State;
use crate::types::{ChangeHash, ChangeIdx, Number as _, ObjIdx, OpId};

/// Taking a run of operations or a change back costs at most so many times what taking one over costs.
const DEARER: usize = 3;

/// What some operations hold, as far as it counts for limits and numbers.
#[derive(Default)]
struct Held {
    /// Bytes of values and of footers of changes.
    bytes: usize,
    /// Whether keys may be gone with them, and how many bytes these paid for.
    keys: bool,
    paid: usize,
    apart: u32,
    /// How many objects they made, and the first of these.
    objects: usize,
    first: Option<ObjIdx>,
}

impl Held {
    fn value(&mut self, val: Val) {
        match val.as_object() {
            Some((_, obj)) => {
                self.objects += 1;
                self.first = Some(self.first.map_or(obj, |first| first.min(obj)));
            }
            None => self.bytes += val.bytes.len as usize,
        }
    }
}

impl State {
    /// This state as it was at `rows`, but for those rows that are given with it: they were there, and are to be taken over from
    /// here. Nothing where making it anew costs less, or files put objects into another order than changes.
    pub(crate) fn back_at(&self, rows: &[ChangeIdx]) -> Option<(Self, Vec<ChangeIdx>)> {
        let all = self.log.runs.len() + self.log.keyed.len() + self.history.number_of_runs();
        let most = match self.limits.shortcuts {
            Shortcuts::Usual => all / DEARER,
            Shortcuts::Always => usize::MAX,
            Shortcuts::Never => return None,
        };
        let gone = self.few_since(rows, most)?;
        let Some(first) = gone.first().copied() else { return Some((self.copied(), vec![])) };
        let end = self.log_before(first);
        let runs = self.log.runs.len() - end.runs as usize;
        let keyed = self.log.keyed.len() - end.keyed.place();
        let changes = self.history.next().since(first) as usize;
        if runs + keyed + changes > most {
            return None;
        }
        let mut left = gone.iter().peekable();
        let later = ChangeIdx::each(first..self.history.next());
        let kept: Vec<ChangeIdx> = later.filter(|row| left.next_if_eq(&row).is_none()).collect();
        let heads = self.heads_before(first, rows, &kept);
        let mut then = self.copied();
        // What was kept for the whole document says nothing of a part.
        (then.kept, then.save_cache) = (None, SaveCache::default());
        then.cut(first, end, heads).then_some((then, kept))
    }

    /// A copy in which nobody wrote yet.
    fn copied(&self) -> Self {
        let mut copy = self.clone();
        copy.branches = Branches::default();
        copy
    }

    /// Where the log ended before a row.
    fn log_before(&self, row: ChangeIdx) -> LogEnd {
        let first = self.history.run_of(row);
        let mut runs = (first..).zip(self.history.runs_from(row));
        let Some((number, run)) = runs.find(|(_, run)| run.ops > 0) else { return self.log.end() };
        let start = run.start + row.max(run.row).since(run.row) * run.ops;
        let (from, to) = self.log_range(number);
        let at = self.log.find(start, from, to);
        let run = &self.log.runs[at];
        self.log.end_before(at, &self.clip(run, run.id.ctr, start))
    }

    /// The heads of all rows before `first`, all of which come before `rows` and `kept`, which are all that comes later.
    fn heads_before(&self, first: ChangeIdx, rows: &[ChangeIdx], kept: &[ChangeIdx]) -> Heads {
        // Each of them is named by one that comes later, or from outside.
        let named = kept.iter().flat_map(|row| self.history.at(*row).deps()).chain(rows.iter().copied());
        let mut heads: Vec<ChangeIdx> = named.filter(|row| *row < first).collect();
        heads.sort_unstable();
        heads.dedup();
        if heads.len() > 1 {
            let before: Vec<ChangeIdx> = heads.iter().flat_map(|row| self.history.at(*row).deps()).collect();
            let seen = self.history.seen(&before);
            heads.retain(|row| {
                let change = self.history.at(*row);
                change.seq > seen.seq(change.run.actor)
            });
        }
        Heads::of(heads)
    }

    /// Takes back all rows from `first` on, before which the log ended at `end` and the heads were `heads`; gives whether that
    /// could be done.
    fn cut(&mut self, first: ChangeIdx, end: LogEnd, heads: Heads) -> bool {
        let mut savepoint = self.savepoint();
        savepoint.ends.log = end;
        for run in self.history.runs_from(first).filter(|run| run.ops > 0) {
            let start = run.start + first.max(run.row).since(run.row) * run.ops;
            savepoint.extend(OpId::new(start, run.actor));
        }
        let held = self.held_since(&savepoint, first);
        let objects = self.objects.len() - held.objects;
        if held.first.is_some_and(|first| first.place() != objects) {
            return false;
        }
        savepoint.ends.objects = ObjIdx::new(objects);
        let hashes = self.hashes_from(first);
        self.history.cut(first);
        self.history.heads = heads;
        for (row, hash) in hashes.iter().rev() {
            self.history.known_mut().forget(*row, hash);
        }
        savepoint.ends.max_op = self.history.max_op();
        self.undo_operations(&savepoint);
        self.log.apart = self.log.apart.saturating_sub(held.apart);
        self.heap.take_payment(held.bytes + held.paid, held.keys);
        self.history.log_len = self.log.runs.len() as u32;
        self.spend_all();
        true
    }

    /// The hashes that are known of the rows from `first` on.
    fn hashes_from(&self, first: ChangeIdx) -> Vec<(ChangeIdx, ChangeHash)> {
        let done = self.history.known().done();
        let hash = |row| if row < done { Some(self.hash(row)) } else { self.history.known().get(row) };
        ChangeIdx::each(first..self.history.next()).filter_map(|row| Some((row, hash(row)?))).collect()
    }

    /// What the operations since `savepoint` hold, and the changes from row `first` on.
    fn held_since(&self, savepoint: &Savepoint, first: ChangeIdx) -> Held {
        let mut held = Held::default();
        for run in self.history.runs_from(first).filter(|run| run.row >= first) {
            held.bytes += run.extra.len as usize;
        }
        let from = (savepoint.ends.log.runs as usize).saturating_sub(1);
        for number in from..self.log.runs.len() {
            let Some(run) = self.run_after(number, savepoint) else { continue };
            match run.what {
                What::Text { bytes, .. } => held.bytes += bytes.len as usize,
                What::Values { at, .. } => {
                    let values = self.log.values.iter_from(at as usize).take(run.len as usize);
                    values.for_each(|val| held.value(*val));
                    if self.seq(run.obj).is_some_and(|seq| seq.is_text) {
                        held.apart = held.apart.saturating_add(run.len.saturating_mul(Size::ENTRY));
                    }
                }
                What::Mark(number) => held.value(self.log.marks[number as usize].val),
                What::Delete { .. } => {}
                What::KeyOp(first) => {
                    for op in self.log.keyed.iter_from(first).take(run.len as usize) {
                        held.value(op.val());
                        held.apart = held.apart.saturating_add(named_besides(self.log.preds(op)));
                        if let Key::Map(key) = op.key() {
                            held.keys = true;
                            held.paid += if op.before().is_none() { key.len as usize / 2 } else { 0 };
                        }
                    }
                }
            }
        }
        // Where there were more than can be counted nobody knows how many there are without these.
        held.apart = if self.log.apart == u32::MAX { 0 } else { held.apart };
        held
    }
}
