//! NEON with the SHA-3 extension, whose `xar` is exclusive-or and rotation in one instruction.
#![allow(
    inline_always_mismatching_target_features,
    reason = "the methods of `Words` are inlined into functions that have the features, and `xar` after them"
)]

use super::neon;
use crate::argon2::kernel::blake2b::Lanes;
use crate::argon2::kernel::pair::{self, Pair};
use crate::argon2::kernel::segment::{self, Compress};
use crate::argon2::kernel::table::Layout;
use crate::argon2::memory::Block;
use core::arch::aarch64::*;

segment::table!(Sha3, "neon-sha3", [Neon, Sha3], [Words], (#[target_feature(enable = "neon,sha3")]));

struct Sha3;

impl Compress for Sha3 {
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
#[target_feature(enable = "neon,sha3")]
unsafe fn compress<const ADD: bool>(prev: *const Block, reference: *const Block, dst: *mut Block) -> u64 {
    // SAFETY: this function has the instructions; the rest is the caller's.
    unsafe { pair::compress::<Words, ADD>(prev, reference, dst) }
}

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Words(neon::Words);

// SAFETY: sixteen bytes.
unsafe impl Lanes for Words {
    const COUNT: usize = 2;

    #[inline(always)]
    unsafe fn splat(word: u64) -> Words {
        // SAFETY: the caller has NEON, here and below.
        unsafe { Words(neon::Words::splat(word)) }
    }

    #[inline(always)]
    unsafe fn load(words: *const u64) -> Words {
        // SAFETY: the caller's.
        unsafe { Words(neon::Words::load(words)) }
    }

    #[inline(always)]
    unsafe fn store(self, words: *mut u64) {
        // SAFETY: the caller's.
        unsafe { self.0.store(words) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Words) -> Words {
        // SAFETY: NEON.
        unsafe { Words(self.0.plus(other.0)) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Words) -> Words {
        // SAFETY: NEON.
        unsafe { Words(self.0.xor(other.0)) }
    }

    #[inline(always)]
    unsafe fn xor_rotate_32(self, other: Words) -> Words {
        // SAFETY: the caller has SHA3.
        unsafe { Words(neon::Words(vxarq_u64::<32>(self.0.0, other.0.0))) }
    }

    #[inline(always)]
    unsafe fn xor_rotate_24(self, other: Words) -> Words {
        // SAFETY: the caller has SHA3.
        unsafe { Words(neon::Words(vxarq_u64::<24>(self.0.0, other.0.0))) }
    }

    #[inline(always)]
    unsafe fn xor_rotate_16(self, other: Words) -> Words {
        // SAFETY: the caller has SHA3.
        unsafe { Words(neon::Words(vxarq_u64::<16>(self.0.0, other.0.0))) }
    }

    #[inline(always)]
    unsafe fn xor_rotate_63(self, other: Words) -> Words {
        // SAFETY: the caller has SHA3.
        unsafe { Words(neon::Words(vxarq_u64::<63>(self.0.0, other.0.0))) }
    }
}

// SAFETY: sixteen bytes, aligned to sixteen.
unsafe impl Pair for Words {
    #[inline(always)]
    unsafe fn add(self, other: Words) -> Words {
        // SAFETY: the caller has NEON.
        unsafe { Words(self.0.add(other.0)) }
    }

    #[inline(always)]
    unsafe fn halves(self, next: Words) -> Words {
        // SAFETY: the caller has NEON.
        unsafe { Words(self.0.halves(next.0)) }
    }
}
