//! Tags: the digest of a file, with its size and time, kept in extended attributes of that file. They go where the file goes,
//! and tell contents that changed by themselves from those that somebody changed: only the latter have a new time.
//!
//! | attribute | what is in it |
//! |---|---|
//! | `user.hashmill.FUNCTION` | `SIZE SECONDS.NANOSECONDS HEX` |
//! | `user.shatag.sha256`, `user.shatag.ts` | `HEX`, `SECONDS.NANOSECONDS`: SHA-256 as cshatag and shatag have it |
//!
//! The first is written by one call, so it is whole or not there. Of the other two the time is written last: a digest with the
//! time of an older one is outdated, and no corruption.

use crate::checkfile::Algorithm;
use crate::os::{self, FileId};
use crate::time::Time;
use crate::verdict::{Stored, Verdict};
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;

/// What the attributes of a file say of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tag {
    /// The function of the digest.
    pub algorithm: Algorithm,
    /// The digest that the file had.
    pub digest: Box<[u8]>,
    /// Its size then; cshatag's tags have none.
    pub size: Option<u64>,
    /// When it had last been changed.
    pub modified: Time,
}

/// What the system says of a file. Two of these are equal only if nothing was done to the file in between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    id: Option<FileId>,
    linked: bool,
    size: u64,
    modified: Time,
    /// When anything about it was last changed, which no program can set.
    changed: (i64, i64),
}

/// Why a file has no tag that can be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum TagError {
    /// The operating system: the file is missing, or may not be read, or its attributes may not be written.
    Io(io::Error),
    /// The file system: it has no extended attributes. Files on the same device, if that is known, have none either.
    None(Option<u64>),
    /// The kind of the file: a link, whose own attributes are nothing to users.
    Link,
    /// The kind of the file: neither a file nor a directory.
    Special,
    /// The file system: it does not know when the file was changed.
    NoTime,
    /// The attribute: it says nothing that could be compared.
    Damaged(&'static str),
    /// Another program: the file was changed while it was hashed.
    Changed,
}

impl fmt::Display for TagError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TagError::Io(error) => error.fmt(f),
            TagError::None(_) => f.write_str("its file system has no extended attributes"),
            TagError::Link => {
                f.write_str("a symbolic link, which has no tag; name the file that it leads to")
            }
            TagError::Special => f.write_str("neither a file nor a directory"),
            TagError::NoTime => f.write_str("the file system does not tell when it was changed"),
            TagError::Damaged(name) => write!(f, "its attribute {name} has no digest with a time"),
            TagError::Changed => f.write_str("it changed while it was read"),
        }
    }
}

impl std::error::Error for TagError {}

/// Attributes of one function.
struct Names {
    algorithm: Algorithm,
    /// The one with the digest.
    digest: &'static str,
    /// The one with the time, where that is not with the digest.
    time: Option<&'static str>,
}

/// What is looked for first comes first.
const NAMES: [Names; 5] = [
    Names { algorithm: Algorithm::Blake3, digest: "user.hashmill.blake3", time: None },
    Names { algorithm: Algorithm::Sha256, digest: "user.shatag.sha256", time: Some("user.shatag.ts") },
    Names { algorithm: Algorithm::Sha512, digest: "user.hashmill.sha512", time: None },
    Names { algorithm: Algorithm::Sha1, digest: "user.hashmill.sha1", time: None },
    Names { algorithm: Algorithm::Md5, digest: "user.hashmill.md5", time: None },
];

/// Every function has a place in [`NAMES`]: one without would be taken for another.
fn names(algorithm: Algorithm) -> &'static Names {
    match algorithm {
        Algorithm::Blake3 => &NAMES[0],
        Algorithm::Sha256 => &NAMES[1],
        Algorithm::Sha512 => &NAMES[2],
        Algorithm::Sha1 => &NAMES[3],
        Algorithm::Md5 => &NAMES[4],
    }
}

/// What is known of the file at `path`, and its tag: that of a function, or the first that there is. Links are not followed.
///
/// # Errors
/// See [`TagError`]. A tag that says nothing comes with the facts, as the file can have a new one.
pub fn read(path: &Path, by: Option<Algorithm>) -> Result<(Facts, Result<Option<Tag>, TagError>), TagError> {
    let (file, facts) = open(path)?;
    let wanted = NAMES.iter().filter(|names| by.is_none_or(|by| by == names.algorithm));
    let tag = wanted.map(|names| read_one(&file, &facts, names)).find(|tag| !matches!(tag, Ok(None)));
    match tag.unwrap_or(Ok(None)) {
        Err(error) if !matches!(error, TagError::Damaged(_)) => Err(error),
        tag => Ok((facts, tag)),
    }
}

/// The verdict on a file with these facts and this digest.
pub fn verdict(tag: Option<&Tag>, facts: &Facts, digest: &[u8]) -> Verdict {
    let stored = tag.map(|tag| Stored { digest: &tag.digest, modified: Some(tag.modified) });
    Verdict::of(stored, digest, Some(facts.modified))
}

/// Whether the file at `path` is as it was.
///
/// # Errors
/// [`TagError::Changed`], and what the system reports.
pub fn check(path: &Path, facts: &Facts) -> Result<(), TagError> {
    open_unchanged(path, facts).map(|_| ())
}

/// Writes the tag of a file that was found to have this digest, if it is as it was before it was hashed.
///
/// # Errors
/// See [`TagError`]; among others that the file was changed, or that it may not be.
pub fn write(path: &Path, facts: &Facts, by: Algorithm, digest: &[u8]) -> Result<(), TagError> {
    let file = open_unchanged(path, facts)?;
    let names = names(by);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let Some(time) = names.time else {
        let value = format!("{} {} {hex}", facts.size, facts.modified);
        return os::set_attribute(&file, names.digest, value.as_bytes()).map_err(|error| of(error, facts));
    };
    os::set_attribute(&file, names.digest, hex.as_bytes())
        .and_then(|()| os::set_attribute(&file, time, facts.modified.to_string().as_bytes()))
        .map_err(|error| of(error, facts))
}

fn open_unchanged(path: &Path, facts: &Facts) -> Result<File, TagError> {
    let (file, now) = open(path)?;
    if now == *facts { Ok(file) } else { Err(TagError::Changed) }
}

fn open(path: &Path) -> Result<(File, Facts), TagError> {
    let file = os::open_itself(path).map_err(|error| match error.kind() {
        _ if os::is_link(&error) => TagError::Link,
        ErrorKind::Unsupported => TagError::None(None),
        _ => TagError::Io(error),
    })?;
    let metadata = file.metadata().map_err(TagError::Io)?;
    if metadata.is_dir() {
        return Err(TagError::Io(ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() {
        return Err(TagError::Special);
    }
    let facts = Facts::of(&metadata).ok_or(TagError::NoTime)?;
    Ok((file, facts))
}

impl Facts {
    /// The file behind the name: other names lead to the same one.
    pub fn id(&self) -> Option<FileId> {
        self.id
    }

    /// Whether there are other names for the file.
    pub fn is_linked(&self) -> bool {
        self.linked
    }

    fn of(metadata: &Metadata) -> Option<Facts> {
        let changed = os::changed(metadata);
        let (id, size, modified) = (FileId::of(metadata), metadata.len(), Time::modified(metadata)?);
        let linked = FileId::of_linked(metadata).is_some();
        Some(Facts { id, linked, size, modified, changed })
    }
}

fn of(error: io::Error, facts: &Facts) -> TagError {
    if error.kind() == ErrorKind::Unsupported {
        TagError::None(facts.id.map(|id| id.device()))
    } else {
        TagError::Io(error)
    }
}

fn read_one(file: &File, facts: &Facts, names: &Names) -> Result<Option<Tag>, TagError> {
    let get = |name| os::attribute(file, name).map_err(|error| of(error, facts));
    let Some(digest) = get(names.digest)? else { return Ok(None) };
    let time = match names.time {
        Some(name) => match get(name)? {
            Some(time) => Some(time),
            // Half of a tag, as of a program that was killed.
            None => return Ok(None),
        },
        None => None,
    };
    parse(names.algorithm, &digest, time.as_deref()).map(Some).ok_or(TagError::Damaged(names.digest))
}

/// What attributes say; nothing if they are no tag.
fn parse(algorithm: Algorithm, digest: &[u8], time: Option<&[u8]>) -> Option<Tag> {
    let text = |bytes| std::str::from_utf8(bytes).ok().map(|text: &str| text.trim_matches(['\0', '\n', ' ']));
    let digest = text(digest)?;
    let (size, modified, hex) = match time {
        Some(time) => (None, time_of(text(time)?)?, digest),
        None => {
            let mut parts = digest.split(' ');
            let (size, time, hex) = (parts.next()?, parts.next()?, parts.next()?);
            (Some(size.parse().ok()?), Time::parse(time)?, hex)
        }
    };
    let digits = hex.as_bytes().chunks(2).map(|pair| {
        let pair =
            std::str::from_utf8(pair).ok().filter(|pair| pair.bytes().all(|b| b.is_ascii_hexdigit()))?;
        u8::from_str_radix(pair, 16).ok()
    });
    let digest: Box<[u8]> = digits.collect::<Option<_>>()?;
    let whole = digest.len() == algorithm.digest_len() && hex.len() == 2 * digest.len();
    whole.then_some(Tag { algorithm, digest, size, modified })
}

/// A time with up to nine places: shatag writes as many as it has.
fn time_of(text: &str) -> Option<Time> {
    let (seconds, places) = text.split_once('.').unwrap_or((text, ""));
    Time::parse(&format!("{seconds}.{places:0<9}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_has_attributes_of_its_own() {
        for expected in &NAMES {
            assert_eq!(names(expected.algorithm).digest, expected.digest);
        }
    }

    #[test]
    fn what_attributes_say() {
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
