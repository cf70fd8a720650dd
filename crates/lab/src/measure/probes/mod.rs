//! Built-in workloads with known work, on which the lab measures itself and the machine.
//!
//! `lab.cpu` uses registers only; `lab.memory` waits for dependent blocks of memory. Both can do real extra work,
//! `extra=N` in thousandths, whose result is discarded: a slowdown of known size by the same instructions. They are
//! in every registry, but listed only if requested by name. Probes of the machine's limits are in `limits`.

#[cfg(feature = "limits")]
mod limits;

use crate::model::engine::{CaseError, Digest, Engine, Routine, Spec, Workload};
use crate::model::lower_bound::{BoundKind, MinimalWork};
use crate::model::registry::{EngineOffer, Registry};
use crate::model::units::Units;
use hashmill_machine::HugeBytes;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

/// Probe cases for the machine's limits on `threads` threads, for the kinds of work in `work`; empty without the
/// feature `limits`.
pub(crate) fn limits(work: &MinimalWork, threads: u32) -> Vec<String> {
    let probe = |bound| match bound {
        BoundKind::Memory => format!("lab.stream/probe/kernel/256MiB/t{threads}"),
        BoundKind::Ports => format!("lab.ports/probe/kernel/1000000/t{threads}"),
        BoundKind::Latency => "lab.cpu/probe/kernel/20000/t1".to_owned(),
    };
    let known = BoundKind::ALL.into_iter().filter(|_| cfg!(feature = "limits"));
    known.filter(|bound| work.amount(*bound) > 0).map(probe).collect()
}

/// Suggested values of `extra`.
const EXTRA: [&str; 5] = ["5", "10", "20", "30", "50"];

impl Registry {
    /// A registry with nothing but the lab's own probes.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::empty();
        register(&mut registry);
        registry
    }
}

impl Default for Registry {
    fn default() -> Self {
        Registry::new()
    }
}

fn register(registry: &mut Registry) {
    let offer = || EngineOffer::classes(&["kernel"]).knob("extra", EXTRA);
    registry.workload(Cpu, &[20_000]).engine("probe", cpu(), offer());
    registry.workload(Memory, &[64 << 20]).engine("probe", memory(), offer());
    #[cfg(feature = "limits")]
    {
        let kernel = || EngineOffer::classes(&["kernel"]);
        registry.workload(limits::Stream, &[256 << 20]).engine("probe", limits::stream(), kernel());
        registry.workload(limits::Ports, &[1_000_000]).engine("probe", limits::ports(), kernel());
    }
}

fn word(word: &u64) -> Digest {
    Digest::new(&word.to_le_bytes())
}

/// Rounds of add, rotate and xor in four registers.
struct Cpu;

impl Workload for Cpu {
    type Input = u64;

    fn name(&self) -> &str {
        "lab.cpu"
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Operations(spec.size)
    }

    /// Registers only.
    fn working_set(&self, _: &Spec) -> u64 {
        1
    }

    /// Each of the twelve instructions of a round depends on the one before.
    fn work(&self, spec: &Spec) -> Option<MinimalWork> {
        Some(MinimalWork { chain: 12 * spec.size, ..MinimalWork::default() })
    }

    fn prepare(&self, spec: &Spec, _: u64) -> Result<u64, CaseError> {
        Ok(spec.size)
    }

    /// Independent of [`rounds`], on an array instead of registers.
    fn reference(&self, _: &Spec, count: &u64) -> Result<Digest, CaseError> {
        let mut v = START;
        for _ in 0..*count {
            for (a, b, c, rotation) in [(0, 1, 3, 32), (2, 3, 1, 24), (0, 1, 3, 16), (2, 3, 1, 63)] {
                v[a] = v[a].wrapping_add(v[b]);
                v[c] = (v[c] ^ v[a]).rotate_right(rotation);
            }
        }
        Ok(Digest::new(&v.map(u64::to_le_bytes).concat()))
    }
}

const START: [u64; 4] =
    [0x6A09_E667_F3BC_C908, 0xBB67_AE85_84CA_A73B, 0x3C6E_F372_FE94_F82B, 0xA54F_F53A_5F1D_36F1];

#[inline(never)]
fn rounds([mut a, mut b, mut c, mut d]: [u64; 4], count: u64) -> [u64; 4] {
    for _ in 0..count {
        a = a.wrapping_add(b);
        d = (d ^ a).rotate_right(32);
        c = c.wrapping_add(d);
        b = (b ^ c).rotate_right(24);
        a = a.wrapping_add(b);
        d = (d ^ a).rotate_right(16);
        c = c.wrapping_add(d);
        b = (b ^ c).rotate_right(63);
    }
    [a, b, c, d]
}

fn cpu() -> impl Engine<Input = u64> {
    let run = |extra: &mut u64, count: &u64| {
        let result = rounds(START, *count);
        black_box(rounds(black_box(result), count * *extra / 1000));
        Ok(result)
    };
    let digest = |result: &[u64; 4]| Digest::new(&result.map(u64::to_le_bytes).concat());
    Routine::new(extra, scalar, run, digest)
}

fn scalar<C>(_: &C) -> String {
    "scalar".to_owned()
}

/// Walk over 1 KiB blocks of the whole input, whose next index depends on the current block.
///
/// The walk continues where the previous call ended, because a repeated path would soon be cached. Its result is
/// known nevertheless: the words of every block have the same sum, and the result is the number of blocks with that
/// sum.
struct Memory;

const BLOCK: usize = 1024;
/// Blocks per call: about 0.25 ms of waiting, and thousandths are whole blocks.
const STEPS: u64 = 1000;
/// Sum of the words of each block.
const SUM: u64 = 0x1AB0_1AB0_1AB0_1AB0;

impl Workload for Memory {
    type Input = HugeBytes;

    fn name(&self) -> &str {
        "lab.memory"
    }

    fn units(&self, _: &Spec) -> Units {
        Units::Bytes(STEPS * BLOCK as u64)
    }

    /// A call visits part of the input, and the next one continues elsewhere.
    fn working_set(&self, spec: &Spec) -> u64 {
        spec.size
    }

    fn prepare(&self, spec: &Spec, seed: u64) -> Result<HugeBytes, CaseError> {
        let len = usize::try_from(spec.size).map_err(CaseError::failed)?;
        if !len.is_power_of_two() || len < BLOCK {
            return Err(CaseError::failed("the size must be a power of two of at least 1 KiB"));
        }
        let mut bytes = HugeBytes::zeroed(len).map_err(CaseError::failed)?;
        let mut state = seed;
        for block in bytes.as_chunks_mut::<8>().0.chunks_exact_mut(BLOCK / 8) {
            let (last, words) = block.split_last_mut().expect("128 words");
            let mut sum = 0_u64;
            for word in words {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let value = state ^ (state >> 29);
                sum = sum.wrapping_add(value);
                *word = value.to_le_bytes();
            }
            *last = SUM.wrapping_sub(sum).to_le_bytes();
        }
        Ok(bytes)
    }

    fn reference(&self, _: &Spec, _: &HugeBytes) -> Result<Digest, CaseError> {
        Ok(Digest::new(&STEPS.to_le_bytes()))
    }
}

/// Walks from `state`; returns the final state and the number of blocks with the right sum.
#[inline(never)]
fn visit(input: &[u8], mut state: u64, steps: u64) -> (u64, u64) {
    let blocks = input.len() / BLOCK;
    let mut right = 0;
    for _ in 0..steps {
        let block = (state.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) as usize & (blocks - 1);
        let words = input[block * BLOCK..(block + 1) * BLOCK].as_chunks::<8>().0;
        let sum = words.iter().fold(0_u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
        right += u64::from(sum == SUM);
        // The next index depends on this block: on its sum, and on one of its words.
        state = (state.rotate_left(17) ^ u64::from_le_bytes(words[0])).wrapping_add(sum);
    }
    (state, right)
}

/// Start of each walk of this process. Two sides on one path would find each other's blocks in the caches.
static STARTS: AtomicU64 = AtomicU64::new(0);

fn memory() -> impl Engine<Input = HugeBytes> {
    let init = |spec: &Spec| {
        let start = STARTS.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        Ok((extra(spec)?, start))
    };
    let run = |(extra, state): &mut (u64, u64), input: &HugeBytes| {
        let (end, right) = visit(input, *state, STEPS);
        (*state, _) = black_box(visit(input, end, STEPS * *extra / 1000));
        Ok(right)
    };
    Routine::new(init, scalar, run, word)
}

/// Extra work in thousandths.
fn extra(spec: &Spec) -> Result<u64, CaseError> {
    let extra = spec.knobs.get("extra").map_or(Ok(0), |text| text.parse::<u64>());
    match extra {
        Ok(extra @ 0..=1000) => Ok(extra),
        _ => Err(CaseError::failed("`extra` is a whole number of thousandths, up to 1000")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_work_changes_the_time_and_not_the_result() {
        let registry = Registry::new();
        let clock = hashmill_machine::clock::Monotonic::new();
        for case in ["lab.stream/probe/kernel/64KiB/t3", "lab.ports/probe/kernel/10/t2"] {
            let key = case.parse().expect("a key");
            let prepared = registry.prepare(&key, 5).expect("no fault");
            let sample =
                registry.drive(&key, &prepared).expect("no fault").sample(&clock, 2).expect("no fault");
            assert_eq!(sample.digest, prepared.reference, "{key}");
        }
        for case in ["lab.cpu/probe/kernel/1000/t1", "lab.memory/probe/kernel/64KiB/t1"] {
            for extra in ["", "/extra=10", "/extra=1000"] {
                let key = format!("{case}{extra}").parse().expect("a key");
                let prepared = registry.prepare(&key, 5).expect("no fault");
                let mut driver = registry.drive(&key, &prepared).expect("no fault");
                let sample = driver.sample(&clock, 2).expect("no fault");
                assert_eq!(sample.digest, prepared.reference, "{key}");
            }
            let absurd = format!("{case}/extra=9999").parse().expect("a key");
            let prepared = registry.prepare(&absurd, 5).expect("the input does not depend on it");
            assert!(registry.drive(&absurd, &prepared).expect("known").sample(&clock, 1).is_err());
        }
    }

    #[test]
    fn probes_are_hidden_unless_requested() {
        let registry = Registry::new();
        assert_eq!(registry.cases(), []);
        assert_eq!(
            registry.select(&["lab.cpu"]).expect("there")[0].to_string(),
            "lab.cpu/probe/kernel/20000/t1"
        );
    }
}
