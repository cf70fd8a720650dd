//! A program that contains the lab: three toy workloads, each with an engine that is known to be slower.
//!
//! `cargo run --release -p hashmill-lab --example lab -- list`

use hashmill_lab::cmd::{self, LabSetup};
use hashmill_lab::model::engine::{CaseError, Digest, Engine, Spec, Workload, function};
use hashmill_lab::model::registry::{EngineOffer, Registry};
use hashmill_lab::model::summary::{Meaning, NamedCase, Number, ProductRow, Summary, Tool};
use hashmill_lab::model::units::Units;

/// Rounds of a multiply-xor chain in registers, which depends on the core only.
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

    fn prepare(&self, spec: &Spec, _: u64) -> Result<u64, CaseError> {
        Ok(spec.size)
    }

    fn reference(&self, _: &Spec, rounds: &u64) -> Result<Digest, CaseError> {
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

/// The chain with real extra work: repeats a share of the rounds and discards the result.
fn delayed_chain<const PERMILLE: u64>(rounds: &u64) -> u64 {
    std::hint::black_box(chain(&(rounds * PERMILLE / 1000)));
    chain(rounds)
}

/// Sum of words at dependent positions of a large table, which depends on the memory.
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

    fn prepare(&self, spec: &Spec, seed: u64) -> Result<Table, CaseError> {
        let words = usize::try_from(spec.size / 4).map_err(CaseError::failed)?;
        if words == 0 || words > 1 << 30 {
            return Err(CaseError::failed("the table must hold between one and 2^30 words"));
        }
        // One cycle through all words, in an order that prefetchers cannot predict (Sattolo's shuffle).
        let mut next: Vec<u32> = (0..words as u32).collect();
        let mut state = seed;
        for last in (1..words).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            next.swap(last, ((state >> 33) % last as u64) as usize);
        }
        Ok(Table { next, steps: STEPS })
    }

    fn reference(&self, _: &Spec, table: &Table) -> Result<Digest, CaseError> {
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

/// The walk with two percent of its steps repeated.
fn delayed_walk(table: &Table) -> u32 {
    let extra = Table { next: Vec::new(), steps: table.steps / 50 };
    std::hint::black_box((0..extra.steps).fold(1, |at, _| table.next[at as usize]));
    walk(table)
}

/// Sum of bytes, with every phase that an engine can have.
struct Sum;

impl Workload for Sum {
    type Input = Vec<u8>;

    fn name(&self) -> &str {
        "sum"
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Bytes(spec.size)
    }

    fn prepare(&self, spec: &Spec, seed: u64) -> Result<Vec<u8>, CaseError> {
        Ok((0..spec.size).map(|i| (i.wrapping_mul(31).wrapping_add(seed)) as u8).collect())
    }

    fn reference(&self, _: &Spec, input: &Vec<u8>) -> Result<Digest, CaseError> {
        let sum: u64 = input.iter().map(|byte| u64::from(*byte)).sum();
        Ok(Digest::new(&sum.to_le_bytes()))
    }
}

/// Copies the input before the sum; `error` is added, so that tests can see a wrong result.
struct Copied {
    error: u64,
}

impl Engine for Copied {
    type Input = Vec<u8>;
    type Context = ();
    type Buffer = Vec<u8>;
    type Output = u64;

    fn init(&self, _: &Spec) -> Result<(), CaseError> {
        Ok(())
    }

    fn kernel(&self, (): &()) -> String {
        "bytes".to_owned()
    }

    fn reserve(&self, (): &mut (), input: &Vec<u8>) -> Result<Vec<u8>, CaseError> {
        Ok(vec![0; input.len()])
    }

    fn stage(&self, (): &mut (), buffer: &mut Vec<u8>, input: &Vec<u8>) -> Result<(), CaseError> {
        buffer.copy_from_slice(input);
        Ok(())
    }

    fn run(&self, (): &mut (), buffer: &mut Vec<u8>, _: &Vec<u8>) -> Result<u64, CaseError> {
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

    fn init(&self, _: &Spec) -> Result<(), CaseError> {
        Ok(())
    }

    fn kernel(&self, (): &()) -> String {
        "none".to_owned()
    }

    fn reserve(&self, (): &mut (), _: &Vec<u8>) -> Result<(), CaseError> {
        Ok(())
    }

    fn run(&self, (): &mut (), (): &mut (), _: &Vec<u8>) -> Result<u64, CaseError> {
        panic!("this engine always crashes")
    }

    fn digest(&self, sum: &u64) -> Digest {
        Digest::new(&sum.to_le_bytes())
    }
}

/// A call that does nothing, with inputs that are expensive to make.
struct Dear;

impl Workload for Dear {
    type Input = u64;

    fn name(&self) -> &str {
        "dear"
    }

    fn units(&self, _: &Spec) -> Units {
        Units::Operations(1)
    }

    fn prepare(&self, spec: &Spec, _: u64) -> Result<u64, CaseError> {
        Ok(spec.size + (0..100).map(|_| dear_set_up(spec.size)).sum::<u64>())
    }

    fn reference(&self, _: &Spec, _: &u64) -> Result<Digest, CaseError> {
        Ok(Digest::new(&0_u64.to_le_bytes()))
    }
}

/// Allocates and fills memory in each call, and returns 0.
#[inline(never)]
fn dear_set_up(bytes: u64) -> u64 {
    let mut words: Vec<u64> = vec![1; bytes as usize / 8];
    let (mut at, mut sum) = (0, 0);
    while at < words.len() {
        words[at] ^= std::hint::black_box(1);
        sum ^= words[at];
        at += 1;
    }
    sum
}

/// Makes its input again for each call.
struct Staged;

impl Engine for Staged {
    type Input = u64;
    type Context = ();
    type Buffer = u64;
    type Output = u64;

    fn init(&self, _: &Spec) -> Result<(), CaseError> {
        Ok(())
    }

    fn kernel(&self, (): &()) -> String {
        "scalar".to_owned()
    }

    fn reserve(&self, (): &mut (), _: &u64) -> Result<u64, CaseError> {
        Ok(0)
    }

    fn stage(&self, (): &mut (), buffer: &mut u64, bytes: &u64) -> Result<(), CaseError> {
        *buffer = dear_set_up(*bytes);
        Ok(())
    }

    fn run(&self, (): &mut (), buffer: &mut u64, _: &u64) -> Result<u64, CaseError> {
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
    let position = |at: &u32| Digest::new(&at.to_le_bytes());
    let mut registry = Registry::new();
    registry
        .workload(Chain, &[100, 1000, 10_000])
        .engine("plain", function("scalar", chain, word), EngineOffer::classes(&["kernel", "oneshot"]))
        .engine("slow1", function("scalar", delayed_chain::<10>, word), EngineOffer::classes(&["kernel"]))
        .engine("twice", function("scalar", delayed_chain::<1000>, word), EngineOffer::classes(&["kernel"]))
        .engine(
            "slow5",
            function("scalar", delayed_chain::<50>, word),
            EngineOffer::classes(&["kernel", "oneshot"]),
        );
    registry
        .workload(Walk, &[64 << 20])
        .engine("plain", function("scalar", walk, position), EngineOffer::classes(&["kernel"]))
        .engine("slow2", function("scalar", delayed_walk, position), EngineOffer::classes(&["kernel"]));
    let staged = ["kernel", "backend", "oneshot", "cold", "sustained"];
    registry
        .workload(Sum, &[1 << 10, 64 << 10, 1 << 20])
        .engine("copied", Copied { error: 0 }, EngineOffer::classes(&staged))
        .engine("wrong", Copied { error: 1 }, EngineOffer::classes(&staged))
        .engine("crashing", Crashing, EngineOffer::classes(&["kernel"]));
    registry
        .workload(Dear, &[64 << 10])
        .engine("kept", function("scalar", |_| 0, word), EngineOffer::classes(&["kernel"]))
        .engine("staged", Staged, EngineOffer::classes(&["kernel", "backend"]));
    let named = |name: &str, case: &str| NamedCase::new(name, case);
    let row = |case: &str, meaning: Meaning, tool: Tool| ProductRow {
        product: "TOYS".to_owned(),
        named: named(case.split('/').next().unwrap_or_default(), case),
        number: Number::Time,
        meaning,
        tool,
    };
    let chain = row(
        "chain/plain/kernel/10000/t1",
        Meaning::PerSecond("rounds".to_owned()),
        Tool::Measured(named("twice", "chain/twice/kernel/10000/t1")),
    );
    let image = Meaning::Amount { what: "a floppy disk".to_owned(), units: 1_474_560 };
    let abacus = Tool::Recorded { name: "abacus".to_owned(), engine: "abacus".to_owned() };
    let sum = row("sum/copied/kernel/64KiB/t1", image.clone(), abacus.clone());
    let summary = |products: Vec<ProductRow>, further: Vec<NamedCase>| Summary {
        program: "The example".to_owned(),
        rivals: "lab compare".to_owned(),
        products,
        further,
        recorded: Vec::new(),
    };
    let further = vec![named("sum of 1 KiB", "sum/copied/oneshot/1KiB/t1")];
    registry.summary(
        "headline",
        "the rows that a newcomer wants to see",
        summary(vec![chain.clone(), sum], further),
    );
    let wrong = row("sum/wrong/kernel/1KiB/t1", image, abacus);
    registry.summary("broken", "a row with a wrong result", summary(vec![chain, wrong], Vec::new()));
    let lab = LabSetup { name: "lab", arguments: &[], registry: &registry, package: None, builder: None };
    std::process::exit(cmd::main(&lab, std::env::args_os().skip(1)).code());
}
