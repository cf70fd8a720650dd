//! One column as a list of cells.

use std::ops::Range;

use crate::Rng;
use crate::format::numbers::{Input, put_prefixed, put_signed, put_unsigned};
use crate::format::runs::{differences, put_flags, put_runs};

/// Rows that a column may have before it is left alone: what is larger is nothing to operate on.
const MOST: usize = 1 << 14;

/// Values of a column, row by row. The lowest three bits of its specification select the variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cells {
    /// Counts, actors, codes, metadata.
    Numbers(Vec<Option<u64>>),
    /// Numbers that are written as differences.
    Steps(Vec<Option<i64>>),
    /// Texts, valid or not.
    Texts(Vec<Option<Vec<u8>>>),
    /// Yes or no.
    Flags(Vec<bool>),
    /// The bytes of values one after the other.
    Raw(Vec<u8>),
}

macro_rules! each {
    ($cells:expr, $list:ident => $body:expr) => {
        match $cells {
            Cells::Numbers($list) => $body,
            Cells::Steps($list) => $body,
            Cells::Texts($list) => $body,
            Cells::Flags($list) => $body,
            Cells::Raw($list) => $body,
        }
    };
}

impl Cells {
    /// Reads a column; nothing where its bytes are broken or stand for too much.
    pub fn read(spec: u64, bytes: &[u8]) -> Option<Self> {
        Some(match spec & 7 {
            3 => {
                let mut value = 0_i64;
                let step = |step: i64| {
                    value = value.wrapping_add(step);
                    value
                };
                Cells::Steps(read_runs(bytes, |input| input.signed(), step)?)
            }
            4 => {
                let (mut input, mut flags, mut flag) = (Input(bytes), vec![], false);
                while !input.0.is_empty() {
                    let count = usize::try_from(input.unsigned()?).ok()?;
                    room(flags.len(), count)?;
                    flags.extend(std::iter::repeat_n(flag, count));
                    flag = !flag;
                }
                Cells::Flags(flags)
            }
            5 => Cells::Texts(read_runs(bytes, |input| input.prefixed().map(<[u8]>::to_vec), |text| text)?),
            7 => Cells::Raw(bytes.to_vec()),
            _ => Cells::Numbers(read_runs(bytes, |input| input.unsigned(), |value| value)?),
        })
    }

    /// Appends the column as every writer writes it: long runs, no empty ones.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Cells::Numbers(cells) => put_runs(out, cells, |out, value| put_unsigned(out, *value)),
            Cells::Steps(cells) => put_runs(out, &differences(cells), |out, step| put_signed(out, *step)),
            Cells::Texts(cells) => put_runs(out, cells, |out, text| put_prefixed(out, text)),
            Cells::Flags(flags) => put_flags(out, flags),
            Cells::Raw(bytes) => out.extend_from_slice(bytes),
        }
    }

    /// Appends the same column in a valid but unusual encoding: runs cut anywhere, and sometimes empty.
    pub fn write_loosely(&self, out: &mut Vec<u8>, rng: &mut Rng) {
        match self {
            Cells::Numbers(cells) => cut_runs(out, cells, rng, |out, value| put_unsigned(out, *value)),
            Cells::Steps(cells) => {
                cut_runs(out, &differences(cells), rng, |out, step| put_signed(out, *step));
            }
            Cells::Texts(cells) => cut_runs(out, cells, rng, |out, text| put_prefixed(out, text)),
            Cells::Flags(flags) => {
                let mut flag = false;
                let mut at = 0;
                while at < flags.len() {
                    let count = flags[at..].iter().take_while(|it| **it == flag).count();
                    let count = if rng.below(4) == 0 { rng.below(count + 1) } else { count };
                    put_unsigned(out, count as u64);
                    at += count;
                    flag = !flag;
                }
            }
            Cells::Raw(bytes) => out.extend_from_slice(bytes),
        }
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        each!(self, list => list.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Are all cells null, so that writers leave the column out?
    pub fn is_blank(&self) -> bool {
        match self {
            Cells::Numbers(cells) => cells.iter().all(Option::is_none),
            Cells::Steps(cells) => cells.iter().all(Option::is_none),
            Cells::Texts(cells) => cells.iter().all(Option::is_none),
            Cells::Flags(flags) => flags.iter().all(|flag| !flag),
            Cells::Raw(bytes) => bytes.is_empty(),
        }
    }

    /// Takes cells out.
    pub fn remove(&mut self, rows: Range<usize>) {
        let rows = rows.start.min(self.len())..rows.end.min(self.len());
        each!(self, list => drop(list.drain(rows)));
    }

    /// Writes cells a second time, before the cell `at`.
    pub fn repeat(&mut self, rows: Range<usize>, at: usize) {
        let rows = rows.start.min(self.len())..rows.end.min(self.len());
        let at = at.min(self.len());
        each!(self, list => {
            let copy = list[rows].to_vec();
            drop(list.splice(at..at, copy));
        });
    }

    /// The sum of the first numbers, each shifted right: where a row's members, or a value's bytes, start.
    pub fn sum(&self, rows: usize, shift: u32) -> usize {
        let Cells::Numbers(cells) = self else { return 0 };
        let numbers = cells.iter().take(rows).map(|cell| cell.unwrap_or(0) >> shift);
        numbers.fold(0, |sum, number| usize::try_from(number).map_or(usize::MAX, |it| sum.saturating_add(it)))
    }
}

fn room(len: usize, more: usize) -> Option<()> {
    (more <= MOST && len + more <= MOST).then_some(())
}

/// Reads runs of `T`. Each repetition goes through `map`: differences add up.
fn read_runs<T: Clone>(
    bytes: &[u8],
    take: impl Fn(&mut Input<'_>) -> Option<T>,
    mut map: impl FnMut(T) -> T,
) -> Option<Vec<Option<T>>> {
    let (mut input, mut cells) = (Input(bytes), vec![]);
    while !input.0.is_empty() {
        let header = input.signed()?;
        let count = if header == 0 { input.unsigned()? } else { header.unsigned_abs() };
        let count = usize::try_from(count).ok()?;
        room(cells.len(), count)?;
        match header {
            0 => cells.extend(std::iter::repeat_n(None, count)),
            1.. => {
                let value = take(&mut input)?;
                cells.extend((0..count).map(|_| Some(map(value.clone()))));
            }
            _ => {
                for _ in 0..count {
                    cells.push(Some(map(take(&mut input)?)));
                }
            }
        }
    }
    Some(cells)
}

fn cut_runs<T: PartialEq>(
    out: &mut Vec<u8>,
    cells: &[Option<T>],
    rng: &mut Rng,
    put: impl Fn(&mut Vec<u8>, &T),
) {
    let mut at = 0;
    while at < cells.len() {
        let same = cells[at..].iter().take_while(|cell| **cell == cells[at]).count();
        let count = if rng.below(3) == 0 { 1 + rng.below(same) } else { same };
        match &cells[at] {
            None => {
                out.push(0);
                put_unsigned(out, count as u64);
            }
            Some(value) if rng.below(3) > 0 => {
                put_signed(out, count as i64);
                put(out, value);
            }
            Some(value) => {
                put_signed(out, -(count as i64));
                (0..count).for_each(|_| put(out, value));
            }
        }
        at += count;
        if rng.below(16) == 0 {
            out.extend([0, 0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(spec: u64, cells: &Cells) -> Vec<u8> {
        let mut bytes = vec![];
        cells.write(&mut bytes);
        assert_eq!(Cells::read(spec, &bytes).as_ref(), Some(cells));
        bytes
    }

    #[test]
    fn columns_are_written_as_the_format_requires() {
        let n = |value: u64| Some(value);
        assert_eq!(back(2, &Cells::Numbers(vec![n(5)])), [0x7f, 5]);
        assert_eq!(
            back(2, &Cells::Numbers(vec![n(1), n(2), n(3), n(3), None, None])),
            [0x7e, 1, 2, 2, 3, 0, 2]
        );
        assert_eq!(back(3, &Cells::Steps(vec![Some(2), Some(4), None, Some(3)])), [2, 2, 0, 1, 0x7f, 0x7f]);
        assert_eq!(back(4, &Cells::Flags(vec![true, true, false])), [0, 2, 1]);
        let texts = Cells::Texts(vec![Some(b"k".to_vec()), Some(b"k".to_vec()), None]);
        assert_eq!(back(5, &texts), [2, 1, b'k', 0, 1]);
        assert_eq!(back(7, &Cells::Raw(vec![9, 8])), [9, 8]);
        assert_eq!(Cells::read(2, &[0xff, 0xff, 0xff, 0xff, 0, 1]), None);
    }

    #[test]
    fn loose_columns_say_the_same() {
        let mut rng = Rng::new(1);
        let cells = Cells::Steps(vec![Some(1), Some(2), Some(3), None, None, Some(9), Some(9)]);
        let mut strict = vec![];
        cells.write(&mut strict);
        let mut different = 0;
        for _ in 0..100 {
            let mut bytes = vec![];
            cells.write_loosely(&mut bytes, &mut rng);
            assert_eq!(Cells::read(3, &bytes).as_ref(), Some(&cells));
            different += usize::from(bytes != strict);
        }
        assert!(different > 50);
    }

    #[test]
    fn rows_are_cut_out_and_repeated() {
        let mut cells = Cells::Raw(vec![1, 2, 3, 4]);
        cells.repeat(1..3, 0);
        cells.remove(3..5);
        assert_eq!(cells, Cells::Raw(vec![2, 3, 1, 4]));
        let counts = Cells::Numbers(vec![Some(0x20), None, Some(0x31)]);
        assert_eq!((counts.sum(2, 4), counts.sum(9, 4)), (2, 5));
    }
}
