//! Why a command could not do its work, and the exit code of each reason.

use super::Exit;
use crate::build::BuildError;
use crate::commands::process::RunError;
use crate::model::key::KeyError;
use crate::model::registry::SelectError;
use crate::plan::PlanError;
use crate::report::store::ReadError;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum Error {
    #[error(transparent)]
    Select(#[from] SelectError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error("{0}")]
    Usage(String),
    #[error("{}", of_file(path, source))]
    Read { path: PathBuf, source: ReadError },
    #[error("cannot write {}: {source}; choose another folder with --out", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", path.display())]
    Keep { path: PathBuf, source: io::Error },
    #[error("cannot write the output: {0}")]
    Output(io::Error),
    #[error("cannot find this program to start its sessions: {0}")]
    Program(io::Error),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Lacking(String),
}

impl Error {
    /// For `map_err` on a file that is read.
    pub(super) fn read(path: &Path) -> impl FnOnce(ReadError) -> Error {
        let path = path.to_owned();
        move |source| Error::Read { path, source }
    }

    /// For `map_err` on a file of a folder that `--out` may name.
    pub(super) fn write(path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Write { path, source }
    }

    /// For `map_err` on a file that was named.
    pub(super) fn keep(path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Keep { path, source }
    }

    /// The exit code, of a command whose exit code is a verdict or of one that only prints.
    pub(super) fn exit(&self, is_verdict: bool) -> Exit {
        match self {
            Error::Read { source: ReadError::Io { .. }, .. } => Exit::Usage,
            Error::Lacking(_) | Error::Run(RunError::Stopped) => Exit::Inconclusive,
            Error::Read { .. } | Error::Run(_) | Error::Refused(_) => Exit::Invalid,
            Error::Build(error) if !error.is_usage() => Exit::Invalid,
            // A reader that closed the pipe, such as `head`, has what it wanted. But nothing was found to be in order.
            Error::Output(error) if error.kind() == io::ErrorKind::BrokenPipe && !is_verdict => Exit::Ok,
            _ => Exit::Usage,
        }
    }
}

/// With the name of the file, which some reasons bring along.
fn of_file(path: &Path, source: &ReadError) -> String {
    match source {
        ReadError::Io { .. } | ReadError::TooLarge { .. } => source.to_string(),
        _ => format!("{}: {source}", path.display()),
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Output(error)
    }
}
