//! Argon2 (RFC 9106): a hash that costs memory, for passwords, keys and proof of work.

#[cfg(feature = "std")]
mod batch;
mod error;
mod fill;
#[cfg(feature = "std")]
mod hasher;
#[cfg(feature = "std")]
pub mod hazmat;
mod kernel;
mod memory;
mod params;
mod plan;
#[cfg(feature = "std")]
pub mod pow;

#[cfg(all(test, feature = "std"))]
mod tests;

pub use crate::stop::Stop;
#[cfg(feature = "std")]
pub use crate::work_sharing::Threads;
#[cfg(feature = "std")]
pub(crate) use batch::hash_batch_until;
#[cfg(feature = "std")]
pub use batch::{Batches, Job, MAX_BATCH, batch_width, hash_batch_into};
pub use error::HashError;
pub use fill::Input;
#[cfg(feature = "std")]
pub(crate) use hasher::StepState;
#[cfg(feature = "std")]
pub use hasher::{Arenas, Hasher, Step, Steps, Wipe};
pub use kernel::Kernel;
#[cfg(test)]
pub(crate) use kernel::Table;
pub use memory::Block;
#[cfg(feature = "std")]
pub use memory::{Arena, PageKind, PagePolicy};
pub use params::{Params, ParamsError, Variant, Version};
pub use plan::{Plan, Streams};

/// Computes the tag of `input` in the caller's memory: at least [`Params::blocks`] blocks with any content, which
/// are wiped afterwards.
///
/// One thread, no allocation. `tag` may be 4 to 2^32 - 1 bytes long; its length is part of the input.
///
/// # Errors
/// [`HashError::TooFewBlocks`] if the memory is too small; a length out of range.
pub fn hash_into_with_memory(
    plan: Plan,
    params: Params,
    input: &Input<'_>,
    memory: &mut [Block],
    tag: &mut [u8],
) -> Result<(), HashError> {
    fill::check(input, tag.len())?;
    let given = memory.len() as u64;
    let too_few = HashError::TooFewBlocks { given, needed: params.blocks() };
    let mut matrices = [memory::Matrix::new(memory, params.shape()).ok_or(too_few)?];
    let kernel = plan.kernel();
    fill::begin(kernel, params, input, tag.len(), &mut matrices[0]);
    let width = plan.width(params).min(params.lanes() as usize);
    fill::Fill::new(plan, params, &matrices, width, &Stop::new()).wiping(true).run();
    fill::finish(kernel, &mut matrices[0], tag);
    matrices[0].wipe_last_blocks();
    Ok(())
}
