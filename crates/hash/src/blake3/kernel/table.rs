//! Kernel table: the compiled inner loops of one instruction set, and their inputs.

use crate::blake3::BLOCK_LEN;
use crate::isa::Features;

/// A chaining value: eight words, each in the byte order of the machine.
pub(in crate::blake3) type Cv = [u32; 8];

/// The most lanes that any kernel works on at once.
pub(in crate::blake3) const MAX_LANES: usize = 32;

/// Lanes of one [`Lanes`].
pub(in crate::blake3) const GROUP: usize = 16;

/// The domain flags of a run of blocks: some hold for every block, some only for the first or the last.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(in crate::blake3) struct RunFlags(pub(in crate::blake3) u32);

impl RunFlags {
    /// `every` on each block, `first` and `last` in addition where they apply.
    #[inline(always)]
    pub(in crate::blake3) const fn new(every: u8, first: u8, last: u8) -> RunFlags {
        RunFlags(every as u32 | (first as u32) << 8 | (last as u32) << 16)
    }

    /// The flags of one block.
    #[inline(always)]
    pub(in crate::blake3) const fn at(self, first: bool, last: bool) -> u32 {
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

/// Compresses one message of 0..=1024 bytes, block after block, from `key`; the last block may be short.
///
/// `flags` applies per block; `counter` is the same for all. An empty message is one empty block.
pub(in crate::blake3) type Run =
    unsafe fn(key: &Cv, input: &[u8], counter: u64, flags: RunFlags, out: &mut Cv);

/// Root output blocks `counter..counter + out.len()`.
pub(in crate::blake3) type Xof = unsafe fn(job: &XofJob, counter: u64, out: &mut [[u8; BLOCK_LEN]]);

/// Values common to all blocks of one extended output.
#[derive(Clone)]
#[repr(C, align(64))]
pub(in crate::blake3) struct XofJob {
    pub(in crate::blake3) block: [u8; BLOCK_LEN],
    pub(in crate::blake3) cv: Cv,
    pub(in crate::blake3) len: u32,
    pub(in crate::blake3) flags: u32,
}

/// An operation of a kernel for several messages at once.
pub(in crate::blake3) struct Wide {
    /// The number of messages. Unused lanes get some valid input, and their results are ignored.
    pub(in crate::blake3) lanes: usize,
    /// Cycles per block step, to compare passes. Those of x86-64 were measured on Emerald Rapids, those of
    /// `avx2` on Zen 3, those of `avx512-ymm` on Zen 4, those of `avx512-twin` on Zen 5, each kernel alone;
    /// those of aarch64 were computed. Only ratios matter.
    pub(in crate::blake3) cost: u16,
    /// Computes `blocks` block steps in every lane. There is a [`Lanes`] for each [`GROUP`] of lanes; `cv`
    /// and `key` of the first apply to all.
    pub(in crate::blake3) advance: unsafe fn(lanes: &mut [Lanes], blocks: usize),
    /// As `advance`, for lanes at equal distances. Filling [`Words`] takes as long as half a block step
    /// unless it is compiled for the kernel's instruction set, so the kernels do it themselves.
    pub(in crate::blake3) uniform: unsafe fn(job: &UniformLanes),
}

/// Lanes at equal distances, with counters in steps of one or constant.
pub(in crate::blake3) struct UniformLanes {
    /// The start of the first lane's message, and the distance between messages.
    pub(in crate::blake3) input: *const u8,
    pub(in crate::blake3) stride: usize,
    /// The number of messages; further lanes repeat the last.
    pub(in crate::blake3) count: usize,
    #[cfg_attr(
        not(any(kernels = "x86_64", kernels = "aarch64", kernels = "wasm32")),
        expect(dead_code, reason = "only kernels of several lanes use it")
    )]
    pub(in crate::blake3) blocks: usize,
    /// The counter of the first lane, and whether it increases by one per lane.
    pub(in crate::blake3) counter: u64,
    pub(in crate::blake3) step: bool,
    pub(in crate::blake3) flags: RunFlags,
    pub(in crate::blake3) key: *const Cv,
    pub(in crate::blake3) cv: *mut Cv,
}

impl UniformLanes {
    /// The lanes of group `index`; if no message is left for it, a group that repeats the last.
    #[inline(always)]
    pub(in crate::blake3) fn group(&self, index: usize) -> UniformLanes {
        let before = index * GROUP;
        UniformLanes {
            input: self.input.wrapping_add(before.min(self.count - 1) * self.stride),
            count: self.count.saturating_sub(before).max(1),
            counter: self.counter.wrapping_add(if self.step { before as u64 } else { 0 }),
            cv: self.cv.wrapping_add(before),
            ..*self
        }
    }

    /// The start of each lane's input. Computed one by one and not as a vector: the kernel waits for the
    /// first.
    #[inline(always)]
    pub(in crate::blake3) fn inputs<const N: usize>(&self) -> [*const u8; N] {
        let mut next = self.input;
        core::array::from_fn(|lane| {
            let this = next;
            next = if lane + 1 < self.count { this.wrapping_add(self.stride) } else { this };
            this
        })
    }
}

/// Input and output of the lanes of a [`Wide`] kernel. Generated code depends on these offsets.
#[repr(C, align(64))]
pub(in crate::blake3) struct Lanes {
    /// The start of each lane's next block.
    pub(in crate::blake3) input: [*const u8; GROUP],
    pub(in crate::blake3) words: Words,
    /// Chaining values, lane after lane: always written; read first unless `key` is set.
    pub(in crate::blake3) cv: *mut Cv,
    /// The starting value of every lane, or null to continue from `cv`.
    pub(in crate::blake3) key: *const Cv,
}

/// The words of each lane besides its message.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(in crate::blake3) struct Words {
    pub(in crate::blake3) counter_low: [u32; GROUP],
    pub(in crate::blake3) counter_high: [u32; GROUP],
    /// The flags of the first, the last and every other block of this step; a single block takes `first | last`.
    pub(in crate::blake3) first: [u32; GROUP],
    pub(in crate::blake3) middle: [u32; GROUP],
    pub(in crate::blake3) last: [u32; GROUP],
    /// The length of the last block; all others are full.
    pub(in crate::blake3) last_len: [u32; GROUP],
}

impl Lanes {
    /// The lanes of a job. Inlined into each kernel's wrapper, see [`Wide::uniform`].
    #[inline(always)]
    pub(in crate::blake3) fn from_job(job: &UniformLanes) -> Lanes {
        let words = Words::uniform(job.flags, job.counter, job.step);
        Lanes { input: job.inputs(), words, cv: job.cv, key: job.key }
    }
}

impl Words {
    /// Counters from `counter` on if `step`, the same flags in every lane, full blocks.
    #[inline(always)]
    pub(in crate::blake3) fn uniform(flags: RunFlags, counter: u64, step: bool) -> Words {
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
    pub(in crate::blake3) name: &'static str,
    pub(in crate::blake3) needs: Features,
    pub(in crate::blake3) run: Run,
    /// Cycles per block of `run`, see [`Wide::cost`].
    pub(in crate::blake3) run_cost: u16,
    /// In ascending number of lanes.
    pub(in crate::blake3) wide: &'static [Wide],
    pub(in crate::blake3) xof: Xof,
}
