//! Run-length encoded columns: repeats, literals and nulls, in canonical form.
//!
//! A run starts with a signed count n. n ≥ 2: one value, n times. n < 0: −n different values. n = 0: an unsigned count
//! of nulls. The form is canonical if no two neighbouring runs can be merged.

use crate::codec::bytes::byte_rope::ByteRope;
use crate::codec::bytes::packer::Packer;
use crate::codec::bytes::reader::Reader;
use crate::types::error::Rule;

/// A value of such a column.
pub(crate) trait Cell<'a>: Copy + PartialEq {
    /// The value of a one-byte encoding, if the byte is one.
    #[inline]
    fn short(_: u8) -> Option<Self> {
        None
    }
    fn read(reader: &mut Reader<'a>) -> Result<Self, Rule>;
    fn write(self, out: &mut Packer<'_>);
}

impl Cell<'_> for u64 {
    #[inline]
    fn short(byte: u8) -> Option<Self> {
        (byte < 0x80).then_some(byte.into())
    }

    #[inline]
    fn read(reader: &mut Reader<'_>) -> Result<Self, Rule> {
        reader.u64()
    }

    #[inline]
    fn write(self, out: &mut Packer<'_>) {
        out.number(self);
    }
}

impl Cell<'_> for i64 {
    #[inline]
    fn short(byte: u8) -> Option<Self> {
        // Bit 6 is the sign.
        (byte < 0x80).then_some(i64::from((byte << 1) as i8 >> 1))
    }

    #[inline]
    fn read(reader: &mut Reader<'_>) -> Result<Self, Rule> {
        reader.i64()
    }

    #[inline]
    fn write(self, out: &mut Packer<'_>) {
        out.signed(self);
    }
}

impl<'a> Cell<'a> for &'a str {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Rule> {
        reader.text()
    }

    fn write(self, out: &mut Packer<'_>) {
        out.number(self.len() as u64);
        out.extend(self.as_bytes());
    }
}

/// Bytes of checked text: for encoding, never decoded as text.
impl<'a> Cell<'a> for &'a [u8] {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Rule> {
        reader.prefixed()
    }

    #[inline]
    fn write(self, out: &mut Packer<'_>) {
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

/// Reader of a column, run by run. Rows of a literal run are returned one at a time.
#[derive(Clone, Debug)]
pub(crate) struct RleCursor<'a, T> {
    reader: Reader<'a>,
    value: Option<T>,
    left: u64,
    literals: u64,
    kind: Kind,
    /// Start of the current run.
    run: usize,
}

impl<'a, T: Cell<'a>> RleCursor<'a, T> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { reader: Reader::new(bytes), value: None, left: 0, literals: 0, kind: Kind::Start, run: 0 }
    }

    pub(crate) fn offset(&self) -> usize {
        self.reader.offset()
    }

    /// Is the column absent?
    pub(in crate::codec) fn is_absent(&self) -> bool {
        self.reader.all().is_empty()
    }

    /// The value of the next row and its number of rows; `None` at the end of the column.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<(Option<T>, u64)>, Rule> {
        if self.left == 0 && !self.fill()? {
            return Ok(None);
        }
        Ok(Some((self.value, self.left)))
    }

    /// Skips rows of the peeked run.
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

    /// Reads literal rows after the last row read, at most `most`, each different from its neighbours and followed by
    /// at least one more row. Calls `each` with every row; returns their bytes and number.
    #[inline]
    pub(in crate::codec) fn literals(
        &mut self,
        most: u64,
        mut each: impl FnMut(T),
    ) -> Result<(&'a [u8], u64), Rule> {
        if self.left > 0 {
            return Ok((&[], 0));
        }
        let rows = most.min(self.literals.saturating_sub(1));
        let (mut reader, mut last) = (self.reader.clone(), self.value);
        for _ in 0..rows {
            let value = T::read(&mut reader)?;
            each(value);
            last = Some(value);
        }
        let start = self.reader.offset();
        (self.reader, self.value) = (reader, last);
        self.literals -= rows;
        Ok((&self.reader.all()[start..self.reader.offset()], rows))
    }

    /// Skips a run with a one-byte count and a one-byte value, if one starts here and has less than `most` rows.
    #[inline]
    fn pass_short(&mut self, most: u64) -> Option<(T, u64)> {
        let [rows @ 2..64, value] = *self.reader.rest().first_chunk()? else { return None };
        let value = T::short(value)?;
        if self.left > 0 || self.literals > 0 || u64::from(rows) >= most {
            return None;
        }
        self.reader.read_bytes(2).ok()?;
        (self.value, self.kind) = (Some(value), Kind::Repeat);
        Some((value, rows.into()))
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
        self.run = self.reader.offset();
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
        // After nulls, `value` is `None` and never equal.
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

impl<'a> RleCursor<'a, &'a [u8]> {
    /// Skips literal rows, at most `most`, while the row after each is smaller than `key`. Returns their number.
    pub(in crate::codec) fn pass_smaller(&mut self, most: u64, key: &[u8]) -> Result<u64, Rule> {
        if self.left > 0 {
            return Ok(0);
        }
        let (bytes, most) = (self.reader.rest(), most.min(self.literals));
        let (mut at, mut before, mut smaller) = (0, 0, 0);
        // Empty and long keys are left to the general reader.
        while smaller < most
            && let Some(&[len @ 1..0x80, first]) = bytes.get(at..).and_then(<[u8]>::first_chunk)
        {
            let end = at + 1 + usize::from(len);
            // Mostly the first byte decides.
            let is_smaller = match key.first() {
                Some(letter) if first != *letter => first < *letter,
                Some(_) => bytes.get(at + 1..end).is_some_and(|found| found < key),
                None => false,
            };
            if !is_smaller {
                break;
            }
            (before, at) = (at, end);
            smaller += 1;
        }
        let passed = smaller.saturating_sub(1);
        if passed > 0 {
            self.reader.read_bytes(before)?;
            self.literals -= passed;
            // The skipped value is never requested.
            self.value = None;
        }
        Ok(passed)
    }
}

/// Maximum number of literals with a one-byte header.
const MOST: u64 = 64;
/// Header of one literal.
const ONE: u8 = -1_i8 as u8 & 0x7f;

/// Encoder of a column, always in canonical form.
#[derive(Debug)]
pub(crate) struct RleEncoder<'a, T> {
    out: Packer<'a>,
    value: Option<T>,
    count: u64,
    /// Start of the open literal run in `out`, and its number of values. Its header is one byte until the run is
    /// closed, and correct for up to 64 values.
    literal_at: usize,
    literals: u64,
    some: bool,
}

impl<T> Default for RleEncoder<'_, T> {
    fn default() -> Self {
        Self { out: Packer::default(), value: None, count: 0, literal_at: 0, literals: 0, some: false }
    }
}

impl<'a, T: Cell<'a>> RleEncoder<'a, T> {
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
        self.flush_outlined();
        self.start(value, rows);
    }

    /// As [`Self::push_n`], for callers where nearly every call starts a new run. It is inlined so that each call site
    /// has its own branch history, which predicts the next run.
    #[inline(always)]
    pub(in crate::codec) fn push_other(&mut self, value: Option<T>, rows: u64) {
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
    fn flush_outlined(&mut self) {
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

    /// Adds literal bytes of another column: all rows differ from their neighbours, including the rows pushed before
    /// and after.
    #[inline]
    pub(in crate::codec) fn push_literals(&mut self, bytes: &'a [u8], rows: u64) {
        if rows == 0 {
            return;
        }
        self.flush_outlined();
        if self.literals == 0 {
            self.literal_at = self.out.len();
            self.out.byte(ONE);
        }
        self.literals += rows;
        if self.literals <= MOST {
            self.out.set(self.literal_at, -(self.literals as i8));
        }
        self.out.push_borrowed(bytes);
        self.some = true;
    }

    /// Adds runs of another column, of which the last is not literal, after the row that precedes them there; `some` if
    /// they contain a value.
    fn push_runs(&mut self, bytes: &'a [u8], some: bool) {
        self.flush_outlined();
        self.close_literal();
        self.out.push_borrowed(bytes);
        self.some |= some;
    }

    /// Adds the rest of a column whose last row was pushed last; nothing may follow. The first `literals` rows continue
    /// the run of that row.
    fn push_rest(&mut self, bytes: &'a [u8], literals: u64) {
        self.flush_outlined();
        if literals > 0 {
            self.literals += literals;
            self.out.set(self.literal_at, -(self.literals.min(MOST) as i8));
        }
        self.close_literal();
        self.out.push_borrowed(bytes);
        self.some |= !bytes.is_empty();
    }

    #[inline]
    fn close_literal(&mut self) {
        if self.literals > MOST {
            self.out.replace(self.literal_at, -(self.literals as i64));
        }
        self.literals = 0;
    }

    /// Did any row have a value? A column of nulls is omitted from the file.
    pub(crate) fn has_values(&self) -> bool {
        self.some
    }

    /// The finished column.
    pub(crate) fn finish(&mut self) -> ByteRope<'_> {
        self.flush();
        self.close_literal();
        self.out.written()
    }

    /// A new encoder that reuses this one's memory, possibly for values of another lifetime.
    pub(crate) fn recycle<'b, U: Cell<'b>>(self) -> RleEncoder<'b, U> {
        RleEncoder { out: self.out.recycle(), ..RleEncoder::default() }
    }

    /// Resets the encoder, keeping its memory.
    pub(crate) fn clear(&mut self) {
        self.out.clear();
        self.value = None;
        self.count = 0;
        self.literals = 0;
        self.some = false;
    }
}

/// Can the rest of a column be appended unchanged? The last written run must equal the current run of `from`, or end in
/// the same way.
fn can_join<'a, T: Cell<'a>>(from: &RleCursor<'a, T>, to: &RleEncoder<'a, T>) -> bool {
    let same = to.count > 0 && to.value == from.value;
    from.left == 0
        && match from.kind {
            Kind::Start => to.count == 0 && to.out.is_empty(),
            Kind::Literal => same && (from.literals == 0 || to.count == 1),
            Kind::Repeat => same && to.count > 1,
            Kind::Null => same,
        }
}

/// As [`copy`], after another cursor has read the same column ahead: literal rows are not read again.
pub(in crate::codec) fn copy_behind<'a, T: Cell<'a>>(
    from: &mut RleCursor<'a, T>,
    ahead: &RleCursor<'a, T>,
    rows: u64,
    to: &mut RleEncoder<'a, T>,
) -> Result<(), Rule> {
    let mut left = rows;
    if rows > 0 {
        copy(from, 1, to, |_, _| ())?;
        left -= 1;
    }
    if from.left == 0
        && ahead.left == 0
        && ahead.literals > 0
        && ahead.run == from.run
        && let Some(between) = from.literals.checked_sub(ahead.literals).filter(|between| *between < left)
    {
        to.push_literals(&from.reader.all()[from.offset()..ahead.offset()], between);
        *from = ahead.clone();
        left -= between;
    }
    copy(from, left, to, |_, _| ())
}

/// Copies the remaining `rows` rows of a column. Rows of an absent column are nulls.
pub(in crate::codec) fn copy_rest<'a, T: Cell<'a>>(
    from: &mut RleCursor<'a, T>,
    rows: u64,
    to: &mut RleEncoder<'a, T>,
) -> Result<(), Rule> {
    if from.is_absent() {
        to.push_n(None, rows);
        return Ok(());
    }
    while !can_join(from, to) {
        let Some((value, run)) = from.peek()? else { return Ok(()) };
        to.push_n(value, run);
        from.skip(run);
    }
    to.push_rest(from.reader.rest(), from.literals);
    Ok(())
}

/// Copies the next rows of a column and calls `each` with them. Rows of an absent column are nulls.
#[inline]
pub(in crate::codec) fn copy<'a, T: Cell<'a>>(
    from: &mut RleCursor<'a, T>,
    rows: u64,
    to: &mut RleEncoder<'a, T>,
    mut each: impl FnMut(Option<T>, u64),
) -> Result<(), Rule> {
    let mut left = rows;
    while left > 0 {
        if from.literals == 0 && left > 1 && can_join(from, to) {
            left -= copy_runs(from, left, to, &mut each)?;
        }
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
        // The last row is pushed separately: the next one may equal it.
        let (bytes, literals) = from.literals(left.saturating_sub(1), |value| each(Some(value), 1))?;
        to.push_literals(bytes, literals);
        left -= literals;
    }
    Ok(())
}

/// Copies whole runs unchanged where they can follow the written ones, leaving at least one row. Returns the number of
/// copied rows.
#[inline]
fn copy_runs<'a, T: Cell<'a>>(
    from: &mut RleCursor<'a, T>,
    rows: u64,
    to: &mut RleEncoder<'a, T>,
    each: &mut impl FnMut(Option<T>, u64),
) -> Result<u64, Rule> {
    let (all, start) = (from.reader.all(), from.offset());
    // End of the last non-literal run, and the literals after it, which may continue.
    let (mut closed, mut open, mut some) = (start, None, false);
    let (mut end, mut left) = (start, rows);
    loop {
        while let Some((value, run)) = from.pass_short(left) {
            each(Some(value), run);
            left -= run;
            end = from.offset();
            (closed, open, some) = (end, None, true);
        }
        let Some((value, run)) = from.peek()?.filter(|(_, run)| *run < left) else { break };
        each(value, run);
        from.skip(run);
        left -= run;
        some |= value.is_some();
        if from.kind == Kind::Literal {
            let (_, literals) = from.literals(left - 1, |value| each(Some(value), 1))?;
            left -= literals;
            let (begin, before) = open.unwrap_or((end, 0));
            open = Some((begin, before + 1 + literals));
        } else {
            (closed, open) = (from.offset(), None);
        }
        end = from.offset();
    }
    if closed > start {
        to.push_runs(&all[start..closed], some);
    }
    if let Some((begin, literals)) = open {
        let mut reader = Reader::new(&all[begin..end]);
        reader.i64()?;
        to.push_literals(reader.rest(), literals);
    }
    Ok(rows - left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(rows: &[Option<u64>]) -> Vec<u8> {
        let mut encoder = RleEncoder::default();
        rows.iter().for_each(|row| encoder.push(*row));
        encoder.finish().into_contiguous().into_owned()
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
    fn column_copied_in_two_parts_is_equal() {
        for len in 0..=hashmill_testkit::size::of(7, 9_u32) {
            for mut code in 0..3usize.pow(len) {
                let mut rows = vec![];
                for _ in 0..len {
                    rows.push([None, Some(1), Some(2)][code % 3]);
                    code /= 3;
                }
                let column = encode(&rows);
                for middle in 0..=rows.len() {
                    // The rows between are from another column, or there are none.
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
                        assert_eq!(
                            *to.finish().into_contiguous(),
                            encode(&plain),
                            "{rows:?}, {middle}, {between:?}"
                        );
                        let given: Vec<_> =
                            given.iter().flat_map(|(value, n)| vec![*value; *n as usize]).collect();
                        assert_eq!(given, rows);
                        assert_eq!(from.peek(), Ok(None));
                        assert_eq!(to.has_values(), plain.iter().any(Option::is_some));
                        let (mut from, mut to) = (RleCursor::new(&column), RleEncoder::default());
                        copy(&mut from, middle as u64, &mut to, |_, _| ()).unwrap();
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
    }

    #[test]
    fn long_literals_are_copied() {
        for len in [1, 64, 65, 8192, 8193] {
            let rows: Vec<_> = (0..len).map(Some).collect();
            let column = encode(&rows);
            let (mut from, mut to) = (RleCursor::new(&column), RleEncoder::<'_, u64>::default());
            copy(&mut from, len / 2, &mut to, |_, _| ()).unwrap();
            copy(&mut from, len - len / 2, &mut to, |_, _| ()).unwrap();
            assert_eq!(*to.finish().into_contiguous(), column);
            let mixed: Vec<_> = (0..len)
                .map(|n| if n % 300 < 70 { Some(n / 7) } else { Some(n).filter(|_| n % 300 < 295) })
                .collect();
            let column = encode(&mixed);
            for middle in [0, 1, len / 3, len / 2, len - 1] {
                for between in [None, Some(Some(1)), Some(None)] {
                    let (mut from, mut to) = (RleCursor::new(&column), RleEncoder::<'_, u64>::default());
                    let mut sum = 0;
                    copy(&mut from, middle, &mut to, |value, rows| sum += value.unwrap_or_default() * rows)
                        .unwrap();
                    between.iter().for_each(|value| to.push(*value));
                    copy(&mut from, len - middle, &mut to, |value, rows| {
                        sum += value.unwrap_or_default() * rows;
                    })
                    .unwrap();
                    let mut plain = mixed.clone();
                    plain.splice(middle as usize..middle as usize, between);
                    assert_eq!(
                        *to.finish().into_contiguous(),
                        encode(&plain),
                        "{middle} of {len}, {between:?}"
                    );
                    assert_eq!(sum, mixed.iter().flatten().sum::<u64>());
                }
            }
            let column = encode(&rows);
            for first_rows in [0, 1, 63, len / 2] {
                let (mut from, mut to) = (RleCursor::new(&column), RleEncoder::<'_, u64>::default());
                copy(&mut from, first_rows.min(len), &mut to, |_, _| ()).unwrap();
                copy_rest(&mut from, len - first_rows.min(len), &mut to).unwrap();
                assert_eq!(*to.finish().into_contiguous(), column, "{first_rows} of {len}");
            }
        }
    }

    #[test]
    fn copy_behind_another_cursor_is_equal() {
        let keys: Vec<Option<&[u8]>> = b"3312456999123..78abcdefg"
            .iter()
            .map(|n| (*n != b'.').then(|| std::slice::from_ref(n)))
            .collect();
        let mut encoder = RleEncoder::default();
        keys.iter().for_each(|key| encoder.push(*key));
        let column = encoder.finish().into_contiguous().into_owned();
        for end in 0..=keys.len() {
            for key in [&b""[..], b"2", b"4", b"5", b"9x", b"e", b"z"] {
                let mut ahead = RleCursor::<&[u8]>::new(&column);
                let mut passed = 0;
                while passed < end {
                    passed += ahead.pass_smaller((end - passed) as u64, key).unwrap() as usize;
                    let (mut from, mut to) = (RleCursor::new(&column), RleEncoder::default());
                    copy_behind(&mut from, &ahead, end as u64, &mut to).unwrap();
                    copy_rest(&mut from, (keys.len() - end) as u64, &mut to).unwrap();
                    assert_eq!(*to.finish().into_contiguous(), column, "{end}, {key:?}, {passed}");
                    assert_eq!(ahead.next(), Ok(keys.get(passed).copied()));
                    passed += 1;
                }
            }
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
    fn refuses_noncanonical_columns() {
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
