//! Errors of hashing a file, sorted by who is at fault.

use crate::function::Digest;
use hashmill_hash::engine::EngineError;
use std::fmt;
use std::io;

/// The reason why a file has no digest.
///
/// The path is not part of the error: the caller knows it, and decides how to show it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system: the file is missing, unreadable, a directory, on a broken disk.
    Io(io::Error),
    /// Another program: the file became shorter while it was hashed, so that no digest describes it.
    Shrunk {
        /// The size when hashing began.
        expected: u64,
        /// The size when bytes turned out to be missing.
        found: u64,
    },
    /// The file system: a file ended before the size that it reports, and still reports that size.
    EndsEarly {
        /// The size that the file system reports.
        reported: u64,
        /// The offset of the first missing byte.
        offset: u64,
    },
    /// The disk, or the network behind the file: some of it cannot be read, not even in small pieces.
    Unreadable(Box<Unreadable>),
    /// The shape of the tree: following this link leads to a directory that contains it.
    LinkLoop,
    /// The kind of the entry: a FIFO, socket or device met where only files and directories make sense.
    Special,
    /// The kind of the file system: it holds no files, and the walk did not begin in it. See
    /// [`Visit::Pseudo`](crate::walk::Visit::Pseudo).
    Pseudo(&'static str),
    /// The caller's engine: the device is gone, or has no memory left.
    Engine(EngineError),
    /// The caller: it stopped the work, see [`Files::stop`](crate::Files::stop).
    Stopped,
    /// The caller: this input cannot be hashed in this way, for the reason given.
    Refused(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(error) => error.fmt(f),
            Error::Shrunk { expected, found } => {
                write!(f, "file shrank from {expected} to {found} bytes while it was hashed")
            }
            Error::EndsEarly { reported, offset } => {
                write!(f, "no more bytes at offset {offset}, although the file reports a size of {reported}")
            }
            Error::Unreadable(unreadable) => unreadable.fmt(f),
            Error::LinkLoop => f.write_str("symbolic link to a directory that contains it"),
            Error::Special => f.write_str("neither a file nor a directory"),
            Error::Pseudo(kind) => write!(f, "a file system of kind {kind} holds no files"),
            Error::Engine(error) => write!(f, "the engine failed: {error}"),
            Error::Stopped => f.write_str("stopped before the file was hashed"),
            Error::Refused(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // The message is the system's own, so the chain continues behind it.
            Error::Io(error) => error.source(),
            Error::Unreadable(unreadable) => unreadable.error.source(),
            _ => None,
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        match error {
            Error::Io(error) => error,
            error => io::Error::other(error),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        // An error that passed through a reader is unwrapped.
        error.downcast().unwrap_or_else(Error::Io)
    }
}

impl Error {
    /// The offset in the file, if known.
    pub(crate) fn offset(&self) -> Option<u64> {
        match self {
            Error::Unreadable(unreadable) => unreadable.gaps.first().map(|gap| gap.offset),
            Error::EndsEarly { offset, .. } => Some(*offset),
            _ => None,
        }
    }
}

/// A range of a file that could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// The offset of its first byte.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
}

/// A file with unreadable ranges.
#[derive(Debug)]
#[non_exhaustive]
pub struct Unreadable {
    /// The unreadable ranges, in order: the first, or with
    /// [`Options::keep_going`](crate::Options::keep_going) all; of more than four thousand, those found
    /// first.
    pub gaps: Vec<Gap>,
    /// The number of unreadable ranges.
    pub places: u64,
    /// The number of unreadable bytes.
    pub bytes: u64,
    /// The system's first error.
    pub error: io::Error,
    /// With [`Options::keep_going`](crate::Options::keep_going): the digest of the file with zeros in these
    /// ranges. It is not the digest of the file, even if it is equal to that.
    pub digest: Option<Digest>,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.gaps.first() else { return self.error.fmt(f) };
        match (&self.digest, self.places) {
            (None, _) => write!(f, "unreadable at offset {}: {}", first.offset, self.error),
            (Some(_), 1) => {
                write!(f, "{} bytes unreadable at offset {}: {}", first.len, first.offset, self.error)
            }
            (Some(_), places) => write!(
                f,
                "{} bytes unreadable in {places} places, the first at offset {}: {}",
                self.bytes, first.offset, self.error
            ),
        }
    }
}
