//! The most that columns grow by what is written into them.

/// The most that one of each adds to all columns together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnCosts {
    /// See [`super::limits::Size::rows`].
    pub(crate) row: u64,
    /// A value of a list.
    pub(crate) value: u64,
    pub(crate) change: u64,
    pub(crate) dep: u64,
    /// Length of the number of an actor.
    pub(crate) actor: u64,
}

impl ColumnCosts {
    /// A byte has its length as a value, and that of a character may differ from the one before.
    pub(crate) const BYTE: u64 = 2;

    /// Costs in a document with counters up to `max_op` and these numbers of operations and actors.
    pub(crate) fn of(max_op: u64, operations: u64, actors: u64) -> Self {
        // A run in a column has a count, which a run of nulls has behind a zero, and a value.
        let (run, counter, actor) = (1 + signed(operations), signed(max_op), signed(actors));
        Self {
            // Each row may end the runs of all columns. Those of differences may have three runs for it: the first
            // difference, that of the row behind, and the step between other rows.
            row: 20 * run + 9 * counter + 5 * actor + 17,
            value: 2 * run + 7,
            change: 2 * (9 * run + 2 * counter + actor + 26),
            dep: run + 5,
            actor,
        }
    }
}

/// Bytes of a LEB128 number with a sign up to `most`.
fn signed(most: u64) -> u64 {
    u64::from(u64::BITS - most.leading_zeros()) / 7 + 1
}
