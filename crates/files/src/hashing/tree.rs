//! Digest of a directory tree. The construction is specified in `docs/tree-digest.md`.

use crate::context::HashContext;
use crate::error::Error;
use crate::function::{Digest, Output};
use crate::hashing::hash_many::{self, HashJob, Input};
use crate::os;
use crate::walk::{Visit, Walk};
use hashmill_hash::blake3::{self, Hash};
use std::convert::Infallible;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The context of a directory's digest: no file can have the same one by accident or design.
const DIRECTORY: &str = "hashmill tree digest v1: directory";

/// One entry of a directory, as it enters the directory's digest.
struct Child {
    name: Vec<u8>,
    kind: u8,
    digest: Hash,
}

/// Events of the walk, in order.
enum Step {
    Enter(PathBuf),
    /// The file with this number.
    File(PathBuf, usize),
    Link(PathBuf, Hash),
    Leave,
}

/// The digest of the directory (or file) at `root`.
pub(crate) fn hash(context: &HashContext, root: &Path) -> Result<Hash, Vec<(PathBuf, Error)>> {
    if !context.function.is_default() {
        let error = Error::Refused("a tree takes plain BLAKE3 with its default output");
        return Err(vec![(root.to_owned(), error)]);
    }
    let mut steps = Vec::new();
    let mut failures = Vec::new();
    let mut paths = Vec::new();
    for visit in Walk::new(root.to_owned(), false) {
        match visit {
            Visit::Enter(path) => steps.push(Step::Enter(path)),
            Visit::Leave => steps.push(Step::Leave),
            Visit::File(path) => {
                steps.push(Step::File(path.clone(), paths.len()));
                paths.push(path);
            }
            Visit::Link(path) => match link_bytes(&path) {
                Ok(target) => steps.push(Step::Link(path, blake3::hash(&target))),
                Err(error) => failures.push((path, error)),
            },
            Visit::Special(path) => failures.push((path, Error::Special)),
            Visit::Pseudo(path, kind) => failures.push((path, Error::Pseudo(kind))),
            Visit::Failed(path, error) => failures.push((path, error)),
        }
    }

    let mut digests = Vec::with_capacity(paths.len());
    let items = paths.into_iter().map(|path| HashJob { path, input: Input::File, tag: () });
    let take = |path, (), result: Result<Digest, Error>| -> ControlFlow<Infallible> {
        match result.map(|digest| digest.output) {
            Ok(Output::Short(bytes)) => digests.push(Hash::from_bytes(bytes)),
            Ok(_) => unreachable!("this function was refused"),
            Err(error) => failures.push((path, error)),
        }
        ControlFlow::Continue(())
    };
    let ControlFlow::Continue(()) = hash_many::hash(context, items.peekable(), take);
    if failures.is_empty() { fold(steps, &digests) } else { Err(failures) }
}

/// Folds the events from the leaves up.
fn fold(steps: Vec<Step>, digests: &[Hash]) -> Result<Hash, Vec<(PathBuf, Error)>> {
    let mut open: Vec<(PathBuf, Vec<Child>)> = Vec::new();
    for step in steps {
        let (path, kind, digest) = match step {
            Step::Enter(path) => {
                open.push((path, Vec::new()));
                continue;
            }
            Step::Leave => {
                let (path, children) = open.pop().expect("only what was entered is left");
                (path, b'd', directory(children))
            }
            Step::File(path, number) => (path, b'f', digests[number]),
            Step::Link(path, digest) => (path, b'l', digest),
        };
        let Some((_, children)) = open.last_mut() else { return Ok(digest) };
        let name = path.file_name().expect("an entry of a directory has a name");
        match name_bytes(name) {
            Ok(name) => children.push(Child { name, kind, digest }),
            Err(error) => return Err(vec![(path, error)]),
        }
    }
    unreachable!("every walk ends with its root");
}

/// The digest of a directory with these entries.
fn directory(mut children: Vec<Child>) -> Hash {
    children.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let mut material = Vec::new();
    for Child { name, kind, digest } in &children {
        material.push(*kind);
        material.extend((name.len() as u64).to_le_bytes());
        material.extend(name);
        material.extend(digest.as_bytes());
    }
    Hash::from_bytes(blake3::derive_key(DIRECTORY, &material))
}

/// The bytes of a name: as stored on Unix, UTF-8 elsewhere.
fn name_bytes(name: &OsStr) -> Result<Vec<u8>, Error> {
    if os::NAMES_ARE_BYTES {
        return Ok(name.as_encoded_bytes().to_vec());
    }
    let text = name.to_str().ok_or(Error::Refused("the name is not Unicode, so it has no portable bytes"))?;
    Ok(text.as_bytes().to_vec())
}

fn link_bytes(path: &Path) -> Result<Vec<u8>, Error> {
    let target = std::fs::read_link(path)?;
    name_bytes(target.as_os_str())
}
