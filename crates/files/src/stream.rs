//! Bytes in order, from anything that can be read.
//!
//! ```text
//! tile ← read
//! while bytes come:
//!     hand tile to a helper, or hash it here if enough of them wait already
//!     tile ← read                                        (helpers hash meanwhile)
//! ```
//! Nobody waits for a lock while somebody reads, so a slow pipe holds up no other file; and memory is bounded by
//! the number of tiles that may wait.

use crate::error::Error;
use crate::function::Digest;
use crate::merge::Merger;
use crate::os::fill;
use crate::plan::{STREAM_TILE, waiting_tiles};
use crate::pool::{Alarm, Buffer, lock};
use crate::source::Seen;
use crate::work::Work;
use hashmill_hash::blake3::hazmat::Mode;
use rayon::ThreadPool;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

/// Hashes all of `reader`, on all threads if it is worth it.
pub(crate) fn hash(work: &Work, reader: &mut (impl Read + Send)) -> Result<Digest, Error> {
    let mut first = work.buffers.take();
    let len = fill(reader, &mut first)?;
    if len < first.len() {
        // The end: no second read, no second thread.
        let digest = whole(work, &first[..len]);
        work.buffers.give(first);
        return Ok(digest);
    }
    match (work.pool.get(), work.function.mode()) {
        (Some(pool), Some(mode)) => pipeline(work, pool, mode, reader, first),
        (Some(pool), None) => in_turns(work, pool, reader, first),
        (None, _) => alone(work, reader, first),
    }
}

/// The digest of a message that fits into one tile.
fn whole(work: &Work, message: &[u8]) -> Digest {
    work.progress.add_bytes(message.len() as u64);
    Digest { output: work.function.start().update(message).finish(), len: message.len() as u64 }
}

/// Reading and hashing on the calling thread.
fn alone(work: &Work, reader: &mut impl Read, mut tile: Buffer) -> Result<Digest, Error> {
    let mut state = work.function.start();
    let mut total = 0;
    let mut len = tile.len();
    while len > 0 {
        work.go_on()?;
        state.update(&tile[..len]);
        total += len as u64;
        work.progress.add_bytes(len as u64);
        len = fill(reader, &mut tile)?;
    }
    work.buffers.give(tile);
    Ok(Digest { output: state.finish(), len: total })
}

/// A function without subtrees: one thread hashes, one reads ahead.
fn in_turns(
    work: &Work,
    pool: &ThreadPool,
    reader: &mut (impl Read + Send),
    mut tile: Buffer,
) -> Result<Digest, Error> {
    let mut state = work.function.start();
    let mut total = 0;
    let mut len = tile.len();
    let mut ahead = work.buffers.take();
    while len > 0 {
        work.go_on()?;
        let (read, _) =
            pool.install(|| rayon::join(|| fill(reader, &mut ahead), || state.update(&tile[..len])));
        total += len as u64;
        work.progress.add_bytes(len as u64);
        std::mem::swap(&mut tile, &mut ahead);
        len = read?;
    }
    work.buffers.give(tile);
    work.buffers.give(ahead);
    Ok(Digest { output: state.finish(), len: total })
}

/// Subtrees on helpers, reading here. `first` is full.
fn pipeline(
    work: &Work,
    pool: &ThreadPool,
    mode: Mode<'_>,
    reader: &mut (impl Read + Send),
    first: Buffer,
) -> Result<Digest, Error> {
    let mut tile = work.buffers.take();
    let mut len = fill(reader, &mut tile)?;
    if len == 0 {
        return Ok(whole(work, &first));
    }

    let merger = Mutex::new(Merger::new(mode));
    let (broken, failure) = (AtomicBool::new(false), OnceLock::new());
    let hash_tile = &|index: u64, tile: Buffer, len: usize| {
        let _alarm = Alarm(&broken);
        let value = work
            .go_on()
            .and_then(|()| work.subtree(&mode, index * STREAM_TILE as u64, Seen::of(&tile[..len])));
        match value {
            Ok(value) => lock(&merger).push(index, value),
            Err(error) => {
                broken.store(true, Ordering::Relaxed);
                // Of several, any will do.
                let _ = failure.set(error);
            }
        }
        work.progress.add_bytes(len as u64);
        work.buffers.give(tile);
    };
    let enough = waiting_tiles(pool.current_num_threads());
    let waiting = &work.waiting;
    let mut total = (first.len() + len) as u64;

    let end: io::Result<()> = pool.in_place_scope_fifo(|scope| {
        let hand_over = |index, tile, len| {
            if waiting.load(Ordering::Relaxed) >= enough {
                return hash_tile(index, tile, len);
            }
            let counted = Waiting::one_more(waiting);
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
            // After a panic of a helper, which the scope hands on, or an error: no need to wait for the end of the input.
            if ended || broken.load(Ordering::Relaxed) {
                break;
            }
            tile = work.buffers.take();
            len = fill(reader, &mut tile)?;
            if len == 0 {
                work.buffers.give(tile);
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
    Ok(Digest { output: work.function.root(mode, &left, &right), len: total })
}

/// A tile that waits for a thread, or is in work on one.
struct Waiting<'a>(&'a AtomicUsize);

impl Waiting<'_> {
    fn one_more(count: &AtomicUsize) -> Waiting<'_> {
        count.fetch_add(1, Ordering::Relaxed);
        Waiting(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
