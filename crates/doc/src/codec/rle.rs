//! Run-length encoded columns: repeats, literals and nulls, in the one canonical form.
//!
//! A run starts with a signed count n. n ≥ 2: one value, n times. n < 0: −n different values. n = 0: an unsigned
//! count of nulls. Canonical means that no two neighbouring runs could have been written as one.

use super::packer::Packer;
use super::reader::Reader;
use crate::error::Rule;

/// A value that such a column can hold.
pub(crate) trait Cell<'a>: Copy + PartialEq {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Rule>;
    fn write(self, out: &mut Packer);
}

impl Cell<'_> for u64 {
    #[inline]
    fn read(reader: &mut Reader<'_>) -> Result<Self, Rule> {
        reader.u64()
    }

    #[inline]
    fn write(self, out: &mut Packer) {
        out.number(self);
    }
}

impl Cell<'_> for i64 {
    #[inline]
    fn read(reader: &mut Reader<'_>) -> Result<Self, Rule> {
        reader.i64()
    }

    #[inline]
    fn write(self, out: &mut Packer) {
        out.signed(self);
    }
}

impl<'a> Cell<'a> for &'a str {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Rule> {
        reader.text()
    }

    fn write(self, out: &mut Packer) {
        out.number(self.len() as u64);
        out.extend(self.as_bytes());
    }
}

/// Bytes of text that was checked: they are written, never read as such.
impl<'a> Cell<'a> for &'a [u8] {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Rule> {
        reader.prefixed()
    }

    #[inline]
    fn write(self, out: &mut Packer) {
        out.number(self.len() as u64);
        out.extend(self);
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Start,
    Repeat,
    Literal,
    Null,
}

/// Reads a column run by run. Rows of a literal run come one at a time.
#[derive(Clone, Debug)]
pub(crate) struct RleCursor<'a, T> {
    reader: Reader<'a>,
    value: Option<T>,
    left: u64,
    literals: u64,
    kind: Kind,
}

impl<'a, T: Cell<'a>> RleCursor<'a, T> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { reader: Reader::new(bytes), value: None, left: 0, literals: 0, kind: Kind::Start }
    }

    pub(crate) fn offset(&self) -> usize {
        self.reader.offset()
    }

    /// The value of the next row and for how many rows it holds; `None` at the end of the column.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<(Option<T>, u64)>, Rule> {
        if self.left == 0 && !self.fill()? {
            return Ok(None);
        }
        Ok(Some((self.value, self.left)))
    }

    /// Passes over rows of the run just peeked.
    #[inline]
    pub(crate) fn skip(&mut self, rows: u64) {
        debug_assert!(rows <= self.left);
        self.left -= rows;
    }

    /// The next row.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Option<T>>, Rule> {
        if self.left == 0 && !self.fill()? {
            return Ok(None);
        }
        self.left -= 1;
        Ok(Some(self.value))
    }

    /// Rows that all differ from their neighbours, after the last one taken: as they lie, at most `most` of them, with how many
    /// they are. One more row follows them. Each is given to `each`.
    #[inline]
    pub(super) fn literals(&mut self, most: u64, mut each: impl FnMut(T)) -> Result<(&'a [u8], u64), Rule> {
        if self.left > 0 {
            return Ok((&[], 0));
        }
        let (rows, start) = (most.min(self.literals.saturating_sub(1)), self.reader.offset());
        for _ in 0..rows {
            let value = T::read(&mut self.reader)?;
            each(value);
            self.value = Some(value);
        }
        self.literals -= rows;
        Ok((&self.reader.all()[start..self.reader.offset()], rows))
    }

    fn fill(&mut self) -> Result<bool, Rule> {
        if self.literals > 0 {
            let value = T::read(&mut self.reader)?;
            if self.value == Some(value) {
                return Err(Rule::LiteralRepeat);
            }
            self.literals -= 1;
            self.value = Some(value);
            self.left = 1;
            return Ok(true);
        }
        if self.reader.is_empty() {
            return Ok(false);
        }
        let count = self.reader.i64()?;
        if count == 0 {
            let nulls = self.reader.u64()?;
            if nulls == 0 {
                return Err(Rule::EmptyRun);
            }
            if self.kind == Kind::Null {
                return Err(Rule::UnmergedRuns);
            }
            self.kind = Kind::Null;
            self.value = None;
            self.left = nulls;
            return Ok(true);
        }
        let kind = if count > 0 { Kind::Repeat } else { Kind::Literal };
        if count == 1 {
            return Err(Rule::ShortRepeat);
        }
        if kind == Kind::Literal && self.kind == Kind::Literal {
            return Err(Rule::UnmergedRuns);
        }
        let value = T::read(&mut self.reader)?;
        // After nulls `value` is None, and equality never holds.
        if self.value == Some(value) {
            return Err(Rule::UnmergedRuns);
        }
        self.kind = kind;
        self.value = Some(value);
        if kind == Kind::Repeat {
            self.left = count.unsigned_abs();
        } else {
            self.left = 1;
            self.literals = count.unsigned_abs() - 1;
        }
        Ok(true)
    }
}

/// So many literals have a header of one byte.
const MOST: u64 = 64;
/// The header of one literal.
const ONE: u8 = -1_i8 as u8 & 0x7f;

/// Writes a column, always canonically.
#[derive(Debug)]
pub(crate) struct RleEncoder<T> {
    out: Packer,
    value: Option<T>,
    count: u64,
    /// Where the open literal run starts in `out`, and how many values it holds. Its header is one byte until closed,
    /// and right up to 64 of them.
    literal_at: usize,
    literals: u64,
    some: bool,
}

impl<T> Default for RleEncoder<T> {
    fn default() -> Self {
        Self { out: Packer::default(), value: None, count: 0, literal_at: 0, literals: 0, some: false }
    }
}

impl<'a, T: Cell<'a>> RleEncoder<T> {
    #[inline]
    pub(crate) fn push(&mut self, value: Option<T>) {
        self.push_n(value, 1);
    }

    #[inline]
    pub(crate) fn push_n(&mut self, value: Option<T>, rows: u64) {
        if rows == 0 {
            return;
        }
        if self.count > 0 && self.value == value {
            self.count += rows;
            return;
        }
        self.flush_away();
        self.start(value, rows);
    }

    /// As [`Self::push_n`], where nearly every call begins another run. Each place that calls it then has branches of its
    /// own: what was pushed there before says what comes out next.
    #[inline(always)]
    pub(super) fn push_other(&mut self, value: Option<T>, rows: u64) {
        if self.count > 0 && self.value == value {
            self.count += rows;
            return;
        }
        self.flush();
        self.start(value, rows);
    }

    #[inline]
    fn start(&mut self, value: Option<T>, rows: u64) {
        self.value = value;
        self.count = rows;
        self.some |= value.is_some();
    }

    #[inline(never)]
    fn flush_away(&mut self) {
        self.flush();
    }

    #[inline(always)]
    fn flush(&mut self) {
        match (self.value, self.count) {
            (_, 0) => {}
            (None, nulls) => {
                self.close_literal();
                self.out.byte(0);
                self.out.number(nulls);
            }
            (Some(value), 1) => {
                self.literals += 1;
                if self.literals == 1 {
                    self.literal_at = self.out.len();
                    self.out.byte(ONE);
                } else if self.literals <= MOST {
                    self.out.set(self.literal_at, -(self.literals as i8));
                }
                value.write(&mut self.out);
            }
            (Some(value), count) => {
                self.close_literal();
                match u8::try_from(count) {
                    Ok(short @ ..64) => self.out.byte(short),
                    _ => self.out.signed(count as i64),
                }
                value.write(&mut self.out);
            }
        }
        self.count = 0;
    }

    /// Rows that all differ from their neighbours, the one pushed last and the one that will be pushed next among these: as
    /// they lie in another column.
    #[inline]
    pub(super) fn push_literals(&mut self, bytes: &[u8], rows: u64) {
        if rows == 0 {
            return;
        }
        self.flush_away();
        if self.literals == 0 {
            self.literal_at = self.out.len();
            self.out.byte(ONE);
        }
        self.literals += rows;
        if self.literals <= MOST {
            self.out.set(self.literal_at, -(self.literals as i8));
        }
        self.out.extend(bytes);
        self.some = true;
    }

    #[inline]
    fn close_literal(&mut self) {
        if self.literals > MOST {
            self.out.replace(self.literal_at, -(self.literals as i64));
        }
        self.literals = 0;
    }

    /// Whether any row held a value. A column of nulls is left out of the file.
    pub(crate) fn has_values(&self) -> bool {
        self.some
    }

    /// The finished column.
    pub(crate) fn finish(&mut self) -> &[u8] {
        self.flush();
        self.close_literal();
        self.out.written()
    }

    /// A new encoder in this one's memory, perhaps for values of another lifetime.
    pub(crate) fn recycle<'b, U: Cell<'b>>(mut self) -> RleEncoder<U> {
        self.out.clear();
        RleEncoder { out: self.out, ..RleEncoder::default() }
    }

    /// Makes the encoder as new, keeping its memory.
    pub(crate) fn clear(&mut self) {
        self.out.clear();
        self.value = None;
        self.count = 0;
        self.literals = 0;
        self.some = false;
    }
}

/// Copies the next rows of a column, and gives them to `each`. A column that is not there says nothing of any row.
#[inline]
pub(super) fn copy<'a, T: Cell<'a>>(
    from: &mut RleCursor<'a, T>,
    rows: u64,
    to: &mut RleEncoder<T>,
    mut each: impl FnMut(Option<T>, u64),
) -> Result<(), Rule> {
    let mut left = rows;
    while left > 0 {
        let Some((value, run)) = from.peek()? else {
            to.push_n(None, left);
            each(None, left);
            return if from.offset() == 0 { Ok(()) } else { Err(Rule::Missing) };
        };
        let run = run.min(left);
        to.push_n(value, run);
        each(value, run);
        from.skip(run);
        left -= run;
        // The last one is pushed for itself: what follows it may be the same.
        let (bytes, literals) = from.literals(left.saturating_sub(1), |value| each(Some(value), 1))?;
        to.push_literals(bytes, literals);
        left -= literals;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(rows: &[Option<u64>]) -> Vec<u8> {
        let mut encoder = RleEncoder::default();
        rows.iter().for_each(|row| encoder.push(*row));
        encoder.finish().to_vec()
    }

    fn decode(bytes: &[u8]) -> Result<Vec<Option<u64>>, Rule> {
        let mut cursor = RleCursor::new(bytes);
        let mut rows = vec![];
        while let Some(row) = cursor.next()? {
            rows.push(row);
        }
        Ok(rows)
    }

    #[test]
    fn every_short_column_round_trips() {
        // Columns of up to seven rows over {null, 1, 2} reach every transition between kinds of run.
        for len in 0..=7u32 {
            for mut code in 0..3usize.pow(len) {
                let rows: Vec<_> = (0..len)
                    .map(|_| {
                        let digit = code % 3;
                        code /= 3;
                        [None, Some(1), Some(2)][digit]
                    })
                    .collect();
                assert_eq!(decode(&encode(&rows)), Ok(rows));
            }
        }
    }

    #[test]
    fn a_column_copied_in_two_parts_is_the_same() {
        for len in 0..=9u32 {
            for mut code in 0..3usize.pow(len) {
                let mut rows = vec![];
                for _ in 0..len {
                    rows.push([None, Some(1), Some(2)][code % 3]);
                    code /= 3;
                }
                let column = encode(&rows);
                for middle in 0..=rows.len() {
                    // What lies between is another column's, or nothing.
                    for between in [None, Some(Some(1)), Some(Some(7)), Some(None)] {
                        let (mut from, mut to) = (RleCursor::new(&column), RleEncoder::default());
                        let mut given = vec![];
                        copy(&mut from, middle as u64, &mut to, |value, n| given.push((value, n))).unwrap();
                        between.iter().for_each(|value| to.push(*value));
                        copy(&mut from, (rows.len() - middle) as u64, &mut to, |value, n| {
                            given.push((value, n));
                        })
                        .unwrap();
                        let mut plain = rows.clone();
                        plain.splice(middle..middle, between);
                        assert_eq!(to.finish(), encode(&plain), "{rows:?}, {middle}, {between:?}");
                        let given: Vec<_> =
                            given.iter().flat_map(|(value, n)| vec![*value; *n as usize]).collect();
                        assert_eq!(given, rows);
                        assert_eq!(from.peek(), Ok(None));
                        assert_eq!(to.has_values(), plain.iter().any(Option::is_some));
                    }
                }
            }
        }
    }

    #[test]
    fn long_literals_are_copied() {
        for len in [1, 64, 65, 8192, 8193] {
            let rows: Vec<_> = (0..len).map(Some).collect();
            let column = encode(&rows);
            let (mut from, mut to) = (RleCursor::new(&column), RleEncoder::<u64>::default());
            copy(&mut from, len / 2, &mut to, |_, _| ()).unwrap();
            copy(&mut from, len - len / 2, &mut to, |_, _| ()).unwrap();
            assert_eq!(to.finish(), column);
        }
    }

    #[test]
    fn long_literals_get_longer_headers() {
        for len in [1, 64, 65, 8192, 8193] {
            let rows: Vec<_> = (0..len).map(Some).collect();
            assert_eq!(decode(&encode(&rows)), Ok(rows));
        }
    }

    #[test]
    fn canonical_bytes() {
        assert_eq!(encode(&[Some(5); 3]), [3, 5]);
        assert_eq!(encode(&[Some(5), Some(6), None, None]), [0x7e, 5, 6, 0, 2]);
    }

    #[test]
    fn refuses_what_is_not_canonical() {
        let cases: [(&[u8], Rule); 8] = [
            (&[1, 5], Rule::ShortRepeat),
            (&[0, 0], Rule::EmptyRun),
            (&[0, 1, 0, 1], Rule::UnmergedRuns),
            (&[0x7e, 5, 5], Rule::LiteralRepeat),
            (&[0x7f, 5, 0x7f, 6], Rule::UnmergedRuns),
            (&[2, 5, 3, 5], Rule::UnmergedRuns),
            (&[0x7f, 5, 2, 5], Rule::UnmergedRuns),
            (&[2, 5, 0x7f, 5], Rule::UnmergedRuns),
        ];
        for (bytes, rule) in cases {
            assert_eq!(decode(bytes), Err(rule), "{bytes:x?}");
        }
    }
}
