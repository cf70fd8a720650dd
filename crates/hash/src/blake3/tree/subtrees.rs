//! [`Subtrees`]: chaining values of tiles, each computed on the thread that submits it.

use crate::blake3::lanes::Key;
use crate::blake3::mode::Mode;
use crate::blake3::{CHUNK_LEN, Hash, Plan, tree};
use crate::engine::{
    EngineError, Memory, Staging, StagingPool, Stop, Subtree, SubtreeEngine, SubtreeLimits, Tile,
};
use crate::process::PerProcess;
use core::fmt;
use core::time::Duration;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use zeroize::Zeroize;

/// The slowest kernel on a slow processor: bounds the time of a started tile.
const BYTES_PER_MILLISECOND: usize = 200_000;

/// The processor's engine for subtrees. It has no threads of its own: a tile is computed by the thread that
/// submits it.
///
/// It belongs to the process that made it: in a forked child it returns an error.
pub struct Subtrees {
    plan: Plan,
    key: Key,
    limits: SubtreeLimits,
    buffers: StagingPool,
    work: PerProcess<Work>,
}

#[derive(Default)]
struct Work {
    queue: Mutex<Queue>,
    /// Signalled when a tile was finished or abandoned.
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    /// Values not yet taken. Each keeps its buffer, so there are never more of them than buffers.
    done: Vec<(Subtree, Staging)>,
    /// Tiles that are being computed.
    computing: usize,
    /// Number of abandonments: results of tiles that began before the last one are discarded.
    age: u64,
}

impl Subtrees {
    /// An engine for this function, with memory for `in_flight` tiles of at most `tile` bytes.
    ///
    /// # Errors
    /// [`EngineError::InFlight`] for zero; [`EngineError::Tile`] for tiles that are not a power of two of
    /// chunks.
    pub fn new(plan: Plan, mode: &Mode<'_>, tile: usize, in_flight: usize) -> Result<Subtrees, EngineError> {
        let most = u16::MAX.into();
        if !(1..=most).contains(&in_flight) {
            return Err(EngineError::InFlight { given: in_flight, most });
        }
        if !tile.is_power_of_two() || tile < CHUNK_LEN {
            return Err(EngineError::Tile { offset: 0, len: tile, room: tile });
        }
        let latency = Duration::from_millis(1 + (tile / BYTES_PER_MILLISECOND) as u64);
        let mut limits = SubtreeLimits::new(in_flight, tile, latency);
        (limits.batch, limits.in_place) = (1, true);
        let buffers = (0..in_flight).map(|_| Box::new(vec![0_u8; tile]) as Box<dyn Memory>);
        let queue = Queue { done: Vec::with_capacity(in_flight), ..Queue::default() };
        let work = Work { queue: Mutex::new(queue), changed: Condvar::new() };
        Ok(Subtrees {
            plan,
            key: mode.key(),
            limits,
            buffers: StagingPool::new(buffers),
            work: PerProcess::new(work),
        })
    }

    fn work(&self) -> Result<&Work, EngineError> {
        self.work.get().ok_or(EngineError::Forked)
    }

    fn subtree(&self, tile: Tile, bytes: &[u8]) -> Subtree {
        let counter = tile.offset / CHUNK_LEN as u64;
        let words = tree::subtree_cv(self.plan, &self.key, bytes, counter);
        Subtree::new(tile, *Hash::from_words(&words).as_bytes())
    }
}

impl Work {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner)
    }
}

/// A tile that is being computed until this is dropped.
struct Computing<'a> {
    work: &'a Work,
    age: u64,
}

impl<'a> Computing<'a> {
    fn begin(work: &'a Work) -> Computing<'a> {
        let mut queue = work.queue();
        queue.computing += 1;
        Computing { work, age: queue.age }
    }

    fn done(self, subtree: Subtree, staging: Staging) {
        let mut queue = self.work.queue();
        if queue.age == self.age {
            queue.done.push((subtree, staging));
        }
    }
}

impl Drop for Computing<'_> {
    fn drop(&mut self) {
        self.work.queue().computing -= 1;
        self.work.changed.notify_all();
    }
}

impl SubtreeEngine for Subtrees {
    fn name(&self) -> &str {
        self.plan.explain(self.limits.tile).kernel.name()
    }

    fn limits(&self) -> SubtreeLimits {
        self.limits
    }

    fn stage(&self) -> Result<Option<Staging>, EngineError> {
        self.buffers.lend()
    }

    fn submit(&self, staging: Staging, tile: Tile, stop: &Stop) -> Result<(), EngineError> {
        let room = if self.buffers.owns(&staging) { staging.len() } else { 0 };
        tile.check(room)?;
        let computing = Computing::begin(self.work()?);
        if !stop.is_set() {
            let subtree = self.subtree(tile, &staging[..tile.len]);
            computing.done(subtree, staging);
        }
        Ok(())
    }

    fn take(&self, stop: &Stop) -> Result<Option<Subtree>, EngineError> {
        let work = self.work()?;
        let mut queue = work.queue();
        while !stop.is_set() {
            let done = queue.done.pop();
            if let Some((subtree, staging)) = done {
                // The queue's lock is released first: returning the buffer takes another lock.
                drop(queue);
                drop(staging);
                return Ok(Some(subtree));
            }
            if queue.computing == 0 {
                break;
            }
            queue = work.wait(queue);
        }
        Ok(None)
    }

    fn abandon(&self) -> Result<(), EngineError> {
        let work = self.work()?;
        let mut queue = work.queue();
        queue.age += 1;
        queue.done.clear();
        while queue.computing > 0 {
            queue = work.wait(queue);
        }
        Ok(())
    }

    fn compute(&self, tile: Tile, bytes: &[u8]) -> Result<Subtree, EngineError> {
        tile.check(bytes.len())?;
        Ok(self.subtree(tile, &bytes[..tile.len]))
    }
}

impl fmt::Debug for Subtrees {
    /// Omits the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subtrees")
            .field("plan", &self.plan)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Drop for Subtrees {
    fn drop(&mut self) {
        self.key.words.zeroize();
    }
}
