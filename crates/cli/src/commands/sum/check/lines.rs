//! LineReader of a checksum list as tasks, read on demand.

use crate::personality::Personality;
use hashmill_files::checksum_list::{
    Entry, LineError, LineReader, LineWarning, ListFormat, ListReader, ParsedLine, parse,
};
use std::io::{self, BufRead};

/// What to do for a line.
pub(super) enum Task {
    Compare(Entry),
    /// Report a malformed line.
    Malformed(LineError),
    /// Accept a line that only `--strict` counts as a failure.
    Odd(LineWarning),
    /// The list cannot be read any further.
    ReadError(io::Error),
}

/// A line and its number, from 1.
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) task: Task,
}

/// All lines up to the end of the list or the first read error. Other personalities accept only plain lines with a digest and a
/// name, GNU's programs also after blanks.
pub(super) fn lines(
    reader: Box<dyn BufRead>,
    style: ListFormat,
    personality: Personality,
) -> impl Iterator<Item = Line> {
    let mut lines = Some(match personality {
        Personality::Hashmill => LineSource::List(ListReader::new(reader, style)),
        _ => LineSource::Plain(LineReader::new(reader, style), style, personality),
    });
    std::iter::from_fn(move || {
        let (number, parsed) = match lines.as_mut()?.next_line() {
            Ok(None) => return None,
            Ok(Some(line)) => line,
            Err(error) => {
                lines = None;
                return Some(Line { number: 0, task: Task::ReadError(error) });
            }
        };
        let task = match parsed {
            Ok(ParsedLine::Entry(entry)) => Task::Compare(entry),
            Ok(ParsedLine::Nothing(note)) => Task::Odd(note),
            Err(error) => Task::Malformed(error),
        };
        Some(Line { number, task })
    })
}

enum LineSource {
    Plain(LineReader<Box<dyn BufRead>>, ListFormat, Personality),
    List(ListReader<Box<dyn BufRead>>),
}

impl LineSource {
    fn next_line(&mut self) -> io::Result<Option<(u64, Result<ParsedLine, LineError>)>> {
        match self {
            LineSource::List(list) => list.next_line(),
            LineSource::Plain(lines, style, personality) => {
                let Some(line) = lines.next_line()? else { return Ok(None) };
                let begin = |bytes: &'_ [u8]| match personality {
                    Personality::Gnu(_) => {
                        bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
                    }
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
