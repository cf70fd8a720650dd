//! What a kernel of Argon2 is: a table of compiled inner loops for each instruction set, and the safe shells around them.
//!
//! One call computes up to a thousand blocks, so that the indirect call is paid once in a hundred microseconds.
#![expect(unsafe_code, reason = "the kernel tables")]

#[cfg(kernels = "aarch64")]
use super::aarch64;
use super::memory::{Block, Stream};
use super::params::Shape;
use super::portable;
#[cfg(kernels = "wasm32")]
use super::wasm32;
#[cfg(kernels = "x86_64")]
use super::x86_64;
use crate::isa::Features;
use crate::kernels;

/// The most blocks of one lane in one call: short enough to stop within a millisecond, long enough that the few
/// references at its edge that were not fetched ahead do not count.
pub(super) const STRIP_LEN: usize = 1024;

/// The most streams that one call interleaves.
pub(super) const MAX_STREAMS: usize = 4;

/// Words of an address block, so references are made this many at a time.
pub(super) const ADDRESSES: usize = 128;

/// Where in the computation a slice is, and what the references of its blocks depend on.
#[derive(Clone, Copy)]
pub(super) struct Slice {
    pub(super) shape: Shape,
    pub(super) pass: u32,
    pub(super) slice: u32,
    /// The number of the variant and the number of passes: only address blocks look at them.
    pub(super) variant: u32,
    pub(super) passes: u32,
    /// Whether a block is added to what its place held before, as version 1.3 does on later passes.
    pub(super) adds: bool,
    /// Whether the memory is much larger than the caches.
    pub(super) far: bool,
}

impl Slice {
    /// The first index in the segment that is computed by compression: the first two blocks of a lane come from H'.
    pub(super) const fn first_index(&self) -> u32 {
        if self.pass == 0 && self.slice == 0 { 2 } else { 0 }
    }
}

/// Blocks `from..to` of one segment in each of several streams.
pub(super) struct Strip<'a> {
    pub(super) slice: &'a Slice,
    pub(super) from: u32,
    pub(super) to: u32,
}

/// The references of a strip, where they do not depend on data: one list for each stream, one entry for each block.
/// An entry is the number of a block in the memory, lanes one after another.
pub(super) type References<'a> = [&'a [u32]];

/// The inner loops of one instruction set. All functions need the features of the table.
pub struct Table {
    pub(super) name: &'static str,
    pub(super) needs: Features,
    /// Where it keeps the words of a block.
    pub(super) layout: Layout,
    /// The references of blocks `from..from + out.len()` of a segment in `lane`; `from` is a multiple of
    /// [`ADDRESSES`].
    pub(super) references: unsafe fn(slice: &Slice, lane: u32, from: u32, out: &mut [u32]),
    /// Computes a strip whose references are known. As many lists as streams, each with an entry for each block.
    pub(super) independent: unsafe fn(strip: &Strip<'_>, streams: &[Stream<'_>], references: &References<'_>),
    /// Computes a strip whose references are in the blocks before.
    pub(super) dependent: unsafe fn(strip: &Strip<'_>, streams: &[Stream<'_>]),
    /// In ascending number of chains.
    pub(super) hash_long: &'static [HashLong],
}

/// H' of a first block for several seeds at once. As many blocks as seeds, and not more than chains.
pub(super) struct HashLong {
    pub(super) chains: usize,
    pub(super) run: unsafe fn(seeds: &[Seed], blocks: &mut [Block]),
}

/// The message whose H' is a first block, 76 bytes of it, in words.
pub(super) type Seed = [u64; 10];

/// The most chains of any [`HashLong`].
pub(super) const MAX_CHAINS: usize = 8;

/// The order of a block's 128 words in memory. Which one does not matter to the function as long as all blocks agree:
/// only what enters and leaves the memory is brought into the order of the standard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    /// As the standard numbers them.
    Natural,
    /// Rows of sixteen words, two by two, four words of one row and then four words of the other: whatever needs two
    /// rows or two columns side by side in a 64-byte vector finds them so.
    #[cfg_attr(not(kernels = "x86_64"), allow(dead_code, reason = "only vectors of 64 bytes want it"))]
    RowPairs,
    /// Rows and columns two by two, which meet in four units of two words: the first and the last of them, and four vectors of
    /// 32 bytes later the other two, of which the one of the second row first.
    #[cfg_attr(not(kernels = "x86_64"), allow(dead_code, reason = "only vectors of 32 bytes want it"))]
    Tiles,
}

impl Layout {
    /// Where word `index` is kept.
    #[inline(always)]
    pub(super) const fn place(self, index: usize) -> usize {
        match self {
            Layout::Natural => index,
            Layout::RowPairs => {
                let (row, column) = (index / 16, index % 16);
                row / 2 * 32 + column / 4 * 8 + row % 2 * 4 + column % 4
            }
            Layout::Tiles => {
                let (row, unit) = (index / 16, index % 16 / 2);
                // The unit of the second row comes first where it is the left one.
                let half = (row + unit) % 2;
                row / 2 * 32 + half * 16 + unit / 2 * 4 + unit % 2 * 2 + index % 2
            }
        }
    }
}

/// A kernel of Argon2 that runs on this CPU.
pub type Kernel = kernels::Kernel<Table>;

impl kernels::Table for Table {
    const ALL: &'static [&'static Table] = &[
        &portable::TABLE,
        #[cfg(kernels = "x86_64")]
        &x86_64::ssse3::TABLE,
        #[cfg(kernels = "x86_64")]
        &x86_64::avx2::TABLE,
        #[cfg(kernels = "x86_64")]
        &x86_64::avx512::TABLE,
        #[cfg(kernels = "aarch64")]
        &aarch64::neon::TABLE,
        #[cfg(kernels = "aarch64")]
        &aarch64::sha3::TABLE,
        #[cfg(kernels = "wasm32")]
        &wasm32::simd128::TABLE,
    ];

    fn name(&self) -> &'static str {
        self.name
    }

    fn needs(&self) -> Features {
        self.needs
    }
}

impl Kernel {
    pub(super) const fn layout(self) -> Layout {
        self.table().layout
    }

    /// See [`Table::references`].
    pub(super) fn references(self, slice: &Slice, lane: u32, from: u32, out: &mut [u32]) {
        assert!(
            (from as usize).is_multiple_of(ADDRESSES) && lane < slice.shape.lanes,
            "a list starts with an address block"
        );
        // SAFETY: a `Kernel` exists only where its table's instructions run.
        unsafe { (self.table().references)(slice, lane, from, out) }
    }

    /// See [`Table::independent`].
    pub(super) fn independent(self, strip: &Strip<'_>, streams: &[Stream<'_>], references: &References<'_>) {
        strip.check(streams);
        let blocks = strip.slice.shape.blocks();
        let len = (strip.to - strip.from) as usize;
        assert_eq!(references.len(), streams.len(), "a list for each stream");
        for list in references {
            assert_eq!(list.len(), len, "a reference for each block");
            debug_assert!(list.iter().all(|&reference| u64::from(reference) < blocks));
        }
        // SAFETY: a `Kernel` exists only where its table's instructions run. The strip is inside the segment and the
        // streams inside their memory. References are in the memory, as only `references` makes them.
        unsafe { (self.table().independent)(strip, streams, references) }
    }

    /// See [`Table::dependent`].
    pub(super) fn dependent(self, strip: &Strip<'_>, streams: &[Stream<'_>]) {
        strip.check(streams);
        // SAFETY: a `Kernel` exists only where its table's instructions run. The strip is inside the segment and the
        // streams inside their memory.
        unsafe { (self.table().dependent)(strip, streams) }
    }

    /// The first blocks of the memory, as this kernel keeps them, from at most [`MAX_CHAINS`] seeds. Gives the number
    /// of blocks made: as many as fit the widest chains that are filled.
    pub(super) fn hash_long(self, seeds: &[Seed], blocks: &mut [Block; MAX_CHAINS]) -> usize {
        let narrowest = self.table().hash_long.iter().find(|hashes| hashes.chains >= seeds.len());
        let hashes = narrowest.unwrap_or(self.table().hash_long.last().expect("a kernel has chains"));
        let count = seeds.len().min(hashes.chains);
        // SAFETY: a `Kernel` exists only where its table's instructions run.
        unsafe { (hashes.run)(&seeds[..count], &mut blocks[..count]) };
        count
    }

    /// The words of a block that this kernel computed, in the order of the standard.
    pub(super) fn words(self, block: &Block) -> [u64; 128] {
        core::array::from_fn(|index| block.0[self.layout().place(index)])
    }
}

impl Strip<'_> {
    fn check(&self, streams: &[Stream<'_>]) {
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
            let mut places: Vec<usize> = (0..128).map(|index| layout.place(index)).collect();
            // The first word holds the next reference and is read in place.
            assert_eq!(places[0], 0);
            places.sort_unstable();
            assert!(places.into_iter().eq(0..128));
        }
    }
}
