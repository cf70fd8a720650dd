//! Inputs to hash: operands, names from a file, and files below directories.

use crate::os;
use crate::output::display_path;
use crate::output::progress::ExpectedFiles;
use anyhow::{Context, Result};
use hashmill_files::checksum_list::Mode;
use hashmill_files::walk::{Rules, Visit, Walk};
use hashmill_files::{Error, HashJob, Input, NameList};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::vec;

/// Paths in the given order.
pub(super) enum Paths {
    Given(vec::IntoIter<PathBuf>),
    /// The name of a file, and the names in it.
    From(PathBuf, NameList<Box<dyn BufRead>>),
}

impl Paths {
    pub(super) fn given(paths: Vec<PathBuf>) -> Paths {
        Paths::Given(paths.into_iter())
    }

    /// Reads names from a file or standard input.
    pub(super) fn from(path: &Path) -> Result<Paths> {
        let reader: io::Result<Box<dyn BufRead>> = if path.as_os_str() == "-" {
            os::stdin().map(|stdin| Box::new(stdin.lock()) as _)
        } else {
            File::open(path).map(|file| Box::new(BufReader::with_capacity(64 * 1024, file)) as _)
        };
        let names = reader.and_then(NameList::new).with_context(|| display_path(path).into_owned())?;
        Ok(Paths::From(path.to_owned(), names))
    }

    /// The paths, if they are all known.
    pub(super) fn as_slice(&self) -> Option<&[PathBuf]> {
        match self {
            Paths::Given(paths) => Some(paths.as_slice()),
            Paths::From(..) => None,
        }
    }
}

impl Iterator for Paths {
    type Item = Result<PathBuf, (PathBuf, Error)>;

    fn next(&mut self) -> Option<Result<PathBuf, (PathBuf, Error)>> {
        match self {
            Paths::Given(paths) => paths.next().map(Ok),
            Paths::From(path, names) => Some(names.next()?.map_err(|error| (path.clone(), error.into()))),
        }
    }
}

/// Lists the files that will be hashed, if the inputs can be read twice.
pub(super) fn expected_files(
    paths: &[PathBuf],
    from: Option<PathBuf>,
    rules: Option<&Arc<Rules>>,
) -> Option<ExpectedFiles> {
    if paths.iter().map(PathBuf::as_path).chain(from.as_deref()).any(|path| path.as_os_str() == "-") {
        return None;
    }
    let (paths, rules) = (paths.to_vec(), rules.cloned());
    Some(Box::new(move || {
        // Errors are reported when the files are hashed.
        let names =
            from.and_then(|from| Paths::from(&from).ok()).into_iter().flatten().filter_map(Result::ok);
        let all = paths.into_iter().chain(names);
        match rules {
            Some(rules) => Box::new(all.flat_map(move |root| files_below(root, &rules))),
            None => Box::new(all),
        }
    }))
}

/// The files below a directory.
pub(crate) fn files_below(root: PathBuf, rules: &Arc<Rules>) -> impl Iterator<Item = PathBuf> + use<> {
    Walk::by(root, Arc::clone(rules)).filter_map(|visit| match visit {
        Visit::File(path) => Some(path),
        _ => None,
    })
}

/// The items to hash: the operands, and with rules the files below them.
pub(super) struct Operands {
    paths: Paths,
    walk: Option<Walk>,
    rules: Option<Arc<Rules>>,
    mode: Mode,
}

impl Operands {
    pub(super) fn new(paths: Paths, rules: Option<Arc<Rules>>, mode: Mode) -> Operands {
        Operands { paths, walk: None, rules, mode }
    }

    fn stdin(&self) -> Input {
        match (self.mode, &self.paths) {
            // The key was read from standard input.
            (Mode::Keyed, _) => Input::Failed(Error::Refused("Cannot open `-` in keyed mode")),
            (_, Paths::From(from, _)) if from.as_os_str() == "-" => {
                Input::Failed(Error::Refused("standard input is the list of names"))
            }
            _ => match os::stdin() {
                Ok(_) => Input::Stdin,
                Err(error) => Input::Failed(error.into()),
            },
        }
    }
}

impl Iterator for Operands {
    type Item = HashJob<()>;

    fn next(&mut self) -> Option<HashJob<()>> {
        loop {
            let (path, input) = match self.walk.as_mut().and_then(Walk::next) {
                Some(Visit::File(path)) => (path, Input::File),
                Some(Visit::Special(path)) => (path, Input::Failed(Error::Special)),
                Some(Visit::Pseudo(path, kind)) => (path, Input::Failed(Error::Pseudo(kind))),
                Some(Visit::Failed(path, error)) => (path, Input::Failed(error)),
                Some(_) => continue,
                None => match self.paths.next()? {
                    Err((path, error)) => (path, Input::Failed(error)),
                    Ok(path) if path.as_os_str() == "-" => {
                        let input = self.stdin();
                        (path, input)
                    }
                    Ok(path) => match &self.rules {
                        Some(rules) => {
                            self.walk = Some(Walk::by(path, Arc::clone(rules)));
                            continue;
                        }
                        None => (path, Input::File),
                    },
                },
            };
            return Some(HashJob { path, input, tag: () });
        }
    }
}
