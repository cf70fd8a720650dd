//! Sources of tiles of a file.

pub(crate) mod mmap;
pub(crate) mod pread;

use crate::context::engine::Engine;
use crate::context::tile_bytes::TileBytes;
use crate::error::Error;
use crate::os;
use crate::read::input::Input;
use crate::read::rescue::Rescue;

/// Source of the bytes of a tile.
pub(crate) trait Source: Sync {
    /// State of one thread, such as a buffer.
    type Scratch;

    /// Prepares a thread that passes its tiles to this engine.
    fn scratch(&self, engine: Option<&Engine>) -> Result<Self::Scratch, Error>;

    /// Calls `hash` with the `len` bytes at `offset`, and again if the bytes of the first call were
    /// incomplete.
    ///
    /// The value of `hash` is returned only for bytes of the file, or for zeros where the rescue has recorded
    /// unreadable bytes.
    fn with<R>(
        &self,
        offset: u64,
        len: usize,
        scratch: &mut Self::Scratch,
        hash: impl Fn(TileBytes<'_>) -> R,
    ) -> Result<R, Error>;

    /// Called once when all tiles are hashed: an error if the file has changed, as far as can be seen.
    fn check(&self) -> Result<(), Error>;

    /// Releases the state of [`scratch`](Source::scratch).
    fn done(&self, scratch: Self::Scratch);
}

/// Reads the `tile` bytes at `offset` of a file of reported length `len` to the start of `room`.
fn read_tile(
    input: &Input<'_>,
    len: u64,
    offset: u64,
    room: &mut [u8],
    tile: usize,
    rescue: &Rescue,
) -> Result<(), Error> {
    let found = match input.read_at(room, tile, offset) {
        Err(error) if os::is_media_error(&error) => {
            rescue.fill(&mut room[..tile], offset, |piece, at| os::read_at(input.file(), piece, at))?
        }
        found => found?,
    };
    if found == tile {
        return Ok(());
    }
    Err(match input.file().metadata() {
        Ok(now) if now.len() < len => Error::Shrunk { expected: len, found: now.len() },
        Ok(_) => Error::EndsEarly { reported: len, offset: offset + found as u64 },
        Err(error) => Error::Io(error),
    })
}
