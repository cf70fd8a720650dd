//! The timed loops of benches: nothing between two readings of the clock but calls.

use super::inputs::Ready;
use crate::model::driver::{Drive, Lap};
use crate::model::engine::{Digest, Fault};
use crate::model::inputs::{Pool, visit};
use crate::model::registry::Prepared;
use hashmill_machine::clock::Clock;
use std::any::Any;
use std::convert::Infallible;
use std::fmt::Debug;
use std::hint::black_box;
use std::rc::Rc;

/// Calls between two readings of the clock, where inputs or results must wait in a row.
const BATCH: usize = 32;

/// Results are looked at for no longer than this part of the time of the calls, but for one of each lap: text is dear.
const LOOKING_SHARE: u64 = 4;

/// What is timed.
pub(super) trait Call<I: 'static>: 'static {
    type Output: Debug + 'static;
    /// Whether each call needs an input of its own.
    const CONSUMES: bool;

    /// One call for each input; what it gives goes to the end of `outputs`, which has room for it. Inputs that it
    /// leaves are of no further use if it consumes them.
    fn batch(&self, inputs: &mut Vec<I>, outputs: &mut Vec<Self::Output>);

    /// One call, of those that share inputs.
    fn shared(&self, input: &I) -> Option<Self::Output>;
}

/// Reads its input.
pub(super) struct ByRef<F>(pub(super) F);
/// Changes its input.
pub(super) struct ByMut<F>(pub(super) F);
/// Takes its input.
pub(super) struct ByValue<F>(pub(super) F);

impl<I: 'static, O: Debug + 'static, F: Fn(&I) -> O + 'static> Call<I> for ByRef<F> {
    type Output = O;
    const CONSUMES: bool = false;

    #[inline]
    fn batch(&self, inputs: &mut Vec<I>, outputs: &mut Vec<O>) {
        for input in inputs.iter() {
            outputs.push(black_box((self.0)(black_box(input))));
        }
    }

    #[inline(always)]
    fn shared(&self, input: &I) -> Option<O> {
        Some(black_box((self.0)(black_box(input))))
    }
}

impl<I: 'static, O: Debug + 'static, F: Fn(&mut I) -> O + 'static> Call<I> for ByMut<F> {
    type Output = O;
    const CONSUMES: bool = true;

    #[inline]
    fn batch(&self, inputs: &mut Vec<I>, outputs: &mut Vec<O>) {
        for input in inputs.iter_mut() {
            let output = black_box((self.0)(black_box(&mut *input)));
            // What it wrote into its input is a result, too.
            black_box(input);
            outputs.push(output);
        }
    }

    fn shared(&self, _: &I) -> Option<O> {
        None
    }
}

impl<I: 'static, O: Debug + 'static, F: Fn(I) -> O + 'static> Call<I> for ByValue<F> {
    type Output = O;
    const CONSUMES: bool = true;

    #[inline]
    fn batch(&self, inputs: &mut Vec<I>, outputs: &mut Vec<O>) {
        for input in inputs.drain(..) {
            outputs.push(black_box((self.0)(black_box(input))));
        }
    }

    fn shared(&self, _: &I) -> Option<O> {
        None
    }
}

/// What tells results apart. Bytes and text are their own; of everything else it is what `Debug` says.
pub(super) fn fingerprint<O: Debug + 'static>(output: &O) -> Digest {
    let any: &dyn Any = output;
    if let Some(bytes) = any.downcast_ref::<Vec<u8>>() {
        Digest::new(bytes)
    } else if let Some(text) = any.downcast_ref::<String>() {
        Digest::new(text.as_bytes())
    } else {
        Digest::of(output)
    }
}

/// The driver of a session's inputs.
pub(super) fn driver<I: 'static, C: Call<I>>(prepared: &Prepared) -> Box<dyn Drive> {
    let ready: Rc<Ready<I, C>> = prepared.inputs().unwrap_or_else(|| unreachable!("the inputs of this case"));
    Box::new(Timed { ready, at: 0, inputs: Vec::new(), outputs: Vec::new(), wrong: None })
}

struct Timed<I: 'static, C: Call<I>> {
    ready: Rc<Ready<I, C>>,
    /// The input that is next.
    at: usize,
    inputs: Vec<I>,
    outputs: Vec<C::Output>,
    /// A digest that was not right, in this lap or in one that nobody asked for its digest.
    wrong: Option<Digest>,
}

/// What was seen of the results of a lap.
#[derive(Default)]
struct Looks {
    /// How long that took.
    ns: u64,
    /// The first digest that is not right, or else the right one.
    digest: Option<Digest>,
}

impl Looks {
    /// Looks at what a batch gave, from input `first` on, after calls that took `ns` in all. The very last result of a
    /// lap is looked at, whatever it takes.
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
        for (place, output) in outputs.iter().enumerate().rev() {
            if self.ns > ns / LOOKING_SHARE && !(is_end && place == last) {
                return;
            }
            let start = clock.aside_ns();
            let digest = pool.judge((first + place) % pool.len(), fingerprint(output));
            self.ns += clock.aside_ns() - start;
            self.digest = self.digest.filter(|seen| *seen != pool.right()).or(Some(digest));
        }
    }
}

impl<I: 'static, C: Call<I>> Timed<I, C> {
    /// Calls that share inputs and leave nothing to drop: one stretch of the clock, and one result that is left.
    fn lap_shared(&mut self, clock: &dyn Clock, iterations: u64) -> (u64, Option<Digest>) {
        let Ready { recipe, pool } = &*self.ready;
        let (call, mut last) = (&recipe.call, None);
        let start = clock.now_ns();
        walk(&pool.made, &mut self.at, iterations, |input| last = call.shared(input));
        let ns = clock.now_ns() - start;
        (ns, last.map(|output| pool.judge(pool.before(self.at), fingerprint(&output))))
    }

    /// Calls that share inputs; what they give is looked at and dropped between two stretches.
    fn lap_kept(&mut self, clock: &dyn Clock, iterations: u64) -> (u64, Option<Digest>) {
        let Timed { ready, at, outputs, .. } = self;
        let Ready { recipe, pool } = &**ready;
        let (mut ns, mut left, mut looks) = (0, iterations, Looks::default());
        while left > 0 {
            let count = left.min(BATCH.min(pool.len()) as u64);
            outputs.reserve(count as usize);
            let first = *at;
            let start = clock.now_ns();
            walk(&pool.made, at, count, |input| outputs.extend(recipe.call.shared(input)));
            ns += clock.now_ns() - start;
            left -= count;
            looks.take(pool, clock, first, outputs, ns, left == 0);
            outputs.clear();
        }
        (ns, looks.digest)
    }

    /// Calls with an input each, which are made between two stretches.
    fn lap_fresh(&mut self, clock: &dyn Clock, iterations: u64) -> (u64, Option<Digest>) {
        let Timed { ready, at, inputs, outputs, .. } = self;
        let Ready { recipe, pool } = &**ready;
        let (mut ns, mut left, mut looks) = (0, iterations, Looks::default());
        while left > 0 {
            let count = left.min(BATCH.min(pool.len()) as u64);
            let first = *at;
            for _ in 0..count {
                inputs.push(recipe.made(pool.seeds[*at]));
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

impl<I: 'static, C: Call<I>> Drive for Timed<I, C> {
    fn kernel(&mut self) -> Result<String, Fault> {
        Ok("bench".to_owned())
    }

    fn lap(&mut self, clock: &dyn Clock, iterations: u64) -> Result<Lap, Fault> {
        let iterations = iterations.max(1);
        let (ns, digest) = match (C::CONSUMES, std::mem::needs_drop::<C::Output>()) {
            (true, _) => self.lap_fresh(clock, iterations),
            (false, true) => self.lap_kept(clock, iterations),
            (false, false) => self.lap_shared(clock, iterations),
        };
        let digest = digest.ok_or_else(|| Fault::failed("no call was made"))?;
        self.wrong = self.wrong.or(Some(digest).filter(|digest| *digest != self.ready.pool.right()));
        Ok(Lap { ns, digest: self.wrong.unwrap_or(digest) })
    }
}

/// Visits `count` inputs in a circle, from `at` on.
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
    use super::super::{Benches, Inputs};
    use super::*;
    use crate::model::inputs::Limits;
    use crate::session::protocol::{Reply, Request};
    use crate::session::worker::Worker;
    use hashmill_machine::clock::Scripted;
    use std::cell::{Cell, RefCell};
    use std::time::Duration;

    /// A bench whose inputs are as many as there can be, however busy the machine and the other tests are.
    fn unlimited() -> Benches {
        Benches::new(Limits { bytes: u64::MAX, time: Duration::MAX })
    }

    /// What the clock and the order of events say of two laps of three calls and one of forty.
    fn laps(define: impl FnOnce(Inputs<'_, u64>, &Scripted, &Log)) -> (Vec<u64>, Vec<Digest>, Digest, Log) {
        let (clock, log) = (Scripted::default(), Log::default());
        let mut benches = unlimited();
        let (input_clock, input_log) = (clock.clone(), log.clone());
        let made = benches.case("case").inputs(move |random| {
            input_clock.advance(1000);
            input_log.note('i');
            random.number()
        });
        define(made, &clock, &log);
        let key = benches.cases[0].key.clone();
        let prepared = benches.registry.prepare(&key, 7).expect("inputs");
        let mut driver = benches.registry.drive(&key, &prepared).expect("a driver");
        log.begin();
        let laps = [3, 3, 40].map(|count| driver.lap(&clock, count).expect("no fault"));
        (laps.map(|lap| lap.ns).to_vec(), laps.map(|lap| lap.digest).to_vec(), prepared.reference, log)
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

        /// Forgets what was noted while inputs were prepared.
        fn begin(&self) {
            self.events.borrow_mut().clear();
            self.began.set(true);
        }

        /// Whether this is call `number` of the preparation, or else of the laps.
        fn is_call(&self, of_laps: bool, number: usize) -> bool {
            self.note('c');
            self.began.get() == of_laps && self.events.borrow().matches('c').count() == number
        }
    }

    /// A result that takes a microsecond to show and to drop.
    struct Slow(u64, Scripted, Log);

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
        let by_ref = laps(|inputs, clock, _| {
            let clock = clock.clone();
            inputs.run(move |n| {
                clock.advance(10);
                Slow(*n, clock.clone(), Log::default())
            });
        });
        let by_mut = laps(|inputs, clock, log| {
            let (clock, log) = (clock.clone(), log.clone());
            inputs.run_mut(move |n| {
                clock.advance(10);
                log.note('c');
                Slow(*n, clock.clone(), Log::default())
            });
        });
        let by_value = laps(|inputs, clock, log| {
            let (clock, log) = (clock.clone(), log.clone());
            inputs.run_owned(move |n| {
                clock.advance(10);
                log.note('c');
                Slow(n, clock.clone(), Log::default())
            });
        });
        let plain = laps(|inputs, clock, _| {
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
    fn a_clock_that_is_watched_tells_the_stretches_of_the_calls_alone() {
        use crate::session::watching::Watching;
        let by = |define: fn(Inputs<'_, u64>, Scripted)| {
            let (clock, mut benches) = (Scripted::default(), unlimited());
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
            let watching = Watching::new(&clock, true);
            let lap = driver.lap(&watching, 100).expect("no fault");
            (lap.ns, watching.watched(true).lengths_ns)
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

    /// The laps of calls that give the input back, but for one of them, by all four loops.
    fn laps_with_one_wrong(of_laps: bool, number: usize) -> [(Vec<Digest>, Digest); 4] {
        let of = |define: fn(Inputs<'_, u64>, Log, (bool, usize))| {
            let (_, digests, reference, _) =
                laps(|inputs, _, log| define(inputs, log.clone(), (of_laps, number)));
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
    fn a_wrong_result_shows_whichever_input_it_is_of() {
        for (digests, reference) in laps_with_one_wrong(true, 6) {
            assert_eq!(digests[0], reference);
            assert_ne!(digests[1], reference, "the last of its lap");
            assert_eq!(digests[2], digests[1], "and a lap later it is not forgotten");
        }
    }

    #[test]
    fn a_wrong_result_before_the_first_sample_shows_in_all() {
        for (digests, reference) in laps_with_one_wrong(false, 2) {
            assert!(digests.iter().all(|digest| *digest != reference), "no sample made that call");
        }
        for (digests, reference) in laps_with_one_wrong(false, usize::MAX) {
            assert_eq!(digests, [reference; 3]);
        }
    }

    #[test]
    fn results_that_wait_in_a_row_are_all_looked_at_if_that_is_cheap() {
        let [numbers, waiting @ ..] = laps_with_one_wrong(true, 2);
        assert_eq!(numbers.0[0], numbers.1, "a number that owns nothing is gone with the next");
        for (digests, reference) in waiting {
            assert_ne!(digests[0], reference, "in the middle of its lap");
        }
    }

    #[test]
    fn dear_results_are_looked_at_for_a_part_of_the_time_of_calls() {
        let (_, digests, reference, log) = laps(|inputs, clock, log| {
            let (clock, log) = (clock.clone(), log.clone());
            inputs.run_owned(move |n| {
                clock.advance(10);
                Slow(n, clock.clone(), log.clone())
            });
        });
        assert_eq!(digests, [reference; 3]);
        let shown = log.events.borrow().matches('s').count();
        assert_eq!(shown, 4, "the last of each lap, and one that shows how dear it is");
    }

    #[test]
    fn without_inputs_the_call_is_all() {
        let mut benches = unlimited();
        benches.case("fib/20").run(|| 6765);
        let key = &benches.cases[0].key;
        let prepared = benches.registry.prepare(key, 1).expect("nothing to make");
        assert_eq!(prepared.reference, Digest::new(b"6765"));
        let lap = benches.registry.drive(key, &prepared).expect("a driver").lap(&Scripted::default(), 5);
        assert_eq!(lap.expect("no fault").digest, prepared.reference);
    }

    #[test]
    fn inputs_differ_within_a_session_and_between_sessions() {
        let mut benches = unlimited();
        let seen = Rc::new(RefCell::new(std::collections::BTreeSet::new()));
        let note = Rc::clone(&seen);
        benches.case("seen").inputs(|random| random.number()).run(move |n| note.borrow_mut().insert(*n));
        let key = &benches.cases[0].key;
        for session in 0..3 {
            benches.registry.prepare(key, session).expect("inputs");
        }
        assert!(seen.borrow().len() > 3, "{}", seen.borrow().len());
    }

    #[test]
    fn dear_inputs_make_samples_short_and_not_days_long() {
        let clock = Scripted::default();
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
