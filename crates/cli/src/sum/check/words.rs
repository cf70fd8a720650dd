//! What a check says: in our words, or in those of the program that was called.

use super::tally::Tally;
use crate::out::shown;
use crate::program::Program;
use hashmill_files::checkfile::{Entry, LineError, Note};
use std::borrow::Cow;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Whether a line that is odd, but can mean one thing only, is taken for that.
pub(super) fn accepts(program: Program, note: Note) -> bool {
    match program {
        Program::Hashmill => true,
        Program::B3sum => note == Note::ByteOrderMark,
        Program::Gnu(_) => ![Note::ByteOrderMark, Note::Base64].contains(&note),
    }
}

/// What a list is called.
pub(super) fn list(program: Program, list: &Path) -> Cow<'_, str> {
    match program {
        Program::Gnu(_) if list.as_os_str() == "-" => Cow::Borrowed("'standard input'"),
        _ => shown(list),
    }
}

/// What a file of a list is called.
pub(super) fn label(program: Program, entry: &Entry) -> &[u8] {
    let name = entry.path.as_os_str().as_encoded_bytes();
    match program {
        // They escape only what would not be one line.
        Program::Gnu(_) if !name.contains(&b'\n') => name,
        _ => &entry.label,
    }
}

/// Why a list cannot be read.
pub(super) fn unread_list(program: Program, error: &io::Error) -> String {
    match program {
        // They open a directory like any file, and have no error of the system's when nothing comes out.
        Program::Gnu(_) if error.kind() == ErrorKind::IsADirectory => "read error".to_owned(),
        _ => program.words(error),
    }
}

/// What `b3sum` says of such a line.
pub(super) fn refused(notes: &[Note]) -> &'static str {
    match notes.first() {
        Some(Note::Blank) => "Empty line",
        Some(Note::Uppercase) => "Invalid hex",
        Some(Note::Base64) => "Invalid hash length",
        _ => "Invalid check line format",
    }
}

/// Why a line is no checksum; nothing if that is not said.
pub(super) fn no_checksum(
    program: Program,
    list: &str,
    line: u64,
    error: &LineError,
    warn: bool,
) -> Option<String> {
    match program {
        Program::Hashmill => Some(format!("{list}:{line}: {error}")),
        Program::B3sum => Some(
            match error {
                LineError::Nul => "Null character in path",
                LineError::Replacement => "Unicode replacement character in path",
                LineError::Backslash => "Backslash in path",
                LineError::Escape => "Invalid backslash escape",
                LineError::NoName => "empty file path",
                LineError::Digit { .. } => "Invalid hex",
                LineError::DigestLength { .. } => "Invalid hash length",
                _ => "Invalid check line format",
            }
            .to_owned(),
        ),
        Program::Gnu(algorithm) => {
            warn.then(|| format!("{list}: {line}: improperly formatted {} checksum line", algorithm.tag()))
        }
    }
}

/// What stands after the name of a file that could not be read.
pub(super) fn unread(program: Program, error: &str) -> String {
    match program {
        Program::Gnu(_) => "FAILED open or read".to_owned(),
        _ => format!("FAILED ({error})"),
    }
}

/// A list without a checksum.
pub(super) fn no_lines(program: Program) -> Option<&'static str> {
    match program {
        Program::Hashmill => Some("no checksum lines found"),
        Program::B3sum => None,
        Program::Gnu(_) => Some("no properly formatted checksum lines found"),
    }
}

/// The numbers at the end, over all lists.
pub(super) fn warnings(program: Program, tally: &Tally) -> Vec<String> {
    let kind = |count: u64, one: &str, more: &str| match count {
        0 => None,
        1 => Some(format!("WARNING: 1 {one}")),
        _ => Some(format!("WARNING: {count} {more}")),
    };
    let differ = |count| kind(count, "computed checksum did NOT match", "computed checksums did NOT match");
    let unread = |count| kind(count, "listed file could not be read", "listed files could not be read");
    let lines = match program {
        Program::Hashmill => vec![
            differ(tally.differ),
            kind(tally.missing, "listed file does not exist", "listed files do not exist"),
            unread(tally.unreadable),
            kind(tally.malformed, "line is no checksum", "lines are no checksums"),
            kind(tally.refused, "line was refused", "lines were refused"),
        ],
        Program::B3sum => vec![differ(tally.failures())],
        Program::Gnu(_) => vec![
            kind(tally.malformed, "line is improperly formatted", "lines are improperly formatted"),
            unread(tally.missing + tally.unreadable),
            differ(tally.differ),
        ],
    };
    lines.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_files::checkfile::Algorithm;

    #[test]
    fn kinds_are_told_apart_as_each_program_does() {
        let tally = Tally { matched: 14, differ: 1, missing: 2, unreadable: 1, malformed: 1, refused: 3 };
        assert_eq!(
            warnings(Program::Hashmill, &tally),
            [
                "WARNING: 1 computed checksum did NOT match",
                "WARNING: 2 listed files do not exist",
                "WARNING: 1 listed file could not be read",
                "WARNING: 1 line is no checksum",
                "WARNING: 3 lines were refused",
            ]
        );
        assert_eq!(warnings(Program::B3sum, &tally), ["WARNING: 8 computed checksums did NOT match"]);
        assert_eq!(
            warnings(Program::Gnu(Algorithm::Sha256), &tally),
            [
                "WARNING: 1 line is improperly formatted",
                "WARNING: 3 listed files could not be read",
                "WARNING: 1 computed checksum did NOT match",
            ]
        );
        assert!(warnings(Program::Hashmill, &Tally { matched: 1, ..Tally::default() }).is_empty());
    }
}
