//! Upper bound of the bytes that the columns of a document take in its file.
//!
//! The bound is what the columns took when they were last measured, plus the most that everything since then can add. It
//! is measured again where the bound says that there is no more room and enough came since to pay for that.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::codec::column_costs::ColumnCosts;

/// What a document holds, as far as columns grow with it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    /// See [`crate::codec::limits::Size::rows`].
    pub(crate) rows: u64,
    /// Values of lists.
    pub(crate) values: u64,
    /// Bytes of values, texts, keys and messages.
    pub(crate) bytes: u64,
    pub(crate) changes: u64,
    pub(crate) deps: u64,
}

/// So little is measured whenever that helps.
const CHEAP: u64 = 1 << 13;
/// What no column can be without.
const BASE: u64 = 256;

#[derive(Clone, Copy, Debug, Default)]
struct Measurement {
    held: Held,
    /// Length of the number of an actor then: the numbers of others may have become longer.
    actor: u64,
    columns: u64,
    /// It is of more than there is now.
    high: bool,
}

/// The last measurement.
#[derive(Debug, Default)]
pub(crate) struct Measured(Mutex<Measurement>);

impl Clone for Measured {
    fn clone(&self) -> Self {
        Self(Mutex::new(*self.get()))
    }
}

impl Measured {
    fn get(&self) -> MutexGuard<'_, Measurement> {
        // It is replaced as a whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The most that all columns take.
    pub(crate) fn bound(&self, held: Held, costs: &ColumnCosts) -> u64 {
        let last = self.get();
        let last = if last.actor == costs.actor { *last } else { Measurement::default() };
        let grown = |now: u64, then: u64, cost: u64| now.saturating_sub(then).saturating_mul(cost);
        [
            grown(held.rows, last.held.rows, costs.row),
            grown(held.values, last.held.values, costs.value),
            grown(held.bytes, last.held.bytes, ColumnCosts::BYTE),
            grown(held.changes, last.held.changes, costs.change),
            grown(held.deps, last.held.deps, costs.dep),
        ]
        .into_iter()
        .fold(BASE + last.columns, u64::saturating_add)
    }

    /// Whether measuring is worth it: the bound has grown by as much as half of what is gone through.
    pub(crate) fn is_worth_it(&self, held: Held, costs: &ColumnCosts) -> bool {
        let last = self.get();
        let known = if last.actor == costs.actor { last.columns } else { 0 };
        let high = last.high;
        drop(last);
        let visited = held.rows + held.values + held.changes;
        let grown = self.bound(held, costs).saturating_sub(known + BASE);
        high || visited <= CHEAP || grown >= visited / 2
    }

    /// Less is left of what was measured. To take something out of columns may divide runs as adding it does.
    pub(crate) fn lower(&mut self, held: Held, costs: &ColumnCosts) {
        let last = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let gone = |then: u64, now: u64, cost: u64| then.saturating_sub(now).saturating_mul(cost);
        let more = gone(last.held.rows, held.rows, costs.row)
            .saturating_add(gone(last.held.values, held.values, costs.value))
            .saturating_add(gone(last.held.changes, held.changes, costs.change))
            .saturating_add(gone(last.held.deps, held.deps, costs.dep));
        last.held.rows = last.held.rows.min(held.rows);
        last.held.values = last.held.values.min(held.values);
        last.held.bytes = last.held.bytes.min(held.bytes);
        last.held.changes = last.held.changes.min(held.changes);
        last.held.deps = last.held.deps.min(held.deps);
        last.columns = last.columns.saturating_add(more);
        last.high |= more > 0;
    }

    pub(crate) fn set(&self, held: Held, costs: &ColumnCosts, columns: u64) {
        *self.get() = Measurement { held, actor: costs.actor, columns, high: false };
    }
}
