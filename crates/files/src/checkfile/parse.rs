//! Reading a line: strict about what it means, tolerant about who wrote it.
//!
//! A check protects its user only if no line can be taken for another. So the digest must have its full length, a
//! name must be one that writing could have produced, and every tolerance is noted so that a caller can refuse it.

use super::{Algorithm, Foreign, LINE_LIMIT, Style};
use crate::os;
use std::fmt;
use std::path::PathBuf;

/// What a line says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Parsed {
    /// A digest and a name.
    Entry(Entry),
    /// Nothing: a comment or a blank line.
    Nothing(Note),
}

/// A digest and a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The name, without escapes.
    pub path: PathBuf,
    /// The name as it stands in the line, with a backslash in front if it has escapes: this is what reports show.
    pub label: Vec<u8>,
    /// What the file is supposed to hash to.
    pub digest: [u8; 32],
    /// By which function, if the line says so.
    pub algorithm: Option<Algorithm>,
    /// What is unusual about the line.
    pub notes: Vec<Note>,
}

impl Entry {
    /// Whether the digest is that of a directory with everything in it.
    pub fn is_tree(&self) -> bool {
        self.path.as_os_str().as_encoded_bytes().ends_with(b"/")
    }
}

/// Something in a line that no `sum` writes, but that can mean one thing only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Note {
    /// The line is blank.
    Blank,
    /// The line begins with `#`.
    Comment,
    /// The digest has uppercase digits.
    Uppercase,
    /// The name has GNU's mark for binary files, `*`, in front.
    Star,
    /// One space, not two, stands between digest and name.
    OneSpace,
    /// The file begins with a byte order mark.
    ByteOrderMark,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Note::Blank => "blank line",
            Note::Comment => "comment",
            Note::Uppercase => "uppercase digest",
            Note::Star => "binary mark (*) before the name",
            Note::OneSpace => "one space before the name",
            Note::ByteOrderMark => "byte order mark",
        })
    }
}

/// Why a line says nothing that can be checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LineError {
    /// It has neither of the two forms.
    Form,
    /// It is longer than [`LINE_LIMIT`].
    TooLong,
    /// It is no UTF-8, from this byte on.
    Encoding {
        /// Counted from 0.
        offset: usize,
    },
    /// It is UTF-16, as some shells write redirected output.
    Utf16,
    /// It has the digest of another algorithm, or of another length.
    DigestLength {
        /// How many digits the line has.
        digits: usize,
    },
    /// The digest has something else than a hexadecimal digit.
    Digit {
        /// Which digit, counted from 0.
        index: usize,
    },
    /// It is tagged with the name of another algorithm.
    OtherAlgorithm {
        /// Which, if it is a usual one.
        known: Option<Foreign>,
    },
    /// It is JSON, as this program writes if asked to.
    Json,
    /// A backslash in the name is followed by something else than a backslash, `n` or `r`.
    Escape,
    /// The name is empty.
    NoName,
    /// The name contains NUL, at which systems would cut it off.
    Nul,
    /// The name contains U+FFFD, which stands for bytes that are lost: several names may look like this.
    Replacement,
    /// The name contains a backslash, which would separate directories on this system but does not in lists.
    Backslash,
    /// The name cannot exist on this system.
    Unrepresentable,
}

impl LineError {
    /// The usual function whose digest the line has, if that is what is wrong with it.
    pub fn foreign(&self) -> Option<Foreign> {
        match *self {
            LineError::OtherAlgorithm { known } => known,
            LineError::DigestLength { digits } => Foreign::by_digits(digits).next(),
            _ => None,
        }
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            LineError::Form => f.write_str("neither `DIGEST  NAME` nor `ALGORITHM (NAME) = DIGEST`"),
            LineError::TooLong => write!(f, "longer than {LINE_LIMIT} bytes"),
            LineError::Encoding { offset } => {
                write!(f, "invalid UTF-8 at byte {offset}; names that are no UTF-8 need --zero")
            }
            LineError::Utf16 => f.write_str("UTF-16 text; convert the list to UTF-8"),
            LineError::DigestLength { digits } => {
                write!(f, "the digest has {digits} hex digits, not the 64 of BLAKE3 and SHA-256")?;
                let known: Vec<_> = Foreign::by_digits(digits)
                    .map(|known| format!("{} (see {})", known.name, known.program))
                    .collect();
                if known.is_empty() { Ok(()) } else { write!(f, ", but as many as {}", known.join(" or ")) }
            }
            LineError::Digit { index } => write!(f, "digit {} of the digest is not hexadecimal", index + 1),
            LineError::OtherAlgorithm { known: Some(known) } => {
                write!(f, "a digest of {}, which is not known here; see {}", known.name, known.program)
            }
            LineError::OtherAlgorithm { known: None } => {
                f.write_str("tagged with an algorithm that is not known here")
            }
            LineError::Json => f.write_str("JSON, which cannot be checked; make lists without --json"),
            LineError::Escape => f.write_str("invalid escape in the name; valid are \\\\, \\n and \\r"),
            LineError::NoName => f.write_str("empty name"),
            LineError::Nul => f.write_str("NUL in the name"),
            LineError::Replacement => {
                f.write_str("U+FFFD in the name stands for bytes that are lost; make the list with --zero")
            }
            LineError::Backslash => f.write_str("backslash in the name, ambiguous on this system"),
            LineError::Unrepresentable => f.write_str("a name that cannot exist on this system"),
        }
    }
}

impl std::error::Error for LineError {}

/// Reads one line, from which [`Lines`](super::Lines) has cut the end. `number` tells the first line from others.
///
/// # Errors
/// See [`LineError`].
pub fn parse(mut line: &[u8], number: u64, style: Style) -> Result<Parsed, LineError> {
    let mut notes = Vec::new();
    if number == 1 {
        if line.starts_with(&[0xff, 0xfe]) || line.starts_with(&[0xfe, 0xff]) {
            return Err(LineError::Utf16);
        }
        if let Some(rest) = line.strip_prefix("\u{feff}".as_bytes()) {
            notes.push(Note::ByteOrderMark);
            line = rest;
        }
    }
    if !style.zero {
        // Lists that came through Windows end lines with CR LF. A name never ends with a bare CR: it is escaped.
        line = &line[..line.len() - line.iter().rev().take_while(|&&byte| byte == b'\r').count()];
        std::str::from_utf8(line).map_err(|error| LineError::Encoding { offset: error.valid_up_to() })?;
    }
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(Parsed::Nothing(Note::Blank));
    }
    if line[0] == b'#' {
        return Ok(Parsed::Nothing(Note::Comment));
    }

    let (escaped, rest) = match line.strip_prefix(b"\\") {
        Some(rest) if !style.zero => (true, rest),
        _ => (false, line),
    };
    let (digits, name, algorithm) = split(rest, &mut notes)?;
    let digest = decode(digits, &mut notes)?;
    let bytes = if escaped { unescape(name)? } else { name.to_vec() };
    let label = if escaped { [b"\\", name].concat() } else { name.to_vec() };
    Ok(Parsed::Entry(Entry { path: path(bytes, style)?, label, digest, algorithm, notes }))
}

/// Digits and name, and the algorithm if a tag names it.
type Parts<'a> = (&'a [u8], &'a [u8], Option<Algorithm>);

/// Digits and name of either form. The digits decide: no tag is a digit, so that two spaces, `) = ` and whatever
/// else a name may contain cannot make one form look like the other.
fn split<'a>(line: &'a [u8], notes: &mut Vec<Note>) -> Result<Parts<'a>, LineError> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    if digits > 0
        && let Some(rest) = line[digits..].strip_prefix(b" ")
    {
        let name = if let Some(name) = rest.strip_prefix(b" ") {
            name
        } else if let Some(name) = rest.strip_prefix(b"*") {
            notes.push(Note::Star);
            name
        } else {
            notes.push(Note::OneSpace);
            rest
        };
        return Ok((&line[..digits], name, None));
    }
    // An untagged line with a mistake in the digest deserves a better answer than "neither form".
    let word = line.iter().take_while(|&&byte| byte != b' ').count();
    if word == 64 && digits < 64 {
        return Err(LineError::Digit { index: digits });
    }
    if line.starts_with(b"{\"") {
        return Err(LineError::Json);
    }
    let Some(open) = find(line, b" (") else { return Err(LineError::Form) };
    let Some(close) = rfind(line, b") = ").filter(|&close| close >= open + 2) else {
        return Err(LineError::Form);
    };
    let tag = &line[..open];
    let Some(algorithm) = Algorithm::by_tag(tag) else {
        return Err(LineError::OtherAlgorithm { known: Foreign::by_tag(tag) });
    };
    Ok((&line[close + 4..], &line[open + 2..close], Some(algorithm)))
}

fn find(line: &[u8], what: &[u8]) -> Option<usize> {
    line.windows(what.len()).position(|window| window == what)
}

fn rfind(line: &[u8], what: &[u8]) -> Option<usize> {
    line.windows(what.len()).rposition(|window| window == what)
}

fn decode(digits: &[u8], notes: &mut Vec<Note>) -> Result<[u8; 32], LineError> {
    let (pairs, odd) = digits.as_chunks::<2>();
    if pairs.len() != 32 || !odd.is_empty() {
        return Err(LineError::DigestLength { digits: digits.len() });
    }
    let mut digest = [0; 32];
    for (index, (byte, pair)) in digest.iter_mut().zip(pairs).enumerate() {
        let mut value = 0;
        for (side, digit) in pair.iter().enumerate() {
            let digit =
                char::from(*digit).to_digit(16).ok_or(LineError::Digit { index: 2 * index + side })?;
            value = value << 4 | digit as u8;
        }
        *byte = value;
    }
    if digits.iter().any(u8::is_ascii_uppercase) {
        notes.push(Note::Uppercase);
    }
    Ok(digest)
}

fn unescape(name: &[u8]) -> Result<Vec<u8>, LineError> {
    let mut out = Vec::with_capacity(name.len());
    let mut bytes = name.iter();
    while let Some(&byte) = bytes.next() {
        out.push(match byte {
            b'\\' => match bytes.next() {
                Some(b'\\') => b'\\',
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                _ => return Err(LineError::Escape),
            },
            other => other,
        });
    }
    Ok(out)
}

fn path(bytes: Vec<u8>, style: Style) -> Result<PathBuf, LineError> {
    if bytes.is_empty() {
        return Err(LineError::NoName);
    }
    if bytes.contains(&0) {
        return Err(LineError::Nul);
    }
    if os::BACKSLASH_SEPARATES && bytes.contains(&b'\\') {
        return Err(LineError::Backslash);
    }
    // With --zero names stand byte for byte, and this character is one like any other.
    if !style.zero && find(&bytes, "\u{fffd}".as_bytes()).is_some() {
        return Err(LineError::Replacement);
    }
    os::name(bytes).map(PathBuf::from).ok_or(LineError::Unrepresentable)
}

#[cfg(test)]
mod tests;
