//! The lines of a list as questions, read as they are needed.

use crate::program::Program;
use hashmill_files::checkfile::{Entry, LineError, Lines, List, Note, Parsed, Style, parse};
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

/// All lines up to the end of the list, or to the first error. `plain` lists are what other programs take for one: nothing
/// but lines with a digest and a name, for GNU's programs also behind blanks.
pub(super) fn lines(reader: Box<dyn BufRead>, style: Style, program: Program) -> impl Iterator<Item = Line> {
    let mut lines = Some(match program {
        Program::Hashmill => Either::List(List::new(reader, style)),
        _ => Either::Plain(Lines::new(reader, style), style, program),
    });
    std::iter::from_fn(move || {
        let (number, parsed) = match lines.as_mut()?.next_line() {
            Ok(None) => return None,
            Ok(Some(line)) => line,
            Err(error) => {
                lines = None;
                return Some(Line { number: 0, task: Task::Broken(error) });
            }
        };
        let task = match parsed {
            Ok(Parsed::Entry(entry)) => Task::Compare(entry),
            Ok(Parsed::Nothing(note)) => Task::Odd(note),
            Err(error) => Task::Malformed(error),
        };
        Some(Line { number, task })
    })
}

enum Either {
    Plain(Lines<Box<dyn BufRead>>, Style, Program),
    List(List<Box<dyn BufRead>>),
}

impl Either {
    fn next_line(&mut self) -> io::Result<Option<(u64, Result<Parsed, LineError>)>> {
        match self {
            Either::List(list) => list.next_line(),
            Either::Plain(lines, style, program) => {
                let Some(line) = lines.next_line()? else { return Ok(None) };
                let begin = |bytes: &'_ [u8]| match program {
                    Program::Gnu(_) => bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count(),
                    _ => 0,
                };
                let parsed = line
                    .bytes
                    .ok_or(LineError::TooLong)
                    .and_then(|bytes| parse(&bytes[begin(bytes)..], line.number, *style));
                Ok(Some((line.number, parsed)))
            }
        }
    }
}
