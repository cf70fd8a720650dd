//! Errors of commands and their exit codes.

use super::exit::Exit;
use crate::builds::BuildError;
use crate::command_bench::process::RunError;
use crate::measure::plan::PlanError;
use crate::model::key::KeyError;
use crate::model::registry::SelectError;
use crate::report::store::ReadError;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
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
    /// Converts an error of reading a file.
    pub(crate) fn read(path: &Path) -> impl FnOnce(ReadError) -> Error {
        let path = path.to_owned();
        move |source| Error::Read { path, source }
    }

    /// Converts an error of writing to a folder that `--out` may select.
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Write { path, source }
    }

    /// Converts an error of writing a file that the user named.
    pub(crate) fn keep(path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Keep { path, source }
    }

    /// Exit code, for a command whose exit code is a verdict or for one that only prints.
    pub(crate) fn exit(&self, is_verdict: bool) -> Exit {
        match self {
            Error::Read { source: ReadError::Io { .. }, .. } => Exit::Usage,
            Error::Lacking(_) | Error::Run(RunError::Stopped) => Exit::Inconclusive,
            Error::Read { .. } | Error::Run(_) | Error::Refused(_) => Exit::Invalid,
            Error::Build(error) if !error.is_usage() => Exit::Invalid,
            // A reader that closed the pipe, such as `head`, has read enough. But a verdict was not confirmed.
            Error::Output(error) if error.kind() == io::ErrorKind::BrokenPipe && !is_verdict => Exit::Ok,
            _ => Exit::Usage,
        }
    }
}

/// Adds the name of the file, unless the reason contains it.
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
