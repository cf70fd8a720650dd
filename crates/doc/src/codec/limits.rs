//! How much memory and work an input may ask for.

use super::column_costs::ColumnCosts;
use super::shortcuts::Shortcuts;
use crate::error::LimitError;

/// Limits on what an input may ask for, and on what a document may become. A few bytes of run-length encoding or DEFLATE can
/// stand for gigabytes; these bound them before anything is allocated. What is written here keeps to the same numbers, so
/// that it can be read again: an edit beyond them is an error.
///
/// Work is counted in steps. A step is one operation that is looked at for itself, one that an operation names as its
/// predecessor or successor, one change of a document, or sixteen of what is cheaper: values without bytes in a row, values
/// in conflict, elements that are passed over, sixteen bytes of a key, a message or an actor that is repeated. What is
/// written as a run and kept as a run is one step however long it is.
/// Each inflated byte pays for [`Self::STEPS_PER_BYTE`]; `steps` says how many more there may be. So bytes cost at most as
/// many steps as they hold bytes when inflated, times a constant, plus a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that one chunk may inflate to, all columns together. Edits stop at seven eighths of it in values, keys and
    /// messages, and at fifteen sixteenths in all that the file of the document inflates to.
    pub inflated_bytes: u64,
    /// Operations in one change.
    pub operations: u64,
    /// Operations of a document. Changes from elsewhere are refused that would go beyond: many small chunks add up.
    pub total: u64,
    /// Changes of a document, and changes that wait for others.
    pub changes: u64,
    /// Steps that one call may cost beyond what bytes pay for: reading a change or a file, or applying changes. What a
    /// document holds may not cost more to read, either.
    pub steps: u64,
    /// Bytes of a chunk from which several threads read it side by side: below, waking them takes longer. [`u64::MAX`] keeps
    /// all work on the thread that calls.
    pub parallel_from: u64,
    /// Which of several ways to the same result is taken; for tests.
    #[doc(hidden)]
    pub shortcuts: Shortcuts,
}

impl Default for Limits {
    /// One gibibyte, 2^25 operations, 2^26 changes, 7 · 2^20 steps that no bytes pay for: above any document known, the
    /// longest of which has nine million operations. So many that are kept each for itself take eight gigabytes, which is what
    /// a machine can be expected to have. docs/documents.md says what the dearest inputs take; who reads from strangers sets
    /// the limits lower.
    fn default() -> Self {
        Self {
            inflated_bytes: 1 << 30,
            operations: 1 << 25,
            total: 1 << 25,
            changes: 1 << 26,
            steps: 7 << 20,
            parallel_from: 1 << 14,
            shortcuts: Shortcuts::DEFAULT,
        }
    }
}

/// What a document holds, as far as reading it again costs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Operations that are looked at for themselves, and names of operations: at most three for each run of operations and
    /// each operation on a key, which may divide a run of others and supersede one; three for each value in a text, where it
    /// is an element for itself; one for each that an operation supersedes besides.
    pub(crate) rows: u64,
    pub(crate) operations: u64,
    pub(crate) changes: u64,
    /// Of values, keys, texts and messages.
    pub(crate) bytes: u64,
    /// Those of them that will be in its file.
    pub(crate) paying: u64,
    /// The length of the longest name of an actor.
    pub(crate) longest: usize,
    /// The most that all columns of its file take.
    pub(crate) columns: u64,
    /// The most that one more operation in a change of its own adds to them, but for bytes.
    pub(crate) operation: u64,
}

impl Size {
    /// Rows of a run of operations, or of an operation on a key.
    pub(crate) const ENTRY: u32 = 3;

    /// Rows of so many.
    pub(crate) fn entries(count: usize) -> u64 {
        count as u64 * u64::from(Self::ENTRY)
    }
}

impl Limits {
    /// How many steps one inflated byte pays for: a value of one byte has one operation, which another may replace.
    pub const STEPS_PER_BYTE: u64 = 4;

    /// For what was checked before.
    pub(crate) const NONE: Self = Self {
        inflated_bytes: MAX,
        operations: MAX,
        total: MAX,
        changes: MAX,
        steps: MAX,
        parallel_from: 1 << 14,
        shortcuts: Shortcuts::DEFAULT,
    };

    /// Whether a document may be so large.
    pub(crate) fn check(&self, size: Size) -> Result<(), LimitError> {
        self.check_total(size.operations)?;
        let at_most = |count: u64, limit: u64, what| {
            if count > limit { Err(LimitError { what, limit }) } else { Ok(()) }
        };
        at_most(size.changes, self.changes, "changes")?;
        at_most(size.bytes, self.values() as u64, "bytes of values")?;
        at_most(size.columns, self.columns(), INFLATED)?;
        at_most(self.work(size), self.paid(size), STEPS)
            .map_err(|_| LimitError { what: STEPS, limit: self.steps })
    }

    /// Whether a document may be twice as large, as far as bytes and work go.
    pub(crate) fn leave_plenty(&self, size: Size) -> bool {
        size.bytes <= self.values() as u64 / 2 && self.work(size).saturating_mul(2) <= self.paid(size)
    }

    /// How many bytes of values, keys, texts and messages a document may have.
    pub(crate) fn values(&self) -> usize {
        usize::try_from(self.inflated_bytes - self.inflated_bytes / 8).unwrap_or(usize::MAX)
    }

    /// How many bytes the columns of a document may have. The rest is for the message of the last change, which comes when
    /// all has been checked.
    fn columns(&self) -> u64 {
        self.inflated_bytes - self.inflated_bytes / 16
    }

    /// How many more operations there may be for sure, each in a change of its own.
    pub(crate) fn spare(&self, size: Size) -> u64 {
        // Three for the operation, two for the change, less than one besides.
        let row = 6 * (cost::STEP + size.longest as u64 / cost::BYTES);
        let work = self.paid(size).saturating_sub(self.work(size)) / row;
        let rest = self.total.saturating_sub(size.operations).min(self.changes.saturating_sub(size.changes));
        // The other half of the room in columns is for bytes.
        let columns = self.columns().saturating_sub(size.columns) / 2 / size.operation;
        work.min(rest).min(columns)
    }

    /// Up to how many bytes of values there is room for sure, beside as many operations as [`Self::spare`] says.
    pub(crate) fn spare_bytes(&self, size: Size) -> u64 {
        let columns = self.columns().saturating_sub(size.columns) / 2 / ColumnCosts::BYTE;
        size.bytes.saturating_add(columns).min(self.values() as u64)
    }

    /// What they leave to a part of a document, so that the whole can have what is added to the part.
    pub(crate) fn for_part(&self, part: Size, whole: Size) -> Self {
        // Each operation is as dear as in the whole.
        let part = Size { longest: whole.longest, ..part };
        let pays = |size: Size| size.paying.saturating_mul(Self::STEPS_PER_BYTE * cost::STEP);
        let more = self.work(whole).saturating_add(pays(part));
        let steps = more.saturating_sub(self.work(part).saturating_add(pays(whole))).div_ceil(cost::STEP);
        let bytes = (whole.bytes.saturating_sub(part.bytes)).saturating_mul(8).div_ceil(7);
        // What is added to the part may divide what only the whole has.
        let columns = whole.columns.saturating_sub(part.columns);
        Self {
            inflated_bytes: self.inflated_bytes.saturating_sub(bytes.max(columns)),
            total: self.total.saturating_sub(whole.operations.saturating_sub(part.operations)),
            changes: self.changes.saturating_sub(whole.changes.saturating_sub(part.changes)),
            steps: self.steps.saturating_sub(steps),
            ..*self
        }
    }

    /// In parts of a step.
    fn work(&self, size: Size) -> u64 {
        let row = cost::STEP + size.longest as u64 / cost::BYTES;
        let rows = size.rows.saturating_add(2 * size.changes);
        rows.saturating_mul(row).saturating_add(size.operations.saturating_mul(cost::GLANCE))
    }

    fn paid(&self, size: Size) -> u64 {
        let steps = size.paying.saturating_mul(Self::STEPS_PER_BYTE).saturating_add(self.steps);
        steps.saturating_mul(cost::STEP)
    }

    /// Whether a change may have this number of operations and bytes.
    pub(crate) fn check_change(&self, operations: u64, bytes: u64) -> Result<(), LimitError> {
        if operations > self.operations {
            Err(LimitError { what: OPERATIONS, limit: self.operations })
        } else if bytes > self.inflated_bytes {
            Err(LimitError { what: INFLATED, limit: self.inflated_bytes })
        } else {
            Ok(())
        }
    }

    /// Whether a document may have so many operations.
    pub(crate) fn check_total(&self, operations: u64) -> Result<(), LimitError> {
        let limit = self.total;
        if operations > limit { Err(LimitError { what: "operations in all", limit }) } else { Ok(()) }
    }
}

const MAX: u64 = u64::MAX;

/// What work costs, in parts of a step.
pub(crate) mod cost {
    /// An operation looked at for itself, or named by one; a change.
    pub(crate) const STEP: u64 = 16;
    /// A value without bytes among others, one in conflict, an element passed over.
    pub(crate) const GLANCE: u64 = 1;
    /// So many bytes of a key, a message or an actor that a run repeats are a glance.
    pub(super) const BYTES: u64 = 16;
}

const STEPS: &str = "steps that no bytes pay for";
/// Of one change.
pub(crate) const OPERATIONS: &str = "operations";
pub(crate) const INFLATED: &str = "inflated bytes";
pub(crate) const WAITING: &str = "changes that wait for others";
pub(crate) const WAITING_BYTES: &str = "bytes of changes that wait for others";

impl LimitError {
    /// Whether the limit is about the columns of a file.
    pub(crate) fn is_of_columns(&self) -> bool {
        self.what == INFLATED
    }

    /// Whether the limit is about the work of one call.
    pub(crate) fn is_of_work(&self) -> bool {
        self.what == STEPS
    }

    /// Whether the limit is about one call or one moment: later there may be room.
    pub(crate) fn is_passing(&self) -> bool {
        self.is_of_work() || [WAITING, WAITING_BYTES].contains(&self.what)
    }
}

/// The work that may still be done for an input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// In parts of a step.
    left: u64,
    steps: u64,
    /// What an operation or a change costs.
    row: u64,
}

impl Budget {
    /// For one call. Bytes pay as they are read or applied.
    pub(crate) fn of_call(limits: &Limits) -> Self {
        Self::of(limits.steps)
    }

    const fn of(steps: u64) -> Self {
        Self { left: steps.saturating_mul(cost::STEP), steps, row: cost::STEP }
    }

    /// For what was checked before.
    pub(crate) const UNLIMITED: Self = Self::of(MAX);

    /// Adds what bytes pay for.
    pub(crate) fn pay(&mut self, bytes: usize) {
        let paid = (bytes as u64).saturating_mul(Limits::STEPS_PER_BYTE * cost::STEP);
        self.left = self.left.saturating_add(paid);
    }

    /// Names of so many bytes may be written out for each operation and change from now on.
    pub(crate) fn set_names(&mut self, longest: usize) {
        self.row = cost::STEP + longest as u64 / cost::BYTES;
    }

    /// Takes the cost of so many operations, or names of operations, or changes, before they are looked at.
    #[inline]
    pub(crate) fn rows(&mut self, count: u64) -> Result<(), LimitError> {
        self.spend(count, self.row)
    }

    /// Takes the cost of a text that a run may repeat.
    #[inline]
    pub(crate) fn text(&mut self, text: &str) -> Result<(), LimitError> {
        self.spend(text.len() as u64 / cost::BYTES, cost::GLANCE)
    }

    /// Takes the cost of `count` things that are done, or all that is left.
    pub(crate) fn burn(&mut self, count: u64, cost: u64) {
        self.left = self.left.saturating_sub(count.saturating_mul(cost));
    }

    /// Takes the cost of `count` things, before they are done.
    #[inline]
    pub(crate) fn spend(&mut self, count: u64, cost: u64) -> Result<(), LimitError> {
        match self.left.checked_sub(count.saturating_mul(cost)) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(LimitError { what: STEPS, limit: self.steps }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_paid_for_or_refused() {
        let limits = Limits { steps: 2, ..Limits::default() };
        let mut budget = Budget::of_call(&limits);
        budget.pay(1);
        assert_eq!(budget.spend(6, cost::STEP), Ok(()));
        let refused = Err(LimitError { what: "steps that no bytes pay for", limit: 2 });
        assert_eq!(budget.spend(1, cost::GLANCE), refused);
        budget.pay(1);
        assert_eq!(budget.spend(64, cost::GLANCE), Ok(()));
        assert!(Budget::of_call(&limits).spend(MAX, MAX).is_err());
        // Long names count.
        let mut file = Budget::of_call(&Limits { steps: 8, ..limits });
        file.set_names(16 * 16);
        assert_eq!(file.rows(3), Ok(()));
        assert_eq!(file.text(&"k".repeat(16 * 32)), Ok(()));
        assert!(file.text("a text of sixteen bytes").is_err());
        let mut unlimited = Budget::UNLIMITED;
        assert_eq!(unlimited.spend(MAX, cost::STEP), Ok(()));
    }
}
