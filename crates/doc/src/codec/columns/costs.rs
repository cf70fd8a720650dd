//! Upper bounds of the growth of columns by their contents.

/// Maximum growth of all columns together by one item of each kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnCosts {
    /// See [`crate::codec::limits::Size::rows`].
    pub(crate) row: u64,
    /// A value of a list element.
    pub(crate) value: u64,
    pub(crate) change: u64,
    pub(crate) dep: u64,
    /// Length of an actor index.
    pub(crate) actor: u64,
}

impl ColumnCosts {
    /// A byte adds itself as a value, and possibly a length that differs from that of the character before.
    pub(crate) const BYTE: u64 = 2;

    /// Costs in a document with counters up to `max_op` and these numbers of operations and actors.
    pub(crate) fn for_counts(max_op: u64, operations: u64, actors: u64) -> Self {
        // A run has a count, preceded by a zero for nulls, and a value.
        let (run, counter, actor) = (1 + signed(operations), signed(max_op), signed(actors));
        Self {
            // A row may end the runs of all columns. In delta columns it may add three runs: its difference, that of
            // the next row, and the step between the other rows.
            row: 20 * run + 9 * counter + 5 * actor + 17,
            value: 2 * run + 7,
            change: 2 * (9 * run + 2 * counter + actor + 26),
            dep: run + 5,
            actor,
        }
    }
}

/// Length of a signed LEB128 number up to `most`.
fn signed(most: u64) -> u64 {
    u64::from(u64::BITS - most.leading_zeros()) / 7 + 1
}
