//! Worker of a session: opens cases, calibrates, takes samples.

use super::protocol::{Memory, Reply, Request, Sampled, VERSION};
use super::recording_clock::RecordingClock;
use crate::model::class::Sampling;
use crate::model::driver::{Drive, RawSample};
use crate::model::engine::CaseError;
use crate::model::key::Key;
use crate::model::registry::{Prepared, Registry};
use crate::model::units::Units;
use hashmill_machine::clock::Clock;
use hashmill_machine::{Usage, huge_page_bytes, pin, reserved_bytes, resident_bytes};
use std::io::{BufRead, Write};

/// Maximum iterations that calibration may choose: an hour of one-nanosecond calls.
const MOST_ITERATIONS: u64 = 1 << 42;

/// Maximum ratio of a sample's total time, including untimed work, to its timed part.
const MOST_UNTIMED: u64 = 16;

/// Lead-in before each sample: this share of its iterations, or if that is less, as many calls as take `LEAD_IN_NS`,
/// up to four. The first calls after another side's are slower, the more memory they touch: of a call of 0.24 ms,
/// each of the first four was slower, by 0.1 ms in total.
const LEAD_IN_SHARE: u64 = 16;
const LEAD_IN_NS: u64 = 1_000_000;
const LEAD_IN_CALLS: u64 = 4;

/// A longer call needs no lead-in: the extra cost of its first call is 0.5 % of it.
const LONG_NS: u64 = 20_000_000;

pub(crate) struct Worker<'a> {
    registry: &'a Registry,
    clock: &'a dyn Clock,
    slots: Vec<Slot>,
}

struct Slot {
    number: usize,
    key: Key,
    prepared: Prepared,
    driver: Box<dyn Drive>,
    /// Time of the last call.
    call_ns: u64,
}

impl Slot {
    fn sample_raw(&mut self, clock: &dyn Clock, iterations: u64) -> Result<RawSample, CaseError> {
        let raw = self.driver.sample(clock, iterations)?;
        self.call_ns = raw.ns / iterations.max(1);
        Ok(raw)
    }

    /// Number of calls before a sample. Cold cases have none.
    fn lead_in(&self, iterations: u64) -> u64 {
        let fewest = match self.call_ns {
            LONG_NS.. => 0,
            call_ns => (LEAD_IN_NS / call_ns.max(1)).clamp(1, LEAD_IN_CALLS),
        };
        match self.key.class.sampling() {
            Sampling::Cold => 0,
            Sampling::Batched | Sampling::Sustained => (iterations / LEAD_IN_SHARE).max(fewest),
        }
    }
}

impl<'a> Worker<'a> {
    pub(crate) fn new(registry: &'a Registry, clock: &'a dyn Clock) -> Self {
        Worker { registry, clock, slots: Vec::new() }
    }

    /// Answers requests, one line each, until the input ends.
    pub(crate) fn serve(&mut self, input: impl BufRead, mut output: impl Write) -> std::io::Result<()> {
        for line in input.lines() {
            let reply = match serde_json::from_str(&line?) {
                Ok(request) => self.answer(&request),
                Err(error) => Reply::Failed { reason: format!("not a request: {error}") },
            };
            serde_json::to_writer(&mut output, &reply)?;
            output.write_all(b"\n")?;
            output.flush()?;
        }
        Ok(())
    }

    pub(crate) fn answer(&mut self, request: &Request) -> Reply {
        let result = match request {
            Request::Hello => Ok(Reply::Hello { protocol: VERSION }),
            Request::Pin { choice } => Ok(Reply::Pinned { cpu: pin(*choice) }),
            Request::Open { slot, case, seed, share } => self.open(*slot, case, *seed, *share),
            Request::Check { slot, amounts } => self.check(*slot, *amounts),
            Request::Calibrate { slot, sample_ns } => self.calibrate(*slot, *sample_ns),
            Request::Sample { slot, iterations } => self.sample(*slot, *iterations),
            Request::Work { slot, iterations } => self.work(*slot, *iterations),
            Request::Watch { slot, iterations, usage } => self.watch(*slot, *iterations, *usage),
            Request::Memory => {
                let reserved = reserved_bytes();
                Ok(Reply::Memory(Memory {
                    huge_bytes: huge_page_bytes(),
                    resident_bytes: resident_bytes(),
                    reserved_bytes: reserved.map(|(all, _)| all),
                    gigantic_bytes: reserved.map(|(_, gigantic)| gigantic),
                }))
            }
        };
        result.unwrap_or_else(|fault| match fault {
            CaseError::Unavailable(reason) => Reply::Unavailable { reason },
            other => Reply::Failed { reason: other.to_string() },
        })
    }

    fn open(&mut self, number: usize, case: &str, seed: u64, share: bool) -> Result<Reply, CaseError> {
        let key: Key = case.parse().map_err(CaseError::failed)?;
        let start = self.clock.now_ns();
        let prepared = match self.slots.first() {
            Some(slot) if share => slot.prepared.clone(),
            _ => self.registry.prepare(&key, seed)?,
        };
        let driver = self.registry.drive(&key, &prepared)?;
        let unit = match prepared.units {
            Units::Bytes(_) => "bytes",
            Units::Hashes(_) => "hashes",
            Units::Operations(_) => "operations",
        };
        let reply = Reply::Opened {
            unit: unit.to_owned(),
            units: prepared.units.count(),
            working_set: prepared.working_set,
            inputs: prepared.len as u64,
            setup_ns: self.clock.now_ns() - start,
            reference: prepared.reference.to_string(),
        };
        self.slots.retain(|slot| slot.number != number);
        self.slots.push(Slot { number, key, prepared, driver, call_ns: 0 });
        Ok(reply)
    }

    fn check(&mut self, number: usize, count: bool) -> Result<Reply, CaseError> {
        let clock = self.clock;
        let slot = self.slot(number)?;
        let digest = slot.sample_raw(clock, 1)?.digest.to_string();
        let amounts = if count { slot.driver.amounts()? } else { Vec::new() };
        Ok(Reply::Checked { kernel: slot.driver.kernel()?, digest, amounts })
    }

    fn calibrate(&mut self, number: usize, sample_ns: u64) -> Result<Reply, CaseError> {
        let clock = self.clock;
        let slot = self.slot(number)?;
        if slot.key.class.sampling() == Sampling::Cold {
            return Ok(Reply::Calibrated { iterations: 1, ns: sample_ns });
        }
        let mut iterations = 1;
        loop {
            let start = clock.now_ns();
            let ns = slot.sample_raw(clock, iterations)?.ns.max(1);
            // Input preparation counts too: otherwise a cheap call on expensive inputs would take very long.
            let cost_ns = ns.max((clock.now_ns() - start) / MOST_UNTIMED);
            // From a quarter of the target on, the estimate is accurate to a few percent, which is enough.
            if cost_ns >= sample_ns / 4 || iterations >= MOST_ITERATIONS {
                let fitting = u128::from(iterations) * u128::from(sample_ns) / u128::from(cost_ns);
                let fitting = fitting.clamp(1, u128::from(MOST_ITERATIONS)) as u64;
                let ns = u128::from(cost_ns) * u128::from(fitting) / u128::from(iterations);
                return Ok(Reply::Calibrated {
                    iterations: fitting,
                    ns: u64::try_from(ns).unwrap_or(u64::MAX),
                });
            }
            let growth = (sample_ns / 2 / cost_ns).clamp(2, 64);
            iterations = (iterations * growth).min(MOST_ITERATIONS);
        }
    }

    fn sample(&mut self, number: usize, iterations: u64) -> Result<Reply, CaseError> {
        let clock = self.clock;
        let slot = self.slot(number)?;
        // The process has just been woken: warm caches and predictors before the clock starts.
        let lead_in = slot.lead_in(iterations);
        if lead_in > 0 {
            slot.sample_raw(clock, lead_in)?;
        }
        let before = Usage::read();
        let raw = slot.sample_raw(clock, iterations)?;
        let after = Usage::read();
        let nanoseconds = |usage: &Usage| usage.cpu.map(|time| time.as_nanos() as u64);
        let faults = |usage: &Usage| Some(usage.minor_faults? + usage.major_faults?);
        Ok(Reply::Sampled(Sampled {
            ns: raw.ns,
            digest: raw.digest.to_string(),
            cpu_ns: difference(nanoseconds(&before), nanoseconds(&after)),
            faults: difference(faults(&before), faults(&after)),
            switches: difference(before.involuntary_switches, after.involuntary_switches),
        }))
    }

    /// A sample without a lead-in and without reading system counters, whose files would be counted too.
    fn work(&mut self, number: usize, iterations: u64) -> Result<Reply, CaseError> {
        let clock = self.clock;
        let raw = self.slot(number)?.sample_raw(clock, iterations)?;
        let (ns, digest) = (raw.ns, raw.digest.to_string());
        Ok(Reply::Sampled(Sampled { ns, digest, cpu_ns: None, faults: None, switches: None }))
    }

    /// As [`work`](Self::work), with the timed intervals.
    fn watch(&mut self, number: usize, iterations: u64, usage: bool) -> Result<Reply, CaseError> {
        let system = hashmill_machine::clock::System::find();
        let (clock, is_system) = match &system {
            Some(system) => (system as &dyn Clock, true),
            None => (self.clock, false),
        };
        let watching = RecordingClock::new(clock, usage);
        let raw = self.slot(number)?.sample_raw(&watching, iterations)?;
        let watched = watching.watched(is_system);
        if watched.lengths_ns.iter().step_by(2).sum::<u64>() != raw.ns {
            return Err(CaseError::failed(
                "the clock was read during the call, so the timed part is unknown",
            ));
        }
        Ok(Reply::Watched(watched))
    }

    fn slot(&mut self, number: usize) -> Result<&mut Slot, CaseError> {
        let slot = self.slots.iter_mut().find(|slot| slot.number == number);
        slot.ok_or_else(|| CaseError::failed(format!("slot {number} is not open")))
    }
}

fn difference(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    Some(after?.saturating_sub(before?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::engine::{Digest, Spec, Workload, function};
    use crate::model::registry::EngineOffer;
    use hashmill_machine::clock::ScriptedClock;
    use std::cell::Cell;
    use std::rc::Rc;

    struct Nothing;

    impl Workload for Nothing {
        type Input = ();
        fn name(&self) -> &str {
            "nothing"
        }
        fn units(&self, _: &Spec) -> Units {
            Units::Operations(1)
        }
        fn prepare(&self, _: &Spec, _: u64) -> Result<(), CaseError> {
            Ok(())
        }
        fn reference(&self, _: &Spec, (): &()) -> Result<Digest, CaseError> {
            Ok(Digest::new(&[7]))
        }
    }

    /// Total calls made by a sample of `iterations` iterations with calls of `ns`.
    fn calls(class: &str, ns: u64, iterations: u64) -> u64 {
        let (clock, calls) = (ScriptedClock::default(), Rc::new(Cell::new(0)));
        let (time, count) = (clock.clone(), Rc::clone(&calls));
        let call = move |(): &()| {
            time.advance(ns);
            count.set(count.get() + 1);
            7_u8
        };
        let mut registry = Registry::new();
        let engine = function("scripted", call, |byte| Digest::new(&[*byte]));
        registry.workload(Nothing, &[1]).engine("engine", engine, EngineOffer::classes(&["kernel", "cold"]));
        let mut worker = Worker::new(&registry, &clock);
        let case = format!("nothing/engine/{class}/1/t1");
        worker.answer(&Request::Open { slot: 0, case, seed: 1, share: false });
        if class == "kernel" {
            worker.answer(&Request::Check { slot: 0, amounts: false });
        }
        let before = calls.get();
        let Reply::Sampled(sampled) = worker.answer(&Request::Sample { slot: 0, iterations }) else {
            panic!("a sample");
        };
        assert_eq!(sampled.ns, ns * iterations, "only the sample itself is timed");
        calls.get() - before
    }

    #[test]
    fn a_sample_is_led_in_unless_it_is_cold_or_its_call_is_long() {
        assert_eq!(calls("kernel", 100, 3200), 3200 + 200);
        assert_eq!(calls("kernel", 100_000, 5), 5 + 4);
        assert_eq!(calls("kernel", 300_000, 2), 2 + 3);
        assert_eq!(calls("kernel", 5_000_000, 1), 1 + 1);
        assert_eq!(calls("kernel", 50_000_000, 1), 1);
        assert_eq!(calls("cold", 300_000, 1), 1);
    }
}
