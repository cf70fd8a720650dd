//! Kernel table: the compiled inner loops of one instruction set, and their inputs.

use crate::argon2::memory::{Block, Stream};
use crate::argon2::params::Shape;
use crate::isa::Features;

/// The most blocks of one lane in one call: short enough to stop within a millisecond, long enough that the
/// few references at its edge that were not fetched ahead do not matter.
pub(in crate::argon2) const MAX_RANGE_LEN: usize = 1024;

/// The most streams that one call interleaves.
pub(in crate::argon2) const MAX_STREAMS: usize = 4;

/// Words of an address block: references are computed this many at a time.
pub(in crate::argon2) const ADDRESSES: usize = 128;

/// Position of a slice in the computation, and the inputs of its references.
#[derive(Clone, Copy)]
pub(in crate::argon2) struct Slice {
    pub(in crate::argon2) shape: Shape,
    pub(in crate::argon2) pass: u32,
    pub(in crate::argon2) slice: u32,
    /// The number of the variant and the number of passes: used only by address blocks.
    pub(in crate::argon2) variant: u32,
    pub(in crate::argon2) passes: u32,
    /// Is a block added to the previous content of its memory, as version 1.3 does on later passes?
    pub(in crate::argon2) adds: bool,
    /// Is the memory much larger than the caches?
    pub(in crate::argon2) far: bool,
}

impl Slice {
    /// The first index in the segment that is computed by compression: the first two blocks of a lane come from H'.
    pub(in crate::argon2) const fn first_index(&self) -> u32 {
        if self.pass == 0 && self.slice == 0 { 2 } else { 0 }
    }
}

/// Blocks `from..to` of one segment in each of several streams.
pub(in crate::argon2) struct SegmentRange<'a> {
    pub(in crate::argon2) slice: &'a Slice,
    pub(in crate::argon2) from: u32,
    pub(in crate::argon2) to: u32,
}

/// The references of a range, where they do not depend on data: one list for each stream, one entry for each block.
/// An entry is the number of a block in the memory, lanes one after another.
pub(in crate::argon2) type References<'a> = [&'a [u32]];

/// The inner loops of one instruction set. All functions need the features of the table.
pub struct Table {
    pub(in crate::argon2) name: &'static str,
    pub(in crate::argon2) needs: Features,
    /// The order in which it stores the words of a block.
    pub(in crate::argon2) layout: Layout,
    /// The references of blocks `from..from + out.len()` of a segment in `lane`; `from` is a multiple of
    /// [`ADDRESSES`].
    pub(in crate::argon2) references: unsafe fn(slice: &Slice, lane: u32, from: u32, out: &mut [u32]),
    /// Computes a range whose references are known. One list per stream, with one entry per block.
    pub(in crate::argon2) independent:
        unsafe fn(range: &SegmentRange<'_>, streams: &[Stream<'_>], references: &References<'_>),
    /// Computes a range whose references are in the preceding blocks.
    pub(in crate::argon2) dependent: unsafe fn(range: &SegmentRange<'_>, streams: &[Stream<'_>]),
    /// In ascending number of chains.
    pub(in crate::argon2) hash_long: &'static [HashLong],
}

/// H' of a first block for several seeds at once. As many blocks as seeds, and at most `chains`.
pub(in crate::argon2) struct HashLong {
    pub(in crate::argon2) chains: usize,
    pub(in crate::argon2) run: unsafe fn(seeds: &[Seed], blocks: &mut [Block]),
}

/// The message whose H' is a first block, 76 bytes of it, in words.
pub(in crate::argon2) type Seed = [u64; 10];

/// The most chains of any [`HashLong`].
pub(in crate::argon2) const MAX_CHAINS: usize = 8;

/// The order of a block's 128 words in memory. Any order works as long as all blocks agree: words are
/// reordered only when they enter and leave the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::argon2) enum Layout {
    /// As the standard numbers them.
    Natural,
    /// Rows of sixteen words, two by two: four words of one row, then four words of the other. So operations
    /// on two rows or two columns find them side by side in a 64-byte vector.
    #[cfg_attr(not(kernels = "x86_64"), allow(dead_code, reason = "only vectors of 64 bytes use it"))]
    RowPairs,
    /// Rows and columns two by two, which meet in four units of two words: the first unit and the last, and,
    /// four vectors of 32 bytes later, the other two, with the one of the second row first.
    #[cfg_attr(not(kernels = "x86_64"), allow(dead_code, reason = "only vectors of 32 bytes use it"))]
    Tiles,
}

impl Layout {
    /// The index in memory of word `index`.
    #[inline(always)]
    pub(in crate::argon2) const fn memory_index(self, index: usize) -> usize {
        match self {
            Layout::Natural => index,
            Layout::RowPairs => {
                let (row, column) = (index / 16, index % 16);
                row / 2 * 32 + column / 4 * 8 + row % 2 * 4 + column % 4
            }
            Layout::Tiles => {
                let (row, unit) = (index / 16, index % 16 / 2);
                // The unit of the second row comes first if it is the left one.
                let half = (row + unit) % 2;
                row / 2 * 32 + half * 16 + unit / 2 * 4 + unit % 2 * 2 + index % 2
            }
        }
    }
}

impl SegmentRange<'_> {
    pub(super) fn check(&self, streams: &[Stream<'_>]) {
        let shape = self.slice.shape;
        assert!((1..=MAX_STREAMS).contains(&streams.len()), "one to four streams");
        assert!(self.slice.first_index() <= self.from && self.from < self.to && self.to <= shape.segment_len);
        assert!(streams.iter().all(|stream| stream.shape() == shape), "streams of equal shape");
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_permutations_that_keep_the_first_word() {
        for layout in [Layout::Natural, Layout::RowPairs, Layout::Tiles] {
            let mut indices: Vec<usize> = (0..128).map(|index| layout.memory_index(index)).collect();
            // The first word holds the next reference and is read from the block itself.
            assert_eq!(indices[0], 0);
            indices.sort_unstable();
            assert!(indices.into_iter().eq(0..128));
        }
    }
}
