//! Hashes of changes: which are stored, and which row each names.

use std::ops::Range;

use hashbrown::HashMap;

use crate::store::memory::cow_vec::CowVec;
use crate::store::memory::shards::Shards;
use crate::types::{ChangeHash, ChangeIdx};

/// In a run of changes, the hash of every change at a multiple of this distance from the first is stored.
const STRIDE: u32 = 32;
/// Number of skipped hashes that are stored besides: concurrent writers name each other's most recent changes.
const LATE: usize = 64;

/// Known hashes. Hashes of local and loaded changes are computed on request.
///
/// A change of a run names only the change before it, so its hash follows from any earlier one of the run. A document
/// of a quarter of a million keystrokes stores thousands of hashes, not all of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hashes {
    /// First row that is not hashed yet.
    done: ChangeIdx,
    /// Stored hashes by row: the first of every run, some others of the run, and the last.
    stored: CowVec<(ChangeIdx, ChangeHash)>,
    /// The most recent skipped hashes, each in the slot that its row determines.
    late: Vec<(ChangeIdx, ChangeHash)>,
    apart: Option<Box<SparseHashes>>,
    /// Last requested hash: callers that request many go from row to row.
    recent: Option<(ChangeIdx, ChangeHash)>,
    /// From hash prefixes to rows: those before `indexed`, those of `latest`, and the early ones.
    index: Shards<(u64, ChangeIdx)>,
    indexed: ChangeIdx,
    /// Indexed rows after `indexed`: empty, or with a gap before it.
    latest: Range<ChangeIdx>,
}

/// Hashes of the rare cases, boxed because many documents have none.
#[derive(Clone, Debug, Default)]
struct SparseHashes {
    /// Hashes of skipped rows, computed again because a distant change names them.
    named: HashMap<ChangeIdx, ChangeHash>,
    /// Hashes of rows after the hashed ones.
    early: HashMap<ChangeIdx, ChangeHash>,
    /// Hashes stated in a file and not verified yet.
    promised: HashMap<ChangeIdx, ChangeHash>,
}

impl Hashes {
    /// First row that is not hashed yet.
    pub(crate) fn done(&self) -> ChangeIdx {
        self.done
    }

    /// Does [`Self::find`] find every hash of the rows before `end`?
    #[inline]
    pub(crate) fn finds_all(&self, end: ChangeIdx) -> bool {
        self.indexed >= end
    }

    /// Is the index in use and complete up to the last hashed row?
    #[inline]
    pub(crate) fn is_index_current(&self) -> bool {
        self.done.get() > 0 && self.next_indexed() == self.done
    }

    /// The hashed rows to index next, when a hash is missing: first the latest `few` rows and later ones, then older
    /// rows, twice as many each time.
    pub(crate) fn to_index(&self, few: u32) -> Option<Range<ChangeIdx>> {
        let before = |end: ChangeIdx, rows: u32| {
            let start = ChangeIdx::from_u32(end.get().saturating_sub(rows));
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

    /// First row after the indexed ones.
    #[inline]
    fn next_indexed(&self) -> ChangeIdx {
        self.indexed.max(self.latest.end)
    }

    /// The hash of a row, if it is stored.
    #[inline]
    pub(crate) fn get(&self, row: ChangeIdx) -> Option<ChangeHash> {
        if row >= self.done {
            return self.apart.as_ref()?.early.get(&row).copied();
        }
        let there = |(found, _): &(ChangeIdx, ChangeHash)| *found == row;
        let late = self.late.get(row.index() % LATE).copied().filter(there);
        let stored = late.or_else(|| self.near(row).filter(there)).map(|(_, hash)| hash);
        stored.or_else(|| self.apart.as_ref()?.named.get(&row).copied())
    }

    /// Stores the hash of a skipped row: other changes may name it, too.
    pub(crate) fn store(&mut self, row: ChangeIdx, hash: ChangeHash) {
        self.apart.get_or_insert_default().named.insert(row, hash);
    }

    /// The last hashed row up to `row` with a stored hash. It is in the run of `row`, because the first hash of every
    /// run is stored.
    #[inline]
    pub(crate) fn near(&self, row: ChangeIdx) -> Option<(ChangeIdx, ChangeHash)> {
        let (mut low, mut high) = (0, self.stored.len());
        for back in 1..=4.min(high) {
            if self.stored[high - back].0 <= row {
                return self.stored.get(high - back).copied();
            }
        }
        // If writers alternate, every hash is stored: then the distance from the last is the difference of the rows.
        if let Some(&(last, _)) = self.stored.last()
            && let Some(found) = (high - 1).checked_sub(last.since(row) as usize).map(|at| self.stored[at])
            && found.0 == row
        {
            return Some(found);
        }
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if self.stored[middle].0 <= row {
                low = middle;
            } else {
                high = middle;
            }
        }
        self.stored.get(low).copied()
    }

    /// As [`Self::near`], with the row requested last.
    pub(crate) fn nearest(&self, row: ChangeIdx) -> Option<(ChangeIdx, ChangeHash)> {
        let near = self.near(row);
        let recent = self.recent.filter(|(recent, _)| *recent <= row && *recent < self.done);
        near.into_iter().chain(recent).max_by_key(|(row, _)| *row)
    }

    /// Stores the last requested hash.
    pub(crate) fn visit(&mut self, row: ChangeIdx, hash: ChangeHash) {
        self.recent = Some((row, hash));
    }

    /// Sets the hash of the first row without one, the `n`-th of its run, when the next row continues the run. Then
    /// this hash need not be stored as the last one.
    #[inline]
    pub(crate) fn pass(&mut self, n: u32, hash: ChangeHash) {
        if n.is_multiple_of(STRIDE) {
            self.push(n, hash);
        } else {
            self.done = self.done.plus(1);
        }
    }

    /// Sets the hash of the first row without one, the `n`-th of its run.
    #[inline]
    pub(crate) fn push(&mut self, n: u32, hash: ChangeHash) {
        let row = self.done;
        let passed = n > 1 && !(n - 1).is_multiple_of(STRIDE);
        if passed && let Some(last) = self.stored.last().copied().filter(|(last, _)| last.plus(1) == row) {
            self.stored.truncate(self.stored.len() - 1);
            self.late.resize(LATE, (ChangeIdx::NONE, last.1));
            self.late[last.0.index() % LATE] = last;
        }
        self.stored.push((row, hash));
        self.done = self.done.plus(1);
    }

    /// Sets the hash of a row, the `n`-th of its run.
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

    /// As [`Self::set`], for a hash stated in a file and not verified.
    pub(crate) fn promise(&mut self, row: ChangeIdx, n: u32, hash: ChangeHash) {
        self.set(row, n, hash);
        self.apart.get_or_insert_default().promised.insert(row, hash);
    }

    /// The hashes stated in files that are not verified yet.
    pub(crate) fn promised(&self) -> Vec<(ChangeIdx, ChangeHash)> {
        let promised = self.apart.iter().flat_map(|apart| &apart.promised);
        promised.map(|(row, hash)| (*row, *hash)).collect()
    }

    /// Replaces the hashes by those computed anew for the same rows, after the stated ones were verified.
    pub(crate) fn confirm(&mut self, computed: Self) {
        if let Some(apart) = &mut self.apart {
            apart.promised.clear();
        }
        if self.done < computed.done {
            (self.done, self.stored, self.late) = (computed.done, computed.stored, computed.late);
        }
    }

    /// Reserves memory for the hashes of `rows` more rows.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.index.reserve(rows, &|(prefix, _)| *prefix);
    }

    fn insert(&mut self, row: ChangeIdx, hash: ChangeHash) {
        self.index.insert(hash.prefix(), (hash.prefix(), row), |(prefix, _)| *prefix);
    }

    /// Adds the hash of row `next_indexed` to the index.
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

    /// As [`Self::index_next`], for the last hashed row.
    pub(crate) fn index_last(&mut self, hash: ChangeHash) {
        self.index_next(self.done.before(), hash);
    }

    /// Adds the hash of a row to the index, unless it is there as an early one.
    pub(crate) fn insert_once(&mut self, row: ChangeIdx, hash: ChangeHash) {
        let early = self.apart.as_mut().and_then(|apart| apart.early.remove(&row));
        if early.is_none() {
            self.insert(row, hash);
        }
    }

    /// Marks the rows from [`Self::to_index`] as indexed.
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

    /// Removes the hash of a row, which must be the last one.
    pub(crate) fn forget(&mut self, row: ChangeIdx, hash: &ChangeHash) {
        self.index.remove(hash.prefix(), |(_, found)| *found == row);
        if let Some(apart) = &mut self.apart {
            apart.early.remove(&row);
            apart.named.remove(&row);
            apart.promised.remove(&row);
        }
        self.recent = self.recent.filter(|(recent, _)| *recent < row);
        self.late.clear();
        while self.stored.last().is_some_and(|(last, _)| *last >= row) {
            self.stored.truncate(self.stored.len() - 1);
        }
        self.done = self.done.min(row);
        self.indexed = self.indexed.min(row);
        self.latest.end = self.latest.end.min(row);
        if self.latest.is_empty() {
            self.latest = Range::default();
        }
    }

    /// The row of a hash among the findable ones, as accepted by `same`.
    pub(crate) fn find(&self, hash: &ChangeHash, same: impl Fn(ChangeIdx) -> bool) -> Option<ChangeIdx> {
        let is_it = |(prefix, row): &(u64, ChangeIdx)| *prefix == hash.prefix() && same(*row);
        self.index.get(hash.prefix(), is_it).map(|(_, row)| *row)
    }
}
