//! Which kernel, how many streams at once, and from where on a second thread: one table, as data.
//!
//! A row is chosen once per process by the processor's make and features. To add a processor, add a row; to measure
//! one, run `cargo rivals argon2` on it.

#[cfg(kernels = "aarch64")]
use super::aarch64;
use super::kernel::{Kernel, MAX_STREAMS, Table};
use super::params::Params;
use super::portable;
#[cfg(kernels = "x86_64")]
use super::x86_64;
#[cfg(kernels = "x86_64")]
use crate::isa::Vendor;
use crate::kernels;
use core::fmt;

/// One row: a kind of processor and what it does best.
struct Row {
    /// The kind of processor, as `hashmill info` prints it.
    kind: &'static str,
    /// Where the row comes from: a record, or that nobody has measured it yet.
    basis: &'static str,
    fits: kernels::Fits,
    table: &'static Table,
    /// How many streams a thread interleaves: the first entry whose memory (in KiB, of one hash) is not less.
    widths: &'static [(u32, usize)],
    /// How many hashes of a proof of work a thread interleaves, if there is memory for them: each takes as much again, and
    /// waits for it, so that one more than of lanes may pay.
    #[cfg_attr(not(feature = "std"), expect(dead_code, reason = "there is no search"))]
    nonces: usize,
    /// From how many KiB on memory counts as much larger than the caches, see `segment`; and from how many its wiping goes
    /// past them.
    far_from: [u32; 2],
    /// From how many blocks of work (memory times passes) a second thread pays for its wake-up.
    #[cfg_attr(not(feature = "std"), expect(dead_code, reason = "there are no threads"))]
    parallel_from: u64,
}

/// In order of preference: the first row that fits is taken.
static ROWS: &[&Row] = &[
    #[cfg(kernels = "x86_64")]
    &Row {
        kind: "Intel with AVX-512",
        basis: "two streams measured on Emerald Rapids",
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
        fits: |_| true,
        table: &aarch64::neon::TABLE,
        widths: &[(u32::MAX, 2)],
        nonces: 2,
        far_from: [u32::MAX; 2],
        parallel_from: 2048,
    },
    &Row {
        kind: "generic",
        basis: "the definition",
        fits: |_| true,
        table: &portable::TABLE,
        widths: &[(u32::MAX, 1)],
        nonces: 1,
        far_from: [u32::MAX; 2],
        parallel_from: 2048,
    },
];

/// How hashes are computed here. Small and `Copy`; [`Plan::host`] is the one to use unless a test or a benchmark
/// forces another. Never changes a result.
#[derive(Clone, Copy)]
pub struct Plan {
    kernel: Kernel,
    kind: &'static str,
    basis: &'static str,
    widths: &'static [(u32, usize)],
    forced_width: Option<usize>,
    #[cfg(feature = "std")]
    nonces: usize,
    far_from: [u32; 2],
    #[cfg(feature = "std")]
    parallel_from: u64,
}

impl Plan {
    /// The plan for the processor that runs this. Asks it each time; callers keep the answer.
    pub fn host() -> Plan {
        Plan::of_row(ROWS[kernels::choose(ROWS, |row| (row.table.needs, row.fits))])
    }

    /// The plan of this processor, if it has this kernel in it; otherwise that of a processor which has nothing better and
    /// which nobody measured.
    pub fn of(kernel: Kernel) -> Plan {
        let host = Plan::host();
        if host.kernel == kernel {
            return host;
        }
        let row = ROWS.iter().rfind(|row| kernel.is(row.table));
        Plan::of_row(row.expect("every table has a row"))
    }

    fn of_row(row: &Row) -> Plan {
        Plan {
            kernel: Kernel::of(row.table).expect("found by its features"),
            kind: row.kind,
            basis: row.basis,
            widths: row.widths,
            forced_width: None,
            #[cfg(feature = "std")]
            nonces: row.nonces,
            far_from: row.far_from,
            #[cfg(feature = "std")]
            parallel_from: row.parallel_from,
        }
    }

    /// The same with `width` streams interleaved in each thread where there are as many, 1 to 4.
    pub fn with_width(self, width: usize) -> Plan {
        Plan { forced_width: Some(width.clamp(1, MAX_STREAMS)), ..self }
    }

    /// The same with memory from `memory_kib` KiB on treated, and wiped, as much larger than the caches.
    pub fn with_far_from(self, memory_kib: u32) -> Plan {
        Plan { far_from: [memory_kib; 2], ..self }
    }

    /// The kernel in use.
    pub fn kernel(self) -> Kernel {
        self.kernel
    }

    /// The kind of processor that this plan was made for.
    pub fn kind(self) -> &'static str {
        self.kind
    }

    /// Where the plan comes from: what it was measured on, or that it was not.
    pub fn basis(self) -> &'static str {
        self.basis
    }

    /// How many lanes or hashes a thread works on in turns.
    pub fn width(self, params: Params) -> usize {
        let by_size = || self.widths.iter().find(|(memory, _)| params.memory_kib() <= *memory);
        self.forced_width.or_else(|| by_size().map(|(_, width)| *width)).unwrap_or(1)
    }

    /// How many hashes of a proof of work a thread works on in turns, with memory for `most` of them.
    #[cfg(feature = "std")]
    pub(super) fn nonces(self, most: u64) -> usize {
        let best = self.forced_width.unwrap_or(self.nonces);
        most.min(best as u64).max(1) as usize
    }

    /// Whether memory is treated as much larger than the caches.
    pub(super) fn is_far(self, params: Params) -> bool {
        params.memory_kib() >= self.far_from[0]
    }

    /// Whether wiping memory goes past the caches.
    pub(super) fn wipes_far(self, params: Params) -> bool {
        params.memory_kib() >= self.far_from[1]
    }

    /// Whether a second thread pays for hashes of this cost.
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
