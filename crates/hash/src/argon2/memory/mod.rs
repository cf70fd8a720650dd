//! Memory of a hash: its blocks, exclusive access to segments, and wiping.
//!
//! On machines with several memory nodes a page belongs to the node of the thread that touches it first;
//! lanes are touched first by the threads that compute them.
#![expect(unsafe_code, reason = "blocks that several lanes write at once")]

mod block;
#[cfg(feature = "std")]
mod pages;

pub use block::Block;
pub(super) use block::wipe;
#[cfg(feature = "std")]
pub use pages::{PageKind, PagePolicy};

#[cfg(feature = "std")]
use super::error::HashError;
use super::params::Shape;
use block::wipe_raw;
use core::marker::PhantomData;
#[cfg(feature = "std")]
use core::mem::MaybeUninit;
use core::ptr::NonNull;
#[cfg(feature = "std")]
use pages::Region;

/// The blocks of one hash, lanes one after another. They need not be initialised.
pub(in crate::argon2) struct Matrix<'a> {
    first: NonNull<Block>,
    shape: Shape,
    memory: PhantomData<&'a mut [Block]>,
}

// SAFETY: a matrix owns its borrow of plain words.
unsafe impl Send for Matrix<'_> {}
// SAFETY: nothing is written through `&Matrix` but by streams, whose makers promise exclusive segments.
unsafe impl Sync for Matrix<'_> {}

impl<'a> Matrix<'a> {
    /// The first `shape.blocks()` blocks of `memory`, or `None` if it has fewer.
    pub(in crate::argon2) fn new(memory: &'a mut [Block], shape: Shape) -> Option<Matrix<'a>> {
        let enough = memory.len() as u64 >= shape.blocks();
        enough.then(|| Matrix { first: NonNull::from(memory).cast(), shape, memory: PhantomData })
    }

    /// As [`new`](Matrix::new), in memory with arbitrary contents.
    #[cfg(feature = "std")]
    pub(in crate::argon2) fn uninit(
        memory: &'a mut [MaybeUninit<Block>],
        shape: Shape,
    ) -> Option<Matrix<'a>> {
        let enough = memory.len() as u64 >= shape.blocks();
        enough.then(|| Matrix { first: NonNull::from(memory).cast(), shape, memory: PhantomData })
    }

    /// The first `shape.blocks()` blocks of a region, or `None` if it has fewer.
    #[cfg(feature = "std")]
    fn of_region(region: &'a mut Region, shape: Shape) -> Option<Matrix<'a>> {
        let enough = (region.len() / size_of::<Block>()) as u64 >= shape.blocks();
        enough.then(|| Matrix { first: region.first().cast(), shape, memory: PhantomData })
    }

    fn at(&self, lane: u32, index: u32) -> NonNull<Block> {
        let Shape { lanes, lane_len, .. } = self.shape;
        assert!(lane < lanes && index < lane_len);
        // SAFETY: inside the matrix. No overflow: it is in memory.
        unsafe { self.first.add(lane as usize * lane_len as usize + index as usize) }
    }

    /// Writes a block.
    pub(in crate::argon2) fn set(&mut self, lane: u32, index: u32, block: &Block) {
        // SAFETY: `&mut self` says that there are no streams.
        unsafe { self.at(lane, index).write(block.clone()) }
    }

    /// The sum of the last blocks of all lanes, once all of them were written.
    pub(in crate::argon2) fn last_blocks(&mut self) -> Block {
        let mut sum = Block::ZERO;
        for lane in 0..self.shape.lanes {
            // SAFETY: `&mut self` says that there are no streams; the caller filled the matrix.
            let block = unsafe { self.at(lane, self.shape.lane_len - 1).as_ref() };
            for (sum, word) in sum.0.iter_mut().zip(&block.0) {
                *sum ^= word;
            }
        }
        sum
    }

    /// Wipes all blocks of a lane, with or without its last one; bypasses the caches if `far` and the CPU
    /// can.
    ///
    /// # Safety
    /// There are no streams, and no other thread wipes this lane.
    pub(in crate::argon2) unsafe fn wipe_lane(&self, lane: u32, with_last: bool, far: bool) {
        let len = self.shape.lane_len as usize - usize::from(!with_last);
        #[cfg(kernels = "x86_64")]
        if far {
            // SAFETY: the caller's; writing needs no initialised memory.
            return unsafe { block::wipe_bypassing_cache(self.at(lane, 0).as_ptr(), len) };
        }
        let _ = far;
        // SAFETY: as above.
        unsafe { wipe_raw(self.at(lane, 0), len) }
    }

    /// Wipes the last block of every lane.
    pub(in crate::argon2) fn wipe_last_blocks(&mut self) {
        for lane in 0..self.shape.lanes {
            // SAFETY: `&mut self` says that there are no streams.
            unsafe { wipe_raw(self.at(lane, self.shape.lane_len - 1), 1) }
        }
    }

    /// Exclusive access to one segment of `lane`.
    ///
    /// # Safety
    /// While the stream lives, no other code writes to that segment, and none to a segment of another slice
    /// or of the same lane. All blocks that the segment's references can name were written before.
    pub(in crate::argon2) unsafe fn stream(&self, lane: u32) -> Stream<'_> {
        assert!(lane < self.shape.lanes);
        Stream { first: self.first, lane, shape: self.shape, matrix: PhantomData }
    }
}

/// Exclusive access to one segment of one lane, see [`Matrix::stream`].
pub(in crate::argon2) struct Stream<'a> {
    first: NonNull<Block>,
    lane: u32,
    shape: Shape,
    matrix: PhantomData<&'a [Block]>,
}

impl Stream<'_> {
    #[inline(always)]
    pub(in crate::argon2) fn lane(&self) -> u32 {
        self.lane
    }

    #[inline(always)]
    pub(in crate::argon2) fn shape(&self) -> Shape {
        self.shape
    }

    /// The first block of the first lane.
    #[inline(always)]
    pub(in crate::argon2) fn first(&self) -> *mut Block {
        self.first.as_ptr()
    }
}

/// Memory that is kept between hashes. It grows when a hash needs more, never shrinks, and is wiped before it
/// is freed.
///
/// On Linux it is excluded from core dumps, whatever its size, and a forked child finds zeroes (except for
/// reserved large pages, which a child could read; it allocates memory of its own instead). Elsewhere it is
/// ordinary memory. The system may swap it out.
#[cfg(feature = "std")]
#[derive(Default)]
pub struct Arena {
    policy: PagePolicy,
    region: Option<Region>,
    /// The number of blocks at the start that may be non-zero.
    dirty: u64,
}

#[cfg(feature = "std")]
impl Arena {
    /// No memory yet.
    pub const fn new(policy: PagePolicy) -> Arena {
        Arena { policy, region: None, dirty: 0 }
    }

    /// Makes room for hashes of `blocks` KiB.
    ///
    /// # Errors
    /// [`HashError::OutOfMemory`] if the system refuses; existing memory is kept.
    pub fn reserve(&mut self, blocks: u64) -> Result<(), HashError> {
        if self.region.as_ref().is_some_and(Region::is_the_parents) {
            self.region = None;
            self.dirty = 0;
        }
        if blocks <= self.capacity() {
            return Ok(());
        }
        let bytes = blocks.saturating_mul(size_of::<Block>() as u64);
        let refused = HashError::OutOfMemory { bytes };
        let len = usize::try_from(bytes).map_err(|_| refused)?;
        let region = Region::map(len, self.policy).ok_or(refused)?;
        self.wipe();
        self.region = Some(region);
        Ok(())
    }

    /// The number of blocks.
    pub fn capacity(&self) -> u64 {
        self.region.as_ref().map_or(0, |region| (region.len() / size_of::<Block>()) as u64)
    }

    /// The kind of its pages, once it has memory.
    pub fn pages(&self) -> Option<PageKind> {
        self.region.as_ref().map(Region::kind)
    }

    /// Makes all pages present now, and large where the system can, instead of during a hash. Returns the
    /// share that is large, if the system reports it.
    pub fn prefault(&mut self) -> Option<f64> {
        self.region.as_mut()?.prefault()
    }

    /// Wipes what hashes have left.
    pub fn wipe(&mut self) {
        if let Some(region) = &mut self.region
            && !region.is_the_parents()
        {
            // SAFETY: inside the region, as `dirty` never exceeds what a matrix had.
            unsafe { wipe_raw(region.first().cast(), self.dirty as usize) };
        }
        self.dirty = 0;
    }

    /// Records that the hash with the latest matrix has wiped it.
    pub(in crate::argon2) fn set_clean(&mut self) {
        self.dirty = 0;
    }

    /// Memory for one hash.
    pub(in crate::argon2) fn matrix(&mut self, shape: Shape) -> Result<Matrix<'_>, HashError> {
        self.reserve(shape.blocks())?;
        self.dirty = self.dirty.max(shape.blocks());
        let region = self.region.as_mut().expect("reserved");
        Ok(Matrix::of_region(region, shape).expect("reserved"))
    }

    /// The first `count` blocks, which a test has filled.
    #[cfg(test)]
    pub(in crate::argon2) fn blocks(&self, count: u64) -> &[Block] {
        let region = self.region.as_ref().expect("a hash has taken memory");
        assert!(count <= self.capacity());
        // SAFETY: inside the region, and the test has filled that many blocks.
        unsafe { core::slice::from_raw_parts(region.first().cast::<Block>().as_ptr(), count as usize) }
    }

    /// Is all memory that hashes used zero? For tests of wiping.
    #[cfg(test)]
    pub(crate) fn is_zero(&self, blocks: u64) -> bool {
        self.region.is_none() || self.blocks(blocks).iter().all(|block| block.0 == [0; 128])
    }
}

#[cfg(feature = "std")]
impl Drop for Arena {
    fn drop(&mut self) {
        self.wipe();
    }
}

#[cfg(feature = "std")]
impl core::fmt::Debug for Arena {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Arena").field("blocks", &self.capacity()).field("pages", &self.pages()).finish()
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use hashmill_testkit::fork::{Child, forks, in_child};

    /// Writing to a page that is reserved for the parent may kill a child.
    #[test]
    fn forked_child_leaves_reserved_pages_alone() {
        if !forks() {
            return hashmill_testkit::skip("reserved pages in a child", "no program with threads forks here");
        }
        let mut arena = Arena::new(PagePolicy::Plain);
        arena.reserve(64).unwrap();
        arena.region.as_mut().unwrap().pretend(PageKind::Huge2M);
        arena.dirty = 64;
        let child = in_child(|| {
            let parents = arena.region.as_ref().is_some_and(Region::is_the_parents);
            arena.reserve(32).unwrap();
            parents && arena.pages() == Some(PageKind::Plain) && arena.dirty == 0
        });
        assert_eq!(child, Child::Agreed);
        arena.reserve(32).unwrap();
        assert_eq!(arena.pages(), Some(PageKind::Huge2M), "the parent goes on with its own");
    }
}
