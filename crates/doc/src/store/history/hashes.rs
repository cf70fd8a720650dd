//! Hashes of changes: which are kept, and which rows they name.

use std::ops::Range;

use hashbrown::HashMap;

use crate::store::memory::cow_vec::CowVec;
use crate::store::memory::shards::Shards;
use crate::types::{ChangeHash, ChangeIdx};

/// In a run of changes the hash of each that is a multiple of this away from the first is kept.
const STRIDE: u32 = 32;
/// Of the hashes passed over, so many are kept besides: people who write at the same time name each other's changes of
/// a moment ago.
const LATE: usize = 64;

/// Hashes that are known. Those of local and loaded changes are computed when somebody asks.
///
/// A change of a run names only the one before, so its hash follows from any earlier one of the run: a document of a
/// quarter of a million keystrokes keeps thousands of hashes, not all of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hashes {
    /// The first row that was not hashed.
    done: ChangeIdx,
    /// Of these, by row: the first of every run, some of its others, and the last.
    kept: CowVec<(ChangeIdx, ChangeHash)>,
    /// The last of the others, each at the place that its row gives it.
    late: Vec<(ChangeIdx, ChangeHash)>,
    apart: Option<Box<Apart>>,
    /// The last one that was asked for: callers that ask for many go from row to row.
    recent: Option<(ChangeIdx, ChangeHash)>,
    /// From the prefixes of hashes to rows: for those before `indexed`, those of `latest`, and the early ones.
    index: Shards<(u64, ChangeIdx)>,
    indexed: ChangeIdx,
    /// Rows behind `indexed` that are in the index. Empty, or with a gap before it.
    latest: Range<ChangeIdx>,
}

/// Hashes that lie apart. Many documents have none: they are not to be larger for it.
#[derive(Clone, Debug, Default)]
struct Apart {
    /// Of hashed rows that were passed over: computed again because a change far off names them.
    named: HashMap<ChangeIdx, ChangeHash>,
    /// Of rows after the hashed ones.
    early: HashMap<ChangeIdx, ChangeHash>,
    /// Hashes that a file names and that are not verified yet.
    promised: HashMap<ChangeIdx, ChangeHash>,
}

impl Hashes {
    /// The first row that was not hashed.
    pub(crate) fn done(&self) -> ChangeIdx {
        self.done
    }

    /// Whether [`Self::find`] finds every hash of the rows before `end`.
    #[inline]
    pub(crate) fn finds_all(&self, end: ChangeIdx) -> bool {
        self.indexed >= end
    }

    /// Whether the index is in use and reaches to the last hashed row.
    #[inline]
    pub(crate) fn is_index_current(&self) -> bool {
        self.done.get() > 0 && self.next_indexed() == self.done
    }

    /// The hashed rows to put into the index next, when a hash is not in it: first the latest `few` rows and those that came
    /// since, then older ones, twice as many each time.
    pub(crate) fn to_index(&self, few: u32) -> Option<Range<ChangeIdx>> {
        let before = |end: ChangeIdx, rows: u32| {
            let start = ChangeIdx::of(end.get().saturating_sub(rows));
            start.max(self.indexed)..end
        };
        let Range { start, end } = self.latest;
        let rows = if self.latest.is_empty() {
            before(self.done, few)
        } else if end < self.done {
            end..self.done
        } else {
            before(start, few.max(end.since(start)))
        };
        (!rows.is_empty()).then_some(rows)
    }

    /// The first row behind those in the index.
    #[inline]
    fn next_indexed(&self) -> ChangeIdx {
        self.indexed.max(self.latest.end)
    }

    /// The hash of a row, if it is kept.
    #[inline]
    pub(crate) fn get(&self, row: ChangeIdx) -> Option<ChangeHash> {
        if row >= self.done {
            return self.apart.as_ref()?.early.get(&row).copied();
        }
        let there = |(found, _): &(ChangeIdx, ChangeHash)| *found == row;
        let late = self.late.get(row.place() % LATE).copied().filter(there);
        let kept = late.or_else(|| self.near(row).filter(there)).map(|(_, hash)| hash);
        kept.or_else(|| self.apart.as_ref()?.named.get(&row).copied())
    }

    /// Keeps the hash of a row that was passed over: others may name it, too.
    pub(crate) fn keep(&mut self, row: ChangeIdx, hash: ChangeHash) {
        self.apart.get_or_insert_default().named.insert(row, hash);
    }

    /// The last of the hashed rows up to `row` whose hash is kept. Its run is that of `row`, because the first of every
    /// run is kept.
    #[inline]
    pub(crate) fn near(&self, row: ChangeIdx) -> Option<(ChangeIdx, ChangeHash)> {
        let (mut low, mut high) = (0, self.kept.len());
        for back in 1..=4.min(high) {
            if self.kept[high - back].0 <= row {
                return self.kept.get(high - back).copied();
            }
        }
        // Where people write in turn all are kept: this one is as far from the last as its row is.
        if let Some(&(last, _)) = self.kept.last()
            && let Some(found) = (high - 1).checked_sub(last.since(row) as usize).map(|at| self.kept[at])
            && found.0 == row
        {
            return Some(found);
        }
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if self.kept[middle].0 <= row {
                low = middle;
            } else {
                high = middle;
            }
        }
        self.kept.get(low).copied()
    }

    /// As [`Self::near`], with the row asked for last.
    pub(crate) fn nearest(&self, row: ChangeIdx) -> Option<(ChangeIdx, ChangeHash)> {
        let near = self.near(row);
        let recent = self.recent.filter(|(recent, _)| *recent <= row && *recent < self.done);
        near.into_iter().chain(recent).max_by_key(|(row, _)| *row)
    }

    /// Remembers what was asked for last.
    pub(crate) fn visit(&mut self, row: ChangeIdx, hash: ChangeHash) {
        self.recent = Some((row, hash));
    }

    /// Learns the hash of the first row that has none, the `n`-th of its run, when the next will be that of the next
    /// change of the run: then this one need not be kept for its own sake.
    #[inline]
    pub(crate) fn pass(&mut self, n: u32, hash: ChangeHash) {
        if n.is_multiple_of(STRIDE) {
            self.push(n, hash);
        } else {
            self.done = self.done.plus(1);
        }
    }

    /// Learns the hash of the first row that has none, the `n`-th of its run.
    #[inline]
    pub(crate) fn push(&mut self, n: u32, hash: ChangeHash) {
        let row = self.done;
        let passed = n > 1 && !(n - 1).is_multiple_of(STRIDE);
        if passed && let Some(last) = self.kept.last().copied().filter(|(last, _)| last.plus(1) == row) {
            self.kept.truncate(self.kept.len() - 1);
            self.late.resize(LATE, (ChangeIdx::NONE, last.1));
            self.late[last.0.place() % LATE] = last;
        }
        self.kept.push((row, hash));
        self.done = self.done.plus(1);
    }

    /// Learns the hash of a row, the `n`-th of its run.
    pub(crate) fn set(&mut self, row: ChangeIdx, n: u32, hash: ChangeHash) {
        if row == self.done {
            self.push(n, hash);
            if self.next_indexed() == row {
                self.index_next(row, hash);
            }
        } else if self.get(row).is_none() {
            self.apart.get_or_insert_default().early.insert(row, hash);
            self.insert(row, hash);
        }
    }

    /// As [`Self::set`], on the word of a file.
    pub(crate) fn promise(&mut self, row: ChangeIdx, n: u32, hash: ChangeHash) {
        self.set(row, n, hash);
        self.apart.get_or_insert_default().promised.insert(row, hash);
    }

    /// What files said that was not compared.
    pub(crate) fn promised(&self) -> Vec<(ChangeIdx, ChangeHash)> {
        let promised = self.apart.iter().flat_map(|apart| &apart.promised);
        promised.map(|(row, hash)| (*row, *hash)).collect()
    }

    /// Takes over the hashes of the same rows, all computed anew: what files said is true.
    pub(crate) fn confirm(&mut self, computed: Self) {
        if let Some(apart) = &mut self.apart {
            apart.promised.clear();
        }
        if self.done < computed.done {
            (self.done, self.kept, self.late) = (computed.done, computed.kept, computed.late);
        }
    }

    /// Makes room for the hashes of `rows` more rows.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.index.reserve(rows, &|(prefix, _)| *prefix);
    }

    fn insert(&mut self, row: ChangeIdx, hash: ChangeHash) {
        self.index.insert(hash.prefix(), (hash.prefix(), row), |(prefix, _)| *prefix);
    }

    /// Puts the hash of row `next_indexed` into the index.
    #[inline]
    fn index_next(&mut self, row: ChangeIdx, hash: ChangeHash) {
        debug_assert_eq!(row, self.next_indexed());
        self.insert_once(row, hash);
        if self.latest.is_empty() {
            self.indexed = row.plus(1);
        } else {
            self.latest.end = row.plus(1);
        }
    }

    /// As [`Self::index_next`], for the last row that was hashed.
    pub(crate) fn index_last(&mut self, hash: ChangeHash) {
        self.index_next(self.done.before(), hash);
    }

    /// Puts the hash of a row into the index, unless it is there as an early one.
    pub(crate) fn insert_once(&mut self, row: ChangeIdx, hash: ChangeHash) {
        let early = self.apart.as_mut().and_then(|apart| apart.early.remove(&row));
        if early.is_none() {
            self.insert(row, hash);
        }
    }

    /// Learns that all hashes of the rows that [`Self::to_index`] gave are in the index.
    pub(crate) fn indexed(&mut self, rows: Range<ChangeIdx>) {
        if self.latest.is_empty() {
            self.latest = rows;
        } else {
            self.latest = self.latest.start.min(rows.start)..self.latest.end.max(rows.end);
        }
        if self.latest.start == self.indexed {
            self.indexed = self.latest.end;
            self.latest = Range::default();
        }
    }

    /// Forgets the hash of a row, the last one.
    pub(crate) fn forget(&mut self, row: ChangeIdx, hash: &ChangeHash) {
        self.index.remove(hash.prefix(), |(_, found)| *found == row);
        if let Some(apart) = &mut self.apart {
            apart.early.remove(&row);
            apart.named.remove(&row);
            apart.promised.remove(&row);
        }
        self.recent = self.recent.filter(|(recent, _)| *recent < row);
        self.late.clear();
        while self.kept.last().is_some_and(|(last, _)| *last >= row) {
            self.kept.truncate(self.kept.len() - 1);
        }
        self.done = self.done.min(row);
        self.indexed = self.indexed.min(row);
        self.latest.end = self.latest.end.min(row);
        if self.latest.is_empty() {
            self.latest = Range::default();
        }
    }

    /// The row of a hash among those that are found: the one that `same` agrees to.
    pub(crate) fn find(&self, hash: &ChangeHash, same: impl Fn(ChangeIdx) -> bool) -> Option<ChangeIdx> {
        let is_it = |(prefix, row): &(u64, ChangeIdx)| *prefix == hash.prefix() && same(*row);
        self.index.get(hash.prefix(), is_it).map(|(_, row)| *row)
    }
}
