//! Upper bound of the bytes that the columns of a document take in its file.
//!
//! The bound is the size at the last measurement plus the most that later operations can add. The columns are measured
//! again when the bound exceeds the limit and enough was added since to pay for the measurement.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::codec::columns::costs::ColumnCosts;

/// The contents that column sizes depend on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DocumentSizes {
    /// See [`crate::codec::limits::Size::rows`].
    pub(crate) rows: u64,
    /// Values of list elements.
    pub(crate) values: u64,
    /// Bytes of values, texts, keys and messages.
    pub(crate) bytes: u64,
    pub(crate) changes: u64,
    pub(crate) deps: u64,
}

/// Below this many bytes, a measurement always pays off.
const CHEAP: u64 = 1 << 13;
/// Minimum size of all columns.
const BASE: u64 = 256;

#[derive(Clone, Copy, Debug, Default)]
struct Measurement {
    measured: DocumentSizes,
    /// Length of the actor number at the time of the measurement; later numbers may be longer.
    actor: u64,
    columns: u64,
    /// The measurement included contents that were removed since.
    high: bool,
    /// The measurement is never replaced.
    fixed: bool,
}

/// The last measurement.
#[derive(Debug, Default)]
pub(crate) struct SizeBound(Mutex<Measurement>);

impl Clone for SizeBound {
    fn clone(&self) -> Self {
        Self(Mutex::new(*self.get()))
    }
}

impl SizeBound {
    fn get(&self) -> MutexGuard<'_, Measurement> {
        // The value is replaced as a whole, so a poisoned lock holds a valid one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Upper bound of the size of all columns.
    pub(crate) fn bound(&self, sizes: DocumentSizes, costs: &ColumnCosts) -> u64 {
        let last = self.get();
        let last = if last.actor == costs.actor { *last } else { Measurement::default() };
        let grown = |now: u64, then: u64, cost: u64| now.saturating_sub(then).saturating_mul(cost);
        [
            grown(sizes.rows, last.measured.rows, costs.row),
            grown(sizes.values, last.measured.values, costs.value),
            grown(sizes.bytes, last.measured.bytes, ColumnCosts::BYTE),
            grown(sizes.changes, last.measured.changes, costs.change),
            grown(sizes.deps, last.measured.deps, costs.dep),
        ]
        .into_iter()
        .fold(BASE + last.columns, u64::saturating_add)
    }

    /// Is a measurement worth its cost? The bound must have grown by at least half of what is to be measured.
    pub(crate) fn is_worth_it(&self, sizes: DocumentSizes, costs: &ColumnCosts) -> bool {
        let last = self.get();
        let known = if last.actor == costs.actor { last.columns } else { 0 };
        let (high, fixed) = (last.high, last.fixed);
        drop(last);
        if fixed {
            return false;
        }
        let visited = sizes.rows + sizes.values + sizes.changes;
        let grown = self.bound(sizes, costs).saturating_sub(known + BASE);
        high || visited <= CHEAP || grown >= visited / 2
    }

    /// Contents were removed. Removing from a column may divide runs, as adding may.
    pub(crate) fn lower(&mut self, sizes: DocumentSizes, costs: &ColumnCosts) {
        let last = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let gone = |then: u64, now: u64, cost: u64| then.saturating_sub(now).saturating_mul(cost);
        let more = gone(last.measured.rows, sizes.rows, costs.row)
            .saturating_add(gone(last.measured.values, sizes.values, costs.value))
            .saturating_add(gone(last.measured.changes, sizes.changes, costs.change))
            .saturating_add(gone(last.measured.deps, sizes.deps, costs.dep));
        last.measured.rows = last.measured.rows.min(sizes.rows);
        last.measured.values = last.measured.values.min(sizes.values);
        last.measured.bytes = last.measured.bytes.min(sizes.bytes);
        last.measured.changes = last.measured.changes.min(sizes.changes);
        last.measured.deps = last.measured.deps.min(sizes.deps);
        last.columns = last.columns.saturating_add(more);
        last.high |= more > 0;
    }

    pub(crate) fn set(&self, sizes: DocumentSizes, costs: &ColumnCosts, columns: u64) {
        *self.get() = Measurement { measured: sizes, actor: costs.actor, columns, high: false, fixed: false };
    }

    /// Fixes the measurement: from now on the bound grows by costs only.
    pub(crate) fn fix(&mut self) {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).fixed = true;
    }
}
