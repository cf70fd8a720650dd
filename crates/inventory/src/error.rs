//! Errors that end a run or a batch. An error of one row is part of its result: see [`Failure`](crate::Failure).

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

/// Error that ends a run or a batch.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Invalid request of the caller, with the reason.
    Refused(String),
    /// The inventory is not Parquet, lacks a column, or has a column of another type.
    Inventory(PathBuf, String),
    /// The output folder belongs to another run.
    Other(PathBuf, String),
    /// Error of the operating system or of a store.
    Io(PathBuf, io::Error),
    /// The caller stopped the run. Finished parts stay.
    Stopped,
}

impl Error {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |error| Error::Io(path, error)
    }

    /// Error of reading a Parquet file; an I/O error inside it becomes [`Error::Io`].
    pub(crate) fn reading(path: &Path, error: ParquetError) -> Error {
        match system(error) {
            Ok(error) => Error::Io(path.to_owned(), error),
            Err(words) => Error::Inventory(path.to_owned(), words),
        }
    }

    /// Error of writing a Parquet file.
    pub(crate) fn writing(path: &Path, error: ParquetError) -> Error {
        Error::Io(path.to_owned(), system(error).unwrap_or_else(io::Error::other))
    }
}

fn system(error: ParquetError) -> Result<io::Error, String> {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => Ok(*error),
            Err(error) => Err(error.to_string()),
        },
        error => Err(error.to_string()),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(what) => f.write_str(what),
            Error::Inventory(path, what) | Error::Other(path, what) => {
                write!(f, "{}: {what}", path.display())
            }
            Error::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Error::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(_, error) => std::error::Error::source(error),
            _ => None,
        }
    }
}
