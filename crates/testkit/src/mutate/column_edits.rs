//! Mutations of column tables: of cells, rows, runs and whole columns.

use std::ops::Range;

use crate::Rng;
use crate::mutate::cells::Cells;
use crate::mutate::chunk::Column;
use crate::mutate::values;

/// Specifications that columns have somewhere, and some that they have nowhere.
const SPECS: [u64; 30] = [
    0x01, 0x02, 0x03, 0x11, 0x13, 0x15, 0x21, 0x23, 0x34, 0x35, 0x40, 0x42, 0x43, 0x50, 0x53, 0x56, 0x57,
    0x60, 0x67, 0x70, 0x71, 0x73, 0x80, 0x81, 0x83, 0x94, 0xa5, 0xb3, 0xc2, 0xf2,
];

/// Does something to a table of columns.
pub fn cut(columns: &mut Vec<Column>, rng: &mut Rng) {
    match rng.below(16) {
        0..=5 => cell(columns, rng),
        6 | 7 => row(columns, rng),
        8 | 9 => value(columns, rng),
        10 => stretch(columns, rng),
        11 => add(columns, rng),
        12 => layout(columns, rng),
        13 => loosen(columns, rng),
        _ => damage_one(columns, rng),
    }
}

/// Changes one cell.
fn cell(columns: &mut [Column], rng: &mut Rng) {
    let Some((column, mut cells)) = any(columns, rng) else { return };
    if cells.is_empty() {
        return;
    }
    let at = rng.below(cells.len());
    let from = rng.below(cells.len());
    match &mut cells {
        Cells::Numbers(cells) => {
            cells[at] = values::other(cells[at], cells[from], rng, values::number);
        }
        Cells::Steps(cells) => {
            let near = |n: i64, rng: &mut Rng| values::number(n as u64, rng) as i64;
            cells[at] = values::other(cells[at], cells[from], rng, near);
        }
        Cells::Texts(cells) => {
            cells[at] =
                values::other(cells[at].clone(), cells[from].clone(), rng, |_, rng| values::text(rng));
        }
        Cells::Flags(flags) => flags[at] = !flags[at],
        Cells::Raw(bytes) => bytes[at] ^= 1 << rng.below(8),
    }
    rewrite(column, &cells);
}

/// Takes a row out, writes it twice, or moves it.
fn row(columns: &mut [Column], rng: &mut Rng) {
    let rows = rows(columns);
    if rows == 0 {
        return;
    }
    let (how, at, to) = (rng.below(4), rng.below(rows), rng.below(rows + 1));
    each_row(columns, at, to, |cells, row, target| match how {
        0 => cells.remove(row),
        1 => cells.repeat(row, target),
        _ => {
            let len = row.len();
            cells.repeat(row.clone(), target);
            let moved = if target <= row.start {
                row.start.saturating_add(len)..row.end.saturating_add(len)
            } else {
                row
            };
            cells.remove(moved);
        }
    });
}

/// Writes a row again and again.
fn stretch(columns: &mut [Column], rng: &mut Rng) {
    let rows = rows(columns);
    if rows == 0 {
        return;
    }
    let (at, doublings) = (rng.below(rows), 1 + rng.below(8));
    each_row(columns, at, at, |cells, row, _| {
        let mut len = row.len();
        for _ in 0..doublings {
            cells.repeat(row.start..row.start.saturating_add(len), row.start);
            len = len.saturating_mul(2);
        }
    });
}

/// Gives a row another value: metadata and bytes that fit each other, or nearly.
fn value(columns: &mut Vec<Column>, rng: &mut Rng) {
    let Some(at) = columns.iter().position(|column| column.spec & 7 == 6) else { return };
    let Some(mut meta) = Cells::read(columns[at].spec, &columns[at].data) else { return };
    let Cells::Numbers(cells) = &meta else { return };
    if cells.is_empty() {
        return;
    }
    let row = rng.below(cells.len());
    let (start, end) = (meta.sum(row, 4), meta.sum(row + 1, 4));
    let (code, bytes) = values::value(rng);
    if let Cells::Numbers(cells) = &mut meta {
        cells[row] = Some((bytes.len() as u64) << 4 | code);
    }
    rewrite(&mut columns[at], &meta);
    let spec = columns[at].spec | 7;
    match columns.iter_mut().find(|column| column.spec == spec) {
        Some(raw) => {
            let range = start.min(raw.data.len())..end.min(raw.data.len());
            drop(raw.data.splice(range, bytes));
        }
        None if bytes.is_empty() => {}
        None => columns.insert(at + 1, Column { spec, data: bytes }),
    }
}

/// A column that the table lacks, saying something in each row.
fn add(columns: &mut Vec<Column>, rng: &mut Rng) {
    let spec = SPECS[rng.below(SPECS.len())];
    let rows = rows(columns).max(1);
    let cells = match spec & 7 {
        3 => Cells::Steps((0..rows).map(|_| Some(rng.below(4) as i64)).collect()),
        4 => Cells::Flags((0..rows).map(|_| rng.below(2) == 0).collect()),
        5 => Cells::Texts((0..rows).map(|_| values::text(rng)).map(Some).collect()),
        7 => Cells::Raw(values::value(rng).1),
        _ => Cells::Numbers((0..rows).map(|_| (rng.below(3) > 0).then(|| rng.below(4) as u64)).collect()),
    };
    let mut column = Column { spec, data: vec![] };
    rewrite(&mut column, &cells);
    let at = columns.partition_point(|column| column.spec < spec);
    match columns.get_mut(at) {
        Some(found) if found.spec == spec => *found = column,
        _ => columns.insert(at, column),
    }
}

/// Takes a column out, writes it twice, moves it, or gives it another number.
fn layout(columns: &mut Vec<Column>, rng: &mut Rng) {
    if columns.is_empty() {
        return;
    }
    let (at, to) = (rng.below(columns.len()), rng.below(columns.len()));
    match rng.below(6) {
        0 => drop(columns.remove(at)),
        1 => columns.insert(to, columns[at].clone()),
        2 => columns.swap(at, to),
        3 => columns[at].spec ^= 8,
        4 => columns[at].spec = SPECS[rng.below(SPECS.len())],
        _ => columns[at].data.clear(),
    }
}

/// Rewrites a column in an unusual encoding.
fn loosen(columns: &mut [Column], rng: &mut Rng) {
    let Some((column, cells)) = any(columns, rng) else { return };
    column.data.clear();
    cells.write_loosely(&mut column.data, rng);
}

fn damage_one(columns: &mut [Column], rng: &mut Rng) {
    if !columns.is_empty() {
        let at = rng.below(columns.len());
        values::damage(&mut columns[at].data, rng);
    }
}

fn any<'a>(columns: &'a mut [Column], rng: &mut Rng) -> Option<(&'a mut Column, Cells)> {
    if columns.is_empty() {
        return None;
    }
    let column = &mut columns[rng.below(columns.len())];
    let cells = Cells::read(column.spec, &column.data)?;
    Some((column, cells))
}

fn rewrite(column: &mut Column, cells: &Cells) {
    column.data.clear();
    cells.write(&mut column.data);
}

/// Number of rows of the table, from the column with a value in each of them.
fn rows(columns: &[Column]) -> usize {
    let counts = |column: &Column| {
        let cells = matches!(column.spec, 0x42 | 0x56 | 0x01).then(|| Cells::read(column.spec, &column.data));
        cells.flatten().map_or(0, |cells| cells.len())
    };
    columns.iter().map(counts).max().unwrap_or(0)
}

/// Does the same to a row in every column: the cells of the row, and where the row `to` starts.
fn each_row(
    columns: &mut [Column],
    at: usize,
    to: usize,
    mut each: impl FnMut(&mut Cells, Range<usize>, usize),
) {
    let read = |column: &Column| Cells::read(column.spec, &column.data);
    let mut tables: Vec<Option<Cells>> = columns.iter().map(read).collect();
    let places: Vec<(Range<usize>, usize)> = columns
        .iter()
        .map(|column| {
            // The column before them determines the position of group members and of value bytes.
            let head =
                |kind| columns.iter().position(|it| it.spec >> 4 == column.spec >> 4 && it.spec & 7 == kind);
            let leader = match column.spec & 7 {
                0 | 6 => None,
                7 => head(6).map(|at| (at, 4)),
                _ => head(0).map(|at| (at, 0)),
            };
            let position = |row| match leader.and_then(|(at, shift)| Some((tables[at].as_ref()?, shift))) {
                Some((cells, shift)) => cells.sum(row, shift),
                None => row,
            };
            (position(at)..position(at + 1), position(to))
        })
        .collect();
    for ((column, cells), (row, target)) in columns.iter_mut().zip(&mut tables).zip(places) {
        let Some(cells) = cells else { continue };
        each(cells, row, target);
        rewrite(column, cells);
    }
}
