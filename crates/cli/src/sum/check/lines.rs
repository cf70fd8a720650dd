//! The lines of a list as questions, read as they are needed.

use hashmill_files::checkfile::{Entry, LineError, Lines, Note, Parsed, Style, parse};
use std::io::{self, BufRead};

/// What is to be done about one line.
pub(super) enum Task {
    Compare(Entry),
    /// It says nothing that can be checked.
    Malformed(LineError),
    /// A line that only `--strict` counts as a failure.
    Odd(Note),
    /// The list itself cannot be read any further.
    Broken(io::Error),
}

/// A line, counted from 1.
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) task: Task,
}

/// All lines up to the end of the list, or to the first error.
pub(super) fn lines(reader: Box<dyn BufRead>, style: Style) -> impl Iterator<Item = Line> {
    let mut lines = Some(Lines::new(reader, style));
    std::iter::from_fn(move || {
        let line = match lines.as_mut()?.next_line() {
            Ok(None) => return None,
            Ok(Some(line)) => line,
            Err(error) => {
                lines = None;
                return Some(Line { number: 0, task: Task::Broken(error) });
            }
        };
        let parsed = line.bytes.ok_or(LineError::TooLong).and_then(|bytes| parse(bytes, line.number, style));
        let task = match parsed {
            Ok(Parsed::Entry(entry)) => Task::Compare(entry),
            Ok(Parsed::Nothing(note)) => Task::Odd(note),
            Err(error) => Task::Malformed(error),
        };
        Some(Line { number: line.number, task })
    })
}
