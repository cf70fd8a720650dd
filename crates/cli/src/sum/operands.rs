//! What is to be hashed, one by one: the operands, names out of a file, and what is below directories.

use crate::os;
use crate::out::progress::Survey;
use crate::out::shown;
use anyhow::{Context, Result};
use hashmill_files::checkfile::Mode;
use hashmill_files::walk::{Rules, Visit, Walk};
use hashmill_files::{Error, Input, Item, Names};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::vec;

/// Names in the order in which they were given.
pub(super) enum Paths {
    Given(vec::IntoIter<PathBuf>),
    /// Those of a file that is called so.
    From(PathBuf, Names<Box<dyn BufRead>>),
}

impl Paths {
    pub(super) fn given(paths: Vec<PathBuf>) -> Paths {
        Paths::Given(paths.into_iter())
    }

    /// The names in a file, or on standard input.
    pub(super) fn from(path: &Path) -> Result<Paths> {
        let reader: io::Result<Box<dyn BufRead>> = if path.as_os_str() == "-" {
            os::stdin().map(|stdin| Box::new(stdin.lock()) as _)
        } else {
            File::open(path).map(|file| Box::new(BufReader::with_capacity(64 * 1024, file)) as _)
        };
        let names = reader.and_then(Names::new).with_context(|| shown(path).into_owned())?;
        Ok(Paths::From(path.to_owned(), names))
    }

    /// How many there are, if that is known.
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

/// All files that there will be, if that can be found out by looking a second time.
pub(super) fn survey(paths: &[PathBuf], from: Option<PathBuf>, rules: Option<&Arc<Rules>>) -> Option<Survey> {
    if paths.iter().map(PathBuf::as_path).chain(from.as_deref()).any(|path| path.as_os_str() == "-") {
        return None;
    }
    let (paths, rules) = (paths.to_vec(), rules.cloned());
    Some(Box::new(move || {
        // What cannot be read is told about by whoever reads it.
        let names =
            from.and_then(|from| Paths::from(&from).ok()).into_iter().flatten().filter_map(Result::ok);
        let all = paths.into_iter().chain(names);
        match rules {
            Some(rules) => Box::new(all.flat_map(move |root| files_below(root, &rules))),
            None => Box::new(all),
        }
    }))
}

/// The files that a walk comes across.
pub(crate) fn files_below(root: PathBuf, rules: &Arc<Rules>) -> impl Iterator<Item = PathBuf> + use<> {
    Walk::by(root, Arc::clone(rules)).filter_map(|visit| match visit {
        Visit::File(path) => Some(path),
        _ => None,
    })
}

/// The operands as questions, and where there are rules, those below them.
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
            // The key came from there.
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
    type Item = Item<()>;

    fn next(&mut self) -> Option<Item<()>> {
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
            return Some(Item { path, input, tag: () });
        }
    }
}
