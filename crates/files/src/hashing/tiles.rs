//! Hashing of the tiles of a file of known size, on the planned number of threads.

use crate::context::HashContext;
use crate::context::pool::{PanicFlag, lock};
use crate::context::tile_bytes::TileBytes;
use crate::error::Error;
use crate::function::Digest;
use crate::hashing::merge::Merger;
use crate::read::source::Source;
use hashmill_hash::blake3::hazmat::Mode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Hashes the first `len` bytes of a source, `tile` bytes at a time.
pub(crate) fn hash<S: Source>(
    context: &HashContext,
    source: &S,
    len: u64,
    tile: usize,
    workers: usize,
) -> Result<Digest, Error> {
    let output = match context.function.mode() {
        Some(mode) if len > tile as u64 => {
            let job = TiledFile {
                context,
                source,
                len,
                tile,
                mode,
                next: AtomicU64::new(0),
                stop: AtomicBool::new(false),
            };
            let [left, right] = job.run(workers)?;
            context.function.root(mode, &left, &right)
        }
        _ => {
            // The input fits into one tile: only tree functions have tiles.
            let mut scratch = source.scratch(None)?;
            let hash = |tile: TileBytes<'_>| context.function.start().update(tile.bytes).finish();
            let output = source.with(0, len as usize, &mut scratch, hash)?;
            context.progress.add_bytes(len);
            source.done(scratch);
            output
        }
    };
    source.check()?;
    Ok(Digest { output, len })
}

struct TiledFile<'a, S> {
    context: &'a HashContext,
    source: &'a S,
    len: u64,
    tile: usize,
    mode: Mode<'a>,
    /// The next tile. Taken in order, so that a disk sees nearly sequential reads.
    next: AtomicU64,
    /// Has a thread failed or panicked?
    stop: AtomicBool,
}

impl<S: Source> TiledFile<'_, S> {
    fn run(&self, workers: usize) -> Result<[[u8; 32]; 2], Error> {
        let merger = Mutex::new(Merger::new(self.mode));
        let failure = Mutex::new(None::<Error>);
        let worker = || {
            let _alarm = PanicFlag(&self.stop);
            if let Err(error) = self.hash_tiles(&merger) {
                self.stop.store(true, Ordering::Relaxed);
                let mut failure = lock(&failure);
                // The error with the lowest offset is kept, whichever thread was first.
                let is_first = |there: &Error| error.offset() < there.offset();
                if failure.as_ref().is_none_or(is_first) {
                    *failure = Some(error);
                }
            }
        };
        match self.context.pool.get() {
            Some(pool) if workers > 1 => pool.in_place_scope(|scope| {
                for _ in 1..workers {
                    scope.spawn(|_| worker());
                }
                // The calling thread works from the start; helpers that wake up too late find no tile left.
                worker();
            }),
            _ => worker(),
        }
        if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let merger = merger.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(merger.finish().expect("more than one tile was pushed"))
    }

    fn hash_tiles(&self, merger: &Mutex<Merger<'_>>) -> Result<(), Error> {
        let mut scratch = self.source.scratch(self.context.engine.as_ref())?;
        while !self.stop.load(Ordering::Relaxed) {
            self.context.check_stopped()?;
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(offset) = index.checked_mul(self.tile as u64).filter(|&offset| offset < self.len) else {
                break;
            };
            let len = (self.len - offset).min(self.tile as u64) as usize;
            let hash = |tile: TileBytes<'_>| self.context.subtree(&self.mode, offset, tile);
            let value = self.source.with(offset, len, &mut scratch, hash)??;
            lock(merger).push(index, value);
            self.context.progress.add_bytes(len as u64);
        }
        self.source.done(scratch);
        Ok(())
    }
}
