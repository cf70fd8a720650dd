//! [`Files`]: hashes files, streams, lists and trees with one function.

use crate::context::engine::{Engine, OnEngineFailure};
use crate::context::{HashContext, Options, Progress};
use crate::error::Error;
use crate::function::{Digest, Function};
use crate::hashing::batch::Batch;
use crate::hashing::hash_many::{self, HashJob, ResultSink};
use crate::hashing::{file, stream, tree};
use hashmill_hash::blake3::Hash;
use hashmill_hash::engine::{EngineError, SubtreeEngine};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Hashes files with one function. Threads and buffers are created on first use and kept for later files.
///
/// A forked child may use the value that it inherits, and starts threads of its own. Files that other threads
/// of the parent are hashing stay with the parent.
pub struct Files(HashContext);

impl Files {
    /// A value for this function. Starts no threads yet.
    pub fn new(function: Function, options: Options) -> Files {
        Files(HashContext::new(function, options))
    }

    /// As [`new`](Files::new), with an engine that hashes the tiles of files that have several tiles. It is
    /// created for this function, is checked with known values first, and accepts tiles of at least 1 MiB.
    /// The processor hashes everything else.
    ///
    /// # Errors
    /// [`EngineError::Function`] if the function has no subtrees, [`EngineError::Tile`],
    /// [`EngineError::SelfTest`], and errors of the engine.
    pub fn with_engine(
        function: Function,
        options: Options,
        engine: Arc<dyn SubtreeEngine>,
        otherwise: OnEngineFailure,
    ) -> Result<Files, EngineError> {
        let engine = Engine::new(engine, &function, otherwise)?;
        Ok(Files(HashContext { engine: Some(engine), ..HashContext::new(function, options) }))
    }

    /// The failure of the engine, if the processor continued without it: see [`OnEngineFailure::Processor`].
    pub fn engine_failure(&self) -> Option<&EngineError> {
        self.0.engine.as_ref()?.failure()
    }

    /// The reason why a file was read through the system's cache despite
    /// [`Strategy::Direct`](crate::Strategy::Direct): the first one.
    pub fn direct_failure(&self) -> Option<&io::Error> {
        self.0.direct_failure.get()
    }

    /// The digest of the file at `path`, by the strategy and with the threads of the options.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn hash_file(&self, path: impl AsRef<Path>) -> Result<Digest, Error> {
        let mut batch = Batch::new(&self.0, 1);
        batch.file(path.as_ref());
        batch.finish().pop().expect("one path in, one result out")
    }

    /// The digest of the whole output of `reader`: read on this thread, hashed on all.
    ///
    /// # Errors
    /// Errors of the reader.
    pub fn hash_reader(&self, mut reader: impl Read + Send) -> Result<Digest, Error> {
        let digest = stream::hash(&self.0, &mut reader)?;
        self.0.progress.add_files(1);
        Ok(digest)
    }

    /// The digest of the rest of standard input: by the strategy if it is a file at its start, otherwise read
    /// in order. Reads it to the end.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn hash_stdin(&self) -> Result<Digest, Error> {
        file::hash_stdin(&self.0)
    }

    /// Hashes `items`, and passes each path, tag and result to `sink`, in the order of the items, on this
    /// thread.
    ///
    /// Breaks with the value that `sink` broke with. Otherwise every item has a result.
    pub fn hash_many<T: Send, S: ResultSink<T>>(
        &self,
        items: impl IntoIterator<Item = HashJob<T>>,
        sink: S,
    ) -> ControlFlow<S::Break> {
        hash_many::hash(&self.0, items.into_iter().peekable(), sink)
    }

    /// One digest for the directory (or file) at `root`. It covers names, contents, links and structure, and
    /// nothing else.
    ///
    /// The [`Files`] must compute plain BLAKE3; another function is refused. Memory grows with the number of
    /// entries, not with their sizes.
    ///
    /// # Errors
    /// Every entry that could not be hashed. A digest of the rest would be mistaken for a digest of the tree.
    pub fn hash_tree(&self, root: &Path) -> Result<Hash, Vec<(PathBuf, Error)>> {
        tree::hash(&self.0, root)
    }

    /// Stops the work, from another thread: running calls and all later ones fail with [`Error::Stopped`].
    /// Each thread first finishes its current tile, of at most a few MiB.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }

    /// Progress so far, for a display on another thread.
    pub fn progress(&self) -> &Progress {
        &self.0.progress
    }
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Files");
        out.field("function", &self.0.function).field("strategy", &self.0.options.strategy);
        out.field("threads", &self.0.pool.threads()).finish_non_exhaustive()
    }
}
