//! [`Subtrees`]: the engine for tiles of files.

use super::Device;
use super::blake3::Blake3;
use super::guarded::guarded;
use super::scratch::{Scratch, Way, buffer};
use crate::Error;
use crate::cut::Cut;
use crate::subtrees::{Engine, Slots, check, delegate};
use ::wgpu::{Buffer, BufferUsages};
use hashmill_hash::blake3::CHUNK_LEN;
use hashmill_hash::blake3::hazmat::{ChainingValue, Mode};
use hashmill_hash::engine::{
    EngineError, Memory, Staging, StagingPool, Stop, Subtree, SubtreeEngine, SubtreeLimits, Tile,
};
use std::fmt;
use std::time::Duration;

/// A device's engine for subtrees. Tiles are copied into its memory; several are under way at the same time.
///
/// It belongs to the process that made it: a forked child is refused.
pub struct Subtrees(Engine<Work>);

delegate!(Subtrees);

impl Subtrees {
    /// An engine for this function, with memory for `in_flight` tiles of at most `tile` bytes, and as much again for tiles
    /// that are computed where they lie. It is asked for known values.
    ///
    /// # Errors
    /// [`EngineError::InFlight`] for none, and [`EngineError::Tile`] for tiles that are no power of two of chunks or more than
    /// the device binds, both as [`Error::Engine`]; [`Error::OutOfMemory`]; [`Error::SelfTest`]; what the driver says.
    pub fn new(device: &Device, mode: &Mode<'_>, tile: usize, in_flight: usize) -> Result<Subtrees, Error> {
        check(tile, in_flight, device.info().binding)?;
        let blake3 = Blake3::untested(device, mode)?;
        let slots = || (0..in_flight).map(|_| Slot::new(&blake3, tile)).collect::<Result<Vec<_>, _>>();
        let (staged, free) = (slots()?, slots()?);
        let buffers = (0..in_flight).map(|_| Box::new(vec![0_u8; tile]) as Box<dyn Memory>);
        let memory = (StagingPool::new(buffers), staged, free);
        Ok(Subtrees(Engine::new(Work { blake3, tile }, &device.info().name, mode, tile, memory)?))
    }
}

struct Work {
    blake3: Blake3,
    /// Bytes of the largest tile.
    tile: usize,
}

/// Memory on the device for one tile.
struct Slot {
    input: Buffer,
    scratch: Scratch,
}

impl Slot {
    fn new(blake3: &Blake3, tile: usize) -> Result<Slot, Error> {
        let (device, _) = blake3.device().raw();
        let tile = tile as u64;
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let input = guarded(device, tile, || buffer(device, tile, usage))?;
        Ok(Slot { input, scratch: blake3.new_scratch(Cut::subtree(tile, tile))? })
    }
}

impl Slots for Work {
    type Slot = Slot;
    type Way = Way;

    fn begin(&self, slot: &mut Slot, tile: Tile, bytes: &[u8]) -> Result<Way, Error> {
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
        let cut = Cut::subtree(tile.len as u64, self.tile as u64);
        let kernels = self.blake3.device().kernels()?;
        let counter = tile.offset / CHUNK_LEN as u64;
        slot.scratch.begin(kernels, self.blake3.params(), (&slot.input, 0), cut, counter)
    }

    /// wgpu copies whatever it is given.
    fn begin_staged(&self, slot: &mut Slot, tile: Tile, bytes: &[u8]) -> Result<Way, Error> {
        self.begin(slot, tile, bytes)
    }

    fn look(&self, _: &Slot, way: &Way, timeout: Duration) -> Result<bool, Error> {
        way.look(self.blake3.device().raw().0, timeout)
    }

    fn value(&self, slot: &mut Slot, way: &Way) -> Result<ChainingValue, Error> {
        match slot.scratch.take(way)?[..] {
            [value] => Ok(value),
            _ => Err(Error::Driver { reason: "another number of values than was asked for".to_owned() }),
        }
    }
}
