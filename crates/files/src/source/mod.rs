//! Where the bytes of a file's tiles come from.

pub(crate) mod mmap;
pub(crate) mod pread;

use crate::error::Error;
use crate::os;
use crate::rescue::Rescue;
use std::fs::File;

/// A way to get at the bytes of a tile.
pub(crate) trait Source: Sync {
    /// What a thread needs for itself, such as a buffer.
    type Scratch;

    /// Prepares one thread.
    fn scratch(&self) -> Self::Scratch;

    /// Calls `hash` with the `len` bytes at `offset`, and again if what it saw the first time were not all of them.
    ///
    /// The value of `hash` is returned only if what it saw were the bytes of the file, or zeros where the rescue has noted
    /// that they cannot be read.
    fn with<R>(
        &self,
        offset: u64,
        len: usize,
        scratch: &mut Self::Scratch,
        hash: impl Fn(&[u8]) -> R,
    ) -> Result<R, Error>;

    /// Called once when all tiles are hashed: whether the file was the same all the time, as far as can be seen.
    fn check(&self) -> Result<(), Error>;

    /// Takes back what [`scratch`](Source::scratch) prepared.
    fn done(&self, scratch: Self::Scratch);
}

/// Fills `tile` with the bytes at `offset` of a file that reported `len` bytes.
fn read_tile<'a>(
    file: &File,
    len: u64,
    offset: u64,
    tile: &'a mut [u8],
    rescue: &Rescue,
) -> Result<&'a [u8], Error> {
    let found = match os::read_at(file, tile, offset) {
        Err(error) if os::is_of_place(&error) => {
            rescue.fill(tile, offset, |piece, at| os::read_at(file, piece, at))?
        }
        found => found?,
    };
    if found == tile.len() {
        return Ok(tile);
    }
    Err(match file.metadata() {
        Ok(now) if now.len() < len => Error::Shrunk { expected: len, found: now.len() },
        Ok(_) => Error::EndsEarly { reported: len, offset: offset + found as u64 },
        Err(error) => Error::Io(error),
    })
}
