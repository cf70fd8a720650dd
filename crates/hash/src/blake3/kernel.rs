//! What a kernel of BLAKE3 is: a table of compiled inner loops for each instruction set.
//!
//! Tables hold coarse work (up to a chunk, or up to sixteen of them), so the indirect call is paid once per kilobyte, not once
//! per block.

#[cfg(kernels = "aarch64")]
use super::aarch64;
#[cfg(kernels = "wasm32")]
use super::wasm32;
#[cfg(kernels = "x86_64")]
use super::x86_64;
use super::{BLOCK_LEN, portable};
use crate::isa::Features;
use crate::kernels;

/// A chaining value: eight words, each in the byte order of the machine.
pub(super) type Cv = [u32; 8];

/// The most lanes that any kernel works on at once.
pub(super) const MAX_LANES: usize = 32;

/// How many of them a [`Lanes`] has.
pub(super) const GROUP: usize = 16;

/// The domain flags of a run of blocks: some hold for every block, some only for the first or the last.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct RunFlags(pub(super) u32);

impl RunFlags {
    /// `every` on each block, `first` and `last` in addition where they apply.
    #[inline(always)]
    pub(super) const fn new(every: u8, first: u8, last: u8) -> RunFlags {
        RunFlags(every as u32 | (first as u32) << 8 | (last as u32) << 16)
    }

    /// The flags of one block.
    #[inline(always)]
    pub(super) const fn at(self, first: bool, last: bool) -> u32 {
        let mut flags = self.0;
        if first {
            flags |= self.0 >> 8;
        }
        if last {
            flags |= self.0 >> 16;
        }
        flags & 0xff
    }
}

/// One message of 0..=1024 bytes, block after block from `key`; the last block may be short.
///
/// `flags` applies per block; `counter` is the same for all. A message of no bytes is one empty block.
pub(super) type Run = unsafe fn(key: &Cv, input: &[u8], counter: u64, flags: RunFlags, out: &mut Cv);

/// Root output blocks `counter..counter + out.len()`.
pub(super) type Xof = unsafe fn(job: &XofJob, counter: u64, out: &mut [[u8; BLOCK_LEN]]);

/// What all output blocks of one extended output share.
#[derive(Clone)]
#[repr(C, align(64))]
pub(super) struct XofJob {
    pub(super) block: [u8; BLOCK_LEN],
    pub(super) cv: Cv,
    pub(super) len: u32,
    pub(super) flags: u32,
}

/// A kernel that takes the same step in several messages at once.
pub(super) struct Wide {
    /// How many messages. Lanes that are not needed are given some valid input and ignored.
    pub(super) lanes: usize,
    /// Cycles per block step, to weigh passes against each other. Those of x86-64 were measured on Emerald Rapids, those
    /// of `avx2` on Zen 3, those of `avx512-ymm` on Zen 4, those of `avx512-twin` on Zen 5, each kernel alone; those of
    /// aarch64 were computed. Only ratios matter.
    pub(super) cost: u16,
    /// `blocks` block steps in every lane. There is a [`Lanes`] for each [`GROUP`] of them; `cv` and `key` of the first
    /// hold for all.
    pub(super) advance: unsafe fn(lanes: &mut [Lanes], blocks: usize),
    /// The same for lanes at equal distances. Filling [`Words`] takes as long as half a block step
    /// unless it is compiled for the instruction set of the kernel, so the kernels do it themselves.
    pub(super) uniform: unsafe fn(job: &Uniform),
}

/// Lanes at equal distances, with counters in steps of one or without.
pub(super) struct Uniform {
    /// Where the first lane's message begins, and how far apart messages are.
    pub(super) input: *const u8,
    pub(super) stride: usize,
    /// How many messages there are; lanes beyond repeat the last.
    pub(super) count: usize,
    #[cfg_attr(
        not(any(kernels = "x86_64", kernels = "aarch64", kernels = "wasm32")),
        expect(dead_code, reason = "only kernels of several lanes want it")
    )]
    pub(super) blocks: usize,
    /// The counter of the first lane, and whether it grows from lane to lane.
    pub(super) counter: u64,
    pub(super) step: bool,
    pub(super) flags: RunFlags,
    pub(super) key: *const Cv,
    pub(super) cv: *mut Cv,
}

impl Uniform {
    /// The lanes of the group at `index`; where no message is left for it, one that repeats the last.
    #[inline(always)]
    pub(super) fn group(&self, index: usize) -> Uniform {
        let before = index * GROUP;
        Uniform {
            input: self.input.wrapping_add(before.min(self.count - 1) * self.stride),
            count: self.count.saturating_sub(before).max(1),
            counter: self.counter.wrapping_add(if self.step { before as u64 } else { 0 }),
            cv: self.cv.wrapping_add(before),
            ..*self
        }
    }

    /// Where each lane begins. One after the other and not as a vector: the kernel waits for the first.
    #[inline(always)]
    pub(super) fn inputs<const N: usize>(&self) -> [*const u8; N] {
        let mut next = self.input;
        core::array::from_fn(|lane| {
            let this = next;
            next = if lane + 1 < self.count { this.wrapping_add(self.stride) } else { this };
            this
        })
    }
}

/// What the lanes of a [`Wide`] kernel read and write. Generated code knows these offsets.
#[repr(C, align(64))]
pub(super) struct Lanes {
    /// Where each lane's next block begins.
    pub(super) input: [*const u8; GROUP],
    pub(super) words: Words,
    /// Chaining values, lane after lane: written always, read first unless `key` is set.
    pub(super) cv: *mut Cv,
    /// Where every lane starts, or null to go on from `cv`.
    pub(super) key: *const Cv,
}

/// The words of each lane that are not message.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Words {
    pub(super) counter_low: [u32; GROUP],
    pub(super) counter_high: [u32; GROUP],
    /// The flags of the first, the last and every other block of this step; a single block takes `first | last`.
    pub(super) first: [u32; GROUP],
    pub(super) middle: [u32; GROUP],
    pub(super) last: [u32; GROUP],
    /// The length of the last block; all others are full.
    pub(super) last_len: [u32; GROUP],
}

impl Lanes {
    /// The lanes of a job. Inlined into each kernel's shell, see [`Wide::uniform`].
    #[inline(always)]
    pub(super) fn of(job: &Uniform) -> Lanes {
        let words = Words::of(job.flags, job.counter, job.step);
        Lanes { input: job.inputs(), words, cv: job.cv, key: job.key }
    }
}

impl Words {
    /// Counters `counter..` if `step`, the same flags in every lane, full blocks.
    #[inline(always)]
    pub(super) fn of(flags: RunFlags, counter: u64, step: bool) -> Words {
        let mut words = Words {
            counter_low: [counter as u32; GROUP],
            counter_high: [(counter >> 32) as u32; GROUP],
            first: [flags.at(true, false); GROUP],
            middle: [flags.at(false, false); GROUP],
            last: [flags.at(false, true); GROUP],
            last_len: [BLOCK_LEN as u32; GROUP],
        };
        if step {
            for lane in 0..GROUP {
                words.counter_low[lane] = words.counter_low[lane].wrapping_add(lane as u32);
                words.counter_high[lane] =
                    words.counter_high[lane].wrapping_add(u32::from(words.counter_low[lane] < lane as u32));
            }
        }
        words
    }
}

/// The inner loops of one instruction set.
pub struct Table {
    pub(super) name: &'static str,
    pub(super) needs: Features,
    pub(super) run: Run,
    /// Cycles per block of `run`, see [`Wide::cost`].
    pub(super) run_cost: u16,
    /// In ascending number of lanes.
    pub(super) wide: &'static [Wide],
    pub(super) xof: Xof,
}

/// A kernel of BLAKE3 that runs on this CPU.
pub type Kernel = kernels::Kernel<Table>;

impl kernels::Table for Table {
    const ALL: &'static [&'static Table] = &[
        &portable::TABLE,
        #[cfg(kernels = "x86_64")]
        &x86_64::SSE41,
        #[cfg(kernels = "x86_64")]
        &x86_64::AVX2,
        #[cfg(kernels = "x86_64")]
        &x86_64::AVX512_YMM,
        #[cfg(kernels = "x86_64")]
        &x86_64::AVX512,
        #[cfg(kernels = "x86_64")]
        &x86_64::AVX512_TWIN,
        #[cfg(kernels = "aarch64")]
        &aarch64::NEON,
        #[cfg(kernels = "aarch64")]
        &aarch64::NEON_TWIN,
        #[cfg(kernels = "wasm32")]
        &wasm32::SIMD128,
    ];

    fn name(&self) -> &'static str {
        self.name
    }

    fn needs(&self) -> Features {
        self.needs
    }
}

impl Kernel {
    /// How many chunks it hashes at once.
    pub fn lanes(self) -> usize {
        self.table().wide.last().map_or(1, |wide| wide.lanes)
    }
}
