//! Timed loops of benches: only calls between two readings of the clock.

use super::call::Call;
use super::call::fingerprint;
use super::inputs::PreparedCase;
use crate::model::driver::{Drive, RawSample};
use crate::model::engine::{CaseError, Digest};
use crate::model::inputs::{Pool, visit};
use crate::model::registry::Prepared;
use hashmill_machine::clock::Clock;
use std::convert::Infallible;
use std::fmt::Debug;
use std::rc::Rc;

/// Calls between two readings of the clock if inputs or results must wait.
const BATCH: usize = 32;

/// Share of the calls' time spent on checking results, apart from one result per sample: making the text is expensive.
const LOOKING_SHARE: u64 = 4;

/// Creates the driver for a session's inputs.
pub(super) fn driver<I: 'static, C: Call<I>>(prepared: &Prepared) -> Box<dyn Drive> {
    let ready: Rc<PreparedCase<I, C>> =
        prepared.inputs().unwrap_or_else(|| unreachable!("the inputs of this case"));
    Box::new(BenchDriver { ready, at: 0, inputs: Vec::new(), outputs: Vec::new(), wrong: None })
}

struct BenchDriver<I: 'static, C: Call<I>> {
    ready: Rc<PreparedCase<I, C>>,
    /// Index of the next input.
    at: usize,
    inputs: Vec<I>,
    outputs: Vec<C::Output>,
    /// Wrong digest of this sample or of an earlier one whose digest was not requested.
    wrong: Option<Digest>,
}

/// Checks of the results of a sample.
#[derive(Default)]
struct ResultChecks {
    /// Time spent on checks.
    ns: u64,
    /// First wrong digest, or else the right one.
    digest: Option<Digest>,
}

impl ResultChecks {
    /// Checks the results of a batch whose first input is `first`, after calls that took `ns` in total. Always checks
    /// the very last result of a sample.
    fn take<I, O: Debug + 'static>(
        &mut self,
        pool: &Pool<I>,
        clock: &dyn Clock,
        first: usize,
        outputs: &[O],
        ns: u64,
        is_end: bool,
    ) {
        let last = outputs.len().saturating_sub(1);
        for (offset, output) in outputs.iter().enumerate().rev() {
            if self.ns > ns / LOOKING_SHARE && !(is_end && offset == last) {
                return;
            }
            let start = clock.aside_ns();
            let digest = pool.judge((first + offset) % pool.len(), fingerprint(output));
            self.ns += clock.aside_ns() - start;
            self.digest = self.digest.filter(|digest| *digest != pool.right()).or(Some(digest));
        }
    }
}

impl<I: 'static, C: Call<I>> BenchDriver<I, C> {
    /// Calls that share inputs and whose results need no drop: one timed interval, and one result to check.
    fn time_shared(&mut self, clock: &dyn Clock, iterations: u64) -> (u64, Option<Digest>) {
        let PreparedCase { recipe, pool } = &*self.ready;
        let (call, mut last) = (&recipe.call, None);
        let start = clock.now_ns();
        walk(&pool.inputs, &mut self.at, iterations, |input| last = call.shared(input));
        let ns = clock.now_ns() - start;
        (ns, last.map(|output| pool.judge(pool.before(self.at), fingerprint(&output))))
    }

    /// Calls that share inputs; results are checked and dropped between timed intervals.
    fn time_with_drops(&mut self, clock: &dyn Clock, iterations: u64) -> (u64, Option<Digest>) {
        let BenchDriver { ready, at, outputs, .. } = self;
        let PreparedCase { recipe, pool } = &**ready;
        let (mut ns, mut left, mut looks) = (0, iterations, ResultChecks::default());
        while left > 0 {
            let count = left.min(BATCH.min(pool.len()) as u64);
            outputs.reserve(count as usize);
            let first = *at;
            let start = clock.now_ns();
            walk(&pool.inputs, at, count, |input| outputs.extend(recipe.call.shared(input)));
            ns += clock.now_ns() - start;
            left -= count;
            looks.take(pool, clock, first, outputs, ns, left == 0);
            outputs.clear();
        }
        (ns, looks.digest)
    }

    /// Calls with an input each; inputs are made between timed intervals.
    fn time_fresh(&mut self, clock: &dyn Clock, iterations: u64) -> (u64, Option<Digest>) {
        let BenchDriver { ready, at, inputs, outputs, .. } = self;
        let PreparedCase { recipe, pool } = &**ready;
        let (mut ns, mut left, mut looks) = (0, iterations, ResultChecks::default());
        while left > 0 {
            let count = left.min(BATCH.min(pool.len()) as u64);
            let first = *at;
            for _ in 0..count {
                inputs.push(recipe.create(pool.seeds[*at]));
                *at = pool.after(*at);
            }
            outputs.reserve(count as usize);
            let start = clock.now_ns();
            recipe.call.batch(inputs, outputs);
            ns += clock.now_ns() - start;
            left -= count;
            looks.take(pool, clock, first, outputs, ns, left == 0);
            inputs.clear();
            outputs.clear();
        }
        (ns, looks.digest)
    }
}

impl<I: 'static, C: Call<I>> Drive for BenchDriver<I, C> {
    fn kernel(&mut self) -> Result<String, CaseError> {
        Ok("bench".to_owned())
    }

    fn sample(&mut self, clock: &dyn Clock, iterations: u64) -> Result<RawSample, CaseError> {
        let iterations = iterations.max(1);
        let (ns, digest) = match (C::CONSUMES, std::mem::needs_drop::<C::Output>()) {
            (true, _) => self.time_fresh(clock, iterations),
            (false, true) => self.time_with_drops(clock, iterations),
            (false, false) => self.time_shared(clock, iterations),
        };
        let digest = digest.ok_or_else(|| CaseError::failed("no call was made"))?;
        self.wrong = self.wrong.or(Some(digest).filter(|digest| *digest != self.ready.pool.right()));
        Ok(RawSample { ns, digest: self.wrong.unwrap_or(digest) })
    }
}

/// Calls `each` on `count` inputs cyclically, from `at` on.
#[inline(always)]
fn walk<I>(inputs: &[I], at: &mut usize, count: u64, mut each: impl FnMut(&I)) {
    let mut nothing = vec![(); inputs.len()];
    let Ok(()) = visit::<_, _, Infallible>(&mut nothing, inputs, at, count, |(), input| {
        each(input);
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Benches, Inputs};
    use crate::measure::session::protocol::{Reply, Request};
    use crate::measure::session::worker::Worker;
    use crate::model::inputs::Limits;
    use hashmill_machine::clock::ScriptedClock;
    use std::cell::{Cell, RefCell};

    /// Bench with the maximum number of inputs, independent of the load of the machine.
    fn unlimited() -> Benches {
        Benches::new(Limits::UNLIMITED)
    }

    /// Clock readings, digests and order of events of two samples of three calls and one of forty.
    fn samples(
        define: impl FnOnce(Inputs<'_, u64>, &ScriptedClock, &Log),
    ) -> (Vec<u64>, Vec<Digest>, Digest, Log) {
        let (clock, log) = (ScriptedClock::default(), Log::default());
        let mut benches = unlimited();
        let (input_clock, input_log) = (clock.clone(), log.clone());
        let inputs = benches.case("case").inputs(move |random| {
            input_clock.advance(1000);
            input_log.note('i');
            random.number()
        });
        define(inputs, &clock, &log);
        let key = benches.cases[0].key.clone();
        let prepared = benches.registry.prepare(&key, 7).expect("inputs");
        let mut driver = benches.registry.drive(&key, &prepared).expect("a driver");
        log.begin();
        let samples = [3, 3, 40].map(|count| driver.sample(&clock, count).expect("no fault"));
        (
            samples.map(|sample| sample.ns).to_vec(),
            samples.map(|sample| sample.digest).to_vec(),
            prepared.reference,
            log,
        )
    }

    #[derive(Clone, Default)]
    struct Log {
        events: Rc<RefCell<String>>,
        began: Rc<Cell<bool>>,
    }

    impl Log {
        fn note(&self, event: char) {
            self.events.borrow_mut().push(event);
        }

        /// Clears the events of the preparation.
        fn begin(&self) {
            self.events.borrow_mut().clear();
            self.began.set(true);
        }

        /// Whether this is call `number` of the preparation, or of the samples.
        fn is_call(&self, of_laps: bool, number: usize) -> bool {
            self.note('c');
            self.began.get() == of_laps && self.events.borrow().matches('c').count() == number
        }
    }

    /// Result whose `Debug` text and drop take a microsecond each.
    struct Slow(u64, ScriptedClock, Log);

    impl Debug for Slow {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            self.1.advance(1000);
            self.2.note('s');
            self.0.fmt(f)
        }
    }

    impl Drop for Slow {
        fn drop(&mut self) {
            self.1.advance(1000);
        }
    }

    #[test]
    fn the_clock_sees_calls_alone() {
        let by_ref = samples(|inputs, clock, _| {
            let clock = clock.clone();
            inputs.run(move |n| {
                clock.advance(10);
                Slow(*n, clock.clone(), Log::default())
            });
        });
        let by_mut = samples(|inputs, clock, log| {
            let (clock, log) = (clock.clone(), log.clone());
            inputs.run_mut(move |n| {
                clock.advance(10);
                log.note('c');
                Slow(*n, clock.clone(), Log::default())
            });
        });
        let by_value = samples(|inputs, clock, log| {
            let (clock, log) = (clock.clone(), log.clone());
            inputs.run_owned(move |n| {
                clock.advance(10);
                log.note('c');
                Slow(n, clock.clone(), Log::default())
            });
        });
        let plain = samples(|inputs, clock, _| {
            let clock = clock.clone();
            inputs.run(move |n| {
                clock.advance(10);
                *n
            });
        });
        for (ns, digests, reference, _) in [&by_ref, &by_mut, &by_value, &plain] {
            assert_eq!(*ns, [30, 30, 400]);
            assert_eq!(*digests, [*reference; 3], "every input has its own answer, and all were right");
        }
        for (_, _, _, log) in [by_mut, by_value] {
            let log = log.events.borrow();
            assert!(log.starts_with("iiiccciiiccc"), "inputs are made before the clock starts: {log}");
            assert_eq!(log.matches('c').count(), 46);
        }
    }

    #[test]
    fn a_recording_clock_has_only_the_intervals_of_calls() {
        use crate::measure::session::recording_clock::RecordingClock;
        let by = |define: fn(Inputs<'_, u64>, ScriptedClock)| {
            let (clock, mut benches) = (ScriptedClock::default(), unlimited());
            let making = clock.clone();
            define(
                benches.case("case").inputs(move |random| {
                    making.advance(1000);
                    random.number()
                }),
                clock.clone(),
            );
            let key = benches.cases[0].key.clone();
            let prepared = benches.registry.prepare(&key, 7).expect("inputs");
            let mut driver = benches.registry.drive(&key, &prepared).expect("a driver");
            let watching = RecordingClock::new(&clock, true);
            let sample = driver.sample(&watching, 100).expect("no fault");
            (sample.ns, watching.watched(true).lengths_ns)
        };
        for (ns, lengths) in [
            by(|inputs, clock| {
                inputs.run(move |n| {
                    clock.advance(10);
                    *n
                });
            }),
            by(|inputs, clock| {
                inputs.run(move |n| {
                    clock.advance(10);
                    Slow(*n, clock.clone(), Log::default())
                });
            }),
            by(|inputs, clock| {
                inputs.run_mut(move |n| {
                    clock.advance(10);
                    Slow(*n, clock.clone(), Log::default())
                });
            }),
            by(|inputs, clock| {
                inputs.run_owned(move |n| {
                    clock.advance(10);
                    Slow(n, clock.clone(), Log::default())
                });
            }),
        ] {
            let timed: u64 = lengths.iter().step_by(2).sum();
            assert_eq!((ns, timed), (1000, 1000), "{lengths:?}");
            assert!(lengths.iter().skip(1).step_by(2).all(|length| *length >= 1000), "{lengths:?}");
        }
    }

    /// Laps of calls that return their input except for one call, by all four loops.
    fn samples_with_one_wrong(of_laps: bool, number: usize) -> [(Vec<Digest>, Digest); 4] {
        let of = |define: fn(Inputs<'_, u64>, Log, (bool, usize))| {
            let (_, digests, reference, _) =
                samples(|inputs, _, log| define(inputs, log.clone(), (of_laps, number)));
            (digests, reference)
        };
        fn wrong(log: &Log, (of_laps, number): (bool, usize), n: u64) -> u64 {
            if log.is_call(of_laps, number) { 42 } else { n }
        }
        [
            of(|inputs, log, at| inputs.expect(|n| *n).run(move |n| wrong(&log, at, *n))),
            of(|inputs, log, at| {
                inputs.expect(|n| n.to_string()).run(move |n| wrong(&log, at, *n).to_string());
            }),
            of(|inputs, log, at| inputs.expect(|n| *n).run_mut(move |n| wrong(&log, at, *n))),
            of(|inputs, log, at| inputs.expect(|n| *n).run_owned(move |n| wrong(&log, at, n))),
        ]
    }

    #[test]
    fn finds_wrong_results_of_any_input() {
        for (digests, reference) in samples_with_one_wrong(true, 6) {
            assert_eq!(digests[0], reference);
            assert_ne!(digests[1], reference, "the last of its sample");
            assert_eq!(digests[2], digests[1], "and a sample later it is not forgotten");
        }
    }

    #[test]
    fn a_wrong_result_before_the_first_sample_shows_in_all() {
        for (digests, reference) in samples_with_one_wrong(false, 2) {
            assert!(digests.iter().all(|digest| *digest != reference), "no sample made that call");
        }
        for (digests, reference) in samples_with_one_wrong(false, usize::MAX) {
            assert_eq!(digests, [reference; 3]);
        }
    }

    #[test]
    fn checks_all_results_if_that_is_cheap() {
        let [numbers, waiting @ ..] = samples_with_one_wrong(true, 2);
        assert_eq!(numbers.0[0], numbers.1, "a number that owns nothing is gone with the next");
        for (digests, reference) in waiting {
            assert_ne!(digests[0], reference, "in the middle of its sample");
        }
    }

    #[test]
    fn expensive_checks_take_a_bounded_share_of_time() {
        let (_, digests, reference, log) = samples(|inputs, clock, log| {
            let (clock, log) = (clock.clone(), log.clone());
            inputs.run_owned(move |n| {
                clock.advance(10);
                Slow(n, clock.clone(), log.clone())
            });
        });
        assert_eq!(digests, [reference; 3]);
        let shown = log.events.borrow().matches('s').count();
        assert_eq!(shown, 4, "the last of each sample, and one that shows how dear it is");
    }

    #[test]
    fn without_inputs_the_call_is_all() {
        let mut benches = unlimited();
        benches.case("fib/20").run(|| 6765);
        let key = &benches.cases[0].key;
        let prepared = benches.registry.prepare(key, 1).expect("nothing to make");
        assert_eq!(prepared.reference, Digest::new(b"6765"));
        let sample =
            benches.registry.drive(key, &prepared).expect("a driver").sample(&ScriptedClock::default(), 5);
        assert_eq!(sample.expect("no fault").digest, prepared.reference);
    }

    #[test]
    fn inputs_differ_within_a_session_and_between_sessions() {
        let mut benches = unlimited();
        let distinct = Rc::new(RefCell::new(std::collections::BTreeSet::new()));
        let note = Rc::clone(&distinct);
        benches.case("seen").inputs(|random| random.number()).run(move |n| note.borrow_mut().insert(*n));
        let key = &benches.cases[0].key;
        for session in 0..3 {
            benches.registry.prepare(key, session).expect("inputs");
        }
        assert!(distinct.borrow().len() > 3, "{}", distinct.borrow().len());
    }

    #[test]
    fn expensive_inputs_shorten_samples() {
        let clock = ScriptedClock::default();
        let mut benches = unlimited();
        let (making, calling) = (clock.clone(), clock.clone());
        let inputs = benches.case("dear").inputs(move |_| making.advance(1_000_000));
        inputs.run_owned(move |()| calling.advance(10));
        let mut worker = Worker::new(&benches.registry, &clock);
        let case = benches.cases[0].key.to_string();
        worker.answer(&Request::Open { slot: 0, case, seed: 1, share: false });
        let Reply::Calibrated { iterations, .. } =
            worker.answer(&Request::Calibrate { slot: 0, sample_ns: 500_000 })
        else {
            panic!("no iterations");
        };
        assert!(
            (7..=8).contains(&iterations),
            "{iterations}: sixteen times the sample, at a millisecond each"
        );
    }
}
