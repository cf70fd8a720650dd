//! JSON objects that `hashmill sum` prints. The field names are stable and documented in `docs/sum.md`.

use super::hex::hex;
use super::quote::is_terminal_control;
use serde::Serialize;
use serde_json::ser::Formatter;
use std::io::{self, Write};
use std::path::Path;

/// A path as text.
#[derive(Serialize)]
pub(crate) struct Name {
    pub(crate) path: String,
    /// The bytes of the path, if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path_hex: Option<String>,
}

impl Name {
    pub(crate) fn from_path(path: &Path) -> Name {
        let path_hex = path.to_str().is_none().then(|| hex(path.as_os_str().as_encoded_bytes()));
        Name { path: path.to_string_lossy().into_owned(), path_hex }
    }
}

/// A file, or a directory under `--tree`, that was hashed.
#[derive(Serialize)]
pub(crate) struct Hashed<'a> {
    #[serde(flatten)]
    pub(crate) name: Name,
    pub(crate) algorithm: &'a str,
    pub(crate) mode: &'a str,
    /// Bytes hashed; absent for a tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<u64>,
    pub(crate) seek: u64,
    pub(crate) length: u64,
    /// The digest; empty if the caller streams it.
    pub(crate) digest: &'a str,
}

/// A file that was not hashed.
#[derive(Serialize)]
pub(crate) struct Failed {
    #[serde(flatten)]
    pub(crate) name: Name,
    pub(crate) error: String,
    #[serde(flatten)]
    pub(crate) unreadable: Option<Unreadable>,
}

/// Unreadable range of a file.
#[derive(Serialize)]
pub(crate) struct Unreadable {
    /// The first unreadable range, or with `--keep-going` all, up to a limit.
    pub(crate) unreadable: Vec<ByteRange>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unreadable_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<u64>,
    /// Not called `digest`, as it is not the digest of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) digest_with_zeros: Option<String>,
}

/// A range of a file.
#[derive(Serialize)]
pub(crate) struct ByteRange {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// A line of a list that was checked.
#[derive(Serialize)]
pub(crate) struct Checked<'a> {
    pub(crate) list: String,
    pub(crate) line: u64,
    #[serde(flatten)]
    pub(crate) name: Option<Name>,
    /// `ok`, `failed`, `missing`, `unreadable` or `malformed`.
    pub(crate) status: &'a str,
    /// The hash function by which the file matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) algorithm: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// Writes one object on one line.
pub(crate) fn line(out: &mut dyn Write, object: &impl Serialize) -> io::Result<()> {
    object.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, ControlEscaper))?;
    out.write_all(b"\n")
}

/// Escapes terminal control characters in strings, also those that JSON allows unescaped.
struct ControlEscaper;

impl Formatter for ControlEscaper {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        for part in fragment.split_inclusive(is_terminal_control) {
            match part.chars().next_back().filter(|last| is_terminal_control(*last)) {
                Some(last) => {
                    out.write_all(&part.as_bytes()[..part.len() - last.len_utf8()])?;
                    // All of them are below U+10000, so one escape is enough.
                    write!(out, "\\u{:04x}", u32::from(last))?;
                }
                None => out.write_all(part.as_bytes())?,
            }
        }
        Ok(())
    }
}

/// One file that was compared with an expected digest.
#[derive(Serialize)]
pub(crate) struct Compared<'a> {
    #[serde(flatten)]
    pub(crate) name: Name,
    /// `ok`, `failed` or `unreadable`.
    pub(crate) status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) algorithm: Option<&'static str>,
    pub(crate) expected: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// The verdict on a file.
#[derive(Serialize)]
pub(crate) struct Audited {
    /// See [`DigestVerdict::word`](hashmill_files::DigestVerdict::word).
    pub(crate) status: &'static str,
    #[serde(flatten)]
    pub(crate) name: Name,
    /// The old path of a moved file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from_hex: Option<String>,
}

/// Numbers of files by verdict.
#[derive(Serialize, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) same: u64,
    pub(crate) changed: u64,
    pub(crate) moved: u64,
    pub(crate) new: u64,
    pub(crate) gone: u64,
    pub(crate) touched: u64,
    pub(crate) outdated: u64,
    pub(crate) corrupt: u64,
    pub(crate) unread: u64,
}

/// The last line of an audit.
#[derive(Serialize)]
pub(crate) struct Summary<'a> {
    pub(crate) summary: &'a Counts,
}

/// The summary of an updated list.
#[derive(Serialize)]
pub(crate) struct Updated<'a> {
    pub(crate) manifest: String,
    pub(crate) files: u64,
    pub(crate) hashed: u64,
    pub(crate) kept: u64,
    #[serde(flatten)]
    pub(crate) counts: &'a Counts,
}

/// The result of `--xattr` for a file.
#[derive(Serialize)]
pub(crate) struct Tagged {
    /// `ok`, `new`, `outdated`, `touched`, `corrupt`, `changed`, `unread` or `untagged`.
    pub(crate) status: &'static str,
    #[serde(flatten)]
    pub(crate) name: Name,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) algorithm: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<String>,
    /// The digest stored with the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stored: Option<String>,
    /// Why no digest was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// Numbers of files by result of `--xattr`.
#[derive(Serialize, Default)]
pub(crate) struct TagCounts {
    pub(crate) ok: u64,
    pub(crate) new: u64,
    pub(crate) outdated: u64,
    pub(crate) touched: u64,
    pub(crate) corrupt: u64,
    pub(crate) changed: u64,
    pub(crate) unread: u64,
    pub(crate) untagged: u64,
}

/// The last line of `--xattr`.
#[derive(Serialize)]
pub(crate) struct TagSummary {
    pub(crate) summary: TagCounts,
}

/// Files with equal content.
#[derive(Serialize)]
pub(crate) struct Group {
    pub(crate) size: u64,
    pub(crate) algorithm: &'static str,
    pub(crate) digest: String,
    pub(crate) files: Vec<Name>,
}
