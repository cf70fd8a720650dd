//! How much memory and work an input may ask for.

use crate::error::LimitError;

/// Limits on what one call may read. A few bytes of run-length encoding or DEFLATE can stand for gigabytes; these
/// bound them before anything is allocated.
///
/// Work is counted in steps. A step is one operation that is looked at for itself, one that an operation names as its
/// predecessor or successor, one change of a document, or sixteen of what is cheaper: values without bytes in a row, values
/// in conflict, elements that are passed over, sixteen bytes of a key, a message or an actor that is repeated. What is
/// written as a run and kept as a run is one step however long it is.
/// Each inflated byte pays for [`Self::STEPS_PER_BYTE`]; `steps` says how many more there may be. So bytes cost at most as
/// many steps as they hold bytes when inflated, times a constant, plus a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that one chunk may inflate to, all columns together.
    pub inflated_bytes: u64,
    /// Operations in one change.
    pub operations: u64,
    /// Operations of a document, in its file too. Changes from elsewhere are refused that would go beyond: many small chunks
    /// add up.
    pub total: u64,
    /// Changes in one document chunk or bundle.
    pub changes: u64,
    /// Steps that reading one change may cost beyond what its bytes pay for. A call that reads a file, or that applies
    /// changes, may cost four times as many.
    pub steps: u64,
    /// Bytes of a chunk from which several threads read it side by side: below, waking them takes longer. [`u64::MAX`] keeps
    /// all work on the thread that calls.
    pub parallel_from: u64,
}

impl Default for Limits {
    /// One gibibyte, 2^26 operations at once and 2^27 in all, 2^26 changes, 2^18 steps that no bytes pay for: above any
    /// document known. A step takes a tenth of a microsecond to read and up to two to apply, so a hundred bytes cost some
    /// tenths of a second at most; who reads from strangers sets the limits lower.
    fn default() -> Self {
        Self {
            inflated_bytes: 1 << 30,
            operations: 1 << 26,
            total: 1 << 27,
            changes: 1 << 26,
            steps: 1 << 18,
            parallel_from: 1 << 14,
        }
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
    };

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

/// A call with many changes may cost so many times what one change may.
const FILE: u64 = 4;

/// The work that may still be done for an input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter {
    /// In parts of a step.
    left: u64,
    steps: u64,
    /// What an operation or a change costs.
    row: u64,
}

impl Meter {
    /// For reading one change. Its bytes pay as they are read.
    pub(crate) fn of_change(limits: &Limits) -> Self {
        Self::of(limits.steps)
    }

    /// For reading a file, or for applying changes. Their bytes pay as they are read or applied.
    pub(crate) fn of_file(limits: &Limits) -> Self {
        Self::of(limits.steps.saturating_mul(FILE))
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
            None => Err(LimitError { what: "steps that no bytes pay for", limit: self.steps }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_paid_for_or_refused() {
        let limits = Limits { steps: 2, ..Limits::default() };
        let mut meter = Meter::of_change(&limits);
        meter.pay(1);
        assert_eq!(meter.spend(6, cost::STEP), Ok(()));
        let refused = Err(LimitError { what: "steps that no bytes pay for", limit: 2 });
        assert_eq!(meter.spend(1, cost::GLANCE), refused);
        meter.pay(1);
        assert_eq!(meter.spend(64, cost::GLANCE), Ok(()));
        let mut file = Meter::of_file(&limits);
        assert_eq!(file.spend(8, cost::STEP), Ok(()));
        assert!(file.spend(1, cost::GLANCE).is_err());
        assert!(Meter::of_file(&limits).spend(MAX, MAX).is_err());
        // Long names count.
        let mut file = Meter::of_file(&limits);
        file.set_names(16 * 16);
        assert_eq!(file.rows(3), Ok(()));
        assert_eq!(file.text(&"k".repeat(16 * 32)), Ok(()));
        assert!(file.text("a text of sixteen bytes").is_err());
        let mut unlimited = Meter::UNLIMITED;
        assert_eq!(unlimited.spend(MAX, cost::STEP), Ok(()));
    }
}
