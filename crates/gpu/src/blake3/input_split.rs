//! Division of an input for a device: into windows, each bound to one kernel launch, and tiles, each reduced to one
//! value on the device. Pure arithmetic.

use hashmill_hash::blake3::CHUNK_LEN;
use hashmill_hash::blake3::hazmat::left_subtree_len;
use std::ops::Range;

/// Chunks that a workgroup reduces to one value.
pub(crate) const GROUP_CHUNKS: u64 = 128;

const CHUNK_BYTES: u64 = CHUNK_LEN as u64;

/// The largest tile: its last levels are about twelve successive compressions of one workgroup, and the host merges
/// one value per tile.
const MAX_TILE_BYTES: u64 = 64 << 20;

/// The largest window, even if a device could bind more.
const MAX_WINDOW_BYTES: u64 = 1 << 30;

/// The most groups of a dispatch, and so the most tiles of an input.
const MAX_GROUPS: u64 = 65535;

/// Tiles and windows of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InputSplit {
    pub(crate) len: u64,
    /// Bytes of a tile: a power of two of chunks.
    pub(crate) tile: u64,
    /// Bytes of a window: a multiple of a tile.
    pub(crate) window: u64,
}

impl InputSplit {
    /// Divides an input of more than a chunk, for a device that binds `binding` bytes. There are at least two tiles,
    /// because the host computes the root above the last two values. `None` if there are too many tiles.
    pub(crate) fn for_input(len: u64, binding: u64) -> Option<InputSplit> {
        let max_bytes = 1 << binding.min(MAX_WINDOW_BYTES).checked_ilog2()?;
        let tile = left_subtree_len(len).min(MAX_TILE_BYTES).min(max_bytes);
        // Groups begin at the window's first chunk. Tiles smaller than a group each need a window of their
        // own.
        let window = if tile < GROUP_CHUNKS * CHUNK_BYTES { tile } else { max_bytes };
        let split = InputSplit { len, tile, window };
        (split.tiles() <= MAX_GROUPS).then_some(split)
    }

    /// A subtree that becomes one value.
    pub(crate) fn subtree(len: u64, tile: u64) -> InputSplit {
        InputSplit { len, tile, window: tile }
    }

    pub(crate) fn tiles(self) -> u64 {
        self.len.div_ceil(self.tile)
    }

    /// Values of a tile's row: one for each of its workgroups.
    pub(crate) fn row(self) -> u64 {
        (self.tile / (GROUP_CHUNKS * CHUNK_BYTES)).max(1)
    }

    pub(crate) fn windows(self) -> impl Iterator<Item = Range<u64>> {
        let starts = (0..self.len.div_ceil(self.window)).map(move |index| index * self.window);
        starts.map(move |start| start..self.len.min(start + self.window))
    }

    /// Index of the first value of a window.
    pub(crate) fn first_row(self, start: u64) -> u64 {
        start / self.tile * self.row()
    }
}

/// Chunks of `len` bytes, and bytes of the last of them.
pub(crate) fn chunks(len: u64) -> (u64, u64) {
    let chunks = len.div_ceil(CHUNK_BYTES).max(1);
    (chunks, len - (chunks - 1) * CHUNK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_count_and_length_of_the_last() {
        let expected = [(0, (1, 0)), (1, (1, 1)), (1024, (1, 1024)), (1025, (2, 1)), (2048, (2, 1024))];
        for (len, counted) in expected {
            assert_eq!(chunks(len), counted, "{len}");
        }
    }

    #[test]
    fn tiles_are_subtrees_and_windows_hold_whole_groups() {
        for binding in [1 << 20, (128 << 20) - 1, 128 << 20, 2_147_483_644, 1 << 40] {
            for shift in 10..34 {
                for len in [(1_u64 << shift) + 1, 3 << shift, (1 << (shift + 1)) - 1, 2 << shift] {
                    let split = InputSplit::for_input(len, binding).expect("few enough tiles");
                    let InputSplit { tile, window, .. } = split;
                    let what = format!("{len} of {binding}: {split:?}");
                    assert!(
                        tile.is_power_of_two() && tile >= CHUNK_BYTES && tile <= left_subtree_len(len),
                        "{what}"
                    );
                    assert!(split.tiles() >= 2 && window.is_multiple_of(tile) && window <= binding, "{what}");
                    assert!(window == tile || tile.is_multiple_of(GROUP_CHUNKS * CHUNK_BYTES), "{what}");
                    let windows: Vec<_> = split.windows().collect();
                    assert!(windows.windows(2).all(|pair| pair[0].end == pair[1].start), "{what}");
                    assert_eq!((windows[0].start, windows.last().unwrap().end), (0, len), "{what}");
                    let groups =
                        |range: &Range<u64>| (range.end - range.start).div_ceil(GROUP_CHUNKS * CHUNK_BYTES);
                    assert!(windows.iter().all(|range| groups(range) <= MAX_GROUPS), "{what}");
                    let end = |range: &Range<u64>| split.first_row(range.start) + groups(range);
                    assert!(windows.iter().all(|range| end(range) <= split.tiles() * split.row()), "{what}");
                }
            }
        }
        assert_eq!(InputSplit::for_input(1 << 50, 1 << 40), None);
        assert_eq!(InputSplit::for_input(2048, 0), None);
    }
}
