//! Boolean columns: lengths of alternating runs, starting with false.

use crate::codec::bytes::byte_rope::ByteRope;
use crate::codec::bytes::packer::Packer;
use crate::codec::bytes::reader::Reader;
use crate::types::error::Rule;

/// Reader of a column, run by run.
#[derive(Clone, Debug)]
pub(crate) struct BoolCursor<'a> {
    reader: Reader<'a>,
    value: bool,
    left: u64,
    started: bool,
}

impl<'a> BoolCursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        // The first run flips this to false.
        Self { reader: Reader::new(bytes), value: true, left: 0, started: false }
    }

    pub(crate) fn offset(&self) -> usize {
        self.reader.offset()
    }

    /// The value of the next row and its number of rows; `None` at the end of the column.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<(bool, u64)>, Rule> {
        while self.left == 0 {
            if self.reader.is_empty() {
                return Ok(None);
            }
            self.left = self.reader.u64()?;
            self.value = !self.value;
            // Only the first run may be empty, and only if another follows it.
            if self.left == 0 && (self.started || self.reader.is_empty()) {
                return Err(Rule::EmptyRun);
            }
            self.started = true;
        }
        Ok(Some((self.value, self.left)))
    }

    #[inline]
    pub(crate) fn skip(&mut self, rows: u64) {
        debug_assert!(rows <= self.left);
        self.left -= rows;
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<bool>, Rule> {
        let Some((value, _)) = self.peek()? else { return Ok(None) };
        self.left -= 1;
        Ok(Some(value))
    }
}

/// Encoder of a boolean column.
#[derive(Debug, Default)]
pub(crate) struct BoolEncoder {
    out: Packer<'static>,
    value: bool,
    count: u64,
    some: bool,
}

impl BoolEncoder {
    #[inline]
    pub(crate) fn push_n(&mut self, value: bool, rows: u64) {
        if rows == 0 {
            return;
        }
        if self.value != value {
            self.out.number(self.count);
            self.value = value;
            self.count = 0;
        }
        self.count += rows;
        self.some |= value;
    }

    /// Copies the remaining `rows` rows of a column, as the last rows pushed. Rows of an absent column are false.
    pub(in crate::codec) fn push_rest(&mut self, from: &mut BoolCursor<'_>, rows: u64) -> Result<(), Rule> {
        if from.reader.all().is_empty() {
            self.push_n(false, rows);
            return Ok(());
        }
        // If both are at the end of a run with the same value, or at the start, the remaining bytes keep their meaning.
        let joins = |to: &Self, from: &BoolCursor<'_>| match from.started {
            true => from.left == 0 && to.count > 0 && to.value == from.value,
            false => to.count == 0 && to.out.is_empty(),
        };
        while !joins(self, from) {
            let Some((value, run)) = from.peek()? else { return Ok(()) };
            self.push_n(value, run);
            from.skip(run);
        }
        if self.count > 0 {
            self.out.number(self.count);
            self.count = 0;
        }
        self.out.extend(from.reader.rest());
        self.some |= !from.reader.is_empty();
        Ok(())
    }

    /// Was any row true? Some columns are omitted from the file if none is.
    pub(crate) fn has_true(&self) -> bool {
        self.some
    }

    pub(crate) fn finish(&mut self) -> ByteRope<'_> {
        if self.count > 0 {
            self.out.number(self.count);
            self.count = 0;
        }
        self.out.written()
    }

    pub(crate) fn clear(&mut self) {
        self.out.clear();
        self.value = false;
        self.count = 0;
        self.some = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_short_column_round_trips() {
        for len in 0..8u32 {
            for bits in 0..1u32 << len {
                let mut encoder = BoolEncoder::default();
                (0..len).for_each(|i| encoder.push_n(bits >> i & 1 == 1, 1));
                let bytes = encoder.finish().into_contiguous().into_owned();
                let mut cursor = BoolCursor::new(&bytes);
                for i in 0..len {
                    assert_eq!(cursor.next(), Ok(Some(bits >> i & 1 == 1)));
                }
                assert_eq!(cursor.next(), Ok(None));
            }
        }
    }

    #[test]
    fn copied_rest_of_a_column_is_equal() {
        let encode = |rows: &[bool]| {
            let mut encoder = BoolEncoder::default();
            rows.iter().for_each(|row| encoder.push_n(*row, 1));
            encoder.finish().into_contiguous().into_owned()
        };
        for bits in 0..1u32 << 8 {
            let rows: Vec<bool> = (0..8).map(|i| bits >> i & 1 == 1).collect();
            let column = encode(&rows);
            for middle in 0..=8 {
                for between in [None, Some(false), Some(true)] {
                    let (mut from, mut to) = (BoolCursor::new(&column), BoolEncoder::default());
                    rows[..middle].iter().for_each(|row| {
                        assert_eq!(from.next(), Ok(Some(*row)));
                        to.push_n(*row, 1);
                    });
                    between.iter().for_each(|value| to.push_n(*value, 1));
                    to.push_rest(&mut from, 8 - middle as u64).unwrap();
                    let mut plain = rows.clone();
                    plain.splice(middle..middle, between);
                    assert_eq!(
                        *to.finish().into_contiguous(),
                        encode(&plain),
                        "{rows:?}, {middle}, {between:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn refuses_empty_runs() {
        for bytes in [&[0][..], &[1, 0], &[1, 0, 1], &[0, 0, 1]] {
            let mut cursor = BoolCursor::new(bytes);
            let fault = loop {
                match cursor.next() {
                    Ok(Some(_)) => {}
                    end => break end,
                }
            };
            assert_eq!(fault, Err(Rule::EmptyRun), "{bytes:?}");
        }
    }
}
