//! The public face: one value that hashes files, streams, lists and trees with one function.

use crate::batch::Batch;
use crate::engine::{Engine, Otherwise};
use crate::error::Error;
use crate::function::{Digest, Function};
use crate::many::{self, Item, Sink};
use crate::work::{Options, Progress, Work};
use crate::{file, stream, tree};
use hashmill_hash::blake3::Hash;
use hashmill_hash::engine::{EngineError, SubtreeEngine};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Hashes files with one function. Threads and buffers are made when first needed and kept for the next file.
///
/// A forked child may use what it inherits: it starts threads of its own. Files that other threads of the parent were
/// hashing stay with the parent.
pub struct Files(Work);

impl Files {
    /// Makes ready; starts nothing.
    pub fn new(function: Function, options: Options) -> Files {
        Files(Work::new(function, options))
    }

    /// The same, and an engine hashes the tiles of files that are cut into several: it was made for this function, is asked
    /// for known values first, and takes tiles of 1 MiB at least. Whatever else there is to hash is the processor's.
    ///
    /// # Errors
    /// [`EngineError::Function`] if the function has no subtrees, [`EngineError::Tile`], [`EngineError::SelfTest`], and what
    /// happens to the engine.
    pub fn with_engine(
        function: Function,
        options: Options,
        engine: Arc<dyn SubtreeEngine>,
        otherwise: Otherwise,
    ) -> Result<Files, EngineError> {
        let engine = Engine::new(engine, &function, otherwise)?;
        Ok(Files(Work { engine: Some(engine), ..Work::new(function, options) }))
    }

    /// What happened to the engine, if the processor had to go on without it: see [`Otherwise::Processor`].
    pub fn engine_failure(&self) -> Option<&EngineError> {
        self.0.engine.as_ref()?.failure()
    }

    /// What was in the way of [`Strategy::Direct`](crate::Strategy::Direct) the first time that a file had to be read through the
    /// system's cache all the same.
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

    /// The digest of everything that comes out of `reader`: read on this thread, hashed on all.
    ///
    /// # Errors
    /// What the reader reports.
    pub fn hash_reader(&self, mut reader: impl Read + Send) -> Result<Digest, Error> {
        let digest = stream::hash(&self.0, &mut reader)?;
        self.0.progress.add_files(1);
        Ok(digest)
    }

    /// The digest of what is left of standard input: by the strategy if it is a file from its beginning on, else read
    /// in order. Afterwards nothing is left.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn hash_stdin(&self) -> Result<Digest, Error> {
        file::hash_stdin(&self.0)
    }

    /// Hashes `items` and gives each path, tag and result to `sink`, in the order of the items, on this thread.
    ///
    /// Breaks with what `sink` broke with. Otherwise every item has had its answer.
    pub fn hash_many<T: Send, S: Sink<T>>(
        &self,
        items: impl IntoIterator<Item = Item<T>>,
        sink: S,
    ) -> ControlFlow<S::Break> {
        many::hash(&self.0, items.into_iter().peekable(), sink)
    }

    /// One digest for the directory (or file) at `root`: of names, contents, links and structure; of nothing else.
    ///
    /// The [`Files`] must compute plain BLAKE3; with another function this is refused. Memory grows with the number of
    /// entries, not with their sizes.
    ///
    /// # Errors
    /// Everything that could not be hashed. A digest of the rest would only look like an answer.
    pub fn hash_tree(&self, root: &Path) -> Result<Hash, Vec<(PathBuf, Error)>> {
        tree::hash(&self.0, root)
    }

    /// Asks for an end, from another thread: what is under way, and whatever is asked of this value from now on, fails with
    /// [`Error::Stopped`]. Each thread hashes the tile to its end that it has, of at most a few MiB.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }

    /// What has been done so far, for a display on another thread.
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
