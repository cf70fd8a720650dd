//! From the log to the hashes of changes, and from hashes to rows.

use smallvec::SmallVec;
use std::ops::Range;

use crate::codec::change::{Change, Scratch};
use crate::codec::chunk::{ChunkType, frame_with};
use crate::codec::shortcuts::block::Block;
use crate::codec::shortcuts::single::Single;
use crate::codec::shortcuts::unhashed::UnhashedChanges;
use crate::error::LoadError;
use crate::store::history::hashes::Hashes;
use crate::store::history::{ChangeAt, ChangeRun};
use crate::store::outgoing::small::Singles;
use crate::store::state::State;
use crate::threads;
use crate::types::{ChangeHash, ChangeIdx};

/// Hashes of what a change was made after.
type Deps = SmallVec<[ChangeHash; 4]>;

/// Of the changes that two threads hash together, the one that hashes also writes so many fifths.
const OWN_FIFTHS: u32 = 2;

/// So many operations are written ahead at most: their changes stay in the cache.
const TOGETHER: u32 = 1 << 13;

/// And so many bytes, when changes are long.
const KEPT: usize = 1 << 20;

/// Fewer changes are not worth a second thread.
const FEW: usize = 128;
/// Rows that are put into the index at once: peers that write at the same time name each other's latest changes, so one
/// lookup after a load does not index the whole history.
const LATEST: u32 = 256;
/// Fewer heads are compared one by one before the index is asked.
const MANY: usize = 4;

impl State {
    /// Computes the hashes of all rows on two threads. Nobody else may have the state: while one thread waits for the
    /// other it may do anything the pool has to do, and that must not wait for these hashes.
    pub(crate) fn hash_all(&mut self) {
        let mut known = self.history.known();
        self.hash_below(self.history.next(), &mut known, &mut Scratch::default(), true);
    }

    /// Compares what files said of hashes with what follows from the changes. Nobody waits meanwhile: hashes are computed
    /// apart from those that are known.
    pub(crate) fn verify(&self) -> Result<(), LoadError> {
        let promised = self.history.known().promised();
        if promised.is_empty() {
            return Ok(());
        }
        let (mut anew, mut scratch) = (Hashes::default(), Scratch::default());
        self.hash_below(self.history.next(), &mut anew, &mut scratch, true);
        let (mut named, mut computed): (Vec<_>, Vec<_>) =
            promised.into_iter().map(|(row, hash)| (hash, self.hash_in(&anew, row, &mut scratch))).unzip();
        named.sort_unstable();
        computed.sort_unstable();
        if named != computed {
            return Err(LoadError::Heads { named, computed });
        }
        self.history.known().confirm(anew);
        Ok(())
    }

    /// Computes the hashes of all rows before `end`, on two threads if so wanted.
    fn hash_below<'a>(&'a self, end: ChangeIdx, known: &mut Hashes, scratch: &mut Scratch<'a>, beside: bool) {
        if known.done() >= end {
            return;
        }
        let indexed = known.is_index_current() && end.since(known.done()) <= LATEST;
        let mut number = self.history.run_of(known.done());
        while known.done() < end {
            let run = self.history.run(number).expect("every row is in a run");
            let from = known.done();
            let deps = self.deps(known, run, from, scratch);
            let to = end.min(run.end());
            let last = to.before().since(run.row);
            let learn = |n, hash| {
                if n == last {
                    known.push(n, hash);
                } else {
                    known.pass(n, hash);
                }
                if indexed {
                    known.index_last(hash);
                }
            };
            if beside && self.limits.shortcuts.pay(to.since(from) as usize, FEW) {
                self.hash_beside(number, from..to, deps, scratch, learn);
            } else {
                self.hash_run(number, from..to, deps, scratch, learn);
            }
            number += 1;
        }
    }

    /// Hashes of what the row `row` of a run was made after. They have been computed.
    fn deps<'a>(
        &'a self,
        known: &mut Hashes,
        run: &ChangeRun,
        row: ChangeIdx,
        scratch: &mut Scratch<'a>,
    ) -> Deps {
        if row > run.row {
            return smallvec::smallvec![self.hash_in(known, row.before(), scratch)];
        }
        let mut deps = Deps::new();
        for dep in &run.deps {
            let hash = known.get(*dep).unwrap_or_else(|| {
                let hash = self.hash_in(known, *dep, scratch);
                known.keep(*dep, hash);
                hash
            });
            deps.push(hash);
        }
        deps
    }

    /// Hashes a range of rows of a run, the first made after `deps`. Each is given with its number in the run.
    fn hash_run<'a>(
        &'a self,
        number: usize,
        rows: Range<ChangeIdx>,
        mut deps: Deps,
        scratch: &mut Scratch<'a>,
        mut each: impl FnMut(u32, ChangeHash),
    ) {
        scratch.block.forget();
        self.each_change(number, rows, |change, singles| {
            let in_block = self.write_one(change, &deps, singles, scratch);
            let hash = if in_block { scratch.block.hash() } else { Change::hash_body(&scratch.body) };
            each(change.row.since(change.run.row), hash);
            deps.clear();
            deps.push(hash);
            true
        });
    }

    /// As [`Self::hash_run`], while another thread writes the later of the changes without the hashes before them.
    fn hash_beside<'a>(
        &'a self,
        number: usize,
        rows: Range<ChangeIdx>,
        mut deps: Deps,
        scratch: &mut Scratch<'a>,
        mut each: impl FnMut(u32, ChangeHash) + Send,
    ) {
        let run = self.history.run(number).expect("the caller found it");
        let together = (TOGETHER / run.ops.max(1)).max(FEW as u32);
        let (mut ahead, mut theirs) = (UnhashedChanges::default(), Scratch::default());
        for from in ChangeIdx::each(rows.clone()).step_by(together as usize) {
            let to = from.plus(together.min(rows.end.since(from)));
            let middle = from.plus((to.since(from) * OWN_FIFTHS).div_ceil(5));
            let (before, mut last) = (std::mem::take(&mut deps), None);
            threads::join(
                || {
                    self.hash_run(number, from..middle, before, scratch, |n, hash| {
                        each(n, hash);
                        last = Some(hash);
                    });
                },
                || self.write_ahead(number, middle..to, &mut theirs, &mut ahead),
            );
            let mut last = last.expect("the first is hashed here");
            let mut next = middle;
            for hash in ahead.hashes(last) {
                each(next.since(run.row), hash);
                (next, last) = (next.plus(1), hash);
            }
            // Those that were too long to be kept.
            self.hash_run(number, next..to, smallvec::smallvec![last], scratch, |n, hash| {
                each(n, hash);
                last = hash;
            });
            deps.push(last);
        }
    }

    /// Writes changes, made after any hash, until there are none or they take too much memory.
    fn write_ahead<'a>(
        &'a self,
        number: usize,
        rows: Range<ChangeIdx>,
        scratch: &mut Scratch<'a>,
        out: &mut UnhashedChanges,
    ) {
        out.clear();
        scratch.block.forget();
        self.each_change(number, rows, |change, singles| {
            let in_block = self.write_one(change, &[ChangeHash([0; 32])], singles, scratch);
            out.push(if in_block { scratch.block.body() } else { &scratch.body });
            out.len() < KEPT
        });
    }

    /// The changes of a range of rows of a run, with the single operations that they may be, until `each` says no.
    #[inline]
    fn each_change<'a>(
        &'a self,
        number: usize,
        rows: Range<ChangeIdx>,
        mut each: impl FnMut(&ChangeAt<'_>, &mut Singles<'a>) -> bool,
    ) {
        let run = self.history.run(number).expect("the caller found it");
        let (low, high) = self.log_range(number);
        let start = run.start + rows.start.since(run.row) * run.ops;
        let at = if run.ops == 0 { low } else { self.log.find(start, low, high) };
        let mut singles = Singles::new(self, at, start);
        for row in ChangeIdx::each(rows) {
            let n = row.since(run.row);
            let change = ChangeAt { run, row, seq: run.seq + n, start: run.start + n * run.ops };
            if !each(&change, &mut singles) {
                break;
            }
        }
    }

    /// Writes the body of a change into the block of `scratch`, if it fits there, or else into its body; gives which.
    #[inline]
    fn write_one<'a>(
        &'a self,
        change: &ChangeAt<'_>,
        deps: &[ChangeHash],
        singles: &mut Singles<'_>,
        scratch: &mut Scratch<'a>,
    ) -> bool {
        match change.run.ops {
            0 => self.write_body(0, change, deps, scratch),
            1 if self.limits.shortcuts.taken() => match singles.next() {
                Some(single)
                    if again(change, &single, deps, &mut scratch.block)
                        || self.write_single(change, &single, deps, &mut scratch.block) =>
                {
                    return true;
                }
                single => {
                    self.write_from(singles.run_of(change.start), change, deps, scratch);
                    if single.is_none() {
                        singles.skip();
                    }
                }
            },
            _ => self.write_from(singles.run_of(change.start), change, deps, scratch),
        }
        false
    }

    /// The hash of a row that has been computed.
    fn hash_in<'a>(&'a self, known: &Hashes, row: ChangeIdx, scratch: &mut Scratch<'a>) -> ChangeHash {
        if let Some(hash) = known.get(row) {
            return hash;
        }
        let (near, mut hash) = known.nearest(row).expect("the first row of every run is kept");
        if near < row {
            let deps = smallvec::smallvec![hash];
            self.hash_run(self.history.run_of(row), near.plus(1)..row.plus(1), deps, scratch, |_, next| {
                hash = next;
            });
        }
        hash
    }

    /// The hash of a row.
    pub(crate) fn hash(&self, row: ChangeIdx) -> ChangeHash {
        let known = self.history.known().get(row);
        known.unwrap_or_else(|| self.hash_with(row, &mut Scratch::default()))
    }

    pub(crate) fn hash_with<'a>(&'a self, row: ChangeIdx, scratch: &mut Scratch<'a>) -> ChangeHash {
        let mut known = self.history.known();
        if let Some(hash) = known.get(row) {
            return hash;
        }
        self.hash_below(row.plus(1), &mut known, scratch, false);
        let hash = self.hash_in(&known, row, scratch);
        known.visit(row, hash);
        hash
    }

    /// Gives the hashes of some rows. Ascending rows cost least. `each` may not ask for others.
    pub(crate) fn each_hash(
        &self,
        rows: impl IntoIterator<Item = ChangeIdx>,
        mut each: impl FnMut(ChangeIdx, ChangeHash),
    ) {
        let (mut known, mut scratch) = (self.history.known(), None);
        for row in rows {
            let hash = known.get(row).unwrap_or_else(|| {
                let scratch = scratch.get_or_insert_with(Scratch::default);
                self.hash_below(self.history.next(), &mut known, scratch, false);
                let hash = self.hash_in(&known, row, scratch);
                known.visit(row, hash);
                hash
            });
            each(row, hash);
        }
    }

    /// The chunks of some rows.
    pub(crate) fn chunks(&self, rows: impl IntoIterator<Item = ChangeIdx>) -> Vec<Vec<u8>> {
        let mut scratch = Scratch::default();
        let chunk = |row| {
            let hash = self.write_row(row, &mut scratch);
            frame_with(ChunkType::Change, &scratch.body, &hash)
        };
        rows.into_iter().map(chunk).collect()
    }

    /// The row of a hash.
    pub(crate) fn row(&self, hash: &ChangeHash) -> Option<ChangeIdx> {
        let mut known = self.history.known();
        let next = self.history.next();
        let heads = &self.history.heads;
        let few = heads.rows().len() < MANY;
        let head = |known: &Hashes| heads.named(|row| known.get(row).as_ref() == Some(hash));
        if few && let Some(row) = head(&known) {
            return Some(row);
        }
        if let Some(row) = self.find(&known, hash) {
            return Some(row);
        }
        if known.finds_all(next) {
            return None;
        }
        if !few && let Some(row) = head(&known) {
            return Some(row);
        }
        let mut scratch = Scratch::default();
        self.hash_below(next, &mut known, &mut scratch, false);
        loop {
            if let Some(row) = self.find(&known, hash) {
                return Some(row);
            }
            let rows = known.to_index(LATEST)?;
            self.index(rows, &mut known, &mut scratch);
        }
    }

    fn find(&self, known: &Hashes, hash: &ChangeHash) -> Option<ChangeIdx> {
        let hash_of = |row| self.hash_in(known, row, &mut Scratch::default());
        known.find(hash, |row| known.get(row).unwrap_or_else(|| hash_of(row)) == *hash)
    }

    /// Puts hashed rows into the index.
    fn index<'a>(&'a self, rows: Range<ChangeIdx>, known: &mut Hashes, scratch: &mut Scratch<'a>) {
        let mut from = rows.start;
        while from < rows.end {
            if let Some(hash) = known.get(from) {
                known.insert_once(from, hash);
                from = from.plus(1);
                continue;
            }
            let number = self.history.run_of(from);
            let run = self.history.run(number).expect("every row is in a run");
            let deps = self.deps(known, run, from, scratch);
            let to = rows.end.min(run.end());
            self.hash_run(number, from..to, deps, scratch, |n, hash| {
                known.insert_once(run.row.plus(n), hash);
            });
            from = to;
        }
        known.indexed(rows);
    }

    /// Whether a change is in the history. Only changes with numbers that are taken are compared by their hashes.
    pub(crate) fn has(&self, change: &Change) -> bool {
        let Ok(seq) = u32::try_from(change.seq()) else { return false };
        let actor = self.actors.find(change.actor_id()).filter(|actor| self.history.seq(*actor) >= seq);
        let row = actor.and_then(|actor| self.history.by_seq(actor, seq));
        row.is_some_and(|row| self.hash(row) == change.hash())
    }

    pub(crate) fn heads(&self) -> Vec<ChangeHash> {
        let mut heads: Vec<ChangeHash> =
            self.history.heads.rows().iter().map(|row| self.hash(*row)).collect();
        heads.sort_unstable();
        heads
    }

    /// The change of a row.
    pub(crate) fn change<'a>(&'a self, row: ChangeIdx, scratch: &mut Scratch<'a>) -> Change {
        let hash = self.write_row(row, scratch);
        Change::from_own(&scratch.body, hash, self.history.at(row).run.ops, self.limits.shortcuts)
    }

    /// Writes the body of a change; gives its hash.
    fn write_row<'a>(&'a self, row: ChangeIdx, scratch: &mut Scratch<'a>) -> ChangeHash {
        let change = self.history.at(row);
        // First what it was made after: its own hash is one step from that.
        let deps: Deps = change.deps().iter().map(|row| self.hash_with(*row, scratch)).collect();
        let hash = self.hash_with(row, scratch);
        self.write_change(&change, &deps, scratch);
        hash
    }
}

/// Makes the change that lies in a block the next one of its run, if that takes a few bytes.
#[inline]
fn again(change: &ChangeAt<'_>, single: &Single<'_>, deps: &[ChangeHash], block: &mut Block) -> bool {
    match (single, deps) {
        (Single::SingleCharOp(keystroke), [dep]) => block.again(keystroke, dep, change.seq, change.start),
        _ => false,
    }
}
