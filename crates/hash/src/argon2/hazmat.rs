//! First blocks and tag of a hash whose memory is filled elsewhere, such as on a device; and a hash in two
//! calls, for the C library.
//!
//! A block is 128 words in the order of the standard. Nothing here checks the fill in between: wrong memory
//! yields a tag, too.

use super::error::HashError;
use super::fill::{self, Fill, Input};
use super::memory::{Arena, Block, Matrix, wipe};
use super::params::{Params, Version};
use super::plan::Plan;
use crate::stop::Stop;
use core::mem::MaybeUninit;
use zeroize::Zeroize;

/// Passes the first two blocks of every lane to `set`, with the numbers of the lane and of the block in it.
///
/// # Errors
/// A length out of range; `set` is not called then.
pub fn first_blocks(
    plan: Plan,
    params: Params,
    input: &Input<'_>,
    tag_len: usize,
    mut set: impl FnMut(u32, u32, &[u64; 128]),
) -> Result<(), HashError> {
    fill::check(input, tag_len)?;
    let kernel = plan.kernel();
    let version = params.version().number();
    fill::first_blocks(kernel, params, version, input, tag_len, |lane, index, block| {
        let mut words = kernel.words(block);
        set(lane, index, &words);
        words.zeroize();
    });
    Ok(())
}

/// Computes the tag from the exclusive or of the last blocks of all lanes.
pub fn tag(sum: &[u64; 128], tag: &mut [u8]) {
    fill::tag_of(sum, tag);
}

/// The whole memory of a hash before the tag is made, lanes one after another: the reference for other
/// implementations of the fill.
///
/// # Errors
/// A length out of range.
pub fn memory(
    plan: Plan,
    params: Params,
    input: &Input<'_>,
    tag_len: usize,
) -> Result<Vec<[u64; 128]>, HashError> {
    fill::check(input, tag_len)?;
    let kernel = plan.kernel();
    let mut blocks = vec![Block::ZERO; params.blocks() as usize];
    {
        let mut matrices = [Matrix::new(&mut blocks, params.shape()).expect("as many as it needs")];
        fill::begin(kernel, params, input, tag_len, &mut matrices[0]);
        let width = plan.width(params).min(params.lanes() as usize);
        Fill::new(plan, params, &matrices, width, &Stop::new()).run();
    }
    let words = blocks.iter().map(|block| kernel.words(block)).collect();
    wipe(&mut blocks);
    Ok(words)
}

/// Source of a hash's memory.
#[derive(Debug)]
pub enum Memory<'a> {
    /// An arena, which grows if it must.
    Arena(&'a mut Arena),
    /// The caller's blocks, at least [`Params::blocks`].
    Blocks(&'a mut [MaybeUninit<Block>]),
}

impl Memory<'_> {
    fn matrix(&mut self, params: Params) -> Result<Matrix<'_>, HashError> {
        match self {
            Memory::Arena(arena) => arena.matrix(params.shape()),
            Memory::Blocks(blocks) => {
                let too_few = HashError::TooFewBlocks { given: blocks.len() as u64, needed: params.blocks() };
                Matrix::uninit(blocks, params.shape()).ok_or(too_few)
            }
        }
    }
}

/// A hash that has read its input and done no long computation yet.
///
/// Dropping it leaves the first blocks in the memory.
#[derive(Debug)]
#[must_use]
pub struct PreparedHash<'a> {
    plan: Plan,
    params: Params,
    memory: Memory<'a>,
}

impl<'a> PreparedHash<'a> {
    /// Reads the input, and takes the memory. `version` is hashed unchanged, even if no such version exists:
    /// all but 16 are computed as 19.
    ///
    /// # Errors
    /// A length out of range; too little memory.
    pub fn new(
        plan: Plan,
        params: Params,
        version: u32,
        input: &Input<'_>,
        tag_len: usize,
        mut memory: Memory<'a>,
    ) -> Result<PreparedHash<'a>, HashError> {
        fill::check(input, tag_len)?;
        let is_old = version == Version::V10.number();
        let params = params.with_version(if is_old { Version::V10 } else { Version::V13 });
        let mut matrix = memory.matrix(params)?;
        fill::first_blocks(plan.kernel(), params, version, input, tag_len, |lane, index, block| {
            matrix.set(lane, index, block);
        });
        Ok(PreparedHash { plan, params, memory })
    }

    /// Fills `tag`, which must have the announced length, on this thread and on those to which `spawn` passes
    /// its argument. `threads` returns the permitted number of threads, including this one; it is called only
    /// where a second one pays. Wipes the memory.
    pub fn finish(
        mut self,
        tag: &mut [u8],
        threads: impl FnOnce() -> usize,
        spawn: impl Fn(Box<dyn FnOnce() + Send>),
    ) {
        let PreparedHash { plan, params, .. } = self;
        let lanes = params.lanes() as usize;
        let threads = if plan.is_parallel(params) { threads().clamp(1, lanes) } else { 1 };
        let width = plan.width(params).min(lanes.div_ceil(threads));
        let mut matrices = [self.memory.matrix(params).expect("taken at the beginning")];
        Fill::new(plan, params, &matrices, width, &Stop::new()).wiping(true).run_with(threads - 1, spawn);
        fill::finish(plan.kernel(), &mut matrices[0], tag);
        matrices[0].wipe_last_blocks();
        if let Memory::Arena(arena) = self.memory {
            arena.set_clean();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Hasher, Kernel, PagePolicy, Variant};
    use super::*;

    #[test]
    fn first_blocks_fill_and_tag_equal_a_hash() {
        let input = Input { password: b"p", salt: b"somesalt", secret: b"s", associated_data: &[7; 100] };
        for variant in Variant::ALL {
            let params = Params::new(100, 2, 3).unwrap().with_variant(variant);
            let expected: [u8; 40] = Hasher::new(params).hash(&input).unwrap();
            for kernel in Kernel::all() {
                let memory = memory(Plan::for_kernel(kernel), params, &input, 40).unwrap();
                assert_eq!(memory.len() as u64, params.blocks());
                let mut sum = [0; 128];
                for last in memory.chunks(32).map(|lane| lane[31]) {
                    sum.iter_mut().zip(last).for_each(|(sum, word)| *sum ^= word);
                }
                let mut given = [0; 40];
                tag(&sum, &mut given);
                assert_eq!(given, expected, "{variant} {}", kernel.name());
            }
        }
    }

    #[test]
    fn first_blocks_equal_the_start_of_a_fill() {
        // A first pass leaves them unchanged.
        let params = Params::new(8 * 5, 1, 5).unwrap();
        let input = Input::new(b"password", b"somesalt");
        let filled = memory(Plan::host(), params, &input, 32).unwrap();
        let mut given = 0;
        first_blocks(Plan::host(), params, &input, 32, |lane, index, words| {
            assert_eq!(words, &filled[(8 * lane + index) as usize]);
            given += 1;
        })
        .unwrap();
        assert_eq!(given, 10);
    }

    #[test]
    fn lengths_out_of_range_are_refused() {
        let params = Params::new(8, 1, 1).unwrap();
        let refused = first_blocks(Plan::host(), params, &Input::default(), 3, |_, _, _| {
            panic!("no block is passed on")
        });
        assert_eq!(refused, Err(HashError::TagLen { given: 3 }));
        let refused = memory(Plan::host(), params, &Input::default(), 3);
        assert_eq!(refused, Err(HashError::TagLen { given: 3 }));
    }

    /// In memory of either kind, with arbitrary contents before and zeroes afterwards, on any number of
    /// threads.
    #[test]
    fn prepared_hash_equals_a_hash() {
        let input = Input { password: b"p", salt: b"somesalt", secret: b"s", associated_data: &[7; 100] };
        for (kib, passes, lanes, version) in
            [(64, 2, 1, Version::V13), (3000, 2, 5, Version::V10), (4096, 1, 4, Version::V13)]
        {
            let params = Params::new(kib, passes, lanes).unwrap().with_version(version);
            let expected: [u8; 40] = Hasher::new(params).hash(&input).unwrap();
            let check = |threads: usize, memory: Memory<'_>| {
                let prepared =
                    PreparedHash::new(Plan::host(), params, version.number(), &input, 40, memory).unwrap();
                let mut given = [0; 40];
                prepared.finish(&mut given, || threads, |task| drop(std::thread::spawn(task)));
                assert_eq!(given, expected, "{kib} {threads}");
            };
            for threads in [0, 1, 2, 100] {
                let mut arena = Arena::new(PagePolicy::Plain);
                check(threads, Memory::Arena(&mut arena));
                assert!(arena.is_zero(params.blocks()));
                let mut blocks: Vec<_> =
                    (0..params.blocks()).map(|_| MaybeUninit::new(Block([u64::MAX; 128]))).collect();
                check(threads, Memory::Blocks(&mut blocks));
                let mut arena = Arena::default();
                let too_few = Memory::Blocks(&mut blocks[1..]);
                let refused = PreparedHash::new(Plan::host(), params, 19, &input, 40, too_few);
                assert!(matches!(refused, Err(HashError::TooFewBlocks { .. })));
                let short = PreparedHash::new(Plan::host(), params, 19, &input, 3, Memory::Arena(&mut arena));
                assert!(matches!(short, Err(HashError::TagLen { given: 3 })));
            }
        }
    }

    /// An undefined version is a version of its own.
    #[test]
    fn versions_have_different_tags() {
        let (params, input) = (Params::new(64, 2, 1).unwrap(), Input::new(b"p", b"somesalt"));
        let tag = |version| {
            let mut arena = Arena::default();
            let memory = Memory::Arena(&mut arena);
            let mut tag = [0; 16];
            let prepared = PreparedHash::new(Plan::host(), params, version, &input, 16, memory).unwrap();
            prepared.finish(&mut tag, || 1, |_| unreachable!("one thread"));
            tag
        };
        assert_eq!(tag(0x13), Hasher::new(params).hash(&input).unwrap());
        let mut tags = [0, 0x10, 0x12, 0x13, 99, u32::MAX].map(tag);
        tags.sort_unstable();
        assert!(tags.windows(2).all(|two| two[0] != two[1]));
    }
}
