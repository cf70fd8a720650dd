//! Errors of opening and replacing files.

use std::fmt;
use std::io;

/// Reason why a file was not opened or replaced.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// An error of the system.
    Io(io::Error),
    /// The directory entry is not one that this call opens or replaces.
    Refused(Refusal),
    /// An entry exists at the target, and none was expected.
    Exists,
    /// The target differs from what the caller had read.
    Changed,
    /// The new file cannot be given to the owner and group of the old one.
    Owner,
    /// The new file is in its place, but its folder could not be written to the medium: after a power cut it may be the old one.
    Unsynced(io::Error),
}

/// Property of a directory entry that makes the opener refuse it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// A symbolic link where none is followed.
    Link,
    /// A symbolic link of another user in a folder that others may write to.
    PlantedLink,
    /// A directory, pipe, socket or device.
    NotAFile,
    /// A file with further names: this many in all.
    HardLinks(u64),
    /// A file of another user, by number.
    Owner(u32),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Link => f.write_str("it is a symbolic link"),
            Refusal::PlantedLink => {
                f.write_str("it is a symbolic link of another user, in a folder that others may write to")
            }
            Refusal::NotAFile => f.write_str("it is not a regular file"),
            Refusal::HardLinks(names) => write!(f, "it is a file with {names} names (hard links)"),
            Refusal::Owner(user) => write!(f, "it belongs to another user, number {user}"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(error) => error.fmt(f),
            Error::Refused(refusal) => refusal.fmt(f),
            Error::Exists => f.write_str("something exists there already"),
            Error::Changed => f.write_str("it was changed by another program meanwhile"),
            Error::Owner => {
                f.write_str("it belongs to another user or group, which only the administrator can keep so")
            }
            Error::Unsynced(error) => {
                write!(f, "it was replaced, but may be the old file again after a power cut: {error}")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Its text is part of this one's: the chain continues behind it.
            Error::Io(error) | Error::Unsynced(error) => error.source(),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Io(error)
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Refused(refusal)
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        match error {
            Error::Io(error) => error,
            Error::Exists => io::Error::new(io::ErrorKind::AlreadyExists, error),
            Error::Refused(_) => io::Error::new(io::ErrorKind::InvalidInput, error),
            Error::Changed | Error::Owner | Error::Unsynced(_) => io::Error::other(error),
        }
    }
}
