//! [`Subtrees`]: the engine for tiles of files.

use super::blake3::{Blake3, Piece};
use super::device::Device;
use super::driver::Source;
use crate::Error;
use crate::subtrees::{Engine, Slots, check, delegate};
use hashmill_hash::blake3::hazmat::{ChainingValue, Mode};
use hashmill_hash::engine::{
    EngineError, Memory, Staging, StagingPool, Stop, Subtree, SubtreeEngine, SubtreeLimits, Tile,
};
use std::fmt;
use std::time::Duration;

/// A device's engine for subtrees. Memory that it lends is fetched by the device itself; tiles that lie elsewhere are copied into
/// such memory, piece by piece. Several are under way at the same time.
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
    /// the device has, both as [`Error::Engine`]; [`Error::OutOfMemory`]; [`Error::SelfTest`]; what the driver says.
    pub fn new(device: &Device, mode: &Mode<'_>, tile: usize, in_flight: usize) -> Result<Subtrees, Error> {
        check(tile, in_flight, device.info().binding)?;
        let blake3 = Blake3::untested(device, mode)?;
        let (mut buffers, mut staged, mut free) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..in_flight {
            let memory = device.context().pinned(tile)?;
            // What is lent needs no other memory on the way.
            staged.push(Slot { piece: Piece::new(device, tile)?, lent: Some(memory.source()) });
            free.push(Slot { piece: Piece::new(device, tile)?, lent: None });
            buffers.push(Box::new(memory) as Box<dyn Memory>);
        }
        let memory = (StagingPool::new(buffers), staged, free);
        Ok(Subtrees(Engine::new(Work { blake3 }, &device.info().name, mode, tile, memory)?))
    }
}

struct Work {
    blake3: Blake3,
}

/// Memory for one tile.
struct Slot {
    piece: Piece,
    /// The memory that is lent with it.
    lent: Option<Source>,
}

impl Slots for Work {
    type Slot = Slot;
    type Way = ();

    fn begin(&self, slot: &mut Slot, tile: Tile, bytes: &[u8]) -> Result<(), Error> {
        slot.piece.begin(&self.blake3, tile.offset, bytes)
    }

    fn begin_staged(&self, slot: &mut Slot, tile: Tile, bytes: &[u8]) -> Result<(), Error> {
        let Slot { piece, lent: Some(lent) } = slot else { return self.begin(slot, tile, bytes) };
        piece.scratch.stream.upload(&piece.input, 0, lent, bytes.len())?;
        piece.begin_there(&self.blake3, tile.offset, bytes.len())
    }

    fn look(&self, slot: &Slot, (): &(), timeout: Duration) -> Result<bool, Error> {
        slot.piece.scratch.back.look(timeout)
    }

    fn value(&self, slot: &mut Slot, (): &()) -> Result<ChainingValue, Error> {
        slot.piece.take()
    }
}
