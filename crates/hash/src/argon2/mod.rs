//! Argon2 (RFC 9106): a hash that costs memory, for passwords, keys and proof of work.
#[cfg(kernels = "aarch64")]
mod aarch64;
#[cfg(feature = "std")]
mod arenas;
#[cfg(feature = "std")]
mod batch;
#[cfg(feature = "std")]
mod batches;
mod chain;
mod error;
mod fill;
#[cfg(feature = "std")]
mod hasher;
#[cfg(feature = "std")]
pub mod hazmat;
mod init_final;
mod kernel;
mod memory;
#[cfg(feature = "std")]
mod pages;
#[cfg(any(kernels = "x86_64", kernels = "aarch64", kernels = "wasm32"))]
mod pair;
mod params;
mod plan;
mod portable;
#[cfg(feature = "std")]
pub mod pow;
mod segment;
#[cfg(feature = "std")]
mod steps;
#[cfg(kernels = "wasm32")]
mod wasm32;
#[cfg(kernels = "x86_64")]
mod x86_64;

#[cfg(all(test, feature = "std"))]
mod tests;

pub use crate::stop::Stop;
#[cfg(feature = "std")]
pub use crate::work_sharing::Threads;
#[cfg(feature = "std")]
pub use arenas::Arenas;
#[cfg(feature = "std")]
pub(crate) use batch::hash_batch_until;
#[cfg(feature = "std")]
pub use batch::{Job, MAX_BATCH, batch_width, hash_batch_into};
#[cfg(feature = "std")]
pub use batches::Batches;
pub use error::HashError;
#[cfg(feature = "std")]
pub use hasher::{Hasher, Wipe};
pub use init_final::Input;
pub use kernel::Kernel;
#[cfg(test)]
pub(crate) use kernel::Table;
#[cfg(feature = "std")]
pub use memory::Arena;
pub use memory::Block;
#[cfg(feature = "std")]
pub use pages::{PageKind, PagePolicy};
pub use params::{Params, ParamsError, Variant, Version};
pub use plan::{Plan, Streams};
#[cfg(feature = "std")]
pub(crate) use steps::Course;
#[cfg(feature = "std")]
pub use steps::{Step, Steps};

/// The tag of `input`, in memory that the caller owns: at least [`Params::blocks`] blocks, whose content before does
/// not matter and which are wiped afterwards.
///
/// One thread, no allocation. `tag` may be 4 to 2^32 - 1 bytes long; its length is part of what is hashed.
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
    init_final::check(input, tag.len())?;
    let given = memory.len() as u64;
    let few = HashError::TooFewBlocks { given, needed: params.blocks() };
    let mut matrices = [memory::Matrix::new(memory, params.shape()).ok_or(few)?];
    let kernel = plan.kernel();
    init_final::begin(kernel, params, input, tag.len(), &mut matrices[0]);
    let width = plan.width(params).min(params.lanes() as usize);
    fill::Fill::new(plan, params, &matrices, width, &Stop::new()).wiping(true).run();
    init_final::finish(kernel, &mut matrices[0], tag);
    matrices[0].wipe_last_blocks();
    Ok(())
}
