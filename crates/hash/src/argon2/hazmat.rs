//! The two ends of a hash, for who fills the memory elsewhere: on a device.
//!
//! A block is 128 words in the order of the standard. Nothing here checks what was filled in between: a memory that is wrong has a
//! tag, too.

use super::error::HashError;
use super::fill::Fill;
use super::init_final::{self, Input};
use super::memory::{Block, Matrix, wipe};
use super::params::Params;
use super::plan::Plan;
use crate::stop::Stop;
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
    init_final::first_blocks(kernel, params, input, tag_len, |lane, index, block| {
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

#[cfg(test)]
mod tests {
    use super::super::{Hasher, Kernel, Variant};
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
}
