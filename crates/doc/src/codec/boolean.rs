//! Columns of true and false: counts of alternating runs, starting with false.

use super::packer::Packer;
use super::reader::Reader;
use crate::error::Rule;

/// Reads a column run by run.
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

    /// The value of the next row and for how many rows it holds; `None` at the end of the column.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<(bool, u64)>, Rule> {
        while self.left == 0 {
            if self.reader.is_empty() {
                return Ok(None);
            }
            self.left = self.reader.u64()?;
            self.value = !self.value;
            // Only the first run may be empty, and only when another follows it.
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

/// Writes such a column.
#[derive(Debug, Default)]
pub(crate) struct BoolEncoder {
    out: Packer,
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

    /// Whether any row was true. Some columns are left out of the file when none is.
    pub(crate) fn has_true(&self) -> bool {
        self.some
    }

    pub(crate) fn finish(&mut self) -> &[u8] {
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
                let bytes = encoder.finish().to_vec();
                let mut cursor = BoolCursor::new(&bytes);
                for i in 0..len {
                    assert_eq!(cursor.next(), Ok(Some(bits >> i & 1 == 1)));
                }
                assert_eq!(cursor.next(), Ok(None));
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
