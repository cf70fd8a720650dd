//! Tiles of files on any device: their queue, their memory, and the threads that wait for them.

use super::{SELF_TEST_TREE_BYTES, self_test_input};
use crate::Error;
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

/// A device that computes one tile per slot.
pub(crate) trait Slots: Send + Sync {
    /// Memory on the device for one tile.
    type Slot: Send;
    /// A value in transfer to the host.
    type Submission: Send;

    /// Starts to compute a tile of these bytes.
    fn begin(&self, slot: &mut Self::Slot, tile: Tile, bytes: &[u8]) -> Result<Self::Submission, Error>;

    /// As [`begin`](Slots::begin), for bytes in the staging memory of this slot.
    fn begin_staged(
        &self,
        slot: &mut Self::Slot,
        tile: Tile,
        bytes: &[u8],
    ) -> Result<Self::Submission, Error>;

    /// Is the value complete? Waits for at most `timeout`.
    fn is_complete(
        &self,
        slot: &Self::Slot,
        submission: &Self::Submission,
        timeout: Duration,
    ) -> Result<bool, Error>;

    /// Waits for the value and returns it.
    fn value(&self, slot: &mut Self::Slot, submission: &Self::Submission) -> Result<ChainingValue, Error>;
}

/// Polling interval for a stop while a thread waits for the device.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Speed of a software device on a slow processor: bounds the time of a submitted tile.
const BYTES_PER_MILLISECOND: usize = 100_000;

/// The engine of such a device. It belongs to the process that created it: in a forked child it returns an
/// error.
pub(crate) struct Engine<S: Slots> {
    slots: S,
    name: String,
    limits: SubtreeLimits,
    buffers: StagingPool,
    work: PerProcess<Work<S>>,
}

struct Work<S: Slots> {
    /// Memory on the device for each staging buffer, by its number.
    staged: Vec<Mutex<S::Slot>>,
    /// Free device memory for tiles that are computed in place.
    free: Mutex<Vec<S::Slot>>,
    freed: Condvar,
    in_flight: Mutex<InFlight<S::Submission>>,
    /// Signalled when a tile was submitted or taken.
    changed: Condvar,
    /// The first error of the device.
    failure: OnceLock<Error>,
    /// The error that ended all work.
    end: OnceLock<EngineError>,
}

struct InFlight<S> {
    /// The oldest tile first.
    tiles: VecDeque<(Tile, S, Staging)>,
    /// The number of tiles that threads are waiting for now.
    waiting: usize,
}

/// Checks the number of tiles and their length; `binding` is the most bytes that a kernel addresses.
pub(crate) fn check(tile: usize, in_flight: usize, binding: u64) -> Result<(), Error> {
    let most = 1024;
    if !(1..=most).contains(&in_flight) {
        return Err(EngineError::InFlight { given: in_flight, most }.into());
    }
    let room = binding.min(1 << 30) as usize;
    if !tile.is_power_of_two() || !(CHUNK_LEN..=room).contains(&tile) {
        return Err(EngineError::Tile { offset: 0, len: tile, room }.into());
    }
    Ok(())
}

impl<S: Slots> Engine<S> {
    /// Creates an engine with one staged slot per buffer, and free slots for tiles that are computed in place.
    /// Tests it with known values.
    pub(crate) fn new(
        slots: S,
        name: &str,
        mode: &Mode<'_>,
        tile: usize,
        (buffers, staged, free): (StagingPool, Vec<S::Slot>, Vec<S::Slot>),
    ) -> Result<Engine<S>, Error> {
        // Submitted tiles are not cancelled: a stop waits until a slow device has finished a tile.
        let latency = Duration::from_millis(1 + (tile / BYTES_PER_MILLISECOND) as u64);
        let mut limits = SubtreeLimits::new(staged.len(), tile, latency);
        limits.memory *= 3;
        let work = Work {
            staged: staged.into_iter().map(Mutex::new).collect(),
            free: Mutex::new(free),
            freed: Condvar::new(),
            in_flight: Mutex::new(InFlight { tiles: VecDeque::new(), waiting: 0 }),
            changed: Condvar::new(),
            failure: OnceLock::new(),
            end: OnceLock::new(),
        };
        let engine = Engine { slots, name: name.to_owned(), limits, buffers, work: PerProcess::new(work) };
        match self_test(&engine, mode).and_then(|()| engine.large_test(mode)) {
            Ok(()) => Ok(engine),
            // The device's own error names the party at fault.
            Err(error) => Err(engine.failure().unwrap_or_else(|| error.into())),
        }
    }

    fn failure(&self) -> Option<Error> {
        self.work.get()?.failure.get().cloned()
    }

    /// Tests a tile that is larger than those of the common self-test, if the tile size permits.
    fn large_test(&self, mode: &Mode<'_>) -> Result<(), EngineError> {
        let bytes = self_test_input(SELF_TEST_TREE_BYTES.min(self.limits.tile));
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
    /// Converts a result. A lost device does not come back: every later call gets the same error.
    fn check<T>(&self, result: Result<T, Error>) -> Result<T, EngineError> {
        result.map_err(|error| {
            let is_lost = error.is_lost();
            // Another thread may have set its error before.
            let _ = self.failure.set(error.clone());
            let error = EngineError::from(error);
            if is_lost {
                // Another thread may have set the same error before.
                let _ = self.end.set(error.clone());
            }
            error
        })
    }

    /// Waits for free memory on the device.
    fn slot(&self) -> SlotLease<'_, S> {
        let mut free = lock(&self.free);
        loop {
            match free.pop() {
                Some(slot) => return SlotLease { slot: Some(slot), work: self },
                None => free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Removes the oldest tile from the queue, for this thread to wait for.
    fn oldest<'a>(&'a self, stop: &Stop) -> Option<PolledTile<'a, S>> {
        let mut in_flight = lock(&self.in_flight);
        while !stop.is_set() {
            if let Some(tile) = in_flight.tiles.pop_front() {
                in_flight.waiting += 1;
                return Some(PolledTile { work: self, tile: Some(tile) });
            }
            if in_flight.waiting == 0 {
                break;
            }
            // A set `stop` sends no signal, so wait with a timeout.
            in_flight = self
                .changed
                .wait_timeout(in_flight, STOP_POLL_INTERVAL)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        None
    }
}

/// A slot that returns to the free list when this is dropped.
struct SlotLease<'a, S: Slots> {
    /// Taken only on drop.
    slot: Option<S::Slot>,
    work: &'a Work<S>,
}

impl<S: Slots> Drop for SlotLease<'_, S> {
    fn drop(&mut self) {
        lock(&self.work.free).extend(self.slot.take());
        self.work.freed.notify_one();
    }
}

/// A tile that a thread waits for. It returns to the queue unless it was taken.
struct PolledTile<'a, S: Slots> {
    work: &'a Work<S>,
    tile: Option<(Tile, S::Submission, Staging)>,
}

impl<S: Slots> Drop for PolledTile<'_, S> {
    fn drop(&mut self) {
        let mut in_flight = lock(&self.work.in_flight);
        in_flight.waiting -= 1;
        if let Some(tile) = self.tile.take() {
            in_flight.tiles.push_front(tile);
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
            let started = {
                let mut slot = lock(&work.staged[staging.number()]);
                self.slots.begin_staged(&mut slot, tile, &staging[..tile.len])
            };
            let submission = work.check(started)?;
            lock(&work.in_flight).tiles.push_back((tile, submission, staging));
            work.changed.notify_all();
        }
        Ok(())
    }

    fn take(&self, stop: &Stop) -> Result<Option<Subtree>, EngineError> {
        let work = self.work()?;
        while let Some(mut polled) = work.oldest(stop) {
            let poll = |(_, submission, staging): &(Tile, S::Submission, Staging)| {
                self.slots.is_complete(&lock(&work.staged[staging.number()]), submission, STOP_POLL_INTERVAL)
            };
            let is_complete = polled.tile.as_ref().map(poll).transpose();
            if work.check(is_complete)? == Some(true)
                && let Some((tile, submission, staging)) = polled.tile.take()
            {
                let value = self.slots.value(&mut lock(&work.staged[staging.number()]), &submission);
                let value = work.check(value)?;
                return Ok(Some(Subtree::new(tile, value)));
            }
        }
        Ok(None)
    }

    fn abandon(&self) -> Result<(), EngineError> {
        let (work, never) = (self.work()?, Stop::new());
        while let Some(mut polled) = work.oldest(&never) {
            if let Some((_, submission, staging)) = polled.tile.take() {
                let value = self.slots.value(&mut lock(&work.staged[staging.number()]), &submission);
                work.check(value)?;
            }
        }
        Ok(())
    }

    fn compute_staged(&self, staging: &Staging, tile: Tile) -> Result<Subtree, EngineError> {
        let work = self.work()?;
        tile.check(if self.buffers.owns(staging) { staging.len() } else { 0 })?;
        let mut slot = lock(&work.staged[staging.number()]);
        let submission = self.slots.begin_staged(&mut slot, tile, &staging[..tile.len]);
        let value = submission.and_then(|submission| self.slots.value(&mut slot, &submission));
        Ok(Subtree::new(tile, work.check(value)?))
    }

    fn compute(&self, tile: Tile, bytes: &[u8]) -> Result<Subtree, EngineError> {
        let work = self.work()?;
        tile.check(bytes.len().min(self.limits.tile))?;
        let mut lease = work.slot();
        let slot = lease.slot.as_mut().expect("present until the drop");
        let submission = self.slots.begin(slot, tile, &bytes[..tile.len]);
        let value = submission.and_then(|submission| self.slots.value(slot, &submission));
        Ok(Subtree::new(tile, work.check(value)?))
    }
}
