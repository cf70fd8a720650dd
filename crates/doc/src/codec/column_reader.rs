//! Cursors that know their column: every fault they meet names it.

use super::boolean::BoolCursor;
use super::column::Fault;
use super::delta::{DeltaCursor, Ramp};
use super::rle::{Cell, RleCursor};
use crate::error::Rule;

/// A cursor with the name of its column. A column that is not there reads as nulls for ever.
#[derive(Debug)]
pub(super) struct ColumnReader<C> {
    spec: u32,
    absent: bool,
    cursor: C,
}

impl<'a, T: Cell<'a>> ColumnReader<RleCursor<'a, T>> {
    pub(super) fn rle(spec: u32, bytes: &'a [u8]) -> Self {
        Self { spec, absent: bytes.is_empty(), cursor: RleCursor::new(bytes) }
    }

    #[inline]
    pub(super) fn skip(&mut self, rows: u64) {
        if !self.absent {
            self.cursor.skip(rows);
        }
    }
}

impl<'a> ColumnReader<DeltaCursor<'a>> {
    pub(super) fn delta(spec: u32, bytes: &'a [u8]) -> Self {
        Self { spec, absent: bytes.is_empty(), cursor: DeltaCursor::new(bytes) }
    }

    #[inline]
    pub(super) fn skip(&mut self, rows: u64) {
        if let Ok(Some((ramp, _))) = self.cursor.peek() {
            self.cursor.skip(ramp, rows);
        }
    }
}

impl<'a> ColumnReader<BoolCursor<'a>> {
    pub(super) fn flag(spec: u32, bytes: &'a [u8]) -> Self {
        Self { spec, absent: bytes.is_empty(), cursor: BoolCursor::new(bytes) }
    }

    #[inline]
    pub(super) fn skip(&mut self, rows: u64) {
        if !self.absent {
            self.cursor.skip(rows);
        }
    }
}

/// A column of numbers.
pub(super) type Numbers<'a> = ColumnReader<RleCursor<'a, u64>>;
/// A column of texts.
pub(super) type Texts<'a> = ColumnReader<RleCursor<'a, &'a str>>;
/// A column of counters.
pub(super) type Deltas<'a> = ColumnReader<DeltaCursor<'a>>;
/// A column of flags.
pub(super) type Flags<'a> = ColumnReader<BoolCursor<'a>>;

/// Rows in a peeked run, of a column that is not there.
const EVER: u64 = u64::MAX;

macro_rules! column_reads {
    ($cursor:ty, $peek:ty, $item:ty, $null:expr, $whole:expr) => {
        impl<'a> ColumnReader<$cursor> {
            #[inline]
            pub(super) fn next(&mut self) -> Result<$item, Fault> {
                match self.cursor.next() {
                    Ok(Some(value)) => Ok(value),
                    Ok(None) if self.absent => Ok($null),
                    Ok(None) => Err(self.fault(Rule::Uneven)),
                    Err(rule) => Err(self.fault(rule)),
                }
            }

            /// The run ahead, and how long it is; nothing at the end.
            #[inline]
            pub(super) fn peek(&mut self) -> Result<($peek, u64), Fault> {
                match self.cursor.peek() {
                    Ok(Some(run)) => Ok(run),
                    Ok(None) => Ok(($whole, if self.absent { EVER } else { 0 })),
                    Err(rule) => Err(self.fault(rule)),
                }
            }

            #[cold]
            pub(super) fn fault(&self, rule: Rule) -> Fault {
                Fault::in_column(self.spec, self.cursor.offset(), rule)
            }

            pub(super) fn finish(&mut self) -> Result<(), Fault> {
                match self.cursor.peek() {
                    Ok(None) => Ok(()),
                    Ok(Some(_)) => Err(self.fault(Rule::Uneven)),
                    Err(rule) => Err(self.fault(rule)),
                }
            }
        }
    };
}

column_reads!(RleCursor<'a, u64>, Option<u64>, Option<u64>, None, None);
column_reads!(RleCursor<'a, &'a str>, Option<&'a str>, Option<&'a str>, None, None);
column_reads!(DeltaCursor<'a>, Option<Ramp>, Option<i64>, None, None);
column_reads!(BoolCursor<'a>, bool, bool, false, false);

impl<'a, T: Cell<'a>> ColumnReader<RleCursor<'a, T>> {
    /// Where the cursor stands.
    #[inline]
    pub(super) fn offset(&self) -> usize {
        self.cursor.offset()
    }
}

impl<'a> ColumnReader<RleCursor<'a, u64>> {
    /// The next row, or nothing at the end even of a column that is not there.
    pub(super) fn next_or_end(&mut self) -> Result<Option<Option<u64>>, Fault> {
        self.cursor.next().map_err(|rule| self.fault(rule))
    }
}

impl<'a> ColumnReader<DeltaCursor<'a>> {
    /// The next row, or nothing at the end even of a column that is not there.
    pub(super) fn next_or_end(&mut self) -> Result<Option<Option<i64>>, Fault> {
        self.cursor.next().map_err(|rule| self.fault(rule))
    }
}

/// The length of a run when it is of `value`, else 0.
#[inline]
pub(super) fn same<T: PartialEq + Copy>((found, rows): (T, u64), value: T) -> u64 {
    if found == value { rows } else { 0 }
}

/// The length of a ramp when it goes on from `last` by `step`, else 0.
#[inline]
pub(super) fn follows((ramp, rows): (Option<Ramp>, u64), last: u32, step: i64) -> u64 {
    match ramp {
        Some(ramp)
            if ramp.first == i64::from(last) + step && ramp.step == step && ramp.counters().is_ok() =>
        {
            rows
        }
        Some(ramp) if ramp.first == i64::from(last) + step && ramp.counters().is_ok() => 1,
        _ => 0,
    }
}

/// The length of a ramp of keys when it starts at `elem` and goes on upwards, 1 when it only starts there, else 0.
#[inline]
pub(super) fn arrives((ramp, rows): (Option<Ramp>, u64), elem: u32) -> u64 {
    match ramp {
        Some(ramp) if ramp.first == i64::from(elem) => match ramp.step {
            1 if ramp.counters().is_ok() => rows,
            _ => 1,
        },
        _ => 0,
    }
}
