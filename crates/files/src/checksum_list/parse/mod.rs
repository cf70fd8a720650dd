//! Parser for one line: strict about its meaning, tolerant about its writer.
//!
//! A check protects the user only if no line can be mistaken for another. So the digest must have its full
//! length, the name must be one that the writer could have produced, and every tolerance is noted so that a
//! caller can refuse it.

use super::{Algorithm, LINE_LIMIT, ListFormat, UnsupportedAlgorithm};
use crate::os;
use crate::stored::Time;
use std::fmt;
use std::path::PathBuf;

mod base64;

/// Parsed line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParsedLine {
    /// A digest and a name.
    Entry(Entry),
    /// No entry: a comment or a blank line.
    Nothing(LineWarning),
}

/// A digest and a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The name, without escapes.
    pub path: PathBuf,
    /// The name as in the line, with a leading backslash if it has escapes. Reports show this form.
    pub label: Vec<u8>,
    /// The expected digest, with the length of the function or the format.
    pub digest: Vec<u8>,
    /// The function, if the line names it, or if no other has digests of this length.
    pub algorithm: Option<Algorithm>,
    /// Does the line name the function?
    pub tagged: bool,
    /// The mode of the function, if given.
    pub mode: Option<Mode>,
    /// The offset of the digest in the output, if given.
    pub seek: Option<u64>,
    /// The size of the file, if given.
    pub size: Option<u64>,
    /// The mtime of the file, if given.
    pub modified: Option<Time>,
    /// Irregularities of the line.
    pub notes: Vec<LineWarning>,
}

/// Mode of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Mode {
    /// As a hash.
    Hash,
    /// BLAKE3 under a key.
    Keyed,
    /// BLAKE3 to derive a key.
    DeriveKey,
    /// BLAKE3 of a directory tree.
    Tree,
}

impl Mode {
    /// The name in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Mode::Hash => "hash",
            Mode::Keyed => "keyed",
            Mode::DeriveKey => "derive-key",
            Mode::Tree => "tree",
        }
    }

    /// The mode with this name in JSON.
    pub fn by_key(key: &str) -> Option<Mode> {
        [Mode::Hash, Mode::Keyed, Mode::DeriveKey, Mode::Tree].into_iter().find(|mode| mode.key() == key)
    }
}

impl Default for Entry {
    fn default() -> Entry {
        Entry {
            path: PathBuf::new(),
            label: Vec::new(),
            digest: Vec::new(),
            algorithm: None,
            tagged: false,
            mode: None,
            seek: None,
            size: None,
            modified: None,
            notes: Vec::new(),
        }
    }
}

impl Entry {
    /// Is it the digest of a directory tree?
    pub fn is_tree(&self) -> bool {
        self.mode == Some(Mode::Tree) || self.path.as_os_str().as_encoded_bytes().ends_with(b"/")
    }
}

/// Irregularity of a line that no `sum` program writes, but with a unique meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LineWarning {
    /// The line is blank.
    Blank,
    /// The line begins with `#`.
    Comment,
    /// The digest has uppercase digits.
    Uppercase,
    /// The name has GNU's mark for binary files, `*`, in front.
    Star,
    /// One space, not two, separates digest and name.
    OneSpace,
    /// The file begins with a byte order mark.
    ByteOrderMark,
    /// The line belongs to the armour of signed text, or to the signature.
    Signature,
    /// The line sets context for the list or the next line.
    Header,
    /// The line reports a file that could not be hashed when the list was made.
    Failure,
    /// The digest is written in base64.
    Base64,
}

impl fmt::Display for LineWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LineWarning::Blank => "blank line",
            LineWarning::Comment => "comment",
            LineWarning::Uppercase => "uppercase digest",
            LineWarning::Star => "binary mark (*) before the name",
            LineWarning::OneSpace => "one space before the name",
            LineWarning::ByteOrderMark => "byte order mark",
            LineWarning::Signature => "line of a signature",
            LineWarning::Header => "header",
            LineWarning::Failure => "file that could not be hashed",
            LineWarning::Base64 => "digest in base64",
        })
    }
}

/// The reason why a line cannot be checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LineError {
    /// It has neither of the two forms.
    Form,
    /// It is longer than [`LINE_LIMIT`].
    TooLong,
    /// The name is invalid UTF-8 from this byte on, and this system requires UTF-8.
    Encoding {
        /// Counted from 0.
        offset: usize,
    },
    /// It is UTF-16, as some shells write redirected output.
    Utf16,
    /// It has the digest of another algorithm, or of another length.
    DigestLength {
        /// The number of digits in the line.
        digits: usize,
        /// The expected number, if it is unique.
        expected: Option<u64>,
    },
    /// The digest has a character that is no hexadecimal digit.
    Digit {
        /// The index of the digit, from 0.
        index: usize,
    },
    /// It is tagged with the name of another algorithm.
    OtherAlgorithm {
        /// The algorithm, if it is a common one.
        known: Option<UnsupportedAlgorithm>,
    },
    /// It begins like JSON, but is not an object of `sum --json`.
    Json,
    /// A backslash in the name is followed by a character other than a backslash, `n` or `r`.
    Escape,
    /// The name is empty.
    NoName,
    /// The name contains NUL, at which systems would truncate it.
    Nul,
    /// The name contains U+FFFD, which replaces lost bytes: several names may look like this.
    Replacement,
    /// The name contains a backslash, which separates directories on this system but not in lists.
    Backslash,
    /// The name cannot exist on this system.
    Unrepresentable,
}

impl LineError {
    /// The common function of the digest, if that is the error.
    pub fn foreign(&self) -> Option<UnsupportedAlgorithm> {
        match *self {
            LineError::OtherAlgorithm { known } => known,
            LineError::DigestLength { digits, expected: None } => {
                UnsupportedAlgorithm::by_digits(digits).next()
            }
            _ => None,
        }
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            LineError::Form => f.write_str("neither `DIGEST  NAME` nor `ALGORITHM (NAME) = DIGEST`"),
            LineError::TooLong => write!(f, "longer than {LINE_LIMIT} bytes"),
            LineError::Encoding { offset } => write!(f, "invalid UTF-8 at byte {offset} of the name"),
            LineError::Utf16 => f.write_str("UTF-16 text; convert the list to UTF-8"),
            LineError::DigestLength { digits, expected: Some(expected) } => {
                write!(f, "the digest has {digits} hex digits, not {expected}")
            }
            LineError::DigestLength { digits, expected: None } => {
                let known: Vec<_> = UnsupportedAlgorithm::by_digits(digits)
                    .map(|known| format!("{} (see {})", known.name, known.program))
                    .collect();
                write!(f, "the digest has {digits} hex digits, ")?;
                match known.is_empty() {
                    true => f.write_str("as that of no function known here; see --length"),
                    false => {
                        let len = digits / 2;
                        write!(f, "as that of {}, or of BLAKE3 with --length {len}", known.join(" or "))
                    }
                }
            }
            LineError::Digit { index } => write!(f, "digit {} of the digest is not hexadecimal", index + 1),
            LineError::OtherAlgorithm { known: Some(known) } => {
                write!(f, "a digest of {}, which is not known here; see {}", known.name, known.program)
            }
            LineError::OtherAlgorithm { known: None } => {
                f.write_str("tagged with an algorithm that is not known here")
            }
            LineError::Json => {
                f.write_str("JSON, but no object with path, algorithm and digest as --json writes it")
            }
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

/// Parses one line without its end. `number` identifies the first line.
///
/// # Errors
/// See [`LineError`].
pub fn parse(mut line: &[u8], number: u64, style: ListFormat) -> Result<ParsedLine, LineError> {
    let mut notes = Vec::new();
    if number == 1 {
        if line.starts_with(&[0xff, 0xfe]) || line.starts_with(&[0xfe, 0xff]) {
            return Err(LineError::Utf16);
        }
        if let Some(rest) = line.strip_prefix("\u{feff}".as_bytes()) {
            notes.push(LineWarning::ByteOrderMark);
            line = rest;
        }
    }
    if !style.zero {
        line = without_cr(line);
    }
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(ParsedLine::Nothing(LineWarning::Blank));
    }
    if line[0] == b'#' {
        return Ok(ParsedLine::Nothing(LineWarning::Comment));
    }

    let (escaped, rest) = match line.strip_prefix(b"\\") {
        Some(rest) if !style.zero => (true, rest),
        _ => (false, line),
    };
    let (digits, name, tag) = split(rest, &mut notes)?;
    let (algorithm, digest) = match base64::digest(digits) {
        Some(digest) => {
            notes.push(LineWarning::Base64);
            (function(2 * digest.len(), tag, style)?, digest)
        }
        None => (function(digits.len(), tag, style)?, decode(digits, &mut notes)?),
    };
    let bytes = if escaped { unescape(name)? } else { name.to_vec() };
    let label = if escaped { [b"\\", name].concat() } else { name.to_vec() };
    let path = path(bytes, style)?;
    Ok(ParsedLine::Entry(Entry {
        path,
        label,
        digest,
        algorithm,
        tagged: tag.is_some(),
        notes,
        ..Entry::default()
    }))
}

/// Lists that came through Windows end lines with CR LF. A name never ends with a bare CR: it is escaped.
pub(super) fn without_cr(line: &[u8]) -> &[u8] {
    &line[..line.len() - line.iter().rev().take_while(|&&byte| byte == b'\r').count()]
}

/// The function of a digest with `digits` digits, if it is unambiguous. A truncated digest proves less than a
/// reader expects, so another length counts only if the format allows it.
pub(super) fn function(
    digits: usize,
    tag: Option<Algorithm>,
    style: ListFormat,
) -> Result<Option<Algorithm>, LineError> {
    let expected = match (tag, style.length) {
        (None | Some(Algorithm::Blake3), Some(length)) => Some(length.get().saturating_mul(2)),
        (Some(tag), _) => Some(2 * tag.digest_len() as u64),
        (None, None) => None,
    };
    let wrong = Err(LineError::DigestLength { digits, expected });
    if let Some(expected) = expected {
        let is_blake3 = tag.is_none() && digits as u64 == expected;
        return if digits as u64 == expected {
            Ok(tag.or(is_blake3.then_some(Algorithm::Blake3)))
        } else {
            wrong
        };
    }
    if !digits.is_multiple_of(2) {
        return wrong;
    }
    let mut known = Algorithm::by_digest_len(digits / 2);
    match (known.next(), known.next()) {
        (None, _) => wrong,
        (only, None) => Ok(only),
        _ => Ok(None),
    }
}

/// Digits and name, and the algorithm if the tag names it.
type Parts<'a> = (&'a [u8], &'a [u8], Option<Algorithm>);

/// Splits either form into digits and name. The digits decide: no tag consists of digits, so nothing in a
/// name, such as two spaces or `) = `, can make one form look like the other.
fn split<'a>(line: &'a [u8], notes: &mut Vec<LineWarning>) -> Result<Parts<'a>, LineError> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let word = line.iter().take_while(|&&byte| byte != b' ').count();
    let length = if digits < word && base64::digest(&line[..word]).is_some() { word } else { digits };
    if length > 0
        && let Some(rest) = line[length..].strip_prefix(b" ")
    {
        let name = if let Some(name) = rest.strip_prefix(b" ") {
            name
        } else if let Some(name) = rest.strip_prefix(b"*") {
            notes.push(LineWarning::Star);
            name
        } else {
            notes.push(LineWarning::OneSpace);
            rest
        };
        return Ok((&line[..length], name, None));
    }
    // An untagged line with a wrong digit deserves a better error than "neither form".
    if word == 64 && digits < 64 {
        return Err(LineError::Digit { index: digits });
    }
    let Some(open) = find(line, b" (") else { return Err(LineError::Form) };
    let Some(close) = rfind(line, b") = ").filter(|&close| close >= open + 2) else {
        return Err(LineError::Form);
    };
    let tag = &line[..open];
    let Some(algorithm) = Algorithm::by_tag(tag) else {
        return Err(LineError::OtherAlgorithm { known: UnsupportedAlgorithm::by_tag(tag) });
    };
    Ok((&line[close + 4..], &line[open + 2..close], Some(algorithm)))
}

fn find(line: &[u8], what: &[u8]) -> Option<usize> {
    line.windows(what.len()).position(|window| window == what)
}

fn rfind(line: &[u8], what: &[u8]) -> Option<usize> {
    line.windows(what.len()).rposition(|window| window == what)
}

/// The bytes of hexadecimal digits.
pub(super) fn decode(digits: &[u8], notes: &mut Vec<LineWarning>) -> Result<Vec<u8>, LineError> {
    let digest = hex(digits)?;
    if digits.iter().any(u8::is_ascii_uppercase) {
        notes.push(LineWarning::Uppercase);
    }
    Ok(digest)
}

fn hex(digits: &[u8]) -> Result<Vec<u8>, LineError> {
    let value = |index: usize, digit: u8| match char::from(digit).to_digit(16) {
        Some(value) => Ok(value as u8),
        None => Err(LineError::Digit { index }),
    };
    let pairs = digits.as_chunks::<2>().0;
    // Preallocated: collecting results would grow the vector step by step, and a list has a digest on every
    // line.
    let mut digest = Vec::with_capacity(pairs.len());
    for (n, &[high, low]) in pairs.iter().enumerate() {
        digest.push(value(2 * n, high)? << 4 | value(2 * n + 1, low)?);
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

/// A name from the bytes of a list.
pub(super) fn path(bytes: Vec<u8>, style: ListFormat) -> Result<PathBuf, LineError> {
    if bytes.is_empty() {
        return Err(LineError::NoName);
    }
    if bytes.contains(&0) {
        return Err(LineError::Nul);
    }
    if os::BACKSLASH_SEPARATES && bytes.contains(&b'\\') {
        return Err(LineError::Backslash);
    }
    // Where names are written byte for byte, this character is an ordinary one.
    if !style.zero && !style.bytes && find(&bytes, "\u{fffd}".as_bytes()).is_some() {
        return Err(LineError::Replacement);
    }
    if !os::NAMES_ARE_BYTES {
        std::str::from_utf8(&bytes).map_err(|error| LineError::Encoding { offset: error.valid_up_to() })?;
    }
    os::name(bytes).map(PathBuf::from).ok_or(LineError::Unrepresentable)
}

#[cfg(test)]
mod tests;
