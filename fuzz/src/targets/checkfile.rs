//! Fuzz target for checksum lists: no panic, and parsed entries round-trip.

use hashmill_files::checksum_list::{
    Algorithm, Entry, LINE_LIMIT, LineReader, LineTemplate, LineWarning, ListFormat, ListReader, ParsedLine,
    parse,
};
use hashmill_testkit::hex;

/// The first byte chooses the style, the rest is the list.
pub fn checkfile(data: &[u8]) {
    let Some((&first, list)) = data.split_first() else { return };
    let algorithm = if first & 1 == 0 { Algorithm::Blake3 } else { Algorithm::Sha256 };
    let zero = first & 2 != 0;
    let style = ListFormat { algorithm, zero, bytes: first & 4 != 0, ..ListFormat::default() };
    whole(list, style);
    for entry in read(list, style) {
        let algorithm = entry.algorithm.unwrap_or(algorithm);
        let style = ListFormat { algorithm, ..style };
        for frame in [LineTemplate::plain(&entry.path, style), LineTemplate::tagged(&entry.path, style)] {
            let written = render(&frame, &entry.digest);
            // Escapes can make the line of a name exceed the maximum length.
            if written.len() > LINE_LIMIT {
                continue;
            }
            let again = read(&written, style);
            let [again] = again.as_slice() else { panic!("{} is one line", written.escape_ascii()) };
            assert_eq!((&again.path, &again.digest), (&entry.path, &entry.digest));
            let no_notes: &[LineWarning] = &[];
            assert_eq!(again.notes, no_notes, "we write nothing that is only tolerated");
        }
    }
}

/// The entries of a list. Every other line has a reason that can be formatted.
fn read(list: &[u8], style: ListFormat) -> Vec<Entry> {
    let mut lines = LineReader::new(list, style);
    let mut entries = Vec::new();
    let mut count = 0;
    while let Some(line) = lines.next_line().expect("memory does not fail") {
        count += 1;
        assert_eq!(line.number, count);
        let Some(bytes) = line.bytes else { continue };
        assert!(bytes.len() <= LINE_LIMIT);
        match parse(bytes, line.number, style) {
            Ok(ParsedLine::Entry(entry)) => {
                assert!(!entry.path.as_os_str().is_empty());
                entries.push(entry);
            }
            Ok(ParsedLine::Nothing(note)) => assert!(!note.to_string().is_empty()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    entries
}

/// As above, with detection of the kind of list: each line is an entry or has a reason.
fn whole(list: &[u8], style: ListFormat) {
    let mut list = ListReader::new(list, style);
    while let Some((_, parsed)) = list.next_line().expect("memory does not fail") {
        match parsed {
            Ok(ParsedLine::Entry(entry)) => {
                assert!(!entry.path.as_os_str().is_empty() && entry.digest.len() >= 16);
            }
            Ok(ParsedLine::Nothing(note)) => assert!(!note.to_string().is_empty()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn render(frame: &LineTemplate, digest: &[u8]) -> Vec<u8> {
    [&frame.before, hex::encode(digest).as_bytes(), &frame.after].concat()
}
