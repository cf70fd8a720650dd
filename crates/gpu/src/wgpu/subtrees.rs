//! Engine for tiles of files by wgpu.

use super::Device;
use super::blake3::{Blake3, Window};
use super::scratch::Readback;
use crate::Error;
use crate::blake3::Params;
use crate::blake3::subtrees::{Engine, Slots};
use hashmill_hash::blake3::hazmat::{ChainingValue, Mode};
use hashmill_hash::engine::{Memory, StagingPool, SubtreeEngine, Tile};
use std::sync::Arc;
use std::time::Duration;

/// An engine with memory for `in_flight` tiles of at most `tile` bytes, and as much again for tiles that are
/// computed in place. wgpu copies the bytes of every tile.
pub(crate) fn subtrees(
    device: &Device,
    mode: &Mode<'_>,
    tile: usize,
    in_flight: usize,
) -> Result<Arc<dyn SubtreeEngine>, Error> {
    let blake3 = Blake3::new(device, Params::new(mode)?)?;
    let slots = || (0..in_flight).map(|_| Window::new(&blake3, tile)).collect::<Result<Vec<_>, _>>();
    let (staged, free) = (slots()?, slots()?);
    let buffers = (0..in_flight).map(|_| Box::new(vec![0_u8; tile]) as Box<dyn Memory>);
    let memory = (StagingPool::new(buffers), staged, free);
    Ok(Arc::new(Engine::new(Work { blake3 }, &device.info().name, mode, tile, memory)?))
}

struct Work {
    blake3: Blake3,
}

impl Slots for Work {
    type Slot = Window;
    type Submission = Readback;

    fn begin(&self, slot: &mut Window, tile: Tile, bytes: &[u8]) -> Result<Readback, Error> {
        slot.begin(&self.blake3, tile.offset, bytes)
    }

    /// Staged tiles are no special case: wgpu copies all bytes.
    fn begin_staged(&self, slot: &mut Window, tile: Tile, bytes: &[u8]) -> Result<Readback, Error> {
        self.begin(slot, tile, bytes)
    }

    fn is_complete(&self, slot: &Window, readback: &Readback, timeout: Duration) -> Result<bool, Error> {
        slot.is_complete(&self.blake3, readback, timeout)
    }

    fn value(&self, slot: &mut Window, readback: &Readback) -> Result<ChainingValue, Error> {
        slot.value(readback)
    }
}
