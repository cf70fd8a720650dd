//! What all hashing of one [`Files`](crate::Files) shares: the function, how files are read, threads and buffers, counters.

use crate::engine::Engine;
use crate::error::Error;
use crate::function::Function;
use crate::plan::{ARENA, Mapping, STREAM_TILE, Strategy};
use crate::pool::{Buffers, Pool};
use crate::source::Seen;
use hashmill_hash::blake3::hazmat::{ChainingValue, Mode};
use std::io;
use std::num::NonZero;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

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
    /// What becomes of a file that cannot be read everywhere. It is an error in any case, [`Error::Unreadable`]; with this, the
    /// rest is read all the same, and the error says all that cannot be. On a failing disk each bad place takes seconds.
    ///
    /// [`Error::Unreadable`]: crate::Error::Unreadable
    pub keep_going: bool,
}

pub(crate) struct Work {
    pub(crate) function: Function,
    pub(crate) options: Options,
    /// Who hashes tiles, if not the processor.
    pub(crate) engine: Option<Engine>,
    pub(crate) pool: Pool,
    /// Tiles of [`STREAM_TILE`] bytes.
    pub(crate) buffers: Buffers,
    /// Room for many small files at once, see `batch`.
    pub(crate) arenas: Buffers,
    pub(crate) progress: Progress,
    /// Tiles of streams that wait for a thread or are in work on one.
    pub(crate) waiting: AtomicUsize,
    /// Why the first file that was to be read past the system's cache was not.
    pub(crate) direct_failure: OnceLock<io::Error>,
    /// Nobody wants digests any more.
    pub(crate) stop: AtomicBool,
}

impl Work {
    /// Makes ready; starts nothing.
    pub(crate) fn new(function: Function, options: Options) -> Work {
        Work {
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

    /// An error once somebody asked for an end. Whoever works looks before each file and each tile.
    pub(crate) fn go_on(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }

    /// The most bytes of a tile: what the caller wants, and the engine takes.
    pub(crate) fn most(&self) -> Option<NonZero<usize>> {
        let room = self.engine.as_ref().and_then(|engine| NonZero::new(engine.tile()));
        self.options.tile.into_iter().chain(room).min()
    }

    /// The chaining value of a tile, which lies `offset` bytes into a message that is longer.
    pub(crate) fn subtree(
        &self,
        mode: &Mode<'_>,
        offset: u64,
        tile: Seen<'_>,
    ) -> Result<ChainingValue, Error> {
        let value = match &self.engine {
            Some(engine) => engine.value(offset, tile)?,
            None => None,
        };
        Ok(value.unwrap_or_else(|| self.function.subtree(mode, offset, tile.bytes)))
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
