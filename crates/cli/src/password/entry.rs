//! What stands on a line of a password file, and where: files as systems have them.

use crate::flags::{CsvColumn, FileFlags, Misuse};
use anyhow::{Result, bail};
use std::ops::Range;

/// How lines are to be read.
pub(super) enum Layout {
    /// A hash alone, or after a name and a colon, with whatever stands behind another colon.
    Lines,
    /// Columns.
    Csv {
        column: CsvColumn,
        delimiter: u8,
        /// The column by its number from 0, once that is known.
        index: Option<usize>,
    },
}

/// One line that is about a password.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) line: u64,
    /// Whose it is, as far as the line says.
    pub(super) name: Option<String>,
    pub(super) field: Field,
    /// Where in the line that stands, quotation marks included.
    pub(super) place: Range<usize>,
    /// Between quotation marks.
    pub(super) quoted: bool,
    /// What ends the column that it stands in, if it is one.
    pub(super) delimiter: Option<u8>,
}

/// What stands for the password.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Field {
    /// What is meant to be a hash.
    Hash(String),
    /// Nobody enters with any password.
    Locked,
    /// No answer, and why.
    Nothing(&'static str),
}

impl Entry {
    /// How the entry is called in lines of text.
    pub(super) fn label(&self) -> String {
        match &self.name {
            Some(name) if name.contains(char::is_control) => name.escape_debug().to_string(),
            Some(name) => name.clone(),
            None => self.line.to_string(),
        }
    }

    /// A hash that stands alone.
    pub(super) fn alone(hash: String) -> Entry {
        let place = 0..hash.len();
        Entry { line: 1, name: None, field: Field::Hash(hash), place, quoted: false, delimiter: None }
    }

    /// What stands in the place of the hash if it is replaced.
    pub(super) fn written(&self, hash: &str) -> String {
        let ends = |delimiter| hash.as_bytes().contains(&delimiter);
        if self.quoted || self.delimiter.is_some_and(ends) { format!("\"{hash}\"") } else { hash.to_owned() }
    }
}

impl Layout {
    pub(super) fn of(flags: &FileFlags) -> Result<Layout> {
        let Some(column) = &flags.csv else { return Ok(Layout::Lines) };
        let Ok(delimiter) = u8::try_from(flags.delimiter) else {
            bail!(Misuse("--delimiter: choose one of ASCII".to_owned()));
        };
        let index = match column {
            CsvColumn::Number(number) => Some(number - 1),
            CsvColumn::Name(_) => None,
        };
        Ok(Layout::Csv { column: column.clone(), delimiter, index })
    }

    /// The entry on a line; nothing where there is none: a line that is empty, a comment, a head.
    pub(super) fn entry(&mut self, line: u64, bytes: &[u8]) -> Result<Option<Entry>> {
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        match self {
            Layout::Lines => Ok(of_line(line, bytes)),
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
                    Misuse(format!("--csv {name}: no such column; the first line has {}", names.join(", ")))
                };
                *index = Some(found.ok_or_else(missing)?);
                Ok(None)
            }
            Layout::Csv { delimiter, index, .. } => {
                Ok(Some(of_columns(line, bytes, *delimiter, index.unwrap_or(0))))
            }
        }
    }
}

/// `HASH`, `NAME:HASH` or `NAME:HASH:MORE`. Whatever stands behind a name is meant to be a hash.
fn of_line(line: u64, bytes: &[u8]) -> Option<Entry> {
    let start = bytes.len() - bytes.trim_ascii_start().len();
    let end = bytes.trim_ascii_end().len();
    if start >= end || bytes[start] == b'#' {
        return None;
    }
    let colons = || (start..end).filter(|at| bytes[*at] == b':');
    let entry = |name: Option<usize>, place: Range<usize>| {
        let name = name.map(|colon| String::from_utf8_lossy(&bytes[start..colon]).into_owned());
        let field = field(&bytes[place.clone()]);
        Some(Entry { line, name, field, place, quoted: false, delimiter: None })
    };
    if begins_a_hash(&bytes[start..end]) {
        return entry(None, start..end);
    }
    let known = colons().find(|colon| begins_a_hash(&bytes[colon + 1..end]));
    match known.or(colons().next()) {
        None => entry(None, start..end),
        Some(colon) => {
            let from = colon + 1;
            // Colons of Werkzeug stand before its first `$`.
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

/// Whether a piece looks like the password field of anybody.
fn begins_a_hash(bytes: &[u8]) -> bool {
    const STARTS: [&[u8]; 13] = [
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
    STARTS.iter().any(|start| bytes.starts_with(start))
}

/// What a field says. In files of systems nothing that begins so can be a hash.
fn field(bytes: &[u8]) -> Field {
    match bytes {
        [] => Field::Nothing("an empty field: no password is asked for"),
        b"x" => Field::Nothing("the hash is in another file, as passwd says of shadow"),
        [b'!' | b'*', ..] | b"NP" | b"LK" => Field::Locked,
        _ => Field::Hash(String::from_utf8_lossy(bytes).into_owned()),
    }
}

fn of_columns(line: u64, bytes: &[u8], delimiter: u8, index: usize) -> Entry {
    let nothing = |reason| Entry {
        line,
        name: None,
        field: Field::Nothing(reason),
        place: 0..0,
        quoted: false,
        delimiter: Some(delimiter),
    };
    let columns = match columns(bytes, delimiter) {
        Ok(columns) => columns,
        Err(reason) => return nothing(reason),
    };
    // Whose a hash is stands in the first column, or in the second if that is the hash.
    let name = columns.get(usize::from(index == 0)).map(|column| column.text(bytes));
    match columns.get(index) {
        None => Entry { name, ..nothing("a line with too few columns") },
        Some(column) => {
            let field = field(column.text(bytes).as_bytes());
            Entry {
                line,
                name,
                field,
                place: column.place.clone(),
                quoted: column.quoted,
                delimiter: Some(delimiter),
            }
        }
    }
}

/// A column of a line.
struct Column {
    /// With its quotation marks.
    place: Range<usize>,
    quoted: bool,
}

impl Column {
    fn text(&self, bytes: &[u8]) -> String {
        let inner = if self.quoted { self.place.start + 1..self.place.end - 1 } else { self.place.clone() };
        let text = String::from_utf8_lossy(&bytes[inner]);
        if self.quoted { text.replace("\"\"", "\"") } else { text.into_owned() }
    }
}

/// The columns of a line, as RFC 4180 has them but for line ends inside of quotation marks.
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
                return Err("something between a quotation mark and the end of its column");
            }
        } else {
            at += bytes[at..].iter().position(|byte| *byte == delimiter).unwrap_or(bytes.len() - at);
        }
        columns.push(Column { place: start..at, quoted });
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
        Some((entry.name, entry.field, text[entry.place].to_owned()))
    }

    fn line(text: &str) -> Option<(Option<String>, Field, String)> {
        read(&mut Layout::Lines, text)
    }

    #[test]
    fn lines_of_systems() {
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
            let (name, field, place) = line(&format!("daemon:{locked}:19000:0")).expect("an entry");
            assert_eq!((name.as_deref(), field, &*place), (Some("daemon"), Field::Locked, locked));
        }
        assert!(matches!(line("guest::19000:0"), Some((_, Field::Nothing(_), place)) if place.is_empty()));
        assert!(matches!(line("root:x:0:0:root:/root:/bin/sh"), Some((_, Field::Nothing(_), _))));
    }

    #[test]
    fn columns_by_number_and_by_name() {
        let csv = |column| Layout::Csv {
            index: if let CsvColumn::Number(number) = &column { Some(number - 1) } else { None },
            column,
            delimiter: b',',
        };
        let mut named = csv(CsvColumn::Name("password".to_owned()));
        assert_eq!(read(&mut named, "\u{feff}id,password,note"), None, "the head");
        let hash = Field::Hash("$argon2id$v=19$m=64,t=1,p=1$a$b".to_owned());
        let text = "7,\"$argon2id$v=19$m=64,t=1,p=1$a$b\",\"says \"\"hi\"\"\"";
        let place = "\"$argon2id$v=19$m=64,t=1,p=1$a$b\"".to_owned();
        assert_eq!(read(&mut named, text), Some((Some("7".to_owned()), hash, place)));
        let mut first = csv(CsvColumn::Number(1));
        assert_eq!(
            read(&mut first, "$2b$x,\"a \"\"b\"\"\""),
            Some((Some("a \"b\"".to_owned()), Field::Hash("$2b$x".to_owned()), "$2b$x".to_owned()))
        );
        for (text, reason) in [
            ("1,\"open", "a quotation mark that is not closed on its line"),
            ("1,\"a\"b", "something between a quotation mark and the end of its column"),
            ("1", "a line with too few columns"),
        ] {
            let (_, field, _) = read(&mut csv(CsvColumn::Number(2)), text).expect("an entry");
            assert_eq!(field, Field::Nothing(reason), "{text}");
        }
        assert!(matches!(read(&mut csv(CsvColumn::Number(2)), "1,,"), Some((_, Field::Nothing(_), _))));
        let error =
            csv(CsvColumn::Name("pw".to_owned())).entry(1, b"id,password").err().expect("no such column");
        assert_eq!(error.to_string(), "--csv pw: no such column; the first line has id, password");
    }
}
