//! The memory that a hash fills: its blocks, who may write which of them, and wiping.

use super::params::Shape;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// One KiB, the unit of Argon2's memory.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct Block(pub(super) [u64; 128]);

impl Block {
    /// A block of zeroes.
    pub const ZERO: Block = Block([0; 128]);
}

impl Default for Block {
    fn default() -> Block {
        Block::ZERO
    }
}

/// Fills `blocks` with zeroes in a way that the compiler may not leave out.
pub(super) fn wipe(blocks: &mut [Block]) {
    blocks.fill(Block::ZERO);
    zeroize::optimization_barrier(blocks);
}

/// The blocks of one hash, lanes one after another. They need not be initialised.
pub(super) struct Matrix<'a> {
    first: NonNull<Block>,
    shape: Shape,
    memory: PhantomData<&'a mut [Block]>,
}

// SAFETY: a matrix owns its borrow of plain words.
unsafe impl Send for Matrix<'_> {}
// SAFETY: nothing is written through `&Matrix` but by streams, whose makers promise to share out the segments.
unsafe impl Sync for Matrix<'_> {}

impl<'a> Matrix<'a> {
    /// The first `shape.blocks()` blocks of `memory`, or `None` if it has fewer.
    pub(super) fn new(memory: &'a mut [Block], shape: Shape) -> Option<Matrix<'a>> {
        let enough = memory.len() as u64 >= shape.blocks();
        enough.then(|| Matrix { first: NonNull::from(memory).cast(), shape, memory: PhantomData })
    }

    fn at(&self, lane: u32, index: u32) -> NonNull<Block> {
        let Shape { lanes, lane_len, .. } = self.shape;
        assert!(lane < lanes && index < lane_len);
        // SAFETY: inside the matrix. No overflow: it is in memory.
        unsafe { self.first.add(lane as usize * lane_len as usize + index as usize) }
    }

    /// Writes a block.
    pub(super) fn set(&mut self, lane: u32, index: u32, block: &Block) {
        // SAFETY: `&mut self` says that there are no streams.
        unsafe { self.at(lane, index).write(block.clone()) }
    }

    /// The sum of the last blocks of all lanes, once all of them were written.
    pub(super) fn last_blocks(&mut self) -> Block {
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

    /// The right to compute one segment of `lane`.
    ///
    /// # Safety
    /// While the stream lives nobody else writes to that segment, and nobody writes to a segment of another slice or
    /// of the same lane. All blocks that the segment's references can name were written before.
    pub(super) unsafe fn stream(&self, lane: u32) -> Stream<'_> {
        assert!(lane < self.shape.lanes);
        Stream { first: self.first, lane, shape: self.shape, matrix: PhantomData }
    }
}

/// The right to compute one segment of one lane, see [`Matrix::stream`].
pub(super) struct Stream<'a> {
    first: NonNull<Block>,
    lane: u32,
    shape: Shape,
    matrix: PhantomData<&'a [Block]>,
}

impl Stream<'_> {
    #[inline(always)]
    pub(super) fn lane(&self) -> u32 {
        self.lane
    }

    #[inline(always)]
    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    /// The first block of the first lane.
    #[inline(always)]
    pub(super) fn first(&self) -> *mut Block {
        self.first.as_ptr()
    }
}
