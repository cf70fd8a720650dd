//! Argon2 kernels: a table of compiled inner loops for each instruction set, and safe wrappers around them.
//!
//! One call computes up to a thousand blocks, so the indirect call is paid once in a hundred microseconds.
#![expect(unsafe_code, reason = "the kernel tables")]

#[cfg(kernels = "aarch64")]
pub(super) mod aarch64;
pub(super) mod blake2b;
mod chain;
#[cfg(any(kernels = "x86_64", kernels = "aarch64", kernels = "wasm32"))]
mod pair;
pub(super) mod portable;
mod segment;
mod table;
#[cfg(kernels = "wasm32")]
pub(super) mod wasm32;
#[cfg(kernels = "x86_64")]
pub(super) mod x86_64;

pub(crate) use table::Table;
pub(super) use table::{ADDRESSES, MAX_CHAINS, MAX_RANGE_LEN, MAX_STREAMS, Seed, SegmentRange, Slice};

use super::memory::{Block, Stream};
use crate::isa::Features;
use crate::kernels;
use table::{Layout, References};

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
    pub(in crate::argon2) const fn layout(self) -> Layout {
        self.table().layout
    }

    /// See [`Table::references`].
    pub(in crate::argon2) fn references(self, slice: &Slice, lane: u32, from: u32, out: &mut [u32]) {
        assert!(
            (from as usize).is_multiple_of(ADDRESSES) && lane < slice.shape.lanes,
            "a list starts with an address block"
        );
        // SAFETY: a `Kernel` exists only where its table's instructions run.
        unsafe { (self.table().references)(slice, lane, from, out) }
    }

    /// See [`Table::independent`].
    pub(in crate::argon2) fn independent(
        self,
        range: &SegmentRange<'_>,
        streams: &[Stream<'_>],
        references: &References<'_>,
    ) {
        range.check(streams);
        let blocks = range.slice.shape.blocks();
        let len = (range.to - range.from) as usize;
        assert_eq!(references.len(), streams.len(), "a list for each stream");
        for list in references {
            assert_eq!(list.len(), len, "a reference for each block");
            debug_assert!(list.iter().all(|&reference| u64::from(reference) < blocks));
        }
        // SAFETY: a `Kernel` exists only where its table's instructions run. The range is inside the segment
        // and the streams inside their memory. References are in the memory, because only `references` makes
        // them.
        unsafe { (self.table().independent)(range, streams, references) }
    }

    /// See [`Table::dependent`].
    pub(in crate::argon2) fn dependent(self, range: &SegmentRange<'_>, streams: &[Stream<'_>]) {
        range.check(streams);
        // SAFETY: a `Kernel` exists only where its table's instructions run. The range is inside the segment and the
        // streams inside their memory.
        unsafe { (self.table().dependent)(range, streams) }
    }

    /// Computes the first blocks of the memory, in this kernel's layout, from at most [`MAX_CHAINS`] seeds.
    /// Returns the number of blocks made: as many as fill the widest chains.
    pub(in crate::argon2) fn hash_long(self, seeds: &[Seed], blocks: &mut [Block; MAX_CHAINS]) -> usize {
        let narrowest = self.table().hash_long.iter().find(|hashes| hashes.chains >= seeds.len());
        let hashes = narrowest.unwrap_or(self.table().hash_long.last().expect("a kernel has chains"));
        let count = seeds.len().min(hashes.chains);
        // SAFETY: a `Kernel` exists only where its table's instructions run.
        unsafe { (hashes.run)(&seeds[..count], &mut blocks[..count]) };
        count
    }

    /// The words of a block that this kernel computed, in the order of the standard.
    pub(in crate::argon2) fn words(self, block: &Block) -> [u64; 128] {
        core::array::from_fn(|index| block.0[self.layout().memory_index(index)])
    }
}
