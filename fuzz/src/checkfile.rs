//! No list of digests may panic, and what is understood of it can be written and read again without a change.

use std::fmt::Write as _;

use hashmill_files::checkfile::{
    Algorithm, Entry, Frame, LINE_LIMIT, Lines, List, Note, Parsed, Style, parse,
};

/// The first byte chooses the style, the rest is the list.
pub fn checkfile(data: &[u8]) {
    let Some((&first, list)) = data.split_first() else { return };
    let algorithm = if first & 1 == 0 { Algorithm::Blake3 } else { Algorithm::Sha256 };
    let zero = first & 2 != 0;
    let style = Style { algorithm, zero, bytes: first & 4 != 0, ..Style::default() };
    whole(list, style);
    for entry in read(list, style) {
        let algorithm = entry.algorithm.unwrap_or(algorithm);
        let style = Style { algorithm, ..style };
        for frame in [Frame::plain(&entry.path, style), Frame::tagged(&entry.path, style)] {
            let written = render(&frame, &entry.digest);
            // Escapes can make a name that just fitted longer than any line may be.
            if written.len() > LINE_LIMIT {
                continue;
            }
            let again = read(&written, style);
            let [again] = again.as_slice() else { panic!("{} is one line", written.escape_ascii()) };
            assert_eq!((&again.path, &again.digest), (&entry.path, &entry.digest));
            let no_notes: &[Note] = &[];
            assert_eq!(again.notes, no_notes, "we write nothing that is only tolerated");
        }
    }
}

/// The entries of a list. Whatever else is in it has a reason that can be shown.
fn read(list: &[u8], style: Style) -> Vec<Entry> {
    let mut lines = Lines::new(list, style);
    let mut entries = Vec::new();
    let mut count = 0;
    while let Some(line) = lines.next_line().expect("memory does not fail") {
        count += 1;
        assert_eq!(line.number, count);
        let Some(bytes) = line.bytes else { continue };
        assert!(bytes.len() <= LINE_LIMIT);
        match parse(bytes, line.number, style) {
            Ok(Parsed::Entry(entry)) => {
                assert!(!entry.path.as_os_str().is_empty());
                entries.push(entry);
            }
            Ok(Parsed::Nothing(note)) => assert!(!note.to_string().is_empty()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    entries
}

/// The same as a list of whatever kind: what is in it has the form of an entry, or a reason.
fn whole(list: &[u8], style: Style) {
    let mut list = List::new(list, style);
    while let Some((_, parsed)) = list.next_line().expect("memory does not fail") {
        match parsed {
            Ok(Parsed::Entry(entry)) => {
                assert!(!entry.path.as_os_str().is_empty() && entry.digest.len() >= 16);
            }
            Ok(Parsed::Nothing(note)) => assert!(!note.to_string().is_empty()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn render(frame: &Frame, digest: &[u8]) -> Vec<u8> {
    let mut hex = String::new();
    digest.iter().for_each(|byte| write!(hex, "{byte:02x}").expect("memory does not fail"));
    [&frame.before, hex.as_bytes(), &frame.after].concat()
}
