//! Tiles of files on any device: which of them are under way, in whose memory, and who looks after them.

use crate::Error;
use crate::blake3::{TREE, known};
use hashmill_hash::blake3::hazmat::{ChainingValue, HasherExt as _, Mode};
use hashmill_hash::blake3::{CHUNK_LEN, Hasher};
use hashmill_hash::engine::subtrees::self_test;
use hashmill_hash::engine::{
    EngineError, Staging, StagingPool, Stop, Subtree, SubtreeEngine, SubtreeLimits, Tile,
};
use hashmill_hash::process::PerProcess;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// A device that computes one tile in a slot.
pub(crate) trait Slots: Send + Sync {
    /// Memory on the device for one tile.
    type Slot: Send;
    /// A value on its way back.
    type Way: Send;

    /// Begins to compute a tile of these bytes.
    fn begin(&self, slot: &mut Self::Slot, tile: Tile, bytes: &[u8]) -> Result<Self::Way, Error>;

    /// The same, of bytes that lie in the memory that was lent with this slot.
    fn begin_staged(&self, slot: &mut Self::Slot, tile: Tile, bytes: &[u8]) -> Result<Self::Way, Error>;

    /// Whether the value is there, after waiting so long at most.
    fn look(&self, slot: &Self::Slot, way: &Self::Way, timeout: Duration) -> Result<bool, Error>;

    /// The value, which is there or will be.
    fn value(&self, slot: &mut Self::Slot, way: &Self::Way) -> Result<ChainingValue, Error>;
}

/// How soon a request to stop is seen by a thread that waits for the device.
const STOP: Duration = Duration::from_millis(5);

/// A software device on a slow processor: what a tile that was handed over may still take.
const BYTES_PER_MILLISECOND: usize = 100_000;

/// An engine of such a device. It belongs to the process that made it: a forked child is refused.
pub(crate) struct Engine<S: Slots> {
    slots: S,
    name: String,
    limits: SubtreeLimits,
    buffers: StagingPool,
    work: PerProcess<Work<S>>,
}

struct Work<S: Slots> {
    /// Memory on the device for each of the buffers that are lent, by their numbers.
    staged: Vec<Mutex<S::Slot>>,
    /// The same for tiles that are computed where they lie, as far as nobody has it.
    free: Mutex<Vec<S::Slot>>,
    freed: Condvar,
    under_way: Mutex<UnderWay<S::Way>>,
    /// Something was put under way, or taken.
    changed: Condvar,
    /// What ended everything.
    end: OnceLock<EngineError>,
}

struct UnderWay<W> {
    /// The first is the oldest.
    tiles: VecDeque<(Tile, W, Staging)>,
    /// How many of them threads look after now.
    looking: usize,
}

/// Refuses a number of tiles, or a length of them, that no engine can have on a device that takes so many bytes together.
pub(crate) fn check(tile: usize, in_flight: usize, room: u64) -> Result<(), Error> {
    let most = 1024;
    if !(1..=most).contains(&in_flight) {
        return Err(EngineError::InFlight { given: in_flight, most }.into());
    }
    let room = room.min(1 << 30) as usize;
    if !tile.is_power_of_two() || !(CHUNK_LEN..=room).contains(&tile) {
        return Err(EngineError::Tile { offset: 0, len: tile, room }.into());
    }
    Ok(())
}

impl<S: Slots> Engine<S> {
    /// With memory for tiles that are lent, as many as there are buffers, and for others, which are computed where they lie. It is
    /// asked for known values.
    pub(crate) fn new(
        slots: S,
        name: &str,
        mode: &Mode<'_>,
        tile: usize,
        (buffers, staged, free): (StagingPool, Vec<S::Slot>, Vec<S::Slot>),
    ) -> Result<Engine<S>, Error> {
        // What was handed over is not broken off: at worst a slow device ends a tile.
        let latency = Duration::from_millis(1 + (tile / BYTES_PER_MILLISECOND) as u64);
        let mut limits = SubtreeLimits::new(staged.len(), tile, latency);
        limits.memory *= 3;
        let work = Work {
            staged: staged.into_iter().map(Mutex::new).collect(),
            free: Mutex::new(free),
            freed: Condvar::new(),
            under_way: Mutex::new(UnderWay { tiles: VecDeque::new(), looking: 0 }),
            changed: Condvar::new(),
            end: OnceLock::new(),
        };
        let engine = Engine { slots, name: name.to_owned(), limits, buffers, work: PerProcess::new(work) };
        self_test(&engine, mode)?;
        engine.large_test(mode)?;
        Ok(engine)
    }

    /// Asks for a tile that is larger than those that every engine is asked for, where tiles may be.
    fn large_test(&self, mode: &Mode<'_>) -> Result<(), EngineError> {
        let bytes = known(TREE.min(self.limits.tile));
        let right = Hasher::with_mode(mode).update(&bytes).finalize_non_root();
        let subtree = self.compute(Tile::new(0, 0, bytes.len()), &bytes)?;
        if subtree.value == right { Ok(()) } else { Err(EngineError::SelfTest { engine: self.name.clone() }) }
    }

    fn work(&self) -> Result<&Work<S>, EngineError> {
        let work = self.work.get().ok_or(EngineError::Forked)?;
        work.end.get().map_or(Ok(work), |end| Err(end.clone()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: Slots> Work<S> {
    /// Passes an answer on. A device that is gone does not come back: from then on everybody hears so.
    fn heard<T>(&self, answer: Result<T, Error>) -> Result<T, EngineError> {
        answer.map_err(|error| {
            let gone = error.is_lost();
            let error = EngineError::from(error);
            if gone {
                // The first who noticed has said the same.
                let _ = self.end.set(error.clone());
            }
            error
        })
    }

    /// Waits for memory on the device.
    fn slot(&self) -> Lent<'_, S> {
        let mut free = lock(&self.free);
        loop {
            match free.pop() {
                Some(slot) => return Lent { slot: Some(slot), work: self },
                None => free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Takes the oldest tile out, to look after it.
    fn oldest<'a>(&'a self, stop: &Stop) -> Option<Looking<'a, S>> {
        let mut under_way = lock(&self.under_way);
        while !stop.is_set() {
            if let Some(tile) = under_way.tiles.pop_front() {
                under_way.looking += 1;
                return Some(Looking { work: self, tile: Some(tile) });
            }
            if under_way.looking == 0 {
                break;
            }
            // Who sets `stop` tells nobody.
            under_way = self.changed.wait_timeout(under_way, STOP).unwrap_or_else(PoisonError::into_inner).0;
        }
        None
    }
}

/// A slot that goes back whatever becomes of its tile.
struct Lent<'a, S: Slots> {
    /// Taken only when dropped.
    slot: Option<S::Slot>,
    work: &'a Work<S>,
}

impl<S: Slots> Drop for Lent<'_, S> {
    fn drop(&mut self) {
        lock(&self.work.free).extend(self.slot.take());
        self.work.freed.notify_one();
    }
}

/// A tile that a thread looks after. It goes back to the others unless it was taken.
struct Looking<'a, S: Slots> {
    work: &'a Work<S>,
    tile: Option<(Tile, S::Way, Staging)>,
}

impl<S: Slots> Drop for Looking<'_, S> {
    fn drop(&mut self) {
        let mut under_way = lock(&self.work.under_way);
        under_way.looking -= 1;
        if let Some(tile) = self.tile.take() {
            under_way.tiles.push_front(tile);
        }
        self.work.changed.notify_all();
    }
}

impl<S: Slots> SubtreeEngine for Engine<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn limits(&self) -> SubtreeLimits {
        self.limits
    }

    fn stage(&self) -> Result<Option<Staging>, EngineError> {
        self.work()?;
        self.buffers.lend()
    }

    fn submit(&self, staging: Staging, tile: Tile, stop: &Stop) -> Result<(), EngineError> {
        let work = self.work()?;
        let room = if self.buffers.owns(&staging) { staging.len() } else { 0 };
        tile.check(room)?;
        if !stop.is_set() {
            let begun = {
                let mut slot = lock(&work.staged[staging.number()]);
                self.slots.begin_staged(&mut slot, tile, &staging[..tile.len])
            };
            let way = work.heard(begun)?;
            lock(&work.under_way).tiles.push_back((tile, way, staging));
            work.changed.notify_all();
        }
        Ok(())
    }

    fn take(&self, stop: &Stop) -> Result<Option<Subtree>, EngineError> {
        let work = self.work()?;
        while let Some(mut looking) = work.oldest(stop) {
            let look = |(_, way, staging): &(Tile, S::Way, Staging)| {
                self.slots.look(&lock(&work.staged[staging.number()]), way, STOP)
            };
            let there = looking.tile.as_ref().map(look).transpose();
            if work.heard(there)? == Some(true)
                && let Some((tile, way, staging)) = looking.tile.take()
            {
                let value = self.slots.value(&mut lock(&work.staged[staging.number()]), &way);
                let value = work.heard(value)?;
                return Ok(Some(Subtree::new(tile, value)));
            }
        }
        Ok(None)
    }

    fn abandon(&self) -> Result<(), EngineError> {
        let (work, never) = (self.work()?, Stop::new());
        while let Some(mut looking) = work.oldest(&never) {
            if let Some((_, way, staging)) = looking.tile.take() {
                let value = self.slots.value(&mut lock(&work.staged[staging.number()]), &way);
                work.heard(value)?;
            }
        }
        Ok(())
    }

    fn compute_staged(&self, staging: &Staging, tile: Tile) -> Result<Subtree, EngineError> {
        let work = self.work()?;
        tile.check(if self.buffers.owns(staging) { staging.len() } else { 0 })?;
        let mut slot = lock(&work.staged[staging.number()]);
        let way = self.slots.begin_staged(&mut slot, tile, &staging[..tile.len]);
        let value = way.and_then(|way| self.slots.value(&mut slot, &way));
        Ok(Subtree::new(tile, work.heard(value)?))
    }

    fn compute(&self, tile: Tile, bytes: &[u8]) -> Result<Subtree, EngineError> {
        let work = self.work()?;
        tile.check(bytes.len().min(self.limits.tile))?;
        let mut lent = work.slot();
        let slot = lent.slot.as_mut().expect("taken only when dropped");
        let way = self.slots.begin(slot, tile, &bytes[..tile.len]);
        let value = way.and_then(|way| self.slots.value(slot, &way));
        Ok(Subtree::new(tile, work.heard(value)?))
    }
}

/// Gives a public type the engine that is its first field.
macro_rules! delegate {
    ($engine:ty) => {
        impl SubtreeEngine for $engine {
            fn name(&self) -> &str {
                self.0.name()
            }

            fn limits(&self) -> SubtreeLimits {
                self.0.limits()
            }

            fn stage(&self) -> Result<Option<Staging>, EngineError> {
                self.0.stage()
            }

            fn submit(&self, staging: Staging, tile: Tile, stop: &Stop) -> Result<(), EngineError> {
                self.0.submit(staging, tile, stop)
            }

            fn take(&self, stop: &Stop) -> Result<Option<Subtree>, EngineError> {
                self.0.take(stop)
            }

            fn abandon(&self) -> Result<(), EngineError> {
                self.0.abandon()
            }

            fn compute(&self, tile: Tile, bytes: &[u8]) -> Result<Subtree, EngineError> {
                self.0.compute(tile, bytes)
            }

            fn compute_staged(&self, staging: &Staging, tile: Tile) -> Result<Subtree, EngineError> {
                self.0.compute_staged(staging, tile)
            }
        }

        impl fmt::Debug for $engine {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut out = f.debug_struct("Subtrees");
                out.field("device", &self.name()).field("limits", &self.limits()).finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use delegate;
