//! Probes of the machine's limits: memory bandwidth and vector throughput.
//!
//! They run on as many threads as the rows they bound. The third limit, latency of dependent instructions, is
//! `lab.cpu`: each of its instructions depends on the one before.

use crate::model::engine::{CaseError, Digest, Engine, Routine, Spec, Workload};
use crate::model::lower_bound::MinimalWork;
use crate::model::units::Units;
use hashmill_machine::HugeBytes;
use hashmill_machine::vectors::{REGISTERS, add_xor_rounds, sum_words, vector_bytes};

/// Reads a large input in order.
pub(super) struct Stream;

/// Bytes with the sum of their words.
pub(super) struct Summed {
    bytes: HugeBytes,
    sum: u64,
}

impl Workload for Stream {
    type Input = Summed;

    fn name(&self) -> &str {
        "lab.stream"
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Bytes(spec.size)
    }

    fn work(&self, spec: &Spec) -> Option<MinimalWork> {
        Some(MinimalWork { memory_bytes: spec.size, ..MinimalWork::default() })
    }

    fn prepare(&self, spec: &Spec, seed: u64) -> Result<Summed, CaseError> {
        let len = usize::try_from(spec.size).map_err(CaseError::failed)?;
        if len == 0 || !len.is_multiple_of(4096) {
            return Err(CaseError::failed("the size must be a multiple of 4 KiB"));
        }
        let mut bytes = HugeBytes::zeroed(len).map_err(CaseError::unavailable)?;
        let (mut state, mut sum) = (seed, 0_u64);
        for word in bytes.as_chunks_mut::<8>().0 {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let value = state ^ (state >> 31);
            sum = sum.wrapping_add(value);
            *word = value.to_le_bytes();
        }
        Ok(Summed { bytes, sum })
    }

    fn reference(&self, _: &Spec, input: &Summed) -> Result<Digest, CaseError> {
        Ok(Digest::new(&input.sum.to_le_bytes()))
    }
}

pub(super) fn stream() -> impl Engine<Input = Summed> {
    let run = |threads: &mut usize, input: &Summed| {
        let share = input.bytes.len().div_ceil(*threads).next_multiple_of(4096);
        let parts: Vec<&[u8]> = input.bytes.chunks(share).collect();
        Ok(on_threads(parts.len(), |i| sum_words(parts[i])).fold(0, u64::wrapping_add))
    };
    Routine::new(
        threads,
        |_: &usize| "widest registers".to_owned(),
        run,
        |sum: &u64| Digest::new(&sum.to_le_bytes()),
    )
}

/// Additions and xors in vector registers. The size is the number of rounds; each thread does all of them.
pub(super) struct Ports;

/// Instructions per register and round.
const STEPS: u64 = 2;
/// Loop-invariant operands.
const OPERANDS: [u32; 2] = [0x9E37_79B9, 0x5555_5555];

impl Workload for Ports {
    type Input = u64;

    fn name(&self) -> &str {
        "lab.ports"
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Operations(spec.size * STEPS * REGISTERS as u64 * u64::from(spec.threads))
    }

    /// Registers only.
    fn working_set(&self, _: &Spec) -> u64 {
        1
    }

    fn work(&self, spec: &Spec) -> Option<MinimalWork> {
        let register = vector_bytes() as u64;
        Some(MinimalWork { vector_bytes: self.units(spec).count() * register, ..MinimalWork::default() })
    }

    fn prepare(&self, spec: &Spec, _: u64) -> Result<u64, CaseError> {
        Ok(spec.size)
    }

    /// One lane of each register, computed with scalars.
    fn reference(&self, _: &Spec, rounds: &u64) -> Result<Digest, CaseError> {
        let mut registers: [u32; REGISTERS] = std::array::from_fn(|i| i as u32);
        for _ in 0..*rounds {
            registers = registers.map(|x| x.wrapping_add(OPERANDS[0]) ^ OPERANDS[1]);
        }
        Ok(words(&registers))
    }
}

fn words(registers: &[u32; REGISTERS]) -> Digest {
    Digest::new(&registers.map(u32::to_le_bytes).concat())
}

pub(super) fn ports() -> impl Engine<Input = u64> {
    let run = |threads: &mut usize, rounds: &u64| {
        let mut results = on_threads(*threads, |_| add_xor_rounds(*rounds, OPERANDS));
        let first = results.next().unwrap_or_default();
        let equal = results.all(|result| result == first);
        if equal { Ok(first) } else { Err(CaseError::failed("two threads computed different things")) }
    };
    let name = |_: &usize| format!("{}-bit registers", 8 * vector_bytes());
    Routine::new(threads, name, run, words)
}

fn threads(spec: &Spec) -> Result<usize, CaseError> {
    usize::try_from(spec.threads).map_err(CaseError::failed)
}

/// Results of `count` parallel calls, the first on this thread.
fn on_threads<T: Send>(count: usize, call: impl Fn(usize) -> T + Sync) -> impl Iterator<Item = T> {
    let call = &call;
    let results: Vec<T> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..count).map(|i| scope.spawn(move || call(i))).collect();
        let own = call(0);
        let others = others.into_iter().map(|other| other.join().expect("a probe does not panic"));
        std::iter::once(own).chain(others).collect()
    });
    results.into_iter()
}
