//! Division of an input for a device: into windows, each visible to a kernel at once, and tiles, each reduced
//! to one value on the device. Pure arithmetic.

use hashmill_hash::blake3::CHUNK_LEN;
use hashmill_hash::blake3::hazmat::left_subtree_len;
use std::ops::Range;

/// Chunks that a workgroup reduces to one value.
pub(crate) const WIDTH: u64 = 128;

const CHUNK: u64 = CHUNK_LEN as u64;

/// The largest tile: its last levels keep one workgroup busy for about twelve successive compressions, and
/// the host merges one value per tile.
const LARGEST_TILE: u64 = 64 << 20;

/// The largest window, even if a device could bind more.
const LARGEST_WINDOW: u64 = 1 << 30;

/// The most groups of a dispatch, and so the most tiles of an input.
const MOST_GROUPS: u64 = 65535;

/// An input, divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InputSplit {
    pub(crate) len: u64,
    /// Bytes of a tile: a power of two of chunks.
    pub(crate) tile: u64,
    /// Bytes of a window: a multiple of a tile.
    pub(crate) window: u64,
}

impl InputSplit {
    /// Divides an input of more than a chunk, for a device that binds `binding` bytes: into at least two
    /// tiles, because the host computes the node above the last two, the root. `None` if there are too many
    /// tiles.
    pub(crate) fn whole(len: u64, binding: u64) -> Option<InputSplit> {
        let most = 1 << binding.min(LARGEST_WINDOW).checked_ilog2()?;
        let tile = left_subtree_len(len).min(LARGEST_TILE).min(most);
        // Groups begin at the window's first chunk. Tiles smaller than a group each need a window of their
        // own.
        let window = if tile < WIDTH * CHUNK { tile } else { most };
        let cut = InputSplit { len, tile, window };
        (cut.tiles() <= MOST_GROUPS).then_some(cut)
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
        (self.tile / (WIDTH * CHUNK)).max(1)
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
    let chunks = len.div_ceil(CHUNK).max(1);
    (chunks, len - (chunks - 1) * CHUNK)
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
                    let cut = InputSplit::whole(len, binding).expect("few enough tiles");
                    let InputSplit { tile, window, .. } = cut;
                    let what = format!("{len} of {binding}: {cut:?}");
                    assert!(
                        tile.is_power_of_two() && tile >= CHUNK && tile <= left_subtree_len(len),
                        "{what}"
                    );
                    assert!(cut.tiles() >= 2 && window.is_multiple_of(tile) && window <= binding, "{what}");
                    assert!(window == tile || tile.is_multiple_of(WIDTH * CHUNK), "{what}");
                    let windows: Vec<_> = cut.windows().collect();
                    assert!(windows.windows(2).all(|pair| pair[0].end == pair[1].start), "{what}");
                    assert_eq!((windows[0].start, windows.last().unwrap().end), (0, len), "{what}");
                    let groups = |range: &Range<u64>| (range.end - range.start).div_ceil(WIDTH * CHUNK);
                    assert!(windows.iter().all(|range| groups(range) <= MOST_GROUPS), "{what}");
                    let end = |range: &Range<u64>| cut.first_row(range.start) + groups(range);
                    assert!(windows.iter().all(|range| end(range) <= cut.tiles() * cut.row()), "{what}");
                }
            }
        }
        assert_eq!(InputSplit::whole(1 << 50, 1 << 40), None);
        assert_eq!(InputSplit::whole(2048, 0), None);
    }
}
