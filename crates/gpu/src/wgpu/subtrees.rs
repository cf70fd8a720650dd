//! [`Subtrees`]: the engine for tiles of files.

use super::Device;
use super::blake3::Blake3;
use super::cut::Cut;
use super::guarded::guarded;
use super::scratch::{Scratch, Way, buffer};
use crate::Error;
use ::wgpu::{Buffer, BufferUsages};
use hashmill_hash::blake3::CHUNK_LEN;
use hashmill_hash::blake3::hazmat::{ChainingValue, Mode};
use hashmill_hash::engine::subtrees::self_test;
use hashmill_hash::engine::{
    EngineError, Memory, Staging, StagingPool, Stop, Subtree, SubtreeEngine, SubtreeLimits, Tile,
};
use hashmill_hash::process::PerProcess;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How soon a request to stop is seen by a thread that waits for the device.
const STOP: Duration = Duration::from_millis(5);

/// A software device on a slow processor: what a tile that was handed over may still take.
const BYTES_PER_MILLISECOND: usize = 100_000;

/// A device's engine for subtrees. Tiles are copied into its memory; several are under way at the same time.
///
/// It belongs to the process that made it: a forked child is refused.
pub struct Subtrees {
    blake3: Blake3,
    name: String,
    limits: SubtreeLimits,
    buffers: StagingPool,
    work: PerProcess<Work>,
}

struct Work {
    /// Memory on the device for each of the buffers that are lent, by their numbers.
    staged: Vec<Slot>,
    /// The same for tiles that are computed where they lie, as far as nobody has it.
    free: Mutex<Vec<Slot>>,
    freed: Condvar,
    under_way: Mutex<UnderWay>,
    /// Something was put under way, or taken.
    changed: Condvar,
    /// What ended everything.
    end: OnceLock<EngineError>,
}

/// Memory on the device for one tile.
struct Slot {
    input: Buffer,
    scratch: Scratch,
}

#[derive(Default)]
struct UnderWay {
    /// The first is the oldest.
    tiles: VecDeque<(Tile, Way, Staging)>,
    /// How many of them threads look after now.
    looking: usize,
}

impl Subtrees {
    /// An engine for this function, with memory for `in_flight` tiles of at most `tile` bytes, and as much again for tiles
    /// that are computed where they lie. It is asked for known values.
    ///
    /// # Errors
    /// [`EngineError::InFlight`] for none, and [`EngineError::Tile`] for tiles that are no power of two of chunks or more than
    /// the device binds, both as [`Error::Engine`]; [`Error::OutOfMemory`]; [`Error::SelfTest`]; what the driver says.
    pub fn new(device: &Device, mode: &Mode<'_>, tile: usize, in_flight: usize) -> Result<Subtrees, Error> {
        let most = 1024;
        if !(1..=most).contains(&in_flight) {
            return Err(EngineError::InFlight { given: in_flight, most }.into());
        }
        let room = device.info().binding.min(1 << 30) as usize;
        if !tile.is_power_of_two() || !(CHUNK_LEN..=room).contains(&tile) {
            return Err(EngineError::Tile { offset: 0, len: tile, room }.into());
        }
        let blake3 = Blake3::untested(device, mode)?;
        let slots = || (0..in_flight).map(|_| Slot::new(&blake3, tile)).collect::<Result<Vec<_>, _>>();
        let (staged, free) = (slots()?, Mutex::new(slots()?));
        let buffers = (0..in_flight).map(|_| Box::new(vec![0_u8; tile]) as Box<dyn Memory>);
        // What was handed over is not broken off: at worst a slow device ends a tile.
        let latency = Duration::from_millis(1 + (tile / BYTES_PER_MILLISECOND) as u64);
        let mut limits = SubtreeLimits::new(in_flight, tile, latency);
        limits.memory *= 3;
        let work = Work {
            staged,
            free,
            freed: Condvar::new(),
            under_way: Mutex::default(),
            changed: Condvar::new(),
            end: OnceLock::new(),
        };
        let name = device.info().name.clone();
        let (buffers, work) = (StagingPool::new(buffers), PerProcess::new(work));
        let engine = Subtrees { blake3, name, limits, buffers, work };
        self_test(&engine, mode)?;
        Ok(engine)
    }

    fn work(&self) -> Result<&Work, EngineError> {
        let work = self.work.get().ok_or(EngineError::Forked)?;
        work.end.get().map_or(Ok(work), |end| Err(end.clone()))
    }

    fn begin(&self, slot: &Slot, tile: Tile, bytes: &[u8]) -> Result<Way, Error> {
        let (device, queue) = self.blake3.device().raw();
        // Copies are of whole words.
        let (words, rest) = bytes.as_chunks::<4>();
        guarded(device, 0, || {
            queue.write_buffer(&slot.input, 0, words.as_flattened());
            if !rest.is_empty() {
                let mut last = [0; 4];
                last[..rest.len()].copy_from_slice(rest);
                queue.write_buffer(&slot.input, (words.len() * 4) as u64, &last);
            }
        })?;
        let cut = Cut::subtree(tile.len as u64, self.limits.tile as u64);
        let kernels = self.blake3.device().kernels()?;
        let counter = tile.offset / CHUNK_LEN as u64;
        slot.scratch.begin(kernels, self.blake3.params(), (&slot.input, 0), cut, counter)
    }
}

impl Slot {
    fn new(blake3: &Blake3, tile: usize) -> Result<Slot, Error> {
        let (device, _) = blake3.device().raw();
        let tile = tile as u64;
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let input = guarded(device, tile, || buffer(device, tile, usage))?;
        Ok(Slot { input, scratch: blake3.new_scratch(Cut::subtree(tile, tile))? })
    }

    /// What has come back, or will.
    fn value(&self, way: &Way) -> Result<ChainingValue, Error> {
        match self.scratch.take(way)?[..] {
            [value] => Ok(value),
            _ => Err(Error::Driver { reason: "another number of values than was asked for".to_owned() }),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Work {
    /// Passes an answer on. A device that is gone does not come back: from then on everybody hears so.
    fn heard<T>(&self, answer: Result<T, Error>) -> Result<T, EngineError> {
        answer.map_err(|error| {
            let gone = error == Error::Lost;
            let error = EngineError::from(error);
            if gone {
                // The first who noticed has said the same.
                let _ = self.end.set(error.clone());
            }
            error
        })
    }

    /// Waits for memory on the device.
    fn slot(&self) -> Lent<'_> {
        let mut free = lock(&self.free);
        loop {
            match free.pop() {
                Some(slot) => return Lent { slot: Some(slot), work: self },
                None => free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Takes the oldest tile out, to look after it.
    fn oldest<'a>(&'a self, stop: &Stop) -> Option<Looking<'a>> {
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
struct Lent<'a> {
    /// Taken only when dropped.
    slot: Option<Slot>,
    work: &'a Work,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        lock(&self.work.free).extend(self.slot.take());
        self.work.freed.notify_one();
    }
}

/// A tile that a thread looks after. It goes back to the others unless it was taken.
struct Looking<'a> {
    work: &'a Work,
    tile: Option<(Tile, Way, Staging)>,
}

impl Drop for Looking<'_> {
    fn drop(&mut self) {
        let mut under_way = lock(&self.work.under_way);
        under_way.looking -= 1;
        if let Some(tile) = self.tile.take() {
            under_way.tiles.push_front(tile);
        }
        self.work.changed.notify_all();
    }
}

impl SubtreeEngine for Subtrees {
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
            let slot = &work.staged[staging.number()];
            let way = work.heard(self.begin(slot, tile, &staging[..tile.len]))?;
            lock(&work.under_way).tiles.push_back((tile, way, staging));
            work.changed.notify_all();
        }
        Ok(())
    }

    fn take(&self, stop: &Stop) -> Result<Option<Subtree>, EngineError> {
        let work = self.work()?;
        let (device, _) = self.blake3.device().raw();
        while let Some(mut looking) = work.oldest(stop) {
            let there = looking.tile.as_ref().map(|(_, way, _)| way.look(device, STOP)).transpose();
            if work.heard(there)? == Some(true)
                && let Some((tile, way, staging)) = looking.tile.take()
            {
                let value = work.heard(work.staged[staging.number()].value(&way))?;
                return Ok(Some(Subtree::new(tile, value)));
            }
        }
        Ok(None)
    }

    fn abandon(&self) -> Result<(), EngineError> {
        let (work, never) = (self.work()?, Stop::new());
        while let Some(mut looking) = work.oldest(&never) {
            if let Some((_, way, staging)) = looking.tile.take() {
                work.heard(work.staged[staging.number()].value(&way))?;
            }
        }
        Ok(())
    }

    fn compute(&self, tile: Tile, bytes: &[u8]) -> Result<Subtree, EngineError> {
        let work = self.work()?;
        tile.check(bytes.len().min(self.limits.tile))?;
        let lent = work.slot();
        let slot = lent.slot.as_ref().expect("taken only when dropped");
        let value = self.begin(slot, tile, &bytes[..tile.len]).and_then(|way| slot.value(&way));
        Ok(Subtree::new(tile, work.heard(value)?))
    }
}

impl fmt::Debug for Subtrees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Subtrees");
        out.field("blake3", &self.blake3).field("limits", &self.limits).finish_non_exhaustive()
    }
}
