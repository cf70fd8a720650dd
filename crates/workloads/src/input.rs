//! Pseudo-random input bytes: equal for a seed on every machine, in leaked memory.

use hashmill_lab::model::engine::CaseError;
use hashmill_machine::HugeBytes;

/// Input of one-message engines.
pub type Bytes = &'static [u8];

/// `len` pseudo-random bytes.
///
/// The memory is never freed: a session is a short process, and messages may point into it.
pub(crate) fn bytes(len: u64, seed: u64) -> Result<&'static [u8], CaseError> {
    let len = usize::try_from(len).map_err(CaseError::failed)?;
    // A mapping cannot be empty.
    let memory = HugeBytes::zeroed(len.max(1));
    let memory = memory.map_err(|error| CaseError::unavailable(format!("{len} bytes of memory: {error}")))?;
    let memory = Box::leak(Box::new(memory));
    let mut state = seed;
    for piece in memory.chunks_mut(8) {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word ^= word >> 27;
        piece.copy_from_slice(&word.to_le_bytes()[..piece.len()]);
    }
    Ok(&memory[..len])
}
