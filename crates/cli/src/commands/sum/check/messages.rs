//! Messages of a check, by personality.

use super::counts::LineCounts;
use crate::output::display_path;
use crate::personality::Personality;
use hashmill_files::checksum_list::{Entry, LineError, LineWarning};
use std::borrow::Cow;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Whether an unusual but unambiguous line is accepted.
pub(super) fn accepts(personality: Personality, note: LineWarning) -> bool {
    match personality {
        Personality::Hashmill => true,
        Personality::B3sum => note == LineWarning::ByteOrderMark,
        Personality::Gnu(_) => ![LineWarning::ByteOrderMark, LineWarning::Base64].contains(&note),
    }
}

/// The name of a list in messages.
pub(super) fn list_name(personality: Personality, list: &Path) -> Cow<'_, str> {
    match personality {
        Personality::Gnu(_) if list.as_os_str() == "-" => Cow::Borrowed("'standard input'"),
        _ => display_path(list),
    }
}

/// The name of a listed file in messages.
pub(super) fn file_name(personality: Personality, entry: &Entry) -> &[u8] {
    let name = entry.path.as_os_str().as_encoded_bytes();
    match personality {
        // GNU's programs escape only names with line ends.
        Personality::Gnu(_) if !name.contains(&b'\n') => name,
        _ => &entry.label,
    }
}

/// The message for an unreadable list.
pub(super) fn list_error(personality: Personality, error: &io::Error) -> String {
    match personality {
        // GNU's programs open a directory like a file, so they have no error of the system.
        Personality::Gnu(_) if error.kind() == ErrorKind::IsADirectory => "read error".to_owned(),
        _ => personality.error_text(error),
    }
}

/// The message of `b3sum` for a refused line.
pub(super) fn refused_line(notes: &[LineWarning]) -> &'static str {
    match notes.first() {
        Some(LineWarning::Blank) => "Empty line",
        Some(LineWarning::Uppercase) => "Invalid hex",
        Some(LineWarning::Base64) => "Invalid hash length",
        _ => "Invalid check line format",
    }
}

/// The message for a malformed line; `None` if the personality prints none.
pub(super) fn malformed_line(
    personality: Personality,
    list: &str,
    line: u64,
    error: &LineError,
    warn: bool,
) -> Option<String> {
    match personality {
        Personality::Hashmill => Some(format!("{list}:{line}: {error}")),
        Personality::B3sum => Some(
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
        Personality::Gnu(algorithm) => {
            warn.then(|| format!("{list}: {line}: improperly formatted {} checksum line", algorithm.tag()))
        }
    }
}

/// The text after the name of an unreadable file.
pub(super) fn unreadable_file(personality: Personality, error: &str) -> String {
    match personality {
        Personality::Gnu(_) => "FAILED open or read".to_owned(),
        _ => format!("FAILED ({error})"),
    }
}

/// The message for a list without checksums.
pub(super) fn empty_list(personality: Personality) -> Option<&'static str> {
    match personality {
        Personality::Hashmill => Some("no checksum lines found"),
        Personality::B3sum => None,
        Personality::Gnu(_) => Some("no properly formatted checksum lines found"),
    }
}

/// Warnings with the counts, at the end.
pub(super) fn warnings(personality: Personality, counts: &LineCounts) -> Vec<String> {
    let kind = |count: u64, one: &str, more: &str| match count {
        0 => None,
        1 => Some(format!("WARNING: 1 {one}")),
        _ => Some(format!("WARNING: {count} {more}")),
    };
    let differ = |count| kind(count, "computed checksum did NOT match", "computed checksums did NOT match");
    let unread = |count| kind(count, "listed file could not be read", "listed files could not be read");
    let lines = match personality {
        Personality::Hashmill => vec![
            differ(counts.differ),
            kind(counts.missing, "listed file does not exist", "listed files do not exist"),
            unread(counts.unreadable),
            kind(counts.malformed, "line is malformed", "lines are malformed"),
            kind(counts.refused, "line was refused", "lines were refused"),
        ],
        Personality::B3sum => vec![differ(counts.failures())],
        Personality::Gnu(_) => vec![
            kind(counts.malformed, "line is improperly formatted", "lines are improperly formatted"),
            unread(counts.missing + counts.unreadable),
            differ(counts.differ),
        ],
    };
    lines.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_files::checksum_list::Algorithm;

    #[test]
    fn warnings_depend_on_the_personality() {
        let counts =
            LineCounts { matched: 14, differ: 1, missing: 2, unreadable: 1, malformed: 1, refused: 3 };
        assert_eq!(
            warnings(Personality::Hashmill, &counts),
            [
                "WARNING: 1 computed checksum did NOT match",
                "WARNING: 2 listed files do not exist",
                "WARNING: 1 listed file could not be read",
                "WARNING: 1 line is malformed",
                "WARNING: 3 lines were refused",
            ]
        );
        assert_eq!(warnings(Personality::B3sum, &counts), ["WARNING: 8 computed checksums did NOT match"]);
        assert_eq!(
            warnings(Personality::Gnu(Algorithm::Sha256), &counts),
            [
                "WARNING: 1 line is improperly formatted",
                "WARNING: 3 listed files could not be read",
                "WARNING: 1 computed checksum did NOT match",
            ]
        );
        assert!(
            warnings(Personality::Hashmill, &LineCounts { matched: 1, ..LineCounts::default() }).is_empty()
        );
    }
}
