//! The two ends of a hash, for who fills the memory elsewhere: on a device. And a hash as a library of C must offer it.
//!
//! A block is 128 words in the order of the standard. Nothing here checks what was filled in between: a memory that is wrong has a
//! tag, too.

use super::error::HashError;
use super::fill::Fill;
use super::init_final::{self, Input};
use super::memory::{Arena, Block, Matrix, wipe};
use super::params::{Params, Version};
use super::plan::Plan;
use crate::stop::Stop;
use core::mem::MaybeUninit;
use zeroize::Zeroize;

/// Gives the first two blocks of every lane to `set`, with the numbers of the lane and of the block in it.
///
/// # Errors
/// A length out of range; nothing was given then.
pub fn first_blocks(
    plan: Plan,
    params: Params,
    input: &Input<'_>,
    tag_len: usize,
    mut set: impl FnMut(u32, u32, &[u64; 128]),
) -> Result<(), HashError> {
    init_final::check(input, tag_len)?;
    let kernel = plan.kernel();
    let version = params.version().number();
    init_final::first_blocks(kernel, params, version, input, tag_len, |lane, index, block| {
        let mut words = kernel.words(block);
        set(lane, index, &words);
        words.zeroize();
    });
    Ok(())
}

/// Makes the tag of the last blocks of all lanes, from their exclusive or.
pub fn tag(sum: &[u64; 128], tag: &mut [u8]) {
    init_final::tag_of(sum, tag);
}

/// The whole memory of a hash as it is before the tag is made, lanes one after another: what another filling is held against.
///
/// # Errors
/// A length out of range.
pub fn memory(
    plan: Plan,
    params: Params,
    input: &Input<'_>,
    tag_len: usize,
) -> Result<Vec<[u64; 128]>, HashError> {
    init_final::check(input, tag_len)?;
    let kernel = plan.kernel();
    let mut blocks = vec![Block::ZERO; params.blocks() as usize];
    {
        let mut matrices = [Matrix::new(&mut blocks, params.shape()).expect("as many as it needs")];
        init_final::begin(kernel, params, input, tag_len, &mut matrices[0]);
        let width = plan.width(params).min(params.lanes() as usize);
        Fill::new(plan, params, &matrices, width, &Stop::new()).run();
    }
    let words = blocks.iter().map(|block| kernel.words(block)).collect();
    wipe(&mut blocks);
    Ok(words)
}

/// Where a hash takes its memory.
#[derive(Debug)]
pub enum Memory<'a> {
    /// There, and it grows where it must.
    Arena(&'a mut Arena),
    /// What the caller has, at least [`Params::blocks`].
    Blocks(&'a mut [MaybeUninit<Block>]),
}

impl Memory<'_> {
    fn matrix(&mut self, params: Params) -> Result<Matrix<'_>, HashError> {
        match self {
            Memory::Arena(arena) => arena.matrix(params.shape()),
            Memory::Blocks(blocks) => {
                let few = HashError::TooFewBlocks { given: blocks.len() as u64, needed: params.blocks() };
                Matrix::uninit(blocks, params.shape()).ok_or(few)
            }
        }
    }
}

/// A hash that has read its input and computed nothing yet that takes time.
///
/// One that is dropped leaves the first blocks where they are.
#[derive(Debug)]
#[must_use]
pub struct Begun<'a> {
    plan: Plan,
    params: Params,
    memory: Memory<'a>,
}

impl<'a> Begun<'a> {
    /// Reads the input, and takes the memory. `version` is hashed as it is, whether such a version exists or not: all but 16
    /// are computed as 19.
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
    ) -> Result<Begun<'a>, HashError> {
        init_final::check(input, tag_len)?;
        let is_old = version == Version::V10.number();
        let params = params.with_version(if is_old { Version::V10 } else { Version::V13 });
        let mut matrix = memory.matrix(params)?;
        init_final::first_blocks(plan.kernel(), params, version, input, tag_len, |lane, index, block| {
            matrix.set(lane, index, block);
        });
        Ok(Begun { plan, params, memory })
    }

    /// Fills `tag`, which is as long as was said, on this thread and on those to which `spawn` hands its argument. `threads`
    /// tells how many may work, this one included; it is asked where a second one pays. Wipes the memory.
    pub fn finish(
        mut self,
        tag: &mut [u8],
        threads: impl FnOnce() -> usize,
        spawn: impl Fn(Box<dyn FnOnce() + Send>),
    ) {
        let Begun { plan, params, .. } = self;
        let lanes = params.lanes() as usize;
        let threads = if plan.is_parallel(params) { threads().clamp(1, lanes) } else { 1 };
        let width = plan.width(params).min(lanes.div_ceil(threads));
        let mut matrices = [self.memory.matrix(params).expect("taken at the beginning")];
        Fill::new(plan, params, &matrices, width, &Stop::new()).wiping(true).run_with(threads - 1, spawn);
        init_final::finish(plan.kernel(), &mut matrices[0], tag);
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
    fn both_ends_and_the_memory_between_them_are_those_of_a_hash() {
        let input = Input { password: b"p", salt: b"somesalt", secret: b"s", associated_data: &[7; 100] };
        for variant in Variant::ALL {
            let params = Params::new(100, 2, 3).unwrap().with_variant(variant);
            let expected: [u8; 40] = Hasher::new(params).hash(&input).unwrap();
            for kernel in Kernel::all() {
                let memory = memory(Plan::of(kernel), params, &input, 40).unwrap();
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
    fn first_blocks_are_those_that_a_fill_begins_with() {
        // A first pass leaves them as they are.
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
        let refused =
            first_blocks(Plan::host(), params, &Input::default(), 3, |_, _, _| panic!("nothing is given"));
        assert_eq!(refused, Err(HashError::TagLen { given: 3 }));
        let refused = memory(Plan::host(), params, &Input::default(), 3);
        assert_eq!(refused, Err(HashError::TagLen { given: 3 }));
    }

    /// In memory of either kind, which may hold anything before and holds nothing afterwards, on any number of threads.
    #[test]
    fn a_hash_in_two_calls_is_a_hash() {
        let input = Input { password: b"p", salt: b"somesalt", secret: b"s", associated_data: &[7; 100] };
        for (kib, passes, lanes, version) in
            [(64, 2, 1, Version::V13), (3000, 2, 5, Version::V10), (4096, 1, 4, Version::V13)]
        {
            let params = Params::new(kib, passes, lanes).unwrap().with_version(version);
            let expected: [u8; 40] = Hasher::new(params).hash(&input).unwrap();
            let check = |threads: usize, memory: Memory<'_>| {
                let begun = Begun::new(Plan::host(), params, version.number(), &input, 40, memory).unwrap();
                let mut given = [0; 40];
                begun.finish(&mut given, || threads, |task| drop(std::thread::spawn(task)));
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
                let few = Memory::Blocks(&mut blocks[1..]);
                let refused = Begun::new(Plan::host(), params, 19, &input, 40, few);
                assert!(matches!(refused, Err(HashError::TooFewBlocks { .. })));
                let short = Begun::new(Plan::host(), params, 19, &input, 3, Memory::Arena(&mut arena));
                assert!(matches!(short, Err(HashError::TagLen { given: 3 })));
            }
        }
    }

    /// A version that nobody defined is another one.
    #[test]
    fn every_version_has_a_tag_of_its_own() {
        let (params, input) = (Params::new(64, 2, 1).unwrap(), Input::new(b"p", b"somesalt"));
        let tag = |version| {
            let mut arena = Arena::default();
            let memory = Memory::Arena(&mut arena);
            let mut tag = [0; 16];
            let begun = Begun::new(Plan::host(), params, version, &input, 16, memory).unwrap();
            begun.finish(&mut tag, || 1, |_| unreachable!("one thread"));
            tag
        };
        assert_eq!(tag(0x13), Hasher::new(params).hash(&input).unwrap());
        let mut tags = [0, 0x10, 0x12, 0x13, 99, u32::MAX].map(tag);
        tags.sort_unstable();
        assert!(tags.windows(2).all(|two| two[0] != two[1]));
    }
}
