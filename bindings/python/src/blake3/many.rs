//! Many inputs in one call: buffers side by side in the lanes of the processor, files on all threads, directories.

use std::iter::Peekable;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use hashmill_files::{Digest, Error, Files, HashJob, Input, Mapping, Options, Output};
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::blake3::{Hash, OUT_LEN, batch};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use super::mode::Function;
use super::threads::MaxThreads;
use crate::boundary::Bytes;
use crate::engines::{self, EngineError};
use crate::long_call::{DETACH_FROM, PIECE, interruptible, os_error};

/// Minimum work per thread: less is done before a second thread has started.
const SHARE: usize = 256 << 10;

/// Buffers that are hashed together: their state fits into a cache and is not returned to the system.
const GROUP: usize = 1024;

/// Writes the digests of `messages` into `digests`, with at most `threads` new threads, which get equal numbers of bytes.
pub(super) fn hash_all(mode: &Mode<'_>, messages: &[&[u8]], digests: &mut [Hash], threads: usize) {
    if threads == 1 {
        return batch::hash_all(mode, messages, digests);
    }
    let total: usize = messages.iter().map(|message| cost(message)).sum();
    let share = total.div_ceil(threads).max(SHARE);
    let mut parts = Vec::with_capacity(threads);
    let (mut messages, mut digests) = (messages, digests);
    while !messages.is_empty() {
        let mut sum = 0;
        let full = |message: &&[u8]| {
            sum += cost(message);
            sum >= share
        };
        let len = messages.iter().position(full).map_or(messages.len(), |last| last + 1);
        let (now, later) = messages.split_at(len);
        let (out, others) = digests.split_at_mut(len);
        (messages, digests) = (later, others);
        parts.push((now, Mutex::new(out)));
    }
    // A lock that one thread takes once: if the thread cannot be started, the part is still here.
    let work = &|(messages, digests): &(&[&[u8]], Mutex<&mut [Hash]>)| {
        batch::hash_all(mode, messages, &mut digests.lock().unwrap_or_else(PoisonError::into_inner));
    };
    let Some((last, others)) = parts.split_last() else { return };
    thread::scope(|scope| {
        for part in others {
            if thread::Builder::new().spawn_scoped(scope, move || work(part)).is_err() {
                work(part);
            }
        }
        work(last);
    });
}

/// The cost of a message, in bytes.
fn cost(message: &[u8]) -> usize {
    message.len() + 64
}

/// The digests of buffers, in the same order.
#[pyfunction]
#[pyo3(signature = (buffers, key, derive_key_context, max_threads))]
pub(super) fn hash_buffers<'py>(
    py: Python<'py>,
    buffers: &Bound<'py, PyTuple>,
    key: Option<&Bound<'py, PyAny>>,
    derive_key_context: Option<&str>,
    max_threads: isize,
) -> PyResult<Bound<'py, PyList>> {
    let function = Function::from_args(key, derive_key_context)?;
    let most = MaxThreads::from_arg(max_threads)?;
    let mut results = Vec::with_capacity(buffers.len());
    let mut digests = Vec::new();
    let mut rest = buffers.iter_borrowed().peekable();
    while rest.peek().is_some() {
        let group = next_group(&mut rest, most.count())?;
        let messages: Vec<&[u8]> = group.iter().map(Bytes::as_slice).collect();
        let is_large = |message: &&[u8]| message.len() > PIECE;
        let small: Vec<&[u8]> =
            messages.iter().map(|message| if is_large(message) { &[] } else { *message }).collect();
        digests.resize(messages.len(), Hash::from_bytes([0; OUT_LEN]));
        // Releasing the interpreter costs as much as hashing one of these.
        if small.iter().map(|message| cost(message)).sum::<usize>() < DETACH_FROM {
            batch::hash_all(&function.mode(), &small, &mut digests);
        } else {
            py.detach(|| hash_all(&function.mode(), &small, &mut digests, most.count()));
        }
        for (message, digest) in messages.iter().zip(&mut digests).filter(|(message, _)| is_large(message)) {
            *digest = hash_large(py, &function, message, most)?;
        }
        results.extend(digests.iter().map(|digest| PyBytes::new(py, digest.as_bytes())));
        py.check_signals()?;
    }
    PyList::new(py, results)
}

/// The next buffers: as many as fit into a cache and take some ten milliseconds, at least one.
fn next_group<'a, 'py>(
    rest: &mut Peekable<impl Iterator<Item = Borrowed<'a, 'py, PyAny>>>,
    threads: usize,
) -> PyResult<Vec<Bytes<'a, 'py>>> {
    // A new thread should get enough buffers.
    let most = if threads == 1 { GROUP } else { threads * SHARE / 64 };
    let mut group = Vec::with_capacity(most.min(rest.size_hint().0));
    let mut bytes = 0;
    while group.len() < most && bytes <= PIECE {
        let Some(buffer) = rest.next() else { break };
        let buffer = Bytes::borrow_ref(buffer)?;
        bytes += buffer.as_slice().len();
        group.push(buffer);
    }
    Ok(group)
}

/// The digest of a long message, with checks for signals in between.
fn hash_large(py: Python<'_>, function: &Function, message: &[u8], most: MaxThreads) -> PyResult<Hash> {
    let mut hasher = function.hasher();
    for piece in message.chunks(PIECE) {
        py.check_signals()?;
        let done = py.detach(|| most.update(&mut hasher, piece));
        done.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    }
    Ok(hasher.finalize())
}

/// How files are read: without mapping, because that needs a signal handler, and signals belong to the interpreter.
fn options(most: MaxThreads) -> Options {
    let mut options = Options::default();
    options.mapping = Mapping::Never;
    options.threads = most.for_files();
    options
}

/// The digests of files, in the same order; an exception in the place of a file that cannot be read.
#[pyfunction]
#[pyo3(signature = (paths, key, derive_key_context, max_threads, engine))]
pub(super) fn hash_paths<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    key: Option<&Bound<'py, PyAny>>,
    derive_key_context: Option<&str>,
    max_threads: isize,
    engine: Option<&str>,
) -> PyResult<Bound<'py, PyList>> {
    let function = Function::from_args(key, derive_key_context)?.for_files();
    let options = options(MaxThreads::from_arg(max_threads)?);
    let files = match engine {
        Some(list) => engines::files(py, list, function, options)?,
        None => Files::new(function, options),
    };
    let stopped = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&stopped);
    let results = interruptible(
        py,
        || stop.store(true, Ordering::Relaxed),
        move || {
            let mut results = Vec::with_capacity(paths.len());
            let items = paths.into_iter().map(|path| HashJob { path, input: Input::File, tag: () });
            let take = |path: PathBuf, (), result: Result<Digest, Error>| {
                results.push(result.map_err(|error| (path, error)));
                if stopped.load(Ordering::Relaxed) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            let _: ControlFlow<()> = files.hash_many(items, take);
            results
        },
    )?;
    let object = |answer: Result<Digest, (PathBuf, Error)>| match answer.map(|digest| digest.output) {
        Ok(Output::Short(digest)) => Ok(PyBytes::new(py, &digest).into_any()),
        Ok(_) => Err(PyRuntimeError::new_err("another function than BLAKE3 answered")),
        Err((_, Error::Engine(error))) => {
            let list = engine.unwrap_or_default();
            engines::close(list);
            let error = EngineError::new_err(format!("{list}: {error}"));
            Ok(error.into_value(py).into_bound(py).into_any())
        }
        Err((path, error)) => Ok(failure(&path, error).into_value(py).into_bound(py).into_any()),
    };
    PyList::new(py, results.into_iter().map(object).collect::<PyResult<Vec<_>>>()?)
}

/// The digest of a directory with everything in it, equal to that of `hashmill sum --tree`.
#[pyfunction]
#[pyo3(signature = (path, max_threads))]
pub(super) fn hash_tree(py: Python<'_>, path: PathBuf, max_threads: isize) -> PyResult<Bound<'_, PyBytes>> {
    let files = Files::new(Function::Hash.for_files(), options(MaxThreads::from_arg(max_threads)?));
    let found = interruptible(py, || (), move || files.hash_tree(&path))?;
    match found {
        Ok(digest) => Ok(PyBytes::new(py, digest.as_bytes())),
        Err(failures) => {
            let count = failures.len();
            let mut failures = failures.into_iter().map(|(path, error)| failure(&path, error));
            let first = failures.next().unwrap_or_else(|| PyOSError::new_err("no reason"));
            if count > 1 {
                first
                    .value(py)
                    .call_method1("add_note", (format!("and {} more cannot be read", count - 1),))?;
            }
            Err(first)
        }
    }
}

/// The exception for a file without a digest, as `open` and `read` raise it.
fn failure(path: &Path, error: Error) -> PyErr {
    os_error(path, &error.into())
}
