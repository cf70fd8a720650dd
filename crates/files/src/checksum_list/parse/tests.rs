//! Tests of the parser: one table per question, and round trips with the writer.

use super::super::Algorithm;
use super::*;
use std::path::Path;

const HEX: &str = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";

fn text() -> ListFormat {
    ListFormat::default()
}

fn entry(line: &str) -> Result<(String, Vec<LineWarning>), LineError> {
    match parse(line.as_bytes(), 2, text())? {
        ParsedLine::Entry(entry) => {
            assert_eq!(entry.digest[..2], [0xaf, 0x13]);
            Ok((entry.path.to_str().expect("UTF-8").to_owned(), entry.notes))
        }
        ParsedLine::Nothing(note) => panic!("{line} is no {note}"),
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
    assert_eq!(entry(&format!("{HEX} *f")), Ok(("f".to_owned(), vec![LineWarning::Star])));
    assert_eq!(entry(&format!("{HEX} f")), Ok(("f".to_owned(), vec![LineWarning::OneSpace])));
    assert_eq!(entry(&format!("{upper}  f")), Ok(("f".to_owned(), vec![LineWarning::Uppercase])));
    assert_eq!(entry(&format!("BLAKE3 (f) = {upper}")), Ok(("f".to_owned(), vec![LineWarning::Uppercase])));
    assert_eq!(parse(b"", 1, text()), Ok(ParsedLine::Nothing(LineWarning::Blank)));
    assert_eq!(parse(b" \t\r", 1, text()), Ok(ParsedLine::Nothing(LineWarning::Blank)));
    assert_eq!(parse(b"# x", 1, text()), Ok(ParsedLine::Nothing(LineWarning::Comment)));
    let marked = format!("\u{feff}{HEX}  f");
    match parse(marked.as_bytes(), 1, text()) {
        Ok(ParsedLine::Entry(entry)) => assert_eq!(entry.notes, [LineWarning::ByteOrderMark]),
        other => panic!("{other:?}"),
    }
    assert_eq!(entry(&marked), Err(LineError::Form), "the mark belongs to the first line only");
}

#[test]
fn digests_in_base64() {
    let base64 = "rxNJufX5oaagQE3qNtzJSZvLJcmtwRK3zJqTyuQfMmI=";
    let url = base64.replace('+', "-").replace('/', "_");
    for (line, name) in [
        (format!("{base64}  f"), "f"),
        (format!("{url}  a  b"), "a  b"),
        (format!("BLAKE3 (x) = {base64}"), "x"),
    ] {
        assert_eq!(entry(&line), Ok((name.to_owned(), vec![LineWarning::Base64])), "{line}");
    }
    let both = |digest: &str| match parse(format!("{digest}  f").as_bytes(), 1, text()) {
        Ok(ParsedLine::Entry(entry)) => Ok((entry.digest, entry.algorithm)),
        Ok(ParsedLine::Nothing(note)) => panic!("{digest} is no {note}"),
        Err(error) => Err(error),
    };
    // Every letter, in either alphabet; the others are zeros.
    let all = [0xfb, 0xff, 0xbf].repeat(5);
    let md5 = [all.as_slice(), &[0xfb]].concat();
    for text in ["+/+/".repeat(5) + "+w==", "-_-_".repeat(5) + "-w=="] {
        assert_eq!(both(&text), Ok((md5.clone(), Some(Algorithm::Md5))), "{text}");
    }
    assert_eq!(both(&("A".repeat(26) + "A=")), Ok((vec![0; 20], Some(Algorithm::Sha1))));
    assert_eq!(both(&("A".repeat(86) + "==")), Ok((vec![0; 64], Some(Algorithm::Sha512))));
    for wrong in [
        base64.replace("mI=", "mJ="),
        base64.replace('=', ""),
        base64.replace('=', "=="),
        base64.replacen('r', "!", 1),
        base64.replacen('X', " ", 1),
        "+/-_".repeat(5) + "+w==",
        "AAA=".to_owned(),
        "====".to_owned(),
        "=".to_owned(),
    ] {
        assert!(both(&wrong).is_err(), "{wrong}");
    }
    let error = entry(&format!("MD5 (f) = {base64}")).expect_err("too long for it");
    assert_eq!(error, LineError::DigestLength { digits: 64, expected: Some(32) });
}

#[test]
fn malformed_lines() {
    let short = &HEX[1..];
    let length = |digits, expected| LineError::DigestLength { digits, expected };
    let digit = HEX.replace('b', "g");
    for (line, error) in [
        ("hello".to_owned(), LineError::Form),
        (HEX.to_owned(), LineError::Form),
        (format!("{HEX}\tf"), LineError::Form),
        (format!("{HEX}  "), LineError::NoName),
        (format!("BLAKE3 () = {HEX}"), LineError::NoName),
        (format!("BLAKE3 (f) {HEX}"), LineError::Form),
        (format!("BLAKE3 (f) = {HEX} "), length(65, Some(64))),
        (format!("SHA-256 (f) = {HEX}"), LineError::OtherAlgorithm { known: None }),
        (format!("{short}  f"), length(63, None)),
        (format!("{HEX}00  f"), length(66, None)),
        (format!("BLAKE3 (f) = {short}"), length(63, Some(64))),
        (format!("SHA512 (f) = {HEX}"), length(64, Some(128))),
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
    assert_eq!(parse(b"ab\xff", 2, text()), Err(LineError::Form));
}

#[test]
fn tags_name_the_function_and_so_do_digests_that_only_one_has() {
    let hex = HEX.repeat(2);
    for algorithm in Algorithm::ALL {
        let digits = &hex[..2 * algorithm.digest_len()];
        let alone = Algorithm::by_digest_len(algorithm.digest_len()).count() == 1;
        for (line, expected) in [
            (format!("{} (f) = {digits}", algorithm.tag()), Some(algorithm)),
            (format!("{digits}  f"), alone.then_some(algorithm)),
        ] {
            match parse(line.as_bytes(), 1, text()) {
                Ok(ParsedLine::Entry(entry)) => assert_eq!(entry.algorithm, expected, "{line}"),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn another_length_counts_if_it_is_requested() {
    let style = ListFormat { length: std::num::NonZero::new(20), ..text() };
    let read = |line: &str| match parse(line.as_bytes(), 1, style) {
        Ok(ParsedLine::Entry(entry)) => Ok((entry.algorithm, entry.digest.len())),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error),
    };
    let (short, blake3) = (&HEX[..40], Some(Algorithm::Blake3));
    assert_eq!(read(&format!("{short}  f")), Ok((blake3, 20)));
    assert_eq!(read(&format!("BLAKE3 (f) = {short}")), Ok((blake3, 20)));
    assert_eq!(read(&format!("SHA1 (f) = {short}")), Ok((Some(Algorithm::Sha1), 20)));
    for line in [format!("{HEX}  f"), format!("BLAKE3 (f) = {HEX}")] {
        assert_eq!(read(&line), Err(LineError::DigestLength { digits: 64, expected: Some(40) }));
    }
}

#[test]
fn digests_of_other_programs_are_recognised() {
    for (tag, digits) in [("SHA224", 56), ("SHA384", 96)] {
        let hex = HEX.repeat(2);
        for line in [format!("{}  f", &hex[..digits]), format!("{tag} (f) = {}", &hex[..digits])] {
            let error = entry(&line).expect_err("not ours");
            let known = error.foreign().expect("a usual one");
            assert_eq!(known.name.replace('-', ""), tag);
            assert!(error.to_string().contains(known.program), "{error}");
        }
    }
    let error = entry(&format!("BLAKE2b (f) = {}", HEX.repeat(2))).expect_err("not ours");
    assert_eq!(error.to_string(), "a digest of BLAKE2b, which is not known here; see b2sum");
    let error = entry(&format!("{}  f", &HEX.repeat(2)[..96])).expect_err("not ours").to_string();
    let expected = "the digest has 96 hex digits, as that of SHA-384 (see sha384sum) or SHA3-384 (see rhash), \
                    or of BLAKE3 with --length 48";
    assert_eq!(error, expected);
    let error = entry(&format!("{}  f", &HEX[1..])).expect_err("too short").to_string();
    assert_eq!(error, "the digest has 63 hex digits, as that of no function known here; see --length");
}

#[cfg(unix)]
#[test]
fn predicts_names_that_survive_a_round_trip() {
    use crate::checksum_list::{LineTemplate, can_be_read_back};
    use std::os::unix::ffi::OsStrExt;
    for (name, as_text) in [
        (&b"f"[..], true),
        (b"a\\b\nc\r", true),
        ("\u{fffd}".as_bytes(), false),
        (b"\xff", false),
        (b"a\xffb/c", false),
    ] {
        let path = Path::new(std::ffi::OsStr::from_bytes(name));
        let no_utf8 = std::str::from_utf8(name).is_err();
        for (zero, bytes, expected) in
            [(false, false, as_text), (true, false, true), (false, true, as_text || no_utf8)]
        {
            let style = ListFormat { zero, bytes, ..text() };
            assert_eq!(can_be_read_back(path, style), expected, "{}", name.escape_ascii());
            let frame = LineTemplate::plain(path, style);
            let mut line = [&frame.before, HEX.as_bytes(), &frame.after].concat();
            line.pop();
            // The reader knows only the line end.
            let style = ListFormat { zero, ..text() };
            let read = matches!(parse(&line, 1, style), Ok(ParsedLine::Entry(entry)) if entry.path == path);
            assert_eq!(read, expected, "{}", name.escape_ascii());
        }
    }
}

#[test]
fn labels_show_the_name_as_written() {
    let line = format!("\\{HEX}  a\\nb\\\\");
    if std::path::is_separator('\\') {
        // On this system it would divide the name.
        assert!(matches!(parse(line.as_bytes(), 1, text()), Err(LineError::Backslash)));
        return;
    }
    match parse(line.as_bytes(), 1, text()) {
        Ok(ParsedLine::Entry(entry)) => {
            assert_eq!(entry.path, Path::new("a\nb\\"));
            assert_eq!(entry.label, br"\a\nb\\");
        }
        other => panic!("{other:?}"),
    }
    // Without the leading mark, backslashes are ordinary characters.
    assert_eq!(entry(&format!("{HEX}  a\\nb")).map(|(name, _)| name), Ok("a\\nb".to_owned()));
}

#[cfg(unix)]
#[test]
fn what_is_written_can_be_read() {
    use crate::checksum_list::LineTemplate;
    use std::os::unix::ffi::OsStrExt;
    let names: [&[u8]; 10] =
        [b"f", b"a\\b", b"a\nb", b"a\rb\r", b"\\", b"a  b", b") = x (", b" ", b"#x", b"-"];
    for algorithm in [Algorithm::Blake3, Algorithm::Sha256] {
        for zero in [false, true] {
            let style = ListFormat { algorithm, zero, bytes: !zero, ..text() };
            let odd: &[u8] = b"\xff\xfe\x80";
            for name in names.into_iter().chain([odd]) {
                let path = Path::new(std::ffi::OsStr::from_bytes(name));
                for frame in [LineTemplate::plain(path, style), LineTemplate::tagged(path, style)] {
                    let mut line = [&frame.before, HEX.as_bytes(), &frame.after].concat();
                    line.pop();
                    match parse(&line, 1, style) {
                        Ok(ParsedLine::Entry(entry)) => {
                            assert_eq!((&*entry.path, entry.notes), (path, vec![]));
                        }
                        other => panic!("{}: {other:?}", line.escape_ascii()),
                    }
                }
            }
        }
    }
}
