//! Run-length encoding of columns in canonical form: the longest runs, and no empty ones.

use super::numbers::{put_signed, put_unsigned};

/// Appends values: runs of equal ones, runs of nulls, and literals.
pub(crate) fn put_runs<T: PartialEq>(
    out: &mut Vec<u8>,
    values: &[Option<T>],
    put: impl Fn(&mut Vec<u8>, &T),
) {
    let mut at = 0;
    while at < values.len() {
        let count = values[at..].iter().take_while(|value| **value == values[at]).count();
        match &values[at] {
            None => {
                put_signed(out, 0);
                put_unsigned(out, count as u64);
                at += count;
            }
            Some(value) if count > 1 => {
                put_signed(out, count as i64);
                put(out, value);
                at += count;
            }
            Some(_) => {
                // Up to the next null, or the next value that repeats.
                let is_literal =
                    |at: &usize| values[*at].is_some() && values.get(at + 1) != Some(&values[*at]);
                let end = at + (at..values.len()).take_while(is_literal).count();
                put_signed(out, -((end - at) as i64));
                values[at..end].iter().flatten().for_each(|value| put(out, value));
                at = end;
            }
        }
    }
}

/// Appends flags: counts of equal ones, by turns, false first.
pub(crate) fn put_flags(out: &mut Vec<u8>, flags: &[bool]) {
    let (mut at, mut flag) = (0, false);
    while at < flags.len() {
        let count = flags[at..].iter().take_while(|found| **found == flag).count();
        put_unsigned(out, count as u64);
        (at, flag) = (at + count, !flag);
    }
}

/// Each value less the one before it; nulls stay.
pub(crate) fn differences(values: &[Option<i64>]) -> Vec<Option<i64>> {
    let mut last = 0_i64;
    let mut step = |value: i64| value.wrapping_sub(std::mem::replace(&mut last, value));
    values.iter().map(|value| value.map(&mut step)).collect()
}
