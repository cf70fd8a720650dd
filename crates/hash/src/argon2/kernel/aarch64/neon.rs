//! NEON: two words at a time.

use crate::argon2::kernel::blake2b::Lanes;
use crate::argon2::kernel::pair::{self, Pair};
use crate::argon2::kernel::segment::{self, Compress};
use crate::argon2::kernel::table::Layout;
use crate::argon2::memory::Block;
use core::arch::aarch64::*;

segment::table!(Neon, "neon", [Neon], [Words], (#[target_feature(enable = "neon")]));

struct Neon;

impl Compress for Neon {
    const LAYOUT: Layout = Layout::Natural;

    #[inline(always)]
    unsafe fn compress<const ADD: bool>(prev: *const Block, reference: *const Block, dst: *mut Block) -> u64 {
        // SAFETY: the caller's.
        unsafe { compress::<ADD>(prev, reference, dst) }
    }

    #[inline(always)]
    fn fetch(block: *const Block) {
        super::fetch(block);
    }
}

/// # Safety
/// As [`Compress::compress`].
#[target_feature(enable = "neon")]
unsafe fn compress<const ADD: bool>(prev: *const Block, reference: *const Block, dst: *mut Block) -> u64 {
    // SAFETY: this function has the instructions; the rest is the caller's.
    unsafe { pair::compress::<Words, ADD>(prev, reference, dst) }
}

#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Words(pub(super) uint64x2_t);

// SAFETY: sixteen bytes.
unsafe impl Lanes for Words {
    const COUNT: usize = 2;

    #[inline(always)]
    unsafe fn splat(word: u64) -> Words {
        // SAFETY: the caller has NEON, here and below.
        unsafe { Words(vdupq_n_u64(word)) }
    }

    #[inline(always)]
    unsafe fn load(words: *const u64) -> Words {
        // SAFETY: the caller's.
        unsafe { Words(vld1q_u64(words)) }
    }

    #[inline(always)]
    unsafe fn store(self, words: *mut u64) {
        // SAFETY: the caller's.
        unsafe { vst1q_u64(words, self.0) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Words) -> Words {
        // SAFETY: NEON.
        unsafe { Words(vaddq_u64(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Words) -> Words {
        // SAFETY: NEON.
        unsafe { Words(veorq_u64(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn xor_rotate_32(self, other: Words) -> Words {
        // SAFETY: NEON.
        unsafe {
            let x = vreinterpretq_u32_u64(veorq_u64(self.0, other.0));
            Words(vreinterpretq_u64_u32(vrev64q_u32(x)))
        }
    }

    #[inline(always)]
    unsafe fn xor_rotate_24(self, other: Words) -> Words {
        // SAFETY: NEON.
        unsafe {
            let x = veorq_u64(self.0, other.0);
            Words(vsriq_n_u64::<24>(vshlq_n_u64::<40>(x), x))
        }
    }

    #[inline(always)]
    unsafe fn xor_rotate_16(self, other: Words) -> Words {
        // SAFETY: NEON.
        unsafe {
            let x = veorq_u64(self.0, other.0);
            Words(vsriq_n_u64::<16>(vshlq_n_u64::<48>(x), x))
        }
    }

    #[inline(always)]
    unsafe fn xor_rotate_63(self, other: Words) -> Words {
        // SAFETY: NEON.
        unsafe {
            let x = veorq_u64(self.0, other.0);
            Words(vsriq_n_u64::<63>(vaddq_u64(x, x), x))
        }
    }
}

// SAFETY: sixteen bytes, aligned to sixteen.
unsafe impl Pair for Words {
    #[inline(always)]
    unsafe fn add(self, other: Words) -> Words {
        // SAFETY: the caller has NEON.
        unsafe {
            let (x, y) = (vmovn_u64(self.0), vmovn_u64(other.0));
            Words(vmlal_u32(vmlal_u32(vaddq_u64(self.0, other.0), x, y), x, y))
        }
    }

    #[inline(always)]
    unsafe fn halves(self, next: Words) -> Words {
        // SAFETY: the caller has NEON.
        unsafe { Words(vextq_u64::<1>(self.0, next.0)) }
    }
}
