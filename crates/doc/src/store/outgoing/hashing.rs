//! Computation of change hashes from the log, and lookup of rows by hash.

use smallvec::SmallVec;
use std::ops::Range;

use crate::codec::chunks::change::{Change, Scratch};
use crate::codec::chunks::container::{ChunkType, frame_with};
use crate::codec::parallel;
use crate::codec::shortcuts::block::Block;
use crate::codec::shortcuts::deferred_hash::UnhashedChanges;
use crate::codec::shortcuts::single::Single;
use crate::store::history::hashes::Hashes;
use crate::store::history::{ChangeRef, ChangeRun};
use crate::store::outgoing::single_op_changes::Singles;
use crate::store::state::DocumentState;
use crate::types::error::LoadError;
use crate::types::{ChangeHash, ChangeIdx};

/// Hashes of a change's dependencies.
type Deps = SmallVec<[ChangeHash; 4]>;

/// Share in fifths that the hashing thread writes itself of the changes that two threads hash together.
const OWN_FIFTHS: u32 = 2;

/// Maximum number of operations written ahead: their changes stay in the cache.
const TOGETHER: u32 = 1 << 13;

/// Maximum number of bytes written ahead, for long changes.
const MAX_AHEAD_BYTES: usize = 1 << 20;

/// Below this many changes, a second thread does not pay off.
const FEW: usize = 128;
/// Number of rows indexed first. Concurrent peers name each other's latest changes, so one lookup after a load need not
/// index the whole history.
const LATEST: u32 = 256;
/// Up to this many heads are compared linearly before the index is used.
const MANY: usize = 4;

impl DocumentState {
    /// Computes the hashes of all rows on two threads. Requires exclusive access to the state: while one thread waits
    /// for the other it may run any task of the pool, and such a task must not wait for these hashes.
    pub(crate) fn hash_all(&mut self) {
        let mut known = self.history.lock_hashes();
        self.hash_below(self.history.next(), &mut known, &mut Scratch::default(), true);
    }

    /// Compares the hashes stated in files with those of the changes. Blocks no other thread: the hashes are computed
    /// separately from the known ones.
    pub(crate) fn verify(&self) -> Result<(), LoadError> {
        let promised = self.history.lock_hashes().promised();
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
        self.history.lock_hashes().confirm(anew);
        Ok(())
    }

    /// Computes the hashes of all rows before `end`, on two threads if `beside`.
    fn hash_below<'a>(&'a self, end: ChangeIdx, known: &mut Hashes, scratch: &mut Scratch<'a>, beside: bool) {
        if known.done() >= end {
            return;
        }
        let indexed = known.is_index_current() && end.since(known.done()) <= LATEST;
        let mut number = self.history.run_index(known.done());
        while known.done() < end {
            let run = self.history.run(number).expect("every row is in a run");
            let from = known.done();
            let deps = self.deps(known, run, from, scratch);
            let to = end.min(run.end());
            let last = to.before().since(run.first_row);
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

    /// Hashes of the dependencies of row `row` of a run, which must be known.
    fn deps<'a>(
        &'a self,
        known: &mut Hashes,
        run: &ChangeRun,
        row: ChangeIdx,
        scratch: &mut Scratch<'a>,
    ) -> Deps {
        if row > run.first_row {
            return smallvec::smallvec![self.hash_in(known, row.before(), scratch)];
        }
        let mut deps = Deps::new();
        for dep in &run.deps {
            let hash = known.get(*dep).unwrap_or_else(|| {
                let hash = self.hash_in(known, *dep, scratch);
                known.store(*dep, hash);
                hash
            });
            deps.push(hash);
        }
        deps
    }

    /// Hashes a range of rows of a run; `deps` are the dependencies of the first. Calls `each` with the index in the
    /// run and the hash.
    fn hash_run<'a>(
        &'a self,
        number: usize,
        rows: Range<ChangeIdx>,
        mut deps: Deps,
        scratch: &mut Scratch<'a>,
        mut each: impl FnMut(u32, ChangeHash),
    ) {
        scratch.block.forget_keystroke();
        self.each_change(number, rows, |change, singles| {
            let in_block = self.write_one(change, &deps, singles, scratch);
            let hash = if in_block { scratch.block.hash() } else { Change::hash_body(&scratch.body) };
            each(change.row.since(change.run.first_row), hash);
            deps.clear();
            deps.push(hash);
            true
        });
    }

    /// As [`Self::hash_run`], while another thread writes the later changes with placeholders for the hashes of their
    /// dependencies.
    fn hash_beside<'a>(
        &'a self,
        number: usize,
        rows: Range<ChangeIdx>,
        mut deps: Deps,
        scratch: &mut Scratch<'a>,
        mut each: impl FnMut(u32, ChangeHash) + Send,
    ) {
        let run = self.history.run(number).expect("the caller found it");
        let together = (TOGETHER / run.ops_per_change.max(1)).max(FEW as u32);
        let (mut ahead, mut scratch_ahead) = (UnhashedChanges::default(), Scratch::default());
        for from in ChangeIdx::each(rows.clone()).step_by(together as usize) {
            let to = from.plus(together.min(rows.end.since(from)));
            let middle = from.plus((to.since(from) * OWN_FIFTHS).div_ceil(5));
            let (before, mut last) = (std::mem::take(&mut deps), None);
            parallel::join(
                || {
                    self.hash_run(number, from..middle, before, scratch, |n, hash| {
                        each(n, hash);
                        last = Some(hash);
                    });
                },
                || self.write_ahead(number, middle..to, &mut scratch_ahead, &mut ahead),
            );
            let mut last = last.expect("the first is hashed here");
            let mut next = middle;
            for hash in ahead.hashes(last) {
                each(next.since(run.first_row), hash);
                (next, last) = (next.plus(1), hash);
            }
            // Those that did not fit into memory.
            self.hash_run(number, next..to, smallvec::smallvec![last], scratch, |n, hash| {
                each(n, hash);
                last = hash;
            });
            deps.push(last);
        }
    }

    /// Writes changes with placeholder hashes until none is left or they take too much memory.
    fn write_ahead<'a>(
        &'a self,
        number: usize,
        rows: Range<ChangeIdx>,
        scratch: &mut Scratch<'a>,
        out: &mut UnhashedChanges,
    ) {
        out.clear();
        scratch.block.forget_keystroke();
        self.each_change(number, rows, |change, singles| {
            let in_block = self.write_one(change, &[ChangeHash([0; 32])], singles, scratch);
            out.push(if in_block { scratch.block.body() } else { &scratch.body });
            out.len() < MAX_AHEAD_BYTES
        });
    }

    /// The changes of a range of rows of a run, with their single operations if they have one each, until `each`
    /// returns false.
    #[inline]
    fn each_change<'a>(
        &'a self,
        number: usize,
        rows: Range<ChangeIdx>,
        mut each: impl FnMut(&ChangeRef<'_>, &mut Singles<'a>) -> bool,
    ) {
        let run = self.history.run(number).expect("the caller found it");
        let (low, high) = self.log_range(number);
        let start = run.first_counter + rows.start.since(run.first_row) * run.ops_per_change;
        let at = if run.ops_per_change == 0 { low } else { self.log.find(start, low, high) };
        let mut singles = Singles::new(self, at, start);
        for row in ChangeIdx::each(rows) {
            let n = row.since(run.first_row);
            let change =
                ChangeRef { run, row, seq: run.seq + n, start: run.first_counter + n * run.ops_per_change };
            if !each(&change, &mut singles) {
                break;
            }
        }
    }

    /// Writes the body of a change into the block of `scratch` if it fits, otherwise into its `body`. Returns which.
    #[inline]
    fn write_one<'a>(
        &'a self,
        change: &ChangeRef<'_>,
        deps: &[ChangeHash],
        singles: &mut Singles<'_>,
        scratch: &mut Scratch<'a>,
    ) -> bool {
        match change.run.ops_per_change {
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
            self.hash_run(
                self.history.run_index(row),
                near.plus(1)..row.plus(1),
                deps,
                scratch,
                |_, next| {
                    hash = next;
                },
            );
        }
        hash
    }

    /// The hash of a row.
    pub(crate) fn hash(&self, row: ChangeIdx) -> ChangeHash {
        let known = self.history.lock_hashes().get(row);
        known.unwrap_or_else(|| self.hash_with(row, &mut Scratch::default()))
    }

    pub(crate) fn hash_with<'a>(&'a self, row: ChangeIdx, scratch: &mut Scratch<'a>) -> ChangeHash {
        let mut known = self.history.lock_hashes();
        if let Some(hash) = known.get(row) {
            return hash;
        }
        self.hash_below(row.plus(1), &mut known, scratch, false);
        let hash = self.hash_in(&known, row, scratch);
        known.visit(row, hash);
        hash
    }

    /// Calls `each` with the hashes of some rows. Ascending rows are cheapest. `each` must not request other hashes.
    pub(crate) fn each_hash(
        &self,
        rows: impl IntoIterator<Item = ChangeIdx>,
        mut each: impl FnMut(ChangeIdx, ChangeHash),
    ) {
        let (mut known, mut scratch) = (self.history.lock_hashes(), None);
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
        let mut known = self.history.lock_hashes();
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

    /// Adds hashed rows to the index.
    fn index<'a>(&'a self, rows: Range<ChangeIdx>, known: &mut Hashes, scratch: &mut Scratch<'a>) {
        let mut from = rows.start;
        while from < rows.end {
            if let Some(hash) = known.get(from) {
                known.insert_once(from, hash);
                from = from.plus(1);
                continue;
            }
            let number = self.history.run_index(from);
            let run = self.history.run(number).expect("every row is in a run");
            let deps = self.deps(known, run, from, scratch);
            let to = rows.end.min(run.end());
            self.hash_run(number, from..to, deps, scratch, |n, hash| {
                known.insert_once(run.first_row.plus(n), hash);
            });
            from = to;
        }
        known.indexed(rows);
    }

    /// Is a change in the history? Hashes are compared only if the change's sequence number is taken.
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
        Change::from_own(&scratch.body, hash, self.history.at(row).run.ops_per_change, self.limits.shortcuts)
    }

    /// Writes the body of a change; returns its hash.
    fn write_row<'a>(&'a self, row: ChangeIdx, scratch: &mut Scratch<'a>) -> ChangeHash {
        let change = self.history.at(row);
        // Dependencies first: the change's own hash is one step from theirs.
        let deps: Deps = change.deps().iter().map(|row| self.hash_with(*row, scratch)).collect();
        let hash = self.hash_with(row, scratch);
        self.write_change(&change, &deps, scratch);
        hash
    }
}

/// Turns the change in a block into the next one of its run, if only a few bytes differ.
#[inline]
fn again(change: &ChangeRef<'_>, single: &Single<'_>, deps: &[ChangeHash], block: &mut Block) -> bool {
    match (single, deps) {
        (Single::SingleCharOp(keystroke), [dep]) => {
            block.advance_keystroke(keystroke, dep, change.seq, change.start)
        }
        _ => false,
    }
}
