//! Why a run, or a batch, came to nothing. What is wrong with one row is in that row: see [`Failure`](crate::Failure).

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

/// Why there are no answers.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The caller: what was asked for does not make sense, for the reason given.
    Refused(String),
    /// The inventory: it is not Parquet, or lacks columns, or has them of types that say something else.
    Inventory(PathBuf, String),
    /// The folder of answers: what lies there belongs to another run.
    Other(PathBuf, String),
    /// The operating system.
    Io(PathBuf, io::Error),
    /// The caller stopped the work. What was finished stays.
    Stopped,
}

impl Error {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |error| Error::Io(path, error)
    }

    /// What Parquet says of a file that is read. What the system said to Parquet is the system's.
    pub(crate) fn reading(path: &Path, error: ParquetError) -> Error {
        match system(error) {
            Ok(error) => Error::Io(path.to_owned(), error),
            Err(words) => Error::Inventory(path.to_owned(), words),
        }
    }

    /// The same of one that is written.
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
