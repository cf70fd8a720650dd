//! A list as a whole: what one line tells about those after it.
//!
//! | kind | how it is known |
//! |---|---|
//! | lines of this module's forms, JSON among them | |
//! | signed text around such lines | `-----BEGIN PGP SIGNED MESSAGE-----`; the signature is passed over, nobody checks it |
//! | a manifest: a comment with size and time before each line | `# hashmill manifest 1 FUNCTION` |
//! | a file of hashdeep | `%%%% HASHDEEP-1.0`, then the names of the columns |

use super::parse::{self, Entry, LineError, Note, Parsed};
use super::{Algorithm, Lines, Style, json};
use crate::time::Time;
use std::io::{self, BufRead};

/// The beginning of a manifest's first line; the function follows.
pub(crate) const MANIFEST: &str = "# hashmill manifest 1 ";

/// Reads a list line by line.
#[derive(Debug)]
pub struct List<R> {
    lines: Lines<R>,
    state: State,
}

/// What the lines so far tell.
#[derive(Debug)]
struct State {
    style: Style,
    part: Part,
    /// The function of a manifest.
    manifest: Option<Algorithm>,
    /// Size and time of the file on the next line.
    facts: Option<(u64, Option<Time>)>,
}

#[derive(Debug)]
enum Part {
    /// Lines, one for each file.
    Body,
    /// Between the beginning of signed text and its first blank line.
    ArmourHeader,
    Signed,
    Signature,
    /// The columns before the name: which of them is the size, and which is the best digest.
    Hashdeep(Columns),
}

#[derive(Debug, Default)]
struct Columns {
    count: usize,
    size: Option<usize>,
    digest: Option<(usize, Algorithm)>,
}

impl<R: BufRead> List<R> {
    /// A list in the given style.
    pub fn new(reader: R, style: Style) -> List<R> {
        let state = State { style, part: Part::Body, manifest: None, facts: None };
        List { lines: Lines::new(reader, style), state }
    }

    /// The next line with its number, counted from 1, or `None` at the end.
    ///
    /// # Errors
    /// What the reader reports.
    pub fn next_line(&mut self) -> io::Result<Option<(u64, Result<Parsed, LineError>)>> {
        let Some(line) = self.lines.next_line()? else { return Ok(None) };
        let parsed = match line.bytes {
            Some(bytes) => self.state.line(bytes, line.number),
            None => Err(LineError::TooLong),
        };
        Ok(Some((line.number, parsed)))
    }

    /// The function of a manifest, as soon as its first line was read.
    pub fn manifest(&self) -> Option<Algorithm> {
        self.state.manifest
    }
}

impl State {
    fn line(&mut self, line: &[u8], number: u64) -> Result<Parsed, LineError> {
        let text = if self.style.zero { line } else { parse::without_cr(line) };
        let text = if number == 1 { text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text) } else { text };
        let signature = Ok(Parsed::Nothing(Note::Signature));
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
            return Ok(Parsed::Nothing(Note::Header));
        }
        if text.starts_with(b"{") {
            return json::parse(text, self.style);
        }
        if let Some(header) = self.header(text, number) {
            return header;
        }
        let line = match self.part {
            // Within signed text, lines that begin with a dash have another one before it.
            Part::Signed => line.strip_prefix(b"- ").unwrap_or(line),
            _ => line,
        };
        let parsed = parse::parse(line, number, self.style);
        let facts = self.facts.take();
        match parsed {
            Ok(Parsed::Entry(entry)) => Ok(Parsed::Entry(self.told(entry, facts))),
            other => other,
        }
    }

    /// A line of a manifest that is about others.
    fn header(&mut self, text: &[u8], number: u64) -> Option<Result<Parsed, LineError>> {
        let text = std::str::from_utf8(text).ok().filter(|text| text.starts_with('#'))?;
        let header = Some(Ok(Parsed::Nothing(Note::Header)));
        if number == 1
            && let Some(function) = text.strip_prefix(MANIFEST)
        {
            return match Algorithm::by_key(function) {
                None => Some(Err(LineError::OtherAlgorithm { known: None })),
                known => {
                    self.manifest = known;
                    header
                }
            };
        }
        self.manifest?;
        let (size, time) = text.strip_prefix("# ")?.split_once(' ')?;
        let time = if time == "-" { None } else { Some(Time::parse(time)?) };
        self.facts = Some((size.parse().ok()?, time));
        header
    }

    /// An entry with what the lines before it say about it.
    fn told(&self, mut entry: Entry, facts: Option<(u64, Option<Time>)>) -> Entry {
        if let Some(algorithm) = self.manifest
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

/// A line of hashdeep's after the first, and the columns if it names them.
fn hashdeep(columns: &Columns, line: &[u8], style: Style) -> Result<(Option<Columns>, Parsed), LineError> {
    let text = parse::without_cr(line);
    if let Some(names) = text.strip_prefix(b"%%%% ") {
        let names: Vec<&[u8]> = names.split(|&byte| byte == b',').collect();
        let mut columns = Columns { count: names.len() - 1, ..Columns::default() };
        for (index, name) in names.into_iter().enumerate() {
            let known = std::str::from_utf8(name).ok().and_then(Algorithm::by_key);
            if name == b"size" {
                columns.size = Some(index);
            } else if let Some(known) = known
                && columns.digest.is_none_or(|(_, best)| known.digest_len() > best.digest_len())
            {
                columns.digest = Some((index, known));
            }
        }
        return Ok((Some(columns), Parsed::Nothing(Note::Header)));
    }
    if text.starts_with(b"##") || text.is_empty() {
        return Ok((None, Parsed::Nothing(Note::Header)));
    }
    let fields: Vec<&[u8]> = text.splitn(columns.count + 1, |&byte| byte == b',').collect();
    let (Some((index, algorithm)), Some(name)) = (columns.digest, fields.get(columns.count)) else {
        return Err(LineError::Form);
    };
    let digits = fields[index];
    parse::function(digits.len(), Some(algorithm), Style { length: None, ..style })?;
    let mut notes = Vec::new();
    let digest = parse::decode(digits, &mut notes)?;
    let size = match columns.size {
        Some(index) => {
            let size = std::str::from_utf8(fields[index]).ok().and_then(|size| size.parse().ok());
            Some(size.ok_or(LineError::Form)?)
        }
        None => None,
    };
    let path = parse::path(name.to_vec(), Style { bytes: true, ..style })?;
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
    Ok((None, Parsed::Entry(entry)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";

    fn read(text: &str) -> Vec<Result<Parsed, LineError>> {
        let mut list = List::new(text.as_bytes(), Style::default());
        std::iter::from_fn(|| list.next_line().expect("memory does not fail").map(|(_, parsed)| parsed))
            .collect()
    }

    fn entries(text: &str) -> Vec<Entry> {
        let entry = |parsed| match parsed {
            Ok(Parsed::Entry(entry)) => Some(entry),
            Ok(Parsed::Nothing(_)) => None,
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
    fn a_manifest_tells_size_and_time_of_the_next_line() {
        let text = format!(
            "{MANIFEST}sha256\n# 7 1.000000002\n{HEX}  a\n{HEX}  b\n# 9 -\n{HEX}  c\n# of no use\n{HEX}  d\n"
        );
        let entries = entries(&text);
        let facts: Vec<_> = entries.iter().map(|entry| (entry.size, entry.modified)).collect();
        let time = Some(Time::from_nanos(1_000_000_002));
        assert_eq!(facts, [(Some(7), time), (None, None), (Some(9), None), (None, None)]);
        assert!(entries.iter().all(|entry| entry.algorithm == Some(Algorithm::Sha256)));
        // Without the first line they are comments.
        let text = format!("# 7 1.000000002\n{HEX}  a\n");
        assert!(matches!(read(&text)[0], Ok(Parsed::Nothing(Note::Comment))));
        assert!(read(&format!("{MANIFEST}sha0\n"))[0].is_err());
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
    fn json_has_every_name_and_says_what_it_is() {
        let line = |more: &str| format!(r#"{{"path":"a\nb","digest":"{HEX}","algorithm":"blake3"{more}}}"#);
        let [entry] = &entries(&line(r#","mode":"keyed","seek":5,"size":3,"extra":[1]"#))[..] else {
            panic!("one entry")
        };
        assert_eq!((entry.mode, entry.seek, entry.size), (Some(Mode::Keyed), Some(5), Some(3)));
        assert_eq!(entry.label, br"\a\nb");
        let tree = &entries(&line(r#","mode":"tree""#))[0];
        assert!(tree.is_tree());
        let failed = r#"{"path":"x","error":"No such file"}"#;
        assert_eq!(read(failed), [Ok(Parsed::Nothing(Note::Failure))]);
        for bad in [r#"{"path":"x"}"#, "{", r#"{"path":3}"#, &line(r#","mode":"x""#), "{}"] {
            assert_eq!(read(bad), [Err(LineError::Json)], "{bad}");
        }
        let short = line("").replace(HEX, &HEX[2..]);
        assert_eq!(read(&short), [Err(LineError::DigestLength { digits: 62, expected: Some(64) })]);
    }

    use super::super::Mode;
}
