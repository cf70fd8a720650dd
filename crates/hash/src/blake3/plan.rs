//! Tuning table: the kernel for each size class, per kind of processor.
//!
//! A row is chosen once per process by the processor's vendor, family and features. To add a processor, add a row; to
//! measure one, run `cargo xtask tune` on it. A program that measures its processor itself makes a
//! [`Tuning`].

use super::kernel::portable;
#[cfg(kernels = "wasm32")]
use super::kernel::wasm32;
use super::kernel::{Kernel, MAX_LANES, Table, Wide};
use super::{BLOCK_LEN, CHUNK_BLOCKS, CHUNK_LEN};
use crate::isa::Features;
use crate::kernels;
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Bytes from which a message has the kernel of [`Role::Long`].
pub const LONG_LEN: usize = 1 << 20;

/// Size class with a kernel of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A message of one block.
    Block,
    /// A message of several blocks, up to a chunk.
    Chunk,
    /// More than a chunk, and parents.
    Many,
    /// A message of at least [`LONG_LEN`] bytes, which does not fit into the caches of one core. Most plans
    /// use the kernel of [`Role::Many`].
    Long,
    /// Extended output.
    Xof,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 5] = [Role::Block, Role::Chunk, Role::Many, Role::Long, Role::Xof];

    /// The display name.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Block => "one block",
            Role::Chunk => "one chunk",
            Role::Many => "many chunks",
            Role::Long => "1 MiB and more",
            Role::Xof => "extended output",
        }
    }
}

/// One row: a kind of processor and its best settings.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// The kind of processor, as `hashmill info` prints it.
    kind: &'static str,
    /// The source of the row: a record, or a note that it is unmeasured.
    basis: &'static str,
    /// Is the basis a record of such a processor?
    measured: bool,
    fits: kernels::Fits,
    /// See [`Role`].
    block: &'static Table,
    chunk: &'static Table,
    many: &'static Table,
    xof: &'static Table,
    passes: Passes,
    /// The row for long messages, if it differs.
    long: Option<&'static Row>,
    /// Bytes from which a second thread pays for its wake-up.
    parallel_from: usize,
}

/// The passes of a table for k chunks or parents at once, up to [`MAX_LANES`].
#[derive(Clone, Copy)]
struct Passes {
    /// The index in `wide` of the first pass; behind the last index: a single run.
    first: [u8; MAX_LANES + 1],
    /// The cost of all passes per block step.
    costs: [u16; MAX_LANES + 1],
}

/// In order of preference: the first matching row is used.
static ROWS: &[&Row] = &[
    #[cfg(kernels = "x86_64")]
    &x86::ZEN4,
    #[cfg(kernels = "x86_64")]
    &x86::ZEN5,
    #[cfg(kernels = "x86_64")]
    &x86::INTEL_AVX512,
    #[cfg(kernels = "x86_64")]
    &x86::GENERIC_AVX512,
    #[cfg(kernels = "x86_64")]
    &x86::ZEN3,
    #[cfg(kernels = "x86_64")]
    &x86::GENERIC_AVX2,
    #[cfg(kernels = "x86_64")]
    &x86::GENERIC_SSE41,
    #[cfg(kernels = "aarch64")]
    &arm::FOUR_PIPES,
    #[cfg(kernels = "aarch64")]
    &arm::GENERIC_NEON,
    #[cfg(kernels = "wasm32")]
    &WASM,
    &PORTABLE,
];

static PORTABLE: Row = Row { kind: "generic", basis: "runs everywhere", ..Row::forced(&portable::TABLE) };

#[cfg(kernels = "wasm32")]
static WASM: Row = Row {
    kind: "wasm-simd128",
    basis: "measured in V8 on AMD EPYC (family 25, model 17), 2026-11-27",
    measured: true,
    ..Row::forced(&wasm32::SIMD128)
};

/// One row per table, for callers that force a kernel: in the order of [`kernels::Table::ALL`], from which it is made.
static FORCED: [Row; <Table as kernels::Table>::ALL.len()] = {
    let tables = <Table as kernels::Table>::ALL;
    let mut rows = [Row::forced(tables[0]); <Table as kernels::Table>::ALL.len()];
    let mut index = 1;
    while index < rows.len() {
        rows[index] = Row::forced(tables[index]);
        index += 1;
    }
    rows
};

/// The rows for aarch64.
#[cfg(kernels = "aarch64")]
mod arm {
    use super::Row;
    use crate::blake3::kernel::aarch64::{NEON, NEON_TWIN};
    use crate::isa::{Cpu, Vendor};

    const COMPUTED: &str = "not measured; by counts of instructions and published latencies";

    pub(super) static FOUR_PIPES: Row = Row {
        kind: "aarch64-four-pipes",
        basis: COMPUTED,
        fits: has_four_vector_pipes,
        ..Row::forced(&NEON_TWIN)
    };

    pub(super) static GENERIC_NEON: Row = Row { kind: "generic-neon", basis: COMPUTED, ..Row::forced(&NEON) };

    /// Can four vector instructions start in a cycle, rather than two? Unknown parts count as two: there the
    /// other kernel would lose more than this one does with four.
    fn has_four_vector_pipes(cpu: &Cpu) -> bool {
        // Cortex-X1, X1C, X2, X3, X4, X925; Neoverse V1, V2, V3, V3AE.
        const LARGE: [u32; 10] = [0xd44, 0xd4c, 0xd48, 0xd4e, 0xd82, 0xd85, 0xd40, 0xd4f, 0xd84, 0xd83];
        match cpu.vendor {
            Vendor::Apple => true,
            Vendor::Arm => LARGE.contains(&cpu.model),
            _ => false,
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn two_streams_go_where_four_pipes_are() {
            let kind = |vendor, model| {
                let mut cpu = Cpu::detect();
                (cpu.vendor, cpu.model) = (vendor, model);
                [&FOUR_PIPES, &GENERIC_NEON].into_iter().find(|row| (row.fits)(&cpu)).map(|row| row.kind)
            };
            let (four, two) = (Some("aarch64-four-pipes"), Some("generic-neon"));
            assert_eq!(kind(Vendor::Apple, 0x22), four, "M1");
            assert_eq!(kind(Vendor::Arm, 0xd40), four, "Neoverse V1, Graviton 3");
            assert_eq!(kind(Vendor::Arm, 0xd0c), two, "Neoverse N1, Graviton 2 and Altra");
            assert_eq!(kind(Vendor::Other, 0xd40), two, "another vendor's part");
        }
    }
}

/// The rows for x86-64.
#[cfg(kernels = "x86_64")]
mod x86 {
    use super::Row;
    use crate::blake3::kernel::x86_64::{AVX2, AVX512, AVX512_TWIN, AVX512_YMM, SSE41};
    use crate::isa::{Cpu, Vendor};

    const UNMEASURED: &str = "not measured";

    pub(super) static ZEN4: Row = Row {
        kind: "amd-zen4",
        basis: "measured on AMD EPYC (family 25, model 17), 2026-11-29",
        measured: true,
        fits: |cpu| cpu.vendor == Vendor::Amd && cpu.family == 0x19,
        long: Some(&ZEN4_LONG),
        ..Row::forced(&AVX512_YMM)
    };

    /// Two streams of sixteen lanes take fewer instructions and prefetch twice as far ahead.
    static ZEN4_LONG: Row =
        Row { block: &AVX512_YMM, chunk: &AVX512_YMM, xof: &AVX512_YMM, ..Row::forced(&AVX512_TWIN) };

    pub(super) static ZEN5: Row = Row {
        kind: "amd-zen5",
        basis: "measured on AMD EPYC (family 26, model 2), 2026-11-25",
        measured: true,
        fits: |cpu| cpu.vendor == Vendor::Amd && cpu.family >= 0x1a,
        ..Row::forced(&AVX512_TWIN)
    };

    pub(super) static INTEL_AVX512: Row = Row {
        kind: "intel-avx512",
        basis: "measured on Emerald Rapids",
        measured: true,
        fits: is_intel,
        ..Row::forced(&AVX512)
    };

    pub(super) static GENERIC_AVX512: Row =
        Row { kind: "generic-avx512", basis: UNMEASURED, ..Row::forced(&AVX512) };

    pub(super) static ZEN3: Row = Row {
        kind: "amd-zen3",
        basis: "measured on AMD EPYC (family 25, model 1), 2026-11-25",
        measured: true,
        fits: |cpu| cpu.vendor == Vendor::Amd && cpu.family == 0x19,
        ..Row::forced(&AVX2)
    };

    pub(super) static GENERIC_AVX2: Row =
        Row { kind: "generic-avx2", basis: UNMEASURED, ..Row::forced(&AVX2) };

    pub(super) static GENERIC_SSE41: Row =
        Row { kind: "generic-sse41", basis: UNMEASURED, ..Row::forced(&SSE41) };

    fn is_intel(cpu: &Cpu) -> bool {
        cpu.vendor == Vendor::Intel
    }
}

impl Row {
    /// One table for everything, each pass as narrow as its work allows.
    const fn forced(table: &'static Table) -> Row {
        Row {
            kind: "forced",
            basis: "chosen by the caller",
            measured: false,
            fits: |_| true,
            block: table,
            chunk: table,
            many: table,
            xof: table,
            passes: cheapest(table),
            long: None,
            parallel_from: 512 * 1024,
        }
    }

    fn table(&self, role: Role) -> &'static Table {
        match role {
            Role::Block => self.block,
            Role::Chunk => self.chunk,
            Role::Many => self.many,
            Role::Long => self.for_len(LONG_LEN).many,
            Role::Xof => self.xof,
        }
    }

    /// The row for a message of `len` bytes.
    #[inline(always)]
    fn for_len(&self, len: usize) -> &Row {
        self.long.filter(|_| len >= LONG_LEN).unwrap_or(self)
    }

    fn needs(&self) -> Features {
        Role::ALL.into_iter().fold(Features::default(), |needs, role| needs.union(self.table(role).needs))
    }
}

/// The row that has one kernel for everything.
fn forced_row(kernel: Kernel) -> &'static Row {
    FORCED.iter().find(|row| kernel.is(row.many)).expect("every table has a row")
}

/// The kernel of a table in a chosen row.
fn proven(table: &'static Table) -> Kernel {
    Kernel::from_table(table).expect("a row is chosen only where its tables run")
}

/// For each number of inputs, the first pass of the cheapest sequence of passes that covers them. An index
/// behind the last means a single run.
const fn cheapest(table: &Table) -> Passes {
    let mut first = [0; MAX_LANES + 1];
    let mut costs = [0; MAX_LANES + 1];
    let mut count = 1;
    while count <= MAX_LANES {
        first[count] = table.wide.len() as u8;
        costs[count] = table.run_cost + costs[count - 1];
        let mut index = 0;
        while index < table.wide.len() {
            let wide = &table.wide[index];
            let cost = wide.cost + costs[count.saturating_sub(wide.lanes)];
            // Of equal costs the wider: it takes fewer passes.
            if cost <= costs[count] {
                (first[count], costs[count]) = (index as u8, cost);
            }
            index += 1;
        }
        count += 1;
    }
    Passes { first, costs }
}

/// The kernels for each size class. Small and `Copy`; use [`Plan::host`] unless a test or a benchmark needs
/// another.
///
/// ```
/// use hashmill_hash::blake3::{Kernel, Plan, hash};
///
/// let choice = Plan::host().explain(1 << 20);
/// println!("1 MiB: {} in {} lanes, because {}", choice.kernel.name(), choice.lanes, choice.reason);
/// // Every kernel that runs here gives the same digest.
/// assert!(Kernel::all().all(|kernel| Plan::for_kernel(kernel).hash(b"abc") == hash(b"abc")));
/// ```
#[derive(Clone, Copy)]
pub struct Plan(&'static Row);

impl Plan {
    /// The plan for this processor, chosen once per process.
    #[inline]
    pub fn host() -> Plan {
        // An index and not a `OnceLock`: this is on the path of every 1-byte hash, and `no_std` has no lock.
        // Relaxed suffices, because rows are static and racing threads find the same one.
        static HOST: AtomicUsize = AtomicUsize::new(usize::MAX);
        match ROWS.get(HOST.load(Ordering::Relaxed)) {
            Some(row) => Plan(row),
            None => Plan::detect(&HOST),
        }
    }

    #[cold]
    fn detect(host: &AtomicUsize) -> Plan {
        let index = kernels::choose(ROWS, |row| (row.needs(), row.fits));
        host.store(index, Ordering::Relaxed);
        Plan(ROWS[index])
    }

    /// A plan with one kernel for everything.
    pub fn for_kernel(kernel: Kernel) -> Plan {
        Plan(forced_row(kernel))
    }

    /// The plan for the passes of a message of `len` bytes.
    #[inline(always)]
    pub(super) fn for_len(self, len: usize) -> Plan {
        Plan(self.0.for_len(len))
    }

    /// The kind of processor that this plan was made for.
    pub fn kind(self) -> &'static str {
        self.0.kind
    }

    /// The source of the plan: the processor that it was measured on, or a note that it is unmeasured.
    pub fn basis(self) -> &'static str {
        self.0.basis
    }

    /// Was it measured on this kind of processor, and not only on others with the same kernels?
    pub fn is_measured(self) -> bool {
        self.0.measured
    }

    /// The kernel for a role.
    pub fn kernel(self, role: Role) -> Kernel {
        proven(self.0.table(role))
    }

    /// Bytes from which [`update_parallel`](super::Hasher::update_parallel) and its siblings use a second
    /// thread.
    pub fn parallel_from(self) -> usize {
        self.0.parallel_from
    }

    /// The choice for an input of `len` bytes, and its reason.
    pub fn explain(self, len: usize) -> Choice {
        let row = self.0;
        let (class, kernel, lanes, reason) = match len {
            0..=64 => ("one block", row.block, 1, "a single block"),
            65..=CHUNK_LEN => ("one chunk", row.chunk, 1, "each block needs the one before it"),
            _ => {
                let role = if len < LONG_LEN { Role::Many } else { Role::Long };
                match self.for_len(len).pass(len.div_ceil(CHUNK_LEN)) {
                    Some(wide) => (
                        role.name(),
                        row.table(role),
                        wide.lanes,
                        "the cheapest passes for this number of chunks",
                    ),
                    None => (role.name(), row.table(role), 1, "cheaper one after another than in a pass"),
                }
            }
        };
        Choice {
            class,
            kernel: proven(kernel),
            lanes,
            reason,
            parallel: len >= row.parallel_from,
            kind: row.kind,
            basis: row.basis,
        }
    }

    /// The kernel for a message of at most a chunk.
    #[inline(always)]
    pub(super) fn one(self, len: usize) -> &'static Table {
        if len <= BLOCK_LEN { self.0.block } else { self.0.chunk }
    }

    pub(super) fn xof(self) -> &'static Table {
        self.0.xof
    }

    /// The pass for `count` chunks or parents; `None` if they are hashed one after another.
    #[inline(always)]
    pub(super) fn pass(self, count: usize) -> Option<&'static Wide> {
        self.0.many.wide.get(usize::from(self.0.passes.first[count.min(MAX_LANES)]))
    }

    /// Is a tail of `blocks` blocks behind `full` chunks cheaper alone than in a lane of their pass?
    pub(super) fn tail_alone(self, full: usize, blocks: usize) -> bool {
        // A tail interrupts its pass twice: measured, as costly as this many blocks.
        const INTERRUPTIONS: usize = 2;
        let run_cost = usize::from(self.0.chunk.run_cost);
        let cost = |chunks: usize| CHUNK_BLOCKS * usize::from(self.0.passes.costs[chunks]);
        cost(full) + blocks * run_cost < cost(full + 1) + INTERRUPTIONS * run_cost
    }

    /// The narrowest pass that holds `count` messages.
    pub(super) fn pass_of(self, count: usize) -> Option<&'static Wide> {
        self.0.many.wide.iter().find(|wide| wide.lanes >= count)
    }

    /// The most chunks in one pass.
    #[inline(always)]
    pub(super) fn lanes(self) -> usize {
        self.0.many.wide.last().map_or(1, |wide| wide.lanes)
    }
}

impl Default for Plan {
    fn default() -> Plan {
        Plan::host()
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Plan({}: {} / {} / {})",
            self.0.kind, self.0.block.name, self.0.chunk.name, self.0.many.name
        )
    }
}

/// A custom plan, from a measurement of this processor or for another reason. The plan is a reference to it,
/// so it must be `static`.
///
/// ```
/// use hashmill_hash::blake3::{Kernel, Plan, Role, Tuning, hash};
/// use std::sync::OnceLock;
///
/// static TUNING: OnceLock<Tuning> = OnceLock::new();
/// let tuning = TUNING.get_or_init(|| Tuning::from_plan(Plan::host()).kernel(Role::Xof, Kernel::portable()));
/// assert_eq!(tuning.plan().kernel(Role::Xof), Kernel::portable());
/// assert_eq!(tuning.plan().hash(b"abc"), hash(b"abc"));
/// ```
#[derive(Clone, Copy)]
pub struct Tuning(Row);

impl Tuning {
    /// The settings of this plan.
    pub fn from_plan(plan: Plan) -> Tuning {
        Tuning(*plan.0)
    }

    /// The same with another kernel for a role.
    #[must_use]
    pub fn kernel(self, role: Role, kernel: Kernel) -> Tuning {
        let (row, table) = (self.0, kernel.table());
        Tuning(match role {
            Role::Block => Row { block: table, ..row },
            Role::Chunk => Row { chunk: table, ..row },
            Role::Many => Row { many: table, passes: cheapest(table), ..row },
            Role::Long => Row { long: Some(forced_row(kernel)), ..row },
            Role::Xof => Row { xof: table, ..row },
        })
    }

    /// The same with a second thread from `bytes` bytes on.
    #[must_use]
    pub fn parallel_from(self, bytes: usize) -> Tuning {
        Tuning(Row { parallel_from: bytes, ..self.0 })
    }

    /// The same, measured on this processor; `basis` describes the measurement.
    #[must_use]
    pub fn measured(self, basis: &'static str) -> Tuning {
        Tuning(Row { basis, measured: true, ..self.0 })
    }

    /// The plan.
    pub fn plan(&'static self) -> Plan {
        Plan(&self.0)
    }
}

impl fmt::Debug for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernels = Role::ALL.map(|role| self.0.table(role).name);
        f.debug_tuple("Tuning").field(&kernels).field(&self.0.parallel_from).finish()
    }
}

/// The choice of a [`Plan`] for one input.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Choice {
    /// The size class.
    pub class: &'static str,
    /// The kernel that hashes it.
    pub kernel: Kernel,
    /// The number of chunks that it hashes at once.
    pub lanes: usize,
    /// The reason for this number.
    pub reason: &'static str,
    /// Does `update_parallel` use a second thread?
    pub parallel: bool,
    /// The kind of processor that the choice was made for.
    pub kind: &'static str,
    /// The basis of the choice.
    pub basis: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Table as _;

    /// This includes tables that do not run on this processor.
    #[test]
    fn every_compiled_table_has_a_row_for_callers_that_force_it() {
        assert_eq!(FORCED.len(), Table::ALL.len());
        for (row, table) in FORCED.iter().zip(Table::ALL) {
            let uses_table = |role| core::ptr::eq(row.table(role), *table);
            assert!(Role::ALL.into_iter().all(uses_table), "{}", table.name);
            assert_eq!(row.needs(), table.needs, "{}", table.name);
        }
    }
}
