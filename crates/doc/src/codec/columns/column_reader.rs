//! Cursors that add their column to every fault.

use super::boolean::BoolCursor;
use super::delta::{DeltaCursor, Ramp};
use super::rle::{Cell, RleCursor};
use crate::codec::columns::section::FormatFault;
use crate::types::error::Rule;

/// A cursor with its column's specification. An absent column reads as endless nulls.
#[derive(Debug)]
pub(in crate::codec) struct ColumnReader<C> {
    spec: u32,
    absent: bool,
    cursor: C,
}

impl<'a, T: Cell<'a>> ColumnReader<RleCursor<'a, T>> {
    pub(in crate::codec) fn rle(spec: u32, bytes: &'a [u8]) -> Self {
        Self { spec, absent: bytes.is_empty(), cursor: RleCursor::new(bytes) }
    }

    #[inline]
    pub(in crate::codec) fn skip(&mut self, rows: u64) {
        if !self.absent {
            self.cursor.skip(rows);
        }
    }
}

impl<'a> ColumnReader<DeltaCursor<'a>> {
    pub(in crate::codec) fn delta(spec: u32, bytes: &'a [u8]) -> Self {
        Self { spec, absent: bytes.is_empty(), cursor: DeltaCursor::new(bytes) }
    }

    #[inline]
    pub(in crate::codec) fn skip(&mut self, rows: u64) {
        if let Ok(Some((ramp, _))) = self.cursor.peek() {
            self.cursor.skip(ramp, rows);
        }
    }
}

impl<'a> ColumnReader<BoolCursor<'a>> {
    pub(in crate::codec) fn flag(spec: u32, bytes: &'a [u8]) -> Self {
        Self { spec, absent: bytes.is_empty(), cursor: BoolCursor::new(bytes) }
    }

    #[inline]
    pub(in crate::codec) fn skip(&mut self, rows: u64) {
        if !self.absent {
            self.cursor.skip(rows);
        }
    }
}

/// A column of numbers.
pub(in crate::codec) type Numbers<'a> = ColumnReader<RleCursor<'a, u64>>;
/// A column of strings.
pub(in crate::codec) type Texts<'a> = ColumnReader<RleCursor<'a, &'a str>>;
/// A column of counters.
pub(in crate::codec) type Deltas<'a> = ColumnReader<DeltaCursor<'a>>;
/// A column of flags.
pub(in crate::codec) type Flags<'a> = ColumnReader<BoolCursor<'a>>;

/// Length of a peeked run of an absent column.
const EVER: u64 = u64::MAX;

macro_rules! column_reads {
    ($cursor:ty, $peek:ty, $item:ty, $null:expr, $whole:expr) => {
        impl<'a> ColumnReader<$cursor> {
            #[inline]
            pub(in crate::codec) fn next(&mut self) -> Result<$item, FormatFault> {
                match self.cursor.next() {
                    Ok(Some(value)) => Ok(value),
                    Ok(None) if self.absent => Ok($null),
                    Ok(None) => Err(self.fault(Rule::Uneven)),
                    Err(rule) => Err(self.fault(rule)),
                }
            }

            /// The next run and its length; `None` at the end.
            #[inline]
            pub(in crate::codec) fn peek(&mut self) -> Result<($peek, u64), FormatFault> {
                match self.cursor.peek() {
                    Ok(Some(run)) => Ok(run),
                    Ok(None) => Ok(($whole, if self.absent { EVER } else { 0 })),
                    Err(rule) => Err(self.fault(rule)),
                }
            }

            #[cold]
            pub(in crate::codec) fn fault(&self, rule: Rule) -> FormatFault {
                FormatFault::in_column(self.spec, self.cursor.offset(), rule)
            }

            pub(in crate::codec) fn finish(&mut self) -> Result<(), FormatFault> {
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
    /// Byte offset of the cursor.
    #[inline]
    pub(in crate::codec) fn offset(&self) -> usize {
        self.cursor.offset()
    }
}

impl<'a> ColumnReader<RleCursor<'a, u64>> {
    /// The next row, or `None` at the end, even of an absent column.
    pub(in crate::codec) fn next_or_end(&mut self) -> Result<Option<Option<u64>>, FormatFault> {
        self.cursor.next().map_err(|rule| self.fault(rule))
    }
}

impl<'a> ColumnReader<DeltaCursor<'a>> {
    /// The next row, or `None` at the end, even of an absent column.
    pub(in crate::codec) fn next_or_end(&mut self) -> Result<Option<Option<i64>>, FormatFault> {
        self.cursor.next().map_err(|rule| self.fault(rule))
    }
}

/// Length of a run if its value is `value`, otherwise 0.
#[inline]
pub(in crate::codec) fn same<T: PartialEq + Copy>((found, rows): (T, u64), value: T) -> u64 {
    if found == value { rows } else { 0 }
}

/// Length of a ramp if it continues `last` by `step`, otherwise 0.
#[inline]
pub(in crate::codec) fn follows((ramp, rows): (Option<Ramp>, u64), last: u32, step: i64) -> u64 {
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

/// Length of a ramp of keys if it starts at `elem` and ascends by 1; 1 if it only starts there; otherwise 0.
#[inline]
pub(in crate::codec) fn arrives((ramp, rows): (Option<Ramp>, u64), elem: u32) -> u64 {
    match ramp {
        Some(ramp) if ramp.first == i64::from(elem) => match ramp.step {
            1 if ramp.counters().is_ok() => rows,
            _ => 1,
        },
        _ => 0,
    }
}
