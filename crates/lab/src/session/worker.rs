//! The inside of a session: opens cases, calibrates, takes samples.

use super::protocol::{Memory, Reply, Request, Sampled, VERSION};
use super::watching::Watching;
use crate::model::class::Sampling;
use crate::model::driver::{Drive, Lap};
use crate::model::engine::Fault;
use crate::model::key::Key;
use crate::model::registry::{Prepared, Registry};
use crate::model::units::Units;
use hashmill_machine::clock::Clock;
use hashmill_machine::{Usage, huge_page_bytes, pin, reserved_bytes, resident_bytes};
use std::io::{BufRead, Write};

/// Most iterations that calibration may choose: an hour of one-nanosecond calls.
const MOST_ITERATIONS: u64 = 1 << 42;

/// How many times as long as it is timed a sample may take in all, with what is done between stretches of the clock.
const MOST_UNTIMED: u64 = 16;

/// Before each sample this part of its iterations runs unseen, and if that is less, as many as take this long, of them four at
/// most. The first calls after another side's are the slower the more memory they touch: of one of 0.24 ms each of the first
/// four was slower, by a tenth of a millisecond in all.
const LEAD_IN_SHARE: u64 = 16;
const LEAD_IN_NS: u64 = 1_000_000;
const LEAD_IN_CALLS: u64 = 4;

/// A call that takes longer needs none: what the first one costs more is half a percent of it.
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
    /// What a call took when it was last seen.
    call_ns: u64,
}

impl Slot {
    fn lap(&mut self, clock: &dyn Clock, iterations: u64) -> Result<Lap, Fault> {
        let lap = self.driver.lap(clock, iterations)?;
        self.call_ns = lap.ns / iterations.max(1);
        Ok(lap)
    }

    /// How many calls come before a sample. What is timed cold is never called before.
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
            Fault::Unavailable(reason) => Reply::Unavailable { reason },
            other => Reply::Failed { reason: other.to_string() },
        })
    }

    fn open(&mut self, number: usize, case: &str, seed: u64, share: bool) -> Result<Reply, Fault> {
        let key: Key = case.parse().map_err(Fault::failed)?;
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

    fn check(&mut self, number: usize, count: bool) -> Result<Reply, Fault> {
        let clock = self.clock;
        let slot = self.slot(number)?;
        let digest = slot.lap(clock, 1)?.digest.to_string();
        let amounts = if count { slot.driver.amounts()? } else { Vec::new() };
        Ok(Reply::Checked { kernel: slot.driver.kernel()?, digest, amounts })
    }

    fn calibrate(&mut self, number: usize, sample_ns: u64) -> Result<Reply, Fault> {
        let clock = self.clock;
        let slot = self.slot(number)?;
        if slot.key.class.sampling() == Sampling::Cold {
            return Ok(Reply::Calibrated { iterations: 1, ns: sample_ns });
        }
        let mut iterations = 1;
        loop {
            let start = clock.now_ns();
            let ns = slot.lap(clock, iterations)?.ns.max(1);
            // What inputs cost counts too, or a cheap call on a dear input would take all day.
            let cost_ns = ns.max((clock.now_ns() - start) / MOST_UNTIMED);
            // From a quarter of the target on, the estimate is good to a few percent, which is all that is needed.
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

    fn sample(&mut self, number: usize, iterations: u64) -> Result<Reply, Fault> {
        let clock = self.clock;
        let slot = self.slot(number)?;
        // The process has just been woken: caches and predictors should remember the case before the clock starts.
        let lead_in = slot.lead_in(iterations);
        if lead_in > 0 {
            slot.lap(clock, lead_in)?;
        }
        let before = Usage::read();
        let lap = slot.lap(clock, iterations)?;
        let after = Usage::read();
        let nanoseconds = |usage: &Usage| usage.cpu.map(|time| time.as_nanos() as u64);
        let faults = |usage: &Usage| Some(usage.minor_faults? + usage.major_faults?);
        Ok(Reply::Sampled(Sampled {
            ns: lap.ns,
            digest: lap.digest.to_string(),
            cpu_ns: difference(nanoseconds(&before), nanoseconds(&after)),
            faults: difference(faults(&before), faults(&after)),
            switches: difference(before.involuntary_switches, after.involuntary_switches),
        }))
    }

    /// A sample without a lead-in and without a look at the system, whose files would be counted too.
    fn work(&mut self, number: usize, iterations: u64) -> Result<Reply, Fault> {
        let clock = self.clock;
        let lap = self.slot(number)?.lap(clock, iterations)?;
        let (ns, digest) = (lap.ns, lap.digest.to_string());
        Ok(Reply::Sampled(Sampled { ns, digest, cpu_ns: None, faults: None, switches: None }))
    }

    /// As [`work`](Self::work), with the times at which the clock ran.
    fn watch(&mut self, number: usize, iterations: u64, usage: bool) -> Result<Reply, Fault> {
        let system = hashmill_machine::clock::System::find();
        let (clock, is_system) = match &system {
            Some(system) => (system as &dyn Clock, true),
            None => (self.clock, false),
        };
        let watching = Watching::new(clock, usage);
        let lap = self.slot(number)?.lap(&watching, iterations)?;
        let watched = watching.watched(is_system);
        if watched.lengths_ns.iter().step_by(2).sum::<u64>() != lap.ns {
            return Err(Fault::failed("the clock was read in between, so it is not known what is timed"));
        }
        Ok(Reply::Watched(watched))
    }

    fn slot(&mut self, number: usize) -> Result<&mut Slot, Fault> {
        let slot = self.slots.iter_mut().find(|slot| slot.number == number);
        slot.ok_or_else(|| Fault::failed(format!("slot {number} is not open")))
    }
}

fn difference(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    Some(after?.saturating_sub(before?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::engine::{Digest, Spec, Workload, function};
    use crate::model::registry::Offer;
    use hashmill_machine::clock::Scripted;
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
        fn prepare(&self, _: &Spec, _: u64) -> Result<(), Fault> {
            Ok(())
        }
        fn reference(&self, _: &Spec, (): &()) -> Result<Digest, Fault> {
            Ok(Digest::new(&[7]))
        }
    }

    /// Calls that a sample of so many iterations of a call of `ns` makes in all.
    fn calls(class: &str, ns: u64, iterations: u64) -> u64 {
        let (clock, calls) = (Scripted::default(), Rc::new(Cell::new(0)));
        let (time, count) = (clock.clone(), Rc::clone(&calls));
        let call = move |(): &()| {
            time.advance(ns);
            count.set(count.get() + 1);
            7_u8
        };
        let mut registry = Registry::new();
        let engine = function("scripted", call, |byte| Digest::new(&[*byte]));
        registry.workload(Nothing, &[1]).engine("engine", engine, Offer::classes(&["kernel", "cold"]));
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
