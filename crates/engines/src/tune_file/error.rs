//! Errors of reading and writing the tune file.

use hashmill_atomic_file::Error;
use std::fmt;
use std::io;

/// Error of reading or writing the tune file.
#[derive(Debug)]
#[non_exhaustive]
pub enum TuneFileError {
    /// Machine: an error of the system.
    Io(io::Error),
    /// User: a directory has the name of the file.
    Directory,
    /// User: a pipe, socket or device has the name of the file.
    NotAFile,
    /// File: longer than any that Hashmill writes.
    TooLong,
    /// File: damaged, of another format, or measured on another machine or by another version.
    Invalid {
        /// The reason.
        reason: String,
    },
    /// Machine: the file cannot be opened or replaced.
    Replace(Error),
}

impl fmt::Display for TuneFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TuneFileError::Io(error) => error.fmt(f),
            TuneFileError::Directory => f.write_str("it is a directory"),
            TuneFileError::NotAFile => f.write_str("it is not a regular file"),
            TuneFileError::TooLong => f.write_str("it is too long"),
            TuneFileError::Invalid { reason } => f.write_str(reason),
            TuneFileError::Replace(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TuneFileError {}

impl From<io::Error> for TuneFileError {
    fn from(error: io::Error) -> TuneFileError {
        TuneFileError::Io(error)
    }
}
