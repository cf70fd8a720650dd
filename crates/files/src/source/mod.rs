//! Where the bytes of a file's tiles come from.

pub(crate) mod mmap;
pub(crate) mod pread;

use crate::engine::Engine;
use crate::error::Error;
use crate::input::Input;
use crate::os;
use crate::rescue::Rescue;
use hashmill_hash::engine::Staging;

/// The bytes of a tile.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) bytes: &'a [u8],
    /// The memory that they lie in from its beginning on, if that was lent by the engine.
    pub(crate) lent: Option<&'a Staging>,
}

impl<'a> Seen<'a> {
    /// Bytes that lie anywhere.
    pub(crate) fn of(bytes: &'a [u8]) -> Seen<'a> {
        Seen { bytes, lent: None }
    }
}

/// A way to get at the bytes of a tile.
pub(crate) trait Source: Sync {
    /// What a thread needs for itself, such as a buffer.
    type Scratch;

    /// Prepares one thread, which hands its tiles to this engine.
    fn scratch(&self, engine: Option<&Engine>) -> Result<Self::Scratch, Error>;

    /// Calls `hash` with the `len` bytes at `offset`, and again if what it saw the first time were not all of them.
    ///
    /// The value of `hash` is returned only if what it saw were the bytes of the file, or zeros where the rescue has noted
    /// that they cannot be read.
    fn with<R>(
        &self,
        offset: u64,
        len: usize,
        scratch: &mut Self::Scratch,
        hash: impl Fn(Seen<'_>) -> R,
    ) -> Result<R, Error>;

    /// Called once when all tiles are hashed: whether the file was the same all the time, as far as can be seen.
    fn check(&self) -> Result<(), Error>;

    /// Takes back what [`scratch`](Source::scratch) prepared.
    fn done(&self, scratch: Self::Scratch);
}

/// Reads the `tile` bytes at `offset` of a file that reported `len` bytes to the beginning of `room`.
fn read_tile(
    input: &Input<'_>,
    len: u64,
    offset: u64,
    room: &mut [u8],
    tile: usize,
    rescue: &Rescue,
) -> Result<(), Error> {
    let found = match input.read_at(room, tile, offset) {
        Err(error) if os::is_of_place(&error) => {
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
