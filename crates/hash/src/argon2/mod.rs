//! Argon2 (RFC 9106): a hash that costs memory, for passwords, keys and proof of work.
#[cfg(target_arch = "aarch64")]
mod aarch64;
mod chain;
mod ends;
mod error;
mod fill;
mod kernel;
mod memory;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod pair;
mod params;
mod portable;
mod segment;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(all(test, feature = "std"))]
mod tests;

pub use ends::Input;
pub use error::HashError;
pub use fill::Stop;
pub use kernel::Kernel;
pub use memory::Block;
pub use params::{Params, ParamsError, Variant, Version};

/// The tag of `input`, in memory that the caller owns: at least [`Params::blocks`] blocks, whose content before does
/// not matter and which are wiped afterwards.
///
/// One thread, no allocation. `tag` may be 4 to 2^32 - 1 bytes long; its length is part of what is hashed.
///
/// # Errors
/// [`HashError::TooFewBlocks`] if the memory is too small; a length out of range.
pub fn hash_into_with_memory(
    kernel: Kernel,
    params: Params,
    input: &Input<'_>,
    memory: &mut [Block],
    tag: &mut [u8],
) -> Result<(), HashError> {
    ends::check(input, tag.len())?;
    let given = memory.len() as u64;
    let few = HashError::TooFewBlocks { given, needed: params.blocks() };
    let mut matrices = [memory::Matrix::new(memory, params.shape()).ok_or(few)?];
    ends::begin(kernel, params, input, tag.len(), &mut matrices[0]);
    let stop = Stop::new();
    let fill = fill::Fill { kernel, params, matrices: &matrices, width: 1, stop: &stop };
    fill.run();
    ends::finish(kernel, &mut matrices[0], tag);
    let [_] = matrices;
    let used = params.blocks() as usize;
    memory::wipe(&mut memory[..used]);
    Ok(())
}
