//! How an input is cut for a device: into windows, each of which a kernel sees at once, and tiles, each of which becomes one
//! value there. Pure arithmetic.

use hashmill_hash::blake3::CHUNK_LEN;
use hashmill_hash::blake3::hazmat::left_subtree_len;
use std::ops::Range;

/// Chunks that a workgroup reduces to one value.
pub(super) const WIDTH: u64 = 128;

const CHUNK: u64 = CHUNK_LEN as u64;

/// The largest tile: its last levels keep one workgroup busy for about twelve compressions in turn, and the host merges one
/// value for so many bytes.
const LARGEST_TILE: u64 = 64 << 20;

/// The largest window, whatever a device would bind.
const LARGEST_WINDOW: u64 = 1 << 30;

/// Groups of a dispatch, and so tiles of an input.
const MOST_GROUPS: u64 = 65535;

/// An input, cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cut {
    pub(super) len: u64,
    /// Bytes of a tile: a power of two of chunks.
    pub(super) tile: u64,
    /// Bytes of a window: a multiple of a tile.
    pub(super) window: u64,
}

impl Cut {
    /// An input of more than a chunk, for a device that binds so many bytes: two tiles at least, because the node above the
    /// last two is the root, which is the host's. Nothing if it has too many.
    pub(super) fn whole(len: u64, binding: u64) -> Option<Cut> {
        let most = 1 << binding.min(LARGEST_WINDOW).checked_ilog2()?;
        let tile = left_subtree_len(len).min(LARGEST_TILE).min(most);
        // Groups begin at the window's first chunk. Where tiles are smaller than a group, each needs a window of its own.
        let window = if tile < WIDTH * CHUNK { tile } else { most };
        let cut = Cut { len, tile, window };
        (cut.tiles() <= MOST_GROUPS).then_some(cut)
    }

    /// A subtree that becomes one value.
    pub(super) fn subtree(len: u64, tile: u64) -> Cut {
        Cut { len, tile, window: tile }
    }

    pub(super) fn tiles(self) -> u64 {
        self.len.div_ceil(self.tile)
    }

    /// Values of a tile's row: what the workgroups leave of it.
    pub(super) fn row(self) -> u64 {
        (self.tile / (WIDTH * CHUNK)).max(1)
    }

    pub(super) fn windows(self) -> impl Iterator<Item = Range<u64>> {
        let starts = (0..self.len.div_ceil(self.window)).map(move |index| index * self.window);
        starts.map(move |start| start..self.len.min(start + self.window))
    }

    /// Where the first value of a window goes.
    pub(super) fn first_row(self, start: u64) -> u64 {
        start / self.tile * self.row()
    }
}

/// Chunks of `len` bytes, and bytes of the last of them.
pub(super) fn chunks(len: u64) -> (u64, u64) {
    let chunks = len.div_ceil(CHUNK).max(1);
    (chunks, len - (chunks - 1) * CHUNK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_counted_and_the_last_is_measured() {
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
                    let cut = Cut::whole(len, binding).expect("not that many tiles");
                    let Cut { tile, window, .. } = cut;
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
        assert_eq!(Cut::whole(1 << 50, 1 << 40), None);
        assert_eq!(Cut::whole(2048, 0), None);
    }
}
