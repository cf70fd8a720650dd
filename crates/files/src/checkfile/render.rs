//! Writing a line: everything around the digest.

use super::Style;
use crate::os;
use std::borrow::Cow;
use std::path::Path;

/// What stands before and after the digest. The digest itself may be too long to hold, so it is the caller's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Before the digest.
    pub before: Vec<u8>,
    /// After the digest, the end of the line included.
    pub after: Vec<u8>,
}

impl Frame {
    /// `HEX  NAME`
    pub fn plain(path: &Path, style: Style) -> Frame {
        let (slash, name) = name(path, style);
        let between: &[u8] = if style.binary { b" *" } else { b"  " };
        Frame { before: slash.into(), after: [between, &*name, end(style)].concat() }
    }

    /// `BLAKE3 (NAME) = HEX`
    pub fn tagged(path: &Path, style: Style) -> Frame {
        let (slash, name) = name(path, style);
        let before = [slash.as_bytes(), style.algorithm.tag().as_bytes(), b" (", &*name, b") = "].concat();
        Frame { before, after: end(style).to_vec() }
    }

    /// `HEX`
    pub fn bare(style: Style) -> Frame {
        Frame { before: Vec::new(), after: end(style).to_vec() }
    }
}

/// Whether reading a line gives the name back from which it was made. Names that are no UTF-8 are only kept by lists whose
/// style says so, and not on every system.
pub fn can_be_read_back(path: &Path, style: Style) -> bool {
    if os::NAMES_ARE_BYTES && (style.zero || (style.bytes && path.to_str().is_none())) {
        return true;
    }
    !path.to_string_lossy().contains('\u{fffd}')
}

fn end(style: Style) -> &'static [u8] {
    if style.zero { b"\0" } else { b"\n" }
}

/// What announces escapes, and the name's bytes.
fn name(path: &Path, style: Style) -> (&'static str, Cow<'_, [u8]>) {
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

/// A name that is no UTF-8, with escapes for what would end the line.
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

/// The name as lists have it.
fn slashes(name: Cow<'_, str>) -> Cow<'_, str> {
    if os::BACKSLASH_SEPARATES && name.contains('\\') { Cow::Owned(name.replace('\\', "/")) } else { name }
}

/// A name as it stands in a line, and whether anything had to be escaped.
pub fn escape(name: Cow<'_, str>) -> (bool, Cow<'_, str>) {
    let name = slashes(name);
    if !name.contains(['\\', '\n', '\r']) {
        return (false, name);
    }
    let mut escaped = String::with_capacity(name.len() + 8);
    for character in name.chars() {
        match character {
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            other => escaped.push(other),
        }
    }
    (true, Cow::Owned(escaped))
}

#[cfg(test)]
mod tests {
    use super::super::Algorithm;
    use super::*;

    fn text(frame: &Frame) -> String {
        format!("{}HEX{}", frame.before.escape_ascii(), frame.after.escape_ascii())
    }

    #[test]
    fn plain_tagged_and_bare() {
        let style = Style::default();
        let path = Path::new("a  b");
        assert_eq!(text(&Frame::plain(path, style)), r"HEX  a  b\n");
        assert_eq!(text(&Frame::tagged(path, style)), r"BLAKE3 (a  b) = HEX\n");
        assert_eq!(text(&Frame::bare(style)), r"HEX\n");
        let sha256 = Style { algorithm: Algorithm::Sha256, zero: true, ..style };
        assert_eq!(text(&Frame::tagged(path, sha256)), r"SHA256 (a  b) = HEX\x00");
    }

    #[cfg(unix)]
    #[test]
    fn odd_names_are_escaped_or_with_zero_left_alone() {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new("a\\b\nc\rd");
        let style = Style::default();
        assert_eq!(text(&Frame::plain(path, style)), r"\\HEX  a\\\\b\\nc\\rd\n");
        assert_eq!(text(&Frame::tagged(path, style)), r"\\BLAKE3 (a\\\\b\\nc\\rd) = HEX\n");
        let zero = Style { zero: true, ..style };
        assert_eq!(text(&Frame::plain(path, zero)), r"HEX  a\\b\nc\rd\x00");

        let invalid = Path::new(std::ffi::OsStr::from_bytes(b"\xffx"));
        assert_eq!(text(&Frame::plain(invalid, style)), r"HEX  \xef\xbf\xbdx\n");
        assert_eq!(text(&Frame::plain(invalid, zero)), r"HEX  \xffx\x00");
        let bytes = Style { bytes: true, ..style };
        assert_eq!(text(&Frame::plain(invalid, bytes)), r"HEX  \xffx\n");
        let both = Path::new(std::ffi::OsStr::from_bytes(b"\xff\n"));
        assert_eq!(text(&Frame::plain(both, bytes)), r"\\HEX  \xff\\n\n");
    }
}
