//! Blocks and their wiping.
#![expect(unsafe_code, reason = "wiping of memory that may not be initialised, past the caches")]

use core::ptr::NonNull;

/// One KiB, the unit of Argon2's memory.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct Block(pub(in crate::argon2) [u64; 128]);

impl Block {
    /// A block of zeroes.
    pub const ZERO: Block = Block([0; 128]);
}

impl Default for Block {
    fn default() -> Block {
        Block::ZERO
    }
}

/// Fills `blocks` with zeroes, in a way that the compiler cannot remove.
pub(in crate::argon2) fn wipe(blocks: &mut [Block]) {
    // SAFETY: a slice's own blocks.
    unsafe { wipe_raw(NonNull::from(&mut *blocks).cast(), blocks.len()) }
}

/// [`wipe`] for memory that may not be initialised.
///
/// # Safety
/// `len` blocks from `first` on, which no other code uses during the call.
pub(super) unsafe fn wipe_raw(first: NonNull<Block>, len: usize) {
    // SAFETY: the caller's; zeroes are valid blocks.
    unsafe {
        first.write_bytes(0, len);
        zeroize::optimization_barrier(NonNull::slice_from_raw_parts(first, len).as_ref());
    }
}

/// Fills blocks with zeroes, bypassing the caches.
///
/// # Safety
/// `len` blocks from `first` on, which no other code uses during the call.
#[cfg(kernels = "x86_64")]
pub(super) unsafe fn wipe_bypassing_cache(first: *mut Block, len: usize) {
    use core::arch::x86_64::{__m128i, _mm_setzero_si128, _mm_sfence, _mm_stream_si128};
    // SAFETY: the caller's, and SSE2 is part of x86-64. The fence orders these writes before this thread's
    // later writes.
    unsafe {
        for vector in 0..len * (size_of::<Block>() / 16) {
            _mm_stream_si128(first.cast::<__m128i>().add(vector), _mm_setzero_si128());
        }
        _mm_sfence();
    }
}
