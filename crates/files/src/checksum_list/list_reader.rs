//! Reader of a whole list: it keeps the context that one line sets for later ones.
//!
//! | kind | recognised by |
//! |---|---|
//! | lines of this module's forms, JSON among them | |
//! | signed text around such lines | `-----BEGIN PGP SIGNED MESSAGE-----`; the signature is skipped without verification |
//! | sizes and times: a comment with size and time before each line | `# hashmill manifest 1 FUNCTION` |
//! | a file of hashdeep | `%%%% HASHDEEP-1.0`, then the names of the columns |

use super::parse::{self, Entry, LineError, LineWarning, ParsedLine};
use super::{Algorithm, LineReader, ListFormat, json};
use crate::stored::Time;
use std::io::{self, BufRead};

/// The start of the first line of a list with sizes and times; the function follows.
pub(super) const LIST_HEADER: &str = "# hashmill manifest 1 ";

/// Reader of a list, line by line.
#[derive(Debug)]
pub struct ListReader<R> {
    lines: LineReader<R>,
    state: State,
}

/// Context from the lines so far.
#[derive(Debug)]
struct State {
    style: ListFormat,
    part: Part,
    /// The function named by the first line.
    declared: Option<Algorithm>,
    /// Size and mtime for the next line.
    facts: Option<(u64, Option<Time>)>,
}

#[derive(Debug)]
enum Part {
    /// Lines, one for each file.
    Body,
    /// Between the start of signed text and its first blank line.
    ArmourHeader,
    Signed,
    Signature,
    /// The columns before the name: the index of the size, and that of the best digest.
    Hashdeep(Columns),
}

#[derive(Debug, Default)]
struct Columns {
    count: usize,
    size: Option<usize>,
    digest: Option<(usize, Algorithm)>,
}

impl<R: BufRead> ListReader<R> {
    /// A list in this format.
    pub fn new(reader: R, style: ListFormat) -> ListReader<R> {
        let state = State { style, part: Part::Body, declared: None, facts: None };
        ListReader { lines: LineReader::new(reader, style), state }
    }

    /// The next line with its number, counted from 1, or `None` at the end.
    ///
    /// # Errors
    /// Errors of the reader.
    pub fn next_line(&mut self) -> io::Result<Option<(u64, Result<ParsedLine, LineError>)>> {
        let Some(line) = self.lines.next_line()? else { return Ok(None) };
        let parsed = match line.bytes {
            Some(bytes) => self.state.line(bytes, line.number),
            None => Err(LineError::TooLong),
        };
        Ok(Some((line.number, parsed)))
    }

    /// The function named by the first line, once it was read.
    pub fn declared_algorithm(&self) -> Option<Algorithm> {
        self.state.declared
    }
}

impl State {
    fn line(&mut self, line: &[u8], number: u64) -> Result<ParsedLine, LineError> {
        let text = if self.style.zero { line } else { parse::without_cr(line) };
        let text = if number == 1 { text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text) } else { text };
        let signature = Ok(ParsedLine::Nothing(LineWarning::Signature));
        match &self.part {
            Part::ArmourHeader => {
                if text.is_empty() {
                    self.part = Part::Signed;
                }
                return signature;
            }
            Part::Signature => {
                if text.starts_with(b"-----END PGP SIGNATURE-----") {
                    self.part = Part::Body;
                }
                return signature;
            }
            Part::Hashdeep(columns) => {
                return hashdeep(columns, line, self.style).map(|(part, parsed)| {
                    self.part =
                        part.map_or_else(|| std::mem::replace(&mut self.part, Part::Body), Part::Hashdeep);
                    parsed
                });
            }
            Part::Body | Part::Signed => {}
        }
        if text.starts_with(b"-----BEGIN PGP SIGNED MESSAGE-----") {
            self.part = Part::ArmourHeader;
            return signature;
        }
        if text.starts_with(b"-----BEGIN PGP SIGNATURE-----") {
            self.part = Part::Signature;
            return signature;
        }
        if number == 1 && text.starts_with(b"%%%% HASHDEEP-1.0") {
            self.part = Part::Hashdeep(Columns::default());
            return Ok(ParsedLine::Nothing(LineWarning::Header));
        }
        if text.starts_with(b"{") {
            return json::parse(text, self.style);
        }
        if let Some(header) = self.context_line(text, number) {
            return header;
        }
        let line = match self.part {
            // In signed text, a line that begins with a dash is escaped by another dash.
            Part::Signed => line.strip_prefix(b"- ").unwrap_or(line),
            _ => line,
        };
        let parsed = parse::parse(line, number, self.style);
        let facts = self.facts.take();
        match parsed {
            Ok(ParsedLine::Entry(entry)) => Ok(ParsedLine::Entry(self.with_context(entry, facts))),
            other => other,
        }
    }

    /// A line that sets context for later lines.
    fn context_line(&mut self, text: &[u8], number: u64) -> Option<Result<ParsedLine, LineError>> {
        // Lines with context are ASCII. Another line is an entry or an error, which the caller decides.
        let text = std::str::from_utf8(text).ok().filter(|text| text.starts_with('#'))?;
        let header = Some(Ok(ParsedLine::Nothing(LineWarning::Header)));
        if number == 1
            && let Some(function) = text.strip_prefix(LIST_HEADER)
        {
            return match Algorithm::by_key(function) {
                None => Some(Err(LineError::OtherAlgorithm { known: None })),
                known => {
                    self.declared = known;
                    header
                }
            };
        }
        self.declared?;
        let (size, time) = text.strip_prefix("# ")?.split_once(' ')?;
        let time = if time == "-" { None } else { Some(Time::parse(time)?) };
        self.facts = Some((size.parse().ok()?, time));
        header
    }

    /// Adds the context of earlier lines to an entry.
    fn with_context(&self, mut entry: Entry, facts: Option<(u64, Option<Time>)>) -> Entry {
        if let Some(algorithm) = self.declared
            && entry.algorithm.is_none()
            && algorithm.digest_len() == entry.digest.len()
        {
            (entry.algorithm, entry.tagged) = (Some(algorithm), true);
        }
        if let Some((size, time)) = facts {
            (entry.size, entry.modified) = (Some(size), time);
        }
        entry
    }
}

/// Parses a line of hashdeep after the first; returns the columns if the line names them.
fn hashdeep(
    columns: &Columns,
    line: &[u8],
    style: ListFormat,
) -> Result<(Option<Columns>, ParsedLine), LineError> {
    let text = parse::without_cr(line);
    if let Some(names) = text.strip_prefix(b"%%%% ") {
        let names: Vec<&[u8]> = names.split(|&byte| byte == b',').collect();
        let mut columns = Columns { count: names.len() - 1, ..Columns::default() };
        for (index, name) in names.into_iter().enumerate() {
            // Columns that are not known here are skipped: hashdeep has more functions, and the name of the file.
            let known = std::str::from_utf8(name).ok().and_then(Algorithm::by_key);
            if name == b"size" {
                columns.size = Some(index);
            } else if let Some(known) = known
                && columns.digest.is_none_or(|(_, best)| known.digest_len() > best.digest_len())
            {
                columns.digest = Some((index, known));
            }
        }
        return Ok((Some(columns), ParsedLine::Nothing(LineWarning::Header)));
    }
    if text.starts_with(b"##") || text.is_empty() {
        return Ok((None, ParsedLine::Nothing(LineWarning::Header)));
    }
    let fields: Vec<&[u8]> = text.splitn(columns.count + 1, |&byte| byte == b',').collect();
    let (Some((index, algorithm)), Some(name)) = (columns.digest, fields.get(columns.count)) else {
        return Err(LineError::Form);
    };
    let digits = fields[index];
    parse::function(digits.len(), Some(algorithm), ListFormat { length: None, ..style })?;
    let mut notes = Vec::new();
    let digest = parse::decode(digits, &mut notes)?;
    let size = match columns.size {
        Some(index) => {
            let size = std::str::from_utf8(fields[index]).map_err(|_| LineError::Form)?;
            Some(size.parse().map_err(|_| LineError::Form)?)
        }
        None => None,
    };
    let path = parse::path(name.to_vec(), ListFormat { bytes: true, ..style })?;
    let entry = Entry {
        path,
        label: name.to_vec(),
        digest,
        algorithm: Some(algorithm),
        tagged: true,
        size,
        notes,
        ..Entry::default()
    };
    Ok((None, ParsedLine::Entry(entry)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";

    fn read(text: &str) -> Vec<Result<ParsedLine, LineError>> {
        let mut list = ListReader::new(text.as_bytes(), ListFormat::default());
        std::iter::from_fn(|| list.next_line().expect("memory does not fail").map(|(_, parsed)| parsed))
            .collect()
    }

    fn entries(text: &str) -> Vec<Entry> {
        let entry = |parsed| match parsed {
            Ok(ParsedLine::Entry(entry)) => Some(entry),
            Ok(ParsedLine::Nothing(_)) => None,
            Err(error) => panic!("{error}"),
        };
        read(text).into_iter().filter_map(entry).collect()
    }

    fn names(text: &str) -> Vec<String> {
        entries(text).iter().map(|entry| String::from_utf8_lossy(&entry.label).into_owned()).collect()
    }

    #[test]
    fn signed_text_is_read_and_its_armour_passed_over() {
        let text = format!(
            "-----BEGIN PGP SIGNED MESSAGE-----\r\nHash: SHA256\r\n\r\n{HEX}  a\n- # {HEX}\n{HEX}  b\n\
             -----BEGIN PGP SIGNATURE-----\n\n{HEX}\n{HEX}  c\n=abcd\n-----END PGP SIGNATURE-----\n{HEX}  d\n"
        );
        assert_eq!(names(&text), ["a", "b", "d"]);
        // A name with a dash is escaped from the armour.
        let text = format!("-----BEGIN PGP SIGNED MESSAGE-----\n\n- BLAKE3 (-) = {HEX}\n");
        assert_eq!(names(&text), ["-"]);
    }

    #[test]
    fn header_lines_set_size_and_time_of_the_next_line() {
        let text = format!(
            "{LIST_HEADER}sha256\n# 7 1.000000002\n{HEX}  a\n{HEX}  b\n# 9 -\n{HEX}  c\n# of no use\n{HEX}  d\n"
        );
        let entries = entries(&text);
        let facts: Vec<_> = entries.iter().map(|entry| (entry.size, entry.modified)).collect();
        let time = Some(Time::from_nanos(1_000_000_002));
        assert_eq!(facts, [(Some(7), time), (None, None), (Some(9), None), (None, None)]);
        assert!(entries.iter().all(|entry| entry.algorithm == Some(Algorithm::Sha256)));
        // Without the first line they are comments.
        let text = format!("# 7 1.000000002\n{HEX}  a\n");
        assert!(matches!(read(&text)[0], Ok(ParsedLine::Nothing(LineWarning::Comment))));
        assert!(read(&format!("{LIST_HEADER}sha0\n"))[0].is_err());
    }

    #[test]
    fn hashdeep_has_columns() {
        let md5 = &HEX[..32];
        let text = format!(
            "%%%% HASHDEEP-1.0\n%%%% size,md5,sha256,filename\n## Invoked from: /\n## \n12,{md5},{HEX},./a, b\n"
        );
        let [entry] = &entries(&text)[..] else { panic!("one entry") };
        assert_eq!((entry.algorithm, entry.size), (Some(Algorithm::Sha256), Some(12)));
        assert_eq!((&*entry.label, entry.digest.len()), (&b"./a, b"[..], 32));
        for bad in ["12,x", "x,y,z,a", &format!("12,{md5},{md5},a"), &format!("1x,{md5},{HEX},a")] {
            let text = format!("%%%% HASHDEEP-1.0\n%%%% size,md5,sha256,filename\n{bad}\n");
            assert!(read(&text)[2].is_err(), "{bad}");
        }
    }

    #[test]
    fn json_has_every_name_and_its_kind() {
        let line = |more: &str| format!(r#"{{"path":"a\nb","digest":"{HEX}","algorithm":"blake3"{more}}}"#);
        let [entry] = &entries(&line(r#","mode":"keyed","seek":5,"size":3,"extra":[1]"#))[..] else {
            panic!("one entry")
        };
        assert_eq!((entry.mode, entry.seek, entry.size), (Some(Mode::Keyed), Some(5), Some(3)));
        assert_eq!(entry.label, br"\a\nb");
        let tree = &entries(&line(r#","mode":"tree""#))[0];
        assert!(tree.is_tree());
        let failed = r#"{"path":"x","error":"No such file"}"#;
        assert_eq!(read(failed), [Ok(ParsedLine::Nothing(LineWarning::Failure))]);
        for bad in [r#"{"path":"x"}"#, "{", r#"{"path":3}"#, &line(r#","mode":"x""#), "{}"] {
            assert_eq!(read(bad), [Err(LineError::Json)], "{bad}");
        }
        let short = line("").replace(HEX, &HEX[2..]);
        assert_eq!(read(&short), [Err(LineError::DigestLength { digits: 62, expected: Some(64) })]);
    }

    use super::super::Mode;
}
