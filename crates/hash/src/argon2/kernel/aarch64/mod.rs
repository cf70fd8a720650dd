//! Kernels of aarch64, one file for each instruction set.
#![expect(unsafe_code, reason = "vector loads and stores")]

pub(in crate::argon2) mod neon;
pub(in crate::argon2) mod sha3;

use crate::argon2::memory::Block;

/// Starts to fetch a block: every 64 bytes, although some processors have lines of 128.
#[inline(always)]
fn fetch(block: *const Block) {
    for line in 0..16 {
        let address = block.cast::<u8>().wrapping_add(64 * line);
        // SAFETY: a prefetch of any address is harmless, and it touches nothing else.
        unsafe {
            core::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
        }
    }
}
