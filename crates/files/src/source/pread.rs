//! Tiles read at their offsets: into memory that the engine lends, or a buffer per thread that stays in that thread's cache.

use super::{Seen, Source, read_tile};
use crate::engine::Engine;
use crate::error::Error;
use crate::input::Input;
use crate::plan::SMALLEST_TILE;
use crate::pool::{Buffer, Buffers};
use crate::rescue::Rescue;
use hashmill_hash::engine::Staging;

pub(crate) struct Pread<'a> {
    input: Input<'a>,
    len: u64,
    tile: usize,
    buffers: &'a Buffers,
    rescue: &'a Rescue,
}

impl<'a> Pread<'a> {
    /// A file of `len` bytes, of which `tile` are read at once.
    pub(crate) fn new(
        input: Input<'a>,
        len: u64,
        tile: usize,
        buffers: &'a Buffers,
        rescue: &'a Rescue,
    ) -> Pread<'a> {
        // A small file needs no room for a long tile.
        let tile = len.next_multiple_of(SMALLEST_TILE as u64).min(tile as u64) as usize;
        Pread { input, len, tile, buffers, rescue }
    }
}

/// Where the tiles of a thread go.
pub(crate) enum Room {
    /// A device fetches them from there by itself.
    Lent(Staging),
    Kept(Buffer),
    /// For tiles that are longer than the buffers that are kept.
    Long(Buffer),
}

impl Room {
    fn bytes(&mut self) -> &mut [u8] {
        match self {
            Room::Lent(staging) => staging,
            Room::Kept(buffer) | Room::Long(buffer) => buffer,
        }
    }

    /// The first so many bytes.
    fn seen(&self, len: usize) -> Seen<'_> {
        match self {
            Room::Lent(staging) => Seen { bytes: &staging[..len], lent: Some(staging) },
            Room::Kept(buffer) | Room::Long(buffer) => Seen::of(&buffer[..len]),
        }
    }
}

impl Source for Pread<'_> {
    type Scratch = Room;

    fn scratch(&self, engine: Option<&Engine>) -> Result<Room, Error> {
        let lent = engine.map_or(Ok(None), Engine::stage)?;
        // Nobody has promised where that begins.
        if let Some(staging) = lent.filter(|lent| lent.len() >= self.tile && self.input.suits(lent)) {
            return Ok(Room::Lent(staging));
        }
        Ok(if self.tile <= self.buffers.size() {
            Room::Kept(self.buffers.take())
        } else {
            Room::Long(Buffer::new(self.tile))
        })
    }

    fn with<R>(
        &self,
        offset: u64,
        len: usize,
        scratch: &mut Room,
        hash: impl Fn(Seen<'_>) -> R,
    ) -> Result<R, Error> {
        read_tile(&self.input, self.len, offset, scratch.bytes(), len, self.rescue)?;
        Ok(hash(scratch.seen(len)))
    }

    fn check(&self) -> Result<(), Error> {
        // Every byte was read by a call that said so.
        Ok(())
    }

    fn done(&self, scratch: Room) {
        if let Room::Kept(buffer) = scratch {
            self.buffers.give(buffer);
        }
    }
}
