//! Writer of lines: the text around the digest.

use super::ListFormat;
use crate::os;
use std::borrow::Cow;
use std::path::Path;

/// Text before and after the digest. The caller writes the digest itself, which may be too long for memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineTemplate {
    /// Before the digest.
    pub before: Vec<u8>,
    /// After the digest, including the end of the line.
    pub after: Vec<u8>,
}

impl LineTemplate {
    /// `HEX  NAME`
    pub fn plain(path: &Path, style: ListFormat) -> LineTemplate {
        let (slash, name) = name(path, style);
        let between: &[u8] = if style.binary { b" *" } else { b"  " };
        LineTemplate { before: slash.into(), after: [between, &*name, end(style)].concat() }
    }

    /// `BLAKE3 (NAME) = HEX`
    pub fn tagged(path: &Path, style: ListFormat) -> LineTemplate {
        let (slash, name) = name(path, style);
        let before = [slash.as_bytes(), style.algorithm.tag().as_bytes(), b" (", &*name, b") = "].concat();
        LineTemplate { before, after: end(style).to_vec() }
    }

    /// `HEX`
    pub fn bare(style: ListFormat) -> LineTemplate {
        LineTemplate { before: Vec::new(), after: end(style).to_vec() }
    }
}

/// Does reading a written line restore this name? Names that are not UTF-8 survive only in some formats, and
/// not on every system.
pub fn can_be_read_back(path: &Path, style: ListFormat) -> bool {
    if os::NAMES_ARE_BYTES && (style.zero || (style.bytes && path.to_str().is_none())) {
        return true;
    }
    !path.to_string_lossy().contains('\u{fffd}')
}

fn end(style: ListFormat) -> &'static [u8] {
    if style.zero { b"\0" } else { b"\n" }
}

/// The prefix of an escaped name, and its bytes.
fn name(path: &Path, style: ListFormat) -> (&'static str, Cow<'_, [u8]>) {
    if style.zero && os::NAMES_ARE_BYTES {
        return ("", Cow::Borrowed(path.as_os_str().as_encoded_bytes()));
    }
    if style.bytes && os::NAMES_ARE_BYTES && path.to_str().is_none() {
        return escape_bytes(path.as_os_str().as_encoded_bytes());
    }
    let text = path.to_string_lossy();
    if style.zero {
        return ("", into_bytes(slashes(text)));
    }
    let (escaped, text) = escape(text);
    (if escaped { "\\" } else { "" }, into_bytes(text))
}

/// Escapes the bytes of a name.
fn escape_bytes(name: &[u8]) -> (&'static str, Cow<'_, [u8]>) {
    if !name.iter().any(|byte| b"\\\n\r".contains(byte)) {
        return ("", Cow::Borrowed(name));
    }
    let mut escaped = Vec::with_capacity(name.len() + 8);
    for &byte in name {
        match byte {
            b'\\' => escaped.extend(b"\\\\"),
            b'\n' => escaped.extend(b"\\n"),
            b'\r' => escaped.extend(b"\\r"),
            other => escaped.push(other),
        }
    }
    ("\\", Cow::Owned(escaped))
}

fn into_bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// The name with `/` as the separator.
fn slashes(name: Cow<'_, str>) -> Cow<'_, str> {
    if os::BACKSLASH_SEPARATES && name.contains('\\') { Cow::Owned(name.replace('\\', "/")) } else { name }
}

/// Escapes a name for a line. Returns whether anything was escaped.
pub fn escape(name: Cow<'_, str>) -> (bool, Cow<'_, str>) {
    let name = slashes(name);
    match escape_bytes(name.as_bytes()) {
        (_, Cow::Borrowed(_)) => (false, name),
        (_, Cow::Owned(escaped)) => {
            (true, Cow::Owned(String::from_utf8(escaped).expect("ASCII characters were replaced by ASCII")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Algorithm;
    use super::*;

    fn text(frame: &LineTemplate) -> String {
        format!("{}HEX{}", frame.before.escape_ascii(), frame.after.escape_ascii())
    }

    #[test]
    fn plain_tagged_and_bare() {
        let style = ListFormat::default();
        let path = Path::new("a  b");
        assert_eq!(text(&LineTemplate::plain(path, style)), r"HEX  a  b\n");
        assert_eq!(text(&LineTemplate::tagged(path, style)), r"BLAKE3 (a  b) = HEX\n");
        assert_eq!(text(&LineTemplate::bare(style)), r"HEX\n");
        let sha256 = ListFormat { algorithm: Algorithm::Sha256, zero: true, ..style };
        assert_eq!(text(&LineTemplate::tagged(path, sha256)), r"SHA256 (a  b) = HEX\x00");
    }

    #[cfg(unix)]
    #[test]
    fn odd_names_are_escaped_or_with_zero_left_alone() {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new("a\\b\nc\rd");
        let style = ListFormat::default();
        assert_eq!(text(&LineTemplate::plain(path, style)), r"\\HEX  a\\\\b\\nc\\rd\n");
        assert_eq!(text(&LineTemplate::tagged(path, style)), r"\\BLAKE3 (a\\\\b\\nc\\rd) = HEX\n");
        let zero = ListFormat { zero: true, ..style };
        assert_eq!(text(&LineTemplate::plain(path, zero)), r"HEX  a\\b\nc\rd\x00");

        let invalid = Path::new(std::ffi::OsStr::from_bytes(b"\xffx"));
        assert_eq!(text(&LineTemplate::plain(invalid, style)), r"HEX  \xef\xbf\xbdx\n");
        assert_eq!(text(&LineTemplate::plain(invalid, zero)), r"HEX  \xffx\x00");
        let bytes = ListFormat { bytes: true, ..style };
        assert_eq!(text(&LineTemplate::plain(invalid, bytes)), r"HEX  \xffx\n");
        let both = Path::new(std::ffi::OsStr::from_bytes(b"\xff\n"));
        assert_eq!(text(&LineTemplate::plain(both, bytes)), r"\\HEX  \xff\\n\n");
    }
}
