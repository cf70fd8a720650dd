//! First operations of a change that is too long for the oracle. They refer only to earlier ones, so they form a change
//! that the author could have made.

use hashmill_testkit::format::numbers::{Input, put_signed, put_unsigned};
use hashmill_testkit::mutate::chunk::{Change, Column};

/// Type of a column of flags; then that of a column of value bytes. All other columns contain runs.
const FLAGS: u64 = 4;
const RAW: u64 = 7;

/// Columns with the number of predecessors, and with type and length of values.
const PREDECESSORS: u64 = 0x70;
const METADATA: u64 = 0x56;

/// A change of the first `rows` operations of `change`; `None` if its columns are invalid.
pub(super) fn first(change: &Change, rows: u64) -> Option<Change> {
    let sum = |spec: u64, shift: u32| match change.ops.iter().find(|column| column.spec == spec) {
        Some(column) => sum(&column.data, rows, shift),
        None => Some(0),
    };
    let (predecessors, bytes) = (sum(PREDECESSORS, 0)?, sum(METADATA, 4)?);
    let cut = |column: &Column| {
        let data = match (column.spec >> 4, column.spec & 7) {
            (_, RAW) => column.data.get(..usize::try_from(bytes).ok()?)?.to_vec(),
            (_, FLAGS) => flags(&column.data, rows)?,
            (7, kind) if column.spec != PREDECESSORS => runs(&column.data, predecessors, kind)?,
            (_, kind) => runs(&column.data, rows, kind)?,
        };
        Some(Column { spec: column.spec, data })
    };
    let mut ops = change.ops.iter().map(cut).collect::<Option<Vec<Column>>>()?;
    ops.retain(|column| !column.data.is_empty());
    Some(Change { ops, ..change.clone() })
}

/// Sum of the first numbers of a column, each shifted right.
fn sum(data: &[u8], mut rows: u64, shift: u32) -> Option<u64> {
    let (mut input, mut sum) = (Input(data), 0);
    while rows > 0 && !input.0.is_empty() {
        let count = input.signed()?;
        let here = rows.min(if count == 0 { input.unsigned()? } else { count.unsigned_abs() });
        match count {
            0 => {}
            1.. => sum += (input.unsigned()? >> shift) * here,
            _ => sum += (0..here).map(|_| Some(input.unsigned()? >> shift)).sum::<Option<u64>>()?,
        }
        rows -= here;
    }
    Some(sum)
}

/// The first cells of a column of runs.
fn runs(data: &[u8], mut rows: u64, kind: u64) -> Option<Vec<u8>> {
    let (mut input, mut out) = (Input(data), vec![]);
    while rows > 0 && !input.0.is_empty() {
        let count = input.signed()?;
        let here = rows.min(if count == 0 { input.unsigned()? } else { count.unsigned_abs() });
        let items = match count {
            0 => {
                put_signed(&mut out, 0);
                put_unsigned(&mut out, here);
                0
            }
            1.. => {
                put_signed(&mut out, here as i64);
                1
            }
            _ => {
                put_signed(&mut out, -(here as i64));
                here
            }
        };
        let before = input.0;
        for _ in 0..items {
            match kind {
                5 => input.prefixed().map(drop)?,
                // Signed and unsigned numbers have equal lengths.
                _ => input.unsigned().map(drop)?,
            }
        }
        out.extend(&before[..before.len() - input.0.len()]);
        rows -= here;
    }
    Some(out)
}

/// The first flags of a column.
fn flags(data: &[u8], mut rows: u64) -> Option<Vec<u8>> {
    let (mut input, mut out) = (Input(data), vec![]);
    while rows > 0 && !input.0.is_empty() {
        let here = input.unsigned()?.min(rows);
        put_unsigned(&mut out, here);
        rows -= here;
    }
    Some(out)
}
