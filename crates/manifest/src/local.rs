//! Files of this machine, in groups: small ones side by side, large ones on all threads.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hashmill_files::{Digest, Error, Files, Input, Item, Output};

use crate::answer::{Failure, Found, Kind};
use crate::inventory::Ask;

/// What must be the same after a file was read as before.
#[derive(PartialEq, Eq)]
struct State {
    size: u64,
    modified: Option<SystemTime>,
}

impl State {
    fn of(metadata: &Metadata) -> State {
        State { size: metadata.len(), modified: metadata.modified().ok() }
    }
}

/// Gives what is found of each file to `sink`, with its number, until there is no more, or somebody stops `files`.
pub(crate) fn hash<'a>(
    files: &Files,
    asks: impl IntoIterator<Item = (usize, &'a Path, &'a Ask)>,
    mut sink: impl FnMut(usize, Result<Found, Failure>),
) {
    let items = asks.into_iter().map(|(index, path, ask)| {
        let (input, state) = begin(path);
        Item { path: path.to_owned(), input, tag: (index, ask, state) }
    });
    let answer =
        |path: PathBuf, (index, ask, state): (usize, &Ask, Option<State>), result: Result<Digest, Error>| {
            if matches!(result, Err(Error::Stopped)) {
                return ControlFlow::Break(());
            }
            sink(index, end(&path, ask, state.as_ref(), result));
            ControlFlow::Continue(())
        };
    let _: ControlFlow<()> = files.hash_many(items, answer);
}

/// What is read, and the state of it before. A pipe would be waited for without end.
fn begin(path: &Path) -> (Input, Option<State>) {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => (Input::File, Some(State::of(&metadata))),
        Ok(metadata) if metadata.is_dir() => {
            (Input::Failed(io::Error::from(ErrorKind::IsADirectory).into()), None)
        }
        Ok(_) => (Input::Failed(Error::Special), None),
        Err(error) => (Input::Failed(error.into()), None),
    }
}

fn end(
    path: &Path,
    ask: &Ask,
    state: Option<&State>,
    result: Result<Digest, Error>,
) -> Result<Found, Failure> {
    if ask.etag.is_some() || ask.version.is_some() {
        return Err(Failure::new(Kind::Row, "a file has neither tag nor version, but one is listed"));
    }
    let digest = result.map_err(|error| failure(&error))?;
    let Output::Short(blake3) = digest.output else {
        return Err(Failure::new(Kind::Failed, "another function than BLAKE3 answered"));
    };
    if fs::metadata(path).ok().map(|metadata| State::of(&metadata)).as_ref() != state {
        return Err(Failure::new(Kind::Changed, "the file changed while it was read"));
    }
    match ask.size {
        Some(listed) if listed != digest.len => {
            Err(Failure::new(Kind::Changed, format!("{listed} bytes are listed, {} found", digest.len)))
        }
        _ => Ok(Found { blake3, size: digest.len, etag: None, version: None }),
    }
}

fn failure(error: &Error) -> Failure {
    let kind = match error {
        Error::Io(error) if error.kind() == ErrorKind::NotFound => Kind::Missing,
        Error::Io(error) if error.kind() == ErrorKind::PermissionDenied => Kind::Denied,
        Error::Shrunk { .. } => Kind::Changed,
        _ => Kind::Failed,
    };
    Failure::new(kind, error.to_string())
}
