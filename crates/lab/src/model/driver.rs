//! Timed loops: one engine with the inputs of a session, driven through the phases that its class times.
//!
//! All timing code is here, so authors of engines cannot get it wrong. The loops are compiled for each engine, so a
//! phase call costs no more than in a hand-written benchmark.

use super::class::Phase;
use super::engine::{Amount, CaseError, Digest, Engine, Spec};
use super::inputs::{Pool, visit};
use hashmill_machine::clock::Clock;
use std::hint::black_box;
use std::rc::Rc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawSample {
    /// Time of all iterations together.
    pub(crate) ns: u64,
    /// Digest of the last iteration, converted by [`Pool::judge`]; after a wrong result, the wrong digest.
    pub(crate) digest: Digest,
}

/// Type-erased driver.
pub(crate) trait Drive {
    /// Kernel that runs, as the engine names it.
    fn kernel(&mut self) -> Result<String, CaseError>;
    /// Times `iterations` (at least one) of the class's phases.
    fn sample(&mut self, clock: &dyn Clock, iterations: u64) -> Result<RawSample, CaseError>;
    /// Amounts counted after a sample.
    fn amounts(&mut self) -> Result<Vec<Amount>, CaseError> {
        Ok(Vec::new())
    }
}

pub(crate) struct Driver<E: Engine> {
    engine: Rc<E>,
    spec: Spec,
    inputs: Rc<Pool<E::Input>>,
    /// Index of the next input.
    at: usize,
    /// Number of inputs that no call has used.
    unseen: usize,
    /// Wrong digest of this sample or of an earlier one whose digest was not requested.
    wrong: Option<Digest>,
    // Buffers may refer to the context, so they are declared first and dropped first.
    buffers: Vec<E::Buffer>,
    context: Option<E::Context>,
}

impl<E: Engine> Driver<E> {
    pub(crate) fn new(engine: Rc<E>, spec: Spec, inputs: Rc<Pool<E::Input>>) -> Self {
        let unseen = inputs.len() - 1;
        Driver { engine, spec, inputs, at: 0, unseen, wrong: None, buffers: Vec::new(), context: None }
    }

    /// Prepares the phases before the first timed one: contexts and buffers once, staged inputs every time.
    fn prepare(&mut self) -> Result<(), CaseError> {
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
        for input in &self.inputs.inputs[self.buffers.len()..] {
            self.buffers.push(self.engine.reserve(context, input)?);
        }
        if first == Phase::Run && !self.engine.consumes() {
            for (buffer, input) in self.buffers.iter_mut().zip(&self.inputs.inputs) {
                self.engine.stage(context, buffer, input)?;
            }
        }
        Ok(())
    }

    /// Times `run`, optionally with `read`.
    fn time_run(&mut self, clock: &dyn Clock, iterations: u64) -> Result<RawSample, CaseError> {
        let Driver { engine, spec, inputs, at, buffers, context, .. } = self;
        let context = present(context);
        let reads = spec.class.times(Phase::Digest);
        let mut last = None;
        let start = clock.now_ns();
        if reads {
            visit(buffers, &inputs.inputs, at, iterations, |buffer, input| {
                let output = last.insert(black_box(engine.run(context, buffer, black_box(input))?));
                engine.read(context, output)
            })?;
        } else {
            visit(buffers, &inputs.inputs, at, iterations, |buffer, input| {
                last = Some(black_box(engine.run(context, buffer, black_box(input))?));
                Ok(())
            })?;
        }
        let ns = clock.now_ns() - start;
        let output = present(&mut last);
        if !reads {
            engine.read(context, output)?;
        }
        Ok(RawSample { ns, digest: inputs.judge(inputs.before(*at), engine.digest(output)) })
    }

    /// As [`time_run`](Self::time_run), for engines whose `run` consumes the staged input. Checks every result: some
    /// engines are ready again only after that.
    fn time_restaged(&mut self, clock: &dyn Clock, iterations: u64) -> Result<RawSample, CaseError> {
        let Driver { engine, spec, inputs, at, buffers, context, .. } = self;
        let context = present(context);
        let reads = spec.class.times(Phase::Digest);
        let (mut ns, mut digest) = (0, inputs.right());
        for _ in 0..iterations {
            let (buffer, input) = (&mut buffers[*at], &inputs.inputs[*at]);
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
            let judged = inputs.judge(*at, engine.digest(&output));
            digest = if digest == inputs.right() { judged } else { digest };
            *at = inputs.after(*at);
        }
        Ok(RawSample { ns, digest })
    }

    /// Times `stage` to `read`, with prepared buffers.
    fn time_staged(&mut self, clock: &dyn Clock, iterations: u64) -> Result<RawSample, CaseError> {
        let Driver { engine, inputs, at, buffers, context, .. } = self;
        let context = present(context);
        let mut last = None;
        let start = clock.now_ns();
        visit(buffers, &inputs.inputs, at, iterations, |buffer, input| {
            engine.stage(context, buffer, black_box(input))?;
            let output = last.insert(black_box(engine.run(context, buffer, input)?));
            engine.read(context, output)
        })?;
        let ns = clock.now_ns() - start;
        Ok(RawSample { ns, digest: inputs.judge(inputs.before(*at), engine.digest(present(&mut last))) })
    }

    /// Times `reserve` or `init` to `read`, including the release of what the previous iteration made.
    fn time_whole(&mut self, clock: &dyn Clock, iterations: u64) -> Result<RawSample, CaseError> {
        let Driver { engine, spec, inputs, at, context, .. } = self;
        let timed_init = spec.class.times(Phase::Init);
        let mut last = None;
        let mut nothing = vec![(); inputs.len()];
        let start = clock.now_ns();
        visit(&mut nothing, &inputs.inputs, at, iterations, |(), input| {
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
        Ok(RawSample { ns, digest: inputs.judge(inputs.before(*at), engine.digest(present(&mut last))) })
    }

    fn pass(&mut self, clock: &dyn Clock, iterations: u64) -> Result<RawSample, CaseError> {
        let sample = match self.spec.class.first() {
            Phase::Run if self.engine.consumes() => self.time_restaged(clock, iterations),
            Phase::Run => self.time_run(clock, iterations),
            Phase::Stage => self.time_staged(clock, iterations),
            _ => self.time_whole(clock, iterations),
        }?;
        self.wrong = self.wrong.or(Some(sample.digest).filter(|digest| *digest != self.inputs.right()));
        Ok(RawSample { digest: self.wrong.unwrap_or(sample.digest), ..sample })
    }
}

impl<E: Engine> Drive for Driver<E> {
    fn kernel(&mut self) -> Result<String, CaseError> {
        if let Some(context) = &self.context {
            return Ok(self.engine.kernel(context));
        }
        let context = self.engine.init(&self.spec)?;
        Ok(self.engine.kernel(&context))
    }

    fn sample(&mut self, clock: &dyn Clock, iterations: u64) -> Result<RawSample, CaseError> {
        self.prepare()?;
        // A sample checks only its last result, so each input gets one call of its own first.
        while self.unseen > 0 {
            self.pass(clock, 1)?;
            self.unseen -= 1;
        }
        self.pass(clock, iterations.max(1))
    }

    fn amounts(&mut self) -> Result<Vec<Amount>, CaseError> {
        match (&mut self.context, self.buffers.first_mut(), self.inputs.inputs.first()) {
            (Some(context), Some(buffer), Some(input)) => self.engine.amounts(context, buffer, input),
            _ => Ok(Vec::new()),
        }
    }
}

fn present<T>(slot: &mut Option<T>) -> &mut T {
    slot.as_mut()
        .expect("`prepare` made what comes before the first timed phase; a sample has at least one iteration")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::inputs::{Limits, PreparedInput};
    use hashmill_machine::clock::ScriptedClock;
    use std::cell::RefCell;

    /// Engine whose phases take 1, 10, 100, 1000 and 10000 ns and whose digest takes 100000 ns: the sum shows what
    /// was timed.
    struct Decimal {
        clock: ScriptedClock,
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

        fn init(&self, _: &Spec) -> Result<(), CaseError> {
            self.pass(1, 'i');
            Ok(())
        }
        fn kernel(&self, (): &()) -> String {
            "scripted".into()
        }
        fn reserve(&self, (): &mut (), _: &u8) -> Result<(), CaseError> {
            self.pass(10, 'r');
            Ok(())
        }
        fn stage(&self, (): &mut (), (): &mut (), _: &u8) -> Result<(), CaseError> {
            self.pass(100, 's');
            Ok(())
        }
        fn run(&self, (): &mut (), (): &mut (), input: &u8) -> Result<u8, CaseError> {
            self.pass(1000, 'R');
            Ok(*input)
        }
        fn read(&self, (): &mut (), _: &mut u8) -> Result<(), CaseError> {
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

    /// Inputs that are their own answers, starting with 7.
    fn inputs(count: usize) -> Rc<Pool<u8>> {
        let mut numbers = 7_u8..;
        let pool = Pool::fill(1, count, Limits::UNLIMITED, |_| {
            let input = numbers.next().expect("numbers");
            Ok(PreparedInput { input: Some(input), right: Digest::new(&[input]), found: None })
        });
        Rc::new(pool.expect("numbers"))
    }

    /// Two samples of three iterations: time of the second, and the phases of both.
    fn drive(class: &str, consumes: bool) -> (u64, String) {
        let clock = ScriptedClock::default();
        let log = Rc::new(RefCell::new(String::new()));
        let engine = Rc::new(Decimal { clock: clock.clone(), consumes, log: Rc::clone(&log) });
        let mut driver = Driver::new(engine, spec(class), inputs(1));
        driver.sample(&clock, 3).expect("no fault");
        log.borrow_mut().push('|');
        let sample = driver.sample(&clock, 3).expect("no fault");
        assert_eq!(sample.digest, Digest::new(&[7]));
        let phases = log.borrow().clone();
        (sample.ns, phases)
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

    /// Returns its input, and stores in the buffer the input that it was reserved for; wrong for one input in one
    /// call.
    struct Echo {
        consumes: bool,
        wrong: Option<(u8, usize)>,
        staged_inputs: Rc<RefCell<Vec<u8>>>,
    }

    impl Engine for Echo {
        type Input = u8;
        type Context = ();
        type Buffer = u8;
        type Output = u8;

        fn init(&self, _: &Spec) -> Result<(), CaseError> {
            Ok(())
        }
        fn kernel(&self, (): &()) -> String {
            "echo".into()
        }
        fn reserve(&self, (): &mut (), input: &u8) -> Result<u8, CaseError> {
            Ok(*input)
        }
        fn stage(&self, (): &mut (), buffer: &mut u8, input: &u8) -> Result<(), CaseError> {
            assert_eq!(buffer, input, "the buffer of this input");
            Ok(())
        }
        fn run(&self, (): &mut (), buffer: &mut u8, input: &u8) -> Result<u8, CaseError> {
            assert_eq!(buffer, input, "the buffer of this input");
            self.staged_inputs.borrow_mut().push(*input);
            let calls =
                self.staged_inputs.borrow().iter().filter(|staged_inputs| *staged_inputs == input).count();
            Ok(if self.wrong == Some((*input, calls)) { 0 } else { *input })
        }
        fn digest(&self, output: &u8) -> Digest {
            Digest::new(&[*output])
        }
        fn consumes(&self) -> bool {
            self.consumes
        }
    }

    /// Digests of a sample of one and of a sample of five on four inputs, and the inputs of all calls.
    fn echo(class: &str, consumes: bool, wrong: Option<(u8, usize)>) -> ([Digest; 2], Vec<u8>) {
        let staged_inputs = Rc::new(RefCell::new(Vec::new()));
        let engine = Rc::new(Echo { consumes, wrong, staged_inputs: Rc::clone(&staged_inputs) });
        let mut driver = Driver::new(engine, spec(class), inputs(4));
        let clock = ScriptedClock::default();
        let digests = [1, 5].map(|count| driver.sample(&clock, count).expect("no fault").digest);
        let staged_inputs = staged_inputs.borrow().clone();
        (digests, staged_inputs)
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
            let (digests, staged_inputs) = echo(class, consumes, None);
            assert_eq!(
                digests,
                [Digest::new(&[7]); 2],
                "{class}: each has its own answer, and all were right"
            );
            assert_eq!(
                staged_inputs,
                [7, 8, 9, 10, 7, 8, 9, 10, 7],
                "{class}: all before the first sample ends, then in turn"
            );
        }
    }

    #[test]
    fn wrong_results_on_any_input_are_always_found() {
        for (class, consumes) in CLASSES {
            for input in 7..=10 {
                let (digests, _) = echo(class, consumes, Some((input, 1)));
                assert_eq!(digests, [Digest::new(&[0]); 2], "{class}, {input}");
            }
        }
    }

    #[test]
    fn checks_the_last_result_or_all_results_of_consumed_inputs() {
        for (class, consumes) in CLASSES {
            let (digests, _) = echo(class, consumes, Some((7, 3)));
            assert_eq!(digests, [7, 0].map(|digest| Digest::new(&[digest])), "{class}: the last");
            let (digests, _) = echo(class, consumes, Some((9, 2)));
            let last = if consumes { 0 } else { 7 };
            assert_eq!(digests, [7, last].map(|digest| Digest::new(&[digest])), "{class}: one in the middle");
        }
    }
}
