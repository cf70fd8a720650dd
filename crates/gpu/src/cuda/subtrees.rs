//! Engine for tiles of files by CUDA.

use super::blake3::{Blake3, WindowBuffer};
use super::device::Device;
use super::driver::Source;
use crate::Error;
use crate::blake3::Params;
use crate::blake3::subtrees::{Engine, Slots};
use hashmill_hash::blake3::hazmat::{ChainingValue, Mode};
use hashmill_hash::engine::{Memory, StagingPool, SubtreeEngine, Tile};
use std::sync::Arc;
use std::time::Duration;

/// An engine with memory for `in_flight` tiles of at most `tile` bytes, and as much again for tiles that are computed in
/// place. The device fetches tiles in the engine's staging memory directly; others are copied through pinned memory,
/// piece by piece.
pub(crate) fn subtrees(
    device: &Device,
    mode: &Mode<'_>,
    tile: usize,
    in_flight: usize,
) -> Result<Arc<dyn SubtreeEngine>, Error> {
    let blake3 = Blake3::new(device, Params::new(mode)?);
    let (mut buffers, mut staged, mut free) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..in_flight {
        let memory = device.context().pinned(tile)?;
        // A staged tile is uploaded from its staging memory.
        staged.push(Slot { piece: WindowBuffer::new(device, tile)?, staging: Some(memory.source()) });
        free.push(Slot { piece: WindowBuffer::new(device, tile)?, staging: None });
        buffers.push(Box::new(memory) as Box<dyn Memory>);
    }
    let memory = (StagingPool::new(buffers), staged, free);
    Ok(Arc::new(Engine::new(Work { blake3 }, &device.info().name, mode, tile, memory)?))
}

struct Work {
    blake3: Blake3,
}

/// Memory for one tile.
struct Slot {
    piece: WindowBuffer,
    /// Its staging memory.
    staging: Option<Source>,
}

impl Slots for Work {
    type Slot = Slot;
    type Submission = ();

    fn begin(&self, slot: &mut Slot, tile: Tile, bytes: &[u8]) -> Result<(), Error> {
        slot.piece.begin(&self.blake3, tile.offset, bytes)
    }

    fn begin_staged(&self, slot: &mut Slot, tile: Tile, bytes: &[u8]) -> Result<(), Error> {
        let Slot { piece, staging: Some(staging) } = slot else { return self.begin(slot, tile, bytes) };
        piece.scratch.stream.upload(&piece.input, 0, staging, bytes.len())?;
        piece.begin_uploaded(&self.blake3, tile.offset, bytes.len())
    }

    fn is_complete(&self, slot: &Slot, (): &(), timeout: Duration) -> Result<bool, Error> {
        slot.piece.scratch.values_host.poll(timeout)
    }

    fn value(&self, slot: &mut Slot, (): &()) -> Result<ChainingValue, Error> {
        slot.piece.take()
    }
}
