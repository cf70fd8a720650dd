//! Measures this host and prints the row of the plan that it would choose: `cargo xtask tune [DATE]`.
//!
//! `measure` has the clock, `decide` the rules, `words` the output. A kernel is measured as a plan of its own, so the
//! one-block part of a larger input is its own too; at more than a chunk that is one parent of many compressions.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a developer tool speaks on the terminal")]

mod decide;
mod measure;
mod words;

use decide::{Pair, Role, Timing};
use hashmill_hash::blake3::{BLOCK_LEN, CHUNK_LEN, Kernel, Plan, Threads};
use hashmill_hash::isa::Cpu;
use measure::Candidate;
use std::env;
use std::process::ExitCode;
use std::time::Duration;

/// For each size of input or output: thirty of them take 24 seconds.
const SIZE_BUDGET: Duration = Duration::from_millis(800);

/// For each length of [`PAIRS`]: most of it is pauses.
const PAIR_BUDGET: Duration = Duration::from_millis(1500);

const BLOCKS: [usize; 4] = [0, 1, 32, BLOCK_LEN];
const CHUNKS: [usize; 6] = [BLOCK_LEN + 1, 128, 256, 512, CHUNK_LEN - 1, CHUNK_LEN];
const XOFS: [usize; 3] = [64, 1024, 64 * 1024];

/// Where a second thread may begin to pay, as powers of two.
const PAIRS: std::ops::RangeInclusive<u32> = 16..=22;

/// The row in use, as the public interface shows it.
struct InUse {
    kind: &'static str,
    /// Every kernel that runs here.
    kernels: Vec<Kernel>,
    /// For each role, which of them.
    roles: [usize; 4],
    parallel_from: usize,
}

impl InUse {
    fn of(plan: Plan) -> InUse {
        let kernels: Vec<_> = Kernel::all().collect();
        let roles = Role::ALL.map(|role| {
            let kernel = match role {
                Role::Block => plan.explain(BLOCK_LEN).kernel,
                Role::Chunk => plan.explain(CHUNK_LEN).kernel,
                Role::Many => plan.explain(CHUNK_LEN + 1).kernel,
                Role::Xof => plan.kernel(hashmill_hash::blake3::Role::Xof),
            };
            kernels.iter().position(|&other| other == kernel).expect("a kernel in use runs here")
        });
        InUse { kind: plan.kind(), kernels, roles, parallel_from: first_parallel(plan) }
    }

    fn kernel(&self, role: Role) -> usize {
        self.roles[role as usize]
    }
}

/// What was measured to be best.
struct Found {
    roles: [usize; 4],
    parallel_from: usize,
}

impl Found {
    fn kernel(&self, role: Role) -> usize {
        self.roles[role as usize]
    }
}

fn main() -> ExitCode {
    let date = env::args().nth(1);
    let plan = Plan::host();
    let in_use = InUse::of(plan);
    let cpu = Cpu::detect();
    let cpu = if cpu.brand().is_empty() { "an unnamed processor" } else { cpu.brand() };
    println!("{cpu}, {} ({})", plan.kind(), plan.basis());
    println!("Times of the row in use; for each kernel its speed beside that: above 1 it is faster.");
    println!("The kernel in use beside itself shows the noise.\n");

    let timings = timings(plan, &in_use.kernels);
    println!("{}", words::table(&in_use, &timings));
    let parallel_from = match pairs(plan) {
        Ok(pairs) => {
            println!("{}", words::threads(&pairs));
            decide::parallel_from(in_use.parallel_from, &pairs)
        }
        Err(reason) => {
            println!("SKIPPED: two threads: {reason}\n");
            in_use.parallel_from
        }
    };

    let choices = Role::ALL.map(|role| decide::choose(role, in_use.kernel(role), &timings));
    for (role, choice) in Role::ALL.into_iter().zip(&choices) {
        println!("{}", words::choice(&in_use, role, choice));
    }
    for (less, more) in decide::inversions(&timings) {
        println!("{less} takes longer than {more}: see the costs of the passes");
    }
    let found = Found { roles: choices.map(|choice| choice.kernel), parallel_from };
    println!("\n{}", words::row(&in_use, &found, cpu, date.as_deref()));
    println!("{}", words::verdict(&in_use, &found));
    ExitCode::SUCCESS
}

/// Every size of every role, with every kernel.
fn timings(plan: Plan, kernels: &[Kernel]) -> Vec<Timing> {
    let many = (2..=16).chain([31, 1024, 16 * 1024]).map(|chunks| chunks * CHUNK_LEN);
    let inputs = BLOCKS.map(|len| (Role::Block, len)).into_iter();
    let inputs = inputs.chain(CHUNKS.map(|len| (Role::Chunk, len))).chain(many.map(|len| (Role::Many, len)));
    let bytes = bytes(16 * 1024 * CHUNK_LEN);
    inputs
        .chain(XOFS.map(|len| (Role::Xof, len)))
        .map(|(role, len)| {
            let plans = [plan].into_iter().chain(kernels.iter().map(|&kernel| Plan::of(kernel)));
            let mut candidates: Vec<_> = plans
                .map(|plan| match role {
                    Role::Xof => Candidate::xof(plan, len),
                    _ => Candidate::hash(plan, &bytes[..len]),
                })
                .collect();
            Timing::new(role, words::size(len), measure::interleaved(SIZE_BUDGET, &mut candidates))
        })
        .collect()
}

/// One thread and two at each length, or why not.
fn pairs(plan: Plan) -> Result<Vec<Pair>, String> {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return Err("this process has one processor".to_owned());
    }
    let bytes = bytes(1 << PAIRS.end());
    PAIRS
        .map(|bits| {
            let input = &bytes[..1 << bits];
            let mut candidates = [
                Candidate::cold(measure::two_threads(plan)?, Threads::Serial, input),
                Candidate::cold(measure::two_threads(plan)?, Threads::AtMost(2), input),
            ];
            let [one, two]: [Vec<f64>; 2] =
                measure::interleaved(PAIR_BUDGET, &mut candidates).try_into().expect("two candidates");
            Ok(Pair { len: input.len(), one: decide::median(one), two: decide::median(two) })
        })
        .collect()
}

/// Where the plan asks for a second thread first.
fn first_parallel(plan: Plan) -> usize {
    let (mut low, mut high) = (0, usize::MAX);
    while low < high {
        let middle = low + (high - low) / 2;
        if plan.explain(middle).parallel { high = middle } else { low = middle + 1 }
    }
    low
}

/// Input without pattern enough to matter: kernels do not look at it.
fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index % 251) as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boundary_is_found_from_outside() {
        let from = first_parallel(Plan::host());
        assert!(Plan::host().explain(from).parallel && !Plan::host().explain(from - 1).parallel);
    }

    #[test]
    fn sizes_fall_into_the_roles_that_they_are_measured_for() {
        let class = |len: usize| Plan::host().explain(len).class;
        assert!(BLOCKS.iter().all(|&len| class(len) == class(0)));
        assert!(CHUNKS.iter().all(|&len| class(len) == class(CHUNK_LEN) && class(len) != class(0)));
        assert_ne!(class(2 * CHUNK_LEN), class(CHUNK_LEN));
    }
}
