//! Delta columns of counters and times: run-length encoded differences. Nulls do not change the sum.
//!
//! Sums wrap: times may be any 64-bit numbers, so their differences need 65 bits. Readers of counters check the range
//! with [`Ramp::counters`].

use super::rle::{self, RleCursor, RleEncoder};
use crate::codec::bytes::byte_rope::ByteRope;
use crate::codec::rules;
use crate::types::error::Rule;

/// Rows in arithmetic progression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ramp {
    pub(crate) first: i64,
    pub(crate) step: i64,
    pub(crate) rows: u64,
}

impl Ramp {
    /// The first row, if every row is a counter or 0.
    pub(crate) fn counters(self) -> Result<u32, Rule> {
        let last = i128::from(self.first) + i128::from(self.step) * (i128::from(self.rows) - 1);
        match (u32::try_from(self.first), u32::try_from(last)) {
            (Ok(first @ ..=rules::LAST), Ok(..=rules::LAST)) => Ok(first),
            _ => Err(Rule::CounterRange),
        }
    }
}

/// Reader of a column, ramp by ramp.
#[derive(Clone, Debug)]
pub(crate) struct DeltaCursor<'a> {
    deltas: RleCursor<'a, i64>,
    sum: i64,
}

impl<'a> DeltaCursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { deltas: RleCursor::new(bytes), sum: 0 }
    }

    pub(crate) fn offset(&self) -> usize {
        self.deltas.offset()
    }

    /// The progression of the next rows, or nulls; `None` at the end of the column.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<(Option<Ramp>, u64)>, Rule> {
        match self.deltas.peek()? {
            None => Ok(None),
            Some((None, rows)) => Ok(Some((None, rows))),
            Some((Some(step), rows)) => {
                let first = self.sum.wrapping_add(step);
                Ok(Some((Some(Ramp { first, step, rows }), rows)))
            }
        }
    }

    /// Skips rows of the peeked ramp.
    #[inline]
    pub(crate) fn skip(&mut self, ramp: Option<Ramp>, rows: u64) {
        if let Some(ramp) = ramp {
            self.sum = self.sum.wrapping_add(ramp.step.wrapping_mul(rows as i64));
        }
        self.deltas.skip(rows);
    }

    /// The next row.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Option<i64>>, Rule> {
        match self.deltas.next()? {
            None => Ok(None),
            Some(None) => Ok(Some(None)),
            Some(Some(delta)) => {
                self.sum = self.sum.wrapping_add(delta);
                Ok(Some(Some(self.sum)))
            }
        }
    }
}

/// Copies the next rows of a column. Rows of an absent column are nulls.
pub(in crate::codec) fn copy<'a>(
    from: &mut DeltaCursor<'a>,
    rows: u64,
    to: &mut DeltaEncoder<'a>,
) -> Result<(), Rule> {
    let mut left = rows;
    // Once the sums are equal, the differences can be copied.
    while to.sum != from.sum
        && left > 0
        && let Some((ramp, run)) = from.peek()?
    {
        let run = run.min(left);
        match ramp {
            None => to.push_nulls(run),
            Some(ramp) => to.push_ramp(ramp.first, ramp.step, run),
        }
        from.skip(ramp, run);
        left -= run;
    }
    let same = to.sum == from.sum;
    let sum = &mut from.sum;
    rle::copy(&mut from.deltas, left, &mut to.deltas, |delta, rows| {
        let all = delta.unwrap_or_default().wrapping_mul(rows as i64);
        *sum = sum.wrapping_add(all);
    })?;
    if same {
        to.sum = from.sum;
    }
    Ok(())
}

/// Copies the remaining `rows` rows of a column. Rows of an absent column are nulls.
pub(in crate::codec) fn copy_rest<'a>(
    from: &mut DeltaCursor<'a>,
    rows: u64,
    to: &mut DeltaEncoder<'a>,
) -> Result<(), Rule> {
    while to.sum != from.sum
        && let Some((ramp, run)) = from.peek()?
    {
        match ramp {
            None => to.push_nulls(run),
            Some(ramp) => to.push_ramp(ramp.first, ramp.step, run),
        }
        from.skip(ramp, run);
    }
    rle::copy_rest(&mut from.deltas, rows, &mut to.deltas)
}

/// Encoder of a delta column.
#[derive(Debug, Default)]
pub(crate) struct DeltaEncoder<'a> {
    deltas: RleEncoder<'a, i64>,
    sum: i64,
}

impl<'a> DeltaEncoder<'a> {
    #[inline]
    pub(crate) fn push(&mut self, value: Option<i64>) {
        match value {
            None => self.deltas.push(None),
            Some(value) => {
                self.deltas.push(Some(value.wrapping_sub(self.sum)));
                self.sum = value;
            }
        }
    }

    pub(crate) fn push_nulls(&mut self, rows: u64) {
        self.deltas.push_n(None, rows);
    }

    /// Adds `rows` values from `first` on, each `step` more than the one before.
    #[inline(always)]
    pub(crate) fn push_ramp(&mut self, first: i64, step: i64, rows: u64) {
        if rows > 0 {
            self.deltas.push_other(Some(first.wrapping_sub(self.sum)), 1);
            if rows > 1 {
                self.deltas.push_other(Some(step), rows - 1);
            }
            self.sum = first.wrapping_add(step.wrapping_mul(rows as i64 - 1));
        }
    }

    pub(crate) fn has_values(&self) -> bool {
        self.deltas.has_values()
    }

    pub(crate) fn finish(&mut self) -> ByteRope<'_> {
        self.deltas.finish()
    }

    /// A new encoder that reuses this one's memory.
    pub(crate) fn recycle<'b>(self) -> DeltaEncoder<'b> {
        DeltaEncoder { deltas: self.deltas.recycle(), sum: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.deltas.clear();
        self.sum = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(rows: &[Option<i64>]) -> Vec<u8> {
        let mut encoder = DeltaEncoder::default();
        rows.iter().for_each(|row| encoder.push(*row));
        encoder.finish().into_contiguous().into_owned()
    }

    #[test]
    fn column_copied_in_two_parts_is_equal() {
        for mut code in 0..4_usize.pow(6) {
            let mut rows = vec![];
            for _ in 0..6 {
                rows.push([None, Some(1), Some(2), Some(5)][code % 4]);
                code /= 4;
            }
            let column = encode(&rows);
            for middle in 0..=rows.len() {
                for between in [None, Some(Some(0)), Some(Some(3)), Some(None)] {
                    let (mut from, mut to) = (DeltaCursor::new(&column), DeltaEncoder::default());
                    copy(&mut from, middle as u64, &mut to).unwrap();
                    between.iter().for_each(|value| to.push(*value));
                    copy(&mut from, (rows.len() - middle) as u64, &mut to).unwrap();
                    let mut plain = rows.clone();
                    plain.splice(middle..middle, between);
                    assert_eq!(
                        *to.finish().into_contiguous(),
                        encode(&plain),
                        "{rows:?}, {middle}, {between:?}"
                    );
                    let (mut from, mut to) = (DeltaCursor::new(&column), DeltaEncoder::default());
                    copy(&mut from, middle as u64, &mut to).unwrap();
                    between.iter().for_each(|value| to.push(*value));
                    copy_rest(&mut from, (rows.len() - middle) as u64, &mut to).unwrap();
                    assert_eq!(
                        *to.finish().into_contiguous(),
                        encode(&plain),
                        "{rows:?}, {middle}, {between:?}, the rest"
                    );
                }
            }
        }
    }

    #[test]
    fn ramps_equal_single_rows() {
        let mut ramps = DeltaEncoder::default();
        ramps.push_nulls(2);
        ramps.push_ramp(5, 1, 4);
        ramps.push_ramp(3, -1, 3);
        ramps.push_ramp(9, 0, 1);
        let mut rows = DeltaEncoder::default();
        let values = [None, None, Some(5), Some(6), Some(7), Some(8), Some(3), Some(2), Some(1), Some(9)];
        values.iter().for_each(|value| rows.push(*value));
        assert_eq!(ramps.finish().into_contiguous(), rows.finish().into_contiguous());

        let bytes = ramps.finish().into_contiguous().into_owned();
        let mut cursor = DeltaCursor::new(&bytes);
        for value in values {
            assert_eq!(cursor.next(), Ok(Some(value)));
        }
        assert_eq!(cursor.next(), Ok(None));

        let mut cursor = DeltaCursor::new(&bytes);
        let mut decoded = vec![];
        while let Some((ramp, rows)) = cursor.peek().unwrap() {
            cursor.skip(ramp, rows);
            decoded.extend((0..rows as i64).map(|i| ramp.map(|ramp| ramp.first + i * ramp.step)));
        }
        assert_eq!(decoded, values);
    }

    #[test]
    fn times_at_the_ends_of_the_range_round_trip() {
        let mut encoder = DeltaEncoder::default();
        encoder.push(Some(i64::MAX));
        encoder.push(Some(i64::MIN));
        let bytes = encoder.finish().into_contiguous().into_owned();
        let mut cursor = DeltaCursor::new(&bytes);
        assert_eq!(cursor.next(), Ok(Some(Some(i64::MAX))));
        assert_eq!(cursor.next(), Ok(Some(Some(i64::MIN))));
    }

    #[test]
    fn counters_are_checked_at_both_ends() {
        let ramp = |first, step, rows| Ramp { first, step, rows }.counters();
        assert_eq!(ramp(0, 1, (1 << 32) - 1), Ok(0));
        assert_eq!(ramp(0, 1, 1 << 32), Err(Rule::CounterRange));
        assert_eq!(ramp(2, -1, 4), Err(Rule::CounterRange));
        assert_eq!(ramp(1, i64::MAX, u64::MAX), Err(Rule::CounterRange));
    }
}
