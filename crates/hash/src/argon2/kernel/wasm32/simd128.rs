//! WebAssembly's 128-bit vectors: two words at a time.

use crate::argon2::kernel::blake2b::Lanes;
use crate::argon2::kernel::pair::{self, Pair};
use crate::argon2::kernel::segment::{self, Compress};
use crate::argon2::kernel::table::Layout;
use crate::argon2::memory::Block;
use core::arch::wasm32::*;

segment::table!(Simd128, "simd128", [Simd128], [Words], ());

struct Simd128;

impl Compress for Simd128 {
    const LAYOUT: Layout = Layout::Natural;

    #[inline]
    unsafe fn compress<const ADD: bool>(prev: *const Block, reference: *const Block, dst: *mut Block) -> u64 {
        // SAFETY: the caller's.
        unsafe { pair::compress::<Words, ADD>(prev, reference, dst) }
    }

    const FETCHES: bool = false;

    #[inline(always)]
    fn fetch(_: *const Block) {}
}

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Words(v128);

// SAFETY: sixteen bytes.
unsafe impl Lanes for Words {
    const COUNT: usize = 2;

    #[inline(always)]
    unsafe fn splat(word: u64) -> Words {
        Words(u64x2_splat(word))
    }

    #[inline(always)]
    unsafe fn load(words: *const u64) -> Words {
        // SAFETY: the caller's; any alignment will do.
        unsafe { Words(v128_load(words.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, words: *mut u64) {
        // SAFETY: the caller's; any alignment will do.
        unsafe { v128_store(words.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Words) -> Words {
        Words(u64x2_add(self.0, other.0))
    }

    #[inline(always)]
    unsafe fn xor(self, other: Words) -> Words {
        Words(v128_xor(self.0, other.0))
    }

    #[inline(always)]
    unsafe fn xor_rotate_32(self, other: Words) -> Words {
        let x = v128_xor(self.0, other.0);
        Words(u32x4_shuffle::<1, 0, 3, 2>(x, x))
    }

    #[inline(always)]
    unsafe fn xor_rotate_24(self, other: Words) -> Words {
        rotate::<24>(v128_xor(self.0, other.0))
    }

    #[inline(always)]
    unsafe fn xor_rotate_16(self, other: Words) -> Words {
        rotate::<16>(v128_xor(self.0, other.0))
    }

    #[inline(always)]
    unsafe fn xor_rotate_63(self, other: Words) -> Words {
        let x = v128_xor(self.0, other.0);
        Words(v128_or(u64x2_add(x, x), u64x2_shr(x, 63)))
    }
}

#[inline(always)]
fn rotate<const BITS: u32>(x: v128) -> Words {
    Words(v128_or(u64x2_shr(x, BITS), u64x2_shl(x, 64 - BITS)))
}

// SAFETY: sixteen bytes, aligned to sixteen.
unsafe impl Pair for Words {
    #[inline(always)]
    unsafe fn add(self, other: Words) -> Words {
        let (x, y) = (self.0, other.0);
        let low = |x| u32x4_shuffle::<0, 2, 0, 2>(x, x);
        let product = u64x2_extmul_low_u32x4(low(x), low(y));
        Words(u64x2_add(u64x2_add(x, y), u64x2_add(product, product)))
    }

    #[inline(always)]
    unsafe fn halves(self, next: Words) -> Words {
        Words(u64x2_shuffle::<1, 2>(self.0, next.0))
    }
}
