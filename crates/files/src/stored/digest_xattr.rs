//! File digests in extended attributes, with the size and mtime at which each was computed.
//!
//! They move with the file and tell corruption from an edit: an edit changes the mtime, corruption does not.
//!
//! | attribute | value |
//! |---|---|
//! | `user.hashmill.FUNCTION` | `SIZE SECONDS.NANOSECONDS HEX` |
//! | `user.shatag.sha256`, `user.shatag.ts` | `HEX`, `SECONDS.NANOSECONDS`: SHA-256 as cshatag and shatag have it |
//!
//! The first form is written by one call, so it is complete or absent. In the second, the time is written
//! last: a digest with the time of an older one is outdated, not corrupt.

use crate::checksum_list::Algorithm;
use crate::os::{self, FileId};
use crate::stored::Time;
use crate::stored::{DigestVerdict, ExpectedDigest};
use hashmill_hash::hex;
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Digest in the attributes of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredDigest {
    /// The function of the digest.
    pub algorithm: Algorithm,
    /// The digest.
    pub digest: Box<[u8]>,
    /// The size of the file; cshatag stores none.
    pub size: Option<u64>,
    /// The mtime of the file.
    pub modified: Time,
}

/// State of a file as the system reports it. Two states are equal only if the file was not changed in
/// between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileState {
    id: Option<FileId>,
    linked: bool,
    size: u64,
    mtime: Time,
    /// ctime: programs cannot set it.
    ctime: (i64, i64),
}

/// The reason why a stored digest cannot be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum XattrError {
    /// The operating system: the file is missing, or may not be read, or its attributes may not be written.
    Io(io::Error),
    /// The file system: it has no extended attributes. Neither have other files on the same device, if that
    /// is known.
    Unsupported(Option<u64>),
    /// A symbolic link: users cannot set attributes on it.
    Link,
    /// The kind of the file: neither a file nor a directory.
    NotAFile,
    /// The file system: it reports no modification time.
    NoMtime,
    /// The attribute: it holds no digest with a time.
    Malformed(&'static str),
    /// Another program: the file was changed while it was hashed.
    ChangedMeanwhile,
}

impl fmt::Display for XattrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            XattrError::Io(error) => error.fmt(f),
            XattrError::Unsupported(_) => f.write_str("its file system has no extended attributes"),
            XattrError::Link => {
                f.write_str("a symbolic link, which has no tag; name the file that it leads to")
            }
            XattrError::NotAFile => f.write_str("neither a file nor a directory"),
            XattrError::NoMtime => f.write_str("the file system does not tell when it was changed"),
            XattrError::Malformed(name) => write!(f, "its attribute {name} has no digest with a time"),
            XattrError::ChangedMeanwhile => f.write_str("it changed while it was read"),
        }
    }
}

impl std::error::Error for XattrError {}

/// Attribute names of one function.
struct AttributeNames {
    algorithm: Algorithm,
    /// The attribute with the digest.
    digest: &'static str,
    /// The attribute with the time, if it is separate.
    time: Option<&'static str>,
}

/// In order of preference.
const ATTRIBUTES: [AttributeNames; 5] = [
    AttributeNames { algorithm: Algorithm::Blake3, digest: "user.hashmill.blake3", time: None },
    AttributeNames {
        algorithm: Algorithm::Sha256,
        digest: "user.shatag.sha256",
        time: Some("user.shatag.ts"),
    },
    AttributeNames { algorithm: Algorithm::Sha512, digest: "user.hashmill.sha512", time: None },
    AttributeNames { algorithm: Algorithm::Sha1, digest: "user.hashmill.sha1", time: None },
    AttributeNames { algorithm: Algorithm::Md5, digest: "user.hashmill.md5", time: None },
];

/// The attributes of a function. A match, so that a new function does not compile without an entry.
fn attributes_of(algorithm: Algorithm) -> &'static AttributeNames {
    match algorithm {
        Algorithm::Blake3 => &ATTRIBUTES[0],
        Algorithm::Sha256 => &ATTRIBUTES[1],
        Algorithm::Sha512 => &ATTRIBUTES[2],
        Algorithm::Sha1 => &ATTRIBUTES[3],
        Algorithm::Md5 => &ATTRIBUTES[4],
    }
}

/// Reads the state of the file at `path`, and the stored digest of a function, or the first that exists.
/// Links are not followed.
///
/// # Errors
/// See [`XattrError`]. A malformed digest is returned with the state, as the file can get a new one.
pub fn read(
    path: &Path,
    by: Option<Algorithm>,
) -> Result<(FileState, Result<Option<StoredDigest>, XattrError>), XattrError> {
    let (file, state) = open(path)?;
    let wanted = ATTRIBUTES.iter().filter(|attributes| by.is_none_or(|by| by == attributes.algorithm));
    let tag = wanted
        .map(|attributes| read_attribute(&file, &state, attributes))
        .find(|tag| !matches!(tag, Ok(None)));
    match tag.unwrap_or(Ok(None)) {
        Err(error) if !matches!(error, XattrError::Malformed(_)) => Err(error),
        tag => Ok((state, tag)),
    }
}

/// The verdict on a file with these state and this digest.
pub fn verdict(tag: Option<&StoredDigest>, state: &FileState, digest: &[u8]) -> DigestVerdict {
    let stored = tag.map(|tag| ExpectedDigest { digest: &tag.digest, modified: Some(tag.modified) });
    DigestVerdict::compare(stored, digest, Some(state.mtime))
}

/// Checks that the file at `path` is unchanged.
///
/// # Errors
/// [`XattrError::ChangedMeanwhile`]; errors of the system.
pub fn ensure_unchanged(path: &Path, state: &FileState) -> Result<(), XattrError> {
    open_unchanged(path, state).map(|_| ())
}

/// Stores the digest of a file if it has not changed since it was hashed.
///
/// # Errors
/// See [`XattrError`]: among others, the file was changed, or may not be written.
pub fn write(path: &Path, state: &FileState, by: Algorithm, digest: &[u8]) -> Result<(), XattrError> {
    let file = open_unchanged(path, state)?;
    let attributes = attributes_of(by);
    let hex = hex::encode(digest);
    let Some(time) = attributes.time else {
        let value = format!("{} {} {hex}", state.size, state.mtime);
        return os::set_attribute(&file, attributes.digest, value.as_bytes())
            .map_err(|error| xattr_error(error, state));
    };
    os::set_attribute(&file, attributes.digest, hex.as_bytes())
        .and_then(|()| os::set_attribute(&file, time, state.mtime.to_string().as_bytes()))
        .map_err(|error| xattr_error(error, state))
}

fn open_unchanged(path: &Path, state: &FileState) -> Result<File, XattrError> {
    let (file, now) = open(path)?;
    if now == *state { Ok(file) } else { Err(XattrError::ChangedMeanwhile) }
}

fn open(path: &Path) -> Result<(File, FileState), XattrError> {
    let file = os::open_itself(path).map_err(|error| match error.kind() {
        _ if os::is_link(&error) => XattrError::Link,
        ErrorKind::Unsupported => XattrError::Unsupported(None),
        _ => XattrError::Io(error),
    })?;
    let metadata = file.metadata().map_err(XattrError::Io)?;
    if metadata.is_dir() {
        return Err(XattrError::Io(ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() {
        return Err(XattrError::NotAFile);
    }
    let state = FileState::from_metadata(&metadata).ok_or(XattrError::NoMtime)?;
    Ok((file, state))
}

impl FileState {
    /// The identity of the file.
    pub fn id(&self) -> Option<FileId> {
        self.id
    }

    /// Has the file other names?
    pub fn is_linked(&self) -> bool {
        self.linked
    }

    fn from_metadata(metadata: &Metadata) -> Option<FileState> {
        let ctime = os::changed(metadata);
        let (id, size, mtime) = (FileId::from_metadata(metadata), metadata.len(), Time::modified(metadata)?);
        let linked = FileId::from_linked(metadata).is_some();
        Some(FileState { id, linked, size, mtime, ctime })
    }
}

fn xattr_error(error: io::Error, state: &FileState) -> XattrError {
    if error.kind() == ErrorKind::Unsupported {
        XattrError::Unsupported(state.id.map(|id| id.device()))
    } else {
        XattrError::Io(error)
    }
}

fn read_attribute(
    file: &File,
    state: &FileState,
    attributes: &AttributeNames,
) -> Result<Option<StoredDigest>, XattrError> {
    let get = |name| os::attribute(file, name).map_err(|error| xattr_error(error, state));
    let Some(digest) = get(attributes.digest)? else { return Ok(None) };
    let time = match attributes.time {
        Some(name) => match get(name)? {
            Some(time) => Some(time),
            // A digest without a time: the writer was interrupted.
            None => return Ok(None),
        },
        None => None,
    };
    parse(attributes.algorithm, &digest, time.as_deref())
        .map(Some)
        .ok_or(XattrError::Malformed(attributes.digest))
}

/// Parses attributes; `None` if they hold no digest with a time.
fn parse(algorithm: Algorithm, digest: &[u8], time: Option<&[u8]>) -> Option<StoredDigest> {
    let text = |bytes| std::str::from_utf8(bytes).ok().map(|text: &str| text.trim_matches(['\0', '\n', ' ']));
    let digest = text(digest)?;
    let (size, modified, hex) = match time {
        Some(time) => (None, parse_mtime(text(time)?)?, digest),
        None => {
            let mut parts = digest.split(' ');
            let (size, time, hex) = (parts.next()?, parts.next()?, parts.next()?);
            (Some(size.parse().ok()?), Time::parse(time)?, hex)
        }
    };
    // Other programs may have written anything: what is no digest counts as absent, and the file is read.
    let digits = hex.as_bytes().chunks(2).map(|pair| {
        let pair =
            std::str::from_utf8(pair).ok().filter(|pair| pair.bytes().all(|b| b.is_ascii_hexdigit()))?;
        u8::from_str_radix(pair, 16).ok()
    });
    let digest: Box<[u8]> = digits.collect::<Option<_>>()?;
    let whole = digest.len() == algorithm.digest_len() && hex.len() == 2 * digest.len();
    whole.then_some(StoredDigest { algorithm, digest, size, modified })
}

/// Parses a time with up to nine decimal places: shatag writes a variable number.
fn parse_mtime(text: &str) -> Option<Time> {
    let (seconds, places) = text.split_once('.').unwrap_or((text, ""));
    Time::parse(&format!("{seconds}.{places:0<9}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_has_attributes_of_its_own() {
        for expected in &ATTRIBUTES {
            assert_eq!(attributes_of(expected.algorithm).digest, expected.digest);
        }
    }

    #[test]
    fn parses_own_and_shatag_attributes() {
        let hex = "ab".repeat(32);
        let blake3 = |text: &str| parse(Algorithm::Blake3, text.as_bytes(), None);
        let tag = blake3(&format!("5 1600000000.000000005 {hex}")).expect("as it is written");
        assert_eq!((tag.size, tag.modified.nanos()), (Some(5), 1_600_000_000_000_000_005));
        assert_eq!(*tag.digest, [0xab; 32]);
        let short = &hex[2..];
        for text in [
            String::new(),
            hex.clone(),
            format!("5 1600000000 {hex}"),
            format!("x 1600000000.000000005 {hex}"),
            format!("5 1600000000.000000005 {short}"),
            format!("5 1600000000.000000005 {short}+1"),
            format!("5 1600000000.000000005 {hex}0"),
        ] {
            assert_eq!(blake3(&text), None, "{text}");
        }
        // cshatag, shatag, and programs that write a NUL at the end.
        for (time, nanos) in [
            ("1600000000.000000005", 1_600_000_000_000_000_005),
            ("1600000000.5", 1_600_000_000_500_000_000),
            ("1600000000", 1_600_000_000_000_000_000),
            ("1600000000.25\0", 1_600_000_000_250_000_000),
        ] {
            let tag = parse(Algorithm::Sha256, hex.as_bytes(), Some(time.as_bytes())).expect("a tag");
            assert_eq!((tag.size, tag.modified.nanos()), (None, nanos), "{time}");
        }
        assert_eq!(parse(Algorithm::Sha256, hex.as_bytes(), Some(b"now")), None);
        assert_eq!(parse(Algorithm::Sha256, hex.as_bytes(), Some(b"1.1234567890")), None);
    }
}
