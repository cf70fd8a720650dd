//! Source of a side, as the user named it.

use std::path::{Path, PathBuf};

/// One side of a comparison of builds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// An existing program.
    Program(PathBuf),
    /// The current files of a folder.
    Directory(PathBuf),
    /// A revision of the repository around a folder.
    Revision { folder: PathBuf, name: String },
}

impl Source {
    /// A file is a program, a directory is a folder, and everything else is a revision of the repository of `folder`.
    pub(crate) fn parse(name: &str, folder: &Path) -> Self {
        let path = folder.join(name);
        if path.is_file() {
            Source::Program(path)
        } else if path.is_dir() {
            Source::Directory(path)
        } else {
            Source::Revision { folder: folder.to_owned(), name: name.to_owned() }
        }
    }

    /// Name as the user wrote it.
    pub(crate) fn name(&self) -> String {
        match self {
            Source::Program(path) | Source::Directory(path) => path.display().to_string(),
            Source::Revision { name, .. } => name.clone(),
        }
    }
}
