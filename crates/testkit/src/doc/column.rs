//! Columns: their layout, and the four ways in which they are encoded (reference 2.4 and 2.5).
//!
//! Each way has one canonical form. A column is read however its runs are cut, written again, and compared.

use std::collections::BTreeMap;

use super::bytes::{Input, inflate};
use super::{Refused, refuse};
use crate::format::numbers::{put_prefixed, put_signed, put_unsigned};
use crate::format::runs::{self, differences, put_runs};

const DEFLATED: u32 = 8;

/// The bytes of columns by their specifications.
pub(super) struct Columns {
    pub(super) bytes: BTreeMap<u32, Vec<u8>>,
    /// The most rows that are gone through.
    pub(super) most: usize,
}

/// The specifications and lengths of a section. `raw_after` is the type that stands before raw values.
pub(super) fn layout(input: &mut Input<'_>, raw_after: u32) -> Result<Vec<(u32, u64)>, Refused> {
    let entries = input.list(|input| Ok((input.unsigned()?, input.unsigned()?)))?;
    let mut columns: Vec<(u32, u64)> = vec![];
    for (spec, len) in entries {
        let spec = u32::try_from(spec).map_err(|_| refuse("column", format!("{spec} is none")))?;
        let before = columns.last().map(|(spec, _)| spec & !DEFLATED);
        if before.is_some_and(|before| before >= spec & !DEFLATED) {
            return Err(refuse("column order", format!("{spec:#x}")));
        }
        let meta = spec & !0xf | raw_after;
        if spec & 7 == 7 && ![Some(meta), Some(spec & !0xf | 6)].contains(&before) {
            return Err(refuse("raw values without their types", format!("{spec:#x}")));
        }
        columns.push((spec, len));
    }
    Ok(columns)
}

impl Columns {
    pub(super) fn read(
        input: &mut Input<'_>,
        layout: &[(u32, u64)],
        may_deflate: bool,
        most: usize,
    ) -> Result<Self, Refused> {
        let mut bytes = BTreeMap::new();
        for (spec, len) in layout {
            let found = input.take(*len)?;
            let plain = match spec & DEFLATED {
                0 => found.to_vec(),
                _ if may_deflate => inflate(found)?,
                _ => return Err(refuse("a deflated column in a change", format!("{spec:#x}"))),
            };
            bytes.insert(spec & !DEFLATED, plain);
        }
        Ok(Self { bytes, most })
    }

    pub(super) fn get(&self, spec: u32) -> &[u8] {
        self.bytes.get(&spec).map_or(&[], Vec::as_slice)
    }

    /// A column of the `rows` rows that its table has. One that is not there, or empty, is null in each.
    fn whole<T: Clone>(
        &self,
        spec: u32,
        rows: usize,
        null: T,
        read: impl Fn(&[u8], usize) -> Result<Vec<T>, Refused>,
    ) -> Result<Vec<T>, Refused> {
        let values = match self.get(spec) {
            [] => vec![null; rows],
            bytes => {
                read(bytes, self.most).map_err(|reason| reason.in_context(format!("column {spec:#x}")))?
            }
        };
        if values.len() == rows {
            Ok(values)
        } else {
            Err(refuse("uneven columns", format!("{spec:#x} has {} rows of {rows}", values.len())))
        }
    }

    pub(super) fn numbers(&self, spec: u32, rows: usize) -> Result<Vec<Option<u64>>, Refused> {
        self.whole(spec, rows, None, numbers)
    }

    pub(super) fn texts(&self, spec: u32, rows: usize) -> Result<Vec<Option<String>>, Refused> {
        self.whole(spec, rows, None, texts)
    }

    pub(super) fn deltas(&self, spec: u32, rows: usize) -> Result<Vec<Option<i64>>, Refused> {
        self.whole(spec, rows, None, deltas)
    }

    pub(super) fn flags(&self, spec: u32, rows: usize) -> Result<Vec<bool>, Refused> {
        self.whole(spec, rows, false, flags)
    }

    /// Number of rows of a table, from the column with a value in every row.
    pub(super) fn rows(&self, spec: u32) -> Result<usize, Refused> {
        Ok(numbers(self.get(spec), self.most)?.len())
    }
}

/// The value, or an error if it is missing.
pub(super) fn need<T>(value: Option<T>, what: &str) -> Result<T, Refused> {
    value.ok_or_else(|| refuse("a value is missing", what))
}

/// The counter of an operation, the sequence number of a change: from 1 to 2^32 − 1.
pub(super) fn counter(value: impl TryInto<u32>, what: &str) -> Result<u64, Refused> {
    match value.try_into() {
        Ok(value) if value > 0 => Ok(value.into()),
        _ => Err(refuse("counter", what)),
    }
}

fn canonical<T>(found: &[u8], values: Vec<T>, written: &[u8]) -> Result<Vec<T>, Refused> {
    if found == written { Ok(values) } else { Err(refuse("canonical column", "its runs are cut otherwise")) }
}

fn room(rows: usize, more: u64, most: usize) -> Result<usize, Refused> {
    match usize::try_from(more) {
        Ok(more) if more <= most.saturating_sub(rows) => Ok(more),
        _ => Err(Refused::too_large("rows")),
    }
}

fn runs<'a, T: Clone>(
    bytes: &'a [u8],
    most: usize,
    read: impl Fn(&mut Input<'a>) -> Result<T, Refused>,
) -> Result<Vec<Option<T>>, Refused> {
    let mut input = Input(bytes);
    let mut values = vec![];
    while !input.0.is_empty() {
        match input.signed()? {
            0 => {
                let count = room(values.len(), input.unsigned()?, most)?;
                values.extend(vec![None; count]);
            }
            count @ 1.. => {
                let count = room(values.len(), count as u64, most)?;
                values.extend(vec![Some(read(&mut input)?); count]);
            }
            count => {
                for _ in 0..room(values.len(), count.unsigned_abs(), most)? {
                    values.push(Some(read(&mut input)?));
                }
            }
        }
    }
    Ok(values)
}

fn runs_of<T: PartialEq>(values: &[Option<T>], put: impl Fn(&mut Vec<u8>, &T)) -> Vec<u8> {
    let mut out = vec![];
    put_runs(&mut out, values, put);
    out
}

fn numbers(bytes: &[u8], most: usize) -> Result<Vec<Option<u64>>, Refused> {
    let values = runs(bytes, most, Input::unsigned)?;
    let written = put_numbers(&values);
    canonical(bytes, values, &written)
}

pub(super) fn put_numbers(values: &[Option<u64>]) -> Vec<u8> {
    runs_of(values, |out, value| put_unsigned(out, *value))
}

fn texts(bytes: &[u8], most: usize) -> Result<Vec<Option<String>>, Refused> {
    let values = runs(bytes, most, Input::text)?;
    let written = put_texts(&values);
    canonical(bytes, values, &written)
}

pub(super) fn put_texts(values: &[Option<String>]) -> Vec<u8> {
    runs_of(values, |out, value| put_prefixed(out, value.as_bytes()))
}

fn deltas(bytes: &[u8], most: usize) -> Result<Vec<Option<i64>>, Refused> {
    let steps = runs(bytes, most, Input::signed)?;
    let mut last = 0i64;
    let mut sum = |step: i64| {
        last = last.checked_add(step).ok_or_else(|| refuse("counter", "a sum overflows"))?;
        Ok(last)
    };
    let values: Vec<Option<i64>> =
        steps.into_iter().map(|step| step.map(&mut sum).transpose()).collect::<Result<_, Refused>>()?;
    let written = put_deltas(&values);
    canonical(bytes, values, &written)
}

pub(super) fn put_deltas(values: &[Option<i64>]) -> Vec<u8> {
    runs_of(&differences(values), |out, step| put_signed(out, *step))
}

fn flags(bytes: &[u8], most: usize) -> Result<Vec<bool>, Refused> {
    let mut input = Input(bytes);
    let (mut values, mut value) = (vec![], false);
    while !input.0.is_empty() {
        let count = room(values.len(), input.unsigned()?, most)?;
        values.extend(vec![value; count]);
        value = !value;
    }
    let written = put_flags(&values);
    canonical(bytes, values, &written)
}

pub(super) fn put_flags(values: &[bool]) -> Vec<u8> {
    let mut out = vec![];
    runs::put_flags(&mut out, values);
    out
}

/// The list of columns that follow. Blank columns are left out of it and have no bytes.
pub(super) fn put_layout(columns: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let columns: Vec<_> = columns.iter().filter(|(_, bytes)| !bytes.is_empty()).collect();
    let mut out = vec![];
    put_unsigned(&mut out, columns.len() as u64);
    for (spec, bytes) in &columns {
        put_unsigned(&mut out, u64::from(*spec));
        put_unsigned(&mut out, bytes.len() as u64);
    }
    out
}
