//! Hashing of sequential input from any reader.
//!
//! ```text
//! tile ← read
//! while bytes come:
//!     pass tile to a helper, or hash it here if enough tiles are queued
//!     tile ← read                                        (helpers hash meanwhile)
//! ```
//! No thread holds a lock during a read, so a slow pipe blocks no other file; and memory is bounded by the
//! maximum number of queued tiles.

use crate::context::HashContext;
use crate::context::pool::{Buffer, PanicFlag, lock};
use crate::context::tile_bytes::TileBytes;
use crate::error::Error;
use crate::function::Digest;
use crate::hashing::merge::Merger;
use crate::os::fill;
use crate::read::plan::{STREAM_TILE, waiting_tiles};
use hashmill_hash::blake3::hazmat::Mode;
use rayon::ThreadPool;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

/// Hashes all of `reader`, on all threads if that pays.
pub(crate) fn hash(context: &HashContext, reader: &mut (impl Read + Send)) -> Result<Digest, Error> {
    let mut first = context.buffers.take();
    let len = fill(reader, &mut first)?;
    if len < first.len() {
        // The end: no second read, no second thread.
        let digest = whole(context, &first[..len]);
        context.buffers.give(first);
        return Ok(digest);
    }
    match (context.pool.get(), context.function.mode()) {
        (Some(pool), Some(mode)) => pipeline(context, pool, mode, reader, first),
        (Some(pool), None) => hash_sequential(context, pool, reader, first),
        (None, _) => hash_on_one_thread(context, reader, first),
    }
}

/// The digest of a message that fits into one tile.
fn whole(context: &HashContext, message: &[u8]) -> Digest {
    context.progress.add_bytes(message.len() as u64);
    Digest { output: context.function.start().update(message).finish(), len: message.len() as u64 }
}

/// Reading and hashing on the calling thread.
fn hash_on_one_thread(
    context: &HashContext,
    reader: &mut impl Read,
    mut tile: Buffer,
) -> Result<Digest, Error> {
    let mut state = context.function.start();
    let mut total = 0;
    let mut len = tile.len();
    while len > 0 {
        context.check_stopped()?;
        state.update(&tile[..len]);
        total += len as u64;
        context.progress.add_bytes(len as u64);
        len = fill(reader, &mut tile)?;
    }
    context.buffers.give(tile);
    Ok(Digest { output: state.finish(), len: total })
}

/// For a function without subtrees: one thread hashes, one reads ahead.
fn hash_sequential(
    context: &HashContext,
    pool: &ThreadPool,
    reader: &mut (impl Read + Send),
    mut tile: Buffer,
) -> Result<Digest, Error> {
    let mut state = context.function.start();
    let mut total = 0;
    let mut len = tile.len();
    let mut ahead = context.buffers.take();
    while len > 0 {
        context.check_stopped()?;
        let (read, _) =
            pool.install(|| rayon::join(|| fill(reader, &mut ahead), || state.update(&tile[..len])));
        total += len as u64;
        context.progress.add_bytes(len as u64);
        std::mem::swap(&mut tile, &mut ahead);
        len = read?;
    }
    context.buffers.give(tile);
    context.buffers.give(ahead);
    Ok(Digest { output: state.finish(), len: total })
}

/// Reads on this thread, and hashes subtrees on helpers. `first` is full.
fn pipeline(
    context: &HashContext,
    pool: &ThreadPool,
    mode: Mode<'_>,
    reader: &mut (impl Read + Send),
    first: Buffer,
) -> Result<Digest, Error> {
    let mut tile = context.buffers.take();
    let mut len = fill(reader, &mut tile)?;
    if len == 0 {
        return Ok(whole(context, &first));
    }

    let merger = Mutex::new(Merger::new(mode));
    let (broken, failure) = (AtomicBool::new(false), OnceLock::new());
    let hash_tile = &|index: u64, tile: Buffer, len: usize| {
        let _alarm = PanicFlag(&broken);
        let value = context.check_stopped().and_then(|()| {
            context.subtree(&mode, index * STREAM_TILE as u64, TileBytes::from_slice(&tile[..len]))
        });
        match value {
            Ok(value) => lock(&merger).push(index, value),
            Err(error) => {
                broken.store(true, Ordering::Relaxed);
                // Any of several errors is kept.
                let _ = failure.set(error);
            }
        }
        context.progress.add_bytes(len as u64);
        context.buffers.give(tile);
    };
    let enough = waiting_tiles(pool.current_num_threads());
    let waiting = &context.waiting;
    let mut total = (first.len() + len) as u64;

    let end: io::Result<()> = pool.in_place_scope_fifo(|scope| {
        let hand_over = |index, tile, len| {
            if waiting.load(Ordering::Relaxed) >= enough {
                return hash_tile(index, tile, len);
            }
            let counted = QueuedTile::one_more(waiting);
            scope.spawn_fifo(move |_| {
                let _counted = counted;
                hash_tile(index, tile, len);
            });
        };
        let first_len = first.len();
        hand_over(0, first, first_len);
        for index in 1.. {
            let ended = len < tile.len();
            hand_over(index, tile, len);
            // After an error, or a panic of a helper, which the scope propagates: do not wait for the end of
            // the input.
            if ended || broken.load(Ordering::Relaxed) {
                break;
            }
            tile = context.buffers.take();
            len = fill(reader, &mut tile)?;
            if len == 0 {
                context.buffers.give(tile);
                break;
            }
            total += len as u64;
        }
        Ok(())
    });
    end?;
    if let Some(error) = failure.into_inner() {
        return Err(error);
    }

    let merger = merger.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let [left, right] = merger.finish().expect("at least two tiles were pushed");
    Ok(Digest { output: context.function.root(mode, &left, &right), len: total })
}

/// Count of a tile that is queued or being hashed.
struct QueuedTile<'a>(&'a AtomicUsize);

impl QueuedTile<'_> {
    fn one_more(count: &AtomicUsize) -> QueuedTile<'_> {
        count.fetch_add(1, Ordering::Relaxed);
        QueuedTile(count)
    }
}

impl Drop for QueuedTile<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
