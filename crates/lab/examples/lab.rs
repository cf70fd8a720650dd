//! A program that carries the lab: three toy workloads, each with an engine that is known to be slower.
//!
//! `cargo run --release -p hashmill-lab --example lab -- list`

use hashmill_lab::cmd::{self, Mount};
use hashmill_lab::model::engine::{Digest, Engine, Fault, Spec, Workload, function};
use hashmill_lab::model::registry::{Offer, Registry};
use hashmill_lab::model::units::Units;

/// Rounds of a multiply-xor chain in registers: nothing but the core can disturb it.
struct Chain;

impl Workload for Chain {
    type Input = u64;

    fn name(&self) -> &str {
        "chain"
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Operations(spec.size)
    }

    /// Registers.
    fn working_set(&self, _: &Spec) -> u64 {
        1
    }

    fn prepare(&self, spec: &Spec, _: u64) -> Result<u64, Fault> {
        Ok(spec.size)
    }

    fn reference(&self, _: &Spec, rounds: &u64) -> Result<Digest, Fault> {
        let mut state = 1_u64;
        for round in 0..*rounds {
            state = (state ^ round).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        }
        Ok(Digest::new(&state.to_le_bytes()))
    }
}

fn chain(rounds: &u64) -> u64 {
    (0..*rounds)
        .fold(1_u64, |state, round| (state ^ round).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29))
}

/// The chain with true extra work: `percent` of the rounds once more, thrown away.
fn delayed_chain<const PERMILLE: u64>(rounds: &u64) -> u64 {
    std::hint::black_box(chain(&(rounds * PERMILLE / 1000)));
    chain(rounds)
}

/// Sum of words at dependent places of a large table: the memory decides.
struct Walk;

struct Table {
    next: Vec<u32>,
    steps: u32,
}

impl Workload for Walk {
    type Input = Table;

    fn name(&self) -> &str {
        "walk"
    }

    fn units(&self, _: &Spec) -> Units {
        Units::Operations(u64::from(STEPS))
    }

    fn working_set(&self, spec: &Spec) -> u64 {
        spec.size
    }

    fn prepare(&self, spec: &Spec, seed: u64) -> Result<Table, Fault> {
        let words = usize::try_from(spec.size / 4).map_err(Fault::failed)?;
        if words == 0 || words > 1 << 30 {
            return Err(Fault::failed("the table must hold between one and 2^30 words"));
        }
        // One cycle through all words, in an order that no prefetcher guesses (Sattolo's shuffle).
        let mut next: Vec<u32> = (0..words as u32).collect();
        let mut state = seed;
        for last in (1..words).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            next.swap(last, ((state >> 33) % last as u64) as usize);
        }
        Ok(Table { next, steps: STEPS })
    }

    fn reference(&self, _: &Spec, table: &Table) -> Result<Digest, Fault> {
        let mut at = 0_u32;
        for _ in 0..table.steps {
            at = table.next[at as usize];
        }
        Ok(Digest::new(&at.to_le_bytes()))
    }
}

const STEPS: u32 = 10_000;

fn walk(table: &Table) -> u32 {
    (0..table.steps).fold(0, |at, _| table.next[at as usize])
}

/// The walk with two percent of its steps once more.
fn delayed_walk(table: &Table) -> u32 {
    let extra = Table { next: Vec::new(), steps: table.steps / 50 };
    std::hint::black_box((0..extra.steps).fold(1, |at, _| table.next[at as usize]));
    walk(table)
}

/// Bytes summed through every phase that an engine can have.
struct Sum;

impl Workload for Sum {
    type Input = Vec<u8>;

    fn name(&self) -> &str {
        "sum"
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Bytes(spec.size)
    }

    fn prepare(&self, spec: &Spec, seed: u64) -> Result<Vec<u8>, Fault> {
        Ok((0..spec.size).map(|i| (i.wrapping_mul(31).wrapping_add(seed)) as u8).collect())
    }

    fn reference(&self, _: &Spec, input: &Vec<u8>) -> Result<Digest, Fault> {
        let sum: u64 = input.iter().map(|byte| u64::from(*byte)).sum();
        Ok(Digest::new(&sum.to_le_bytes()))
    }
}

/// Copies the input before it sums it; off by `error`, so that tests can see a wrong result.
struct Copied {
    error: u64,
}

impl Engine for Copied {
    type Input = Vec<u8>;
    type Context = ();
    type Buffer = Vec<u8>;
    type Output = u64;

    fn init(&self, _: &Spec) -> Result<(), Fault> {
        Ok(())
    }

    fn kernel(&self, (): &()) -> String {
        "bytes".to_owned()
    }

    fn reserve(&self, (): &mut (), input: &Vec<u8>) -> Result<Vec<u8>, Fault> {
        Ok(vec![0; input.len()])
    }

    fn stage(&self, (): &mut (), buffer: &mut Vec<u8>, input: &Vec<u8>) -> Result<(), Fault> {
        buffer.copy_from_slice(input);
        Ok(())
    }

    fn run(&self, (): &mut (), buffer: &mut Vec<u8>, _: &Vec<u8>) -> Result<u64, Fault> {
        Ok(buffer.iter().map(|byte| u64::from(*byte)).sum::<u64>() + self.error)
    }

    fn digest(&self, sum: &u64) -> Digest {
        Digest::new(&sum.to_le_bytes())
    }
}

/// Ends the process in the middle of its work.
struct Crashing;

impl Engine for Crashing {
    type Input = Vec<u8>;
    type Context = ();
    type Buffer = ();
    type Output = u64;

    fn init(&self, _: &Spec) -> Result<(), Fault> {
        Ok(())
    }

    fn kernel(&self, (): &()) -> String {
        "none".to_owned()
    }

    fn reserve(&self, (): &mut (), _: &Vec<u8>) -> Result<(), Fault> {
        Ok(())
    }

    fn run(&self, (): &mut (), (): &mut (), _: &Vec<u8>) -> Result<u64, Fault> {
        panic!("this engine always crashes")
    }

    fn digest(&self, sum: &u64) -> Digest {
        Digest::new(&sum.to_le_bytes())
    }
}

/// A call that does nothing, on inputs that are dear to make.
struct Dear;

impl Workload for Dear {
    type Input = u64;

    fn name(&self) -> &str {
        "dear"
    }

    fn units(&self, _: &Spec) -> Units {
        Units::Operations(1)
    }

    fn prepare(&self, spec: &Spec, _: u64) -> Result<u64, Fault> {
        Ok(spec.size + (0..100).map(|_| dear_set_up(spec.size)).sum::<u64>())
    }

    fn reference(&self, _: &Spec, _: &u64) -> Result<Digest, Fault> {
        Ok(Digest::new(&0_u64.to_le_bytes()))
    }
}

/// Asks for memory anew each time and fills it; what is left of that is nothing.
#[inline(never)]
fn dear_set_up(bytes: u64) -> u64 {
    let mut made: Vec<u64> = vec![1; bytes as usize / 8];
    let (mut at, mut sum) = (0, 0);
    while at < made.len() {
        made[at] ^= std::hint::black_box(1);
        sum ^= made[at];
        at += 1;
    }
    sum
}

/// Makes its input anew for each call.
struct Staged;

impl Engine for Staged {
    type Input = u64;
    type Context = ();
    type Buffer = u64;
    type Output = u64;

    fn init(&self, _: &Spec) -> Result<(), Fault> {
        Ok(())
    }

    fn kernel(&self, (): &()) -> String {
        "scalar".to_owned()
    }

    fn reserve(&self, (): &mut (), _: &u64) -> Result<u64, Fault> {
        Ok(0)
    }

    fn stage(&self, (): &mut (), buffer: &mut u64, bytes: &u64) -> Result<(), Fault> {
        *buffer = dear_set_up(*bytes);
        Ok(())
    }

    fn run(&self, (): &mut (), buffer: &mut u64, _: &u64) -> Result<u64, Fault> {
        Ok(*buffer)
    }

    fn digest(&self, nothing: &u64) -> Digest {
        Digest::new(&nothing.to_le_bytes())
    }

    fn consumes(&self) -> bool {
        true
    }
}

fn main() {
    let word = |state: &u64| Digest::new(&state.to_le_bytes());
    let place = |at: &u32| Digest::new(&at.to_le_bytes());
    let mut registry = Registry::new();
    registry
        .workload(Chain, &[100, 1000, 10_000])
        .engine("plain", function("scalar", chain, word), Offer::classes(&["kernel", "oneshot"]))
        .engine("slow1", function("scalar", delayed_chain::<10>, word), Offer::classes(&["kernel"]))
        .engine("twice", function("scalar", delayed_chain::<1000>, word), Offer::classes(&["kernel"]))
        .engine(
            "slow5",
            function("scalar", delayed_chain::<50>, word),
            Offer::classes(&["kernel", "oneshot"]),
        );
    registry
        .workload(Walk, &[64 << 20])
        .engine("plain", function("scalar", walk, place), Offer::classes(&["kernel"]))
        .engine("slow2", function("scalar", delayed_walk, place), Offer::classes(&["kernel"]));
    let staged = ["kernel", "backend", "oneshot", "cold", "sustained"];
    registry
        .workload(Sum, &[1 << 10, 64 << 10, 1 << 20])
        .engine("copied", Copied { error: 0 }, Offer::classes(&staged))
        .engine("wrong", Copied { error: 1 }, Offer::classes(&staged))
        .engine("crashing", Crashing, Offer::classes(&["kernel"]));
    registry
        .workload(Dear, &[64 << 10])
        .engine("kept", function("scalar", |_| 0, word), Offer::classes(&["kernel"]))
        .engine("staged", Staged, Offer::classes(&["kernel", "backend"]));
    registry.suite(
        "headline",
        "the rows that a newcomer wants to see",
        &["chain/plain/kernel", "sum/copied"],
    );
    let mount = Mount { name: "lab", arguments: &[], registry: &registry, maker: None };
    std::process::exit(cmd::main(&mount, std::env::args_os().skip(1)).code());
}
