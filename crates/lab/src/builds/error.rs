//! Errors of builds.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub(crate) enum BuildError {
    #[error("`{name}` is not a file, directory or revision of {}: {reason}", repository.display())]
    Unknown { name: String, repository: PathBuf, reason: String },
    #[error("there is no setting `{name}`{hint}; write one of {} as NAME=VALUE", known.join(", "))]
    Setting { name: String, hint: String, known: &'static [&'static str] },
    #[error("`{name}` is `{value}`, but must be true or false")]
    NotABool { name: &'static str, value: String },
    /// A setting that would have no effect.
    #[error("`{name}` is for cargo, but `build` replaces cargo: use only one of them")]
    Beside { name: &'static str },
    #[error("RUSTFLAGS is not UTF-8: {}", flags.display())]
    Flags { flags: OsString },
    #[error("git {what} failed: {reason}")]
    Git { what: String, reason: String },
    #[error("the build of {source_name} failed with {status}; the whole output is in {}\n{tail}", log.display())]
    Failed { source_name: String, status: String, log: PathBuf, tail: String },
    #[error(
        "the build of {source_name} left no program at {}; a custom build must write it to $LAB_PROGRAM",
        path.display()
    )]
    NoProgram { source_name: String, path: PathBuf },
    #[error("several packages have a {what} at {source_name}; choose one with package=NAME")]
    Several { source_name: String, what: String },
    #[error("{}: {reason}", path.display())]
    Recipe { path: PathBuf, reason: String },
    #[error("cannot use {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl BuildError {
    /// For `map_err` on operations that concern `path`.
    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> BuildError {
        let path = path.into();
        move |source| BuildError::Io { path, source }
    }

    /// Whether the request was wrong, as opposed to a failed build.
    pub(crate) fn is_usage(&self) -> bool {
        !matches!(self, BuildError::Failed { .. } | BuildError::NoProgram { .. })
    }
}
