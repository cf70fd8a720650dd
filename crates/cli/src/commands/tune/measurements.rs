//! Measurements of every option of every choice, at the sizes where it matters.

use super::decide::{self, Timing};
use super::measure::{self, Candidate};
use hashmill_hash::argon2::{self, Arena, HashError, PagePolicy, Params, batch_width};
use hashmill_hash::blake3::{BLOCK_LEN, CHUNK_LEN, Kernel, Plan, Role, Threads};
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::time::Duration;

const BLOCKS: [usize; 4] = [0, 1, 32, BLOCK_LEN];
const CHUNKS: [usize; 6] = [BLOCK_LEN + 1, 128, 256, 512, CHUNK_LEN - 1, CHUNK_LEN];
const MANY: [usize; 18] = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 31, 64, 512];
const LONG: [usize; 3] = [1024, 4 * 1024, 16 * 1024];
const XOFS: [usize; 7] = [64, 128, 256, 512, 1024, 4 * 1024, 64 * 1024];

/// Input sizes at which a second thread may start to pay, as powers of two.
const PAIRS: RangeInclusive<u32> = 16..=22;

/// Memory in KiB at which Argon2 kernels are compared: within the caches of one core, and as OWASP recommends.
const KERNELS: [u32; 2] = [1024, 19_456];

/// Memory in KiB at which numbers of interleaved streams are compared, up to the largest that OWASP recommends.
pub(super) const STREAMS: [u32; 5] = [1024, 4096, 12_288, 19_456, 47_104];

/// Maximum streams per thread.
const MAX_STREAMS: usize = 4;

/// Lanes: divisible by every number of streams.
pub(super) const LANES: u32 = 12;

/// Share of the time for each part. That of threads is mostly pauses.
const BLAKE3_SHARE: f64 = 0.50;
const THREADS_SHARE: f64 = 0.12;
const ARGON2_SHARE: f64 = 0.38;

/// Options compared at some sizes.
pub(super) struct Group {
    pub(super) what: &'static str,
    pub(super) options: Vec<String>,
    pub(super) rows: Vec<Timing>,
}

/// All measurements.
pub(super) struct Measurements {
    /// In the order of [`Role::ALL`].
    pub(super) blake3: [Group; 5],
    /// One thread compared with two, or why that was not measured.
    pub(super) threads: Result<Group, String>,
    pub(super) argon2: Group,
    /// The built-in plan for the kernel chosen by that group.
    pub(super) plan: argon2::Plan,
    pub(super) lanes: Group,
    pub(super) hashes: Group,
}

impl Measurements {
    pub(super) fn groups(&self) -> impl Iterator<Item = &Group> {
        let argon2 = [&self.argon2, &self.lanes, &self.hashes];
        self.blake3.iter().chain(self.threads.as_ref().ok()).chain(argon2)
    }
}

/// Number of sizes to measure.
pub(super) const SIZE_COUNT: usize = BLOCKS.len()
    + CHUNKS.len()
    + MANY.len()
    + LONG.len()
    + XOFS.len()
    + (*PAIRS.end() - *PAIRS.start() + 1) as usize
    + KERNELS.len()
    + 2 * STREAMS.len();

/// Measures for about `time`; calls `done` after each size. Leaves out sizes that need more memory than is free.
pub(super) fn measure_all(
    time: Duration,
    free_kib: Option<u64>,
    done: &dyn Fn(),
) -> Result<Measurements, HashError> {
    let part = |share: f64, sizes: usize| time.mul_f64(share / sizes as f64);
    let roles = BLOCKS.len() + CHUNKS.len() + MANY.len() + LONG.len() + XOFS.len();
    let blake3 = blake3(part(BLAKE3_SHARE, roles), done)?;
    let threads = threads(part(THREADS_SHARE, PAIRS.count()), done);
    let budget = part(ARGON2_SHARE, KERNELS.len() + 2 * STREAMS.len());
    let arenas = (0..MAX_STREAMS).map(|_| Arena::new(PagePolicy::default())).collect();
    let argon2 = Argon2 { budget, free_kib, arenas: RefCell::new(arenas), done };
    let kernels = argon2.kernels()?;
    let chosen = decide::choose(&kernels.rows).and_then(|choice| argon2::Kernel::all().nth(choice.option));
    let plan = chosen.map_or_else(argon2::Plan::host, argon2::Plan::for_kernel);
    let (lanes, hashes) = (argon2.lanes(plan)?, argon2.hashes(plan)?);
    Ok(Measurements { blake3, threads, argon2: kernels, plan, lanes, hashes })
}

/// Measures every size of every role with every kernel. Each kernel is a plan of its own, so it also hashes the one-block part
/// of a larger input; above a chunk that is one parent among many compressions.
fn blake3(budget: Duration, done: &dyn Fn()) -> Result<[Group; 5], HashError> {
    let kernels: Vec<Kernel> = Kernel::all().collect();
    let bytes = bytes(LONG[LONG.len() - 1] * CHUNK_LEN);
    let group = |role: Role, lens: &[usize]| -> Result<Group, HashError> {
        let chosen = Plan::host().kernel(role);
        let in_use = kernels.iter().position(|kernel| *kernel == chosen).unwrap_or(0);
        let mut rows = Vec::new();
        for &len in lens {
            let candidate = |kernel: &Kernel| match role {
                Role::Xof => Candidate::xof(Plan::for_kernel(*kernel), len),
                _ => Candidate::hash(Plan::for_kernel(*kernel), &bytes[..len]),
            };
            let mut candidates: Vec<_> = kernels.iter().map(candidate).collect();
            rows.push(Timing::new(len as u64, in_use, measure::interleaved(budget, &mut candidates)?));
            done();
        }
        let options = kernels.iter().map(|kernel| kernel.name().to_owned()).collect();
        Ok(Group { what: role.name(), options, rows })
    };
    let (many, long) = (MANY.map(|chunks| chunks * CHUNK_LEN), LONG.map(|chunks| chunks * CHUNK_LEN));
    Ok([
        group(Role::Block, &BLOCKS)?,
        group(Role::Chunk, &CHUNKS)?,
        group(Role::Many, &many)?,
        group(Role::Long, &long)?,
        group(Role::Xof, &XOFS)?,
    ])
}

/// Measures one thread and two at each length, or says why not.
fn threads(budget: Duration, done: &dyn Fn()) -> Result<Group, String> {
    if hashmill_machine::threads() < 2 {
        return Err("this process has one CPU".to_owned());
    }
    let plan = Plan::host();
    let bytes = bytes(1 << PAIRS.end());
    let mut rows = Vec::new();
    for bits in PAIRS {
        let input = &bytes[..1 << bits];
        let mut candidates = [
            Candidate::cold(measure::two_threads(plan)?, Threads::Serial, input),
            Candidate::cold(measure::two_threads(plan)?, Threads::AtMost(2), input),
        ];
        let samples = measure::interleaved(budget, &mut candidates).map_err(|error| error.to_string())?;
        rows.push(Timing::new(1 << bits, 0, samples));
        done();
    }
    let options = ["one", "two"].map(str::to_owned).into();
    Ok(Group { what: "threads", options, rows })
}

/// Shared state of the Argon2 measurements.
struct Argon2<'a> {
    budget: Duration,
    free_kib: Option<u64>,
    arenas: RefCell<Vec<Arena>>,
    done: &'a dyn Fn(),
}

impl Argon2<'_> {
    fn kernels(&self) -> Result<Group, HashError> {
        let kernels: Vec<argon2::Kernel> = argon2::Kernel::all().collect();
        let chosen = argon2::Plan::host().kernel();
        let in_use = kernels.iter().position(|kernel| *kernel == chosen).unwrap_or(0);
        let candidate = |kernel: &argon2::Kernel, params| {
            Candidate::argon2(argon2::Plan::for_kernel(*kernel), params, 1, &self.arenas)
        };
        let rows = self.rows(
            &KERNELS,
            1,
            1,
            |_| in_use,
            |params| kernels.iter().map(|kernel| candidate(kernel, params)).collect(),
        )?;
        Ok(Group {
            what: "kernel",
            options: kernels.iter().map(|kernel| kernel.name().to_owned()).collect(),
            rows,
        })
    }

    /// One hash of many lanes, with 1 to `MAX_STREAMS` lanes interleaved.
    fn lanes(&self, plan: argon2::Plan) -> Result<Group, HashError> {
        let rows = self.rows(
            &STREAMS,
            LANES,
            1,
            |params| plan.width(params) - 1,
            |params| {
                let candidate = |width| Candidate::argon2(plan.with_width(width), params, 1, &self.arenas);
                (1..=MAX_STREAMS).map(candidate).collect()
            },
        )?;
        Ok(Group { what: "lanes in turns", options: counts(), rows })
    }

    /// 1 to `MAX_STREAMS` hashes of one lane, interleaved.
    fn hashes(&self, plan: argon2::Plan) -> Result<Group, HashError> {
        let rows = self.rows(
            &STREAMS,
            1,
            MAX_STREAMS,
            |params| batch_width(plan, params) - 1,
            |params| {
                let candidate =
                    |width| Candidate::argon2(plan.with_width(width), params, width, &self.arenas);
                (1..=MAX_STREAMS).map(candidate).collect()
            },
        )?;
        Ok(Group { what: "hashes side by side", options: counts(), rows })
    }

    /// Measures all options at each size, if that many hashes fit into free memory.
    fn rows<'a>(
        &self,
        sizes: &[u32],
        lanes: u32,
        hashes: usize,
        in_use: impl Fn(Params) -> usize,
        candidates: impl Fn(Params) -> Vec<Candidate<'a>>,
    ) -> Result<Vec<Timing>, HashError> {
        let mut rows = Vec::new();
        for &kib in sizes {
            let needed = u64::from(kib) * hashes as u64;
            if self.free_kib.is_none_or(|free| needed <= free) {
                let params = Params::new(kib, 1, lanes).expect("valid by RFC 9106");
                let samples = measure::interleaved(self.budget, &mut candidates(params))?;
                rows.push(Timing::new(u64::from(kib) << 10, in_use(params), samples));
            }
            (self.done)();
        }
        Ok(rows)
    }
}

fn counts() -> Vec<String> {
    (1..=MAX_STREAMS).map(|count| count.to_string()).collect()
}

/// Test input. The speed of kernels does not depend on it.
fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index % 251) as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_belong_to_their_roles() {
        let class = |len: usize| Plan::host().explain(len).class;
        assert!(BLOCKS.iter().all(|&len| class(len) == Role::Block.name()));
        assert!(CHUNKS.iter().all(|&len| class(len) == Role::Chunk.name()));
        assert!(MANY.iter().all(|&chunks| class(chunks * CHUNK_LEN) == Role::Many.name()));
        assert!(LONG.iter().all(|&chunks| class(chunks * CHUNK_LEN) == Role::Long.name()));
    }

    #[test]
    fn sizes_over_free_memory_are_skipped() {
        let count = std::cell::Cell::new(0);
        let argon2 = Argon2 {
            budget: Duration::ZERO,
            free_kib: Some(4 * 4096),
            arenas: RefCell::new((0..MAX_STREAMS).map(|_| Arena::default()).collect()),
            done: &|| count.set(count.get() + 1),
        };
        let group = argon2.hashes(argon2::Plan::host()).expect("memory");
        assert_eq!(group.rows.iter().map(|row| row.size >> 10).collect::<Vec<_>>(), [1024, 4096]);
        assert_eq!(count.get(), STREAMS.len());
    }
}
