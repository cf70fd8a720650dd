//! Local files: several small ones at once, large ones on all threads.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hashmill_files::{Digest, Error, Files, HashJob, Input, Output};

use crate::row::ObjectRequest;
use crate::row_result::{Failure, FailureKind, ObjectDigest};

/// State of a file that must not change while it is read.
#[derive(PartialEq, Eq)]
struct FileState {
    size: u64,
    modified: Option<SystemTime>,
}

impl FileState {
    fn from_metadata(metadata: &Metadata) -> FileState {
        FileState { size: metadata.len(), modified: metadata.modified().ok() }
    }
}

/// Passes the result of each file and its index to `sink`, until the end or until `files` is stopped.
pub(crate) fn hash<'a>(
    files: &Files,
    requests: impl IntoIterator<Item = (usize, &'a Path, &'a ObjectRequest)>,
    mut sink: impl FnMut(usize, Result<ObjectDigest, Failure>),
) {
    let items = requests.into_iter().map(|(index, path, request)| {
        let (input, state) = open_input(path);
        HashJob { path: path.to_owned(), input, tag: (index, request, state) }
    });
    let sink_result = |path: PathBuf,
                       (index, request, state): (usize, &ObjectRequest, Option<FileState>),
                       result: Result<Digest, Error>| {
        if matches!(result, Err(Error::Stopped)) {
            return ControlFlow::Break(());
        }
        sink(index, check_result(&path, request, state.as_ref(), result));
        ControlFlow::Continue(())
    };
    let _: ControlFlow<()> = files.hash_many(items, sink_result);
}

/// The input and its state before it is read. Refuses a pipe, which might block for ever.
fn open_input(path: &Path) -> (Input, Option<FileState>) {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => (Input::File, Some(FileState::from_metadata(&metadata))),
        Ok(metadata) if metadata.is_dir() => {
            (Input::Failed(io::Error::from(ErrorKind::IsADirectory).into()), None)
        }
        Ok(_) => (Input::Failed(Error::Special), None),
        Err(error) => (Input::Failed(error.into()), None),
    }
}

fn check_result(
    path: &Path,
    request: &ObjectRequest,
    state: Option<&FileState>,
    result: Result<Digest, Error>,
) -> Result<ObjectDigest, Failure> {
    if request.etag.is_some() || request.version.is_some() {
        return Err(Failure::new(FailureKind::Row, "a file has neither tag nor version, but one is listed"));
    }
    let digest = result.map_err(|error| failure(&error))?;
    let Output::Short(blake3) = digest.output else {
        return Err(Failure::new(FailureKind::Failed, "another function than BLAKE3 answered"));
    };
    if fs::metadata(path).ok().map(|metadata| FileState::from_metadata(&metadata)).as_ref() != state {
        return Err(Failure::new(FailureKind::Changed, "the file changed while it was read"));
    }
    match request.size {
        Some(listed) if listed != digest.len => Err(Failure::new(
            FailureKind::Changed,
            format!("{listed} bytes are listed, {} found", digest.len),
        )),
        _ => Ok(ObjectDigest { blake3, size: digest.len, etag: None, version: None }),
    }
}

fn failure(error: &Error) -> Failure {
    let kind = match error {
        Error::Io(error) if error.kind() == ErrorKind::NotFound => FailureKind::Missing,
        Error::Io(error) if error.kind() == ErrorKind::PermissionDenied => FailureKind::Denied,
        Error::Shrunk { .. } => FailureKind::Changed,
        _ => FailureKind::Failed,
    };
    Failure::new(kind, error.to_string())
}
