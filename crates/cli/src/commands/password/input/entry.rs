//! Entries of password files: `passwd`-like lines and CSV.

use crate::flags::{CsvColumn, FileFlags, UsageError};
use anyhow::{Result, bail};
use std::ops::Range;

/// Layout of the lines.
pub(in super::super) enum Layout {
    /// A hash alone, or after a name and a colon, with further fields after another colon.
    Lines,
    /// CSV columns.
    Csv {
        column: CsvColumn,
        delimiter: u8,
        /// The index of the column, from 0, once it is known.
        index: Option<usize>,
    },
}

/// An entry of a password file.
#[derive(Clone)]
pub(in super::super) struct Entry {
    pub(in super::super) line: u64,
    /// The user name, if the line has one.
    pub(in super::super) name: Option<String>,
    pub(in super::super) field: Field,
    /// The range of the field in the line, with quotation marks.
    pub(in super::super) range: Range<usize>,
    /// The field is in quotation marks.
    pub(in super::super) quoted: bool,
    /// The column delimiter, for CSV.
    pub(in super::super) delimiter: Option<u8>,
}

/// Content of the password field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in super::super) enum Field {
    /// A hash, not yet decoded.
    Hash(String),
    /// No password gives access.
    Locked,
    /// No hash, and why.
    Missing(&'static str),
}

impl Entry {
    /// The name of the entry in text output.
    pub(in super::super) fn label(&self) -> String {
        match &self.name {
            Some(name) if name.contains(char::is_control) => name.escape_debug().to_string(),
            Some(name) => name.clone(),
            None => self.line.to_string(),
        }
    }

    /// An entry for a single hash.
    pub(in super::super) fn single(hash: String) -> Entry {
        let range = 0..hash.len();
        Entry { line: 1, name: None, field: Field::Hash(hash), range, quoted: false, delimiter: None }
    }

    /// The text that replaces the field for a new hash.
    pub(in super::super) fn replacement(&self, hash: &str) -> String {
        let contains = |delimiter| hash.as_bytes().contains(&delimiter);
        if self.quoted || self.delimiter.is_some_and(contains) {
            format!("\"{hash}\"")
        } else {
            hash.to_owned()
        }
    }
}

impl Layout {
    pub(in super::super) fn from_flags(flags: &FileFlags) -> Result<Layout> {
        let Some(column) = &flags.csv else { return Ok(Layout::Lines) };
        let Ok(delimiter) = u8::try_from(flags.delimiter) else {
            bail!(UsageError("--delimiter: choose an ASCII character".to_owned()));
        };
        let index = match column {
            CsvColumn::Number(number) => Some(number - 1),
            CsvColumn::Name(_) => None,
        };
        Ok(Layout::Csv { column: column.clone(), delimiter, index })
    }

    /// The entry on a line; `None` for an empty line, a comment or a header.
    pub(in super::super) fn entry(&mut self, line: u64, bytes: &[u8]) -> Result<Option<Entry>> {
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        match self {
            Layout::Lines => Ok(line_entry(line, bytes)),
            Layout::Csv { .. } if bytes.is_empty() => Ok(None),
            Layout::Csv { column: CsvColumn::Name(name), delimiter, index: index @ None } => {
                let columns = columns(bytes, *delimiter);
                let found = columns.as_ref().ok().and_then(|columns| {
                    columns
                        .iter()
                        .position(|column| column.text(bytes).trim_start_matches('\u{feff}') == name)
                });
                let names = columns.iter().flatten().map(|column| column.text(bytes)).collect::<Vec<_>>();
                let missing = || {
                    UsageError(format!(
                        "--csv {name}: no such column; the first line has {}",
                        names.join(", ")
                    ))
                };
                *index = Some(found.ok_or_else(missing)?);
                Ok(None)
            }
            Layout::Csv { delimiter, index, .. } => {
                Ok(Some(csv_entry(line, bytes, *delimiter, index.unwrap_or(0))))
            }
        }
    }
}

/// `HASH`, `NAME:HASH` or `NAME:HASH:MORE`. The field after a name counts as a hash.
fn line_entry(line: u64, bytes: &[u8]) -> Option<Entry> {
    let start = bytes.len() - bytes.trim_ascii_start().len();
    let end = bytes.trim_ascii_end().len();
    if start >= end || bytes[start] == b'#' {
        return None;
    }
    let colons = || (start..end).filter(|at| bytes[*at] == b':');
    let entry = |name: Option<usize>, range: Range<usize>| {
        let name = name.map(|colon| String::from_utf8_lossy(&bytes[start..colon]).into_owned());
        let field = parse_field(&bytes[range.clone()]);
        Some(Entry { line, name, field, range, quoted: false, delimiter: None })
    };
    if has_hash_prefix(&bytes[start..end]) {
        return entry(None, start..end);
    }
    let known = colons().find(|colon| has_hash_prefix(&bytes[colon + 1..end]));
    match known.or(colons().next()) {
        None => entry(None, start..end),
        Some(colon) => {
            let from = colon + 1;
            // Hashes of Werkzeug have colons before the first `$`.
            let dollar = bytes[from..end].iter().position(|byte| *byte == b'$');
            let has_colons = [&b"pbkdf2:"[..], b"scrypt:", b"sha256:"]
                .iter()
                .any(|start| bytes[from..].starts_with(start));
            let search = if has_colons { from + dollar.unwrap_or(0) } else { from };
            let to = bytes[search..end].iter().position(|byte| *byte == b':').map_or(end, |at| search + at);
            entry(Some(colon), from..to)
        }
    }
}

/// Whether the bytes start with a known hash prefix.
fn has_hash_prefix(bytes: &[u8]) -> bool {
    const PREFIXES: [&[u8]; 13] = [
        b"$",
        b"{",
        b"argon2$",
        b"bcrypt$",
        b"bcrypt_sha256$",
        b"pbkdf2_sha256$",
        b"pbkdf2_sha1$",
        b"scrypt$",
        b"md5$",
        b"sha1$",
        b"pbkdf2:sha",
        b"scrypt:",
        b"sha256:",
    ];
    PREFIXES.iter().any(|prefix| bytes.starts_with(prefix))
}

/// Interprets a password field as `shadow` does: no hash starts with `!` or `*`.
fn parse_field(bytes: &[u8]) -> Field {
    match bytes {
        [] => Field::Missing("an empty field: no password is required"),
        b"x" => Field::Missing("the hash is in another file, as for passwd and shadow"),
        [b'!' | b'*', ..] | b"NP" | b"LK" => Field::Locked,
        _ => Field::Hash(String::from_utf8_lossy(bytes).into_owned()),
    }
}

fn csv_entry(line: u64, bytes: &[u8], delimiter: u8, index: usize) -> Entry {
    let missing = |reason| Entry {
        line,
        name: None,
        field: Field::Missing(reason),
        range: 0..0,
        quoted: false,
        delimiter: Some(delimiter),
    };
    let columns = match columns(bytes, delimiter) {
        Ok(columns) => columns,
        Err(reason) => return missing(reason),
    };
    // The name is the first column, or the second if the first is the hash.
    let name = columns.get(usize::from(index == 0)).map(|column| column.text(bytes));
    match columns.get(index) {
        None => Entry { name, ..missing("a line with too few columns") },
        Some(column) => {
            let field = parse_field(column.text(bytes).as_bytes());
            Entry {
                line,
                name,
                field,
                range: column.range.clone(),
                quoted: column.quoted,
                delimiter: Some(delimiter),
            }
        }
    }
}

/// A column of a line.
struct Column {
    /// With quotation marks.
    range: Range<usize>,
    quoted: bool,
}

impl Column {
    fn text(&self, bytes: &[u8]) -> String {
        let inner = if self.quoted { self.range.start + 1..self.range.end - 1 } else { self.range.clone() };
        let text = String::from_utf8_lossy(&bytes[inner]);
        if self.quoted { text.replace("\"\"", "\"") } else { text.into_owned() }
    }
}

/// The columns of a line, as in RFC 4180, but without line ends in quotation marks.
fn columns(bytes: &[u8], delimiter: u8) -> Result<Vec<Column>, &'static str> {
    let mut columns = Vec::new();
    let mut at = 0;
    loop {
        let start = at;
        let quoted = bytes.get(at) == Some(&b'"');
        if quoted {
            at += 1;
            loop {
                match (bytes.get(at), bytes.get(at + 1)) {
                    (None, _) => return Err("a quotation mark that is not closed on its line"),
                    (Some(b'"'), Some(b'"')) => at += 2,
                    (Some(b'"'), _) => break,
                    (Some(_), _) => at += 1,
                }
            }
            at += 1;
            if bytes.get(at).is_some_and(|byte| *byte != delimiter) {
                return Err("text between a quotation mark and the end of its column");
            }
        } else {
            at += bytes[at..].iter().position(|byte| *byte == delimiter).unwrap_or(bytes.len() - at);
        }
        columns.push(Column { range: start..at, quoted });
        if at == bytes.len() {
            return Ok(columns);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(layout: &mut Layout, text: &str) -> Option<(Option<String>, Field, String)> {
        let entry = layout.entry(7, text.as_bytes()).expect("a line")?;
        Some((entry.name, entry.field, text[entry.range].to_owned()))
    }

    fn line(text: &str) -> Option<(Option<String>, Field, String)> {
        read(&mut Layout::Lines, text)
    }

    #[test]
    fn parses_system_lines() {
        let hash = |name: &str, hash: &str| {
            let name = (!name.is_empty()).then(|| name.to_owned());
            Some((name, Field::Hash(hash.to_owned()), hash.to_owned()))
        };
        for (text, expected) in [
            ("$argon2id$x", hash("", "$argon2id$x")),
            ("  $argon2id$x\t", hash("", "$argon2id$x")),
            ("ann:$argon2id$x\r", hash("ann", "$argon2id$x")),
            ("a:b:$x", hash("a:b", "$x")),
            ("carol:nonsense", hash("carol", "nonsense")),
            ("nonsense", hash("", "nonsense")),
            ("$argon2id:x", hash("", "$argon2id:x")),
            ("root:$y$j9T$a$b:19000:0:99999:7:::", hash("root", "$y$j9T$a$b")),
            ("ann:$2y$05$abc", hash("ann", "$2y$05$abc")),
            ("ann:{ARGON2}$argon2id$x", hash("ann", "{ARGON2}$argon2id$x")),
            ("ann:{ARGON2ID}$argon2id$x:1000:1000::/home/ann", hash("ann", "{ARGON2ID}$argon2id$x")),
            ("argon2$argon2id$x", hash("", "argon2$argon2id$x")),
            ("ann:argon2$argon2id$x", hash("ann", "argon2$argon2id$x")),
            ("ann:pbkdf2:sha256:1000$ab$cd:more", hash("ann", "pbkdf2:sha256:1000$ab$cd")),
            ("scrypt:32768:8:1$ab$cd", hash("", "scrypt:32768:8:1$ab$cd")),
        ] {
            assert_eq!(line(text), expected, "{text}");
        }
        for none in ["", "   ", "# a comment: $x", "\t#", "\r"] {
            assert_eq!(line(none), None, "{none:?}");
        }
        for locked in ["!", "!!", "*", "*LK*", "!$6$salt$tag", "NP"] {
            let (name, field, raw) = line(&format!("daemon:{locked}:19000:0")).expect("an entry");
            assert_eq!((name.as_deref(), field, &*raw), (Some("daemon"), Field::Locked, locked));
        }
        assert!(matches!(line("guest::19000:0"), Some((_, Field::Missing(_), raw)) if raw.is_empty()));
        assert!(matches!(line("root:x:0:0:root:/root:/bin/sh"), Some((_, Field::Missing(_), _))));
    }

    #[test]
    fn parses_csv_columns() {
        let csv = |column| Layout::Csv {
            index: if let CsvColumn::Number(number) = &column { Some(number - 1) } else { None },
            column,
            delimiter: b',',
        };
        let mut named = csv(CsvColumn::Name("password".to_owned()));
        assert_eq!(read(&mut named, "\u{feff}id,password,note"), None, "the header");
        let hash = Field::Hash("$argon2id$v=19$m=64,t=1,p=1$a$b".to_owned());
        let text = "7,\"$argon2id$v=19$m=64,t=1,p=1$a$b\",\"says \"\"hi\"\"\"";
        let raw = "\"$argon2id$v=19$m=64,t=1,p=1$a$b\"".to_owned();
        assert_eq!(read(&mut named, text), Some((Some("7".to_owned()), hash, raw)));
        let mut first = csv(CsvColumn::Number(1));
        assert_eq!(
            read(&mut first, "$2b$x,\"a \"\"b\"\"\""),
            Some((Some("a \"b\"".to_owned()), Field::Hash("$2b$x".to_owned()), "$2b$x".to_owned()))
        );
        for (text, reason) in [
            ("1,\"open", "a quotation mark that is not closed on its line"),
            ("1,\"a\"b", "text between a quotation mark and the end of its column"),
            ("1", "a line with too few columns"),
        ] {
            let (_, field, _) = read(&mut csv(CsvColumn::Number(2)), text).expect("an entry");
            assert_eq!(field, Field::Missing(reason), "{text}");
        }
        assert!(matches!(read(&mut csv(CsvColumn::Number(2)), "1,,"), Some((_, Field::Missing(_), _))));
        let error =
            csv(CsvColumn::Name("pw".to_owned())).entry(1, b"id,password").err().expect("no such column");
        assert_eq!(error.to_string(), "--csv pw: no such column; the first line has id, password");
    }
}
