//! Tiles of a file of known size, hashed by as many threads as the plan says.

use crate::error::Error;
use crate::function::Digest;
use crate::merge::Merger;
use crate::pool::{Alarm, lock};
use crate::source::{Seen, Source};
use crate::work::Work;
use hashmill_hash::blake3::hazmat::Mode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Hashes the first `len` bytes of a source, `tile` bytes at a time.
pub(crate) fn hash<S: Source>(
    work: &Work,
    source: &S,
    len: u64,
    tile: usize,
    workers: usize,
) -> Result<Digest, Error> {
    let output = match work.function.mode() {
        Some(mode) if len > tile as u64 => {
            let job = TiledFile {
                work,
                source,
                len,
                tile,
                mode,
                next: AtomicU64::new(0),
                stop: AtomicBool::new(false),
            };
            let [left, right] = job.run(workers)?;
            work.function.root(mode, &left, &right)
        }
        _ => {
            // It fits into one tile, as only trees come here.
            let mut scratch = source.scratch(None)?;
            let hash = |tile: Seen<'_>| work.function.start().update(tile.bytes).finish();
            let output = source.with(0, len as usize, &mut scratch, hash)?;
            work.progress.add_bytes(len);
            source.done(scratch);
            output
        }
    };
    source.check()?;
    Ok(Digest { output, len })
}

struct TiledFile<'a, S> {
    work: &'a Work,
    source: &'a S,
    len: u64,
    tile: usize,
    mode: Mode<'a>,
    /// The next tile that nobody has. Taken in order, so that a disk sees nearly sequential reads.
    next: AtomicU64,
    /// Somebody failed or panicked: the rest is of no use.
    stop: AtomicBool,
}

impl<S: Source> TiledFile<'_, S> {
    fn run(&self, workers: usize) -> Result<[[u8; 32]; 2], Error> {
        let merger = Mutex::new(Merger::new(self.mode));
        let failure = Mutex::new(None::<Error>);
        let work = || {
            let _alarm = Alarm(&self.stop);
            if let Err(error) = self.work(&merger) {
                self.stop.store(true, Ordering::Relaxed);
                let mut failure = lock(&failure);
                // Of two bad places the first, whichever thread came to its own before.
                let is_first = |there: &Error| error.offset() < there.offset();
                if failure.as_ref().is_none_or(is_first) {
                    *failure = Some(error);
                }
            }
        };
        match self.work.pool.get() {
            Some(pool) if workers > 1 => pool.in_place_scope(|scope| {
                for _ in 1..workers {
                    scope.spawn(|_| work());
                }
                // The calling thread works from the start; helpers that wake up too late find no tile left.
                work();
            }),
            _ => work(),
        }
        if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let merger = merger.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(merger.finish().expect("more than one tile was pushed"))
    }

    fn work(&self, merger: &Mutex<Merger<'_>>) -> Result<(), Error> {
        let mut scratch = self.source.scratch(self.work.engine.as_ref())?;
        while !self.stop.load(Ordering::Relaxed) {
            self.work.go_on()?;
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(offset) = index.checked_mul(self.tile as u64).filter(|&offset| offset < self.len) else {
                break;
            };
            let len = (self.len - offset).min(self.tile as u64) as usize;
            let hash = |tile: Seen<'_>| self.work.subtree(&self.mode, offset, tile);
            let value = self.source.with(offset, len, &mut scratch, hash)??;
            lock(merger).push(index, value);
            self.work.progress.add_bytes(len as u64);
        }
        self.source.done(scratch);
        Ok(())
    }
}
