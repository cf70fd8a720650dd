//! The timed loops: one engine with the inputs of a session, driven through the phases that its class times.
//!
//! Everything an author could get wrong about timing is here, once. The loops are compiled for each engine, so the
//! call of a phase costs nothing that a hand-written benchmark would not pay.

use super::class::Phase;
use super::engine::{Amount, Digest, Engine, Fault, Spec};
use super::inputs::{Pool, visit};
use hashmill_machine::clock::Clock;
use std::hint::black_box;
use std::rc::Rc;

/// One sample as the clock saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lap {
    /// Time of all iterations together.
    pub(crate) ns: u64,
    /// What the last iteration computed, told as by [`Pool::judge`]; once something was wrong, that.
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
    inputs: Rc<Pool<E::Input>>,
    /// The input that is next.
    at: usize,
    /// How many inputs no call was made on.
    unseen: usize,
    /// A digest that was not right, in this lap or in one that nobody asked for its digest.
    wrong: Option<Digest>,
    // Buffers, one for each input, may refer to what the context owns, so they are declared, and dropped, first.
    buffers: Vec<E::Buffer>,
    context: Option<E::Context>,
}

impl<E: Engine> Driver<E> {
    pub(crate) fn new(engine: Rc<E>, spec: Spec, inputs: Rc<Pool<E::Input>>) -> Self {
        let unseen = inputs.len() - 1;
        Driver { engine, spec, inputs, at: 0, unseen, wrong: None, buffers: Vec::new(), context: None }
    }

    /// Makes what lies before the first timed phase: contexts and buffers once, the staged inputs every time.
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
        for input in &self.inputs.made[self.buffers.len()..] {
            self.buffers.push(self.engine.reserve(context, input)?);
        }
        if first == Phase::Run && !self.engine.consumes() {
            for (buffer, input) in self.buffers.iter_mut().zip(&self.inputs.made) {
                self.engine.stage(context, buffer, input)?;
            }
        }
        Ok(())
    }

    /// `run` alone, or with `read`.
    fn lap_run(&mut self, clock: &dyn Clock, iterations: u64) -> Result<Lap, Fault> {
        let Driver { engine, spec, inputs, at, buffers, context, .. } = self;
        let context = present(context);
        let reads = spec.class.times(Phase::Digest);
        let mut last = None;
        let start = clock.now_ns();
        if reads {
            visit(buffers, &inputs.made, at, iterations, |buffer, input| {
                let output = last.insert(black_box(engine.run(context, buffer, black_box(input))?));
                engine.read(context, output)
            })?;
        } else {
            visit(buffers, &inputs.made, at, iterations, |buffer, input| {
                last = Some(black_box(engine.run(context, buffer, black_box(input))?));
                Ok(())
            })?;
        }
        let ns = clock.now_ns() - start;
        let output = present(&mut last);
        if !reads {
            engine.read(context, output)?;
        }
        Ok(Lap { ns, digest: inputs.judge(inputs.before(*at), engine.digest(output)) })
    }

    /// As [`lap_run`](Self::lap_run), for engines whose `run` uses the staged input up. Every result is looked at: some
    /// engines are ready again only after that.
    fn lap_restaged(&mut self, clock: &dyn Clock, iterations: u64) -> Result<Lap, Fault> {
        let Driver { engine, spec, inputs, at, buffers, context, .. } = self;
        let context = present(context);
        let reads = spec.class.times(Phase::Digest);
        let (mut ns, mut digest) = (0, inputs.right());
        for _ in 0..iterations {
            let (buffer, input) = (&mut buffers[*at], &inputs.made[*at]);
            engine.stage(context, buffer, input)?;
            let start = clock.now_ns();
            let mut output = black_box(engine.run(context, buffer, black_box(input))?);
            if reads {
                engine.read(context, &mut output)?;
            }
            ns += clock.now_ns() - start;
            if !reads {
                engine.read(context, &mut output)?;
            }
            let told = inputs.judge(*at, engine.digest(&output));
            digest = if digest == inputs.right() { told } else { digest };
            *at = inputs.after(*at);
        }
        Ok(Lap { ns, digest })
    }

    /// `stage` to `read`, with what was reserved before.
    fn lap_staged(&mut self, clock: &dyn Clock, iterations: u64) -> Result<Lap, Fault> {
        let Driver { engine, inputs, at, buffers, context, .. } = self;
        let context = present(context);
        let mut last = None;
        let start = clock.now_ns();
        visit(buffers, &inputs.made, at, iterations, |buffer, input| {
            engine.stage(context, buffer, black_box(input))?;
            let output = last.insert(black_box(engine.run(context, buffer, input)?));
            engine.read(context, output)
        })?;
        let ns = clock.now_ns() - start;
        Ok(Lap { ns, digest: inputs.judge(inputs.before(*at), engine.digest(present(&mut last))) })
    }

    /// `reserve` or `init` to `read`, with the release of what the previous iteration made.
    fn lap_whole(&mut self, clock: &dyn Clock, iterations: u64) -> Result<Lap, Fault> {
        let Driver { engine, spec, inputs, at, context, .. } = self;
        let timed_init = spec.class.times(Phase::Init);
        let mut last = None;
        let mut nothing = vec![(); inputs.len()];
        let start = clock.now_ns();
        visit(&mut nothing, &inputs.made, at, iterations, |(), input| {
            if timed_init {
                *context = Some(engine.init(spec)?);
            }
            let cx = present(context);
            let mut buffer = engine.reserve(cx, black_box(input))?;
            engine.stage(cx, &mut buffer, input)?;
            let output = last.insert(black_box(engine.run(cx, &mut buffer, input)?));
            engine.read(cx, output)?;
            drop(buffer);
            if timed_init {
                *context = None;
            }
            Ok(())
        })?;
        let ns = clock.now_ns() - start;
        Ok(Lap { ns, digest: inputs.judge(inputs.before(*at), engine.digest(present(&mut last))) })
    }

    fn pass(&mut self, clock: &dyn Clock, iterations: u64) -> Result<Lap, Fault> {
        let lap = match self.spec.class.first() {
            Phase::Run if self.engine.consumes() => self.lap_restaged(clock, iterations),
            Phase::Run => self.lap_run(clock, iterations),
            Phase::Stage => self.lap_staged(clock, iterations),
            _ => self.lap_whole(clock, iterations),
        }?;
        self.wrong = self.wrong.or(Some(lap.digest).filter(|digest| *digest != self.inputs.right()));
        Ok(Lap { digest: self.wrong.unwrap_or(lap.digest), ..lap })
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
        self.prepare()?;
        // Laps look at their last result alone, and no input should go unseen.
        while self.unseen > 0 {
            self.pass(clock, 1)?;
            self.unseen -= 1;
        }
        self.pass(clock, iterations.max(1))
    }

    fn amounts(&mut self) -> Result<Vec<Amount>, Fault> {
        match (&mut self.context, self.buffers.first_mut(), self.inputs.made.first()) {
            (Some(context), Some(buffer), Some(input)) => self.engine.amounts(context, buffer, input),
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
    use crate::model::inputs::{Limits, Made};
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

    fn spec(class: &str) -> Spec {
        let class = class.parse().expect("a class");
        Spec { class, size: 1, threads: 1, kernel: None, knobs: Default::default() }
    }

    /// Inputs that stand for themselves, the first of them 7.
    fn inputs(count: usize) -> Rc<Pool<u8>> {
        let mut numbers = 7_u8..;
        let limits = Limits { bytes: u64::MAX, time: std::time::Duration::MAX };
        let pool = Pool::fill(1, count, limits, |_| {
            let input = numbers.next().expect("numbers");
            Ok(Made { input: Some(input), right: Digest::new(&[input]), found: None })
        });
        Rc::new(pool.expect("numbers"))
    }

    /// Two laps of three iterations: the time of the second, and the phases of both.
    fn drive(class: &str, consumes: bool) -> (u64, String) {
        let clock = Scripted::default();
        let log = Rc::new(RefCell::new(String::new()));
        let engine = Rc::new(Decimal { clock: clock.clone(), consumes, log: Rc::clone(&log) });
        let mut driver = Driver::new(engine, spec(class), inputs(1));
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

    /// Gives inputs back, and fills its buffer with the one that it was reserved for; turns wrong on one input, in one call.
    struct Echo {
        consumes: bool,
        wrong: Option<(u8, usize)>,
        seen: Rc<RefCell<Vec<u8>>>,
    }

    impl Engine for Echo {
        type Input = u8;
        type Context = ();
        type Buffer = u8;
        type Output = u8;

        fn init(&self, _: &Spec) -> Result<(), Fault> {
            Ok(())
        }
        fn kernel(&self, (): &()) -> String {
            "echo".into()
        }
        fn reserve(&self, (): &mut (), input: &u8) -> Result<u8, Fault> {
            Ok(*input)
        }
        fn stage(&self, (): &mut (), buffer: &mut u8, input: &u8) -> Result<(), Fault> {
            assert_eq!(buffer, input, "the buffer of this input");
            Ok(())
        }
        fn run(&self, (): &mut (), buffer: &mut u8, input: &u8) -> Result<u8, Fault> {
            assert_eq!(buffer, input, "the buffer of this input");
            self.seen.borrow_mut().push(*input);
            let calls = self.seen.borrow().iter().filter(|seen| *seen == input).count();
            Ok(if self.wrong == Some((*input, calls)) { 0 } else { *input })
        }
        fn digest(&self, output: &u8) -> Digest {
            Digest::new(&[*output])
        }
        fn consumes(&self) -> bool {
            self.consumes
        }
    }

    /// Digests of a lap of one and of a lap of five on four inputs, and the inputs of all calls.
    fn echo(class: &str, consumes: bool, wrong: Option<(u8, usize)>) -> ([Digest; 2], Vec<u8>) {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let engine = Rc::new(Echo { consumes, wrong, seen: Rc::clone(&seen) });
        let mut driver = Driver::new(engine, spec(class), inputs(4));
        let clock = Scripted::default();
        let digests = [1, 5].map(|count| driver.lap(&clock, count).expect("no fault").digest);
        let seen = seen.borrow().clone();
        (digests, seen)
    }

    const CLASSES: [(&str, bool); 6] = [
        ("kernel", false),
        ("kernel-effective", false),
        ("kernel", true),
        ("backend", false),
        ("oneshot", false),
        ("end-to-end", false),
    ];

    #[test]
    fn calls_take_the_inputs_of_a_session_in_turn() {
        for (class, consumes) in CLASSES {
            let (digests, seen) = echo(class, consumes, None);
            assert_eq!(
                digests,
                [Digest::new(&[7]); 2],
                "{class}: each has its own answer, and all were right"
            );
            assert_eq!(
                seen,
                [7, 8, 9, 10, 7, 8, 9, 10, 7],
                "{class}: all before the first lap ends, then in turn"
            );
        }
    }

    #[test]
    fn a_wrong_result_on_any_input_shows_before_the_first_sample_and_ever_after() {
        for (class, consumes) in CLASSES {
            for input in 7..=10 {
                let (digests, _) = echo(class, consumes, Some((input, 1)));
                assert_eq!(digests, [Digest::new(&[0]); 2], "{class}, {input}");
            }
        }
    }

    #[test]
    fn of_a_lap_the_last_result_is_looked_at_and_all_where_inputs_are_used_up() {
        for (class, consumes) in CLASSES {
            let (digests, _) = echo(class, consumes, Some((7, 3)));
            assert_eq!(digests, [7, 0].map(|digest| Digest::new(&[digest])), "{class}: the last");
            let (digests, _) = echo(class, consumes, Some((9, 2)));
            let last = if consumes { 0 } else { 7 };
            assert_eq!(digests, [7, last].map(|digest| Digest::new(&[digest])), "{class}: one in the middle");
        }
    }
}
