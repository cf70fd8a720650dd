//! Source that reads tiles at their offsets: into memory of the engine, or into a buffer per thread that
//! stays in that thread's cache.

use super::{Source, read_tile};
use crate::context::engine::Engine;
use crate::context::pool::{Buffer, Buffers};
use crate::context::tile_bytes::TileBytes;
use crate::error::Error;
use crate::read::input::Input;
use crate::read::plan::SMALLEST_TILE;
use crate::read::rescue::Rescue;
use hashmill_hash::engine::Staging;

pub(crate) struct Pread<'a> {
    input: Input<'a>,
    len: u64,
    tile: usize,
    buffers: &'a Buffers,
    rescue: &'a Rescue,
}

impl<'a> Pread<'a> {
    /// A file of `len` bytes, read in tiles of `tile` bytes.
    pub(crate) fn new(
        input: Input<'a>,
        len: u64,
        tile: usize,
        buffers: &'a Buffers,
        rescue: &'a Rescue,
    ) -> Pread<'a> {
        // A small file needs no long buffer.
        let tile = len.next_multiple_of(SMALLEST_TILE as u64).min(tile as u64) as usize;
        Pread { input, len, tile, buffers, rescue }
    }
}

/// Memory for the tiles of a thread.
pub(crate) enum TileBuffer {
    /// Memory of the engine: a device copies from it.
    Leased(Staging),
    Pooled(Buffer),
    /// For tiles longer than pooled buffers.
    Long(Buffer),
}

impl TileBuffer {
    fn bytes(&mut self) -> &mut [u8] {
        match self {
            TileBuffer::Leased(staging) => staging,
            TileBuffer::Pooled(buffer) | TileBuffer::Long(buffer) => buffer,
        }
    }

    /// The first `len` bytes.
    fn prefix(&self, len: usize) -> TileBytes<'_> {
        match self {
            TileBuffer::Leased(staging) => TileBytes { bytes: &staging[..len], staging: Some(staging) },
            TileBuffer::Pooled(buffer) | TileBuffer::Long(buffer) => TileBytes::from_slice(&buffer[..len]),
        }
    }
}

impl Source for Pread<'_> {
    type Scratch = TileBuffer;

    fn scratch(&self, engine: Option<&Engine>) -> Result<TileBuffer, Error> {
        let staging = engine.map_or(Ok(None), Engine::stage)?;
        // Its alignment is not guaranteed.
        if let Some(staging) =
            staging.filter(|staging| staging.len() >= self.tile && self.input.suits(staging))
        {
            return Ok(TileBuffer::Leased(staging));
        }
        Ok(if self.tile <= self.buffers.size() {
            TileBuffer::Pooled(self.buffers.take())
        } else {
            TileBuffer::Long(Buffer::new(self.tile))
        })
    }

    fn with<R>(
        &self,
        offset: u64,
        len: usize,
        scratch: &mut TileBuffer,
        hash: impl Fn(TileBytes<'_>) -> R,
    ) -> Result<R, Error> {
        read_tile(&self.input, self.len, offset, scratch.bytes(), len, self.rescue)?;
        Ok(hash(scratch.prefix(len)))
    }

    fn check(&self) -> Result<(), Error> {
        // Every read reported its length.
        Ok(())
    }

    fn done(&self, scratch: TileBuffer) {
        if let TileBuffer::Pooled(buffer) = scratch {
            self.buffers.give(buffer);
        }
    }
}
