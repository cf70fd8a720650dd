//! Tuning table: kernel, interleaved streams, and threshold for a second thread, per kind of processor.
//!
//! A row is chosen once per process by the processor's vendor and features. To add a processor, add a row; to
//! measure one, run `cargo rivals argon2` on it, or `hashmill tune` for the kernel and the streams.

#[cfg(kernels = "aarch64")]
use super::kernel::aarch64;
use super::kernel::portable;
#[cfg(kernels = "wasm32")]
use super::kernel::wasm32;
#[cfg(kernels = "x86_64")]
use super::kernel::x86_64;
use super::kernel::{Kernel, MAX_STREAMS, Table};
use super::params::Params;
#[cfg(kernels = "x86_64")]
use crate::isa::Vendor;
use crate::kernels;
use core::fmt;

/// One row: a kind of processor and its best settings.
struct Row {
    /// The kind of processor, as `hashmill info` prints it.
    kind: &'static str,
    /// The source of the row: a record, or a note that it is unmeasured.
    basis: &'static str,
    /// Is the basis a record of such a processor?
    measured: bool,
    fits: kernels::Fits,
    table: &'static Table,
    /// Lanes of a hash that a thread interleaves.
    widths: Streams,
    /// Hashes of a proof of work that a thread interleaves, if memory permits. Each has memory of its own and
    /// waits for it, so one more than of lanes may pay.
    #[cfg_attr(not(feature = "std"), expect(dead_code, reason = "there is no search"))]
    nonces: usize,
    /// Memory in KiB from which it counts as much larger than the caches, see `kernel/segment.rs`; and from which its
    /// wiping bypasses them.
    far_from: [u32; 2],
    /// Blocks of work (memory times passes) from which a second thread pays for its wake-up.
    #[cfg_attr(not(feature = "std"), expect(dead_code, reason = "there are no threads"))]
    parallel_from: u64,
}

/// Streams that a thread interleaves: the first entry whose memory (in KiB, of one hash) is not less.
pub type Streams = &'static [(u32, usize)];

fn streams(table: Streams, params: Params) -> usize {
    let entry = table.iter().find(|(memory, _)| params.memory_kib() <= *memory);
    entry.map_or(1, |(_, count)| *count).clamp(1, MAX_STREAMS)
}

/// Memory sizes at which hashes are better computed one by one: a thread's share of the last cache holds one
/// of them, but not two. Measured on Zen 4 with 32 MiB for two cores, two at a time against one, by the
/// example `batch`, on one and on two threads: 1.02 and 1.00 at 4 MiB, 1.04 and 0.95 at 7 MiB, 0.94 and 0.83
/// at 12 MiB, 0.88 to 1.03 in two runs at 19 MiB, 1.01 and 1.10 at 32 MiB, 1.05 and 1.02 at 46 MiB, 1.18 and
/// 1.13 at 64 MiB, where neither fits.
#[cfg(feature = "std")]
const SIDE_BY_SIDE: Streams = &[(4096, MAX_STREAMS), (24_576, 1), (u32::MAX, MAX_STREAMS)];

/// In order of preference: the first row that fits is taken.
static ROWS: &[&Row] = &[
    #[cfg(kernels = "x86_64")]
    &Row {
        kind: "Intel with AVX-512",
        basis: "two streams measured on Emerald Rapids",
        measured: true,
        fits: |cpu| cpu.vendor == Vendor::Intel,
        table: &x86_64::avx512::TABLE,
        widths: &[(u32::MAX, 2)],
        nonces: 2,
        far_from: [u32::MAX; 2],
        parallel_from: 2048,
    },
    #[cfg(kernels = "x86_64")]
    &Row {
        kind: "Zen 5 and later",
        basis: "hashes in flight measured on AMD EPYC (family 26, model 2), 2026-11-25, the rest on Zen 4",
        measured: true,
        fits: |cpu| cpu.vendor == Vendor::Amd && cpu.family >= 0x1a,
        table: &x86_64::avx512::TABLE,
        widths: &[(u32::MAX, 2)],
        nonces: 3,
        far_from: [256 << 10, 32 << 10],
        parallel_from: 2048,
    },
    #[cfg(kernels = "x86_64")]
    &Row {
        kind: "Zen 4",
        basis: "measured on AMD EPYC (family 25, model 17), 2026-11-21",
        measured: true,
        fits: |cpu| cpu.vendor == Vendor::Amd && cpu.family == 0x19,
        table: &x86_64::avx512::TABLE,
        widths: &[(u32::MAX, 2)],
        nonces: 2,
        far_from: [256 << 10, 32 << 10],
        parallel_from: 2048,
    },
    #[cfg(kernels = "x86_64")]
    &Row {
        kind: "AVX-512",
        basis: "unmeasured, as Zen 4",
        measured: false,
        fits: |_| true,
        table: &x86_64::avx512::TABLE,
        widths: &[(u32::MAX, 2)],
        nonces: 2,
        far_from: [256 << 10, 32 << 10],
        parallel_from: 2048,
    },
    #[cfg(kernels = "x86_64")]
    &Row {
        kind: "Zen 3",
        basis: "kernel, streams and hashes in flight measured on AMD EPYC (family 25, model 1), 2026-11-26, the rest unmeasured",
        measured: true,
        fits: |cpu| cpu.vendor == Vendor::Amd && cpu.family == 0x19,
        table: &x86_64::avx2::TABLE,
        widths: &[(u32::MAX, 2)],
        nonces: 2,
        far_from: [u32::MAX; 2],
        parallel_from: 2048,
    },
    #[cfg(kernels = "x86_64")]
    &Row {
        kind: "AVX2",
        basis: "unmeasured on processors without AVX-512, other than Zen 3",
        measured: false,
        fits: |_| true,
        table: &x86_64::avx2::TABLE,
        widths: &[(u32::MAX, 2)],
        nonces: 2,
        far_from: [u32::MAX; 2],
        parallel_from: 2048,
    },
    #[cfg(kernels = "x86_64")]
    &Row {
        kind: "SSSE3",
        basis: "unmeasured on processors without AVX2",
        measured: false,
        fits: |_| true,
        table: &x86_64::ssse3::TABLE,
        widths: &[(u32::MAX, 1)],
        nonces: 1,
        far_from: [u32::MAX; 2],
        parallel_from: 2048,
    },
    #[cfg(kernels = "aarch64")]
    &Row {
        kind: "aarch64 with SHA3",
        basis: "unmeasured",
        measured: false,
        fits: |_| true,
        table: &aarch64::sha3::TABLE,
        widths: &[(u32::MAX, 2)],
        nonces: 2,
        far_from: [u32::MAX; 2],
        parallel_from: 2048,
    },
    #[cfg(kernels = "aarch64")]
    &Row {
        kind: "aarch64",
        basis: "unmeasured",
        measured: false,
        fits: |_| true,
        table: &aarch64::neon::TABLE,
        widths: &[(u32::MAX, 2)],
        nonces: 2,
        far_from: [u32::MAX; 2],
        parallel_from: 2048,
    },
    #[cfg(kernels = "wasm32")]
    &Row {
        kind: "WebAssembly with SIMD128",
        basis: "measured in V8 on AMD EPYC (family 25, model 17), 2026-11-27",
        measured: true,
        fits: |_| true,
        table: &wasm32::simd128::TABLE,
        widths: &[(u32::MAX, 1)],
        nonces: 1,
        far_from: [u32::MAX; 2],
        parallel_from: 2048,
    },
    &Row {
        kind: "generic",
        basis: "the definition",
        measured: false,
        fits: |_| true,
        table: &portable::TABLE,
        widths: &[(u32::MAX, 1)],
        nonces: 1,
        far_from: [u32::MAX; 2],
        parallel_from: 2048,
    },
];

/// Settings for computing hashes on a processor. Small and `Copy`; use [`Plan::host`] unless a test or a
/// benchmark needs another. A plan never changes a result.
#[derive(Clone, Copy)]
pub struct Plan {
    kernel: Kernel,
    kind: &'static str,
    basis: &'static str,
    measured: bool,
    widths: Streams,
    /// Hashes that a thread computes side by side, if measured; else as many as lanes, except for
    /// [`SIDE_BY_SIDE`].
    #[cfg(feature = "std")]
    hashes: Option<Streams>,
    forced_width: Option<usize>,
    #[cfg(feature = "std")]
    nonces: usize,
    far_from: [u32; 2],
    #[cfg(feature = "std")]
    parallel_from: u64,
}

impl Plan {
    /// The plan for this processor. Detects the processor each time; callers keep the result.
    pub fn host() -> Plan {
        Plan::of_row(ROWS[kernels::choose(ROWS, |row| (row.table.needs, row.fits))])
    }

    /// This processor's plan if it uses this kernel; otherwise the generic plan for processors without a
    /// better kernel.
    pub fn for_kernel(kernel: Kernel) -> Plan {
        let host = Plan::host();
        if host.kernel == kernel {
            return host;
        }
        let row = ROWS.iter().rfind(|row| kernel.is(row.table));
        Plan::of_row(row.expect("every table has a row"))
    }

    fn of_row(row: &Row) -> Plan {
        Plan {
            kernel: Kernel::from_table(row.table).expect("found by its features"),
            kind: row.kind,
            basis: row.basis,
            measured: row.measured,
            widths: row.widths,
            #[cfg(feature = "std")]
            hashes: None,
            forced_width: None,
            #[cfg(feature = "std")]
            nonces: row.nonces,
            far_from: row.far_from,
            #[cfg(feature = "std")]
            parallel_from: row.parallel_from,
        }
    }

    /// The same plan with `width` streams interleaved in each thread where there are as many, 1 to 4.
    pub fn with_width(self, width: usize) -> Plan {
        Plan { forced_width: Some(width.clamp(1, MAX_STREAMS)), ..self }
    }

    /// The same plan, with memory from `memory_kib` KiB on treated and wiped as much larger than the caches.
    pub fn with_far_from(self, memory_kib: u32) -> Plan {
        Plan { far_from: [memory_kib; 2], ..self }
    }

    /// The same plan with measurements of this processor, described by `basis`: lanes of one hash per thread,
    /// and hashes side by side.
    #[cfg(feature = "std")]
    pub fn measured(self, basis: &'static str, lanes: Streams, hashes: Streams) -> Plan {
        Plan { basis, measured: true, widths: lanes, hashes: Some(hashes), ..self }
    }

    /// The kernel in use.
    pub fn kernel(self) -> Kernel {
        self.kernel
    }

    /// The kind of processor that this plan was made for.
    pub fn kind(self) -> &'static str {
        self.kind
    }

    /// The source of the plan: the processor that it was measured on, or a note that it is unmeasured.
    pub fn basis(self) -> &'static str {
        self.basis
    }

    /// Was it measured on this kind of processor, and not only on others with the same kernel?
    pub fn is_measured(self) -> bool {
        self.measured
    }

    /// Lanes of a hash that a thread interleaves.
    pub fn width(self, params: Params) -> usize {
        self.forced_width.unwrap_or_else(|| streams(self.widths, params))
    }

    /// Streams that a thread interleaves where several hashes are computed side by side.
    #[cfg(feature = "std")]
    pub(super) fn width_of_many(self, params: Params) -> usize {
        let hashes = self.hashes.map_or(1, |hashes| streams(hashes, params));
        self.forced_width.unwrap_or_else(|| self.width(params).max(hashes))
    }

    /// One-lane hashes that a thread interleaves.
    #[cfg(feature = "std")]
    pub(super) fn hashes(self, params: Params) -> usize {
        match self.hashes {
            Some(hashes) => self.forced_width.unwrap_or_else(|| streams(hashes, params)),
            None => self.width(params).min(streams(SIDE_BY_SIDE, params)),
        }
    }

    /// Hashes of a proof of work that a thread interleaves, with memory for `most` of them.
    #[cfg(feature = "std")]
    pub(super) fn nonces(self, most: u64) -> usize {
        let best = self.forced_width.unwrap_or(self.nonces);
        most.min(best as u64).max(1) as usize
    }

    /// Is memory treated as much larger than the caches?
    pub(super) fn is_far(self, params: Params) -> bool {
        params.memory_kib() >= self.far_from[0]
    }

    /// Does wiping bypass the caches?
    pub(super) fn wipes_far(self, params: Params) -> bool {
        params.memory_kib() >= self.far_from[1]
    }

    /// Does a second thread pay for hashes of this cost?
    #[cfg(feature = "std")]
    pub(super) fn is_parallel(self, params: Params) -> bool {
        params.work() >= self.parallel_from
    }
}

impl Default for Plan {
    fn default() -> Plan {
        Plan::host()
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plan({}: {:?})", self.kind, self.kernel)
    }
}
