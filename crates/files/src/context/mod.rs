//! Shared context of one [`Files`](crate::Files): function, options, engine, threads, buffers and counters.

pub(crate) mod engine;
pub(crate) mod pool;
pub(crate) mod tile_bytes;

use crate::error::Error;
use crate::function::Function;
use crate::read::plan::{ARENA, Mapping, STREAM_TILE, Strategy};
use engine::Engine;
use hashmill_hash::blake3::hazmat::{ChainingValue, Mode};
use pool::{Buffers, Pool};
use std::io;
use std::num::NonZero;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use tile_bytes::TileBytes;

/// Options of hashing. Digests do not depend on them.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// How bytes are read.
    pub strategy: Strategy,
    /// May files be mapped, which needs a signal handler?
    pub mapping: Mapping,
    /// The maximum number of threads; `None` means one per processor. Above 256, at most the number of
    /// processors is started.
    pub threads: Option<NonZero<usize>>,
    /// The maximum tile size in bytes, for strategies that work in tiles. It is rounded down to a power of
    /// two, is at least 64 KiB, and does not exceed the strategy's own maximum. With `None` the strategy
    /// decides.
    pub tile: Option<NonZero<usize>>,
    /// Continue behind unreadable parts of a file? Such a file is an error in any case,
    /// [`Error::Unreadable`]; with this option the rest is read, and the error lists all unreadable parts. On
    /// a failing disk each of them takes seconds.
    ///
    /// [`Error::Unreadable`]: crate::Error::Unreadable
    pub keep_going: bool,
}

pub(crate) struct HashContext {
    pub(crate) function: Function,
    pub(crate) options: Options,
    /// The engine that hashes tiles in place of the processor.
    pub(crate) engine: Option<Engine>,
    pub(crate) pool: Pool,
    /// Tiles of [`STREAM_TILE`] bytes.
    pub(crate) buffers: Buffers,
    /// Memory for many small files at once, see `hashing/batch.rs`.
    pub(crate) arenas: Buffers,
    pub(crate) progress: Progress,
    /// Tiles of streams that are queued or being hashed.
    pub(crate) waiting: AtomicUsize,
    /// The reason why the first file was not read past the system's cache.
    pub(crate) direct_failure: OnceLock<io::Error>,
    /// Has the caller stopped the work?
    pub(crate) stop: AtomicBool,
}

impl HashContext {
    /// A context without threads and buffers.
    pub(crate) fn new(function: Function, options: Options) -> HashContext {
        HashContext {
            function,
            options,
            engine: None,
            pool: Pool::new(options.threads),
            buffers: Buffers::new(STREAM_TILE),
            arenas: Buffers::new(ARENA),
            progress: Progress::default(),
            waiting: AtomicUsize::new(0),
            direct_failure: OnceLock::new(),
            stop: AtomicBool::new(false),
        }
    }

    /// An error after a stop. Checked before each file and each tile.
    pub(crate) fn check_stopped(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }

    /// The maximum tile size: the caller's, and the engine's.
    pub(crate) fn most(&self) -> Option<NonZero<usize>> {
        let room = self.engine.as_ref().and_then(|engine| NonZero::new(engine.tile()));
        self.options.tile.into_iter().chain(room).min()
    }

    /// The chaining value of a tile at `offset` of a longer message.
    pub(crate) fn subtree(
        &self,
        mode: &Mode<'_>,
        offset: u64,
        tile: TileBytes<'_>,
    ) -> Result<ChainingValue, Error> {
        let value = match &self.engine {
            Some(engine) => engine.value(offset, tile)?,
            None => None,
        };
        Ok(value.unwrap_or_else(|| self.function.subtree(mode, offset, tile.bytes)))
    }
}

/// Counters of finished work. They never decrease.
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
