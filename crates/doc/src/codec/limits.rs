//! Limits on the memory and work that an input may cause.

use super::shortcuts::Shortcuts;
use crate::codec::columns::costs::ColumnCosts;
use crate::types::error::LimitError;

/// Limits on the cost of an input and on the size of a document. A few bytes of run-length encoding or DEFLATE can
/// stand for gigabytes; these limits apply before anything is allocated. Output keeps to the same limits, so that it
/// can be read again: an edit beyond them is an error.
///
/// Work is counted in steps. A step is one operation that is processed individually, one predecessor or successor that
/// an operation names, one change of a document, or sixteen cheaper units: values without bytes in a row, values in
/// conflict, skipped elements, or sixteen bytes of a repeated key, message or actor. A run that is stored as a run is
/// one step of any length.
/// Each inflated byte pays for [`Self::STEPS_PER_BYTE`]; `steps` is the number of further steps. The cost of an input
/// is therefore at most proportional to its inflated size, plus a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Inflated size of one chunk, all columns together. Edits are limited to seven eighths of it in values, keys and
    /// messages, and to fifteen sixteenths in the inflated size of the document's file.
    pub inflated_bytes: u64,
    /// Operations per change.
    pub operations: u64,
    /// Operations of a document. Remote changes that would exceed it are refused: many small chunks add up.
    pub total: u64,
    /// Changes of a document, and queued changes.
    pub changes: u64,
    /// Steps that one call may cost beyond those paid for by bytes: reading a change or a file, or applying changes.
    /// Reading a saved document must stay within it, too.
    pub steps: u64,
    /// Size in bytes from which several threads read a chunk in parallel: below it, waking the threads takes longer.
    /// [`u64::MAX`] keeps all work on the calling thread.
    pub parallel_from: u64,
    /// Which of several code paths with the same result is used; for tests.
    #[doc(hidden)]
    pub shortcuts: Shortcuts,
}

impl Default for Limits {
    /// One gibibyte, 2^25 operations, 2^26 changes, and 7 · 2^20 steps beyond those paid for: above any known document,
    /// the longest of which has nine million operations. The maximum number of individually stored operations takes
    /// eight gigabytes, which a machine can be expected to have. docs/documents.md lists the cost of the most expensive
    /// inputs; set lower limits for untrusted input.
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

/// Size of a document, as far as it determines the cost of reading it again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Individually processed operations, and references to operations: at most three for each run of operations and
    /// each operation on a key, which may divide a run and supersede one operation; three for each value in a text,
    /// which is an element of its own; one for each further predecessor of an operation.
    pub(crate) rows: u64,
    pub(crate) operations: u64,
    pub(crate) changes: u64,
    /// Bytes of values, keys, texts and messages.
    pub(crate) bytes: u64,
    /// Bytes of these that will be in the file.
    pub(crate) paying: u64,
    /// Length of the longest actor id.
    pub(crate) longest: usize,
    /// Upper bound of the size of all columns of the file.
    pub(crate) columns: u64,
    /// Maximum growth of the columns by one more operation in a change of its own, without its bytes.
    pub(crate) operation: u64,
}

impl Size {
    /// Rows of a run of operations, or of an operation on a key.
    pub(crate) const ENTRY: u32 = 3;

    /// Rows of `count` entries.
    pub(crate) fn entries(count: usize) -> u64 {
        count as u64 * u64::from(Self::ENTRY)
    }
}

impl Limits {
    /// Number of steps that one inflated byte pays for: a value of one byte has one operation, which another may
    /// replace.
    pub const STEPS_PER_BYTE: u64 = 4;

    /// For input that was checked before.
    pub(crate) const NONE: Self = Self {
        inflated_bytes: MAX,
        operations: MAX,
        total: MAX,
        changes: MAX,
        steps: MAX,
        parallel_from: 1 << 14,
        shortcuts: Shortcuts::DEFAULT,
    };

    /// Checks a document of this size.
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

    /// Is there room for a document of twice the size, in bytes and work?
    pub(crate) fn leave_plenty(&self, size: Size) -> bool {
        size.bytes <= self.values() as u64 / 2 && self.work(size).saturating_mul(2) <= self.paid(size)
    }

    /// Maximum number of bytes of values, keys, texts and messages of a document.
    pub(crate) fn values(&self) -> usize {
        usize::try_from(self.inflated_bytes - self.inflated_bytes / 8).unwrap_or(usize::MAX)
    }

    /// Maximum size of a document's columns. The rest is for the message of the last change, which is added after all
    /// checks.
    fn columns(&self) -> u64 {
        self.inflated_bytes - self.inflated_bytes / 16
    }

    /// Number of further operations, each in a change of its own, that certainly fit.
    pub(crate) fn spare(&self, size: Size) -> u64 {
        // Three for the operation, two for the change, less than one for the rest.
        let row = 6 * (cost::STEP + size.longest as u64 / cost::BYTES);
        let work = self.paid(size).saturating_sub(self.work(size)) / row;
        let rest = self.total.saturating_sub(size.operations).min(self.changes.saturating_sub(size.changes));
        // The other half of the remaining column size is for bytes.
        let columns = self.columns().saturating_sub(size.columns) / 2 / size.operation;
        work.min(rest).min(columns)
    }

    /// Total bytes of values that certainly fit, together with the operations from [`Self::spare`].
    pub(crate) fn spare_bytes(&self, size: Size) -> u64 {
        let columns = self.columns().saturating_sub(size.columns) / 2 / ColumnCosts::BYTE;
        size.bytes.saturating_add(columns).min(self.values() as u64)
    }

    /// Limits of a part of a document whose next change the whole document will apply.
    ///
    /// The change adds at most its cost to the columns of both, so it may cost as much as the whole has room for.
    /// `part.columns` must stay a bound that only grows by costs: measuring the part again would give room that the
    /// whole does not have.
    pub(crate) fn for_part(&self, part: Size, whole: Size) -> Self {
        // Each operation costs as much as in the whole.
        let part = Size { longest: whole.longest, ..part };
        let pays = |size: Size| size.paying.saturating_mul(Self::STEPS_PER_BYTE * cost::STEP);
        let more = self.work(whole).saturating_add(pays(part));
        let steps = more.saturating_sub(self.work(part).saturating_add(pays(whole))).div_ceil(cost::STEP);
        let bytes = (whole.bytes.saturating_sub(part.bytes)).saturating_mul(8).div_ceil(7);
        // In the whole, the change may start runs that the part continues, and its actor indexes may be three bytes
        // longer, which is less than a quarter of a row.
        let room = self.columns().saturating_sub(whole.columns.saturating_add(whole.operation)) / 4 * 3;
        let columns = part.columns.saturating_add(room);
        Self {
            // One sixteenth more, which the method `columns` subtracts again.
            inflated_bytes: self
                .inflated_bytes
                .saturating_sub(bytes)
                .min(columns.saturating_add(columns / 16)),
            total: self.total.saturating_sub(whole.operations.saturating_sub(part.operations)),
            changes: self.changes.saturating_sub(whole.changes.saturating_sub(part.changes)),
            steps: self.steps.saturating_sub(steps),
            ..*self
        }
    }

    /// In fractions of a step.
    fn work(&self, size: Size) -> u64 {
        let row = cost::STEP + size.longest as u64 / cost::BYTES;
        let rows = size.rows.saturating_add(2 * size.changes);
        rows.saturating_mul(row).saturating_add(size.operations.saturating_mul(cost::GLANCE))
    }

    fn paid(&self, size: Size) -> u64 {
        let steps = size.paying.saturating_mul(Self::STEPS_PER_BYTE).saturating_add(self.steps);
        steps.saturating_mul(cost::STEP)
    }

    /// Checks a change with this number of operations and bytes.
    pub(crate) fn check_change(&self, operations: u64, bytes: u64) -> Result<(), LimitError> {
        if operations > self.operations {
            Err(LimitError { what: OPERATIONS, limit: self.operations })
        } else if bytes > self.inflated_bytes {
            Err(LimitError { what: INFLATED, limit: self.inflated_bytes })
        } else {
            Ok(())
        }
    }

    /// Checks a document with this number of operations.
    pub(crate) fn check_total(&self, operations: u64) -> Result<(), LimitError> {
        let limit = self.total;
        if operations > limit { Err(LimitError { what: "operations in total", limit }) } else { Ok(()) }
    }
}

const MAX: u64 = u64::MAX;

/// Costs of work, in fractions of a step.
pub(crate) mod cost {
    /// An individually processed or named operation; a change.
    pub(crate) const STEP: u64 = 16;
    /// A value without bytes among others, a value in conflict, or a skipped element.
    pub(crate) const GLANCE: u64 = 1;
    /// Number of bytes of a repeated key, message or actor that cost one glance.
    pub(super) const BYTES: u64 = 16;
}

const STEPS: &str = "steps not covered by its bytes";
/// Operations of one change.
pub(crate) const OPERATIONS: &str = "operations";
pub(crate) const INFLATED: &str = "inflated bytes";
pub(crate) const WAITING: &str = "changes waiting for dependencies";
pub(crate) const WAITING_BYTES: &str = "bytes of changes waiting for dependencies";

impl LimitError {
    /// Is it a limit of the columns of a file?
    pub(crate) fn is_of_columns(&self) -> bool {
        self.what == INFLATED
    }

    /// Is it a limit of the work of one call?
    pub(crate) fn is_of_work(&self) -> bool {
        self.what == STEPS
    }

    /// Is it a limit of one call or a temporary state? A later attempt may succeed.
    pub(crate) fn is_passing(&self) -> bool {
        self.is_of_work() || [WAITING, WAITING_BYTES].contains(&self.what)
    }
}

/// Remaining work that an input may cause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// In fractions of a step.
    left: u64,
    steps: u64,
    /// Cost of an operation or a change.
    row: u64,
}

impl Budget {
    /// Budget of one call. Bytes pay when they are read or applied.
    pub(crate) fn of_call(limits: &Limits) -> Self {
        Self::from_steps(limits.steps)
    }

    const fn from_steps(steps: u64) -> Self {
        Self { left: steps.saturating_mul(cost::STEP), steps, row: cost::STEP }
    }

    /// For input that was checked before.
    pub(crate) const UNLIMITED: Self = Self::from_steps(MAX);

    /// Adds what bytes pay for.
    pub(crate) fn pay(&mut self, bytes: usize) {
        let paid = (bytes as u64).saturating_mul(Limits::STEPS_PER_BYTE * cost::STEP);
        self.left = self.left.saturating_add(paid);
    }

    /// From now on, each operation and change may repeat an actor id of `longest` bytes.
    pub(crate) fn set_names(&mut self, longest: usize) {
        self.row = cost::STEP + longest as u64 / cost::BYTES;
    }

    /// Charges for operations, references or changes before they are processed.
    #[inline]
    pub(crate) fn rows(&mut self, count: u64) -> Result<(), LimitError> {
        self.spend(count, self.row)
    }

    /// Charges for a text that a run may repeat.
    #[inline]
    pub(crate) fn text(&mut self, text: &str) -> Result<(), LimitError> {
        self.spend(text.len() as u64 / cost::BYTES, cost::GLANCE)
    }

    /// Charges for `count` completed units, at most what is left.
    pub(crate) fn charge_completed(&mut self, count: u64, cost: u64) {
        self.left = self.left.saturating_sub(count.saturating_mul(cost));
    }

    /// Charges for `count` units before they are processed.
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
    fn unpaid_work_is_refused() {
        let limits = Limits { steps: 2, ..Limits::default() };
        let mut budget = Budget::of_call(&limits);
        budget.pay(1);
        assert_eq!(budget.spend(6, cost::STEP), Ok(()));
        let refused = Err(LimitError { what: "steps not covered by its bytes", limit: 2 });
        assert_eq!(budget.spend(1, cost::GLANCE), refused);
        budget.pay(1);
        assert_eq!(budget.spend(64, cost::GLANCE), Ok(()));
        assert!(Budget::of_call(&limits).spend(MAX, MAX).is_err());
        // Long actor ids cost more.
        let mut file = Budget::of_call(&Limits { steps: 8, ..limits });
        file.set_names(16 * 16);
        assert_eq!(file.rows(3), Ok(()));
        assert_eq!(file.text(&"k".repeat(16 * 32)), Ok(()));
        assert!(file.text("a text of sixteen bytes").is_err());
        let mut unlimited = Budget::UNLIMITED;
        assert_eq!(unlimited.spend(MAX, cost::STEP), Ok(()));
    }
}
