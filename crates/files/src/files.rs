//! The public face: [`Files`] holds the function, the threads and the buffers that all hashing shares.

use crate::batch;
use crate::error::Error;
use crate::function::{Digest, Function};
use crate::os;
use crate::plan::{Mapping, STREAM_TILE, Strategy};
use crate::pool::{Buffers, Pool};
use crate::source::{self, read};
use std::io::{self, Read, Seek, SeekFrom};
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How to work. The digests do not depend on it.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// How bytes are fetched.
    pub strategy: Strategy,
    /// Whether files may be mapped, which needs a handler for a signal.
    pub mapping: Mapping,
    /// The most threads; `None` is one per processor. Of a number beyond 256 no more than the processors are started.
    pub threads: Option<NonZero<usize>>,
    /// The most bytes of a file that one thread takes at a time, where a strategy works in tiles: rounded down to a power
    /// of two, and never less than 64 KiB or more than the strategy takes by itself. `None` leaves it to the strategy.
    pub tile: Option<NonZero<usize>>,
}

/// Hashes files with one function. Threads and buffers are made when first needed and kept for the next file.
///
/// A forked child may use what it inherits: it starts threads of its own. Files that other threads of the parent were
/// hashing stay with the parent.
pub struct Files {
    pub(crate) function: Function,
    pub(crate) strategy: Strategy,
    pub(crate) mapping: Mapping,
    /// What the options say of tiles.
    pub(crate) tile: Option<NonZero<usize>>,
    pub(crate) pool: Pool,
    /// Tiles of [`STREAM_TILE`] bytes.
    pub(crate) buffers: Buffers,
    /// Room for many small files at once, see `batch`.
    pub(crate) arenas: Buffers,
    pub(crate) progress: Progress,
    /// Tiles of streams that wait for a thread or are in work on one.
    pub(crate) waiting: AtomicUsize,
}

impl Files {
    /// Makes ready; starts nothing.
    pub fn new(function: Function, options: Options) -> Files {
        Files {
            function,
            strategy: options.strategy,
            mapping: options.mapping,
            tile: options.tile,
            pool: Pool::new(options.threads),
            buffers: Buffers::new(STREAM_TILE),
            arenas: Buffers::new(batch::ARENA),
            progress: Progress::default(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// The digest of the file at `path`, by the strategy and with the threads of the options.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn hash_file(&self, path: impl AsRef<Path>) -> Result<Digest, Error> {
        let mut results = batch::hash(self, &[path.as_ref()]);
        results.pop().unwrap_or_else(|| unreachable!("one path in, one result out"))
    }

    /// The digest of everything that comes out of `reader`: read on this thread, hashed on all.
    ///
    /// # Errors
    /// What the reader reports.
    pub fn hash_reader(&self, mut reader: impl Read + Send) -> Result<Digest, Error> {
        let digest = read::hash(self, &mut reader)?;
        self.progress.add_files(1);
        Ok(digest)
    }

    /// The digest of what is left of standard input: by the strategy if it is a file from its beginning on, else read
    /// in order. Afterwards nothing is left.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn hash_stdin(&self) -> Result<Digest, Error> {
        let Some(mut stdin) = os::stdin_file() else {
            return self.hash_reader(io::stdin());
        };
        let is_whole_file = stdin.metadata().is_ok_and(|metadata| metadata.is_file())
            && stdin.stream_position().is_ok_and(|position| position == 0);
        if !is_whole_file {
            os::widen_pipe(&stdin);
            return self.hash_reader(stdin);
        }
        let digest = source::hash_file(self, &stdin, &[])?;
        // Other programs, and another mention of it, go on where this one ended.
        stdin.seek(SeekFrom::Start(digest.len))?;
        self.progress.add_files(1);
        Ok(digest)
    }

    /// What has been done so far, for a display on another thread.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Whether the first bytes of a file are read before anything else is asked about it. Most files end within
    /// them. A caller who chose another source than reading gets it for the smallest file, too.
    pub(crate) fn looks_first(&self) -> bool {
        matches!(self.strategy, Strategy::Auto | Strategy::Read)
    }
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Files");
        out.field("function", &self.function).field("strategy", &self.strategy);
        out.field("threads", &self.pool.threads()).finish_non_exhaustive()
    }
}

/// Counters that only grow.
#[derive(Debug, Default)]
pub struct Progress {
    bytes: AtomicU64,
    files: AtomicU64,
}

impl Progress {
    /// Bytes hashed.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Files finished, with or without a digest.
    pub fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    pub(crate) fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add_files(&self, files: u64) {
        self.files.fetch_add(files, Ordering::Relaxed);
    }
}
