//! Bytes of a tile, with the engine memory that holds them.

use hashmill_hash::engine::Staging;

/// The bytes of a tile.
#[derive(Clone, Copy)]
pub(crate) struct TileBytes<'a> {
    pub(crate) bytes: &'a [u8],
    /// The engine's memory that starts with these bytes, if it is the engine's.
    pub(crate) staging: Option<&'a Staging>,
}

impl<'a> TileBytes<'a> {
    /// Bytes in any memory.
    pub(crate) fn from_slice(bytes: &'a [u8]) -> TileBytes<'a> {
        TileBytes { bytes, staging: None }
    }
}
