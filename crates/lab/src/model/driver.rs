//! The timed loops: one engine with one input, driven through the phases that its class times.
//!
//! Everything an author could get wrong about timing is here, once. The loops are compiled for each engine, so the
//! call of a phase costs nothing that a hand-written benchmark would not pay.

use super::class::Phase;
use super::engine::{Amount, Digest, Engine, Fault, Spec};
use hashmill_machine::clock::Clock;
use std::hint::black_box;
use std::rc::Rc;

/// One sample as the clock saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lap {
    /// Time of all iterations together.
    pub(crate) ns: u64,
    /// What the last iteration computed.
    pub(crate) digest: Digest,
}

/// A driver whose engine's types are forgotten.
pub(crate) trait Drive {
    /// The kernel that runs, in the engine's own words.
    fn kernel(&mut self) -> Result<String, Fault>;
    /// Times `iterations` (at least one) of the class's phases.
    fn lap(&mut self, clock: &dyn Clock, iterations: u64) -> Result<Lap, Fault>;
    /// What can be counted after a lap.
    fn amounts(&mut self) -> Result<Vec<Amount>, Fault> {
        Ok(Vec::new())
    }
}

pub(crate) struct Driver<E: Engine> {
    engine: Rc<E>,
    spec: Spec,
    input: Rc<E::Input>,
    // The buffer may refer to what the context owns, so it is declared, and dropped, first.
    buffer: Option<E::Buffer>,
    context: Option<E::Context>,
}

impl<E: Engine> Driver<E> {
    pub(crate) fn new(engine: Rc<E>, spec: Spec, input: Rc<E::Input>) -> Self {
        Driver { engine, spec, input, buffer: None, context: None }
    }

    /// Makes what lies before the first timed phase: contexts and buffers once, the staged input every time.
    fn prepare(&mut self) -> Result<(), Fault> {
        let first = self.spec.class.first();
        if first <= Phase::Init {
            return Ok(());
        }
        if self.context.is_none() {
            self.context = Some(self.engine.init(&self.spec)?);
        }
        if first <= Phase::Reserve {
            return Ok(());
        }
        let context = present(&mut self.context);
        if self.buffer.is_none() {
            self.buffer = Some(self.engine.reserve(context, &self.input)?);
        }
        if first == Phase::Run {
            self.engine.stage(context, present(&mut self.buffer), &self.input)?;
        }
        Ok(())
    }

    /// `run` alone, or with `read`.
    fn lap_run(&mut self, clock: &dyn Clock, iterations: u64) -> Result<Lap, Fault> {
        let Driver { engine, spec, input, buffer, context } = self;
        let (buffer, context) = (present(buffer), present(context));
        let reads = spec.class.times(Phase::Digest);
        let mut last = None;
        let start = clock.now_ns();
        if reads {
            for _ in 0..iterations {
                let output = last.insert(black_box(engine.run(context, buffer, black_box(input))?));
                engine.read(context, output)?;
            }
        } else {
            for _ in 0..iterations {
                last = Some(black_box(engine.run(context, buffer, black_box(input))?));
            }
        }
        let ns = clock.now_ns() - start;
        let output = present(&mut last);
        if !reads {
            engine.read(context, output)?;
        }
        Ok(Lap { ns, digest: engine.digest(output) })
    }

    /// As [`lap_run`](Self::lap_run), for engines whose `run` uses the staged input up. Every result is looked at: some
    /// engines are ready again only after that.
    fn lap_restaged(&mut self, clock: &dyn Clock, iterations: u64) -> Result<Lap, Fault> {
        let Driver { engine, spec, input, buffer, context } = self;
        let (buffer, context) = (present(buffer), present(context));
        let reads = spec.class.times(Phase::Digest);
        let (mut ns, mut digest) = (0, None);
        for iteration in 0..iterations {
            if iteration > 0 {
                engine.stage(context, buffer, input)?;
            }
            let start = clock.now_ns();
            let mut output = black_box(engine.run(context, buffer, black_box(input))?);
            if reads {
                engine.read(context, &mut output)?;
            }
            ns += clock.now_ns() - start;
            if !reads {
                engine.read(context, &mut output)?;
            }
            digest = Some(engine.digest(&output));
        }
        Ok(Lap { ns, digest: *present(&mut digest) })
    }

    /// `stage` to `read`, with what was reserved before.
    fn lap_staged(&mut self, clock: &dyn Clock, iterations: u64) -> Result<Lap, Fault> {
        let Driver { engine, input, buffer, context, .. } = self;
        let (buffer, context) = (present(buffer), present(context));
        let mut last = None;
        let start = clock.now_ns();
        for _ in 0..iterations {
            engine.stage(context, buffer, black_box(input))?;
            let output = last.insert(black_box(engine.run(context, buffer, input)?));
            engine.read(context, output)?;
        }
        let ns = clock.now_ns() - start;
        Ok(Lap { ns, digest: engine.digest(present(&mut last)) })
    }

    /// `reserve` or `init` to `read`, with the release of what the previous iteration made.
    fn lap_whole(&mut self, clock: &dyn Clock, iterations: u64) -> Result<Lap, Fault> {
        let Driver { engine, spec, input, buffer, context } = self;
        let timed_init = spec.class.times(Phase::Init);
        let mut last = None;
        let start = clock.now_ns();
        for _ in 0..iterations {
            if timed_init {
                *context = Some(engine.init(spec)?);
            }
            let cx = present(context);
            let filled = buffer.insert(engine.reserve(cx, black_box(input))?);
            engine.stage(cx, filled, input)?;
            let output = last.insert(black_box(engine.run(cx, filled, input)?));
            engine.read(cx, output)?;
            *buffer = None;
            if timed_init {
                *context = None;
            }
        }
        let ns = clock.now_ns() - start;
        Ok(Lap { ns, digest: engine.digest(present(&mut last)) })
    }
}

impl<E: Engine> Drive for Driver<E> {
    fn kernel(&mut self) -> Result<String, Fault> {
        if let Some(context) = &self.context {
            return Ok(self.engine.kernel(context));
        }
        let context = self.engine.init(&self.spec)?;
        Ok(self.engine.kernel(&context))
    }

    fn lap(&mut self, clock: &dyn Clock, iterations: u64) -> Result<Lap, Fault> {
        let iterations = iterations.max(1);
        self.prepare()?;
        match self.spec.class.first() {
            Phase::Run if self.engine.consumes() => self.lap_restaged(clock, iterations),
            Phase::Run => self.lap_run(clock, iterations),
            Phase::Stage => self.lap_staged(clock, iterations),
            _ => self.lap_whole(clock, iterations),
        }
    }

    fn amounts(&mut self) -> Result<Vec<Amount>, Fault> {
        match (&mut self.context, &mut self.buffer) {
            (Some(context), Some(buffer)) => self.engine.amounts(context, buffer, &self.input),
            _ => Ok(Vec::new()),
        }
    }
}

fn present<T>(slot: &mut Option<T>) -> &mut T {
    slot.as_mut()
        .expect("`prepare` made what comes before the first timed phase; a lap has at least one iteration")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_machine::clock::Scripted;
    use std::cell::RefCell;

    /// An engine whose phases take 1, 10, 100, 1000 and 10000 ns, and its digest 100000: the sum tells what was timed.
    struct Decimal {
        clock: Scripted,
        consumes: bool,
        log: Rc<RefCell<String>>,
    }

    impl Decimal {
        fn pass(&self, ns: u64, letter: char) {
            self.clock.advance(ns);
            self.log.borrow_mut().push(letter);
        }
    }

    impl Engine for Decimal {
        type Input = u8;
        type Context = ();
        type Buffer = ();
        type Output = u8;

        fn init(&self, _: &Spec) -> Result<(), Fault> {
            self.pass(1, 'i');
            Ok(())
        }
        fn kernel(&self, (): &()) -> String {
            "scripted".into()
        }
        fn reserve(&self, (): &mut (), _: &u8) -> Result<(), Fault> {
            self.pass(10, 'r');
            Ok(())
        }
        fn stage(&self, (): &mut (), (): &mut (), _: &u8) -> Result<(), Fault> {
            self.pass(100, 's');
            Ok(())
        }
        fn run(&self, (): &mut (), (): &mut (), input: &u8) -> Result<u8, Fault> {
            self.pass(1000, 'R');
            Ok(*input)
        }
        fn read(&self, (): &mut (), _: &mut u8) -> Result<(), Fault> {
            self.pass(10_000, 'o');
            Ok(())
        }
        fn digest(&self, output: &u8) -> Digest {
            self.pass(100_000, 'd');
            Digest::new(&[*output])
        }
        fn consumes(&self) -> bool {
            self.consumes
        }
    }

    /// Two laps of three iterations: the time of the second, and the phases of both.
    fn drive(class: &str, consumes: bool) -> (u64, String) {
        let clock = Scripted::default();
        let log = Rc::new(RefCell::new(String::new()));
        let engine = Rc::new(Decimal { clock: clock.clone(), consumes, log: Rc::clone(&log) });
        let spec = Spec {
            class: class.parse().expect("a class"),
            size: 1,
            threads: 1,
            kernel: None,
            knobs: Default::default(),
        };
        let mut driver = Driver::new(engine, spec, Rc::new(7));
        driver.lap(&clock, 3).expect("no fault");
        log.borrow_mut().push('|');
        let lap = driver.lap(&clock, 3).expect("no fault");
        assert_eq!(lap.digest, Digest::new(&[7]));
        let phases = log.borrow().clone();
        (lap.ns, phases)
    }

    #[test]
    fn each_class_times_exactly_its_phases() {
        for (class, ns, phases) in [
            ("kernel", 3 * 1000, "irsRRRod|sRRRod"),
            ("kernel-effective", 3 * 11_000, "irsRoRoRod|sRoRoRod"),
            ("backend", 3 * 11_100, "irsRosRosRod|sRosRosRod"),
            ("oneshot", 3 * 11_110, "irsRorsRorsRod|rsRorsRorsRod"),
            ("end-to-end", 3 * 11_111, "irsRoirsRoirsRod|irsRoirsRoirsRod"),
        ] {
            assert_eq!(drive(class, false), (ns, phases.to_owned()), "{class}");
        }
    }

    #[test]
    fn engines_that_consume_their_input_get_it_staged_outside_the_clock() {
        assert_eq!(drive("kernel", true), (3 * 1000, "irsRodsRodsRod|sRodsRodsRod".to_owned()));
        assert_eq!(drive("kernel-effective", true), (3 * 11_000, "irsRodsRodsRod|sRodsRodsRod".to_owned()));
        assert_eq!(drive("backend", true).0, 3 * 11_100, "a timed `stage` needs no special care");
    }
}
