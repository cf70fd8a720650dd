//! Which kernel does which size class on which processor: one table, as data.
//!
//! A row is chosen once per process by the processor's make and features. To add a processor, add a row; to measure
//! one, run `cargo xtask tune` on it. Who has measured a processor itself makes a [`Tuning`].

#[cfg(kernels = "aarch64")]
use super::aarch64;
use super::hazmat::Mode;
use super::kernel::{Kernel, MAX_LANES, Table, Wide};
#[cfg(kernels = "wasm32")]
use super::wasm32;
#[cfg(kernels = "x86_64")]
use super::x86_64;
use super::{BLOCK_LEN, CHUNK_BLOCKS, CHUNK_LEN, Hash, KEY_LEN, OUT_LEN, portable, tree};
use crate::isa::Features;
use crate::kernels;
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};

/// What a plan chooses a kernel for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A message of one block.
    Block,
    /// A message of several blocks, up to a chunk.
    Chunk,
    /// More than a chunk, and parents.
    Many,
    /// Extended output.
    Xof,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 4] = [Role::Block, Role::Chunk, Role::Many, Role::Xof];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Block => "one block",
            Role::Chunk => "one chunk",
            Role::Many => "many chunks",
            Role::Xof => "extended output",
        }
    }
}

/// One row: a kind of processor and what it does best.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// The kind of processor, as `hashmill info` prints it.
    kind: &'static str,
    /// Where the row comes from: a record, or that nobody has measured it yet.
    basis: &'static str,
    /// Whether the basis is a record of such a processor.
    measured: bool,
    fits: kernels::Fits,
    /// See [`Role`].
    block: &'static Table,
    chunk: &'static Table,
    many: &'static Table,
    xof: &'static Table,
    passes: Passes,
    /// From how many bytes a second thread pays for its wake-up.
    parallel_from: usize,
}

/// How k chunks or parents at once (up to [`MAX_LANES`]) go through the passes of a table.
#[derive(Clone, Copy)]
struct Passes {
    /// The index in `wide` of the pass to take first; behind the last index: a single run.
    first: [u8; MAX_LANES + 1],
    /// What all of them cost per block step.
    costs: [u16; MAX_LANES + 1],
}

/// In order of preference: the first row that fits is taken.
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

/// One row per table, for callers who force a kernel.
static FORCED: &[&Row] = &[
    &Row::forced(&portable::TABLE),
    #[cfg(kernels = "x86_64")]
    &Row::forced(&x86_64::SSE41),
    #[cfg(kernels = "x86_64")]
    &Row::forced(&x86_64::AVX2),
    #[cfg(kernels = "x86_64")]
    &Row::forced(&x86_64::AVX512_YMM),
    #[cfg(kernels = "x86_64")]
    &Row::forced(&x86_64::AVX512),
    #[cfg(kernels = "x86_64")]
    &Row::forced(&x86_64::AVX512_TWIN),
    #[cfg(kernels = "aarch64")]
    &Row::forced(&aarch64::NEON),
    #[cfg(kernels = "aarch64")]
    &Row::forced(&aarch64::NEON_TWIN),
    #[cfg(kernels = "wasm32")]
    &Row::forced(&wasm32::SIMD128),
];

/// The rows for aarch64.
#[cfg(kernels = "aarch64")]
mod arm {
    use super::Row;
    use crate::blake3::aarch64::{NEON, NEON_TWIN};
    use crate::isa::{Cpu, Vendor};

    const COMPUTED: &str = "not measured; by counts of instructions and published latencies";

    pub(super) static FOUR_PIPES: Row = Row {
        kind: "aarch64-four-pipes",
        basis: COMPUTED,
        fits: has_four_vector_pipes,
        ..Row::forced(&NEON_TWIN)
    };

    pub(super) static GENERIC_NEON: Row = Row { kind: "generic-neon", basis: COMPUTED, ..Row::forced(&NEON) };

    /// Whether four vector instructions can start in a cycle, not two. Of a part that is not known here two are supposed:
    /// there the other kernel would lose more than this one does where there are four.
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
            assert_eq!(kind(Vendor::Other, 0xd40), two, "another maker's part");
        }
    }
}

/// The rows for x86-64.
#[cfg(kernels = "x86_64")]
mod x86 {
    use super::Row;
    use crate::blake3::x86_64::{AVX2, AVX512, AVX512_TWIN, AVX512_YMM, SSE41};
    use crate::isa::{Cpu, Vendor};

    const UNMEASURED: &str = "not measured";

    pub(super) static ZEN4: Row = Row {
        kind: "amd-zen4",
        basis: "measured on AMD EPYC (family 25, model 17), 2026-11-21",
        measured: true,
        fits: |cpu| cpu.vendor == Vendor::Amd && cpu.family == 0x19,
        ..Row::forced(&AVX512_YMM)
    };

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
    /// A single table for everything, each pass as narrow as its work allows.
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
            parallel_from: 512 * 1024,
        }
    }

    fn table(&self, role: Role) -> &'static Table {
        match role {
            Role::Block => self.block,
            Role::Chunk => self.chunk,
            Role::Many => self.many,
            Role::Xof => self.xof,
        }
    }

    fn needs(&self) -> Features {
        self.block.needs.union(self.chunk.needs).union(self.many.needs).union(self.xof.needs)
    }
}

/// The kernel of a table of a row that was chosen.
fn proven(table: &'static Table) -> Kernel {
    Kernel::of(table).expect("a row is chosen only where its tables run")
}

/// For each number of inputs the first pass of the cheapest sequence of passes that covers them. An index behind the
/// last means a single run.
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
            // Of equal ones the wider: it takes fewer passes.
            if cost <= costs[count] {
                (first[count], costs[count]) = (index as u8, cost);
            }
            index += 1;
        }
        count += 1;
    }
    Passes { first, costs }
}

/// The kernels in use for each size class. Small and `Copy`; [`Plan::host`] is the one to use unless a test or a
/// benchmark forces another.
///
/// ```
/// use hashmill_hash::blake3::{Kernel, Plan, hash};
///
/// let choice = Plan::host().explain(1 << 20);
/// println!("1 MiB: {} in {} lanes, because {}", choice.kernel.name(), choice.lanes, choice.why);
/// // Every kernel that runs here gives the same digest.
/// assert!(Kernel::all().all(|kernel| Plan::of(kernel).hash(b"abc") == hash(b"abc")));
/// ```
#[derive(Clone, Copy)]
pub struct Plan(&'static Row);

impl Plan {
    /// The plan for the processor that runs this, chosen once per process.
    #[inline]
    pub fn host() -> Plan {
        // An index and not a `OnceLock`: this is on the path of every 1-byte hash, and `no_std` has no lock.
        // Relaxed is enough, as rows are static and threads that race find the same one.
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

    /// One kernel for everything.
    pub fn of(kernel: Kernel) -> Plan {
        let row = FORCED.iter().find(|row| kernel.is(row.many));
        Plan(row.expect("every table has a row"))
    }

    /// The kind of processor that this plan was made for.
    pub fn kind(self) -> &'static str {
        self.0.kind
    }

    /// Where the plan comes from: what it was measured on, or that it was not.
    pub fn basis(self) -> &'static str {
        self.0.basis
    }

    /// Whether it was measured on this kind of processor, and not only where its kernels run, too.
    pub fn is_measured(self) -> bool {
        self.0.measured
    }

    /// The kernel for a role.
    pub fn kernel(self, role: Role) -> Kernel {
        proven(self.0.table(role))
    }

    /// From how many bytes on [`update_parallel`](super::Hasher::update_parallel) and its kin use a second thread.
    pub fn parallel_from(self) -> usize {
        self.0.parallel_from
    }

    /// What happens to an input of `len` bytes, and why.
    pub fn explain(self, len: usize) -> Choice {
        let row = self.0;
        let (class, kernel, lanes, why) = match len {
            0..=64 => ("one block", row.block, 1, "a single block"),
            65..=CHUNK_LEN => ("one chunk", row.chunk, 1, "each block needs the one before it"),
            _ => {
                let chunks = len.div_ceil(CHUNK_LEN);
                match self.pass(chunks) {
                    Some(wide) => {
                        ("many chunks", row.many, wide.lanes, "the cheapest passes for so many chunks")
                    }
                    None => ("many chunks", row.many, 1, "cheaper one after another than in a pass"),
                }
            }
        };
        Choice {
            class,
            kernel: proven(kernel),
            lanes,
            why,
            parallel: len >= row.parallel_from,
            kind: row.kind,
            basis: row.basis,
        }
    }

    /// The digest of `input`, on the calling thread.
    #[inline]
    pub fn hash(self, input: &[u8]) -> Hash {
        Hash::from_words(&tree::hash_all(self, &Mode::Hash.key(), input))
    }

    /// See [`keyed_hash`](super::keyed_hash).
    #[inline]
    pub fn keyed_hash(self, key: &[u8; KEY_LEN], input: &[u8]) -> Hash {
        Hash::from_words(&tree::hash_all(self, &Mode::KeyedHash(key).key(), input))
    }

    /// See [`derive_key`](super::derive_key).
    pub fn derive_key(self, context: &str, key_material: &[u8]) -> [u8; OUT_LEN] {
        let context_key = super::hazmat::context_key(self, context);
        let key = Mode::DeriveKeyMaterial(&context_key).key();
        *Hash::from_words(&tree::hash_all(self, &key, key_material)).as_bytes()
    }

    /// The kernel for a message of at most a chunk.
    #[inline(always)]
    pub(super) fn one(self, len: usize) -> &'static Table {
        if len <= BLOCK_LEN { self.0.block } else { self.0.chunk }
    }

    pub(super) fn xof(self) -> &'static Table {
        self.0.xof
    }

    /// The pass for `count` chunks or parents; `None` where they go one after another.
    #[inline(always)]
    pub(super) fn pass(self, count: usize) -> Option<&'static Wide> {
        self.0.many.wide.get(usize::from(self.0.passes.first[count.min(MAX_LANES)]))
    }

    /// Whether a tail of `blocks` blocks behind `full` chunks is cheaper alone than in a lane of their pass.
    pub(super) fn tail_alone(self, full: usize, blocks: usize) -> bool {
        // A pass is interrupted twice where a tail ends in it: measured, as much as this many blocks.
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

/// A plan that somebody chose, by a measurement of this processor or for another reason. A plan points to it, so that a
/// plan is as small as ever; so it has to stay for as long as the program runs.
///
/// ```
/// use hashmill_hash::blake3::{Kernel, Plan, Role, Tuning, hash};
/// use std::sync::OnceLock;
///
/// static TUNING: OnceLock<Tuning> = OnceLock::new();
/// let tuning = TUNING.get_or_init(|| Tuning::of(Plan::host()).kernel(Role::Xof, Kernel::portable()));
/// assert_eq!(tuning.plan().kernel(Role::Xof), Kernel::portable());
/// assert_eq!(tuning.plan().hash(b"abc"), hash(b"abc"));
/// ```
#[derive(Clone, Copy)]
pub struct Tuning(Row);

impl Tuning {
    /// What this plan does.
    pub fn of(plan: Plan) -> Tuning {
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
            Role::Xof => Row { xof: table, ..row },
        })
    }

    /// The same with a second thread from so many bytes on.
    #[must_use]
    pub fn parallel_from(self, bytes: usize) -> Tuning {
        Tuning(Row { parallel_from: bytes, ..self.0 })
    }

    /// The same, measured on this processor, as `basis` says.
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

/// What a [`Plan`] does with one input.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Choice {
    /// The size class.
    pub class: &'static str,
    /// The kernel that hashes it.
    pub kernel: Kernel,
    /// How many chunks go through it at once.
    pub lanes: usize,
    /// Why so many.
    pub why: &'static str,
    /// Whether `update_parallel` uses a second thread.
    pub parallel: bool,
    /// The kind of processor that the choice was made for.
    pub kind: &'static str,
    /// What the choice rests on.
    pub basis: &'static str,
}
