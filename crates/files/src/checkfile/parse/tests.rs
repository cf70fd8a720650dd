//! One table per question; round trips against the writer.

use super::*;
use std::path::Path;

const HEX: &str = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";

fn text() -> Style {
    Style::default()
}

fn entry(line: &str) -> Result<(String, Vec<Note>), LineError> {
    match parse(line.as_bytes(), 2, text())? {
        Parsed::Entry(entry) => {
            assert_eq!(entry.digest[..2], [0xaf, 0x13]);
            Ok((entry.path.to_str().expect("UTF-8").to_owned(), entry.notes))
        }
        Parsed::Nothing(note) => panic!("{line} is no {note}"),
    }
}

#[test]
fn regular_lines() {
    for name in ["f", "a b", "a  b", " lead", "*star", "x) = y", "-", "#", "BLAKE3 (q) = r", "é"] {
        assert_eq!(entry(&format!("{HEX}  {name}")), Ok((name.to_owned(), vec![])));
        assert_eq!(entry(&format!("BLAKE3 ({name}) = {HEX}")), Ok((name.to_owned(), vec![])));
        assert_eq!(entry(&format!("{HEX}  {name}\r")), Ok((name.to_owned(), vec![])));
    }
}

#[test]
fn a_digest_within_a_name_changes_nothing() {
    let name = format!("{HEX}  f");
    assert_eq!(entry(&format!("{HEX}  {name}")), Ok((name.clone(), vec![])));
    assert_eq!(entry(&format!("BLAKE3 ({name}) = {HEX}")), Ok((name, vec![])));
}

#[test]
fn tolerated_lines_are_noted() {
    let upper = HEX.to_uppercase();
    assert_eq!(entry(&format!("{HEX} *f")), Ok(("f".to_owned(), vec![Note::Star])));
    assert_eq!(entry(&format!("{HEX} f")), Ok(("f".to_owned(), vec![Note::OneSpace])));
    assert_eq!(entry(&format!("{upper}  f")), Ok(("f".to_owned(), vec![Note::Uppercase])));
    assert_eq!(entry(&format!("BLAKE3 (f) = {upper}")), Ok(("f".to_owned(), vec![Note::Uppercase])));
    assert_eq!(parse(b"", 1, text()), Ok(Parsed::Nothing(Note::Blank)));
    assert_eq!(parse(b" \t\r", 1, text()), Ok(Parsed::Nothing(Note::Blank)));
    assert_eq!(parse(b"# x", 1, text()), Ok(Parsed::Nothing(Note::Comment)));
    let marked = format!("\u{feff}{HEX}  f");
    match parse(marked.as_bytes(), 1, text()) {
        Ok(Parsed::Entry(entry)) => assert_eq!(entry.notes, [Note::ByteOrderMark]),
        other => panic!("{other:?}"),
    }
    assert_eq!(entry(&marked), Err(LineError::Form), "the mark belongs to the first line only");
}

#[test]
fn malformed_lines() {
    let short = &HEX[1..];
    let digit = HEX.replace('b', "g");
    for (line, error) in [
        ("hello".to_owned(), LineError::Form),
        (HEX.to_owned(), LineError::Form),
        (format!("{HEX}\tf"), LineError::Form),
        (format!("{HEX}  "), LineError::NoName),
        (format!("BLAKE3 () = {HEX}"), LineError::NoName),
        (format!("BLAKE3 (f) {HEX}"), LineError::Form),
        (format!("BLAKE3 (f) = {HEX} "), LineError::DigestLength { digits: 65 }),
        (format!("SHA256 (f) = {HEX}"), LineError::OtherAlgorithm),
        (format!("{short}  f"), LineError::DigestLength { digits: 63 }),
        (format!("{HEX}00  f"), LineError::DigestLength { digits: 66 }),
        (format!("BLAKE3 (f) = {short}"), LineError::DigestLength { digits: 63 }),
        (format!("{digit}  f"), LineError::Digit { index: 6 }),
        (format!("BLAKE3 (f) = {digit}"), LineError::Digit { index: 6 }),
        (format!("{HEX}  a\0b"), LineError::Nul),
        (format!("{HEX}  a\u{fffd}"), LineError::Replacement),
        (format!("\\{HEX}  a\\"), LineError::Escape),
        (format!("\\{HEX}  a\\t"), LineError::Escape),
        (format!(" {HEX}  a"), LineError::Form),
    ] {
        assert_eq!(entry(&line), Err(error), "{line:?}");
    }
    assert_eq!(parse(b"\xff\xfea\0", 1, text()), Err(LineError::Utf16));
    assert_eq!(parse(b"ab\xff", 2, text()), Err(LineError::Encoding { offset: 2 }));
}

#[test]
fn labels_show_the_name_as_written() {
    let line = format!("\\{HEX}  a\\nb\\\\");
    if std::path::is_separator('\\') {
        // There it would divide the name.
        assert!(matches!(parse(line.as_bytes(), 1, text()), Err(LineError::Backslash)));
        return;
    }
    match parse(line.as_bytes(), 1, text()) {
        Ok(Parsed::Entry(entry)) => {
            assert_eq!(entry.path, Path::new("a\nb\\"));
            assert_eq!(entry.label, br"\a\nb\\");
        }
        other => panic!("{other:?}"),
    }
    // Without the mark in front, backslashes are themselves.
    assert_eq!(entry(&format!("{HEX}  a\\nb")).map(|(name, _)| name), Ok("a\\nb".to_owned()));
}

#[cfg(unix)]
#[test]
fn what_is_written_can_be_read() {
    use crate::checkfile::{Algorithm, Frame};
    use std::os::unix::ffi::OsStrExt;
    let names: [&[u8]; 10] =
        [b"f", b"a\\b", b"a\nb", b"a\rb\r", b"\\", b"a  b", b") = x (", b" ", b"#x", b"-"];
    for algorithm in [Algorithm::Blake3, Algorithm::Sha256] {
        for zero in [false, true] {
            let style = Style { algorithm, zero };
            let odd: &[u8] = if zero { b"\xff\xfe\x80" } else { b"g" };
            for name in names.into_iter().chain([odd]) {
                let path = Path::new(std::ffi::OsStr::from_bytes(name));
                for frame in [Frame::plain(path, style), Frame::tagged(path, style)] {
                    let mut line = [&frame.before, HEX.as_bytes(), &frame.after].concat();
                    line.pop();
                    match parse(&line, 1, style) {
                        Ok(Parsed::Entry(entry)) => assert_eq!((&*entry.path, entry.notes), (path, vec![])),
                        other => panic!("{}: {other:?}", line.escape_ascii()),
                    }
                }
            }
        }
    }
}
