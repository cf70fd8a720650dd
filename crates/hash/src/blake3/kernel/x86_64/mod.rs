//! Kernels for x86-64: wrappers around generated assembly.
//!
//! The assembly is written by `crates/codegen/src/assembly`, which describes the algorithm of each form. Each wrapper
//! lists the registers of its body; the bodies use only registers that the System V ABI lets a callee
//! clobber, except where a wrapper lists more.
#![expect(unsafe_code, reason = "vector loads and stores, and assembly")]

mod avx2;
mod avx512;
mod sse41;

pub(in crate::blake3) use avx2::AVX2;
pub(in crate::blake3) use avx512::{AVX512, AVX512_TWIN, AVX512_YMM};
pub(in crate::blake3) use sse41::SSE41;

use super::table::{GROUP, Lanes, UniformLanes, Words};
use crate::blake3::{BLOCK_LEN, IV};
use core::mem::{MaybeUninit, offset_of};

/// Working memory of a body: message words in the order of use, and spilled words.
#[repr(C, align(64))]
struct Scratch<const SIZE: usize>(MaybeUninit<[u8; SIZE]>);

/// Bytes for column bodies, and for those that copy pairs.
const PLAIN: usize = 3200;
const PAIRED: usize = 4800;

impl<const SIZE: usize> Scratch<SIZE> {
    fn new() -> Scratch<SIZE> {
        Scratch(MaybeUninit::uninit())
    }
}

/// Constants of the bodies, at `r11`.
#[repr(C, align(64))]
struct Constants {
    iv: [[u32; 16]; 4],
    full_len: [u32; 16],
    rotate_16: [u32; 16],
    rotate_8: [u32; 16],
    iv_row: [u32; 4],
    unused: [u32; 12],
    lane_numbers: [u32; 32],
}

static CONSTANTS: Constants = Constants {
    iv: [[IV[0]; 16], [IV[1]; 16], [IV[2]; 16], [IV[3]; 16]],
    full_len: [BLOCK_LEN as u32; 16],
    rotate_16: shuffle_mask(2),
    rotate_8: shuffle_mask(1),
    iv_row: [IV[0], IV[1], IV[2], IV[3]],
    unused: [0; 12],
    lane_numbers: numbers(),
};

/// 0, 1, 2, …
const fn numbers() -> [u32; 32] {
    let mut numbers = [0; 32];
    let mut lane = 1;
    while lane < 32 {
        numbers[lane] = lane as u32;
        lane += 1;
    }
    numbers
}

/// The byte shuffle that rotates each word right by `bytes` bytes.
const fn shuffle_mask(bytes: usize) -> [u32; 16] {
    let mut words = [0; 16];
    let mut word = 0;
    while word < 16 {
        let mut byte = 0;
        while byte < 4 {
            let from = 4 * (word % 4) + (byte + bytes) % 4;
            words[word] |= (from as u32) << (8 * byte);
            byte += 1;
        }
        word += 1;
    }
    words
}

// Assumptions of the generator, see its constants of the same names.
const _: () = {
    assert!(GROUP == 16 && size_of::<Lanes>() == 576);
    assert!(offset_of!(Lanes, words) == 128 && offset_of!(Lanes, cv) == 512 && offset_of!(Lanes, key) == 520);
    assert!(offset_of!(Words, counter_low) == 0 && offset_of!(Words, counter_high) == 64);
    assert!(offset_of!(Words, first) == 128 && offset_of!(Words, middle) == 192);
    assert!(offset_of!(Words, last) == 256 && offset_of!(Words, last_len) == 320);
    assert!(offset_of!(Constants, full_len) == 256 && offset_of!(Constants, rotate_16) == 320);
    assert!(offset_of!(Constants, rotate_8) == 384 && offset_of!(Constants, iv_row) == 448);
    assert!(offset_of!(Constants, lane_numbers) == 512);
    assert!(offset_of!(super::table::XofJob, block) == 0 && offset_of!(super::table::XofJob, cv) == 64);
    assert!(offset_of!(super::table::XofJob, len) == 96 && offset_of!(super::table::XofJob, flags) == 100);
};

/// The part of [`Lanes`] that a body of `N` lanes reads: filling a whole [`GROUP`] takes 75 cycles more for
/// eight lanes (Zen 3).
#[inline(always)]
fn first_lanes<const N: usize>(job: &UniformLanes) -> MaybeUninit<Lanes> {
    const { assert!(N <= GROUP) };
    let mut lanes = MaybeUninit::<Lanes>::uninit();
    let to = lanes.as_mut_ptr();
    let counters: [u64; N] =
        core::array::from_fn(|lane| job.counter.wrapping_add(if job.step { lane as u64 } else { 0 }));
    let flags = |first, last| [job.flags.at(first, last); N];
    // SAFETY: each field is part of `lanes`, and an array with room for at least `N` elements.
    unsafe {
        (&raw mut (*to).input).cast::<[*const u8; N]>().write(job.inputs());
        let words = &raw mut (*to).words;
        let put = |field: *mut [u32; GROUP], words: [u32; N]| field.cast::<[u32; N]>().write(words);
        put(&raw mut (*words).counter_low, counters.map(|counter| counter as u32));
        put(&raw mut (*words).counter_high, counters.map(|counter| (counter >> 32) as u32));
        put(&raw mut (*words).first, flags(true, false));
        put(&raw mut (*words).middle, flags(false, false));
        put(&raw mut (*words).last, flags(false, true));
        put(&raw mut (*words).last_len, [BLOCK_LEN as u32; N]);
        (&raw mut (*to).cv).write(job.cv);
        (&raw mut (*to).key).write(job.key);
    }
    lanes
}

/// A column body: `$blocks` blocks in every lane of `$lanes`.
macro_rules! advance {
    ($file:literal, $scratch:ident, $lanes:ident, $blocks:ident $(, $($operand:tt)+)?) => {{
        let mut scratch = $crate::blake3::kernel::x86_64::Scratch::<{ $crate::blake3::kernel::x86_64::$scratch }>::new();
        // SAFETY: the caller's lanes are readable and writable as `Wide::advance` requires; scratch is as
        // large as the body needs; the body clobbers only what the ABI allows and what its wrapper lists.
        unsafe {
            core::arch::asm!(
                include_str!($file),
                inout("rdi") $lanes.as_mut_ptr() => _,
                inout("rsi") $blocks => _,
                in("r10") &raw mut scratch,
                in("r11") &raw const $crate::blake3::kernel::x86_64::CONSTANTS,
                $($($operand)+,)?
                clobber_abi("sysv64"),
                options(raw),
            );
        }
    }};
}
use advance;

/// An output body: whole groups of blocks.
macro_rules! xof {
    ($file:literal, $job:ident, $counter:expr, $groups:ident) => {{
        // Bodies that copy pairs need no more than this for output.
        let mut scratch = $crate::blake3::kernel::x86_64::Scratch::<{ $crate::blake3::kernel::x86_64::PLAIN }>::new();
        // SAFETY: the body writes `groups.len()` groups; scratch is as large as the body needs; the body
        // clobbers only what the ABI allows.
        unsafe {
            core::arch::asm!(
                include_str!($file),
                inout("rdi") &raw const *$job => _,
                inout("rsi") $counter => _,
                inout("rdx") $groups.len() => _,
                inout("rcx") $groups.as_mut_ptr() => _,
                in("r10") &raw mut scratch,
                in("r11") &raw const $crate::blake3::kernel::x86_64::CONSTANTS,
                clobber_abi("sysv64"),
                options(raw),
            );
        }
    }};
}
use xof;

/// An output body: whole groups in place, the rest through a copy of one more.
macro_rules! xof_all {
    ($file:literal, $group:literal, $job:ident, $counter:ident, $out:ident) => {{
        let (groups, rest) = $out.as_chunks_mut::<$group>();
        if !groups.is_empty() {
            $crate::blake3::kernel::x86_64::xof!($file, $job, $counter, groups);
        }
        if !rest.is_empty() {
            let mut more = [[[0; 64]; $group]];
            let group = &mut more[..];
            // The counter of the last block may be the largest; lanes behind it wrap and are discarded.
            let counter = $counter.wrapping_add((groups.len() * $group) as u64);
            $crate::blake3::kernel::x86_64::xof!($file, $job, counter, group);
            rest.copy_from_slice(&more[0][..rest.len()]);
        }
    }};
}
use xof_all;

/// A row body for one message. The last block is read in place if it is whole or if the body masks its loads
/// (`$padded` is false), otherwise from a padded copy.
macro_rules! run {
    ($file:literal, $padded:literal, $key:ident, $input:ident, $counter:ident, $flags:ident, $out:ident
        $(, $($operand:tt)+)?) => {{
        let whole = $input.len().saturating_sub(1) / 64 * 64;
        let last = &$input[whole..];
        let mut padded = [0_u8; 64];
        let last_block = if !$padded && last.is_empty() {
            // An empty slice may point anywhere, and masked loads of an address without memory are slow.
            (&raw const $crate::blake3::kernel::x86_64::CONSTANTS).cast()
        } else if !$padded || last.len() == 64 {
            last.as_ptr()
        } else {
            padded[..last.len()].copy_from_slice(last);
            padded.as_ptr()
        };
        // SAFETY: all blocks but the last are in `input`; of the last, the body reads `last.len()` bytes if
        // it masks and 64 otherwise; the body clobbers only what the ABI allows and what its wrapper lists,
        // and pops what it pushes.
        unsafe {
            core::arch::asm!(
                include_str!($file),
                inout("rdi") &raw const *$key => _,
                inout("rsi") $input.as_ptr() => _,
                inout("rdx") whole / 64 + 1 => _,
                inout("rcx") $counter => _,
                inout("r8") u64::from($flags.0) => _,
                in("r9") &raw mut *$out,
                in("r10") last_block,
                in("r11") &raw const $crate::blake3::kernel::x86_64::CONSTANTS,
                in("rax") last.len(),
                $($($operand)+,)?
                clobber_abi("sysv64"),
                options(raw),
            );
        }
    }};
}
use run;
